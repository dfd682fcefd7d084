"""Mix several voices: a saturating sum, and one live stream for a client that accepts only one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from realtime.audio.pcm import SAMPLE_BYTES, bytes_of

FRAME_MS = 20
FADE_MS = 5
JITTERY_MS = 60
"""A voice's buffer after its first gap: absorbs usual jitter. Before that, one frame."""
MOST_MS = 120
"""The largest buffer: it grows after each gap and shrinks after steady speech."""
LATE_MS = 200
"""The longest backlog of a voice; its oldest audio is dropped, since more delay prevents conversation."""
QUIET_PEAK = 328
"""40 dB below full scale: only frames this quiet are dropped to reduce the delay of a voice."""
MAX_VOICES = 64
"""Voices with a state; more than a room has."""

MEETS_MS = 8
"""Frames are due this long after their audio: less late audio is in time."""
_MORE_MS = 20
_CALM_MS = 2_000
"""Length of early speech after which whole surplus frames are dropped.

Early means sooner than needed by whole frames and `_SPARE_MS`.
"""
_SPARE_MS = 5
_SHORT_MS = 3
"""What a first chunk may lack of whole frames: resampling filters hold it back."""
_HOLE_MS = 150
"""A voice that continues within this time was delayed; after it, the voice had paused."""
_SLACK_MS = 1e-3
"""The tolerance for comparing times, which are sums of fractions."""
_LOWEST, _HIGHEST = -32_768, 32_767
_KNEE = 26_214
"""Limiting begins here, 2 dB below full scale."""
_ROOM = _HIGHEST - _KNEE
_INT16 = np.dtype("<i2")

Samples = NDArray[np.int32]


