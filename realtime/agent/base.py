"""`AgentBase`: the base of thinking agents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextvars import ContextVar, copy_context
from typing import Any, ClassVar

from realtime.agent.console import Console
from realtime.agent.from_call import FromCall
from realtime.agent.hooks import Core, Hooked, StopReply
from realtime.agent.reply_run import Listener, ReplyRun, error_text, events_of
from realtime.errors import UsageError
from realtime.event import reply as r
from realtime.message import DataBlock, FinishedReason, Msg
from realtime.model.local.language_model import LanguageModelForCalls
from realtime.options import checked
from realtime.runtime import unique_id

MAX_PRINTED = 100
"""Printed pieces that wait in a message queue which the agent makes; the oldest ones are dropped."""

Printed = tuple[Msg, bool, DataBlock | list[DataBlock] | None]
"""A copy of a printed message, whether it is complete, its speech."""

Messages = Msg | list[Msg] | None


class AgentBase(Hooked):
    """An agent that answers messages. Subclasses implement `reply`, `observe` and `handle_interrupt`.

    `await agent(msg)` and `await agent.reply(msg)` return the answer, `reply_stream(msg)` yields the events of the same
    reply. An agent gives one reply at a time: a second call meanwhile raises UsageError (`agent_replying`). Cancelling
    the caller ends the reply; `interrupt` ends it too, and then the answer is that of `handle_interrupt`.

    `name` defaults to the name of the class. A subclass calls `super().__init__()`.
    """

    supported_hook_types: ClassVar[list[str]] = [
        "pre_reply",
        "post_reply",
        "pre_print",
        "post_print",
        "pre_observe",
        "post_observe",
    ]

    _run: ReplyRun | None = None
    """The reply that is being given."""
    voice_call: object | None = None
    """The voice call whose language model it is."""
    from_call: FromCall | None = None
    """What that call adds to the reply that is being given. A ReActAgent makes use of it; others may."""

    @checked()
    def __init__(self, name: str | None = None) -> None:
        super().__init__()
        self.id = unique_id()
        self.name = name or type(self).__name__
        self.questions = asyncio.Lock()
        """Held while a delegate's question is answered: those of all delegates come one after the other."""
        self.msg_queue: asyncio.Queue[Printed] | None = None
        self._console: Console | None = Console()

    # -- what subclasses implement -------------------------------------------------------------------------------------

    async def reply(self, *args: Any, **kwargs: Any) -> Msg:
        """Answer the messages in the arguments."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `reply`")

    async def observe(self, msg: Messages) -> None:
        """Take messages without an answer."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `observe`")

    async def handle_interrupt(self, *args: Any, **kwargs: Any) -> Msg:
        """Answer after an interruption. Gets the arguments of `reply`."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `handle_interrupt`")

    # -- replies -------------------------------------------------------------------------------------------------------

    async def __call__(self, *args: Any, **kwargs: Any) -> Msg:
        """Return the answer, as `reply` does."""
        msg: Msg = await self.reply(*args, **kwargs)
        return msg

    def reply_stream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[r.AgentEvent, None]:
        """Yield the events of a reply, from its start to its end. Takes the arguments of `reply`.

        Their fold is the message that `reply` returns. Its last event tells what `post_reply` hooks, `handle_interrupt`
        and the agent itself have put into it beyond what was said until then: a voice does not speak that. Closing the
        stream (`contextlib.aclosing`) or cancelling its reader ends the reply. Raises what `reply` raises, after the
        end of the reply, which says so.
        """

        return events_of(lambda listener: self.begin_reply(listener, *args, **kwargs))

    def begin_reply(self, listener: Listener, /, *args: Any, **kwargs: Any) -> asyncio.Task[Msg]:
        """Begin a reply in a task of its own; `listener` gets its events as they happen.

        The arguments and the events are those of `reply_stream`.
        """
        context = copy_context()
        context.run(_LISTENER.set, listener)
        return asyncio.get_running_loop().create_task(self.reply(*args, **kwargs), context=context)

    def stream_events(self, *args: Any, **kwargs: Any) -> AsyncGenerator[r.AgentEvent, None]:
        """Yield the events of a reply, as `reply_stream` does."""
        return self.reply_stream(*args, **kwargs)

    @property
    def is_replying(self) -> bool:
        """Whether a reply is being given."""
        return self._run is not None

    async def interrupt(self, msg: Messages = None) -> None:
        """End the reply that is being given; without one nothing happens.

        Its caller gets the answer of `handle_interrupt`. `msg`, such as the words that interrupted, is observed before
        that. Does not wait for the end of the reply. Code that swallows its cancellation is left behind after 1 s.
        """
        if self._run is not None:
            self._run.interrupt(msg)

    def emit_custom(self, name: str, value: dict[str, Any]) -> None:
        """Add a CustomEvent to the stream of the reply. Without a reply nothing happens.

        Raises ValueError where `value` is not JSON.
        """
        if self._run is not None:
            event = r.CustomEvent(reply_id=self._run.reply_id if self._run.msg else "", name=name, value=value)
            self._run.add_aside(event)

    async def _call_reply(self, core: Core, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._run is not None:
            raise UsageError(
                f"{self.name} gives another reply now: wait for its end, or interrupt it", code="agent_replying"
            )
        listener = _LISTENER.get()
        if listener is not None:
            # An agent that this one calls has other readers.
            _LISTENER.set(None)
        run = self._run = ReplyRun(self.id, listener, args, kwargs)
        try:
            return await self._answer(run, core)
        finally:
            self._run = None
            run.deliver_end()

    async def _answer(self, run: ReplyRun, core: Core) -> Any:
        work = self._call_hooked(core, run.args, run.kwargs)
        try:
            answer = await run.run(work, f"reply {run.reply_id} of {self.name}")
        except (asyncio.CancelledError, Exception) as error:
            return await self._after_failure(run, error)
        if run.is_parked:
            await self._settle(run, None)
            return run.msg
        if not isinstance(answer, Msg):
            await self._settle(run, "completed")
            return answer
        run.tell(answer)
        await self._settle(run, answer.finished_reason or "completed")
        return run.conclude(answer)

    async def _after_failure(self, run: ReplyRun, error: BaseException) -> Any:
        """Return the answer of a reply that was interrupted or stopped; raises all other errors."""
        if run.is_cancelled:
            await self._settle(run, "interrupted")
            raise error
        # Code that is cancelled may raise something else. Code that cancels itself counts as interrupted.
        if run.is_interrupted or isinstance(error, asyncio.CancelledError):
            await self._settle(run, "interrupted")
            return await self._after_interrupt(run)
        if isinstance(error, StopReply):
            return await self._after_stop(run, error)
        await self._settle(run, "error", error_text(error))
        raise error

    async def _after_interrupt(self, run: ReplyRun) -> Any:
        """Return the answer after an interruption; what was said until then is settled."""
        if run.interrupting is not None:
            await self.observe(run.interrupting)
        answer: Any = await self.handle_interrupt(*run.args, **run.kwargs)
        return run.conclude(answer) if isinstance(answer, Msg) else answer

    async def _after_stop(self, run: ReplyRun, stop: StopReply) -> Any:
        output = stop.output if stop.point == "reply" and isinstance(stop.output, Msg) else None
        if output is not None:
            run.tell(output)
        msg = run.start(self.name)
        run.add_aside(r.RequestStopEvent(reply_id=run.reply_id, source=stop.source, reason=stop.reason))
        run.metadata["stop_requested"] = stop.point
        await self._settle(run, "completed")
        if output is None:
            return msg
        answer = output.copy()
        answer.metadata["stop_requested"] = stop.point
        return run.conclude(answer)

    async def _settle(self, run: ReplyRun, reason: FinishedReason | None, error: str | None = None) -> None:
        """Bring a reply to its end, whatever ended it; without a `reason` it waits. `error` says what went wrong."""
        run.start(self.name)
        if reason is not None:
            run.finish(reason, error)

    # -- in voice calls ------------------------------------------------------------------------------------------------

    @property
    def may_draft(self) -> bool:
        """Whether a reply may begin and then be dropped (see `checkpoint`)."""
        return False

    async def checkpoint(self) -> Callable[[], Awaitable[None]]:
        """Return what undoes the replies that begin after this.

        It is called once they have ended. Only for agents that `may_draft`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement `checkpoint`")

    async def aclose(self) -> None:
        """End what runs in the background; by default nothing does. The agent can be used on."""

    def as_language_model(self, *, takes_images: bool = False) -> LanguageModelForCalls:
        """Return the agent as the language model of a voice call: see `AgentLanguageModel`.

        `LocalRealtimeModel(language_model=agent)` calls this. `takes_images`: the agent understands images.
        """
        from realtime.agent.voice_language_model import AgentLanguageModel

        return AgentLanguageModel(self, takes_images=takes_images)

    # -- printing ------------------------------------------------------------------------------------------------------

    async def print(self, msg: Msg, last: bool = True, speech: DataBlock | list[DataBlock] | None = None) -> None:
        """Show a message: on stdout, and in the message queue where there is one.

        A growing message is shown again and again under one id; `last` says that it is complete. `speech` goes to the
        queue alone.
        """
        if self.msg_queue is not None:
            _put(self.msg_queue, (msg.copy(), last, speech))
            # The reader may go on before the next piece.
            await asyncio.sleep(0)
        if self._console is not None:
            self._console.show(msg, last=last)

    def set_console_output_enabled(self, enabled: bool) -> None:
        """Turn the output on stdout on or off."""
        self._console = (self._console or Console()) if enabled else None

    def set_msg_queue_enabled(self, enabled: bool, queue: asyncio.Queue[Printed] | None = None) -> None:
        """Put what is printed into `msg_queue`, or no longer. Without a `queue`, a bounded one is made.

        A full queue loses its oldest piece: a reader that has gone never stalls the agent.
        """
        if enabled:
            self.msg_queue = queue or self.msg_queue or asyncio.Queue(MAX_PRINTED)
        else:
            self.msg_queue = None


_LISTENER: ContextVar[Listener | None] = ContextVar("reply_listener", default=None)
"""The reader of the next reply that begins in this context."""


def _put(queue: asyncio.Queue[Printed], printed: Printed) -> None:
    if queue.full():
        queue.get_nowait()
    queue.put_nowait(printed)
