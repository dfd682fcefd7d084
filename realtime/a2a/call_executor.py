"""What a message of another agent does: it enters a running call, or begins a conversation in text."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import msgspec
from a2a.server.agent_execution import AgentExecutor, RequestContext, SimpleRequestContextBuilder
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import Message, Part, SendMessageRequest, Task, TaskState, TaskStatus
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError, UnsupportedOperationError
from google.protobuf.json_format import ParseDict

from realtime.a2a.parts import msg_of
from realtime.a2a.told import Outcome, Told
from realtime.agent.announcer import reminder_of
from realtime.agent.call_record import call_record_in
from realtime.agent.run import AgentRun
from realtime.agent.text_reply import ReplyQueue
from realtime.call.session import Session
from realtime.errors import ClientError, RealtimeError, UsageError, public_error
from realtime.event import reply as r
from realtime.event import server as s
from realtime.message import Base64Source, Block, ConfirmResult, DataBlock, Msg, TextBlock, fold_messages
from realtime.state.log import Entry
from realtime.state.transcript import Line, as_text, lines_of

logger = logging.getLogger(__name__)

CALLER = "realtime_caller"
"""Key of the `Caller` in the state of a request."""
BEGINS = "realtime_begins"
"""Key in the state of a request whose message begins a conversation."""
USER = "user"
"""Key in a message's metadata: the user for whom a conversation begins, as in the address of a socket."""
STRANGER = "a2a"
"""The user of conversations that name none."""
ANSWER_S = 120.0
"""Seconds that a message to a person waits for its answer."""
SETTLE_S = 1.0
"""Seconds in which a person may go on with an answer.

A turn's end is undone within 800 ms.
"""
MAX_WAITING = 8
"""Messages that one call takes at a time."""
MAX_CHARS = 4_000
"""Characters of a message: four minutes of speech."""
MAX_USER_CHARS = 128
MESSAGE_FOR_THE_PERSON = (
    "Another agent sends this message for the person in this call. Tell it to them now, and if it asks something, ask "
    "them; do not answer it yourself.\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sends a request, as the server knows it."""

    user: str | None
    """The user that its client token names; None: any."""
    sees_records: bool
    """Whether it may have what calls leave behind: records, recordings, calls that are over."""
    address: str
    """Its address, for counting calls."""
    base_url: str
    """Where it reaches this server, without a slash at the end."""


class Switchboard(Protocol):
    """The calls of a server, as far as messages concern them."""

    def new_id(self) -> str:
        """Return the id of a call to come."""

    def running(self, call_id: str, caller: Caller) -> Session | None:
        """Return the running call, if the caller may enter it."""

    async def is_over(self, call_id: str, caller: Caller) -> bool:
        """Whether such a call is over, and open to the caller. Raises ClientError."""

    async def begin(self, call_id: str, user: str, caller: Caller) -> Session:
        """Begin a call in text. Raises ClientError, ProviderError, Overloaded, and what `make_agent` raises."""

    async def entries(self, call_id: str) -> Sequence[Entry]:
        """Return the log of a call that is over. Raises ClientError."""

    async def sound_url(self, call_id: str, caller: Caller) -> str | None:
        """Return the address of a recording; None: there is none."""


class CallContexts(SimpleRequestContextBuilder):
    """Checks messages before they become tasks; gives new conversations their ids.

    What is wrong with the message is one error of the protocol, and no task.
    """

    def __init__(self, switchboard: Switchboard, is_conversation: Callable[[str], bool]) -> None:
        super().__init__()
        self._switchboard = switchboard
        self._is_conversation = is_conversation
        """Whether the running call of this id is a conversation in text."""

    async def build(
        self,
        context: ServerCallContext,
        params: SendMessageRequest | None = None,
        task_id: str | None = None,
        context_id: str | None = None,
        task: Task | None = None,
    ) -> RequestContext:
        """See `RequestContextBuilder`. Raises the protocol's errors."""
        if task_id:
            raise UnsupportedOperationError(
                "a task here is one message and its answer: send the next one with the contextId and without a taskId"
            )
        assert params is not None
        msg = _read(params.message)
        caller: Caller = context.state[CALLER]
        if not context_id:
            context_id, context.state[BEGINS] = self._switchboard.new_id(), True
        elif (session := self._switchboard.running(context_id, caller)) is not None:
            if not self._is_conversation(context_id):
                _check_told(msg, session)
        elif not await self._is_over(context_id, caller):
            raise InvalidParamsError(
                "no call has this contextId: leave it out to begin a conversation, or name a running call"
            )
        return await super().build(context, params, task_id, context_id, task)

    async def _is_over(self, context_id: str, caller: Caller) -> bool:
        try:
            return await self._switchboard.is_over(context_id, caller)
        except ClientError as error:
            raise UnsupportedOperationError(error.message) from error


@dataclass(slots=True)
class _Line:
    """The way into one call: messages go one after the other."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    replies: ReplyQueue | None = None
    """Answers the messages of a conversation in text; None: a person is asked."""


class CallExecutor(AgentExecutor):
    """Runs the tasks of `a2a_router`.

    `answer_s` is how long a message for a person waits for its answer, `settle_s` how long an answer may go on.
    """

    def __init__(self, switchboard: Switchboard, *, answer_s: float = ANSWER_S, settle_s: float = SETTLE_S) -> None:
        self._switchboard = switchboard
        self._answer_s = answer_s
        self._settle_s = settle_s
        self._lines: dict[str, _Line] = {}

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """See `AgentExecutor`. Cancelling it withdraws a message that was not told yet."""
        message = context.message
        assert message is not None
        assert context.task_id is not None
        assert context.context_id is not None
        await event_queue.enqueue_event(
            Task(
                id=context.task_id,
                context_id=context.context_id,
                status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
                history=[message],
            )
        )
        work = _Work(TaskUpdater(event_queue, context.task_id, context.context_id), _read(message))
        caller: Caller = context.call_context.state[CALLER]
        try:
            await self._do(work, context, caller)
        except RealtimeError as error:
            await work.end(TaskState.TASK_STATE_FAILED, public_error(error).message)
        except Exception as error:
            logger.exception("a message of another agent could not be served")
            await work.end(TaskState.TASK_STATE_FAILED, public_error(error).message)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """See `AgentExecutor`: `execute` is cancelled after it."""
        assert context.task_id is not None
        assert context.context_id is not None
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()

    def is_conversation(self, call_id: str) -> bool:
        """Whether this running call was begun by a message: its agent answers in text."""
        line = self._lines.get(call_id)
        return line is not None and line.replies is not None

    # -- inside ----------------------------------------------------------------------------------------------------

    async def _do(self, work: _Work, context: RequestContext, caller: Caller) -> None:
        call_id = work.updater.context_id
        if context.call_context.state.get(BEGINS):
            session = await self._begin(work, call_id, _user_of(context, caller), caller)
            if session is None:
                return
        else:
            session = self._switchboard.running(call_id, caller)
        if session is None:
            await self._hand_out(work, call_id, caller)
            await work.end(
                TaskState.TASK_STATE_REJECTED, "this call is over: leave the contextId out to begin a conversation"
            )
            return
        line = self._line(session)
        if line.waiting >= MAX_WAITING:
            await work.end(
                TaskState.TASK_STATE_REJECTED, f"{MAX_WAITING} messages wait in this call already: try again later"
            )
            return
        line.waiting += 1
        try:
            async with line.lock:
                if line.replies is not None:
                    await self._converse(work, session, line.replies)
                else:
                    await self._ask(work, session, caller)
        finally:
            line.waiting -= 1

    def _line(self, session: Session) -> _Line:
        if session.call_id not in self._lines and not session.is_ending:
            self._lines[session.call_id] = _Line()
            session.on_ended.append(self._ended)
        return self._lines.get(session.call_id) or _Line()

    def _ended(self, session: Session) -> None:
        self._lines.pop(session.call_id, None)

    async def _begin(self, work: _Work, call_id: str, user: str, caller: Caller) -> Session | None:
        """Begin a conversation; None where the task was rejected."""
        try:
            session = await self._switchboard.begin(call_id, user, caller)
        except ClientError as error:  # the server is full, or about to stop
            await work.end(TaskState.TASK_STATE_REJECTED, error.message)
            return None
        self._line(session).replies = ReplyQueue(session)
        return session

    async def _converse(self, work: _Work, session: Session, replies: ReplyQueue) -> None:
        """Have the agent answer in text."""
        await work.updater.start_work()
        events: list[r.AgentEvent] = []
        try:
            async with aclosing(replies.stream(work.msg, keeps_audio=False)) as stream:
                async for event in stream:
                    events.append(event)
                    if isinstance(event, r.RequireUserConfirmEvent):
                        _deny(session, event)
        except UsageError:  # the call ended before there was a reply
            await work.end(TaskState.TASK_STATE_FAILED, "the conversation ended before there was an answer")
            return
        reply, *_ = fold_messages(events)
        words = reply.get_text_content() or ""
        if reply.finished_reason == "error" or not words:
            await work.end(TaskState.TASK_STATE_FAILED, words or "the agent had no answer")
        else:
            await work.end(TaskState.TASK_STATE_COMPLETED, words)

    async def _ask(self, work: _Work, session: Session, caller: Caller) -> None:
        """Have the agent tell the message to the person in the call; wait for what they say to it."""
        since_ms = session.log.now_ms()
        told = await self._told(work, session)
        if session.ended.is_set() and caller.sees_records:
            await self._hand_out(work, session.call_id, caller, session=session)
        else:
            await work.transcript(session.log.read(), since_ms=since_ms)
        match told.outcome:
            case Outcome.ANSWERED:
                await work.end(TaskState.TASK_STATE_COMPLETED, told.answer)
            case Outcome.DECLINED:
                await work.end(TaskState.TASK_STATE_REJECTED, "the person has hung up without an answer")
            case _ if told.is_said:
                await work.end(TaskState.TASK_STATE_FAILED, "the person was told, and did not answer")
            case _:
                await work.end(TaskState.TASK_STATE_FAILED, "the person is not there: they were not told")

    async def _told(self, work: _Work, session: Session) -> Told:
        """Tell the person, and wait for the answer. What was not told by the end of it is withdrawn."""
        source = f"a2a:{work.updater.task_id}"
        told, news, holds = Told(source), asyncio.Event(), True

        def follow(event: s.ServerEvent) -> None:
            if told.take(event):
                news.set()

        unsubscribe = session.log.subscribe(follow, audio=False)
        try:
            hint = reminder_of(MESSAGE_FOR_THE_PERSON + _text_of(work.msg), source)
            # The agent that has the call at this moment: it may have been handed over.
            cast(AgentRun, session.participant).hint(hint, speaks=True, holds=lambda: holds)
            await work.updater.start_work()
            async with asyncio.timeout(self._answer_s):
                while told.outcome is None:
                    if not told.answer:
                        await news.wait()
                    elif await _is_quiet(news, self._settle_s):
                        told.outcome = Outcome.ANSWERED
                    news.clear()
        except UsageError:
            told.outcome = Outcome.NOT_THERE
        except TimeoutError:
            told.outcome = Outcome.ANSWERED if told.answer else Outcome.NOT_THERE
        finally:
            holds = False
            unsubscribe()
        return told

    async def _hand_out(self, work: _Work, call_id: str, caller: Caller, *, session: Session | None = None) -> None:
        """Give what a call that is over leaves behind."""
        try:
            entries = await self._switchboard.entries(call_id)
        except ClientError:
            entries = []
        if not entries and session is not None:
            entries = session.log.read()
        await work.transcript(entries)
        if (record := call_record_in(entries)) is not None:
            await work.artifact("call_record", [{"data": record, "mediaType": "application/json"}])
        if (url := await self._switchboard.sound_url(call_id, caller)) is not None:
            await work.artifact("recording", [{"url": url, "mediaType": "audio/wav", "filename": f"{call_id}.wav"}])


@dataclass(frozen=True, slots=True)
class _Work:
    """One task: its message, and the words and artifacts of its end."""

    updater: TaskUpdater
    msg: Msg

    async def end(self, state: TaskState, text: str) -> None:
        """End the task with these words."""
        await self.updater.update_status(state, self.updater.new_agent_message([Part(text=text)]))

    async def artifact(self, name: str, parts: Sequence[Mapping[str, Any]]) -> None:
        """Add a whole artifact, which is known by its name."""
        await self.updater.add_artifact([ParseDict(dict(part), Part()) for part in parts], name, name, last_chunk=True)

    async def transcript(self, entries: Sequence[Entry], *, since_ms: int = 0) -> None:
        """Add a call's transcript from then on: to read, and as data."""
        lines: list[Line] = await asyncio.to_thread(lines_of, entries)
        lines = [line for line in lines if line.to_ms >= since_ms]
        if lines:
            data = {"lines": msgspec.to_builtins(lines)}
            await self.artifact(
                "transcript",
                [{"text": as_text(lines), "mediaType": "text/plain"}, {"data": data, "mediaType": "application/json"}],
            )


async def _is_quiet(news: asyncio.Event, for_s: float) -> bool:
    """Whether there is no news for that long."""
    try:
        async with asyncio.timeout(for_s):
            await news.wait()
    except TimeoutError:
        return True
    return False


def _read(message: Message) -> Msg:
    """Return the message as one of ours. Raises the protocol's errors for what cannot be read."""
    read = msg_of(message, "user")
    if read.faults:
        raise InvalidParamsError("; ".join(read.faults))
    if not all(isinstance(block, TextBlock) or _is_picture(block) for block in read.msg.content):
        raise ContentTypeNotSupportedError("a message is text, and may have pictures as `raw` parts")
    text = _text_of(read.msg)
    if len(text) > MAX_CHARS:
        raise InvalidParamsError(f"a message has at most {MAX_CHARS} characters, this one has {len(text)}")
    if not text and not any(map(_is_picture, read.msg.content)):
        raise InvalidParamsError("the message has no words")
    return read.msg


def _is_picture(block: Block) -> bool:
    source = block.source if isinstance(block, DataBlock) else None
    return isinstance(source, Base64Source) and source.media_type.startswith("image/")


def _check_told(msg: Msg, session: Session) -> None:
    """Raise the protocol's errors for what no person can be told."""
    if not isinstance(session.participant, AgentRun):
        raise UnsupportedOperationError("this is a person's call in a room: no agent takes messages there")
    if any(not isinstance(block, TextBlock) for block in msg.content):
        raise ContentTypeNotSupportedError("a message to the person in a call is text: it is spoken")
    if not _text_of(msg):
        raise InvalidParamsError("the message has no words")


def _text_of(msg: Msg) -> str:
    return (msg.get_text_content() or "").strip()


def _user_of(context: RequestContext, caller: Caller) -> str:
    """Return the user of a conversation that begins: the token's, else the one that the message names."""
    named = context.message is not None and USER in context.message.metadata and context.message.metadata[USER]
    return caller.user or (named[:MAX_USER_CHARS] if isinstance(named, str) and named else STRANGER)


def _deny(session: Session, asked: r.RequireUserConfirmEvent) -> None:
    """Refuse calls that need a person's consent: none is there."""
    participant = session.participant
    if not isinstance(participant, AgentRun):
        return
    for call in asked.tool_calls:
        try:
            participant.confirm(ConfirmResult(confirmed=False, tool_call=call))
        except ClientError as error:
            logger.info("a call could not be refused: %s", error.code)
