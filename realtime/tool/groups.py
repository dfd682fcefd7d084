"""Tools by name and in groups: a model sees those in `basic`, and those of active groups."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Self
from weakref import WeakSet

from realtime.errors import BadTool
from realtime.module import StateModule
from realtime.tool.output import Output
from realtime.tool.registered import BASIC, RegisteredToolFunction
from realtime.tool.response import ToolResponse

logger = logging.getLogger(__name__)

RESET_TOOLS = "reset_equipped_tools"
"""Name of the tool by which a model activates groups."""

RESET_DESCRIPTION = """\
This function allows you to activate or deactivate tool groups
dynamically based on your current task requirements.
**Important: Each call sets the absolute final state of ALL tool
groups, not incremental changes**. Any group not explicitly set to True
will be deactivated, regardless of its previous state.

**Best practice**: Actively manage your tool groups——activate only
what you need for the current task, and promptly deactivate groups as
soon as they are no longer needed to conserve context space.

The function will return the usage instructions for the activated tool
groups, which you **MUST pay attention to and follow**. You can also
reuse this function to check the notes of the tool groups."""
"""What the model reads of that tool, as in AgentScope."""


@dataclass(slots=True, eq=False)
class ToolGroup:
    """A group of tools, which the model sees while it is active."""

    name: str
    active: bool
    description: str
    notes: str | None = None
    """How to use the tools; the model gets it when it activates the group."""


class GroupedTools(StateModule):
    """Tools by name, and the groups that some of them are in. The state is which groups are active.

    Copies (`_copies`) follow each change: they belong to calls, and have active groups of their own.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tools: dict[str, RegisteredToolFunction] = {}
        """The registered tools by name. Replaced, not changed, so another thread may read it."""
        self.groups: dict[str, ToolGroup] = {}
        self._copies: WeakSet[Self] = WeakSet()
        self._listeners: list[Callable[[], object]] = []
        self.register_state("active_groups")

    def create_tool_group(
        self, group_name: str, description: str, active: bool = False, notes: str | None = None
    ) -> None:
        """Add a group, for tools that a model needs only at times.

        The model reads `description` to decide whether it wants the group, and `notes` once it has it. Raises BadTool
        if the name is taken.
        """
        if group_name in self.groups or group_name == BASIC:
            raise BadTool(f"there is a group of tools named {group_name!r} already")
        self._put_group(ToolGroup(group_name, active, description, notes))

    def update_tool_groups(self, group_names: str | Sequence[str], active: bool) -> None:
        """Activate or deactivate groups; `basic` stays active.

        Unknown names change nothing; the log names them. Raises TypeError for names that are no text.
        """
        self._activate(self._named(group_names), active)

    def remove_tool_groups(self, group_names: str | Sequence[str]) -> None:
        """Remove groups with their tools. Raises BadTool for `basic`, TypeError for names that are no text.

        The log names unknown ones.
        """
        names = self._named(group_names)
        if BASIC in names:
            raise BadTool(f"the group {BASIC!r} is always there")
        self._remove_groups(names)

    @property
    def active_groups(self) -> list[str]:
        """Names of the active groups, without `basic`; names that do not exist cannot be set."""
        return [group.name for group in self.groups.values() if group.active]

    @active_groups.setter
    def active_groups(self, names: Collection[str]) -> None:
        for active in (False, True):
            self._activate([name for name in self.groups if (name in names) is active], active)

    def get_activated_notes(self) -> str:
        """Return the notes of the active groups, each with a heading; "" if there are none."""
        return "\n".join(
            f"## About Tool Group '{group.name}'\n{group.notes}"
            for group in self.groups.values()
            if group.active and group.notes
        )

    def reset_equipped_tools(self, **kwargs: Any) -> ToolResponse:
        """Activate these groups and no others; return what is active, with the groups' notes.

        This is the tool by which a model chooses its tools: `register_tool_function(toolkit.reset_equipped_tools)`.
        """
        for name, wanted in kwargs.items():
            if not isinstance(wanted, bool):
                text = f"Invalid arguments: {name} is true or false, not {type(wanted).__name__}."
                return Output().failed(text)
        self.active_groups = [name for name, wanted in kwargs.items() if wanted]
        active = self.active_groups
        if not active:
            return Output().whole("All tool groups are now deactivated currently.")
        text = f"Now tool groups {', '.join(map(repr, active))} are activated."
        if notes := self.get_activated_notes():
            text += f" You MUST follow these notes to use these tools:\n<notes>{notes}</notes>"
        return Output().whole(text)

    # -- tools, and who follows them -------------------------------------------------------------------------------

    def __contains__(self, name: object) -> bool:
        return name in self.tools

    def __len__(self) -> int:
        return len(self.tools)

    def remove_tool_function(self, tool_name: str, allow_not_exist: bool = True) -> None:
        """Remove a tool. Raises BadTool if there is none of this name.

        With `allow_not_exist`, the log names it.
        """
        before = self.tools.get(tool_name)
        if before is not None:
            self._swap(tool_name, before, None)
            return
        missing = f"there is no tool named {tool_name!r}{_is_near(tool_name, self.tools)}"
        if not allow_not_exist:
            raise BadTool(missing)
        logger.warning("%s", missing)

    def include(self, other: GroupedTools) -> None:
        """Take over another toolkit's tools and groups, and follow its changes.

        Tools and groups of this one precede those of the same name. Idempotent.
        """
        for group in other.groups.values():
            if group.name not in self.groups:
                self._put_group(replace(group))
        for name, tool in other.tools.items():
            self._swap(name, None, tool)
        other._copies.add(self)

    def on_change(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call `listener` whenever tools or groups may have changed.

        That is on the thread that changed them. Returns what ends it.
        """
        self._listeners = [*self._listeners, listener]

        def end() -> None:
            self._listeners = [one for one in self._listeners if one is not listener]

        return end

    # -- inside ----------------------------------------------------------------------------------------------------

    def _swap(self, name: str, before: RegisteredToolFunction | None, after: RegisteredToolFunction | None) -> None:
        """Put one tool in the place of another; also in the copies that have the same one there."""
        if self.tools.get(name) is not before:
            return
        tools = {**self.tools}
        if after is None:
            del tools[name]
        else:
            tools[name] = after
        self.tools = tools
        for one in self._copies:
            one._swap(name, before, after)
        self._tell()

    def _named(self, given: str | Sequence[str]) -> list[str]:
        """Return the names of groups; log those that name none. Raises TypeError for what is no text."""
        names = [given] if isinstance(given, str) else [*given]
        if not all(isinstance(name, str) for name in names):
            raise TypeError("group_names is a list of names")
        for name in names:
            if name not in self.groups and name != BASIC:
                logger.warning("there is no group of tools named %r%s", name, _is_near(name, self.groups))
        return names

    def _remove_groups(self, names: Collection[str]) -> None:
        self.groups = {name: group for name, group in self.groups.items() if name not in names}
        self.tools = {name: tool for name, tool in self.tools.items() if tool.group not in names}
        for one in self._copies:
            one._remove_groups(names)
        self._tell()

    def _activate(self, names: Collection[str], active: bool) -> None:
        for name in names:
            if name in self.groups:
                self.groups[name].active = active
        for one in self._copies:
            one._activate(names, active)
        self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()

    def _put_group(self, group: ToolGroup) -> None:
        self.groups = {**self.groups, group.name: group}
        for one in self._copies:
            if group.name not in one.groups:
                one._put_group(replace(group))
        self._tell()

    def _is_active(self, tool: RegisteredToolFunction) -> bool:
        return tool.group == BASIC or self.groups[tool.group].active

    def _active_tools(self) -> Iterator[RegisteredToolFunction]:
        return (tool for tool in self.tools.values() if self._is_active(tool))

    def _reset_schema(self, tool: RegisteredToolFunction) -> dict[str, Any]:
        """Return the schema of `reset_equipped_tools`: a switch for each group."""
        return tool.schema_with(
            {
                group.name: {"type": "boolean", "description": group.description, "default": False}
                for group in self.groups.values()
            }
        )


def _is_near(name: str, known: Collection[str]) -> str:
    """Return the end of a sentence about an unknown name: the one that is meant, if any is like it."""
    near = get_close_matches(name, known, 1)
    return f": is {near[0]!r} meant?" if near else ""
