"""Where a tool asks aloud: users say sounds that stand for sentences, and the agent is an embedded voice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import numpy as np

from realtime.agent import RealtimeAgent
from realtime.audio.endpoint import Endpoint, EndpointConfig
from realtime.audio.playback import PlaybackClock, WallClockPlayback
from realtime.call.limits import Limits
from realtime.call.listener import Listener
from realtime.call.session import Session
from realtime.dialects.native import NativeDialect
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat, Item
from realtime.event.config import SessionConfig, TurnDetection
from realtime.message import ToolCallBlock
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
IN_CALLS = (
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
IN_ROOMS = (
    "Robin, book a table for four on Friday.",
    "Wren, book a table for two on Monday.",
    "Finch, what time is it?",
    "Robin, how are you?",
    "I see.",
)
SENTENCES = IN_CALLS + IN_ROOMS
"""What people can say: the place of a sentence is in the loudness of its sound."""
BOOK, QUESTION = IN_CALLS[0], "Shall I book a table for four people on Friday?"
FIRST_LEVEL, STEP = 5_000, 150
FAR_LEVEL, FAR_STEP = 1_300, 40
TO_BOOK = ("book_table", '{"people": 4, "day": "Friday"}')


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


def loudness_detector(wanted: TurnDetection) -> Endpoint:
    return Endpoint(LoudnessVad(), EndpointConfig(keep_audio=False))


def speech_engine() -> SpeechEngine:
    parts = SpeechParts(recognizer=SoundRecognizer(), voices={"heart": FakeVoice(1)}, make_vad=LoudnessVad)
    return SpeechEngine(lambda progress: parts)


class Waiter:
    """A language model that calls tools when it is asked to book a table, and talks about all else.

    `replies` come before that: each to what has these words in it. A result is read as "Result: ...".
    """

    name = "waiter"
    takes_images = False

    def __init__(self, *calls: tuple[str, str], replies: Mapping[str, Reply] | None = None) -> None:
        self.calls = calls or (TO_BOOK,)
        self.replies = replies or {}
        self.prompts: list[Prompt] = []

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        self.prompts.append(prompt)
        text = news_of(prompt.history)
        for words, reply in self.replies.items():
            if words in text:
                yield reply
                return
        if text.startswith("Result: "):
            yield ReplyText(f"{text}.")
        elif "ook a table" in text:
            for name, arguments in self.calls:
                yield ReplyToolCall(name, arguments)
        else:
            yield ReplyText(f"You said {text}")


def news_of(history: Sequence[Item]) -> str:
    """What there is to answer: the last result since the model's own last words, else the last item."""
    own = [place for place, item in enumerate(history) if item.role == "assistant" and item.text]
    news = [item.tool_result for item in history[max(own, default=0) :] if item.tool_result is not None]
    return f"Result: {news[-1].output_text()}" if news else history[-1].text.rpartition("]: ")[2]


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


class Told:
    """Where a tool asks: all that is told there."""

    def __init__(self) -> None:
        self.log: list[s.ServerEvent] = []
        self._news = asyncio.Event()

    def hear(self, event: s.ServerEvent) -> None:
        self.log.append(event)
        self._news.set()

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
    def ignored(self) -> list[tuple[str, str]]:
        """What was no answer: the reason, and the words."""
        return [(one["reason"], one["words"]) for one in self.custom("consent_ignored")]

    @property
    def said(self) -> list[str]:
        """What agents said, one response after the other: others than Robin with their names."""
        ends = self.of(s.AgentResponseAudioTranscriptDoneEvent)
        return [one.transcript if one.agent_name == "Robin" else f"{one.agent_name}: {one.transcript}" for one in ends]

    def call_of(self, tool: str = "book_table") -> ToolCallBlock:
        """The newest call of a tool that is asked about."""
        calls = [event.tool_use for event in self.of(s.AgentResponseToolUseDoneEvent)]
        return [call for call in calls if call.name == tool][-1]

    async def until(self, condition: Callable[[], object], seconds: float = 120) -> None:
        async with asyncio.timeout(seconds):
            while not condition():
                self._news.clear()
                try:
                    async with asyncio.timeout(0.1):
                        await self._news.wait()
                except TimeoutError:
                    continue

    async def until_state(self, state: str, count: int = 1) -> None:
        await self.until(lambda: self.states.count(state) >= count)

    async def until_receipt(self, count: int = 1) -> dict[str, Any]:
        await self.until(lambda: len(self.receipts) >= count)
        return self.receipts[count - 1]

    async def until_said(self, words: str, count: int = 1) -> None:
        await self.until(lambda: self.said.count(words) >= count)


