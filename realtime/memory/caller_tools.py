"""The tools of a voice agent's memory: by them a caller hears what is remembered, corrects it, and has it forgotten."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from itertools import accumulate
from typing import Any

from realtime.errors import BadTool, UsageError
from realtime.memory.long_term import LongTermMemoryBase, Memory, MemoryId
from realtime.message import TextBlock
from realtime.message.remembered import MAX_QUOTED_CHARS, LongTermMemoryMode, quoted
from realtime.tool import Toolkit, ToolResponse
from realtime.tool.output import failed

MOST_LISTED = 20
"""Memories that are listed at once: what a caller can listen to."""
MOST_READ = 2_000
"""Memories that are looked through for a word."""
NO_SUCH_MEMORY = "Nothing has the id {id!r}. Call list_memories to see which ids there are."
MODEL_TOOLS = ("record_to_memory", "retrieve_from_memory")
CALLER_TOOLS = ("list_memories", "correct_memory", "forget_memories", "forget_everything")
FORGET_ALL = "Shall I forget everything that I remember about you?"
"""The question before everything is forgotten."""
Changing = Callable[[bool], AbstractAsyncContextManager[None]]
"""Surrounds a change: with True, what was said until now is not to be remembered either."""


def _no_one_else(forgets: bool) -> AbstractAsyncContextManager[None]:
    """Tell no call of a change."""
    return nullcontext()


class CallerTools:
    """The tools over one user's memory. `changing` surrounds each change."""

    def __init__(self, memory: LongTermMemoryBase, changing: Changing = _no_one_else) -> None:
        self._memory = memory
        self._changing = changing

    def equip(self, toolkit: Toolkit) -> None:
        """Add the tools to a toolkit, which has none of these names."""
        toolkit.register(self.list_memories, read_only=True)
        toolkit.register(self.correct_memory)
        toolkit.register(self.forget_memories)
        toolkit.register(self.forget_everything, confirm=True, question=FORGET_ALL)

    async def list_memories(self, about: str = "", older_than: MemoryId = "") -> ToolResponse:
        """List what is remembered about the user, newest first, with ids.

        Call it when the user asks what you know or remember about them, and before you correct or forget something.

        Args:
            about: A word that has to occur, such as a name; empty for everything.
            older_than: The last id of the list before, to go on behind it; empty for the newest.
        """
        found, is_more = await self._found(about.strip().casefold(), _bare(older_than) or None)
        if not found:
            return _told("Nothing is remembered about that." if about else "Nothing is remembered.")
        lines = [" ".join(f"[{one.id}] {one.kept_at[:10]}, {one.said_by}: {one.text}".split()) for one in found]
        # What does not fit between the quotes is left for the next call.
        ends = accumulate(len(line) + 1 for line in lines)
        n_fit = sum(end <= MAX_QUOTED_CHARS for end in ends) or 1
        is_more, lines = is_more or n_fit < len(lines), lines[:n_fit]
        more = f"\nThere may be more: call this again with older_than={found[n_fit - 1].id}." if is_more else ""
        return _told(quoted("\n".join(lines)) + more)

    async def correct_memory(self, memory_id: MemoryId, text: str) -> ToolResponse:
        """Replace something that is remembered about the user and is wrong.

        Args:
            memory_id: Its id, as list_memories says it.
            text: What is true, as a sentence that can be understood by itself.
        """
        async with self._changing(False):
            is_known = await self._memory.correct(_bare(memory_id), text)
        return _told("Corrected.") if is_known else failed(NO_SUCH_MEMORY.format(id=memory_id))

    async def forget_memories(self, memory_ids: list[MemoryId]) -> ToolResponse:
        """Forget some of what is remembered about the user, for good.

        Call it when the user asks for that. The same thing may be remembered several times in other words: give the
        ids of all.

        Args:
            memory_ids: The ids, as list_memories says them.
        """
        given: Any = memory_ids
        listed = given if isinstance(given, list | tuple) else str(given).split(",")
        wanted = [_bare(one) for one in listed]
        async with self._changing(True):
            gone = {one: await self._forgotten(one) for one in wanted if one != "all"}
        unknown = [one for one in wanted if not gone.get(one)]
        if unknown:
            return failed(f"Forgotten: {sum(gone.values())}. {NO_SUCH_MEMORY.format(id=', '.join(unknown))}")
        return _told(f"Forgotten: {sum(gone.values())}.")

    async def forget_everything(self) -> ToolResponse:
        """Forget all that is remembered about the user, for good.

        Call it when the user asks for that.
        """
        async with self._changing(True):
            n_gone = await self._memory.forget("all")
        return _told(f"Forgotten: all {n_gone}.")

    async def _forgotten(self, memory_id: str) -> int:
        """Forget one memory; return how many that were: none where it is no id."""
        try:
            return await self._memory.forget(memory_id)
        except UsageError:
            return 0

    async def _found(self, word: str, before_id: MemoryId | None) -> tuple[list[Memory], bool]:
        """Return the newest memories with a word; whether there may be more."""
        found: list[Memory] = []
        n_read = 0
        while n_read < MOST_READ:
            page = await self._memory.remembered(100, before_id)
            n_read += len(page)
            for one in page:
                if word in one.text.casefold():
                    found.append(one)
                    if len(found) == MOST_LISTED:
                        return found, True
            if len(page) < 100:
                return found, False
            before_id = page[-1].id
        return found, True


def _bare(memory_id: MemoryId) -> str:
    """Return an id without the brackets that the list writes around it."""
    return str(memory_id).strip().strip("[]# ")


def _told(text: str) -> ToolResponse:
    return ToolResponse([TextBlock(text=text)])


def equip(
    toolkit: Toolkit, memory: LongTermMemoryBase, mode: LongTermMemoryMode, changing: Changing = _no_one_else
) -> None:
    """Add the tools of a memory: the model's own by `mode`, those of the caller where it `is_editable`.

    Raises BadTool, with nothing added, where a name is taken.
    """
    names = (() if mode == "static_control" else MODEL_TOOLS) + (CALLER_TOOLS if memory.is_editable else ())
    if taken := [name for name in names if name in toolkit]:
        raise BadTool(f"the toolkit has a tool {taken[0]!r}, as the long-term memory does: rename yours")
    if mode != "static_control":
        toolkit.register_tool_function(memory.record_to_memory)
        toolkit.register_tool_function(memory.retrieve_from_memory, read_only=True)
    if memory.is_editable:
        CallerTools(memory, changing).equip(toolkit)
