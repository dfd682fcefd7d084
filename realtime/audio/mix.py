"""Several voices in one: a saturating sum, and the one stream of a client that takes no more than one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from realtime.audio.pcm import SAMPLE_BYTES

FRAME_MS = 20
FADE_MS = 5
JITTERY_MS = 60
"""How much of a voice is waited for once it had a hole: rides out the jitter of a usual line. Before, a frame."""
MOST_MS = 120
"""What this becomes at most: more after each hole, less after calm talk."""
LATE_MS = 200
"""A voice that waits for longer is cut down, oldest first: talk is no talk with more delay."""
QUIET_PEAK = 328
"""40 dB below full scale: what is left out of a voice to bring it nearer is this quiet."""
MAX_VOICES = 64
"""Voices that are remembered; more than a room holds."""

MEETS_MS = 8
"""The frames of a stream are due so long after sound came: what then comes later by less is still in time."""
_MORE_MS = 20
_CALM_MS = 2_000
"""Talk of this length, all of which came earlier than needed by frames and `_SPARE_MS`, needs those frames no more."""
_SPARE_MS = 5
_SHORT_MS = 3
"""A first chunk may lack this much of whole frames: a filter between two rates holds it back."""
_HOLE_MS = 150
"""A voice that goes on within this time was held up; else it had paused."""
_SLACK_MS = 1e-3
"""Times are sums of fractions."""
_LOWEST, _HIGHEST = -32_768, 32_767
_KNEE = 26_214
"""Where limiting begins, 2 dB below full scale."""
_ROOM = _HIGHEST - _KNEE
_INT16 = np.dtype("<i2")

Samples = NDArray[np.int32]


def mix(frames: list[bytes]) -> bytes:
    """Sum of pcm frames that begin together, as long as the longest, clamped to 16 bits instead of wrapping round.

    No frame gives no bytes. Raises ValueError for half a sample.
    """
    if not frames:
        return b""
    total = np.zeros(max(map(len, frames)) // 2, np.int32)
    for frame in frames:
        samples = np.frombuffer(frame, _INT16)
        total[: len(samples)] += samples
    return np.clip(total, -32768, 32767).astype(_INT16).tobytes()


class Mixed(NamedTuple):
    """A frame, empty where nothing sounds, and whether there is more in it than what was ready by itself."""

    pcm: bytes
    has_voices: bool


class _Voice:
    __slots__ = (
        "dry_at",
        "early_ms",
        "fades_in",
        "is_even",
        "judged_bytes",
        "last",
        "nears",
        "since",
        "sounds",
        "target_ms",
        "waiting",
    )

    def __init__(self) -> None:
        self.waiting = bytearray()
        self.sounds = False
        self.fades_in = False
        self.target_ms = FRAME_MS
        """How much is waited for before it begins to sound."""
        self.is_even = True
        """Whether it comes in whole frames."""
        self.since = 0.0
        """When the first came of what waits."""
        self.dry_at: float | None = None
        """When it was out of sound."""
        self.last = 0
        """The sample that sounded last."""
        self.nears = 0
        """So many of the next quiet frames are left out."""
        self.judged_bytes = 0
        """What sounded since its line was judged last."""
        self.early_ms = math.inf
        """How much earlier than needed everything came since."""

    def judge_anew(self) -> None:
        """What its line was like tells nothing any more."""
        self.nears = 0
        self.judged_bytes = 0
        self.early_ms = math.inf


class Mixer:
    """Live voices and other sound as one stream of frames of 20 ms at `rate_hz`. Time comes in as `now`, in seconds.

    Each voice has a buffer of its own against the jitter of its line: none but what fills a frame until it had a hole,
    then as much as its line needs, and less again, by leaving out quiet frames, where that was too much. Where a voice
    begins, breaks off or is cut, 5 ms of fading avoid a click. A sum within 16 bits is the plain sum; a frame that goes
    beyond is bent from 2 dB below full scale on, and never wraps or is cut off flat. While nothing sounds it does
    nothing.

    Raises ValueError for a rate below 200 Hz.
    """

    def __init__(self, rate_hz: int) -> None:
        self._fade = rate_hz * FADE_MS // 1000
        if self._fade < 1:
            raise ValueError(f"Nothing can be mixed at {rate_hz} Hz.")
        self._rate_hz = rate_hz
        self._frame = rate_hz * FRAME_MS // 1000
        self.frame_bytes = self._frame * SAMPLE_BYTES
        self._short_bytes = self._bytes_of(_SHORT_MS)
        self._next_at = 0.0
        """When the next frame is due."""
        self._down = np.arange(self._fade - 1, -1, -1) / self._fade
        self._voices: dict[str, _Voice] = {}
        self._shift_ms = 0.0
        """By so much later frames, the only voice that sounds comes so early that a frame of it can be left out."""
        self._tails: list[tuple[int, Samples]] = []
        """Ends that fade: where in the next frame they begin, and what is to be added."""
        self.dropped_bytes = 0
        """Of voices that were too late."""

    @property
    def active(self) -> bool:
        """Whether a voice sounds, or waits to."""
        return bool(self._tails) or any(voice.sounds or voice.waiting for voice in self._voices.values())

    def push(self, name: str, pcm: bytes, now: float) -> None:
        """More of a voice. Raises ValueError for half a sample."""
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
                voice.judge_anew()
        voice.waiting += pcm
        if now == voice.since:
            voice.is_even = -len(voice.waiting) % self.frame_bytes <= self._short_bytes
        if len(voice.waiting) > self._bytes_of(LATE_MS):
            surplus = len(voice.waiting) - self._bytes_of(max(JITTERY_MS, voice.target_ms))
            if voice.sounds:
                self._leave_out(voice, surplus)
            else:
                del voice.waiting[:surplus]
            self.dropped_bytes += surplus

    def fade_out(self, pcm: bytes) -> None:
        """What would come next of a sound that is cut off: its first 5 ms fade into the next frame."""
        samples = np.frombuffer(pcm, _INT16)[: self._fade]
        if len(samples):
            self._tails.append((0, self._faded(np.pad(samples, (0, self._fade - len(samples)), mode="edge"))))

    def shift_ms(self) -> float:
        """How much later than planned the next frames had better be made, nearly always 0; asked before a frame of
        voices alone.

        A voice whose sound comes right after a frame was made waits for the next. Where it is the only one, the frames
        are moved to where its sound comes, in a quiet moment, and what has waited is left out.
        """
        if not self._shift_ms:
            return 0.0
        heard = [voice for voice in self._voices.values() if voice.sounds or voice.waiting]
        shift_ms = self._shift_ms
        if len(heard) != 1 or not heard[0].sounds:
            self._shift_ms = 0.0
            return 0.0
        if len(heard[0].waiting) < self.frame_bytes or not _is_quiet(heard[0].waiting[: self.frame_bytes]):
            return 0.0
        self._shift_ms = 0.0
        self._next_at += shift_ms / 1000
        heard[0].nears = 1
        return shift_ms

    def pull(self, now: float, ready: Sequence[bytes] = ()) -> Mixed:
        """The next frame: the voices, and what is ready by itself (of each a frame at most, shorter where it ends).

        Raises ValueError where one is longer.
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
        """The next frame of a voice; nothing while it waits or has come to its end."""
        size, waiting, silence = self.frame_bytes, voice.waiting, b""
        if not voice.sounds:
            missing = -len(waiting) % size
            if missing <= self._short_bytes:
                silence = bytes(missing)
            if not self._may_begin(voice, len(waiting) + len(silence), now):
                return b""
            voice.sounds = voice.fades_in = True
            voice.nears = 0
        elif voice.nears and len(waiting) >= 2 * size and _is_quiet(waiting[: 2 * size]):
            self._leave_out(voice, size)
            voice.nears -= 1
        pcm = bytes(waiting[: size - len(silence)])
        del waiting[: len(pcm)]
        if voice.fades_in and pcm:
            pcm = self._faded_in(pcm)
            voice.fades_in = False
        if pcm:
            voice.last = int.from_bytes(pcm[-SAMPLE_BYTES:], "little", signed=True)
            self._judge(voice, len(pcm))
        pcm = silence + pcm
        if len(pcm) == size:
            return pcm
        self._tails.append((len(pcm) // SAMPLE_BYTES, self._faded(np.full(self._fade, voice.last))))
        voice.sounds = False
        voice.dry_at = now
        return pcm.ljust(size, b"\0") if pcm else b""

    def _may_begin(self, voice: _Voice, n_bytes: int, now: float) -> bool:
        """Whether so much of a voice will do, or it was waited for long enough.

        Of what comes in other pieces than frames, at any time more came than time has passed: a frame later none lacks.
        """
        waited_ms = (now - voice.since) * 1000 + _SLACK_MS
        if waited_ms >= voice.target_ms:
            return True
        return n_bytes >= self._bytes_of(voice.target_ms) and (voice.is_even or waited_ms >= FRAME_MS)

    def _judge(self, voice: _Voice, n_bytes: int) -> None:
        """So much more of it has sounded: if it was held back for longer than needed, bring it nearer."""
        voice.judged_bytes += n_bytes
        if voice.judged_bytes < self._bytes_of(_CALM_MS):
            return
        early_ms, spare_ms, not_yet = voice.early_ms, voice.early_ms - _SPARE_MS, voice.nears
        voice.judge_anew()
        if FRAME_MS <= spare_ms < math.inf:
            voice.nears = int(spare_ms // FRAME_MS)
            voice.target_ms = max(FRAME_MS, voice.target_ms - max(0, voice.nears - not_yet) * FRAME_MS)
        elif MEETS_MS + _SPARE_MS <= early_ms < FRAME_MS + _SPARE_MS:
            self._shift_ms = FRAME_MS + MEETS_MS - early_ms

    def _leave_out(self, voice: _Voice, n_bytes: int) -> None:
        """Cut a voice that sounds: what comes next fades out, under what comes then."""
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

    def _bytes_of(self, ms: int) -> int:
        return ms * self._rate_hz // 1000 * SAMPLE_BYTES


def _is_quiet(pcm: bytearray) -> bool:
    samples = np.frombuffer(bytes(pcm), _INT16)
    return bool(samples.max() <= QUIET_PEAK and samples.min() >= -QUIET_PEAK)


def _limited(total: Samples) -> bytes:
    """As 16 bits. Only a sum that goes beyond them is bent, by a curve that every machine computes alike."""
    if total.max() > _HIGHEST or total.min() < _LOWEST:
        size = np.abs(total)
        beyond = np.maximum(size - _KNEE, 0)
        bent = np.minimum(size, _KNEE) + _ROOM * beyond / (beyond + _ROOM)
        total = np.rint(np.copysign(bent, total))
    pcm: bytes = total.astype(_INT16).tobytes()
    return pcm
