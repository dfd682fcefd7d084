"""One reply of a thinking agent: its task, its events, and the message that they fold to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any, assert_never

import msgspec

from realtime.agent.tasks import end_task, leave_behind
from realtime.errors import RealtimeError
from realtime.event import reply as r
from realtime.message import (
    Base64Source,
    Block,
    DataBlock,
    FinishedReason,
    HintBlock,
    Msg,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    canonical_json,
)
from realtime.runtime import unique_id, wall_clock_iso

logger = logging.getLogger(__name__)

NO_RESULT = "The tool call was interrupted."
"""The result of a call that has none when its reply ends."""
INTERRUPT_GRACE_S = 1.0
"""Seconds that a reply has for its end once it is interrupted; what still runs then is left behind."""

Listener = Callable[[r.AgentEvent], None]


class ReplyRun:
    """One reply. `msg` is the fold of its events so far; None before `start`.

    `session_id` stands in the events that begin and end the reply, `args` and `kwargs` are the arguments of the call.
    `listener` gets each event as it happens.
    """

    def __init__(
        self, session_id: str, listener: Listener | None, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.reply_id = unique_id()
        self.args = args
        self.kwargs = kwargs
        self.msg: Msg | None = None
        self.is_interrupted = False
        self.is_cancelled = False
        """Whether the task of the caller was cancelled."""
        self.interrupting: Any = None
        """The message with which `interrupt` was called."""
        self.is_heard = listener is not None
        """Whether the events have a reader."""
        self._session_id = session_id
        self._listener = listener
        self._task: asyncio.Task[Any] | None = None
        self._given_up: asyncio.Future[None] | None = None
        self._give_up: asyncio.TimerHandle | None = None
        self.metadata: dict[str, Any] = {}
        self.structured_output: dict[str, Any] | None = None
        """With `metadata`, what a complete message has beside its blocks."""
        self.is_parked = False
        """Whether it ends here without its end: it goes on with an answer to its calls."""
        self._end: r.ReplyEndEvent | None = None

    # -- the task ------------------------------------------------------------------------------------------------------

    async def run(self, work: Coroutine[Any, Any, Any], name: str) -> Any:
        """Run `work` in a task of its own and return its result.

        Raises CancelledError where it was interrupted, where it cancelled itself, and where the caller is cancelled:
        then the work has ended.
        """
        loop = asyncio.get_running_loop()
        self._given_up = loop.create_future()
        task = self._task = loop.create_task(work, name=name)
        try:
            await asyncio.wait({task, self._given_up}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.is_cancelled = True
            await end_task(task, INTERRUPT_GRACE_S)
            raise
        finally:
            self._given_up.cancel()
            if self._give_up is not None:
                self._give_up.cancel()
            self._task = None
        if task.done():
            return task.result()
        leave_behind(task)
        raise asyncio.CancelledError

    def interrupt(self, msg: Any) -> None:
        """End the task of the reply; a second time, or before and after the task, this does nothing."""
        task, given_up = self._task, self._given_up
        if self.is_interrupted or task is None or given_up is None or task.done():
            return
        self.is_interrupted, self.interrupting = True, msg
        task.cancel()
        loop = asyncio.get_running_loop()
        self._give_up = loop.call_later(INTERRUPT_GRACE_S, _resolve, given_up)

    def check(self) -> None:
        """Raise CancelledError where the reply was interrupted: some code swallows its cancellation."""
        if self.is_interrupted:
            raise asyncio.CancelledError

    # -- the events ----------------------------------------------------------------------------------------------------

    def start(self, name: str, role: Role = "assistant", **fields: Any) -> Msg:
        """Begin the reply, if it has not begun; return its message. `fields`: its `reply_id` and `created_at`."""
        if self.msg is None:
            self.reply_id = fields.setdefault("reply_id", self.reply_id)
            event = r.ReplyStartEvent(session_id=self._session_id, name=name, role=role, **fields)
            self.msg = Msg.from_events([event])
            self._deliver(event)
        return self.msg

    def resume(self, msg: Msg) -> None:
        """Go on with a reply that began in another run: its reader has the message so far."""
        self.msg, self.reply_id = msg, msg.id

    def tell(self, answer: Msg) -> None:
        """Begin the reply with a whole message, if it has not begun."""
        if self.msg is None:
            self.start(answer.name, answer.role, reply_id=answer.id, created_at=answer.created_at)
            self.add_blocks(answer.content)

    def add(self, *events: r.AgentEvent) -> None:
        """Fold events into the message and hand them to the listener. What comes after the end is dropped."""
        for event in events:
            if self._end is None and self.msg is not None:
                self.msg.append_event(event)
                self._deliver(event)

    def add_aside(self, event: r.CustomEvent | r.RequestStopEvent) -> None:
        """Hand an event that changes no message to the listener."""
        self._deliver(event)

    def add_blocks(self, blocks: list[Block]) -> None:
        """Add the events of whole blocks; of two of one id the first."""
        for block in blocks:
            if self.msg is None or self.msg.growing_content.get(block.type, block.id) is None:
                self.add(*block_events(self.reply_id, block))

    def finish(self, reason: FinishedReason, error: str | None = None) -> None:
        """Complete the message; the event follows with `deliver_end`. Does nothing the second time."""
        if self._end is None and self.msg is not None:
            given = {"metadata": self.metadata, "structured_output": self.structured_output}
            self._end = r.ReplyEndEvent(
                reply_id=self.reply_id,
                session_id=self._session_id,
                finished_reason=reason,
                error=error,
                message={name: value for name, value in given.items() if value},
            )
            self.msg.append_event(self._end)

    def conclude(self, answer: Msg) -> Msg:
        """Return a complete reply's answer; its end tells what it is beyond the message.

        It is another one where a hook has changed it, after an interruption, and where an agent made it itself.
        """
        if self._end is None or self.msg is None or answer is self.msg:
            return answer
        told, end, answer = self.msg, self._end, answer.copy()
        if answer.finished_at is None:
            answer.finished_at = told.finished_at = wall_clock_iso()
            end = msgspec.structs.replace(end, created_at=answer.finished_at)
        answer.finished_reason = answer.finished_reason or end.finished_reason
        if len(answer.content) == len(told.content):
            timed = [*map(_timed, answer.content, told.content)]
            answer.content = told.content if timed == told.content else answer.content
        before, after = told.model_dump(), self._tellable(answer).model_dump()
        changes = {name: after[name] for name in after if after[name] != before[name]}
        self._end = msgspec.structs.replace(end, message={**end.message, **changes})
        return answer

    def _tellable(self, answer: Msg) -> Msg:
        """Return the message without values that are no JSON: an agent may put anything into its `metadata`."""
        tellable = answer.copy()
        tellable.metadata = self._json(answer.metadata)
        if answer.structured_output is not None:
            tellable.structured_output = self._json(answer.structured_output)
        return tellable

    def _json(self, values: dict[str, Any]) -> dict[str, Any]:
        kept = {}
        for name, value in values.items():
            try:
                canonical_json(msgspec.to_builtins({name: value}))
                kept[name] = value
            except (TypeError, ValueError):
                kind = type(value).__name__
                logger.warning("reply %s: readers of its events do not get a %s, which is no JSON", self.reply_id, kind)
        return kept

    def deliver_end(self) -> None:
        """Hand the end to the listener, which gets nothing more."""
        if self._end is not None:
            self._deliver(self._end)
        self._listener = None

    def _deliver(self, event: r.AgentEvent) -> None:
        if self._listener is not None:
            self._listener(event)


async def events_of(task_of: Callable[[Listener], asyncio.Task[Any]]) -> AsyncGenerator[r.AgentEvent, None]:
    """Yield what a task hands to its listener; then raise what it raised.

    `task_of` begins the task with a listener. A slow reader keeps the events of this one reply waiting. Closing ends
    the task.
    """
    events: list[r.AgentEvent] = []
    news = asyncio.Event()

    def listen(event: r.AgentEvent) -> None:
        events.append(event)
        news.set()

    task = task_of(listen)
    task.add_done_callback(lambda _: news.set())
    try:
        while events or not task.done():
            news.clear()
            ready, events[:] = [*events], []
            for event in ready:
                yield event
            if not events and not task.done():
                await news.wait()
        task.result()
    finally:
        await end_task(task, 2 * INTERRUPT_GRACE_S)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def error_text(error: BaseException) -> str:
    """Return what the end of a reply says of an error: the sentence of ours, of others the type alone."""
    return error.message if isinstance(error, RealtimeError) else type(error).__name__


def block_events(reply_id: str, block: Block) -> Iterator[r.AgentEvent]:
    """Yield the events of a whole block; its times, where it has them, are theirs."""
    begins: dict[str, Any] = {} if block.created_at is None else {"created_at": block.created_at}
    ends: dict[str, Any] = {} if block.finished_at is None else {"created_at": block.finished_at}
    match block:
        case TextBlock():
            yield r.TextBlockStartEvent(reply_id=reply_id, block_id=block.id, **begins)
            yield r.TextBlockDeltaEvent(reply_id=reply_id, block_id=block.id, delta=block.text)
            yield r.TextBlockEndEvent(reply_id=reply_id, block_id=block.id, **ends)
        case ThinkingBlock():
            yield r.ThinkingBlockStartEvent(reply_id=reply_id, block_id=block.id, **begins)
            yield r.ThinkingBlockDeltaEvent(reply_id=reply_id, block_id=block.id, delta=block.thinking)
            yield r.ThinkingBlockEndEvent(reply_id=reply_id, block_id=block.id, extra=block.extra, **ends)
        case DataBlock(source=source, name=name):
            url = None if isinstance(source, Base64Source) else source.url
            yield r.DataBlockStartEvent(
                reply_id=reply_id, block_id=block.id, media_type=source.media_type, url=url, name=name, **begins
            )
            if isinstance(source, Base64Source):
                yield r.DataBlockDeltaEvent(reply_id=reply_id, block_id=block.id, data=source.data)
            yield r.DataBlockEndEvent(reply_id=reply_id, block_id=block.id, **ends)
        case HintBlock():
            yield r.HintBlockEvent(reply_id=reply_id, block_id=block.id, hint=block.hint, source=block.source, **begins)
        case ToolCallBlock():
            yield r.ToolCallStartEvent(reply_id=reply_id, tool_call_id=block.id, tool_call_name=block.name, **begins)
            if block.input:
                yield r.ToolCallDeltaEvent(reply_id=reply_id, tool_call_id=block.id, delta=block.input)
            yield r.ToolCallEndEvent(reply_id=reply_id, tool_call_id=block.id, **ends)
        case ToolResultBlock():
            yield r.ToolResultStartEvent(reply_id=reply_id, tool_call_id=block.id, tool_call_name=block.name, **begins)
            yield from output_events(reply_id, block)
            yield r.ToolResultEndEvent(reply_id=reply_id, tool_call_id=block.id, state=block.state, **ends)
        case _:
            assert_never(block)


def _timed(block: Block, told: Block) -> Block:
    """Return the block; times that it lacks are those that were told."""
    return msgspec.structs.replace(
        block, created_at=block.created_at or told.created_at, finished_at=block.finished_at or told.finished_at
    )


def output_events(reply_id: str, result: ToolResultBlock) -> Iterator[r.AgentEvent]:
    """Yield the events of a result's output; none for text without characters."""
    parts = [TextBlock(text=result.output)] if isinstance(result.output, str) else result.output
    for part in parts:
        if isinstance(part, TextBlock):
            if part.text:
                yield r.ToolResultTextDeltaEvent(reply_id=reply_id, tool_call_id=result.id, delta=part.text)
        else:
            yield data_event(reply_id, result.id, part)


def data_event(reply_id: str, call_id: str, block: DataBlock) -> r.ToolResultDataDeltaEvent:
    """Return the event for data in a tool's output."""
    source = block.source
    data, url = (source.data, None) if isinstance(source, Base64Source) else (None, source.url)
    return r.ToolResultDataDeltaEvent(
        reply_id=reply_id,
        tool_call_id=call_id,
        block_id=block.id,
        media_type=source.media_type,
        data=data,
        url=url,
    )
