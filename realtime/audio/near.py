"""Distinguish the near voice of a turn from quieter ones by level."""

from __future__ import annotations

import math
from bisect import insort
from collections import deque

import numpy as np

from realtime.audio.pcm import power_of
from realtime.audio.vad import FRAME_MS

MARGIN_DB = 11.5
"""How far a near voice falls below its usual level: the ends of long sentences do."""
OVER_GAPS_DB = 8.0
"""And this much louder than the gaps between its words: where others talk, they fill them."""
ALWAYS_NEAR_DB = 5.0
"""A voice less than this below the usual is always near."""
LEVEL_MS = 256
"""A level is that of the newest audio of this length: a syllable is too short to compare voices by."""
_FRAMES = LEVEL_MS // FRAME_MS
_USUAL = 0.9
"""The share of levels below that of the voice."""
_GAPS = 0.05
"""The share of frames that are gaps between words."""
_BEFORE_MS = 2_000
"""How much of what sounds before a turn is compared; with less than the next, nothing is."""
_LEAST_BEFORE_MS = 500
_USUAL_BEFORE = 0.75
"""The share of levels below that of the surroundings."""
STANDS_OUT_DB = 4.0
"""By how much a new voice exceeds the surroundings before the turn."""
_BUSY_DB = 21.0
"""Gaps less than this below the voice are filled by other sounds."""


class NearVoice:
    """The level of a stream and of its current turn's voice."""

    __slots__ = ("_before", "_before_db", "_frames_db", "_level_db", "_levels_db", "_powers")

    def __init__(self) -> None:
        self._powers: deque[float] = deque([0.0] * _FRAMES, _FRAMES)
        self._level_db = 0.0
        # The newest levels outside turns, and what they were before the current turn.
        self._before: deque[float] = deque(maxlen=_BEFORE_MS // FRAME_MS)
        self._before_db = math.inf
        # Of the turn, rising.
        self._levels_db: list[float] = []
        self._frames_db: list[float] = []

    def forget(self, begun: int = 0) -> None:
        """Forget the voice: another turn has begun, this many frames ago."""
        self._levels_db.clear()
        self._frames_db.clear()
        ranked = sorted([*self._before][: -begun - _FRAMES])
        is_known = len(ranked) * FRAME_MS >= _LEAST_BEFORE_MS
        self._before_db = ranked[int(len(ranked) * _USUAL_BEFORE)] if is_known else math.inf
        self._before.clear()

    def hear(self, frame: bytes) -> None:
        """Take the next frame of pcm16. Costs 5 us."""
        self._powers.append(power_of(frame))
        self._level_db = _db(sum(self._powers) / _FRAMES)

    def learn(self) -> None:
        """Count the newest frame as voice of the turn."""
        insort(self._levels_db, self._level_db)
        insort(self._frames_db, _db(self._powers[-1]))

    def wait(self) -> None:
        """Count the newest frame as one without a turn."""
        self._before.append(self._level_db)

    @property
    def stands_out(self) -> bool:
        """Whether the newest audio is louder than the surroundings before the turn.

        Then the voice may be that of the turn's speaker, whose first words were louder.
        """
        return self._level_db >= self._before_db + STANDS_OUT_DB

    @property
    def is_near(self) -> bool:
        """Whether the newest audio is as loud as the voice; True while that is unknown."""
        if not self._levels_db:
            return True
        usual_db = self._usual_db
        least_db = max(usual_db - MARGIN_DB, self._gaps_db + OVER_GAPS_DB)
        return self._level_db >= min(least_db, usual_db - ALWAYS_NEAR_DB)

    @property
    def is_busy(self) -> bool:
        """Whether other sounds fill the gaps between the words."""
        return bool(self._levels_db) and self._usual_db - self._gaps_db < _BUSY_DB

    @property
    def _usual_db(self) -> float:
        return self._levels_db[int(len(self._levels_db) * _USUAL)]

    @property
    def _gaps_db(self) -> float:
        return self._frames_db[int(len(self._frames_db) * _GAPS)]


def _db(power: float) -> float:
    return 10 * float(np.log10(power + 1))
