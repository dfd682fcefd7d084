"""A model that says what the test lets it say, listeners that note what they got, and a call made of both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
import numpy as np

from realtime.agent import RealtimeAgent
from realtime.agent.run import AgentRun
from realtime.audio.endpoint import EndpointEvent
from realtime.audio.playback import PlaybackClock, WallClockPlayback
from realtime.call.limits import Limits
from realtime.call.listener import EventDialect, Listener
from realtime.call.session import Session
from realtime.errors import ProviderError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import AudioFormat, ContentPart, Item
from realtime.event.config import Expectation, SessionConfig
from realtime.model import base
from realtime.runtime import Runtime
from realtime.state.conversation import Conversation

T = TypeVar("T")

PROFILE = base.Profile(provider="fake", model="fake-1", input_rate_hz=16_000, output_rate_hz=24_000)
NO_DETECTOR = msgspec.structs.replace(PROFILE, emits_speech_events=False)
CHUNK_MS = 100
WORDS = "one two three four five six seven eight nine ten "


def speech(ms: int, rate_hz: int = 16_000) -> bytes:
    """pcm16 that is easy to follow: a rising sample counter."""
    return (np.arange(ms * rate_hz // 1000) % 30_000).astype("<i2").tobytes()


# -- the model ---------------------------------------------------------------------------------------------------------


class FakeConnection:
    """Notes what it is sent; says what the test makes it say."""

    def __init__(self, profile: base.Profile, on_event: base.OnEvent, settings: base.Settings) -> None:
        self.profile = profile
        self.settings = settings
        self.sent: list[base.ModelInput] = []
        self.closed = False
        self.answer: Callable[[base.ResponseCreate], object] | None = None
        self.obey: Callable[[base.ResponseCancel], object] | None = None
        self._on_event = on_event
        self._ended = False
        self._responses = 0

    def send(self, message: base.ModelInput) -> None:
        if self.closed:
            return
        self.sent.append(message)
        if self.answer is not None and isinstance(message, base.ResponseCreate):
            self.answer(message)
        if self.obey is not None and isinstance(message, base.ResponseCancel):
            self.obey(message)

    async def close(self) -> None:
        self.closed = True
        self.gone("closed")

    def gone(self, reason: str) -> None:
        """The provider ends the session."""
        if not self._ended:
            self._ended = True
            self._on_event(m.ModelSessionEndedEvent(session_id="sess_1", reason=reason))

    def say(self, *events: m.ModelEvent) -> None:
        for event in events:
            self._on_event(event)

    def got(self, kind: type[T]) -> list[T]:
        """What it was sent of one kind, in order."""
        return [message for message in self.sent if isinstance(message, kind)]

    def heard_bytes(self) -> bytes:
        """All audio that it was sent."""
        return b"".join(message.pcm for message in self.got(base.AudioAppend))

    # -- whole stretches of a conversation ----------------------------------------------------------------------------

    def begin(self, number: int | None = None) -> str:
        """A response begins."""
        self._responses += 1
        response_id = f"resp_{number or self._responses}"
        self.say(m.ModelResponseCreatedEvent(response_id=response_id))
        return response_id

    def speak(self, response_id: str, ms: int, text: str = "", *, item_id: str | None = None) -> str:
        """Words and their audio, in one burst."""
        where: dict[str, Any] = {"response_id": response_id, "item_id": item_id or response_id.replace("resp", "reply")}
        if text:
            self.say(m.ModelResponseAudioTranscriptDeltaEvent(delta=text, **where))
        rate_hz = self.profile.output_rate_hz
        for start_ms in range(0, ms, CHUNK_MS):
            pcm = speech(min(CHUNK_MS, ms - start_ms), rate_hz)
            self.say(m.ModelResponseAudioDeltaEvent(delta=pcm, format=AudioFormat.pcm16(rate_hz), **where))
        return str(where["item_id"])

    def begin_speaking(self, ms: int, text: str = "") -> str:
        """A response begins with these words and their audio."""
        response_id = self.begin()
        self.speak(response_id, ms, text)
        return response_id

    def finish(self, response_id: str, text: str = "", *, item_id: str | None = None, **done: Any) -> None:
        """The rest of a response: audio done, transcript done, response done."""
        where: dict[str, Any] = {"response_id": response_id, "item_id": item_id or response_id.replace("resp", "reply")}
        self.say(
            m.ModelResponseAudioDoneEvent(**where),
            m.ModelResponseAudioTranscriptDoneEvent(transcript=text, **where),
            m.ModelResponseDoneEvent(response_id=response_id, **done),
        )

    def reply(self, ms: int = 1_000, text: str = WORDS) -> str:
        """A whole spoken response in one burst. Returns the item's id."""
        response_id = self.begin()
        item_id = self.speak(response_id, ms, text)
        self.finish(response_id, text, input_tokens=3, output_tokens=4)
        return item_id

    def hear_start(self, item_id: str, at_ms: int = 0) -> None:
        """Its detector hears the user begin."""
        self.say(m.ModelInputStartedEvent(item_id=item_id, audio_start_ms=at_ms))

    def hear_end(self, item_id: str, at_ms: int = 0, text: str | None = None) -> None:
        """Its detector decides that the turn is over; with `text`, the words are known at once."""
        self.say(
            m.ModelInputDoneEvent(item_id=item_id, audio_end_ms=at_ms), m.ModelInputCommittedEvent(item_id=item_id)
        )
        if text is not None:
            self.say(m.ModelInputTranscriptionDoneEvent(item_id=item_id, transcript=text))


