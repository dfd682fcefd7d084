"""A model that answers as fast as the embedded one: a turn is over, 20 ms later a response begins, 60 ms later it
speaks, everything at once. Instead of recognising words it counts the pieces of speech that it was given."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from realtime.audio.endpoint import Endpoint, SpeechStarted, TurnEnded
from realtime.audio.vad import shared_silero
from realtime.event import model as m
from realtime.event.base import AudioFormat
from realtime.model import base
from realtime.model.local.engine import SpeechEngine, SpeechParts
from realtime.model.local.recognizer import Transcript
from realtime.model.script import tone
from realtime.runtime import Runtime

T = TypeVar("T")

TO_RESPONSE_S = 0.02
TO_AUDIO_S = 0.06
REPLY_MS = 2000
REPLY = "I heard you well, and this is what I think about it."
CHUNK_BYTES = 4800

PROFILE = base.Profile(
    provider="quick",
    model="quick-1",
    input_rate_hz=16_000,
    output_rate_hz=24_000,
    aligns_transcript=True,
)
"""Like a provider with a detector of its own."""
NO_DETECTOR = msgspec.structs.replace(PROFILE, emits_speech_events=False, interrupts_itself=False)


class QuickModel(base.RealtimeModel):
    """See the module. It answers every turn and every request alike."""

    def __init__(self, profile: base.Profile = PROFILE, *, reply_ms: int = REPLY_MS) -> None:
        self._profile = profile
        self.reply_ms = reply_ms
        self.links: list[QuickConnection] = []

    @property
    def profile(self) -> base.Profile:
        return self._profile

    @property
    def link(self) -> QuickConnection:
        """The newest session."""
        return self.links[-1]

    async def connect(
        self, *, settings: base.Settings, on_event: base.OnEvent, history: base.History, runtime: Runtime
    ) -> QuickConnection:
        detects = self._profile.emits_speech_events and settings.turn_detection != "none"
        self.links.append(QuickConnection(self, on_event, detects))
        on_event(m.ModelSessionCreatedEvent(session_id="quick"))
        return self.link


class QuickConnection:
    """A session of a `QuickModel`."""

    def __init__(self, model: QuickModel, on_event: base.OnEvent, detects: bool) -> None:
        self.profile = model.profile
        self.pieces = 0
        self.sent: list[base.ModelInput] = []
        """What it was sent, without audio."""
        self._model = model
        self._on_event = on_event
        self._loop = asyncio.get_running_loop()
        self._endpoint = Endpoint(shared_silero().stream()) if detects else None
        self._item_id = ""
        self._responses = 0
        self._running: str | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._ended = False

    def send(self, message: base.ModelInput) -> None:
        if self._ended:
            return
        if not isinstance(message, base.AudioAppend):
            self.sent.append(message)
        match message:
            case base.AudioAppend():
                self._hear(message.pcm)
            case base.AudioCommit():
                self._commit(f"said_{self.pieces + 1}")
            case base.ResponseCreate():
                self._respond()
            case base.ResponseCancel():
                self._cancel("client_cancelled")
            case _:
                pass

    async def close(self) -> None:
        if not self._ended:
            self._cancel("session_closed")
            self._emit(m.ModelSessionEndedEvent(session_id="quick", reason="closed"))
            self._ended = True

    def say(self, event: m.ModelEvent) -> None:
        """Report what the test wants."""
        self._emit(event)

    def _hear(self, pcm: bytes) -> None:
        if self._endpoint is None:
            return
        for found in self._endpoint.push(pcm):
            match found:
                case SpeechStarted():
                    self._item_id = f"said_{self.pieces + 1}"
                    self._cancel("turn_detected")
                    self._emit(m.ModelInputStartedEvent(item_id=self._item_id, audio_start_ms=found.start_ms))
                case TurnEnded():
                    self._emit(m.ModelInputDoneEvent(item_id=self._item_id, audio_end_ms=found.end_ms))
                    self._commit(self._item_id)
                    self._respond()
                case _:
                    pass

    def _commit(self, item_id: str) -> None:
        self.pieces += 1
        self._emit(m.ModelInputCommittedEvent(item_id=item_id))
        self._emit(m.ModelInputTranscriptionDoneEvent(item_id=item_id, transcript=f"piece {self.pieces}"))

    def _respond(self) -> None:
        assert self._timer is None, "a response was asked for while one is on its way"
        self._later(TO_RESPONSE_S, self._begin)

    def _begin(self) -> None:
        self._responses += 1
        self._running = f"resp_{self._responses}"
        self._emit(m.ModelResponseCreatedEvent(response_id=self._running))
        self._later(TO_AUDIO_S, self._speak)

    def _speak(self) -> None:
        assert self._running is not None
        where: dict[str, Any] = {"response_id": self._running, "item_id": f"reply_{self._responses}"}
        self._emit(m.ModelResponseAudioTranscriptDeltaEvent(**where, delta=REPLY))
        pcm = tone(self._model.reply_ms / 1000, self.profile.output_rate_hz)
        for start in range(0, len(pcm), CHUNK_BYTES):
            chunk = pcm[start : start + CHUNK_BYTES]
            self._emit(m.ModelResponseAudioDeltaEvent(**where, delta=chunk, format=AudioFormat.pcm16(24_000)))
        self._emit(m.ModelResponseAudioDoneEvent(**where))
        self._emit(m.ModelResponseAudioTranscriptDoneEvent(**where, transcript=REPLY))
        self._done("completed")

    def _cancel(self, reason: str) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._running is not None:
            self._done("cancelled", reason)

    def _done(self, status: Any, reason: str | None = None) -> None:
        response_id, self._running = self._running, None
        assert response_id is not None
        details = None if reason is None else {"reason": reason}
        self._emit(m.ModelResponseDoneEvent(response_id=response_id, status=status, status_details=details))

    def _later(self, delay_s: float, act: Callable[[], None]) -> None:
        def run() -> None:
            self._timer = None
            act()

        self._timer = self._loop.call_later(delay_s, run)

    def _emit(self, event: m.ModelEvent) -> None:
        self._on_event(event)


class Tapped(base.RealtimeModel):
    """Another model, whose events are noted on their way."""

    def __init__(self, model: base.RealtimeModel) -> None:
        self.voice = model.voice
        self.events: list[m.ModelEvent] = []
        self._model = model

    @property
    def profile(self) -> base.Profile:
        return self._model.profile

    def of(self, kind: type[T]) -> list[T]:
        """What it reported of one kind, in order."""
        return [event for event in self.events if isinstance(event, kind)]

    async def connect(
        self, *, settings: base.Settings, on_event: base.OnEvent, history: base.History, runtime: Runtime
    ) -> base.Connection:
        def note(event: m.ModelEvent) -> None:
            self.events.append(event)
            on_event(event)

        return await self._model.connect(settings=settings, on_event=note, history=history, runtime=runtime)


class _OneWord:
    """Recognises the same word in every clip."""

    def transcribe(self, pcm16_16k: bytes, context: str = "") -> Transcript:
        return Transcript("Hello.", 0.0, len(pcm16_16k) // 32)


class _Hum:
    """Speaks 60 ms a letter, on one note."""

    def synthesize(self, text: str) -> bytes:
        return tone(0.06 * len(text), 24_000)

    def warm_up(self) -> None:
        return


def wordless_engine() -> SpeechEngine:
    """Parts for the embedded model that cost no time: its detector is the real one, its words and voice are not."""
    parts = SpeechParts(recognizer=_OneWord(), voices={"heart": _Hum()}, make_vad=shared_silero().stream)
    return SpeechEngine(lambda progress: parts)
