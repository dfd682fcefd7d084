"""Find where a sound begins, by its level: sooner than a detector finds a voice in it."""

from __future__ import annotations

import math

from realtime.audio.pcm import SAMPLE_BYTES, power_of

FRAME_MS = 40
RISE_DB = 10.0
"""A sound begins this far above what was there before: weak first consonants are."""
LEAST_DB = -50.0
"""Below this level, in dB below full scale, nothing begins."""
FLOOR_RISE_DB = 0.2
"""By how much the known floor rises in one frame: 5 dB in a second. It falls at once."""
IGNORED_OVER_DB = 3.0
"""How much louder than an ignored sound the next one is."""
IGNORED_FALL_DB = 0.04
"""By how much an ignored sound is forgotten in one frame: 1 dB in a second."""


class Onset:
    """Follows the level of a stream of pcm16."""

    __slots__ = ("_floor_db", "_ignored_db", "_level_db", "_rest")

    def __init__(self) -> None:
        self._rest = b""
        self._floor_db: float | None = None
        self._level_db = -100.0
        """The loudest frame since the last onset."""
        self._ignored_db = -100.0

    def hear(self, pcm: bytes, rate_hz: int) -> bool:
        """Take the next audio, of any length; return whether a sound begins in it. Costs 2 us per frame."""
        frame_bytes = rate_hz * FRAME_MS // 1000 * SAMPLE_BYTES
        pcm = self._rest + pcm
        begins = False
        for at in range(0, len(pcm) - frame_bytes + 1, frame_bytes):
            begins = self._begins(_level_db(pcm[at : at + frame_bytes])) or begins
        self._rest = pcm[len(pcm) // frame_bytes * frame_bytes :]
        return begins

    def ignore(self) -> None:
        """The sound since the last onset was no voice: for some time, one as loud is no onset."""
        self._ignored_db = self._level_db

    def _begins(self, level_db: float) -> bool:
        floor_db = level_db if self._floor_db is None else self._floor_db
        self._floor_db = min(level_db, floor_db + FLOOR_RISE_DB)
        self._ignored_db -= IGNORED_FALL_DB
        begins = level_db >= max(floor_db + RISE_DB, LEAST_DB, self._ignored_db + IGNORED_OVER_DB)
        self._level_db = level_db if begins else max(level_db, self._level_db)
        return begins


def _level_db(frame: bytes) -> float:
    return 10 * math.log10(power_of(frame) / 32768.0**2 + 1e-10)
