"""Find the start and end of speech and of turns.

Speech begins and ends by hysteresis over voice activity, turns end after a silence. How long a silence ends a turn is
one number, or the decision of an `EndpointingPolicy`. Voices that are quieter than the turn's own (`audio/near.py`)
delay its end by half a second at most, and begin no turn, unless they stand out from what sounded before.

Positions are ms of audio pushed since the endpoint was made: start of voice without padding, end of voice without the
silence behind it. Time is counted in audio, not by a clock: a client that stops sending stops the timer, too.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from realtime.audio.near import LEVEL_MS, NearVoice
from realtime.audio.vad import FRAME_BYTES, FRAME_MS, RATE_HZ, Vad
from realtime.event.config import Expectation

SILENCE_MS = 500
_RECENT_FRAMES = 1024 // FRAME_MS
_HOP_MS = 10
_OTHER_VOICE_MS = 450
"""Silence over a quieter voice counts from this later: the voice may be the same speaker's."""
_GUARD_MS = 2_000
"""Silence that ends the guard: until then, quieter voices begin no turn after one that ended over them."""
_LATE_FRAMES = 3
"""The latest that a near voice is found over a quieter one: its level is that of `LEVEL_MS`."""


@dataclass(frozen=True, slots=True)
class EndpointConfig:
    """Settings of an :class:`Endpoint`. Probabilities are 0.0 to 1.0. Raises ValueError for a contradiction."""

    threshold: float = 0.5
    """The lowest probability at which a frame may be voice."""
    stop_threshold: float = 0.35
    """Voice ends when the probability falls below this."""
    sure_threshold: float = 0.9
    """Voice begins with a frame of this probability: abrupt music stays at 0.5 to 0.85 for up to 10 frames."""
    unsure_ms: int = 384
    """Or after frames over `threshold` for this long: some soft voices take 0.3 s to reach it."""
    alert_ms: int = 96
    """While alert, or after frames over `stop_threshold` for this long: over a telephone voices stay unsure."""
    min_speech_ms: int = 64
    """Consecutive frames over `threshold` before voice begins: a click lasts for one."""
    silence_ms: int = SILENCE_MS
    """Silence after which the turn is over; with an `EndpointingPolicy`, where nothing else is known."""
    expect: Expectation | None = None
    """The kind of answer that an `EndpointingPolicy` waits for."""
    speculative_ms: int = 200
    """Silence after which speculative recognition may start."""
    pre_roll_ms: int = 300
    """Audio kept from before the start of voice: weak first consonants are detected late."""
    max_utterance_ms: int = 60_000
    """The longest turn: it ends during the voice, to bound memory (2 MB)."""
    onset_lag_ms: int = 12
    """Median delay of the first frame over `threshold`: Silero 6, labelled speech."""
    keep_audio: bool = True
    """Whether events carry the audio of the utterance; if not, an endpoint keeps about a second."""

    def __post_init__(self) -> None:
        if not 0 <= self.stop_threshold <= self.threshold <= self.sure_threshold <= 1:
            raise ValueError("Thresholds have to rise from stop_threshold over threshold to sure_threshold.")
        if self.silence_ms <= 0 or self.min_speech_ms <= 0 or self.max_utterance_ms <= 0:
            raise ValueError("silence_ms, min_speech_ms and max_utterance_ms have to be positive.")


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """Speech has begun: the moment to interrupt."""

    start_ms: int


@dataclass(frozen=True, slots=True)
class SpeechPaused:
    """Silence for `speculative_ms`. *pcm* is the utterance so far, at 16 kHz with pre-roll and the silence."""

    end_ms: int
    pcm: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class SpeechResumed:
    """The turn continues: discard what :class:`SpeechPaused` began."""


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """Silence for `silence_ms`, or voice for `max_utterance_ms`.

    *pcm* is that of the turn's last :class:`SpeechPaused`, whose recognition is valid; the rest is silence.
    """

    start_ms: int
    end_ms: int
    pcm: bytes = field(repr=False)
    voice_ms: int = 0
    """How much of it the detector took for voice; of coughs it takes at most 0.2 s."""
    sure_ms: int = 0
    """How much of it was surely voice: nothing of music, coughs and machines."""


class EndpointingPolicy(Protocol):
    """Decides how long a silence ends the turn of one speaker."""

    def configure(self, silence_ms: int, expect: Expectation | None) -> None:
        """Take new settings."""

    def begin_pause(self) -> None:
        """A pause has begun: evidence about the one before does not count."""

    def wait_ms(self, voiced_ms: int) -> int:
        """Return the silence that ends a turn of this length."""


EndpointEvent: TypeAlias = SpeechStarted | SpeechPaused | SpeechResumed | TurnEnded


