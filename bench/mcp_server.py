"""An MCP server to measure with: `python -m bench.mcp_server [PORT]`, by stdio or by HTTP on a port of loopback."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from mcp.server import MCPServer

server = MCPServer("bench")


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
async def wait(path: str) -> str:
    """Wait for ever; where it is cancelled, write when, on the clock that all processes share."""
    file = Path(path)  # one line in a process of its own: that it blocks is nobody's loss
    file.write_text("waiting", encoding="utf-8")  # noqa: ASYNC240
    try:
        await asyncio.sleep(3_600)
    finally:
        file.write_text(str(time.monotonic()), encoding="utf-8")  # noqa: ASYNC240
    return ""


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]), log_level="ERROR")
    else:
        server.run()
