"""Whether the microphone hears the reply: looks during the first seconds of replies, and what voices over them show."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from realtime.audio import echo
from realtime.audio.far_end import FarEnd
from realtime.audio.resample import resampled
from realtime.turn.interruption import ECHO

PATH_MS = 500
"""The longest way from the played position to the microphone."""
LOOK_MS = 600
"""Audio of the user in one look."""
EVERY_MS = 500
"""Time between two looks; each takes some 4 ms."""
MOST_LOOKS = 20
"""Looks of a call: 10 s of speech. From then on only voices over replies are compared."""
ENOUGH_HITS = 3
"""Of the latest looks, those that find the reply: then the microphone hears it."""
LATEST = 5
SETTLING_MS = 1_000
"""A new canceller leaves parts of the echo: unlike what was played."""
KNOWN_AFTER = 4
"""After so many looks without an echo there is none."""


def likeness_to_played(near: bytes, rate_hz: int, far_end: FarEnd) -> float:
    """Return how much of the user's newest audio was played (see `echo.likeness`)."""
    length_ms = len(near) * 500 // rate_hz
    played = resampled(far_end.newest(length_ms + PATH_MS), far_end.rate_hz, echo.RATE_HZ)
    return echo.likeness(resampled(near, rate_hz, echo.RATE_HZ), played)


class EchoWatch:
    """Counts how often the reply was found in the microphone; calls `found` once, when that is certain.

    Positions are ms of the client's audio.
    """

    __slots__ = ("_found", "_is_told", "_latest", "_looked_ms", "_looks", "_settled_ms", "seen")

    def __init__(self, found: Callable[[], None]) -> None:
        self._found = found
        self._is_told = False
        self._latest: deque[bool] = deque(maxlen=LATEST)
        self._looked_ms = 0
        self._looks = 0
        self._settled_ms = 0
        self.seen = False
        """Whether the reply was found in the microphone at all."""

    @property
    def may_echo(self) -> bool:
        """Whether a voice may be an echo: one was found, or too little is known."""
        return self.seen or self._looks < KNOWN_AFTER

    def is_due(self, position_ms: int) -> bool:
        """Whether to look again, if a reply is played."""
        return self._looks < MOST_LOOKS and position_ms - self._looked_ms >= EVERY_MS

    def look(self, position_ms: int, near: bytes, rate_hz: int, far_end: FarEnd) -> None:
        """Compare the user's newest audio with what was played."""
        self._looks += 1
        self.take(position_ms, likeness_to_played(near, rate_hz, far_end))

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

    def is_settling(self, position_ms: int) -> bool:
        """Whether all of a voice still counts as echo: its removal has just begun."""
        return position_ms < self._settled_ms

    def contradict(self) -> None:
        """A voice over the reply was the user's: begin to count again."""
        self._latest.clear()
