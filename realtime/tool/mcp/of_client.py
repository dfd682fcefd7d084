"""MCP servers that the client of a call names.

Their addresses and keys are in no event and no log.

The dialect declares them, the call's agent connects to them, and the dialect tells their calls from others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from realtime.tool.mcp.function import MCPToolFunction
from realtime.tool.mcp.hosts import AllowedHosts
from realtime.tool.mcp.stateful import HttpStatefulClient
from realtime.tool.registered import RegisteredToolFunction

if TYPE_CHECKING:
    from mcp_types import Tool

DIAL_S = 10.0
"""Seconds to connect: a client waits for its tools."""
MAX_SERVERS = 16
"""Servers of one call: each is a connection."""
LISTED = "mcp_list_tools"
"""Name of the custom event that tells of a server's tools: `server_label`, and `state`: `completed` or `failed`."""
_MAX_LABEL_CHARS = 64


class _Filter(msgspec.Struct, frozen=True):
    tool_names: list[str] | None = None
    read_only: bool | None = None

    def has(self, tool: Tool) -> bool:
        hints = tool.annotations
        only_reads = hints is not None and hints.read_only_hint is True
        return (self.tool_names is None or tool.name in self.tool_names) and self.read_only in (None, only_reads)


class _Approval(msgspec.Struct, frozen=True):
    always: _Filter | None = None
    never: _Filter | None = None


class _Declared(msgspec.Struct, frozen=True):
    """A server as OpenAI's clients write it."""

    server_url: str | None = None
    headers: dict[str, str] | None = None
    authorization: str | None = None
    allowed_tools: list[str] | _Filter | None = None
    require_approval: str | _Approval | None = None

    __repr__ = object.__repr__


class RemoteTool(NamedTuple):
    """A function of such a server: the label of the server, and its name there."""

    server_label: str
    name: str


class ClientServer:
    """One server that a client has named. Equal ones need no second connection."""

    def __init__(self, label: str, declared: _Declared, hosts: AllowedHosts) -> None:
        self.label = label
        self._declared = declared
        self._hosts = hosts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClientServer) and (self.label, self._declared) == (other.label, other._declared)

    __hash__ = None  # type: ignore[assignment]

    def client(self) -> HttpStatefulClient:
        """Return a client of it. Raises UsageError where the MCP SDK is not installed."""
        declared = self._declared
        url, headers = declared.server_url or "", {**(declared.headers or {})}
        if declared.authorization:
            token = declared.authorization
            headers["Authorization"] = token if " " in token else f"Bearer {token}"
        is_sse = url.partition("?")[0].rstrip("/").endswith("/sse")
        transport: Literal["sse", "streamable_http"] = "sse" if is_sse else "streamable_http"
        factory = self._hosts.client_factory()
        return HttpStatefulClient(
            self.label[:_MAX_LABEL_CHARS], transport, url, headers, DIAL_S, httpx_client_factory=factory
        )

    def allowed(self, tools: Iterable[Tool]) -> list[Tool]:
        """Return the tools that its client wants of these."""
        wanted = self._declared.allowed_tools
        if isinstance(wanted, list):
            wanted = _Filter(wanted)
        return [tool for tool in tools if wanted is None or wanted.has(tool)]

    def asks(self, tool: Tool) -> bool:
        """Whether the client wants to approve each call: unless it says otherwise, as at OpenAI."""
        wanted = self._declared.require_approval
        if isinstance(wanted, _Approval):
            if wanted.always is not None and wanted.always.has(tool):
                return True
            return wanted.never is None or not wanted.never.has(tool)
        return wanted != "never"


class ClientServers:
    """The servers that the client of one socket has named. They may be at `hosts`."""

    def __init__(self, hosts: AllowedHosts) -> None:
        self._hosts = hosts
        self._known: dict[str, ClientServer | str] = {}
        """By label; a text is why there is none."""
        self._said: dict[str, dict[str, Any]] = {}
        """What the client has said of each label so far."""
        self._tools: dict[str, RemoteTool] = {}
        self._listed: dict[str, list[dict[str, Any]]] = {}

    def declare(self, tools: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """Note which servers the client wants now, by label.

        One that it names without an address is the one of before: the address may have come with the client's secret,
        so that the page does not know it. What was said with the address then counts, and the page adds to it only.
        """
        self._known = {}
        for label, given in tools:
            if len(self._known) >= MAX_SERVERS and label not in self._known:
                self._known[label] = f"at most {MAX_SERVERS} are taken"
                continue
            whole = {name: value for name, value in given.items() if value is not None}
            if "server_url" not in whole:
                whole |= self._said.get(label, {})
            self._said[label] = whole
            self._known[label] = self._read(label, whole)

    def _read(self, label: str, given: Mapping[str, Any]) -> ClientServer | str:
        if not self._hosts:
            return (
                "this server connects to no MCP servers that its clients name. Have its owner allow the host "
                "(--allow-client-mcp) or add the server (--mcp), or declare functions that run in the client"
            )
        try:
            declared = msgspec.convert(given, _Declared)
        except msgspec.ValidationError as error:
            return f"its settings cannot be read: {error}"  # which quotes no value
        if isinstance(declared.require_approval, str) and declared.require_approval not in ("always", "never"):
            return "its require_approval is neither 'always' nor 'never' nor a filter"
        if declared.server_url is None:
            return "it has no server_url, and connectors and tunnels are OpenAI's"
        sent = {**(declared.headers or {}), "Authorization": declared.authorization or "-"}
        if not all(
            name.isascii() and value.isascii() and f"{name}{value}".isprintable() for name, value in sent.items()
        ):
            return "its headers have characters that HTTP does not take"
        return self._hosts.why_not(declared.server_url) or ClientServer(label, declared, self._hosts)

    def find(self, label: str) -> ClientServer | None:
        """Return the server of this label; None where it is not known or not allowed."""
        known = self._known.get(label)
        return None if isinstance(known, str) else known

    def why_not(self, label: str) -> str:
        """Return why there is no server of this label; "" if unknown."""
        known = self._known.get(label, "")
        return known if isinstance(known, str) else ""

    # -- what became of them ---------------------------------------------------------------------------------------

    def connected(
        self, server: ClientServer, tools: Sequence[Tool], registered: Iterable[RegisteredToolFunction]
    ) -> dict[str, RemoteTool]:
        """Note the tools that an agent has of a server; return them by the names that the model knows."""
        fields = {"name", "description", "input_schema", "annotations"}
        self._listed[server.label] = [tool.model_dump(mode="json", by_alias=False, include=fields) for tool in tools]
        functions = ((one.name, one.original_func) for one in registered)
        made = {name: RemoteTool(server.label, of.name) for name, of in functions if isinstance(of, MCPToolFunction)}
        self._tools |= made
        return made

    def disconnected(self, tools: Mapping[str, RemoteTool]) -> None:
        """Note that an agent has these no more: others may have their names."""
        self._tools = {name: tool for name, tool in self._tools.items() if tools.get(name) is not tool}

    def listed(self, label: str) -> list[dict[str, Any]]:
        """Return the tools of a server that were found last."""
        return self._listed.get(label, [])

    def tool(self, name: str) -> RemoteTool | None:
        """Return which function of a server the model knows by this name; None if it is none."""
        return self._tools.get(name)
