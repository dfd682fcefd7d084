"""The microphone of a simulated page. Pure: time and positions are arguments."""

from __future__ import annotations

from collections import deque
from functools import lru_cache

import numpy as np

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.testing.client.echo_path import EchoPath
from realtime.testing.client.steps import INPUT_HZ

FRAME_MS = 40
FRAME_SAMPLES = INPUT_HZ * FRAME_MS // 1000


class Microphone:
    """Gives frames of 40 ms: the user's speech, otherwise the room.

    `background` is the rms of the room's noise in units of a sample, 0 for silence; `seed` decides it.
    """

    def __init__(self, background: float, seed: int) -> None:
        self._room = _noise(background, seed)
        self._to_say: deque[tuple[int, bytes]] = deque()
        self._frames: list[bytes] = []
        self.echo: EchoPath | None = None
        """The way from the loudspeaker to it; None: it does not hear it."""
        self.position = 0
        """Number of samples given so far."""

    def say(self, pcm: bytes, at: int) -> int:
        """Say pcm16 from sample `at` on, or after earlier speech; return where it begins."""
        at = max(at, self.position)
        if self._to_say:
            start, last = self._to_say[-1]
            at = max(at, start + len(last) // SAMPLE_BYTES)
        self._to_say.append((at, pcm))
        return at

    def pcm(self) -> bytes:
        """Return all audio given so far."""
        return b"".join(self._frames)

    def next_frame(self, played: bytes = b"") -> bytes:
        """Return the next 40 ms; `played` is what was audible in that time."""
        frame = self._made()
        if self.echo is not None:
            sound = np.frombuffer(frame, "<i2") + self.echo.next_frame(played, FRAME_SAMPLES)
            frame = np.clip(np.rint(sound), -32_768, 32_767).astype("<i2").tobytes()
        self.position += FRAME_SAMPLES
        self._frames.append(frame)
        return frame

    def _made(self) -> bytes:
        begin = self.position
        room = self._room[begin // FRAME_SAMPLES % len(self._room)]
        if not self._to_say or self._to_say[0][0] >= begin + FRAME_SAMPLES:
            return room
        start, pcm = self._to_say[0]
        if start <= begin and len(pcm) // SAMPLE_BYTES > begin - start + FRAME_SAMPLES:
            at = (begin - start) * SAMPLE_BYTES
            return pcm[at : at + FRAME_SAMPLES * SAMPLE_BYTES]
        frame = bytearray(room)
        while self._to_say and self._to_say[0][0] < begin + FRAME_SAMPLES:
            start, pcm = self._to_say[0]
            at = max(0, start - begin) * SAMPLE_BYTES
            spoken = pcm[max(0, begin - start) * SAMPLE_BYTES :][: len(frame) - at]
            frame[at : at + len(spoken)] = spoken
            if start + len(pcm) // SAMPLE_BYTES > begin + FRAME_SAMPLES:
                break
            self._to_say.popleft()
        return bytes(frame)


@lru_cache(maxsize=16)
def _noise(rms: float, seed: int) -> tuple[bytes, ...]:
    """Return two seconds of room noise as frames."""
    samples = np.random.default_rng(seed).normal(0, rms, 2 * INPUT_HZ).astype("<i2").tobytes()
    size = FRAME_SAMPLES * SAMPLE_BYTES
    return tuple(samples[at : at + size] for at in range(0, len(samples), size))
