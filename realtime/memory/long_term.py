"""The interface of a long-term memory: what an agent knows from earlier conversations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from realtime.message import Msg
from realtime.module import StateModule
from realtime.tool.response import ToolResponse

MemoryId = int | str
"""What names a memory: a number in SQLite, a text elsewhere."""


class Memory(NamedTuple):
    """Something that is remembered of a user."""

    id: MemoryId
    said_by: str
    text: str
    kept_at: str
    """ISO 8601, in UTC."""


class LongTermMemoryBase(StateModule):
    """What an agent remembers over many conversations.

    `record` and `retrieve` are for programs, and for agents that use it by themselves; the next two are tools. With
    `remembered`, `correct` and `forget` a user can also learn what is remembered, and have it changed (`is_editable`).
    """

    async def record(self, msgs: list[Msg | None], **kwargs: Any) -> Any:
        """Remember what these messages say."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `record`")

    async def retrieve(self, msg: Msg | list[Msg] | None, limit: int = 5, **kwargs: Any) -> str:
        """Return what is remembered about these messages, as text; "" for nothing."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `retrieve`")

    async def record_to_memory(self, thinking: str, content: list[str], **kwargs: Any) -> ToolResponse:
        """Remember facts."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `record_to_memory`")

    async def retrieve_from_memory(self, keywords: list[str], limit: int = 5, **kwargs: Any) -> ToolResponse:
        """Return what is remembered about keywords."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `retrieve_from_memory`")

    async def remembered(self, limit: int = 100, before_id: MemoryId | None = None) -> Sequence[Memory]:
        """Return what is remembered, the newest first; what is older than `before_id`, if given."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `remembered`")

    async def correct(self, memory_id: MemoryId, text: str) -> bool:
        """Replace the text of a memory; return False where there is none with this id."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `correct`")

    async def forget(self, which: MemoryId | Literal["all"]) -> int:
        """Forget the memory with this id, or all of the user; return how many there were."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `forget`")

    @property
    def is_editable(self) -> bool:
        """Whether it implements `remembered`, `correct` and `forget`."""
        return all(
            getattr(type(self), name) is not getattr(LongTermMemoryBase, name)
            for name in ("remembered", "correct", "forget")
        )

    async def aclose(self) -> None:
        """Close what is open; by default nothing is. The memory can be used on."""
