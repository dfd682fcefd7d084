"""The responses that a model was asked for and has not begun. Pure: time is an argument, in monotonic seconds.

A model answers requests in their order and names none of them, so what it begins belongs to the one that waits longest,
also where that one is not wanted any more. One that it never answers would shift all others for ever: it is passed over
once it is taken to be lost, by its age or because a room has given up. It may be late all the same: then it is what
begins when nothing else is awaited.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

UNANSWERED_S = 60.0
"""A model that has not begun to answer by then is taken to have lost the request, once it was asked again: what it
begins then is the answer to that. Slow models have begun by then, at their first answer too."""
GIVEN_UP_S = 15.0
"""A request that is younger when a room turns away from the agent is slow and not lost. Rooms wait a little longer
before they give up."""
FORGOTTEN_S = 2 * UNANSWERED_S
"""What begins so long after a request that was passed over is not the answer to it any more."""


@dataclass(slots=True)
class Request:
    """One that the model has not begun to answer. `metadata` is what the client gave with it."""

    asked_at: float
    metadata: dict[str, Any] | None = None
    wanted: bool = True
    lost: bool = False
    """Passed over while another one waits. Never wanted."""

    def lose(self) -> None:
        self.wanted, self.lost = False, True


class Requests:
    """In order; those that are not wanted any more come first."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[Request] = []

    def ask(self, now: float, metadata: dict[str, Any] | None = None) -> None:
        """The model was asked for a response."""
        self._waiting.append(Request(now, metadata))

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
            request.wanted = request.wanted and now - request.asked_at < UNANSWERED_S

    def give_up(self, now: float) -> None:
        """A room waits no longer: those that are not just slow are lost."""
        for request in self._waiting:
            if now - request.asked_at >= GIVEN_UP_S:
                request.lose()

    def clear(self) -> None:
        """None of them will be answered."""
        self._waiting.clear()

    def settle_unwanted(self, now: float) -> Request | None:
        """A response begins or is refused: the request that it belongs to, if that is not wanted any more. It is
        settled by that."""
        for request in self._waiting[:-1]:
            if now - request.asked_at >= UNANSWERED_S:
                request.lose()
        self._waiting = [one for one in self._waiting if not (one.lost and now - one.asked_at >= FORGOTTEN_S)]
        place = next((place for place, one in enumerate(self._waiting) if not one.lost), 0)
        if not self._waiting or self._waiting[place].wanted:
            return None
        return self._waiting.pop(place)

    def settle_wanted(self) -> Request | None:
        """A response begins that counts, or a wanted one is refused: the one that is awaited, if one is."""
        place = next((place for place, one in enumerate(self._waiting) if one.wanted), None)
        return None if place is None else self._waiting.pop(place)
