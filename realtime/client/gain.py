"""The gain that the server asks for an agent's voice. Pure."""

from __future__ import annotations

import numpy as np


class Gain:
    """Applies `server_audio_gain` to blocks of pcm16."""

    def __init__(self) -> None:
        self._now = self._target = 1.0
        self._left_ms = 0.0

    def set(self, gain_db: float, ramp_ms: float) -> None:
        """Reach this gain over `ramp_ms`."""
        self._target, self._left_ms = 10 ** (gain_db / 20), max(0.0, ramp_ms)
        if not self._left_ms:
            self._now = self._target

    def apply(self, pcm: bytes, length_ms: int) -> bytes:
        """Return the block at the gain of its time."""
        begin = self._now
        if self._left_ms:
            share = min(1.0, length_ms / self._left_ms)
            self._now = begin + (self._target - begin) * share
            self._left_ms = max(0.0, self._left_ms - length_ms)
        if begin == self._now == 1.0:
            return pcm
        samples = np.frombuffer(pcm, "<i2") * np.linspace(begin, self._now, len(pcm) // 2, endpoint=False)
        return np.clip(np.rint(samples), -32_768, 32_767).astype("<i2").tobytes()
