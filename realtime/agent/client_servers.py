"""Connects an agent's call to the MCP servers that its client names."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterable
from typing import Any

from realtime.errors import RealtimeError
from realtime.event.base import REMOTE_MCP, HostedTool
from realtime.event.server import ServerCustomEvent
from realtime.tool import Toolkit
from realtime.tool.mcp import HttpStatefulClient
from realtime.tool.mcp.of_client import LISTED, ClientServer, ClientServers, RemoteTool

logger = logging.getLogger(__name__)


class ServerConnections:
    """The connections of one call, each a task in `group`; their tools are in its `toolkit`.

    `taken` tells whether a name is that of a client's tool. `tell_left_out` gets a server that cannot be had, and why.
    """

    def __init__(
        self,
        known: ClientServers,
        toolkit: Toolkit,
        group: asyncio.TaskGroup,
        *,
        taken: Callable[[], Iterable[str]],
        emit: Callable[[Any], None],
        tell_left_out: Callable[[HostedTool, str], None],
    ) -> None:
        self._known = known
        self._toolkit = toolkit
        self._group = group
        self._taken = taken
        self._emit = emit
        self._tell_left_out = tell_left_out
        self._open: dict[str, tuple[ClientServer, asyncio.Task[None]]] = {}
        self._registering = asyncio.Lock()
        """One at a time: whether a name is taken depends on the tools of the others."""

    def follow(self, tools: Iterable[HostedTool]) -> None:
        """Connect to those of these that are allowed, and leave all others."""
        servers = [self._known.find(tool.name) for tool in tools if tool.kind == REMOTE_MCP]
        wanted = {server.label: server for server in servers if server is not None}
        for label, (server, task) in [*self._open.items()]:
            if wanted.get(label) != server:
                task.cancel()
                del self._open[label]
        for label, server in wanted.items():
            if label not in self._open:
                task = self._group.create_task(self._keep(server), name="MCP server of the client")
                self._open[label] = server, task

    def close(self) -> None:
        """Leave all servers."""
        self.follow(())

    async def _keep(self, server: ClientServer) -> None:
        """Keep one server connected; cancelling disconnects it.

        Once connected, the client itself dials a server that is lost.
        """
        client: HttpStatefulClient | None = None
        tools: dict[str, RemoteTool] = {}
        try:
            client = server.client()
            await client.connect()
            async with self._registering:
                tools = await self._register(server, client)
            self._tell(server, "completed")
            await asyncio.Event().wait()
        except RealtimeError as error:
            logger.warning("an MCP server of a client cannot be had: %s", error.code)
            self._tell(server, "failed")
            self._tell_left_out(HostedTool(kind=REMOTE_MCP, name=server.label), error.message)
        finally:
            if client is not None:
                self._known.disconnected(tools)
                await self._toolkit.remove_mcp_clients([client.name])
                if client.is_connected:
                    await client.close()

    async def _register(self, server: ClientServer, client: HttpStatefulClient) -> dict[str, RemoteTool]:
        """Take the tools that the client wants; where a name is taken, the label of their server stands before it.

        Only those: one that the server adds later would not have passed by the client's choice.
        """
        tools = server.allowed(await client.list_tools())
        names = [tool.name for tool in tools]
        asking = [tool.name for tool in tools if server.asks(tool)]
        before = {*self._toolkit.tools}
        prefix = ""
        if (before | {*self._taken()}) & {*names}:
            prefix = re.sub(r"[^a-zA-Z0-9_-]", "_", server.label[:24]) + "_"
        await self._toolkit.register_mcp_client(
            client,
            enable_funcs=names,
            confirm=asking,
            consent=dict.fromkeys(asking, "card"),
            prefix=prefix,
        )
        added = [one for name, one in self._toolkit.tools.items() if name not in before]
        return self._known.connected(server, tools, added)

    def _tell(self, server: ClientServer, state: str) -> None:
        self._emit(ServerCustomEvent(name=LISTED, value={"server_label": server.label, "state": state}))
