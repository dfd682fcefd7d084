"""Provisional results of tool calls.

Some models say nothing before a call has a result.
"""

from __future__ import annotations

from realtime.agent.context import AgentContext
from realtime.event.base import ContentPart, Item
from realtime.message import ToolResultBlock
from realtime.model import base

TOLD_LATER = "The result of {name} is there now: {words}. Tell the user."
"""Tells a model what its provisional result has become."""


class ProvisionalResults:
    """Provisional results of one call. The model gets the real ones later, as words."""

    def __init__(self, context: AgentContext) -> None:
        self._context = context
        self._told: set[str] = set()

    def give(self, call_id: str, words: str) -> None:
        """Give the model words in place of an open call's result, once.

        A call that has a result, such as one in the background, is not open.
        """
        items = self._context.conversation.items()
        if call_id in self._told or any(one.tool_result and one.tool_result.id == call_id for one in items):
            return
        self._told.add(call_id)
        calls = (item.tool_call for item in items if item.tool_call is not None)
        name = next((call.name for call in calls if call.id == call_id), "")
        self._context.send(base.ToolResult(ToolResultBlock(id=call_id, name=name, output=words)))

    def tell(self, result: ToolResultBlock, item_id: str) -> None:
        """Tell the model a result."""
        if result.id not in self._told:
            self._context.send(base.ToolResult(result, item_id))
            return
        self._told.discard(result.id)
        words = TOLD_LATER.format(name=result.name, words=result.output_text(names_media=True))
        content = (ContentPart(type="text", text=words),)
        self._context.send(base.ItemCreate(Item(id=item_id, role="system", content=content)))
