"""The base of MCP clients, and the client that keeps no connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Unpack

from realtime.errors import BadTool
from realtime.options import checked, usable_headers
from realtime.tool.mcp.answers import Grants, Permits
from realtime.tool.mcp.function import MCPToolFunction
from realtime.tool.mcp.http import HttpGrants, HttpTransport, http_streams
from realtime.tool.mcp.link import Link, SessionGone
from realtime.tool.mcp.remote_call import RemoteCall
from realtime.tool.mcp.sdk import check_installed

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
    from mcp_types import CallToolResult, Tool

logger = logging.getLogger(__name__)

CLOSE_S = 8.0
"""Seconds that a connection has for its end."""

Unlisten = Callable[[], None]


class MCPClientBase:
    """A client of one MCP server. `name` should be that of no other client.

    `dial_s`: seconds to connect. Raises UsageError for a grant that `known` has not.
    """

    @checked(above_0=("dial_s",))
    def __init__(self, name: str, dial_s: float, grants: Grants, known: type[Grants] = Grants) -> None:
        check_installed()
        self.name = name
        self._permits = Permits.of(grants, known)
        self._protocol = grants.get("protocol", "auto")
        self._dial_s = dial_s
        self._tools: list[Tool] | None = None
        self._listeners: list[Callable[[list[Tool]], object]] = []

    def _streams(self) -> AbstractAsyncContextManager[TransportStreams]:
        """Open the transport."""
        raise NotImplementedError

    def _new_link(self, on_change: Callable[[], None]) -> Link:
        return Link(self.name, self._streams, self._permits, self._protocol, self._dial_s, on_change)

    def _linked(self) -> AbstractAsyncContextManager[Link]:
        """Give an open connection. Raises ToolError where there is none."""
        raise NotImplementedError

    async def list_tools(self) -> list[Tool]:
        """Return the tools of the server, as the SDK's objects. Raises ToolError where it does not answer.

        At most 512. The schemas of their results are left out.
        """
        async with self._linked() as link:
            tools = await link.list_tools()
        if tools != self._tools:
            self._tools = tools
            for listener in [*self._listeners]:
                try:
                    listener(tools)
                except Exception as error:
                    # The program's code: the others follow all the same, and also the next change.
                    logger.error("a listener to tools of the MCP server %s failed: %s", self.name, type(error).__name__)
        return tools

    async def get_callable_function(
        self, func_name: str, wrap_tool_result: bool = True, execution_timeout: float | None = None
    ) -> MCPToolFunction:
        """Return one function of the server as an object (see MCPToolFunction).

        Raises BadTool where the server has no such function, or one that no model can be told of; ToolError where the
        server does not answer.
        """
        tools = self._tools if self._tools is not None else await self.list_tools()
        tool = next((tool for tool in tools if tool.name == func_name), None)
        if tool is None:
            raise BadTool(f"the MCP server {self.name!r} has no tool {func_name!r}")
        try:
            return MCPToolFunction(self, tool, wrap_tool_result, timeout=execution_timeout)
        except ValueError as wrong:
            raise BadTool(f"the tool {func_name!r} of the MCP server {self.name!r} cannot be used: {wrong}") from wrong

    async def call(self, function: str, arguments: dict[str, Any], call: RemoteCall) -> CallToolResult:
        """Call a function of the server. It is called again only if the server did not know the connection."""
        try:
            async with self._linked() as link:
                return await link.call(function, arguments, call)
        except SessionGone:
            async with self._linked() as link:
                return await link.call(function, arguments, call)

    def on_tools(self, listener: Callable[[list[Tool]], object]) -> Unlisten:
        """Call `listener` with the server's tools when they have changed. Returns what ends it.

        What it raises is logged by its kind.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None


class HttpClient(MCPClientBase):
    """A client of a server that is reached by HTTP.

    `transport` is "streamable_http", or "sse" for servers of before 2025. `timeout` (seconds) is for the connection and
    for each step of a request, `sse_read_timeout` for the silence of a stream. `client_kwargs` are
    what `HttpGrants` has.
    """

    @checked(above_0=("timeout", "sse_read_timeout"))
    def __init__(
        self,
        name: str,
        transport: HttpTransport,
        url: str,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30,
        sse_read_timeout: float = 60 * 5,
        **client_kwargs: Unpack[HttpGrants],
    ) -> None:
        super().__init__(name, timeout, client_kwargs, HttpGrants)
        if transport == "sse":
            self._protocol = "legacy"
        self.transport = transport
        self._url = url
        self._headers = usable_headers(headers or {}, "headers")
        self._timeouts = timeout, sse_read_timeout
        self._options = client_kwargs

    def _streams(self) -> AbstractAsyncContextManager[TransportStreams]:
        return http_streams(self.transport, self._url, self._headers, *self._timeouts, self._options)


class HttpStatelessClient(HttpClient):
    """A client that connects for each call: the server keeps nothing from one to the next.

    It does not follow changes of the server's tools.
    """

    stateful = False

    @asynccontextmanager
    async def _linked(self) -> AsyncIterator[Link]:
        link = self._new_link(lambda: None)
        owner = asyncio.create_task(link.run(), name=f"MCP {self.name}")
        try:
            await link.opened()
            yield link
        finally:
            await close(link, owner)


async def close(link: Link, owner: asyncio.Task[None]) -> None:
    """End a connection and the task that owns it."""
    link.close()
    try:
        await asyncio.wait([owner], timeout=CLOSE_S)
    finally:
        if not owner.done():
            owner.cancel()
