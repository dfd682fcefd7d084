"""The MCP clients of `realtime.tool.mcp`, by the name of the module that AgentScope documents."""

from realtime.tool.mcp import *  # noqa: F403
from realtime.tool.mcp import __all__ as __all__
