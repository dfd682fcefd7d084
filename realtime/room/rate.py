"""How often one human may do something in a room."""

from __future__ import annotations

from realtime.errors import ClientError


class Rate:
    """A rate limit: `at_once` of `what`, then `per_s` each second on average.

    Time is an argument, in seconds.
    """

    def __init__(self, what: str, at_once: int, per_s: float) -> None:
        self._what = what
        self._at_once = at_once
        self._left = float(at_once)
        self._per_s = per_s
        self._at_s = 0.0

    def check(self, now: float) -> None:
        """Count one more. Raises ClientError where it comes too fast, and does not count it."""
        self._left = min(self._at_once, self._left + (now - self._at_s) * self._per_s)
        self._at_s = now
        if self._left < 1:
            message = f"more than {self._at_once} {self._what} at once, or {self._per_s:.0f} a second: wait a little"
            raise ClientError(message, code="too_fast", retryable=True)
        self._left -= 1
