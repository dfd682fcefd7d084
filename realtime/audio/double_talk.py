"""Leaves a user alone who is louder than the echo.

A canceller would take parts of him as well.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

OVER_DB = 6.0
"""A user makes the microphone this much louder than the echo."""
FIRST_FRAMES = 200
"""Frames that show the level of the echo: 2 s."""
LOUDEST = 95
"""The percentile of those that stands for the echo."""
REACH_FRAMES = 50
"""Played audio that a frame may be an echo of: 0.5 s."""
BEGIN_FRAMES = 3
HANG_FRAMES = 20
"""Frames by which the user outlasts his last loud one."""
RISE_DB, FALL_DB = 0.02, 0.002
"""By how much the known level follows in one frame: 2 dB and 0.2 dB in a second."""
_SILENT_DB = -55.0
"""Level of played audio that echoes nothing."""

Samples = NDArray[np.int16]


class DoubleTalk:
    """Chooses between a microphone and what a canceller left of it.

    Frames have 10 ms; `delay` is how many samples the canceller's output is late.
    """

    __slots__ = ("_delayed", "_echo_db", "_far_db", "_first_db", "_hang", "_loud", "_share")

    def __init__(self, delay: int) -> None:
        self._delayed = np.zeros(delay, np.float32)
        self._far_db: deque[float] = deque(maxlen=REACH_FRAMES)
        self._first_db: list[float] = []
        self._echo_db: float | None = None
        """Level of the echo's loud frames, relative to what is played; None: not known."""
        self._loud = self._hang = 0
        self._share = 0.0
        """Share of the microphone in the newest frame."""

    def frame(self, near: Samples, clean: Samples, far: Samples) -> Samples:
        """Return the next frame."""
        sound = np.concatenate([self._delayed, near])
        raw, self._delayed = sound[: len(near)], sound[len(near) :]
        self._far_db.append(_level_db(far))
        share = float(self._has_user(_level_db(near), max(self._far_db)))
        before, self._share = self._share, share
        if not share and not before:
            return clean
        shares = np.linspace(before, share, len(near), dtype=np.float32)
        return np.rint(raw * shares + clean * (1 - shares)).astype(np.int16)

    def _has_user(self, near_db: float, far_db: float) -> bool:
        if far_db < _SILENT_DB:
            self._loud = self._hang = 0
            return False
        relative_db = near_db - far_db
        if self._echo_db is None:
            self._first_db.append(relative_db)
            if len(self._first_db) == FIRST_FRAMES:
                self._echo_db = float(np.percentile(self._first_db, LOUDEST))
            return False
        self._loud = self._loud + 1 if relative_db > self._echo_db + OVER_DB else 0
        self._echo_db += RISE_DB if relative_db > self._echo_db else -FALL_DB
        if self._loud >= BEGIN_FRAMES:
            self._hang = HANG_FRAMES
        elif self._hang:
            self._hang -= 1
        return self._hang > 0


def _level_db(frame: Samples) -> float:
    samples = frame.astype(np.float32)
    return float(10 * np.log10(np.dot(samples, samples) / max(1, len(frame)) / 32768.0**2 + 1e-10))
