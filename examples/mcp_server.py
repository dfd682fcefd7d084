"""A small MCP server: when a bookshop is open. `examples/mcp_by_voice.py` asks it aloud; so does the page of

realtime serve --mcp "python examples/mcp_server.py"
"""

from mcp.server import MCPServer

server = MCPServer("bookshop")


@server.tool()
def opening_hours(day: str) -> str:
    """Tell when the shop is open.

    Args:
        day: The day of the week.
    """
    if day.lower() in ("saturday", "sunday"):
        return f"On {day} the shop is closed."
    return f"On {day} the shop is open from ten to six."


if __name__ == "__main__":
    server.run()
