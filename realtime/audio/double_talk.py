"""Passes a user who talks over the echo: a canceller takes parts of them as well."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LOST_DB = 14.0
"""A canceller lowers an echo by more than this, and a user over the echo by less."""
BEGIN_FRAMES = 3
HANG_FRAMES = 20
"""Frames by which the user outlasts their last loud one."""
_SMOOTH = 0.7
"""Share of the past in the level of a frame: some 30 ms."""
_SILENT_DB = -60.0
"""Level of what is left in which there is no user."""

Samples = NDArray[np.int16]


class DoubleTalk:
    """Chooses between a microphone and what a canceller left of it.

    Frames have 10 ms; `delay` is how many samples the canceller's output is late.
    """

    __slots__ = ("_clean", "_delayed", "_hang", "_loud", "_raw", "_share")

    def __init__(self, delay: int) -> None:
        self._delayed = np.zeros(delay, np.int16)
        self._raw = self._clean = 0.0
        self._loud = self._hang = 0
        self._share = 0.0
        """Share of the microphone in the newest frame."""

    def frame(self, near: Samples, clean: Samples) -> Samples:
        """Return the next frame."""
        sound = np.concatenate([self._delayed, near])
        raw, self._delayed = sound[: len(near)], sound[len(near) :]
        self._raw += (1 - _SMOOTH) * (_power(raw) - self._raw)
        self._clean += (1 - _SMOOTH) * (_power(clean) - self._clean)
        before, self._share = self._share, float(self._has_user())
        if not self._share and not before:
            return clean
        shares = np.linspace(before, self._share, len(near), dtype=np.float32)
        return np.rint(raw * shares + clean * (1 - shares)).astype(np.int16)

    def _has_user(self) -> bool:
        left_db = 10 * np.log10(self._clean + 1e-10)
        is_user = left_db > _SILENT_DB and 10 * np.log10(self._raw + 1e-10) - left_db < LOST_DB
        self._loud = self._loud + 1 if is_user else 0
        if self._loud >= BEGIN_FRAMES:
            self._hang = HANG_FRAMES
        elif self._hang:
            self._hang -= 1
        return self._hang > 0


def _power(frame: Samples) -> float:
    samples = frame.astype(np.float32) / 32768.0
    return float(np.dot(samples, samples)) / max(1, len(frame))
