"""What the embedded model hears: its audio stream, and the clips of it that are recognised. No event loop, no clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from realtime.audio.endpoint import (
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

RATE_HZ = 16_000

# Whisper was measured to err least with this much before and after the voice (clean recordings, 13 files).
_BEFORE_MS = 550
_AFTER_MS = 200
# So much after its end a voice may still sound: it belongs to the turn before, not to the next one.
_ECHO_MS = 60
# Kept while nobody speaks: the part before the voice, and the time it takes to be sure that it is one.
_IDLE_MS = 1_200
_PIECE_BYTES = bytes_of(100, RATE_HZ)
# The most that waits for a commit without a detector; older audio is dropped first.
_LONGEST_MS = 120_000
# Less is nobody's turn, and OpenAI refuses such a commit too.
_SHORTEST_COMMIT_MS = 100


@dataclass(frozen=True, slots=True)
class Started:
    """Voice began at `start_ms` of the stream; at `at_ms` it was noticed."""

    start_ms: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Paused:
    """The turn may be over: `pcm` (16 kHz) is worth recognising now."""

    pcm: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Resumed:
    """It was not over: what `Paused` began is worthless."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The turn is over; the voice ended at `end_ms` of the stream, at `at_ms` it was taken for the end of the turn.
    Where a `Paused` holds, its `pcm` says as much."""

    end_ms: int
    at_ms: int
    pcm: bytes = field(repr=False)


Heard = Started | Paused | Resumed | Ended


def endpoint_config(detection: TurnDetection | None) -> EndpointConfig:
    """The detector's settings for what a client asked for. Raises ValueError for what is impossible."""
    wanted = detection or TurnDetection()
    default = EndpointConfig()
    threshold = default.threshold if wanted.threshold is None else wanted.threshold
    silence_ms = default.silence_ms if wanted.silence_duration_ms is None else wanted.silence_duration_ms
    return EndpointConfig(
        threshold=threshold,
        stop_threshold=min(default.stop_threshold, threshold),
        sure_threshold=max(default.sure_threshold, threshold),
        silence_ms=silence_ms,
        # Recognition takes 0.1 to 0.2 s: with a short timer it has to begin sooner to be done in time.
        speculative_ms=min(default.speculative_ms, silence_ms // 2),
        keep_audio=False,
    )


class Ears:
    """One session's audio. Positions are ms since its first sample, whatever settings change in between."""

    def __init__(self, vad: Vad) -> None:
        self._vad = vad
        self._endpoint: Endpoint | None = None
        self._endpoint_origin_ms = 0
        self._received_bytes = 0
        self._kept = bytearray()
        self._start_ms: int | None = None
        self._last_end_ms = 0
        """Where the turn before ended: what was said until then belongs to it."""
        self._discards = False
        """Whether the voice that goes on is no turn: the client has taken it back."""
        self._next: EndpointConfig | None = None
        """Settings for when the turn that goes on is over."""

    @property
    def in_turn(self) -> bool:
        """Whether someone speaks, as far as the detector knows."""
        return self._start_ms is not None

    @property
    def hears_voice(self) -> bool:
        """Whether someone speaks, also where that is no turn any more."""
        return self.in_turn or self._discards

    @property
    def position_ms(self) -> int:
        """How much audio has arrived."""
        return ms_of(self._received_bytes, RATE_HZ)

    def configure(self, config: EndpointConfig | None) -> None:
        """Find turns with these settings from now on, or once the turn that goes on is over; None: turns end by commit
        alone, at once. The audio so far is kept."""
        if self.in_turn and self._endpoint is not None and config is not None:
            self._next = config
            return
        self._next = None
        self._vad.reset()
        self._endpoint = None if config is None else Endpoint(self._vad, config)
        self._endpoint_origin_ms = self.position_ms
        self._start_ms = None

    def push(self, pcm: bytes) -> list[Heard]:
        """Take pcm16 at 16 kHz of any even length; what it brought about, in order. 0.1 ms per 32 ms of audio."""
        heard: list[Heard] = []
        # In pieces: positions are exact to one of them, and a long message is not kept whole while nobody speaks.
        for start in range(0, len(pcm), _PIECE_BYTES):
            piece = pcm[start : start + _PIECE_BYTES]
            self._received_bytes += len(piece)
            self._kept += piece
            if self._endpoint is not None:
                heard += self._counted(self._endpoint.push(piece))
            self._take_up_settings()
            self._trim()
        return heard

    def commit(self) -> bytes | None:
        """The turn ends here, by the client's word: its audio, or None where there is less than 0.1 s."""
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
        """No more audio comes for now: a turn that has begun ends here."""
        return self._counted(self._endpoint.finish()) if self._endpoint is not None else []

    def clear(self) -> None:
        """Forget the audio that is no turn yet, and the rest of a turn that goes on; positions go on."""
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
                return Started(self._start_ms, self.position_ms)
            case SpeechPaused():
                return Paused(self._clip(self._start_ms or 0, origin_ms + event.end_ms))
            case SpeechResumed():
                return Resumed()
            case TurnEnded():
                self._start_ms = None
                end_ms = origin_ms + event.end_ms
                clip = self._clip(origin_ms + event.start_ms, end_ms)
                self._last_end_ms = end_ms
                return Ended(end_ms, self.position_ms, clip)
            case _:
                assert_never(event)

    def _clip(self, start_ms: int, end_ms: int) -> bytes:
        """The audio of a voice with a little before and after, as far as it is kept."""
        first = self._received_bytes - len(self._kept)
        before_ms = max(start_ms - _BEFORE_MS, min(start_ms, self._last_end_ms + _ECHO_MS), 0)
        begin = max(0, bytes_of(before_ms, RATE_HZ) - first)
        return bytes(self._kept[begin : max(begin, bytes_of(end_ms + _AFTER_MS, RATE_HZ) - first)])

    def _trim(self) -> None:
        # While someone speaks nothing is cut: the detector ends a turn after a minute at the latest.
        if self.in_turn:
            return
        limit = bytes_of(_LONGEST_MS if self._endpoint is None else _IDLE_MS, RATE_HZ)
        if len(self._kept) > limit:
            del self._kept[: len(self._kept) - limit]
