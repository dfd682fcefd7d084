"""A room with test models: what they were sent is noted, what they say is up to the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from typing import Any, TypeVar

import msgspec

from realtime.agent import RealtimeAgent
from realtime.call.listener import queue_listener
from realtime.call.session import Session
from realtime.errors import ProviderError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig
from realtime.event.model import ModelSessionEndedEvent
from realtime.model.base import (
    AudioAppend,
    AudioCommit,
    Connection,
    History,
    ItemCreate,
    ModelInput,
    OnEvent,
    Profile,
    RealtimeModel,
    ResponseCreate,
    Settings,
)
from realtime.model.script import Speak, Step, Transcribe
from realtime.model.scripted import MANUAL_PROFILE, ScriptedModel
from realtime.room import ChatRoom
from realtime.room.thinking import RoomAgent
from realtime.runtime import Runtime
from realtime.testing.call import naming_apart
from realtime.testing.cases.hearing import LoudnessDetector, Vocabulary, voice
from realtime.tool import Toolkit

T = TypeVar("T")

HZ = 16_000
DEAF = msgspec.structs.replace(MANUAL_PROFILE, provider="deaf", input_modalities=frozenset({"text"}))
"""A model that takes no sound."""


class TalkModel(RealtimeModel):
    """Answers in turn what `answers` say, the last for ever: a text is spoken, 50 ms for each letter.

    It understands the words that were spoken by `say` in this process. `got` is all it was sent, over all connections.
    `react`, where given, is asked first.
    """

    vocabulary = Vocabulary()

    def __init__(
        self,
        *answers: str | Sequence[Step],
        profile: Profile = MANUAL_PROFILE,
        react: Callable[[ModelInput], Iterable[Step] | None] = lambda _: None,
    ) -> None:
        self.got: list[ModelInput] = []
        self.settings: list[Settings] = []
        self.histories: list[list[Any]] = []
        self.refusals = 0
        """So many more connections are refused."""
        self.refused = 0
        self.open = 0
        """Connections that are open."""
        self._answers = [*(answers or ("Yes.",))]
        self._profile = profile
        self._react = react
        self._on_event: OnEvent | None = None

    @property
    def profile(self) -> Profile:
        return self._profile

    async def connect(self, *, settings: Settings, on_event: OnEvent, history: History, runtime: Runtime) -> Connection:
        if self.refusals:
            self.refusals -= 1
            self.refused += 1
            raise ProviderError("the provider is down", code="down", retryable=True)
        self.settings.append(settings)
        self.histories.append([*history()])
        self._on_event = on_event
        self._heard = bytearray()
        model = ScriptedModel(self._hear, profile=self._profile)
        link = await model.connect(settings=settings, on_event=on_event, history=history, runtime=runtime)
        self.open += 1
        return _Link(self, link)

    def die(self, *, refusals: int = 0) -> None:
        """The provider ends the session; as many new ones are refused."""
        assert self._on_event is not None
        self.refusals = refusals
        self._on_event(ModelSessionEndedEvent(session_id="scripted", reason="provider_closed"))

    def of(self, kind: type[T]) -> list[T]:
        """What it was sent of one kind."""
        return [one for one in self.got if isinstance(one, kind)]

    @property
    def read(self) -> list[str]:
        """The texts that it was sent."""
        return [one.item.text for one in self.of(ItemCreate)]

    @property
    def heard(self) -> bytes:
        """All sound that it was sent."""
        return b"".join(one.pcm for one in self.of(AudioAppend))

    def _hear(self, message: ModelInput) -> Iterable[Step]:
        self.got.append(message)
        steps = self._react(message)
        if steps is not None:
            return steps
        match message:
            case AudioAppend(pcm=pcm):
                self._heard += pcm
            case AudioCommit():
                words = self.vocabulary.understand(bytes(self._heard))
                self._heard.clear()
                return [Transcribe(words)]
            case ResponseCreate():
                return self._answer()
            case _:
                pass
        return []

    def _answer(self) -> Iterable[Step]:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return [spoken(answer)] if isinstance(answer, str) else answer


class _Link:
    def __init__(self, model: TalkModel, link: Connection) -> None:
        self._model, self._link = model, link
        self._is_open = True

    @property
    def profile(self) -> Profile:
        return self._link.profile

    def send(self, message: ModelInput) -> None:
        self._link.send(message)

    async def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._model.open -= 1
        await self._link.close()


@cache
def spoken(text: str, *, rate_hz: int = 24_000) -> Speak:
    """An answer in a sound of its own, twice as fast as it is heard."""
    return Speak(text, voice(text, len(text) * rate_hz // 20, rate_hz), chunk_ms=100, pace=2.0, wait=False)


def seconds(text: str) -> float:
    """How long it is to be heard."""
    return len(text) / 20


def agent(name: str, model: TalkModel, *, toolkit: Toolkit | None = None) -> RealtimeAgent:
    return RealtimeAgent(name, f"You are {name}.", model, toolkit=toolkit, agent_id=name.lower())


async def quiet(room: ChatRoom, limit_s: float = 60.0) -> None:
    """Wait until nobody has had the floor for a second."""
    async with asyncio.timeout(limit_s):
        since = asyncio.get_running_loop().time()
        while asyncio.get_running_loop().time() - since < 1.0:
            await asyncio.sleep(0.1)
            if room.floor is not None:
                since = asyncio.get_running_loop().time()


class Human:
    """Somebody in a room: `events` is what they are told, as events."""

    def __init__(self, room: ChatRoom, name: str, runtime: Runtime, **options: Any) -> None:
        self.room = room
        self.events: list[s.ServerEvent] = []
        self.participant = room.make_human(name, runtime)
        self.call = Session(
            participant=self.participant, runtime=runtime, session_id=runtime.new_id("session"), **options
        )
        self.call.attach(queue_listener(self.events.append, runtime))

    async def come(self, config: SessionConfig | None = None) -> Human:
        await self.call.start(config or SessionConfig())
        return self

    async def go(self) -> None:
        await self.call.end("left")

    @property
    def id(self) -> str:
        return self.participant.id

    @property
    def name(self) -> str:
        return self.participant.name

    def write(self, text: str) -> None:
        self.call.receive(c.ClientTextAppendEvent(text=text))

    async def writes(self, text: str) -> None:
        """Write a line, and wait until the room is quiet again."""
        self.write(text)
        await quiet(self.room)

    async def says(self, text: str) -> None:
        """Say a whole turn, and wait until the room is quiet again."""
        self.say(text)
        await quiet(self.room)

    def begin(self, text: str) -> None:
        """Speak, and do not end."""
        self.hear(utterance(text))

    def end(self, ms: int = 600) -> None:
        """Be silent."""
        self.hear(bytes(ms * HZ // 1000 * 2))

    def say(self, text: str) -> None:
        """A whole turn, at once."""
        self.begin(text)
        self.end()

    def hear(self, pcm: bytes) -> None:
        """What the microphone hears, in pieces of 20 ms."""
        for at in range(0, len(pcm), 640):
            self.call.receive(c.ClientAudioAppendEvent(audio=pcm[at : at + 640], format=AudioFormat.pcm16(HZ)))

    def of(self, kind: type[T]) -> list[T]:
        return [one for one in self.events if isinstance(one, kind)]

    def errors(self) -> list[str]:
        return [one.code for one in self.of(s.AgentErrorEvent)]


@cache
def utterance(text: str) -> bytes:
    """A human's voice, 30 ms for each letter; every model understands it."""
    pcm = voice(text, len(text) * HZ * 30 // 1000, HZ)
    TalkModel.vocabulary.add(pcm, text)
    return pcm


class House:
    """A room and who is in it."""

    def __init__(self, agents: Sequence[RoomAgent], **options: Any) -> None:
        self.runtime = naming_apart(Runtime.deterministic(asyncio.get_running_loop().time))
        options.setdefault("make_detector", lambda _: LoudnessDetector())
        options.setdefault("interruption", "immediate")
        self.room = ChatRoom(agents or None, **options)
        self.told: list[s.ServerEvent] = []
        """The log of the room, with the sound."""
        self.room.on_event.append(self.told.append)
        self.humans: list[Human] = []

    async def come(self, name: str, config: SessionConfig | None = None, **options: Any) -> Human:
        human = await Human(self.room, name, self.runtime, **options).come(config)
        self.humans.append(human)
        return human

    def of(self, kind: type[T]) -> list[T]:
        return [one for one in self.told if isinstance(one, kind)]

    def talk(self) -> list[tuple[str | None, str]]:
        """The conversation: who said what, as it was heard."""
        return [(item.name, item.text) for item in self.room.conversation.items() if item.type == "message"]

    def floors(self) -> list[str | None]:
        """The names of those who had the floor, None where nobody had."""
        names = {one.participant_id: one.name for one in self.of(s.ServerRoomJoinedEvent)}
        return [names[one.participant_id] if one.participant_id else None for one in self.of(s.ServerRoomFloorEvent)]

    def speakers(self) -> list[str]:
        """The agents that had the floor, in order."""
        agents = {one.participant_id: one.name for one in self.of(s.ServerRoomJoinedEvent) if one.kind == "agent"}
        floors = self.of(s.ServerRoomFloorEvent)
        return [agents[one.participant_id] for one in floors if one.participant_id in agents]

    async def quiet(self, limit_s: float = 60.0) -> None:
        """Wait until nobody has had the floor for a second."""
        await quiet(self.room, limit_s)


@asynccontextmanager
async def house(*agents: RoomAgent, **options: Any) -> AsyncIterator[House]:
    """A room. At its end everybody leaves and it is closed: the watch for leaks sees that nothing is left."""
    made = House(agents, **options)
    try:
        yield made
    finally:
        for human in made.humans:
            await human.call.end("left")
        await made.room.close("over")


def two(
    alice: TalkModel | str = "I am Alice.", bob: TalkModel | str = "I am Bob.", **options: Any
) -> AbstractAsyncContextManager[House]:
    """A room with Alice and Bob, who answer what is given as a text."""
    models = [TalkModel(one) if isinstance(one, str) else one for one in (alice, bob)]
    return house(agent("Alice", models[0]), agent("Bob", models[1]), **options)


@asynccontextmanager
async def anna_in(room: AbstractAsyncContextManager[House]) -> AsyncIterator[tuple[House, Human]]:
    """A room, and Anna in it."""
    async with room as home:
        yield home, await home.come("Anna")


@asynccontextmanager
async def anna_and_ben_in(room: AbstractAsyncContextManager[House]) -> AsyncIterator[tuple[House, Human, Human]]:
    """A room, and Anna and Ben in it."""
    async with room as home:
        yield home, await home.come("Anna"), await home.come("Ben")
