"""Whether the microphone hears the reply: looks during the first seconds of replies, and what voices over them show."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from realtime.audio import echo
from realtime.audio.echo import EchoMeter
from realtime.audio.far_end import FarEnd
from realtime.audio.pcm import power_of
from realtime.audio.resample import resampled
from realtime.turn.interruption import ECHO

Raw = Callable[[int], tuple[bytes, int]]
"""Returns this many ms of the microphone, and its rate in Hz."""
PATH_MS = 500
"""The longest way from the played position to the microphone."""
LOOK_MS = 800
"""Audio of the user in one look, whose envelope is compared first."""
COMPARED_MS = 600
"""The newest part of it, whose likeness may be measured."""
EVERY_MS = 500
"""Time between two looks; each takes some 4 ms."""
MOST_LOOKS = 20
"""Looks of a call: 10 s of speech. From then on only voices over replies are compared."""
ENOUGH_HITS = 3
"""Of the latest looks, those that find the reply: then the microphone hears it."""
LATEST = 5
SETTLING_MS = 5_000
"""How long a new canceller leaves parts of the echo.

They are unlike what was played.
"""
LITTLE_DB, REMOVED_DB = 3.0, 10.0
"""A sound like the reply, lowered by less or more: an echo.

With a user in it, who is not removed, it is lowered by something between.
"""


class EchoWatch:
    """Compares the user's sound with what is played; calls `found` once, when the microphone surely hears the reply.

    `raw` is the microphone before an echo is removed. Positions are ms of the client's audio.
    """

    __slots__ = (
        *("_found", "_is_told", "_latest", "_looked_ms", "_looks", "_meter", "_raw", "_raw_meter", "_settled_ms"),
        "seen",
    )

    def __init__(self, found: Callable[[], None] = lambda: None, raw: Raw | None = None) -> None:
        self._found = found
        self._raw = raw
        self._meter, self._raw_meter = EchoMeter(), EchoMeter()
        self._is_told = False
        self._latest: deque[bool] = deque(maxlen=LATEST)
        self._looked_ms = 0
        self._looks = 0
        self._settled_ms: int | None = None
        """Where a canceller that removes the echo has settled; None: none does."""
        self.seen = False
        """Whether the reply was found in the microphone at all."""

    def is_due(self, position_ms: int) -> bool:
        """Whether to look again, if a reply is played."""
        return self._looks < MOST_LOOKS and position_ms - self._looked_ms >= EVERY_MS

    def look(self, position_ms: int, near: bytes, rate_hz: int, far_end: FarEnd) -> None:
        """Compare the user's newest :data:`LOOK_MS` with what was played: no voice sounds."""
        envelope = echo.envelope(near, rate_hz)
        if echo.is_steady(envelope):
            self._looked_ms = position_ms  # Only the room's noise: nothing can be measured, and nothing is.
            return
        self._looks += 1
        played = far_end.newest(LOOK_MS + PATH_MS)
        if echo.rises_alike(envelope, echo.envelope(played, far_end.rate_hz)):
            self.compare(position_ms, near[-COMPARED_MS * rate_hz // 500 :], rate_hz, far_end)
        else:
            self.take(position_ms, 0.0)

    def compare(self, position_ms: int, near: bytes, rate_hz: int, far_end: FarEnd) -> float | None:
        """Return how much of the user's newest audio is an echo: 0 to 1; None if that cannot be measured.

        What a canceller leaves of an echo need not be like it: then the microphone's own sound decides, if most of it
        or nearly nothing of it is gone, or the canceller has just begun.
        """
        likeness = _likeness(self._meter, near, rate_hz, far_end)
        if (likeness or 0.0) < ECHO and self._raw is not None and self._settled_ms is not None:
            raw, raw_hz = self._raw(len(near) * 500 // rate_hz)
            if position_ms < self._settled_ms or not LITTLE_DB <= _level_db(raw) - _level_db(near) < REMOVED_DB:
                of_raw = _likeness(self._raw_meter, raw, raw_hz, far_end)
                likeness = likeness if of_raw is None else max(likeness or 0.0, of_raw)
        if likeness is not None:
            self.take(position_ms, likeness)
        return likeness

    def take(self, position_ms: int, likeness: float) -> None:
        """Take the likeness of the newest audio; of those that follow too soon, nothing is new."""
        self.seen = self.seen or likeness >= ECHO
        if position_ms - self._looked_ms < EVERY_MS:
            return
        self._looked_ms = position_ms
        self._latest.append(likeness >= ECHO)
        if not self._is_told and sum(self._latest) >= ENOUGH_HITS:
            self._is_told = True
            self._found()

    def cancels_from(self, position_ms: int) -> None:
        """The echo is removed from here on."""
        self._settled_ms = position_ms + SETTLING_MS

    def contradict(self) -> None:
        """A voice over the reply was the user's: begin to count again."""
        self._latest.clear()


def _likeness(meter: EchoMeter, near: bytes, rate_hz: int, far_end: FarEnd) -> float | None:
    """Return how much of the user's newest audio was played (see `EchoMeter`)."""
    length_ms = len(near) * 500 // rate_hz
    played = resampled(far_end.newest(length_ms + PATH_MS), far_end.rate_hz, echo.RATE_HZ)
    return meter.likeness(resampled(near, rate_hz, echo.RATE_HZ), played)


def _level_db(pcm: bytes) -> float:
    return 10 * float(np.log10(power_of(pcm) + 1.0))
