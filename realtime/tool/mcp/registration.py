"""The functions of a server in a toolkit: which of them, by which names, and as the server changes them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol
from weakref import ref

from realtime.errors import BadTool, UsageError
from realtime.permission import Consent
from realtime.tool.mcp.client import MCPClientBase
from realtime.tool.mcp.function import MCPToolFunction
from realtime.tool.mcp.schema import Budget, model_names
from realtime.tool.registered import BASIC, Postprocess, RegisteredToolFunction, ToolOptions

if TYPE_CHECKING:
    from mcp_types import Tool

logger = logging.getLogger(__name__)

MAX_HINTS = 1_000
"""Functions whose hints are remembered; further ones ask, and count as changing something."""
TOLD = 10
"""Functions that are left out, of which the log says why."""

Which = bool | Sequence[str] | Literal["annotated"]
"""All, none, those of these names, or as the server says."""


class Tools(Protocol):
    """What a registration needs of a toolkit; all of it is inside of this package."""

    tools: dict[str, RegisteredToolFunction]

    def _registered(
        self, function: Callable[..., Any], name: str | None, options: ToolOptions
    ) -> RegisteredToolFunction:
        """Return the tool that a function makes. Raises BadTool."""
        ...

    def _add(self, tool: RegisteredToolFunction, strategy: Any) -> RegisteredToolFunction | None:
        """Put a tool into its place; return what is there then, None if it was skipped. Raises BadTool."""
        ...

    def _swap(self, name: str, before: RegisteredToolFunction | None, after: RegisteredToolFunction | None) -> None:
        """Put one tool in the place of another."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which functions of a server become tools, and how; see `Toolkit.register_mcp_client`."""

    group: str = BASIC
    enable: Collection[str] | None = None
    disable: Collection[str] | None = None
    preset: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    postprocess: Postprocess | None = None
    strategy: str = "raise"
    timeout_s: float | None = None
    prefix: str = ""
    renames: Mapping[str, str] = field(default_factory=dict)
    confirm: Which = "annotated"
    consent: Consent | Mapping[str, Consent] | None = None
    read_only: Which = "annotated"

    def check(self) -> None:
        """Raise UsageError for a choice that contradicts itself."""
        for what, names in (("enable_funcs", self.enable), ("disable_funcs", self.disable)):
            if isinstance(names, str) or not all(isinstance(name, str) for name in names or ()):
                raise UsageError(f"{what} is a list of names")
        if self.enable is not None and self.disable is not None and (both := {*self.enable} & {*self.disable}):
            raise UsageError(f"{min(both)!r} is both in enable_funcs and in disable_funcs")
        if not isinstance(self.preset, Mapping):
            raise TypeError(f"preset_kwargs_mapping is a dict, not {type(self.preset).__name__}")

    @property
    def named(self) -> set[str]:
        """The functions that it names."""
        listed = [one for one in (self.confirm, self.read_only) if not isinstance(one, bool | str)]
        ways = () if isinstance(self.consent, str) else self.consent or ()
        return {*(self.enable or ()), *self.renames, *self.preset, *ways, *(name for names in listed for name in names)}

    def takes(self, name: str) -> bool:
        """Whether a function becomes a tool."""
        return (self.enable is None or name in self.enable) and name not in (self.disable or ())

    def options(self, function: MCPToolFunction) -> ToolOptions:
        """Return how a function becomes a tool."""
        own, consent = function.tool_options, self.consent
        return replace(
            own,
            consent=consent if consent is None or isinstance(consent, str) else consent.get(function.name),
            group=self.group,
            preset={**self.preset.get(function.name, {})},
            postprocess=self.postprocess,
            confirm=_is_one(self.confirm, function.name, own.confirm),
            read_only=_is_one(self.read_only, function.name, own.read_only),
        )


def _is_one(which: Which, name: str, annotated: bool) -> bool:
    match which:
        case bool():
            return which
        case "annotated":
            return annotated
        case _:
            return name in which


