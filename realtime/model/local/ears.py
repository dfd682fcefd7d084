"""Cut the embedded model's audio stream into turns and clips to recognise. No event loop, no clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import assert_never

from realtime.audio.endpoint import (
    SILENCE_MS,
    Endpoint,
    EndpointConfig,
    EndpointEvent,
    SpeechPaused,
    SpeechResumed,
    SpeechStarted,
    TurnEnded,
)
from realtime.audio.pcm import bytes_of, ms_of
from realtime.audio.vad import Vad
from realtime.event.config import TurnDetection
from realtime.turn.endpointing import Endpointing

RATE_HZ = 16_000

# Measured: Whisper errs least with this much audio before and after the voice (13 clean recordings).
_BEFORE_MS = 550
_AFTER_MS = 200
# Silence after which the words so far are recognised. 40 ms less than 200 cost 2 % more recognitions, 72 ms less 10 %.
_PAUSE_MS = 160
# A voice began at most this long before it is found.
_ONSET_MS = 364
# The voice of a turn may sound this long after its end; that audio is not part of the next turn.
_ECHO_MS = 60
# Kept during silence: the part before a voice, and the time it takes to detect it.
_IDLE_MS = 1_200
_PIECE_BYTES = bytes_of(100, RATE_HZ)
# The most audio that waits for a commit without a detector; the oldest is dropped first.
_LONGEST_MS = 120_000
# OpenAI refuses a shorter commit, too.
_SHORTEST_COMMIT_MS = 100


@dataclass(frozen=True, slots=True)
class Started:
    """A voice that began at `start_ms` of the stream, detected at `at_ms`."""

    start_ms: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Paused:
    """The turn may be over: `pcm` (16 kHz) can be recognised in advance."""

    pcm: bytes = field(repr=False)
    number: int = 0
    """Counts the pauses of the session, for `Ears.take_words`."""
    newest: bytes = field(default=b"", repr=False)
    """The end of `pcm`, from the pause before: the voice whose completeness counts."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """The turn continues: the recognition that `Paused` began is void."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The turn is over: the voice ended at `end_ms` of the stream, detected at `at_ms`.

    After a `Paused` without `Resumed`, both clips have the same words.
    """

    end_ms: int
    at_ms: int
    pcm: bytes = field(repr=False)
    voice_ms: int = 0
    """How much of it the detector took for voice, as `TurnEnded` says."""
    sure_ms: int = 0
    """How much of it was surely voice."""


Heard = Started | Paused | Resumed | Ended


def endpoint_config(detection: TurnDetection | None) -> EndpointConfig:
    """Translate a client's turn detection for the detector. Raises ValueError for impossible settings."""
    wanted = detection or TurnDetection()
    default = EndpointConfig()
    threshold = default.threshold if wanted.threshold is None else wanted.threshold
    silence_ms = default.silence_ms if wanted.silence_duration_ms is None else wanted.silence_duration_ms
    return EndpointConfig(
        threshold=threshold,
        stop_threshold=min(default.stop_threshold, threshold),
        sure_threshold=max(default.sure_threshold, threshold),
        silence_ms=silence_ms,
        expect=wanted.expect,
        # Recognition takes 0.1 to 0.2 s: with a short timer it has to begin sooner.
        speculative_ms=min(_PAUSE_MS, silence_ms // 2),
        keep_audio=False,
    )


class Ears:
    """The audio of one session. Positions are ms since its first sample, across changes of settings.

    While `is_alert` voices begin sooner, see `Endpoint.alert_while`.
    """

    def __init__(
        self, vad: Vad, is_alert: Callable[[], bool] = lambda: False, endpointing: Endpointing | None = None
    ) -> None:
        self._vad = vad
        self._is_alert = is_alert
        self._endpoint: Endpoint | None = None
        self._endpointing = endpointing or Endpointing(SILENCE_MS)
        self._pauses = 0
        self._paused = False
        self._endpoint_origin_ms = 0
        self._received_bytes = 0
        self._kept = bytearray()
        self._start_ms: int | None = None
        self._resumed_ms = 0
        """Where the voice after the turn's last pause was found; 0: no pause yet."""
        self._last_end_ms = 0
        """Where the previous turn ended; earlier speech belongs to it."""
        self._discards = False
        """Whether the client has cleared the current voice: it is no turn."""
        self._next: EndpointConfig | None = None
        """Settings that take effect when the current turn is over."""

    @property
    def in_turn(self) -> bool:
        """Whether a turn is open."""
        return self._start_ms is not None

    @property
    def hears_voice(self) -> bool:
        """Whether a voice sounds, even one that the client has cleared."""
        return self.in_turn or self._discards

    @property
    def position_ms(self) -> int:
        """The length of the audio that has arrived."""
        return ms_of(self._received_bytes, RATE_HZ)

    def configure(self, config: EndpointConfig | None) -> None:
        """Find turns with these settings once the current turn has ended.

        With None, turns end by commit alone, at once. The audio so far is kept.
        """
        if self.in_turn and self._endpoint is not None and config is not None:
            self._next = config
            return
        self._next = None
        self._vad.reset()
        self._paused = False
        if config is None:
            self._endpoint = None
        else:
            self._endpointing.configure(config.silence_ms, config.expect)
            self._endpoint = Endpoint(self._vad, config, self._endpointing)
            self._endpoint.alert_while(self._is_alert)
        self._endpoint_origin_ms = self.position_ms
        self._start_ms = None

    def push(self, pcm: bytes) -> list[Heard]:
        """Add pcm16 at 16 kHz of any even length; returns the events in order.

        Costs 0.1 ms per 32 ms of audio.
        """
        heard: list[Heard] = []
        # In pieces: positions are exact to one piece, and a long silent message is not kept whole.
        for start in range(0, len(pcm), _PIECE_BYTES):
            piece = pcm[start : start + _PIECE_BYTES]
            self._received_bytes += len(piece)
            self._kept += piece
            if self._endpoint is not None:
                heard += self._counted(self._endpoint.push(piece))
            self._take_up_settings()
            self._trim()
        return heard

    def take_words(self, number: int, words: str) -> bool:
        """Take the words of the clip of a `Paused`; does nothing and returns False once that pause is over."""
        if not self._paused or number != self._pauses:
            return False
        self._endpointing.take_words(words)
        return True

    def expect_answer(self, *, is_asked: bool) -> None:
        """Note whether the turn that has begun may answer a question: a short answer ends it sooner."""
        self._endpointing.is_asked = is_asked

    def take_completeness(self, number: int, completeness: float) -> None:
        """Take how complete the newest voice of a `Paused` sounds; does nothing once that pause is over."""
        if self._paused and number == self._pauses:
            self._endpointing.completeness = completeness

    def commit(self) -> bytes | None:
        """End the turn at the client's request; returns its audio, None if shorter than 0.1 s."""
        if self._endpoint is not None and not self.in_turn:
            return None
        pcm = bytes(self._kept) if self._start_ms is None else self._clip(self._start_ms, self.position_ms)
        self._forget()
        if self._endpoint is not None:
            self._endpoint.reset()
        self._discards = False
        self._take_up_settings()
        self._last_end_ms = self.position_ms
        return pcm if ms_of(len(pcm), RATE_HZ) >= _SHORTEST_COMMIT_MS else None

    def finish(self) -> list[Heard]:
        """End an open turn, since the audio has stopped; returns the events."""
        return self._counted(self._endpoint.finish()) if self._endpoint is not None else []

    def clear(self) -> None:
        """Drop the audio so far and the rest of the current turn; positions continue."""
        self._discards = self._discards or self.in_turn
        self._forget()
        self._take_up_settings()

    def _forget(self) -> None:
        self._kept.clear()
        self._start_ms = None

    def _counted(self, events: list[EndpointEvent]) -> list[Heard]:
        if self._discards:
            end = next((at for at, one in enumerate(events) if isinstance(one, TurnEnded)), None)
            self._discards = end is None
            events = [] if end is None else events[end + 1 :]
        return [self._translate(one) for one in events]

    def _take_up_settings(self) -> None:
        if self._next is not None and not self.in_turn:
            self.configure(self._next)

    def _translate(self, event: EndpointEvent) -> Heard:
        origin_ms = self._endpoint_origin_ms
        match event:
            case SpeechStarted():
                self._start_ms = origin_ms + event.start_ms
                self._resumed_ms = 0
                return Started(self._start_ms, self.position_ms)
            case SpeechPaused():
                self._pauses += 1
                self._paused = True
                end_ms = origin_ms + event.end_ms
                clip = self._clip(self._start_ms or 0, end_ms)
                newest_bytes = bytes_of(end_ms + _AFTER_MS - self._resumed_ms + _ONSET_MS, RATE_HZ)
                return Paused(clip, self._pauses, clip[-newest_bytes:])
            case SpeechResumed():
                self._paused = False
                self._resumed_ms = self.position_ms
                return Resumed()
            case TurnEnded(voice_ms=voice_ms, sure_ms=sure_ms):
                self._paused = False
                self._start_ms = None
                end_ms = origin_ms + event.end_ms
                clip = self._clip(origin_ms + event.start_ms, end_ms)
                self._last_end_ms = end_ms
                return Ended(end_ms, self.position_ms, clip, voice_ms, sure_ms)
            case _:
                assert_never(event)

    def _clip(self, start_ms: int, end_ms: int) -> bytes:
        """Return the kept audio of a voice, with a margin around it."""
        first = self._received_bytes - len(self._kept)
        before_ms = max(start_ms - _BEFORE_MS, min(start_ms, self._last_end_ms + _ECHO_MS), 0)
        begin = max(0, bytes_of(before_ms, RATE_HZ) - first)
        return bytes(self._kept[begin : max(begin, bytes_of(end_ms + _AFTER_MS, RATE_HZ) - first)])

    def _trim(self) -> None:
        # Nothing is dropped within a turn: the detector ends it after a minute at the latest.
        if self.in_turn:
            return
        limit = bytes_of(_LONGEST_MS if self._endpoint is None else _IDLE_MS, RATE_HZ)
        if len(self._kept) > limit:
            del self._kept[: len(self._kept) - limit]
