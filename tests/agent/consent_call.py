"""Calls with the embedded voice in which a tool asks aloud: the user says sounds that stand for sentences."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from realtime.agent import RealtimeAgent
from realtime.audio.playback import PlaybackClock, WallClockPlayback
from realtime.call.limits import Limits
from realtime.call.session import Session
from realtime.dialects.native import NativeDialect
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.engine import SpeechEngine, SpeechParts
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyToolCall
from realtime.model.local.recognizer import Transcript
from realtime.runtime import Runtime
from realtime.tool import Toolkit
from tests.agent.fakes import ListSink, listener_into
from tests.model.local.stand_ins import FakeVoice, LoudnessVad

RATE_HZ = 16_000
CHUNK_MS = 40
T = TypeVar("T")
SENTENCES = (
    "Book a table for four on Friday.",
    "Yes.",
    "No.",
    "Yes, but only three.",
    "How much is it?",
    "Tell me about the weather.",
    "Yes please.",
    "Mm-hm.",
    "No, for another evening instead.",
    "Yes, always.",
    "Stop.",
    "Table for four people on Friday.",
)
"""What the user can say: the place of a sentence is in the loudness of its sound."""
FIRST_LEVEL, STEP = 5_000, 150
FAR_LEVEL, FAR_STEP = 1_300, 40


def sound(words: str, ms: int = 900, *, far: bool = False) -> bytes:
    """The sound that stands for a sentence; `far`: of somebody across the room."""
    first, step = (FAR_LEVEL, FAR_STEP) if far else (FIRST_LEVEL, STEP)
    level = first + step * SENTENCES.index(words)
    return np.resize(np.array([level, -level], "<i2"), RATE_HZ * ms // 1000).tobytes()


def words_of(pcm: bytes) -> str:
    """The sentence that a sound stands for; "" for silence."""
    loudest = int(np.abs(np.frombuffer(pcm, "<i2").astype(np.int32)).max(initial=0))
    first, step = (FAR_LEVEL, FAR_STEP) if loudest < 2_500 else (FIRST_LEVEL, STEP)
    place = round((loudest - first) / step)
    return SENTENCES[place] if loudest > 1_000 and 0 <= place < len(SENTENCES) else ""


class SoundRecognizer:
    """Understands sounds that stand for sentences."""

    def transcribe(self, pcm16_16k: bytes, context: str = "") -> Transcript:
        return Transcript(words_of(pcm16_16k), 0.1, len(pcm16_16k) // 32)


def recognise(pcm: bytes, rate_hz: int, then: Callable[[str | None], None]) -> None:
    """The same for voices over a reply."""
    then(words_of(pcm))


class Waiter:
    """A language model that books a table, and talks about all else."""

    name = "waiter"
    takes_images = False

    def __init__(
        self, calls: tuple[tuple[str, str], ...] = (("book_table", '{"people": 4, "day": "Friday"}'),)
    ) -> None:
        self.calls = calls
        self.prompts: list[Prompt] = []

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        self.prompts.append(prompt)
        last = prompt.history[-1]
        if last.tool_result is not None:
            yield ReplyText(f"Result: {last.tool_result.output_text()}.")
        elif "Book" in last.text:
            for name, arguments in self.calls:
                yield ReplyToolCall(name, arguments)
        else:
            yield ReplyText(f"You said {last.text}")


class Table:
    """The tools of the restaurant, and what they did."""

    def __init__(self, **options: Any) -> None:
        self.booked: list[tuple[int, str]] = []
        self.tools = Toolkit()
        options = {"confirm": True, "question": "Shall I book a table for {people} people on {day}?"} | options
        self.tools.register(self.book_table, **options)

    async def book_table(self, people: int, day: str) -> str:
        """Book a table."""
        self.booked.append((people, day))
        return f"booked for {people} on {day}"


@dataclass
class AskedCall:
    """One call: the user's microphone is open all the time, and plays what `says` gives it."""

    session: Session
    listener: Any
    log: list[s.ServerEvent] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _waiting: bytearray = field(default_factory=bytearray)
    sent_ms: int = 0

    def hear(self, event: s.ServerEvent) -> None:
        self.log.append(event)
        self._news.set()

    async def microphone(self) -> None:
        size = RATE_HZ * CHUNK_MS // 1000 * 2
        while True:
            chunk = bytes(self._waiting[:size]).ljust(size, b"\0")
            del self._waiting[:size]
            self.receive(c.ClientAudioAppendEvent(audio=chunk, format=AudioFormat.pcm16(RATE_HZ)))
            self.sent_ms += CHUNK_MS
            await asyncio.sleep(CHUNK_MS / 1000)

    def come_back(self, **listener: Any) -> None:
        """The client of a lost socket comes back."""
        view = listener_into(
            ListSink(), self.session.runtime, clock=WallClockPlayback(24_000), resumes_with=NativeDialect(), **listener
        )
        self.session.resume(view, self.session.resume_token.renew(), self.log[-1].seq)
        self.listener = view

    def receive(self, event: c.ClientEvent) -> None:
        self.session.receive(event, self.listener)

    async def says(self, words: str, ms: int = 900, *, far: bool = False) -> None:
        """Say a sentence; return when it is said."""
        self._waiting += sound(words, ms, far=far)
        await asyncio.sleep((ms + CHUNK_MS) / 1000)

    def sends(self, words: str) -> None:
        """Send a sentence at once."""
        self.receive(c.ClientAudioAppendEvent(audio=sound(words), format=AudioFormat.pcm16(RATE_HZ)))

    def of(self, kind: type[T]) -> list[T]:
        return [event for event in self.log if isinstance(event, kind)]

    def custom(self, name: str) -> list[dict[str, Any]]:
        return [event.value for event in self.of(s.ServerCustomEvent) if event.name == name]

    @property
    def states(self) -> list[str]:
        """What became of the questions so far, once their turn had come."""
        return [one["state"] for one in self.custom("consent_question") if one["state"] != "waiting"]

    @property
    def receipts(self) -> list[dict[str, Any]]:
        return self.custom("consent_receipt")

    @property
    def said(self) -> list[str]:
        """What the agent said, one response after the other."""
        return [event.transcript for event in self.of(s.AgentResponseAudioTranscriptDoneEvent)]

    async def until(self, condition: Callable[[], object], seconds: float = 100) -> None:
        async with asyncio.timeout(seconds):
            while not condition():
                self._news.clear()
                try:
                    async with asyncio.timeout(0.5):
                        await self._news.wait()
                except TimeoutError:
                    continue

    async def until_state(self, state: str, count: int = 1) -> None:
        await self.until(lambda: self.states.count(state) >= count)

    async def until_receipt(self, count: int = 1) -> dict[str, Any]:
        await self.until(lambda: len(self.receipts) >= count)
        return self.receipts[count - 1]


