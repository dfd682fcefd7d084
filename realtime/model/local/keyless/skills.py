"""The built-in tools: plain functions for a toolkit, which reads signatures and docstrings."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from typing import Any

from realtime.model.local.keyless.arithmetic import evaluate, say_number

LONGEST_TIMER_S = 24 * 3600


def make_skills(
    wall_now: Callable[[], float],
    *,
    zone: tzinfo | None = None,
    on_timer: Callable[[float], None] | None = None,
) -> list[Callable[..., Any]]:
    """Make the built-in tools: `get_time`, `get_date`, `calculate` and, with `on_timer`, `set_timer`.

    `wall_now` returns seconds since the epoch; `zone` is the user's time zone (default: the server's).
    `on_timer(seconds)` is called when the user asks for a timer, and its owner announces the end; without it there is
    no `set_timer`, since that timer could not ring.
    """

    def local() -> datetime:
        return datetime.fromtimestamp(wall_now(), UTC).astimezone(zone)

    def get_time() -> str:
        """Tell the time of day, e.g. "3:45 PM"."""
        return local().strftime("%I:%M %p").lstrip("0")

    def get_date() -> str:
        """Tell today's date with the day of the week, e.g. "Saturday, November 21, 2026"."""
        today = local()
        return f"{today:%A}, {today:%B} {today.day}, {today.year}"

    def calculate(expression: str) -> str:
        """Work out a sum.

        Args:
            expression: Numbers with plus, minus, times, divided by, percent, powers, roots; signs or English words.
        """
        try:
            return say_number(evaluate(expression))
        except ValueError as error:
            return str(error)

    def set_timer(seconds: float) -> str:
        """Set a timer; its end is announced by voice.

        Args:
            seconds: How long from now, at most a day.
        """
        if not 0 < seconds <= LONGEST_TIMER_S:
            return "A timer can run for a day at most."
        if on_timer is not None:
            on_timer(seconds)
        return f"Your timer is set for {say_duration(seconds)}."

    skills: list[Callable[..., Any]] = [get_time, get_date, calculate]
    return [*skills, set_timer] if on_timer is not None else skills


def say_duration(seconds: float) -> str:
    """Write a duration in words, to the second: "1 hour and 30 minutes"."""
    left = max(1, round(seconds))
    parts = []
    for name, size in (("hour", 3600), ("minute", 60), ("second", 1)):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {name}" + ("s" if count > 1 else ""))
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
