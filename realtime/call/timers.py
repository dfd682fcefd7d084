"""Named timers of one owner."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Timers:
    """Timers by name, on the running loop. Setting one replaces the one of that name."""

    __slots__ = ("_handles",)

    def __init__(self) -> None:
        self._handles: dict[str, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._handles)

    def __contains__(self, name: str) -> bool:
        return name in self._handles

    def after(self, name: str, delay_s: float, act: Callable[[], None]) -> None:
        """Call `act` in `delay_s` seconds."""
        self.cancel(name)

        def fire() -> None:
            del self._handles[name]
            act()

        self._handles[name] = asyncio.get_running_loop().call_later(delay_s, fire)

    def cancel(self, name: str) -> None:
        """Cancel the timer of this name; does nothing where there is none."""
        timer = self._handles.pop(name, None)
        if timer is not None:
            timer.cancel()

    def close(self) -> None:
        """Cancel all."""
        for name in [*self._handles]:
            self.cancel(name)
