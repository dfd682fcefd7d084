"""Stand-ins for the parts of the embedded model, and a client of one connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from realtime.event import model as m
from realtime.event.base import ContentPart, Event, Item
from realtime.model.base import AudioAppend, Connection, ItemCreate, ModelInput, Settings
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.engine import SpeechEngine, SpeechParts
from realtime.model.local.recognizer import Transcript
from realtime.runtime import Runtime
from tests.volumes import HANG_S

RATE_HZ = 16_000
CHUNK_BYTES = 1280
SENTENCE_BYTES = 48_000
E = TypeVar("E", bound=Event)
R = TypeVar("R")


class LoudnessVad:
    """Takes loud frames for speech."""

    def probability(self, frame: bytes) -> float:
        return 0.95 if np.abs(np.frombuffer(frame, "<i2")).max() > 1000 else 0.01

    def reset(self) -> None:
        pass


class FakeRecognizer:
    """Understands the prepared texts, one after the other; the last one for ever."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts or ["hello there"])
        self.doubted = ""
        self.clips_ms: list[int] = []
        self.hints: list[str] = []

    def transcribe(self, pcm16_16k: bytes, context: str = "") -> Transcript:
        self.hints.append(context)
        self.clips_ms.append(len(pcm16_16k) // 32)
        text = self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]
        if text == "!":
            raise RuntimeError("the recogniser broke")
        return Transcript(text, 0.1, len(pcm16_16k) // 32, self.doubted)


class FakeVoice:
    """Takes a second for each sentence. Its name is in the samples."""

    def __init__(self, sample: int) -> None:
        self.sample = sample

    def synthesize(self, text: str) -> bytes:
        return b"" if text == "👋" else np.full(SENTENCE_BYTES // 2, self.sample, "<i2").tobytes()

    def warm_up(self) -> None:
        pass


def speech(ms: int) -> bytes:
    return np.resize(np.array([5000, -5000], "<i2"), RATE_HZ * ms // 1000).tobytes()


def silence(ms: int) -> bytes:
    return bytes(RATE_HZ * ms // 1000 * 2)


def typed(text: str, item_id: str = "typed") -> ItemCreate:
    return ItemCreate(Item(id=item_id, role="user", content=(ContentPart(type="text", text=text),)))


def stand_in_parts() -> SpeechParts:
    """A recogniser, two voices and a detector."""
    voices = {"heart": FakeVoice(1), "heart-low": FakeVoice(2)}
    return SpeechParts(recognizer=FakeRecognizer(), voices=voices, make_vad=LoudnessVad)


class Call(Generic[R]):
    """One connection, what it said, and the hands of a client."""

    def __init__(self, recognizer: FakeRecognizer, language_model: R) -> None:
        self.recognizer = recognizer
        self.language_model = language_model
        self.events: list[m.ModelEvent] = []
        self.times: list[float] = []
        self.changed = asyncio.Event()
        self.connection: Connection
        self.on_event: Callable[[m.ModelEvent], None] | None = None

    def hear(self, event: m.ModelEvent) -> None:
        self.events.append(event)
        self.times.append(asyncio.get_running_loop().time())
        self.changed.set()
        if self.on_event is not None:
            self.on_event(event)

    def send(self, *messages: ModelInput) -> None:
        for message in messages:
            self.connection.send(message)

    async def say(self, *pcm: bytes) -> None:
        """Speak in real time."""
        audio = b"".join(pcm)
        for start in range(0, len(audio), CHUNK_BYTES):
            self.connection.send(AudioAppend(audio[start : start + CHUNK_BYTES]))
            await asyncio.sleep(0.04)

    async def until(self, kind: type[E], count: int = 1) -> E:
        """Wait for the event of this kind with this number; returns it."""
        async with asyncio.timeout(HANG_S):
            while len(found := self.all(kind)) < count:
                self.changed.clear()
                await self.changed.wait()
        return found[count - 1]

    def all(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def at(self, event: Event) -> float:
        return next(time for one, time in zip(self.events, self.times, strict=True) if one is event)

    def types(self) -> list[str]:
        """The types of all events, runs of the same type as one."""
        types = [event.type.removeprefix("model_") for event in self.events]
        return [kind for at, kind in enumerate(types) if at == 0 or types[at - 1] != kind]


async def connect(call: Call[Any], engine: SpeechEngine, settings: Settings | None = None, history: Any = ()) -> None:
    loop = asyncio.get_running_loop()
    call.connection = await LocalRealtimeModel(language_model=call.language_model, engine=engine).connect(
        settings=settings or Settings(instructions="Be kind."),
        on_event=call.hear,
        history=lambda: history,
        runtime=Runtime.deterministic(loop.time),
    )
