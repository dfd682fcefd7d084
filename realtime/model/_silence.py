"""A provider that owes an answer and says nothing at all: noticed without a task and without a clock per frame."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_LOOKS = 2
"""So many looks without a frame in between make the silence."""


class SilenceWatch:
    """Calls `on_silence` once nothing was received for `silence_s` (or up to half as much longer) while something is
    owed. Nothing runs while nothing is owed."""

    __slots__ = ("_every_s", "_looks", "_on_silence", "_owed", "_timer", "heard")

    def __init__(self, silence_s: float, on_silence: Callable[[], None]) -> None:
        self._every_s = silence_s / _LOOKS
        self._on_silence = on_silence
        self._owed: set[str] = set()
        self._looks = 0
        self._timer: asyncio.TimerHandle | None = None
        self.heard = False
        """Set it with every frame."""

    def owe(self, what: str) -> None:
        """An answer has to come."""
        self._owed.add(what)
        if self._timer is None:
            self._looks = 0
            self._look_later()

    def settle(self, what: str) -> None:
        """It came, or will not."""
        self._owed.discard(what)

    def stop(self) -> None:
        """Watch no longer, and part from whoever wanted to know."""
        self._owed.clear()
        self._on_silence = _nobody
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look_later(self) -> None:
        self.heard = False
        self._timer = asyncio.get_running_loop().call_later(self._every_s, self._look)

    def _look(self) -> None:
        self._timer = None
        self._looks = 0 if self.heard else self._looks + 1
        if self._owed and self._looks >= _LOOKS:
            self._on_silence()
        elif self._owed:
            self._look_later()


def _nobody() -> None:
    return
