"""Agents for simulated rooms: a model that understands its audio input, and a cheap detector.

In a room it is not known in advance which agent hears which turn, so words cannot be a list in order as in a `StandIn`
of a call. Here they are found in the audio: each recording that a user speaks is recognised by its loudest moments.
Every agent has a voice of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from realtime.audio.endpoint import EndpointEvent, SpeechStarted, TurnEnded
from realtime.audio.pcm import SAMPLE_BYTES
from realtime.event.config import Expectation
from realtime.model.base import (
    AudioAppend,
    AudioClear,
    AudioCommit,
    Connection,
    History,
    ModelInput,
    OnEvent,
    Profile,
    RealtimeModel,
    ResponseCreate,
    Settings,
)
from realtime.model.script import Speak, Step, Transcribe
from realtime.model.scripted import ScriptedModel
from realtime.runtime import Runtime
from realtime.testing.cases.stand_in import StandInModel
from realtime.testing.client.steps import INPUT_HZ

EXCERPT_SAMPLES = 320
"""A recording is recognised by excerpts of 20 ms: no two of them are equal to the last bit."""
EXCERPTS = 4
LOUD = 500
"""Level (of 32768) above which a voice speaks."""
BEGINS_MS, ENDS_MS = 60, 500
"""Length of voice that begins a turn, and silence that ends it."""


class Vocabulary:
    """Recognises the words of known recordings (pcm16 at 16 kHz) in audio."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[str, int]] = {}
        """Maps an excerpt to its words and its sample in the recording."""

    def add(self, pcm: bytes, words: str) -> None:
        """Learn a recording's loudest moments; several, in case one is lost."""
        samples = np.frombuffer(pcm, "<i2").astype(np.int32)
        whole = len(samples) // EXCERPT_SAMPLES
        if not whole:
            return
        loudness = np.square(samples[: whole * EXCERPT_SAMPLES].reshape(whole, EXCERPT_SAMPLES)).mean(axis=1)
        for place in np.argsort(loudness)[::-1][:EXCERPTS]:
            begin = int(place) * EXCERPT_SAMPLES
            excerpt = pcm[begin * SAMPLE_BYTES : (begin + EXCERPT_SAMPLES) * SAMPLE_BYTES]
            self._known.setdefault(excerpt, (words, begin))

    def understand(self, pcm: bytes) -> str:
        """Return the words of all recordings in the audio, in order."""
        found: dict[tuple[int, str], None] = {}
        for excerpt, (words, begin) in self._known.items():
            at = pcm.find(excerpt)
            while at >= 0:
                found[at // SAMPLE_BYTES - begin, words] = None
                at = pcm.find(excerpt, at + 1)
        return " ".join(words for _, words in sorted(found))


class HearingModel(RealtimeModel):
    """Answers as the stand-in says, in a voice unique to `name`; understands what the vocabulary knows.

    It has no detector: the room decides about turns.
    """

    def __init__(self, name: str, stand_in: StandInModel, vocabulary: Vocabulary) -> None:
        self._name = name
        self._stand_in = stand_in
        self._vocabulary = vocabulary
        self._said = 0

    @property
    def profile(self) -> Profile:
        """See `RealtimeModel.profile`."""
        return self._stand_in.profile

    async def connect(self, *, settings: Settings, on_event: OnEvent, history: History, runtime: Runtime) -> Connection:
        """See `RealtimeModel.connect`."""
        heard = bytearray()

        def react(message: ModelInput) -> Iterable[Step]:
            match message:
                case AudioAppend(pcm=pcm):
                    heard.extend(pcm)
                case AudioClear():
                    heard.clear()
                case AudioCommit():
                    words = self._vocabulary.understand(bytes(heard))
                    heard.clear()
                    return [Transcribe(words)]
                case ResponseCreate():
                    return [*self._answer()]
            return []

        model = ScriptedModel(react, profile=self.profile)
        return await model.connect(settings=settings, on_event=on_event, history=history, runtime=runtime)

    def _answer(self) -> Iterator[Step]:
        for step in self._stand_in.next_answer():
            if isinstance(step, Speak) and isinstance(step.audio, bytes):
                self._said += 1
                n_samples = len(step.audio) // SAMPLE_BYTES
                yield replace(step, audio=voice(f"{self._name} {self._said}", n_samples, self.profile.output_rate_hz))
            else:
                yield step


class Overheard(RealtimeModel):
    """Wraps a model and notes its audio input: `note(pcm)`, and None where a turn ends."""

    def __init__(self, model: RealtimeModel, note: Callable[[bytes | None], None]) -> None:
        self.voice = model.voice
        self._model = model
        self._note = note

    @property
    def profile(self) -> Profile:
        """See `RealtimeModel.profile`."""
        return self._model.profile

    async def connect(self, *, settings: Settings, on_event: OnEvent, history: History, runtime: Runtime) -> Connection:
        """See `RealtimeModel.connect`."""
        link = await self._model.connect(settings=settings, on_event=on_event, history=history, runtime=runtime)
        return _OverheardLink(link, self._note)


class _OverheardLink:
    def __init__(self, link: Connection, note: Callable[[bytes | None], None]) -> None:
        self._link = link
        self._note = note

    @property
    def profile(self) -> Profile:
        return self._link.profile

    def send(self, message: ModelInput) -> None:
        match message:
            case AudioAppend(pcm=pcm):
                self._note(pcm)
            case AudioCommit():
                self._note(None)
        self._link.send(message)

    async def close(self) -> None:
        await self._link.close()


class LoudnessDetector:
    """Finds a voice by its level (a `realtime.agent.input.Detector`). For clean recordings; costs nothing."""

    def __init__(self, *, ends_ms: int = ENDS_MS) -> None:
        self._ends_ms = ends_ms
        self._position_ms = 0.0
        self._loud_ms = self._quiet_ms = 0.0
        self._speaking = False
        self._start_ms = 0

    def reset(self) -> None:
        """See `Detector`."""
        self._speaking = False
        self._loud_ms = self._quiet_ms = 0.0

    def alert_while(self, is_alert: Callable[[], bool]) -> None:
        """Do nothing: a level is never unsure."""

    def wait_for(self, silence_ms: int, expect: Expectation | None = None) -> None:
        """See `Detector`."""
        self._ends_ms = silence_ms

    def finish(self) -> list[EndpointEvent]:
        """See `Detector`."""
        spoke = self._speaking
        self.reset()
        return [TurnEnded(self._start_ms, int(self._position_ms), b"")] if spoke else []

    def push(self, pcm: bytes) -> list[EndpointEvent]:
        """See `Detector`."""
        if not pcm:
            return []
        ms = len(pcm) / SAMPLE_BYTES * 1000 / INPUT_HZ
        is_loud = int(np.abs(np.frombuffer(pcm, "<i2").astype(np.int32)).max()) > LOUD
        self._position_ms += ms
        self._loud_ms = self._loud_ms + ms if is_loud else 0.0
        self._quiet_ms = 0.0 if is_loud else self._quiet_ms + ms
        if not self._speaking and self._loud_ms >= BEGINS_MS:
            self._speaking = True
            self._start_ms = int(self._position_ms - self._loud_ms)
            return [SpeechStarted(self._start_ms)]
        if self._speaking and self._quiet_ms >= self._ends_ms:
            self._speaking = False
            return [TurnEnded(self._start_ms, int(self._position_ms - self._quiet_ms), b"")]
        return []


def voice(name: str, n_samples: int, rate_hz: int) -> bytes:
    """Return pcm16 of a voice: noise of 200 to 3000 Hz with the rhythm of syllables, different for each name."""
    chance = Random(name)
    if not n_samples:
        return b""
    spectrum = np.fft.rfft(np.random.default_rng(chance.getrandbits(32)).standard_normal(n_samples))
    frequencies_hz = np.fft.rfftfreq(n_samples, 1 / rate_hz)
    spectrum[(frequencies_hz < 200) | (frequencies_hz > 3_000)] = 0
    sound = np.fft.irfft(spectrum, n_samples)
    syllables: NDArray[np.float64] = 0.6 + 0.4 * np.sin(2 * np.pi * 4 * np.arange(n_samples) / rate_hz)
    peak = np.abs(sound).max(initial=1e-9)
    return bytes((sound / peak * syllables * 12_000).astype("<i2").tobytes())
