"""Clients of MCP servers: their functions become tools, all of them or single ones.

    client = HttpStatefulClient("shop", transport="streamable_http", url="http://localhost:8000/mcp")
    async with client:
        await toolkit.register_mcp_client(client)              # all of the server's functions
        search = await client.get_callable_function("search")  # one of them, as an object

The SDK (`mcp`) is an extra of the package, and loaded by the first connection.
"""

from realtime.tool.context import Sampling
from realtime.tool.mcp.answers import Grants
from realtime.tool.mcp.client import HttpStatelessClient, MCPClientBase
from realtime.tool.mcp.function import MCPToolFunction
from realtime.tool.mcp.http import HttpGrants
from realtime.tool.mcp.stateful import HttpStatefulClient, StatefulClientBase, StdIOStatefulClient

__all__ = [
    "Grants",
    "HttpGrants",
    "HttpStatefulClient",
    "HttpStatelessClient",
    "MCPClientBase",
    "MCPToolFunction",
    "Sampling",
    "StatefulClientBase",
    "StdIOStatefulClient",
]