class FakeModel(base.RealtimeModel):
    """A model whose sessions the test drives. `refuses` is raised at connect."""

    def __init__(self, profile: base.Profile = PROFILE, *, refuses: Exception | None = None) -> None:
        self._profile = profile
        self.refuses = refuses
        self.connections: list[FakeConnection] = []
        self.histories: list[base.History] = []
        self.connecting: asyncio.Event | None = None

    @property
    def profile(self) -> base.Profile:
        return self._profile

    @property
    def link(self) -> FakeConnection:
        """The newest session."""
        return self.connections[-1]

    async def connect(
        self, *, settings: base.Settings, on_event: base.OnEvent, history: base.History, runtime: Runtime
    ) -> FakeConnection:
        if self.connecting is not None:
            await self.connecting.wait()
        if self.refuses is not None:
            raise self.refuses
        connection = FakeConnection(self._profile, on_event, settings)
        self.connections.append(connection)
        self.histories.append(history)
        on_event(m.ModelSessionCreatedEvent(session_id="sess_1"))
        return connection


def unreachable() -> ProviderError:
    return ProviderError("the provider did not answer", code="provider_unreachable", retryable=True)


class FakeDetector:
    """A detector that finds what it was told to find, once that much audio (16 kHz) has been pushed."""

    def __init__(self, *found: tuple[int, EndpointEvent]) -> None:
        self._found = list(found)
        self.pushed_ms = 0.0
        self.resets = 0
        self.silence_ms: int | None = None
        self.finishes: list[EndpointEvent] = []

    def reset(self) -> None:
        self.resets += 1

    def alert_while(self, is_alert: Callable[[], bool]) -> None:
        self.is_alert = is_alert

    def wait_for(self, silence_ms: int, expect: Expectation | None = None) -> None:
        self.silence_ms = silence_ms

    def finish(self) -> list[EndpointEvent]:
        return self.finishes

    def push(self, pcm: bytes) -> list[EndpointEvent]:
        self.pushed_ms += len(pcm) / 32
        due = [event for at_ms, event in self._found if at_ms <= self.pushed_ms]
        self._found = [(at_ms, event) for at_ms, event in self._found if at_ms > self.pushed_ms]
        return due


# -- listeners ---------------------------------------------------------------------------------------------------------