class Endpoint:
    """Finds the turns of one stream of 16 kHz pcm.

    Events per turn: SpeechStarted, any SpeechPaused and SpeechResumed, TurnEnded.
    """

    def __init__(
        self, vad: Vad, config: EndpointConfig | None = None, endpointing: EndpointingPolicy | None = None
    ) -> None:
        config = config or EndpointConfig()
        self._vad = vad
        self._config = config
        self._endpointing = endpointing
        self._min_run = -(-config.min_speech_ms // FRAME_MS)
        self._unsure_run = max(self._min_run, -(-config.unsure_ms // FRAME_MS))
        self._alert_run = max(self._min_run, -(-config.alert_ms // FRAME_MS))
        self._is_alert: Callable[[], bool] = lambda: False
        self._pre_roll_frames = -(-config.pre_roll_ms // FRAME_MS)
        self._rest = bytearray()
        self._position_ms = 0
        # The newest frames: enough to find the end of voice, and for the pre-roll of a slow start.
        self._recent: deque[bytes] = deque(maxlen=max(_RECENT_FRAMES, self._pre_roll_frames + self._unsure_run))
        self._utterance: list[bytes] = []
        self._in_turn = False
        self._voiced = False
        self._paused = False
        self._paused_pcm = b""
        # Consecutive frames over the threshold before voice begins, and how many of them were sure.
        self._run = 0
        self._run_sure = 0
        # The same of the turn.
        self._voice_frames = 0
        self._sure_frames = 0
        self._start_ms = 0
        self._end_ms = 0
        self._near = NearVoice()
        # The newest frame of the near voice.
        self._near_ms = 0
        # When the detector found the voice that sounds.
        self._onset_ms = 0
        # For how much more silence only a near voice begins a turn.
        self._guard_ms = 0

    @property
    def in_turn(self) -> bool:
        """Whether a turn has begun and not ended."""
        return self._in_turn

    @property
    def position_ms(self) -> int:
        """The length of the processed audio: up to one frame less than was pushed."""
        return self._position_ms

    def push(self, pcm: bytes) -> list[EndpointEvent]:
        """Add audio of any length; returns the events in order.

        Costs 0.1 ms per 32 ms of audio with Silero.
        """
        events: list[EndpointEvent] = []
        rest = self._rest
        rest += pcm
        start = 0
        while len(rest) - start >= FRAME_BYTES:
            frame = bytes(rest[start : start + FRAME_BYTES])
            start += FRAME_BYTES
            self._judge(frame, self._vad.probability(frame), events)
        del rest[:start]
        return events

    def reset(self) -> None:
        """Drop the turn, the kept audio and the detector's state; positions continue."""
        self._vad.reset()
        self._guard_ms = 0
        self._forget_turn()

    def finish(self) -> list[EndpointEvent]:
        """End an open turn, since the audio has stopped; returns the events."""
        events: list[EndpointEvent] = []
        if self._in_turn:
            if self._voiced:
                self._end_ms = self._position_ms
            self._turn_ended(events)
            self._vad.reset()
        return events

    def wait_for(self, silence_ms: int, expect: Expectation | None = None) -> None:
        """Set the silence that ends a turn, and the expected answer. Raises ValueError unless it is positive."""
        self._config = replace(self._config, silence_ms=silence_ms, expect=expect)
        if self._endpointing is not None:
            self._endpointing.configure(silence_ms, expect)

    def alert_while(self, is_alert: Callable[[], bool]) -> None:
        """Begin a voice sooner while `is_alert`: a false start costs little where interruptions are decided later."""
        self._is_alert = is_alert

    def _judge(self, frame: bytes, probability: float, events: list[EndpointEvent]) -> None:
        config = self._config
        self._position_ms = now_ms = self._position_ms + FRAME_MS
        self._recent.append(frame)
        self._near.hear(frame)
        if self._in_turn and config.keep_audio:
            self._utterance.append(frame)
        if self._voiced:
            if probability < config.stop_threshold:
                self._voice_ended(now_ms, events)
        elif probability < config.stop_threshold or (probability < config.threshold and not self._is_alert()):
            self._run = self._run_sure = 0
            self._guard_ms = max(0, self._guard_ms - FRAME_MS)
        else:
            self._run += 1
            self._run_sure += probability >= config.sure_threshold
            if self._guard_ms and not self._near.is_near and not self._near.stands_out:
                self._run = min(self._run, _LATE_FRAMES)
                self._guard_ms = _GUARD_MS
            elif self._run >= self._min_run and (
                self._run_sure or self._run >= (self._alert_run if self._is_alert() else self._unsure_run)
            ):
                self._voice_began(now_ms, events)
        if not self._in_turn:
            self._near.wait()
            return
        if self._voiced:
            if probability >= config.threshold:
                self._near.learn()
                self._voice_frames += 1
                self._sure_frames += probability >= config.sure_threshold
            if self._near.is_near:
                self._near_ms = now_ms
                self._resume(events)
        if self._voiced and now_ms - self._start_ms >= config.max_utterance_ms:
            self._end_ms = now_ms
            self._turn_ended(events)
        elif self._voiced or not self._run:
            self._judge_silence(now_ms, events)

    def _judge_silence(self, now_ms: int, events: list[EndpointEvent]) -> None:
        silence_ms = now_ms - self._near_ms - _OTHER_VOICE_MS
        if self._voiced:
            self._end_ms = self._near_ms
        else:
            # A voice of the last few ms is not detected yet.
            silence_ms = max(silence_ms, now_ms - self._config.onset_lag_ms - self._end_ms)
        if silence_ms >= self._wait_ms():
            self._guard_ms = _GUARD_MS if self._voiced or self._near.is_busy else 0
            self._turn_ended(events)
        elif silence_ms >= self._config.speculative_ms and not self._paused:
            if self._voiced:
                if now_ms - self._onset_ms < LEVEL_MS:
                    return
                if self._endpointing is not None:
                    self._endpointing.begin_pause()
            self._paused = True
            self._paused_pcm = b"".join(self._utterance)
            events.append(SpeechPaused(self._end_ms, self._paused_pcm))

    def _voice_ended(self, now_ms: int, events: list[EndpointEvent]) -> None:
        self._voiced = False
        self._end_ms = max(self._start_ms, now_ms - _silence_ms(self._recent))
        # A quieter voice that ends with a silence may be the last words of the turn: they belong to it.
        self._resume(events)
        if self._endpointing is not None:
            self._endpointing.begin_pause()

    def _resume(self, events: list[EndpointEvent]) -> None:
        if self._paused:
            events.append(SpeechResumed())
            self._paused = False

    def _wait_ms(self) -> int:
        if self._endpointing is None:
            return self._config.silence_ms
        return self._endpointing.wait_ms(self._end_ms - self._start_ms)

    def _voice_began(self, now_ms: int, events: list[EndpointEvent]) -> None:
        if self._in_turn:
            self._resume(events)
        else:
            self._in_turn = True
            self._near.forget(self._run)
            self._near_ms = now_ms
            self._guard_ms = 0
            # Never before the end of the previous turn, nor before the beginning.
            self._start_ms = max(self._end_ms, now_ms - self._run * FRAME_MS - self._config.onset_lag_ms)
            if self._config.keep_audio:
                self._utterance = list(self._recent)[-(self._run + self._pre_roll_frames) :]
            self._voice_frames = self._sure_frames = 0
            events.append(SpeechStarted(self._start_ms))
        # The newest frame of the run is counted with those that follow.
        self._voice_frames += max(0, self._run - 1)
        self._sure_frames += max(0, self._run_sure - 1)
        self._voiced = True
        self._onset_ms = now_ms
        self._run = self._run_sure = 0

    def _turn_ended(self, events: list[EndpointEvent]) -> None:
        pcm = self._paused_pcm if self._paused else b"".join(self._utterance)
        voice_ms, sure_ms = self._voice_frames * FRAME_MS, self._sure_frames * FRAME_MS
        events.append(TurnEnded(self._start_ms, self._end_ms, pcm, voice_ms, sure_ms))
        self._forget_turn()

    def _forget_turn(self) -> None:
        self._in_turn = False
        self._voiced = False
        self._paused = False
        self._run = self._run_sure = 0
        self._utterance = []
        self._paused_pcm = b""
        # The pre-roll of the next turn must not reach into this one.
        self._recent.clear()


def _silence_ms(frames: Iterable[bytes]) -> int:
    """Return how long before the end of *frames* the voice ended; the last frame is the first silent one.

    The detector reports silence 20 to 320 ms after the voice, later in an echoing room, so the end is estimated from
    the energy of 10 ms steps: the step behind the last one over 35 % of the way, in dB, from the quietest of the last
    half second to the loudest of the last second. A median over 50 ms removes the pops of lips and breath. The result
    stays near the detector's, which alone distinguishes voice from noise.
    """
    samples = np.frombuffer(b"".join(frames), "<i2").astype(np.float32)
    hop = _HOP_MS * RATE_HZ // 1000
    steps = samples[len(samples) % hop :].reshape(-1, hop)
    power = np.einsum("ij,ij->i", steps, steps) / hop
    smooth = np.median(sliding_window_view(np.pad(power, 2, "edge"), 5), axis=1)
    level_db = 10 * np.log10(smooth + 1)
    quiet = np.sort(level_db[-512 // _HOP_MS :])
    loud = np.sort(level_db)
    floor_db, voice_db = quiet[len(quiet) // 10], loud[len(loud) * 9 // 10]
    over = np.flatnonzero(level_db >= floor_db + 0.35 * (voice_db - floor_db))
    silent_steps = len(level_db) - 2 - int(over[-1])
    return min(max(silent_steps * _HOP_MS, 2 * FRAME_MS), 250 + FRAME_MS)
