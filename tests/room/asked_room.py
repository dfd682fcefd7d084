"""A room in which tools ask aloud: the humans say sounds that stand for sentences, the agents are embedded voices."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import numpy as np

from realtime.agent import RealtimeAgent
from realtime.audio.playback import PlaybackClock, WallClockPlayback
from realtime.call.limits import Limits
from realtime.call.listener import Listener
from realtime.call.session import Session
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig
from realtime.model.base import RealtimeModel
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.engine import SpeechEngine, SpeechParts
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyToolCall
from realtime.model.local.recognizer import Transcript
from realtime.room import ChatRoom
from realtime.room.floor import Policy, addressed
from realtime.room.thinker import Thinker
from realtime.room.thinking import RoomAgent
from realtime.runtime import Runtime
from realtime.testing.call import naming_apart
from realtime.testing.cases.hearing import LoudnessDetector
from realtime.tool import Toolkit
from tests.agent.consent_call import Table
from tests.agent.fakes import ListSink, listener_into
from tests.model.local.stand_ins import FakeVoice, LoudnessVad

RATE_HZ = 16_000
CHUNK_MS = 40
T = TypeVar("T")
SENTENCES = (
    "Robin, book a table for four on Friday.",
    "Wren, book a table for two on Monday.",
    "Yes.",
    "No.",
    "Yes, but only three.",
    "How much is it?",
    "Finch, what time is it?",
    "Mm-hm.",
    "Stop.",
    "Table for four people on Friday.",
    "Yes, always.",
    "Robin, how are you?",
    "I see.",
)
"""What humans can say: the place of a sentence is in the loudness of its sound."""
FIRST_LEVEL, STEP = 5_000, 150
FAR_LEVEL, FAR_STEP = 1_300, 40
ROBIN, WREN = SENTENCES[:2]
QUESTION = "Shall I book a table for four people on Friday?"


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

    takes_images = False

    def __init__(self, arguments: str = '{"people": 4, "day": "Friday"}') -> None:
        self.name = "waiter"
        self.prompts: list[Prompt] = []
        self._arguments = arguments

    async def respond(self, prompt: Prompt) -> Any:
        self.prompts.append(prompt)
        last = prompt.history[-1]
        own = [place for place, item in enumerate(prompt.history) if item.role == "assistant" and item.text]
        news = [item.tool_result for item in prompt.history[max(own, default=0) :] if item.tool_result is not None]
        reply: Reply
        if news:
            reply = ReplyText(f"Result: {news[-1].output_text()}.")
        elif "book" in last.text:
            reply = ReplyToolCall("book_table", self._arguments)
        else:
            reply = ReplyText(f"You said {last.text.rpartition(']: ')[2]}")
        yield reply


class Guest:
    """A human in the room: their microphone is open all the time, and plays what `says` gives it."""

    def __init__(self, house: AskedRoom, name: str, clock: PlaybackClock | None, grace_s: float) -> None:
        self.log: list[s.ServerEvent] = []
        self.participant = house.room.make_human(name, house.runtime)
        self.session = Session(
            participant=self.participant,
            runtime=house.runtime,
            session_id=house.runtime.new_id("session"),
            limits=Limits(grace_s=grace_s),
        )
        self.listener: Listener = listener_into(ListSink(), house.runtime, clock=clock or WallClockPlayback(24_000))
        self.session.attach(self.listener)
        self.session.log.subscribe(self.log.append)
        self._waiting = bytearray()
        self.recording: asyncio.Task[None] | None = None

    async def come(self, *, microphone: bool = True, config: SessionConfig | None = None) -> Guest:
        await self.session.start(config or SessionConfig())
        if microphone:
            self.recording = asyncio.create_task(self._record())
        return self

    async def go(self) -> None:
        if self.recording is not None:
            self.recording.cancel()
        await self.session.end("left")

    async def _record(self) -> None:
        size = RATE_HZ * CHUNK_MS // 1000 * 2
        while True:
            chunk = bytes(self._waiting[:size]).ljust(size, b"\0")
            del self._waiting[:size]
            self.receive(c.ClientAudioAppendEvent(audio=chunk, format=AudioFormat.pcm16(RATE_HZ)))
            await asyncio.sleep(CHUNK_MS / 1000)

    def receive(self, event: c.ClientEvent) -> None:
        self.session.receive(event, self.listener)

    def begins(self, words: str, ms: int = 900, *, far: bool = False) -> None:
        """Begin to say a sentence."""
        self._waiting += sound(words, ms, far=far)

    async def says(self, words: str, ms: int = 900, *, far: bool = False) -> None:
        """Say a sentence; return when it is said."""
        self.begins(words, ms, far=far)
        await asyncio.sleep((ms + CHUNK_MS) / 1000)

    def answers(self, call_id: str, confirmed: bool = True) -> None:
        """Answer on the card."""
        result = c.ClientToolResultEvent(id=call_id, name="book_table", output="", confirmed=confirmed, event_id="e1")
        self.receive(result)

    def of(self, kind: type[T]) -> list[T]:
        return [event for event in self.log if isinstance(event, kind)]

    def errors(self) -> list[str]:
        return [event.code for event in self.of(s.AgentErrorEvent)]


class AskedRoom:
    """The room, and who is in it."""

    def __init__(self, agents: Sequence[RoomAgent], engine: SpeechEngine, **options: Any) -> None:
        self.engine = engine
        self.runtime = naming_apart(Runtime.deterministic(asyncio.get_running_loop().time))
        options = {"make_detector": lambda _: LoudnessDetector(), "recognise": recognise, "floor": addressed} | options
        self.room = ChatRoom(agents, make_voice=self._voice_of, **options)
        self.told: list[s.ServerEvent] = []
        self.times: list[float] = []
        self.room.on_event.append(self._note)
        self.guests: list[Guest] = []
        self._news = asyncio.Event()

    def _voice_of(self, thinker: Thinker) -> RealtimeModel:
        return LocalRealtimeModel("heart", language_model=thinker, engine=self.engine, speculation="off")

    def _note(self, event: s.ServerEvent) -> None:
        self.told.append(event)
        self.times.append(asyncio.get_running_loop().time())
        self._news.set()

    async def come(
        self, name: str, *, clock: PlaybackClock | None = None, grace_s: float = 0.0, **options: Any
    ) -> Guest:
        guest = Guest(self, name, clock, grace_s)
        self.guests.append(guest)
        await guest.come(**options)
        await asyncio.sleep(0.2)  # their microphone is heard
        return guest

    def of(self, kind: type[T]) -> list[T]:
        return [event for event in self.told if isinstance(event, kind)]

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
        """Voices that were no answers: the reason, and the words."""
        return [(one["reason"], one["words"]) for one in self.custom("consent_ignored")]

    @property
    def said(self) -> list[tuple[str, str]]:
        """What agents began to say, one response after the other."""
        return [(one.agent_name, one.transcript) for one in self.of(s.AgentResponseAudioTranscriptDoneEvent)]

    def talk(self) -> list[tuple[str | None, str]]:
        """The conversation: who said what, as it was heard."""
        return [(item.name, item.text) for item in self.room.conversation.items() if item.type == "message"]

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

    async def until_said(self, name: str, words: str, count: int = 1) -> None:
        await self.until(lambda: self.said.count((name, words)) >= count)


def embedded(engine: SpeechEngine, name: str, language_model: Any, tools: Toolkit | None = None) -> RealtimeAgent:
    """An agent with the embedded voice."""
    model = LocalRealtimeModel(language_model=language_model, engine=engine, speculation="off")
    return RealtimeAgent(name, f"You are {name}.", model, toolkit=tools, agent_id=name.lower(), fillers=())


Make = Callable[[SpeechEngine], Sequence[RoomAgent]]


@asynccontextmanager
async def asked_room(make: Make, **options: Any) -> AsyncIterator[AskedRoom]:
    """A room whose agents `make` makes; at its end everybody leaves."""
    parts = SpeechParts(recognizer=SoundRecognizer(), voices={"heart": FakeVoice(1)}, make_vad=LoudnessVad)
    engine = SpeechEngine(lambda progress: parts)
    made = AskedRoom(make(engine), engine, **options)
    try:
        yield made
    finally:
        for guest in made.guests:
            await guest.go()
        await made.room.close("over")
        engine.close()


@asynccontextmanager
async def restaurant(
    table: Table,
    other: Table | None = None,
    *names: str,
    policy: Policy = addressed,
    clocks: dict[str, PlaybackClock] | None = None,
    grace_s: float = 0.0,
    **options: Any,
) -> AsyncIterator[tuple[AskedRoom, list[Guest]]]:
    """Three agents, of whom Robin books with `table` and Wren with `other`, and four humans."""

    def make(engine: SpeechEngine) -> Sequence[RoomAgent]:
        return [
            embedded(engine, "Robin", Waiter(), table.tools),
            embedded(engine, "Wren", Waiter('{"people": 2, "day": "Monday"}'), None if other is None else other.tools),
            embedded(engine, "Finch", Waiter()),
        ]

    async with asked_room(make, floor=policy, **options) as home:
        guests = [
            await home.come(name, clock=(clocks or {}).get(name), grace_s=grace_s)
            for name in names or ("Anna", "Ben", "Carla", "David")
        ]
        yield home, guests