class ListSink:
    """A client that takes everything at once."""

    def __init__(self) -> None:
        self.frames: list[Any] = []
        self.closed_with: tuple[int, str] | None = None

    def write(self, frame: Any) -> bool:
        self.frames.append(frame)
        return True

    async def finish(self) -> None:
        return

    def close(self, code: int, reason: str) -> None:
        self.closed_with = (code, reason)


class GateSink(ListSink):
    """A client that reads only while its gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.open = asyncio.Event()
        self.lost = False

    def write(self, frame: Any) -> bool:
        self.frames.append(frame)
        return self.open.is_set()

    async def finish(self) -> None:
        await self.open.wait()
        if self.lost:
            raise ConnectionError


def listener_into(sink: ListSink, runtime: Runtime, *, clock: PlaybackClock | None = None, **options: Any) -> Listener:
    """A listener that gets events as objects and is taken to play speech from its first byte on."""
    options = {"takes_gain": True} | options
    return Listener(
        sink=sink, dialect=EventDialect(), runtime=runtime, clock=clock or WallClockPlayback(24_000), **options
    )


# -- a call ------------------------------------------------------------------------------------------------------------


@dataclass
class Call:
    """A session with one agent, one fake model and one listener."""

    session: Session
    agent: AgentRun
    model: FakeModel
    listener: Listener
    sink: ListSink
    log: list[s.ServerEvent] = field(default_factory=list)

    @property
    def link(self) -> FakeConnection:
        return self.model.link

    @property
    def seen(self) -> list[s.ServerEvent]:
        """What the listener got."""
        return self.sink.frames

    def receive(self, *events: c.ClientEvent) -> None:
        """The listener's client sends."""
        for event in events:
            self.session.receive(event, self.listener)

    def hear(self, ms: int = 200, *, rate_hz: int = 16_000, **fields: Any) -> None:
        """The client sends audio."""
        self.receive(c.ClientAudioAppendEvent(audio=speech(ms, rate_hz), format=AudioFormat.pcm16(rate_hz), **fields))

    def of(self, kind: type[T]) -> list[T]:
        """What the listener got of one kind."""
        return [event for event in self.seen if isinstance(event, kind)]

    def types(self, start: int = 0) -> list[str]:
        """Types of what the listener got from place `start` on, but how far it had played; a run of audio deltas counts
        once."""
        return [*squeeze(event.type for event in self.seen[start:] if event.type != "server_playback")]

    def transcript(self) -> list[tuple[str, str]]:
        """(who, words) of the conversation as the call knows it."""
        return [(item.role or item.type, item.text) for item in self.session.conversation.items()]

    def check_heard_truth(self) -> None:
        """Whoever followed the events has the same conversation as the call."""
        assert fold(self.seen) == told(self.session.conversation)


@asynccontextmanager
async def call(
    *,
    profile: base.Profile = PROFILE,
    model: FakeModel | None = None,
    config: SessionConfig | None = None,
    limits: Limits | None = None,
    sink: ListSink | None = None,
    clock: PlaybackClock | None = None,
    ahead_ms: int | None = None,
    listener: dict[str, Any] | None = None,
    **agent: Any,
) -> AsyncIterator[Call]:
    """A running call; at the end it is ended, and what the listener saw folds to the call's own conversation."""
    loop = asyncio.get_running_loop()
    runtime = Runtime.deterministic(loop.time)
    model = model or FakeModel(profile)
    sink = sink or ListSink()
    session = Session(
        participant=RealtimeAgent("Friday", "Be nice.", model, **agent).run(),
        runtime=runtime,
        session_id="session1",
        limits=limits,
    )
    view = listener_into(sink, runtime, clock=clock, ahead_ms=ahead_ms, **(listener or {}))
    session.attach(view)
    made = Call(session, session.participant, model, view, sink)
    session.log.subscribe(made.log.append)
    await session.start(config or SessionConfig())
    yield made
    await session.end("test_over")
    session.detach(view)