@asynccontextmanager
async def asked_call(
    tools: Toolkit,
    language_model: Any = None,
    *,
    config: SessionConfig | None = None,
    clock: PlaybackClock | None = None,
    grace_s: float = 0.0,
    listener: dict[str, Any] | None = None,
    record: Any = None,
    microphone: bool = True,
    **agent: Any,
) -> AsyncIterator[AskedCall]:
    """A call whose user speaks in real time, on virtual clocks."""
    runtime = Runtime.of_loop(asyncio.get_running_loop())
    voices = {"heart": FakeVoice(1)}
    parts = SpeechParts(recognizer=SoundRecognizer(), voices=voices, make_vad=LoudnessVad)
    engine = SpeechEngine(lambda progress: parts)
    voice = RealtimeAgent(
        "Robin",
        "You work in a restaurant.",
        LocalRealtimeModel(language_model=language_model or Waiter(), engine=engine, speculation="off"),
        toolkit=tools,
        **{"fillers": (), "recognise": recognise} | agent,
    )
    limits = Limits(grace_s=grace_s)
    session = Session(participant=voice.run(), runtime=runtime, session_id="s", limits=limits, record=record)
    view = listener_into(ListSink(), runtime, clock=clock or WallClockPlayback(24_000), **(listener or {}))
    session.attach(view)
    made = AskedCall(session, view)
    session.log.subscribe(made.hear)
    await session.start(config or SessionConfig())
    recording = asyncio.create_task(made.microphone()) if microphone else None
    try:
        yield made
    finally:
        if recording is not None:
            recording.cancel()
        await session.end("test_over")
        session.detach(view)
        engine.close()
