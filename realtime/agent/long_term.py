"""What a ReActAgent does with its long-term memory by itself: it recalls for each reply, and records after it."""

from __future__ import annotations

import asyncio
import logging

from realtime.agent.base import Messages
from realtime.agent.tasks import end_task
from realtime.memory import LongTermMemoryBase, MemoryBase
from realtime.message import Msg, UserMsg
from realtime.message.remembered import LONG_TERM_MEMORY, quoted
from realtime.module import StateModule
from realtime.tool.context import current_scope

logger = logging.getLogger(__name__)

RECALL_S = 0.05
"""Seconds that a reply waits for what is remembered, at most."""
RECORDING_GRACE_S = 1.0
"""Seconds that recording in the background has for its end."""


class Recall:
    """What is remembered about a reply's input, once it is there."""

    def __init__(self, work: asyncio.Task[Msg | None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._work = work
        self._until = self._loop.time() + RECALL_S

    async def wait(self) -> None:
        """Wait for it, until the reply has to go on without it."""
        await asyncio.wait({self._work}, timeout=max(0.0, self._until - self._loop.time()))

    @property
    def message(self) -> Msg | None:
        """The message for the prompt; None where nothing is remembered, or not yet.

        It stands in the prompts of its reply alone: the memory of the conversation does not grow by it.
        """
        is_there = self._work.done() and not self._work.cancelled()
        return self._work.result() if is_there else None

    def end(self) -> None:
        """The reply is over."""
        self._work.cancel()


class Remembering(StateModule):
    """Recalls before replies, and records after them, in the background: each message once.

    What fails is a warning in the log; what could not be recorded is tried again after the next reply.
    """

    def __init__(self, long_term: LongTermMemoryBase) -> None:
        super().__init__()
        # Not the memory itself, which is part of the agent's state already.
        self._retrieve = long_term.retrieve
        self._record = long_term.record
        self._tasks: set[asyncio.Task[None]] = set()
        self.recorded_ids: list[str] = []
        """The messages of the conversation that are in the long-term memory."""
        self.register_state("recorded_ids")

    def recall(self, msg: Messages, memory: MemoryBase) -> Recall:
        """Begin to recall what is remembered about `msg`; without it, about the last message in `memory`."""
        return Recall(asyncio.get_running_loop().create_task(self._recalled(msg, memory), name="recall"))

    def record(self, memory: MemoryBase, held_id: str | None) -> None:
        """Record what is new in `memory`, if the ended reply counts.

        The message `held_id` waits for the next time: it may still be cut to what was heard.
        """
        before = {*self._tasks}
        task = asyncio.get_running_loop().create_task(self._record_later(memory, held_id, before), name="recording")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self, memory: MemoryBase, limit_s: float | None = None) -> None:
        """Wait until all of `memory` is recorded; what takes longer than `limit_s` is stopped."""
        work = asyncio.ensure_future(self._record_all(memory))
        try:
            await asyncio.wait({work}, timeout=limit_s)
        finally:
            for task in (work, *self._tasks):
                await end_task(task, RECORDING_GRACE_S)

    async def _recalled(self, msg: Messages, memory: MemoryBase) -> Msg | None:
        try:
            about = (await memory.get_memory(prepend_summary=False))[-1:] if msg is None else msg
            text = await self._retrieve(about)
        except Exception as error:
            logger.warning("the long-term memory failed to recall: %s", type(error).__name__)
            return None
        return UserMsg(LONG_TERM_MEMORY, quoted(text)) if text and text.strip() else None

    async def _record_all(self, memory: MemoryBase) -> None:
        if self._tasks:
            await asyncio.wait({*self._tasks})
        await self._record_new(memory, None)

    async def _record_later(self, memory: MemoryBase, held_id: str | None, before: set[asyncio.Task[None]]) -> None:
        scope = current_scope()
        if scope is not None and scope.may_act is not None:
            await scope.may_act()  # does not return for a reply that is dropped
        if before:
            await asyncio.wait(before)
        await self._record_new(memory, held_id)

    async def _record_new(self, memory: MemoryBase, held_id: str | None) -> None:
        messages = await memory.get_memory(prepend_summary=False)
        known = {*self.recorded_ids, held_id}
        new: list[Msg | None] = [one for one in messages if one.id not in known]
        if not new:
            return
        try:
            await self._record(new)
        except Exception as error:
            logger.warning("the long-term memory failed to record: %s", type(error).__name__)
            return
        done = dict.fromkeys([*self.recorded_ids, *(one.id for one in new if one is not None)])
        there = {one.id for one in await memory.get_memory(prepend_summary=False)}
        self.recorded_ids = [one for one in done if one in there]