@dataclass
class Alone:
    """An agent without a server, and what it has emitted."""

    agent: RealtimeAgent
    model: FakeModel
    seen: list[s.ServerEvent] = field(default_factory=list)

    @property
    def link(self) -> FakeConnection:
        return self.model.link

    def transcript(self) -> list[tuple[str, str]]:
        """(who, words) of the conversation as the call knows it."""
        return [(item.role or item.type, item.text) for item in self.model.histories[-1]()]


@asynccontextmanager
async def alone(
    *, profile: base.Profile = PROFILE, config: SessionConfig | None = None, **agent: Any
) -> AsyncIterator[Alone]:
    """An agent that was started on a list, and is stopped at the end."""
    model = FakeModel(profile)
    made = Alone(RealtimeAgent("Friday", "Be nice.", model, **agent), model)
    await made.agent.start(made.seen.append, config=config)
    yield made
    await made.agent.stop()


def squeeze(types: Iterator[str]) -> Iterator[str]:
    last = None
    for name in types:
        if name != "agent_response_audio_delta" or last != name:
            yield name
        last = name


def named(events: Sequence[s.ServerEvent], *kinds: type[Any]) -> list[str]:
    """The types of those events that are of these kinds."""
    return [event.type for event in events if isinstance(event, kinds)]


# -- what a client makes of the events ---------------------------------------------------------------------------------


def told(conversation: Conversation) -> list[tuple[str, str, str]]:
    """(id, who, words) of each item."""
    return [(item.id, item.role or item.type, item.text) for item in conversation.items()]


def fold(events: Sequence[s.ServerEvent]) -> list[tuple[str, str, str]]:
    """The conversation as a client puts it together from the events it got: (id, who, words) of each item.

    Growing captions are shown until the item is done or cut.
    """
    items: dict[str, Item] = {}
    order: list[str] = []
    cut: set[str] = set()

    def put(item: Item, previous: str | None) -> None:
        if item.id not in items:
            order.insert(
                order.index(previous) + 1 if previous in order else 0 if previous is None else len(order), item.id
            )
        items[item.id] = item

    def words(item_id: str, text: str, kind: str = "audio") -> None:
        if item_id in items and item_id not in cut:
            part = ContentPart(type="text", text=text) if kind == "text" else ContentPart(type="audio", transcript=text)
            items[item_id] = msgspec.structs.replace(items[item_id], content=(part,))

    def grow(item_id: str, delta: str) -> None:
        if item_id in items and item_id not in cut:
            so_far = "".join(part.transcript or part.text or "" for part in items[item_id].content)
            words(item_id, so_far + delta)

    for event in events:
        match event:
            case s.AgentItemAddedEvent():
                put(event.item, event.previous_item_id)
            case s.AgentItemDoneEvent():
                if event.item.id in items:
                    items[event.item.id] = event.item
            case s.AgentItemDeletedEvent():
                items.pop(event.item_id, None)
                order = [item_id for item_id in order if item_id != event.item_id]
            case s.AgentItemTruncatedEvent():
                cut.discard(event.item_id)
                words(event.item_id, event.transcript or "")
                cut.add(event.item_id)
            case s.AgentResponseAudioTranscriptDeltaEvent() | s.AgentResponseTextDeltaEvent():
                grow(event.item_id, event.delta)
            case s.AgentResponseAudioTranscriptDoneEvent():
                words(event.item_id, event.transcript)
            case s.AgentResponseTextDoneEvent():
                words(event.item_id, event.text, "text")
            case s.AgentInputTranscriptionDoneEvent():
                words(event.item_id, event.transcript)
            case s.AgentResponseToolUseDoneEvent():
                put(Item(id=event.item_id, type="tool_call", tool_call=event.tool_use), order[-1] if order else None)
            case s.AgentResponseToolResultEvent():
                assert event.item_id is not None
                put(
                    Item(id=event.item_id, type="tool_result", tool_result=event.tool_result),
                    order[-1] if order else None,
                )
            case _:
                pass
    return [(item.id, item.role or item.type, item.text) for item in (items[item_id] for item_id in order)]