class Speaker:
    """Somebody whose microphone is open all the time, and plays what `says` gives it."""

    def __init__(self, session: Session, listener: Listener) -> None:
        self.session = session
        self.listener = listener
        self.sent_ms = 0
        self.recording: asyncio.Task[None] | None = None
        self._waiting = bytearray()

    def receive(self, event: c.ClientEvent) -> None:
        self.session.receive(event, self.listener)

    def record(self) -> None:
        self.recording = asyncio.create_task(self._record())

    async def _record(self) -> None:
        size = RATE_HZ * CHUNK_MS // 1000 * 2
        while True:
            chunk = bytes(self._waiting[:size]).ljust(size, b"\0")
            del self._waiting[:size]
            self.receive(c.ClientAudioAppendEvent(audio=chunk, format=AudioFormat.pcm16(RATE_HZ)))
            self.sent_ms += CHUNK_MS
            await asyncio.sleep(CHUNK_MS / 1000)

    async def go(self, reason: str) -> None:
        if self.recording is not None:
            self.recording.cancel()
        await self.session.end(reason)

    def begins(self, words: str, ms: int = 900, *, far: bool = False) -> None:
        """Begin to say a sentence."""
        self._waiting += sound(words, ms, far=far)

    async def says(self, words: str, ms: int = 900, *, far: bool = False) -> None:
        """Say a sentence; return when it is said."""
        self.begins(words, ms, far=far)
        await asyncio.sleep((ms + CHUNK_MS) / 1000)

    def sends(self, words: str, *, commits: bool = True, **fields: Any) -> None:
        """Send a sentence at once, as push-to-talk does."""
        self.receive(c.ClientAudioAppendEvent(audio=sound(words), format=AudioFormat.pcm16(RATE_HZ), **fields))
        if commits:
            self.receive(c.ClientAudioCommitEvent())

    def types(self, words: str) -> None:
        self.receive(c.ClientTextAppendEvent(text=words))

    def answers(self, call: ToolCallBlock, confirmed: bool = True, changed: ToolCallBlock | None = None) -> None:
        """Answer on the card."""
        answer = c.ClientToolResultEvent(
            id=call.id, name=call.name, output="", confirmed=confirmed, tool_call=changed, event_id="e1"
        )
        self.receive(answer)


class AskedCall(Told, Speaker):
    """One call, and its user."""

    def __init__(self, session: Session, listener: Listener) -> None:
        Told.__init__(self)
        Speaker.__init__(self, session, listener)

    def come_back(self, **listener: Any) -> None:
        """The client of a lost socket comes back."""
        view = listener_into(
            ListSink(), self.session.runtime, clock=WallClockPlayback(24_000), resumes_with=NativeDialect(), **listener
        )
        self.session.resume(view, self.session.resume_token.renew(), self.log[-1].seq)
        self.listener = view

    def errors(self) -> list[str]:
        return [event.code for event in self.of(s.AgentErrorEvent)]

    def on_card(self, confirmed: bool, changed: ToolCallBlock | None = None, *, tool: str = "book_table") -> None:
        """The user answers on the card."""
        self.answers(self.call_of(tool), confirmed, changed)


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
    engine = speech_engine()
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
    if microphone:
        made.record()
    try:
        yield made
    finally:
        await made.go("test_over")
        session.detach(view)
        engine.close()


@asynccontextmanager
async def asked(
    table: Table, language_model: Any = None, *, state: str = "heard", **options: Any
) -> AsyncIterator[AskedCall]:
    """A call whose user has asked for a table; the question for it has come to `state`."""
    async with asked_call(table.tools, language_model, **options) as made:
        await made.says(BOOK)
        await made.until_state(state)
        yield made
