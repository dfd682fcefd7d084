"""The long-term memory of one call: recalled for what the user says, recorded after each reply, as it was heard."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from realtime.agent.long_term import RECALL_S, RECORDING_GRACE_S
from realtime.agent.settings import AgentSpec
from realtime.agent.tasks import TimeUp, bounded, end_task
from realtime.call.participant import Follow
from realtime.errors import BadTool
from realtime.event import server as s
from realtime.memory import LongTermMemoryBase
from realtime.memory.caller_tools import equip
from realtime.message import Msg, UserMsg
from realtime.message.remembered import LongTermMemoryMode, quoted

logger = logging.getLogger(__name__)

SEARCH_S = 2.0
"""Seconds after which a recall is given up."""
SWALLOWED_S = 0.1
"""Seconds that a memory has for its end when it is stopped."""
MORE_WORDS = 4
"""New words of a turn for which memories are recalled again."""
RECORD_S = 30.0
"""Seconds after which a recording in the background is given up: a memory may ask a language model."""
LAST_RECORD_S = 5.0
"""Seconds that the end of a call waits for the last recording."""


class Recall:
    """Searches a memory for the user's words, one search at a time; `found` gets each result that is not empty.

    What is found stays in force until something else is: "and which of them?" needs it still.
    """

    def __init__(self, memory: LongTermMemoryBase, found: Callable[[str], None]) -> None:
        self._retrieve = memory.retrieve
        self._found = found
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._wanted = self._searched = ""
        self._began_s = 0.0
        self._waiting: list[Callable[[], None]] = []
        self._timer: asyncio.TimerHandle | None = None

    def about(self, words: str, *, is_whole: bool) -> None:
        """Search for these words of a turn; partial ones only if there are enough that are new."""
        words = words.strip()
        known = self._wanted
        grows = known != "" and words.startswith(known)
        if not words or words == known:
            return
        if not is_whole and grows and len(words.split()) < len(known.split()) + MORE_WORDS:
            return
        self._wanted = words
        if self._task is None:
            self._began_s = self._loop.time()
            self._task = self._loop.create_task(self._search(), name="recall")

    def then(self, go_on: Callable[[], None]) -> bool:
        """Call `go_on` once the search is over, 50 ms at most.

        Returns False where there is nothing to wait for.
        """
        left_s = self._began_s + RECALL_S - self._loop.time()
        if self._task is None or left_s <= 0:
            return False
        self._waiting.append(go_on)
        if self._timer is None:
            self._timer = self._loop.call_later(left_s, self._release)
        return True

    def close(self) -> None:
        """The call is over: no result counts, and nothing goes on."""
        self._waiting.clear()
        self._found = _found_for_no_one
        self._release()
        if self._task is not None:
            self._task.cancel()

    async def _search(self) -> None:
        try:
            while self._wanted != self._searched:
                words = self._searched = self._wanted
                text = await self._text(words)
                if text.strip():
                    self._found(quoted(text))
                self._began_s = self._loop.time()
        finally:
            self._task = None
            self._release()

    async def _text(self, words: str) -> str:
        try:
            return str(await bounded(self._retrieve(UserMsg("user", words)), SEARCH_S, grace_s=SWALLOWED_S) or "")
        except TimeUp:
            logger.warning("the long-term memory recalled nothing within %g s", SEARCH_S)
        except Exception as error:
            logger.warning("the long-term memory failed to recall: %s", type(error).__name__)
        return ""

    def _release(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, []
        for go_on in waiting:
            go_on()


def _found_for_no_one(text: str) -> None:
    """Drop what was found too late."""


class Recording:
    """Records each message of a call once, in order, in the background.

    What fails is a warning in the log, and is tried again after the next reply.
    """

    def __init__(self, memory: LongTermMemoryBase, heard: Callable[[], Sequence[Msg]]) -> None:
        self._record = memory.record
        self._heard = heard
        self._done: set[str] = set()
        """Ids of messages that are recorded, or are not to be."""
        self._is_due = False
        self._task: asyncio.Task[None] | None = None

    def soon(self) -> None:
        """Record what is new."""
        self._is_due = True
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work(), name="recording")

    def leave_out(self, ids: Sequence[str]) -> None:
        """Never record these messages."""
        self._done.update(ids)

    async def settle(self) -> None:
        """Wait until nothing is being recorded, for a while."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=LAST_RECORD_S)

    async def finish(self, heard: Sequence[Msg]) -> None:
        """Record the rest of the call, within `LAST_RECORD_S`."""
        self._heard = lambda: heard
        self.soon()
        task = self._task
        assert task is not None
        await self.settle()
        if not task.done():
            logger.warning("the end of a call was not recorded within %g s", LAST_RECORD_S)
        await end_task(task, RECORDING_GRACE_S)

    async def _work(self) -> None:
        try:
            while self._is_due:
                self._is_due = False
                new: list[Msg | None] = [one for one in self._heard() if one.id not in self._done]
                if not new:
                    continue
                await bounded(self._record(new), RECORD_S, grace_s=RECORDING_GRACE_S)
                self._done |= {one.id for one in new if one is not None}
        except TimeUp:
            logger.warning("the long-term memory recorded nothing within %g s", RECORD_S)
        except Exception as error:
            logger.warning("the long-term memory failed to record: %s", type(error).__name__)
        finally:
            self._task = None


