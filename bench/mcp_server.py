"""An MCP server to measure with: `python -m bench.mcp_server [PORT]`, by stdio or by HTTP on a port of loopback."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("bench")


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
def process_id() -> int:
    """Tell the id of this process."""
    return os.getpid()


@server.tool()
async def wait(path: str) -> str:
    """Wait for ever; where it is cancelled, write when, on the clock that all processes share."""
    file = Path(path)
    file.write_text("waiting", encoding="utf-8")  # noqa: ASYNC240
    try:
        await asyncio.sleep(3_600)
    finally:
        file.write_text(str(time.monotonic()), encoding="utf-8")  # noqa: ASYNC240
    return ""


@server.tool()
async def flood(ctx: Context) -> str:
    """Report progress, as fast as it can be written."""
    for number in range(1_000_000):
        await ctx.report_progress(number, message="x" * 200)
    return ""


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run()
