"""One call of the bench of consent: a tool asks aloud, and the user, an echo, noise and others are heard.

The call is whole: the server, the embedded voice with its own detector, recogniser and synthesis, default options, and
a page that plays. Only the language model is a stand-in, which calls the tool at the first turn; and time is virtual.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from bench.listen_words import RememberingRecognizer, RememberingVoice
from bench.process import ROOT
from bench.stimuli import CHANNELS, RATE_HZ, Channel, Sound
from realtime.agent import RealtimeAgent
from realtime.agent.partial_words import recognise_words
from realtime.audio.files import read_pcm16
from realtime.event.server import AgentInputTranscriptionDoneEvent, ServerCustomEvent
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyToolCall
from realtime.testing.call import LOCAL_COSTS, play
from realtime.testing.client.steps import Silence, Speak, Step, WaitFor
from realtime.testing.clock import VirtualLoop
from realtime.testing.errors import RunFailure
from realtime.testing.record import CallRecord
from realtime.tool import Toolkit

SoundKind = Literal["request", "yes", "no", "change", "question"]
FOLDER = ROOT / "fixtures" / "audio" / "consent"
ASKED = (4, "Friday")
LEAD_MS = 400
TIMEOUT_MS = 60_000
BLOCK = RATE_HZ * 160 // 1000
"""Sounds are filled up to whole blocks of these samples."""


class Said(msgspec.Struct, frozen=True):
    """One entry of the manifest."""

    kind: SoundKind
    text: str
    voice: str
    file: str


@cache
def manifest() -> tuple[Said, ...]:
    """Return all sounds."""
    return tuple(msgspec.json.decode((FOLDER / "manifest.json").read_bytes(), type=list[Said]))


@cache
def voices() -> tuple[str, ...]:
    """Return the voices."""
    return tuple(dict.fromkeys(one.voice for one in manifest()))


def said(kind: SoundKind, voice: str, number: int = 0) -> Said:
    """Return what a voice says; several wordings take turns by number."""
    found = [one for one in manifest() if one.kind == kind and one.voice == voice]
    return found[number % len(found)]


@cache
def sound_of(path: Path) -> Sound:
    """Return the samples of a file, -1 to 1."""
    return np.frombuffer(read_pcm16(path, RATE_HZ), "<i2").astype(np.float64) / 32768


def speak(sound: Sound, text: str = "", channel: Channel = "clean", gain_db: float = 0.0, seed: int = 0) -> Speak:
    """Return the step that plays samples over a channel (`bench.stimuli`)."""
    sound = np.pad(sound, (0, -len(sound) % BLOCK))
    heard = CHANNELS[channel](sound, np.random.default_rng(seed)) * 10 ** (gain_db / 20)
    return Speak(pcm=(np.clip(heard, -1, 1) * 32767).astype("<i2").tobytes(), text=text or None)


def utter(one: Said, channel: Channel = "clean", gain_db: float = 0.0, seed: int = 0) -> Speak:
    """Return the step that says one of the sounds."""
    return speak(sound_of(FOLDER / one.file), one.text, channel, gain_db, seed)


def until(state: str) -> WaitFor:
    """Wait until the question is in a state."""
    where = {"name": "consent_question", "value": {"state": state}}
    return WaitFor(event="server_custom", where=where, timeout_ms=TIMEOUT_MS)


def until_receipt() -> WaitFor:
    """Wait until the question has its answer, and the call its result."""
    return WaitFor(event="server_custom", where={"name": "consent_receipt"}, timeout_ms=TIMEOUT_MS)


def request(voice: str) -> list[Step]:
    """Return the steps of a user who asks for the tool."""
    return [Silence(LEAD_MS), utter(said("request", voice))]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the question."""

    booked: tuple[tuple[int, str], ...]
    """What the tool did."""
    answer: str
    """Of its receipt; "" without one."""
    answered_by: str
    states: tuple[str, ...]
    """What became of it, in order."""
    transcripts: tuple[str, ...]
    """The words of the user's turns."""
    failure: str = ""
    """Where the user waited in vain."""


class _Waiter:
    """A language model that books a table at the first turn, and talks about all else."""

    name = "bench"
    takes_images = False

    def __init__(self) -> None:
        self._has_called = False

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        last = prompt.history[-1]
        if last.tool_result is not None:
            yield ReplyText("All right.")
        elif not self._has_called:
            self._has_called = True
            yield ReplyToolCall("book_table", '{"people": 4, "day": "Friday"}')
        else:
            yield ReplyText("It costs nothing.")


class _Table:
    """The tool, and what it did."""

    def __init__(self) -> None:
        self.booked: list[tuple[int, str]] = []
        self.tools = Toolkit()
        question = "Shall I book a table for {people} people on {day}?"
        self.tools.register(self.book_table, consent="voice", question=question)

    async def book_table(self, people: int, day: str) -> str:
        """Book a table."""
        self.booked.append((people, day))
        return f"booked for {people} on {day}"


def hear(steps: Sequence[Step], engine: SpeechEngine, **settings: Any) -> Outcome:
    """Play one call of these steps; `settings` are those of the call."""
    loop = VirtualLoop()
    table, waiter = _Table(), _Waiter()

    async def played() -> CallRecord:
        behind = LocalRealtimeModel(language_model=waiter, engine=engine)
        recognise = partial(recognise_words, engine=engine)
        agent = partial(RealtimeAgent, "Friday", "", behind, toolkit=table.tools, recognise=recognise)
        return await play(steps, agent=agent, model="own", config=settings, frames=False)

    loop.declare_cost(RememberingRecognizer.transcribe, LOCAL_COSTS["Recognizer.transcribe"])
    loop.declare_cost(RememberingVoice.synthesize, LOCAL_COSTS["HibariVoice.synthesize"])
    failure = ""
    try:
        record = loop.run_until_complete(played())
    except RunFailure as failed:
        if failed.record is None:
            raise
        record, failure = failed.record, str(failed)
    finally:
        loop.close()
    events = record.events(ServerCustomEvent)
    receipts = [one.value for one in events if one.name == "consent_receipt"]
    return Outcome(
        tuple(table.booked),
        receipts[-1]["answer"] if receipts else "",
        receipts[-1]["answered_by"] if receipts else "",
        tuple(one.value["state"] for one in events if one.name == "consent_question"),
        tuple(one.transcript for one in record.events(AgentInputTranscriptionDoneEvent)),
        failure,
    )


def seed_of(*names: object) -> int:
    """Return a seed that depends on names alone."""
    return int.from_bytes(hashlib.sha256(" ".join(map(str, names)).encode()).digest()[:8], "big")
