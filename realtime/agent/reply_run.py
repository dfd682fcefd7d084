"""One reply of a thinking agent: its task, its events, and the message that they fold to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any

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
)
from realtime.runtime import unique_id

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

    def start(self, name: str, role: Role = "assistant", *, reply_id: str | None = None) -> Msg:
        """Begin the reply, if it has not begun; return its message."""
        if self.msg is None:
            self.reply_id = reply_id or self.reply_id
            event = r.ReplyStartEvent(reply_id=self.reply_id, session_id=self._session_id, name=name, role=role)
            self.msg = Msg.from_events([event])
            self._deliver(event)
        return self.msg

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
        """Add the events of whole blocks."""
        for block in blocks:
            self.add(*block_events(self.reply_id, block))
            self.keep(block)

    def keep(self, block: Block) -> None:
        """Keep in the message what no event carries: a signature of thinking, data behind a URL."""
        if self.msg is None:
            return
        if isinstance(block, ThinkingBlock) and block.extra:
            self.msg.growing_content.change("thinking", block.id, extra=block.extra)
        elif isinstance(block, DataBlock) and not isinstance(block.source, Base64Source):
            self.msg.growing_content.add(block)

    def finish(self, reason: FinishedReason, error: str | None = None) -> None:
        """Complete the message; the event follows with `deliver_end`. Does nothing the second time."""
        if self._end is None and self.msg is not None:
            self._end = r.ReplyEndEvent(
                reply_id=self.reply_id, session_id=self._session_id, finished_reason=reason, error=error
            )
            self.msg.append_event(self._end)

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
    """Yield the events of a whole block; none for data behind a URL, which no event can carry."""
    match block:
        case TextBlock():
            yield r.TextBlockStartEvent(reply_id=reply_id, block_id=block.id)
            yield r.TextBlockDeltaEvent(reply_id=reply_id, block_id=block.id, delta=block.text)
            yield r.TextBlockEndEvent(reply_id=reply_id, block_id=block.id)
        case ThinkingBlock():
            yield r.ThinkingBlockStartEvent(reply_id=reply_id, block_id=block.id)
            yield r.ThinkingBlockDeltaEvent(reply_id=reply_id, block_id=block.id, delta=block.thinking)
            yield r.ThinkingBlockEndEvent(reply_id=reply_id, block_id=block.id)
        case DataBlock(source=Base64Source() as source):
            yield r.DataBlockStartEvent(reply_id=reply_id, block_id=block.id, media_type=source.media_type)
            yield r.DataBlockDeltaEvent(reply_id=reply_id, block_id=block.id, data=source.data)
            yield r.DataBlockEndEvent(reply_id=reply_id, block_id=block.id)
        case HintBlock():
            yield r.HintBlockEvent(reply_id=reply_id, block_id=block.id, hint=block.hint, source=block.source)
        case ToolCallBlock():
            yield r.ToolCallStartEvent(reply_id=reply_id, tool_call_id=block.id, tool_call_name=block.name)
            if block.input:
                yield r.ToolCallDeltaEvent(reply_id=reply_id, tool_call_id=block.id, delta=block.input)
            yield r.ToolCallEndEvent(reply_id=reply_id, tool_call_id=block.id)
        case ToolResultBlock():
            yield r.ToolResultStartEvent(reply_id=reply_id, tool_call_id=block.id, tool_call_name=block.name)
            yield from output_events(reply_id, block)
            yield r.ToolResultEndEvent(reply_id=reply_id, tool_call_id=block.id, state=block.state)
        case _:
            return


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
