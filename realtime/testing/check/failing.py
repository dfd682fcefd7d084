"""Failures of checks: a sentence, and the timeline around the place."""

from __future__ import annotations


class CheckFailed(AssertionError):
    """A check does not hold. The text is the finding, then `details`, then the timeline around the places.

    `places_ms` are ms of the call, for other displays.
    """

    def __init__(self, finding: str, timeline: str, places_ms: tuple[float, ...], details: str = "") -> None:
        above = f"{finding}\n{details}" if details else finding
        super().__init__(f"{above}\n\n{timeline}")
        self.finding = finding
        self.details = details
        self.timeline = timeline
        self.places_ms = places_ms


class Fluent:
    """An object with checks. It has no truth value: `assert run.turns` must not pass by mistake."""

    def __bool__(self) -> bool:
        raise TypeError(f"{type(self).__name__} is neither true nor false: call its checks, which raise by themselves")


def counted(number: int, noun: str) -> str:
    """Format `1 turn`, `2 turns`."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"
