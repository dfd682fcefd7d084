"""`realtime.mcp`, where AgentScope has its MCP clients: see `realtime.tool.mcp`."""

from realtime.tool.mcp import *  # noqa: F403
from realtime.tool.mcp import __all__ as __all__
