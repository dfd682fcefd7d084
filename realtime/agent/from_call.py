"""What a voice call adds to a reply of an agent: its instructions and its tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from realtime.event.config import ToolDeclaration
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.model.local.chat_messages import write_tool


@dataclass(frozen=True, slots=True)
class FromCall:
    """Instructions and tools of the RealtimeAgent that speaks for the agent.

    The tools of its client are among them. `run` has the call run a tool; it returns the result.
    """

    instructions: str
    tools: Sequence[ToolDeclaration]
    run: Callable[[ToolCallBlock], Awaitable[ToolResultBlock]]

    def __contains__(self, name: str) -> bool:
        return any(tool.name == name for tool in self.tools)

    def schemas_beside(self, own: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the schemas of the tools, without names that `own` has."""
        taken = {schema["function"]["name"] for schema in own}
        return [write_tool(tool) for tool in self.tools if tool.name not in taken]
