"""Text turns of an agent without a server: a message in, the events of its reply out."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Any, cast

from realtime.agent.run import AgentRun
from realtime.call.session import Session
from realtime.errors import ClientError, ProviderError, UsageError
from realtime.event import client as c
from realtime.event import reply as r
from realtime.event import server as s
from realtime.event.base import ContentPart, Item
from realtime.message import Base64Source, DataBlock, Msg, TextBlock
from realtime.message.speakers import spoken_by
from realtime.model.base import ItemCreate, Profile, refusal
from realtime.runtime import iso
from realtime.state.replies import ReplyProjection, is_question_within


def item_of(message: Msg, item_id: str, profile: Profile) -> Item:
    """Return the message as one turn of the user; the words of another agent become `[Name]: text`.

    Raises ClientError for what the model cannot take: pictures where it takes none, other data, data behind a URL.
    """
    parts = []
    for block in message.content:
        if isinstance(block, TextBlock):
            text = block.text if message.role == "user" else spoken_by(message.name, block.text)
            parts.append(ContentPart(type="text", text=text))
        elif isinstance(block, DataBlock) and message.role == "user":
            parts.append(_picture(block))
    if message.role == "system":
        raise ClientError("a system prompt is no turn: give it to the agent as `sys_prompt`", code="invalid_item")
    if not any(part.text or part.image for part in parts):
        raise ClientError("the message has neither text nor a picture", code="invalid_item")
    item = Item(id=item_id, role="user", name=message.name, content=tuple(parts))
    if (error := refusal(profile, ItemCreate(item))) is not None:
        raise error
    return item


def _picture(block: DataBlock) -> ContentPart:
    source = block.source
    if not source.media_type.startswith("image/"):
        raise ClientError(
            f"{source.media_type} is no text or picture: send speech by `handle_input`", code="unsupported_modality"
        )
    if not isinstance(source, Base64Source):
        raise ClientError("a picture has to come as base64: nothing is fetched from a URL", code="unsupported_source")
    return ContentPart(type="image", image=source.data, media_type=source.media_type)


class ReplyQueue:
    """Text turns of one agent: one at a time, in order of request."""

    def __init__(self, call: Session) -> None:
        self._call = call
        self._lock = asyncio.Lock()
        self._asked: dict[str, s.AgentResponseToolUseDoneEvent] = {}
        """Open questions of agents behind the voice, by call: one at work in the background asks after its reply."""
        unfollow = call.log.subscribe(self._follow, audio=False)
        call.on_ended.append(lambda _: unfollow())

    async def stream(self, message: Msg, *, keeps_audio: bool) -> AsyncGenerator[r.AgentEvent]:
        """Ask once nothing is being said; yield the events of the reply up to its end. Raises ClientError.

        Questions within that were open before come with it.

        A slow reader keeps the events of this one reply waiting. Closing or cancelling it cancels the response.
        """
        async with self._lock:
            await self._silence()
            run = cast(AgentRun, self._call.participant)
            item = item_of(message, self._call.runtime.new_id("item"), run.spec.model.profile)
            if run.is_busy:
                # As with every typed turn: a response that is on its way does not answer this message.
                run.act(c.ClientResponseCancelEvent())
            turn = _Turn(self._call, run, keeps_audio=keeps_audio)
            with turn.following():
                run.act(c.ClientItemCreateEvent(item=item))
                turn.asked = True
                for question in self._asked.values():
                    turn.follow(question)
                run.act(c.ClientResponseCreateEvent())
                try:
                    while not turn.over or turn.events:
                        if turn.events:
                            event = turn.events.popleft()
                            if isinstance(event, r.RequireExternalExecutionEvent):
                                # A call waits for its answer from the first step of its task on.
                                await asyncio.sleep(0)
                            yield event
                        elif turn.doubtful and not run.is_busy:
                            turn.take_the_doubtful()
                        else:
                            await turn.wait()
                finally:
                    if not turn.over:
                        turn.asked = False
                        run.act(c.ClientResponseCancelEvent())

    def _follow(self, event: s.ServerEvent) -> None:
        if isinstance(event, s.AgentResponseToolUseDoneEvent) and is_question_within(event):
            self._asked[event.tool_use.id] = event
        elif isinstance(event, s.AgentResponseToolResultEvent):
            self._asked.pop(event.tool_result.id, None)

    async def _silence(self) -> None:
        """Wait until all that was said has been played."""
        while True:
            unplayed_ms = self._call.audience.unplayed_ms()
            if unplayed_ms <= 0:
                return
            await asyncio.sleep(unplayed_ms / 1000)


class _Turn:
    """Follows the log for the reply to one message."""

    def __init__(self, call: Session, run: AgentRun, *, keeps_audio: bool) -> None:
        self.asked = False
        self.over = False
        self.events: deque[r.AgentEvent] = deque()
        self.doubtful: list[r.AgentEvent] = []
        """A whole reply that says nothing: the requested one, or an earlier one that was cancelled when it began. While
        the agent is still at work, it is the latter."""
        self._call = call
        self._runtime = call.runtime
        self._began_at = call.runtime.wall_now() - call.log.now_ms() / 1000
        self._projection = ReplyProjection(
            call.session_id, created_at_of=self._created_at, keeps_audio=keeps_audio, client_tools=run.client_tools
        )
        self._projection.push(run.ready())
        self._agent_name = run.name
        self._held: list[r.AgentEvent] = []
        self._questions: set[str] = set()
        """Replies that are questions of agents behind the voice."""
        self._asked: list[r.AgentEvent] = []
        """Their events, until the reply itself has begun."""
        self._reply_id: str | None = None
        self._speaks = False
        self._interrupted = False
        self._error: Exception | None = None
        self._news = asyncio.Event()

    @contextmanager
    def following(self) -> Iterator[None]:
        """Follow the log within this context."""
        unsubscribe = self._call.log.subscribe(self.follow)
        try:
            yield
        finally:
            unsubscribe()

    async def wait(self) -> None:
        """Wait until there is something new. Raises ProviderError where no reply will come."""
        if self._error is not None:
            self.over = True
            raise self._error
        await self._news.wait()
        self._news.clear()

    def follow(self, event: s.ServerEvent) -> None:
        """Take an event of the log, or an earlier open question."""
        if self.over or self._error is not None:
            return
        events = self._projection.push(event)
        if is_question_within(event):
            self._questions |= {one.reply_id for one in events if isinstance(one, r.ReplyStartEvent)}
        if not self.asked:
            return
        flushes = isinstance(event, s.ServerAudioFlushEvent) and event.reason != s.CLAIM_WITHHELD
        self._interrupted = self._interrupted or flushes
        for one in events:
            self._take(one)
        if self._reply_id is None and not self.doubtful:
            self._look_for_the_end(event)
        elif self._reply_id is not None and not self._projection.is_open(self._reply_id):
            for one in self._projection.settle():
                self._take(one)
        self._news.set()

    def _take(self, event: r.AgentEvent) -> None:
        """Keep the agent's first reply that says something, and questions within."""
        if event.reply_id in self._questions:
            self._asked.append(event)
            self._pass_on()
            return
        if self._reply_id is None and isinstance(event, r.ReplyStartEvent) and event.role == "assistant":
            self._reply_id, self.doubtful = event.reply_id, []
        if self.over or event.reply_id != self._reply_id:
            return
        self._held.append(event)
        if isinstance(event, r.ReplyEndEvent):
            if not self._speaks and not self._interrupted and event.error is None:
                self.doubtful, self._held, self._reply_id = self._held, [], None
                return
            self.over = True
        elif not isinstance(event, r.ReplyStartEvent | r.ModelCallStartEvent | r.ModelCallEndEvent):
            self._speaks = True
        self._pass_on()

    def _pass_on(self) -> None:
        if self._speaks or self.over:
            self.events += [*self._held, *self._asked]
            self._held, self._asked = [], []

    def take_the_doubtful(self) -> None:
        """Take the reply that says nothing for the requested one."""
        self.events += self.doubtful
        self.doubtful, self.over = [], True

    def _look_for_the_end(self, event: s.ServerEvent) -> None:
        """Find out why no reply will begin, while none has."""
        if isinstance(event, s.AgentErrorEvent) and event.error_type == "provider_error":
            self._error = ProviderError(event.message, code=event.code, retryable=event.retryable)
        elif isinstance(event, s.AgentEndedEvent):
            self._error = UsageError("the agent was stopped before it replied", code="agent_stopped")
        elif isinstance(event, s.ServerAudioFlushEvent):
            self._end_unbegun(event)

    def _end_unbegun(self, event: s.ServerAudioFlushEvent) -> None:
        """End a reply that was interrupted before the model said anything: it has no content."""
        common: dict[str, Any] = {
            "created_at": self._created_at(event.ts_ms),
            "reply_id": self._runtime.new_id("reply"),
            "session_id": self._call.session_id,
        }
        self.events += (
            r.ReplyStartEvent(id=f"ev_{event.seq}_start", name=self._agent_name, **common),
            r.ReplyEndEvent(id=f"ev_{event.seq}_end", finished_reason="interrupted", **common),
        )
        self.over = True

    def _created_at(self, ts_ms: int) -> str:
        return iso(self._began_at + ts_ms / 1000)