class UserMemory:
    """What a server gives the calls of one user: their memory, and the other calls of the same user."""

    def __init__(self, memory: LongTermMemoryBase, calls: set[MemoryOfCall]) -> None:
        self.memory = memory
        self.calls = calls


class MemoryOfCall:
    """The long-term memory of one agent in one call: that of its specification, else the one of the call's user."""

    def __init__(self, spec: AgentSpec, of_user: UserMemory | None = None) -> None:
        self._spec = spec
        self._of_user = of_user if spec.long_term_memory is None else None
        self._calls: set[MemoryOfCall] = set() if self._of_user is None else self._of_user.calls
        self._recall: Recall | None = None
        self._recording: Recording | None = None
        self._item_ids: Callable[[], Sequence[str]] = tuple
        self._unfollow: Callable[[], None] | None = None
        self._found: Callable[[str], None] = _found_for_no_one
        self._words: tuple[str, str] = ("", "")
        """The turn that is spoken: its item, and its words so far."""
        self._skips_reply = False
        self._holds = False
        self._held: str | None = None
        """What was found, and waits for the end of the reply."""
        self._goes_on = ""
        """The latest response that has called a tool."""

    @property
    def memory(self) -> LongTermMemoryBase | None:
        """The memory; None where the agent has none in this call."""
        return self._spec.long_term_memory if self._of_user is None else self._of_user.memory

    @property
    def mode(self) -> LongTermMemoryMode:
        """Who uses it."""
        return self._spec.long_term_memory_mode

    def begin(self) -> None:
        """Give the agent its tools. Where it has one of these names, a memory of the server comes without tools."""
        if self.memory is None:
            return
        try:
            equip(self._spec.toolkit, self.memory, self.mode, self._changing)
        except BadTool as error:
            if self._of_user is None:
                raise
            logger.warning("%s remembers its callers without tools for it: %s", self._spec.name, error)

    def follow(
        self,
        follow: Follow,
        *,
        found: Callable[[str], None],
        heard: Callable[[], Sequence[Msg]],
        item_ids: Callable[[], Sequence[str]],
        after_reply: bool,
    ) -> None:
        """Recall and record from now on; what the call began with is left out.

        `found` gets what the model is to know, "" for nothing; with `after_reply` not before the end of the reply,
        since it would wait for it. `heard` gives what was heard so far, as messages.
        """
        if self.memory is None:
            return
        self._calls.add(self)
        self._found, self._item_ids = found, item_ids
        self._holds = after_reply
        if self.mode != "agent_control":
            self._recall = Recall(self.memory, self._take_found)
            self._recording = Recording(self.memory, heard)
            self._recording.leave_out(item_ids())
        self._unfollow = follow(self._take)

    def hear(self, words: str) -> None:
        """Recall for a guess at the words of a turn."""
        if self._recall is not None:
            self._recall.about(words, is_whole=False)

    def wait(self, go_on: Callable[[], None]) -> bool:
        """Let a request wait for a recall that runs: see `Recall.then`."""
        return self._recall is not None and not self._holds and self._recall.then(go_on)

    def leave(self) -> None:
        """The agent has left the call: recall no more."""
        if self._unfollow is not None:
            self._unfollow()
            self._unfollow = None
        if self._recall is not None:
            self._recall.close()
            self._recall = None
        self._found = _found_for_no_one

    async def finish(self, heard: Sequence[Msg]) -> None:
        """Record the rest of what was heard; close the memory where the server has opened it."""
        recording, self._recording = self._recording, None
        try:
            if recording is not None:
                await recording.finish(heard)
        finally:
            self._calls.discard(self)
            self._item_ids = tuple  # refers back to the call
            if self._of_user is not None and not self._calls:
                await _closed(self._of_user.memory)

    # -- what the user changes ---------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _changing(self, forgets: bool) -> AsyncIterator[None]:
        async with changing(self._calls | {self}, forgets):
            yield

    def drop_recalled(self) -> None:
        """The memory changes: what the model knows of it does not count any more."""
        if self.memory is not None and self.mode != "agent_control" and self._recall is not None:
            self._recall.close()
            self._recall = Recall(self.memory, self._take_found)
            self._held = None
            self._found("")

    async def leave_out_what_was_said(self) -> None:
        """Never record what was said until now, nor the reply to it."""
        if self._recording is not None:
            self._recording.leave_out(self._item_ids())
            self._skips_reply = True
            await self._recording.settle()

    # -- what happens in the call ------------------------------------------------------------------------------------

    def _take(self, event: s.ServerEvent) -> None:
        match event:
            case s.AgentInputTranscriptionDeltaEvent(item_id=item_id):
                known = self._words[1] if self._words[0] == item_id else ""
                self._words = (item_id, known + event.delta)
                self._about(known + event.delta + (event.interim or ""), is_whole=False)
            case s.AgentInputTranscriptionDoneEvent(transcript=text):
                self._about(text, is_whole=True)
            case s.AgentItemAddedEvent(item=item) if item.role == "user":
                self._skips_reply = False
                self._about(item.text, is_whole=True)
            case s.AgentItemAddedEvent(item=item) if self._skips_reply and self._recording is not None:
                self._recording.leave_out([item.id])
            case s.AgentResponseToolUseDoneEvent(response_id=response_id):
                self._goes_on = response_id
            case s.AgentResponseDoneEvent(status="completed", response_id=response_id):
                # A reply that goes on with a tool is not over: the tool may be one that forgets.
                if response_id != self._goes_on:
                    self._reply_ended()
            case _:
                pass

    def _take_found(self, text: str) -> None:
        if self._holds:
            self._held = text
        else:
            self._found(text)

    def _reply_ended(self) -> None:
        if self._held is not None:
            held, self._held = self._held, None
            self._found(held)
        if self._recording is not None:
            self._recording.soon()

    def _about(self, words: str, *, is_whole: bool) -> None:
        if self._recall is not None:
            self._recall.about(words, is_whole=is_whole)


@asynccontextmanager
async def changing(calls: set[MemoryOfCall], forgets: bool) -> AsyncIterator[None]:
    """Surround a change of the memory of these calls; with `forgets`, they record nothing of what was said before."""
    if forgets:
        await asyncio.gather(*(one.leave_out_what_was_said() for one in calls))
    try:
        yield
    finally:
        # Behind the change: a search that had begun before it finds what is gone.
        for one in calls:
            one.drop_recalled()


async def _closed(memory: LongTermMemoryBase) -> None:
    """Close a memory; one that fails or hangs is a warning in the log."""
    try:
        await bounded(memory.aclose(), LAST_RECORD_S, grace_s=SWALLOWED_S)
    except TimeUp:
        logger.warning("a long-term memory was not closed within %g s", LAST_RECORD_S)
    except Exception as error:
        logger.warning("a long-term memory could not be closed: %s", type(error).__name__)
