"""A long-term memory that gets nothing but redacted texts."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence
from typing import Any, Literal

from realtime.memory.long_term import LongTermMemoryBase, Memory, MemoryId
from realtime.message import Msg
from realtime.state.redaction import Redaction
from realtime.tool.response import ToolResponse


class RedactedMemory(LongTermMemoryBase):
    """Takes secrets out of what a user's memory is to keep.

    Its tools have the descriptions of that memory's own.
    """

    def __init__(self, memory: LongTermMemoryBase, redaction: Redaction) -> None:
        super().__init__()

        @functools.wraps(memory.record_to_memory)
        async def record_to_memory(thinking: str, content: list[str], **kwargs: Any) -> ToolResponse:
            thought, facts = await asyncio.to_thread(redaction.value, (thinking, list(content)))
            return await memory.record_to_memory(thought, facts, **kwargs)

        self._memory: LongTermMemoryBase
        self._redaction: Redaction
        own = {
            "_memory": memory,
            "_redaction": redaction,
            "retrieve_from_memory": memory.retrieve_from_memory,
            "record_to_memory": record_to_memory,
        }
        for name, value in own.items():
            # A service keeps it, not the state of an agent.
            object.__setattr__(self, name, value)

    async def record(self, msgs: list[Msg | None], **kwargs: Any) -> Any:
        """Remember what these messages say, without secrets."""
        told = [msg for msg in msgs if msg is not None]
        return await self._memory.record([await self._without_secrets(msg) for msg in told], **kwargs)

    async def _without_secrets(self, msg: Msg) -> Msg:
        return await asyncio.to_thread(self._redaction.message, msg)

    async def retrieve(self, msg: Msg | list[Msg] | None, limit: int = 5, **kwargs: Any) -> str:
        """Return what the memory does."""
        return await self._memory.retrieve(msg, limit, **kwargs)

    async def remembered(self, limit: int = 100, before_id: MemoryId | None = None) -> Sequence[Memory]:
        """Return what the memory does."""
        return await self._memory.remembered(limit, before_id)

    async def correct(self, memory_id: MemoryId, text: str) -> bool:
        """Replace the text of a memory by this one without secrets."""
        return await self._memory.correct(memory_id, await asyncio.to_thread(self._redaction.text, text))

    async def forget(self, which: MemoryId | Literal["all"]) -> int:
        """Forget what the memory does."""
        return await self._memory.forget(which)

    @property
    def is_editable(self) -> bool:
        """Whether the memory is."""
        return self._memory.is_editable

    async def aclose(self) -> None:
        """Close the memory."""
        await self._memory.aclose()
