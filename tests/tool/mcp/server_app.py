"""A real MCP server for the tests, of the Python SDK: `stdio`, or `http` or `sse` on a port of loopback.

It prints its port once it listens; with one given it takes that. What it asks of its client it asks in the way of the
protocol that the client speaks.
"""

import asyncio
import os
import socket
import sys
from typing import Annotated, Any

import uvicorn
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, ListRoots, MCPServer, Resolve, Sample
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    CreateMessageResult,
    EmbeddedResource,
    ImageContent,
    ListRootsResult,
    ResourceLink,
    SamplingMessage,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import BaseModel

app = MCPServer("shop")
begun: list[str] = []
cancelled: list[str] = []


@app.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@app.tool(annotations=ToolAnnotations(destructive_hint=True))
def delete(name: str) -> str:
    """Delete a file."""
    return f"{name} is deleted"


@app.tool()
def contents() -> CallToolResult:
    """Give one of each kind of content."""
    blob = BlobResourceContents(uri="file:///a/b.bin", mime_type="application/zip", blob="UEs=")
    return CallToolResult(
        content=[
            TextContent(type="text", text="words"),
            ImageContent(type="image", data="iVBORw==", mime_type="image/png"),
            AudioContent(type="audio", data="UklGRg==", mime_type="audio/wav"),
            ResourceLink(type="resource_link", name="menu", uri="file:///menu.txt", mime_type="text/plain"),
            EmbeddedResource(type="resource", resource=TextResourceContents(uri="file:///note.txt", text="a note")),
            EmbeddedResource(type="resource", resource=blob),
        ],
        structured_content={"n": 6},
    )


@app.tool()
async def steps(ctx: Context, n: int) -> str:
    """Work in steps."""
    for one in range(n):
        await ctx.report_progress(one + 1, n, f"step {one + 1}")
    return "all steps"


@app.tool()
async def wait() -> str:
    """Wait for ever."""
    begun.append("wait")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        cancelled.append("wait")
        raise
    return "never"


@app.tool()
def n_cancelled() -> int:
    """Tell how many calls were cancelled."""
    return len(cancelled)


@app.tool()
def n_begun() -> int:
    """Tell how many calls have begun to wait."""
    return len(begun)


@app.tool()
def process_id() -> int:
    """Tell the id of this process."""
    return os.getpid()


@app.tool()
def die() -> str:
    """End this process at once."""
    os._exit(3)


class Seats(BaseModel):
    seats: int
    window: bool = True


def how_many() -> Elicit[Seats]:
    return Elicit("How many seats?", Seats)


@app.tool()
def reserve(answer: Annotated[ElicitationResult[Seats], Resolve(how_many)]) -> str:
    """Reserve seats."""
    if answer.action == "accept":
        return f"{answer.data.seats} seats, window: {answer.data.window}"
    return answer.action


def which_folders() -> ListRoots:
    return ListRoots()


@app.tool()
def folders(roots: Annotated[ListRootsResult, Resolve(which_folders)]) -> list[str]:
    """List the folders of the client."""
    return [str(root.uri) for root in roots.roots]


def a_poem() -> Sample:
    words = TextContent(type="text", text="Write a poem.")
    return Sample([SamplingMessage(role="user", content=words)], max_tokens=50, system_prompt="You are a poet.")


@app.tool()
def poem(written: Annotated[CreateMessageResult, Resolve(a_poem)]) -> str:
    """Have a poem written."""
    return f"poem: {getattr(written.content, 'text', '')}"


@app.tool()
async def grow(ctx: Context, name: str) -> str:
    """Add a tool."""

    async def grown() -> str:
        """Has grown."""
        return "grown"

    app.add_tool(grown, name=name)
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "added"


@app.tool()
async def shrink(ctx: Context, name: str) -> str:
    """Remove a tool."""
    app.remove_tool(name)
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "removed"


def serve(kind: str, port: int) -> None:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen()
    starlette: Any = app.streamable_http_app() if kind == "http" else app.sse_app()
    server = uvicorn.Server(uvicorn.Config(starlette, log_level="critical"))
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    server.run(sockets=[listener])


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        app.run("stdio")
    else:
        serve(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
