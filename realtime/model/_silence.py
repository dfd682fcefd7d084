"""Notices a silent provider that owes a response.

It needs no task, and reads no clock per frame.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from realtime.turn.responses import ServiceLedger

_LOOKS = 2
"""This many looks without a frame in between make a silence."""


class SilenceWatch:
    """Calls `on_silence` when a provider that owes a response sends nothing.

    That is once nothing was received for `silence_s` (or up to half as much longer) while `ledger` says that a response
    is owed. Nothing runs while none is.
    """

    __slots__ = ("_every_s", "_ledger", "_looks", "_on_silence", "_timer", "heard")

    def __init__(self, silence_s: float, ledger: ServiceLedger, on_silence: Callable[[], None]) -> None:
        self._every_s = silence_s / _LOOKS
        self._ledger = ledger
        self._on_silence = on_silence
        self._looks = 0
        self._timer: asyncio.TimerHandle | None = None
        self.heard = False
        """Set it with every frame."""

    def start(self) -> None:
        """Watch until nothing is owed."""
        if self._timer is None:
            self._looks = 0
            self._look_later()

    def stop(self) -> None:
        """Stop watching, and release the callback."""
        self._on_silence = _ignore
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look_later(self) -> None:
        self.heard = False
        self._timer = asyncio.get_running_loop().call_later(self._every_s, self._look)

    def _look(self) -> None:
        self._timer = None
        self._looks = 0 if self.heard else self._looks + 1
        if self._ledger.is_owed and self._looks >= _LOOKS:
            self._on_silence()
        elif self._ledger.is_owed:
            self._look_later()


def _ignore() -> None:
    return