class Registration:
    """The functions of one client in one toolkit. It follows the server's changes until `end`."""

    def __init__(self, toolkit: Tools, client: MCPClientBase, choice: Choice) -> None:
        self._toolkit = ref(toolkit)
        self._choice = choice
        self._client = client
        self._tools: dict[str, tuple[Tool, RegisteredToolFunction]] = {}
        """By name at the server."""
        self._names: dict[str, str] = {}
        """Names of the tools here, by name at the server."""
        self._hints: dict[str, tuple[bool, bool]] = {}
        """The strictest hints about each function: destroys, only reads. Also about one that is gone."""
        self._unlisten: Callable[[], None] = lambda: None

    @property
    def mcp_name(self) -> str:
        """Name of the client."""
        return self._client.name

    async def begin(self) -> None:
        """Take the functions that the server has.

        Raises BadTool, and takes none, where one of a name that the program gives is missing, or a name is taken and
        the strategy is to raise. A tool that no model can be told of is left out.
        """
        tools = await self._client.list_tools()
        if missing := self._choice.named - {tool.name for tool in tools}:
            raise BadTool(f"the MCP server {self.mcp_name!r} has no tool {min(missing)!r}")
        toolkit = self._toolkit()
        assert toolkit is not None
        made = self._make(toolkit, tools)
        if self._choice.strategy == "raise":
            for _, one in made:
                if one.name in toolkit.tools:
                    raise BadTool(f"there is a tool named {one.name!r} already: use `prefix` or `renames`")
        for tool, one in made:
            self._put(toolkit, tool, one)
        self._unlisten = self._client.on_tools(self._follow)
        logger.info("%d tools of the MCP server %s are registered", len(self._tools), self.mcp_name)

    def end(self) -> None:
        """Remove its tools, and follow no more."""
        self._unlisten()
        if (toolkit := self._toolkit()) is not None:
            for _, one in self._tools.values():
                toolkit._swap(one.name, one, None)
        self._tools = {}

    def _make(self, toolkit: Tools, tools: Sequence[Tool]) -> list[tuple[Tool, RegisteredToolFunction]]:
        """Return the tools that new and changed functions make. Raises BadTool for what the program has chosen."""
        choice = self._choice
        taken = [tool for tool in tools if choice.takes(tool.name)]
        self._names = model_names(
            [tool.name for tool in taken], prefix=choice.prefix, renames=choice.renames, known=self._names
        )
        made, left_out, budget = [], list[str](), Budget()
        for tool in taken:
            if (held := self._tools.get(tool.name)) is not None and held[0] == tool:
                continue
            try:
                function = MCPToolFunction(self._client, tool, timeout=choice.timeout_s, budget=budget)
            except ValueError as wrong:
                left_out.append(str(wrong))
                continue
            function.tool_options = self._strict(tool.name, function.tool_options)
            # What the program says holds, not what the server says.
            options = function.tool_options = choice.options(function)
            made.append((tool, toolkit._registered(function, self._names[tool.name], options)))
        for why in left_out[:TOLD]:
            logger.warning("a tool of the MCP server %s is left out: %s", self.mcp_name, why)
        if len(left_out) > TOLD:
            logger.warning("%d more tools of the MCP server %s are left out", len(left_out) - TOLD, self.mcp_name)
        return made

    def _strict(self, name: str, own: ToolOptions) -> ToolOptions:
        """Return what the server says of a function, never looser than before."""
        unknown = (False, True) if len(self._hints) < MAX_HINTS else (True, False)
        destroys, only_reads = self._hints.get(name, unknown)
        hints = own.confirm or destroys, own.read_only and only_reads
        if name in self._hints or len(self._hints) < MAX_HINTS:
            self._hints[name] = hints
        return replace(own, confirm=hints[0], read_only=hints[1])

    def _put(self, toolkit: Tools, tool: Tool, one: RegisteredToolFunction) -> None:
        if (added := toolkit._add(one, self._choice.strategy)) is not None:
            self._tools[tool.name] = tool, added

    def _follow(self, tools: Sequence[Tool]) -> None:
        """Change the toolkit as the server has changed."""
        toolkit = self._toolkit()
        if toolkit is None:
            self._unlisten()
            return
        before, now = self._tools, {tool.name: tool for tool in tools}
        self._tools = {name: held for name, held in before.items() if now.get(name) == held[0]}
        try:
            made = {tool.name: (tool, one) for tool, one in self._make(toolkit, tools)}
        except BadTool as error:
            # Its group is gone, and the tools with it.
            logger.warning("the changes of the MCP server %s are not taken: %s", self.mcp_name, error.message)
            return
        for name, (_, held) in before.items():
            if name not in self._tools:
                tool, one = made.pop(name, (None, None))
                one = one if one is not None and one.name == held.name else None
                toolkit._swap(held.name, held, one)
                if tool is not None and one is not None and toolkit.tools.get(held.name) is one:
                    self._tools[name] = tool, one
        for tool, one in made.values():
            try:
                self._put(toolkit, tool, one)
            except BadTool as error:
                logger.warning("a new tool of the MCP server %s is left out: %s", self.mcp_name, error.message)
