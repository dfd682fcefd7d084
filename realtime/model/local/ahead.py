"""Hold back turns that arrive at once; each waits until the previous response was played. Time is an argument."""

from __future__ import annotations

from collections import deque

from realtime.model.local.ears import Ended, Heard, Started

_AT_ONCE_S = 0.05
"""Speech this soon after a turn was recorded with it, not after."""


class TurnsAhead:
    """The events of turns that wait. A live voice ends all waiting: it interrupts."""

    def __init__(self) -> None:
        self._waiting: deque[Heard] = deque()
        self._is_open = False
        """Whether the current turn waits."""
        self._ended_s: float | None = None
        self._began_s = 0.0

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def take(self, heard: Heard, now_s: float, *, unplayed: bool) -> list[Heard]:
        """Take an event; returns the events that are due, in order.

        `unplayed`: the response so far was not played whole.
        """
        if isinstance(heard, Started):
            self._is_open = (
                (unplayed or bool(self)) and self._ended_s is not None and now_s - self._ended_s < _AT_ONCE_S
            )
            self._began_s = now_s
        waits = self._is_open
        if isinstance(heard, Ended):
            self._ended_s = now_s
            self._is_open = False
        if not waits:
            return [*self.all(), heard]
        self._waiting.append(heard)
        return []

    def live(self, now_s: float) -> list[Heard]:
        """Return the events that are due while audio arrives: an open turn that lasts is spoken live."""
        return self.all() if self._is_open and now_s - self._began_s >= _AT_ONCE_S else []

    def next_turn(self) -> list[Heard]:
        """Return the events of the first waiting turn."""
        turn: list[Heard] = []
        while self._waiting and not (turn and isinstance(turn[-1], Ended)):
            turn.append(self._waiting.popleft())
        if not self._waiting:
            self._is_open = False
        return turn

    def clear(self) -> None:
        """Drop the waiting turn after the client cleared its audio."""
        while self._is_open and self._waiting:
            self._is_open = not isinstance(self._waiting.pop(), Started)

    def all(self) -> list[Heard]:
        """Return all waiting events and stop waiting."""
        everything = [*self._waiting]
        self._waiting.clear()
        self._is_open = False
        return everything
