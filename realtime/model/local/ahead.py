"""Turns that arrive at once, one behind the other: each waits until the answer before it was heard. Time comes in."""

from __future__ import annotations

from collections import deque

from realtime.model.local.ears import Ended, Heard, Started

_AT_ONCE_S = 0.05
"""Speech that comes so soon after the end of the turn before was not spoken after it: both were recorded by then."""


class TurnsAhead:
    """What was heard of turns whose time has not come. A voice that is heard live ends all waiting: it interrupts."""

    def __init__(self) -> None:
        self._waiting: deque[Heard] = deque()
        self._is_open = False
        """The turn that is heard now waits."""
        self._ended_s: float | None = None
        self._began_s = 0.0

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def take(self, heard: Heard, now_s: float, *, unheard: bool) -> list[Heard]:
        """What is to be done now that this was heard, in order. `unheard`: the answer so far was not heard whole."""
        if isinstance(heard, Started):
            self._is_open = (unheard or bool(self)) and self._ended_s is not None and now_s - self._ended_s < _AT_ONCE_S
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
        """The same as audio goes on: a turn that has begun ahead of its time and does not end is spoken now."""
        return self.all() if self._is_open and now_s - self._began_s >= _AT_ONCE_S else []

    def next_turn(self) -> list[Heard]:
        """The first turn that waits: its time has come."""
        turn: list[Heard] = []
        while self._waiting and not (turn and isinstance(turn[-1], Ended)):
            turn.append(self._waiting.popleft())
        if not self._waiting:
            self._is_open = False
        return turn

    def clear(self) -> None:
        """Forget the turn that is heard now, where it waits: the client took it back."""
        while self._is_open and self._waiting:
            self._is_open = not isinstance(self._waiting.pop(), Started)

    def all(self) -> list[Heard]:
        """All of them."""
        everything = [*self._waiting]
        self._waiting.clear()
        self._is_open = False
        return everything
