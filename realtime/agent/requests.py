"""The responses that a model was asked for and has not begun. Pure: time is an argument, in monotonic seconds.

A model answers requests in their order and names none of them, so what it begins belongs to the one that waits longest,
also where that one is not wanted any more. One that it never answers would shift all others for ever: it expires.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

UNANSWERED_S = 15.0
"""A model that has not begun to answer by then is taken to have lost the request, once it was asked again: what it
begins then is the answer to that. Rooms wait a little longer for an agent, so that the next answer is not lost too."""


@dataclass(slots=True)
class _Request:
    asked_at: float
    wanted: bool = True

    def is_unanswered(self, now: float) -> bool:
        return now - self.asked_at >= UNANSWERED_S


class Requests:
    """In order; those that are not wanted any more come first."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: deque[_Request] = deque()

    def ask(self, now: float) -> None:
        """The model was asked for a response."""
        self._waiting.append(_Request(now))

    @property
    def is_wanted(self) -> bool:
        """Whether a response is wanted, also one that will hardly come any more."""
        return bool(self._waiting) and self._waiting[-1].wanted

    def renounce(self) -> None:
        """None of them is wanted any more."""
        for request in self._waiting:
            request.wanted = False

    def renounce_unanswered(self, now: float) -> None:
        """Those that the model seems to have lost are not wanted any more."""
        for request in self._waiting:
            request.wanted = request.wanted and not request.is_unanswered(now)

    def clear(self) -> None:
        """None of them will be answered."""
        self._waiting.clear()

    def begin_unwanted(self, now: float) -> bool:
        """A response begins: whether it answers a request that is not wanted any more, which is settled by that."""
        while len(self._waiting) > 1 and self._waiting[0].is_unanswered(now):
            self._waiting.popleft()
        if self._waiting and not self._waiting[0].wanted:
            self._waiting.popleft()
            return True
        return False

    def begin_wanted(self) -> None:
        """A response begins that counts: it is the one that is awaited, if one is."""
        if self._waiting:
            self._waiting.popleft()

    def refuse_unwanted(self) -> bool:
        """The model refuses a request: whether it is one that is not wanted any more, which is settled by that."""
        if self._waiting and not self._waiting[0].wanted:
            self._waiting.popleft()
            return True
        return False

    def refuse_wanted(self) -> None:
        """The model refuses a request that is wanted."""
        self._waiting.pop()