def mix(frames: list[bytes]) -> bytes:
    """Sum pcm frames that begin together, clamped to 16 bits; as long as the longest frame.

    Without frames the result is empty. Raises ValueError for half a sample.
    """
    if not frames:
        return b""
    total = np.zeros(max(map(len, frames)) // 2, np.int32)
    for frame in frames:
        samples = np.frombuffer(frame, _INT16)
        total[: len(samples)] += samples
    return np.clip(total, -32768, 32767).astype(_INT16).tobytes()


class Mixed(NamedTuple):
    """A frame, empty in silence, and whether it contains voices."""

    pcm: bytes
    has_voices: bool


@dataclass(slots=True)
class _Voice:
    waiting: bytearray = field(default_factory=bytearray)
    sounds: bool = False
    fades_in: bool = False
    target_ms: int = FRAME_MS
    """The buffer that fills before the voice begins to sound."""
    is_even: bool = True
    """Whether its chunks are whole frames."""
    since: float = 0.0
    """When the first waiting audio came."""
    dry_at: float | None = None
    """When its audio ran out."""
    last: int = 0
    """The last sample that sounded."""
    drops_due: int = 0
    """The number of quiet frames to drop next."""
    judged_bytes: int = 0
    """The audio that sounded since its line was last judged."""
    early_ms: float = math.inf
    """How much earlier than needed all audio has come since."""

    def forget_line(self) -> None:
        """Forget what is known of its line."""
        self.drops_due = 0
        self.judged_bytes = 0
        self.early_ms = math.inf


class Mixer:
    """Mixes live voices and other audio into 20 ms frames at `rate_hz`. `now` is in seconds.

    Each voice has its own buffer against the jitter of its line: one frame until its first gap, then as much as its
    line needs, and less again, by dropping quiet frames, if that was too much. Fading for 5 ms avoids a click where a
    voice begins, breaks off or is cut. A sum within 16 bits stays unchanged; a frame beyond is compressed from 2 dB
    below full scale on, and never wraps or clips. In silence the mixer does nothing.

    Raises ValueError for a rate below 200 Hz.
    """

    def __init__(self, rate_hz: int) -> None:
        self._fade = rate_hz * FADE_MS // 1000
        if self._fade < 1:
            raise ValueError(f"Nothing can be mixed at {rate_hz} Hz.")
        self._rate_hz = rate_hz
        self._frame = rate_hz * FRAME_MS // 1000
        self.frame_bytes = self._frame * SAMPLE_BYTES
        self._short_bytes = bytes_of(_SHORT_MS, self._rate_hz)
        self._next_at = 0.0
        """When the next frame is due."""
        self._down = np.arange(self._fade - 1, -1, -1) / self._fade
        self._voices: dict[str, _Voice] = {}
        self._shift_ms = 0.0
        """Frame delay at which the only voice can lose one frame."""
        self._tails: list[tuple[int, Samples]] = []
        """Fading ends: their start in the next frame, and the audio to add."""
        self.dropped_bytes = 0
        """The audio dropped from voices that were too late."""

    @property
    def active(self) -> bool:
        """Whether a voice sounds or waits to sound."""
        return bool(self._tails) or any(voice.sounds or voice.waiting for voice in self._voices.values())

    def push(self, name: str, pcm: bytes, now: float) -> None:
        """Add audio of a voice. Raises ValueError for half a sample."""
        if len(pcm) % SAMPLE_BYTES:
            raise ValueError("The size of pcm16 has to be an even number of bytes.")
        if not pcm:
            return
        voice = self._voices.get(name) or self._new(name)
        if voice.sounds:
            early_ms = (self._next_at - now) * 1000 + len(voice.waiting) // self.frame_bytes * FRAME_MS
            voice.early_ms = min(voice.early_ms, early_ms)
        elif not voice.waiting:
            voice.since = now
            if voice.dry_at is not None and now - voice.dry_at < _HOLE_MS / 1000:
                voice.target_ms = min(MOST_MS, max(JITTERY_MS, voice.target_ms + _MORE_MS))
                voice.forget_line()
        voice.waiting += pcm
        if now == voice.since:
            voice.is_even = -len(voice.waiting) % self.frame_bytes <= self._short_bytes
        if len(voice.waiting) > bytes_of(LATE_MS, self._rate_hz):
            surplus = len(voice.waiting) - bytes_of(max(JITTERY_MS, voice.target_ms), self._rate_hz)
            if voice.sounds:
                self._skip(voice, surplus)
            else:
                del voice.waiting[:surplus]
            self.dropped_bytes += surplus

    def fade_out(self, pcm: bytes) -> None:
        """Fade out a cut voice over 5 ms, within the next frame."""
        samples = np.frombuffer(pcm, _INT16)[: self._fade]
        if len(samples):
            self._tails.append((0, self._faded(np.pad(samples, (0, self._fade - len(samples)), mode="edge"))))

    def shift_ms(self) -> float:
        """Return how much to delay the next frames, nearly always 0; for frames of voices alone.

        Audio that comes right after a frame was made waits for the next one. If there is only one voice, the frames
        move to the arrival of its audio, in a quiet moment, and the waiting audio is dropped.
        """
        if not self._shift_ms:
            return 0.0
        present = [voice for voice in self._voices.values() if voice.sounds or voice.waiting]
        shift_ms = self._shift_ms
        if len(present) != 1 or not present[0].sounds:
            self._shift_ms = 0.0
            return 0.0
        if len(present[0].waiting) < self.frame_bytes or not _is_quiet(present[0].waiting[: self.frame_bytes]):
            return 0.0
        self._shift_ms = 0.0
        self._next_at += shift_ms / 1000
        present[0].drops_due = 1
        return shift_ms

    def pull(self, now: float, ready: Sequence[bytes] = ()) -> Mixed:
        """Return the next frame: the voices and *ready* audio (each at most a frame, shorter at its end).

        Raises ValueError for a longer one.
        """
        size = self.frame_bytes
        if any(len(pcm) > size for pcm in ready):
            raise ValueError(f"A frame has {size} bytes.")
        frames = [pcm.ljust(size, b"\0") for pcm in ready if pcm]
        n_ready = len(frames)
        self._next_at = now + FRAME_MS / 1000
        for voice in self._voices.values():
            if voice.sounds or voice.waiting:
                pcm = self._take(voice, now)
                if pcm:
                    frames.append(pcm)
        has_voices = len(frames) > n_ready or bool(self._tails)
        if not frames and not has_voices:
            return Mixed(b"", False)
        return Mixed(self._sum(frames), has_voices)

    def _take(self, voice: _Voice, now: float) -> bytes:
        """Return the next frame of a voice; empty while it waits or after its end."""
        size, waiting, silence = self.frame_bytes, voice.waiting, b""
        if not voice.sounds:
            missing = -len(waiting) % size
            if missing <= self._short_bytes:
                silence = bytes(missing)
            if not self._may_begin(voice, len(waiting) + len(silence), now):
                return b""
            voice.sounds = voice.fades_in = True
            voice.drops_due = 0
        elif voice.drops_due and len(waiting) >= 2 * size and _is_quiet(waiting[: 2 * size]):
            self._skip(voice, size)
            voice.drops_due -= 1
        pcm = bytes(waiting[: size - len(silence)])
        del waiting[: len(pcm)]
        if voice.fades_in and pcm:
            pcm = self._faded_in(pcm)
            voice.fades_in = False
        if pcm:
            voice.last = int.from_bytes(pcm[-SAMPLE_BYTES:], "little", signed=True)
            self._measure(voice, len(pcm))
        pcm = silence + pcm
        if len(pcm) == size:
            return pcm
        self._tails.append((len(pcm) // SAMPLE_BYTES, self._faded(np.full(self._fade, voice.last))))
        voice.sounds = False
        voice.dry_at = now
        return pcm.ljust(size, b"\0") if pcm else b""

    def _may_begin(self, voice: _Voice, n_bytes: int, now: float) -> bool:
        """Whether a voice's buffer is full or has waited long enough.

        Irregular chunks need one more frame of buffering.
        """
        waited_ms = (now - voice.since) * 1000 + _SLACK_MS
        if waited_ms >= voice.target_ms:
            return True
        return n_bytes >= bytes_of(voice.target_ms, self._rate_hz) and (voice.is_even or waited_ms >= FRAME_MS)

    def _measure(self, voice: _Voice, n_bytes: int) -> None:
        """Count audio that sounded; after more delay than needed, schedule frames to drop."""
        voice.judged_bytes += n_bytes
        if voice.judged_bytes < bytes_of(_CALM_MS, self._rate_hz):
            return
        early_ms, spare_ms, not_yet = voice.early_ms, voice.early_ms - _SPARE_MS, voice.drops_due
        voice.forget_line()
        if FRAME_MS <= spare_ms < math.inf:
            voice.drops_due = int(spare_ms // FRAME_MS)
            voice.target_ms = max(FRAME_MS, voice.target_ms - max(0, voice.drops_due - not_yet) * FRAME_MS)
        elif MEETS_MS + _SPARE_MS <= early_ms < FRAME_MS + _SPARE_MS:
            self._shift_ms = FRAME_MS + MEETS_MS - early_ms

    def _skip(self, voice: _Voice, n_bytes: int) -> None:
        """Cut a sounding voice: its next audio fades out under the later one."""
        self.fade_out(bytes(voice.waiting[: self._fade * SAMPLE_BYTES]))
        voice.fades_in = True
        del voice.waiting[:n_bytes]

    def _sum(self, frames: list[bytes]) -> bytes:
        if len(frames) == 1 and not self._tails:
            return frames[0]
        n = self._frame
        total = np.zeros(n + self._fade, np.int32)
        if frames:
            np.frombuffer(b"".join(frames), _INT16).reshape(-1, n).sum(axis=0, out=total[:n])
        if self._tails:
            for start, tail in self._tails:
                total[start : start + self._fade] += tail
            rest = total[n:]
            self._tails = [(0, rest.copy())] if rest.any() else []
        return _limited(total[:n])

    def _faded(self, samples: NDArray[np.signedinteger[Any]]) -> Samples:
        faded: Samples = np.rint(samples * self._down).astype(np.int32)
        return faded

    def _faded_in(self, pcm: bytes) -> bytes:
        samples = np.frombuffer(pcm, _INT16).copy()
        head = samples[: self._fade]
        head[:] = np.rint(head * (1 - self._down[: len(head)]))
        return samples.tobytes()

    def _new(self, name: str) -> _Voice:
        if len(self._voices) >= MAX_VOICES:
            quiet = [one for one, voice in self._voices.items() if not (voice.sounds or voice.waiting)]
            del self._voices[quiet[0] if quiet else next(iter(self._voices))]
        voice = self._voices[name] = _Voice()
        return voice


def _is_quiet(pcm: bytearray) -> bool:
    samples = np.frombuffer(bytes(pcm), _INT16)
    return bool(samples.max() <= QUIET_PEAK and samples.min() >= -QUIET_PEAK)


def _limited(total: Samples) -> bytes:
    """Convert a sum to 16 bits; one beyond them is compressed, alike on every machine."""
    if total.max() > _HIGHEST or total.min() < _LOWEST:
        size = np.abs(total)
        beyond = np.maximum(size - _KNEE, 0)
        bent = np.minimum(size, _KNEE) + _ROOM * beyond / (beyond + _ROOM)
        total = np.rint(np.copysign(bent, total))
    pcm: bytes = total.astype(_INT16).tobytes()
    return pcm
