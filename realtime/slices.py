"""Runs bursts of work in slices of milliseconds per event-loop turn.

So no burst keeps others waiting. All sockets of a loop share one budget per turn and take turns with it: many bursts at
once delay the other calls no more than one does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from realtime.runtime import Runtime

SLICE_S = 0.003
"""Seconds per turn for all bursts together. A step is never interrupted, so each one has to be short."""

Steps = Iterator[None]


class Slices:
    """The bursts of one event loop. `stopwatch` returns seconds of real time."""

    __slots__ = ("_ends_s", "_loop", "_scheduled", "_stopwatch", "_waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop, stopwatch: Callable[[], float]) -> None:
        self._loop = loop
        self._stopwatch = stopwatch
        self._waiting: deque[tuple[Steps, asyncio.Future[None]]] = deque()
        self._ends_s = 0.0
        self._scheduled = False

    def run(self, steps: Steps) -> asyncio.Future[None] | None:
        """Run the steps in order: as many as fit this turn now, the rest in later turns.

        Returns None if all have run, else a future that is done when they have; cancelling it drops the rest. An
        exception in a step ends them and is raised here or by the future.
        """
        if not self._waiting:
            if not self._scheduled:
                self._begin_turn()
            while self._stopwatch() < self._ends_s:
                if not _step(steps):
                    return None
        done: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append((steps, done))
        return done

    def _begin_turn(self) -> None:
        self._ends_s = self._stopwatch() + SLICE_S
        self._scheduled = True
        self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._scheduled = False
        if not self._waiting:
            return
        self._begin_turn()
        while self._waiting and self._stopwatch() < self._ends_s:
            steps, done = self._waiting.popleft()
            if done.cancelled():
                continue
            try:
                if _step(steps):
                    self._waiting.append((steps, done))
                    continue
            except Exception as error:
                done.set_exception(error)
            else:
                done.set_result(None)


def _step(steps: Steps) -> bool:
    """Run one step; False: there was none left."""
    try:
        next(steps)
    except StopIteration:
        return False
    return True


def slices_of(loop: asyncio.AbstractEventLoop, stopwatch: Callable[[], float] | None = None) -> Slices:
    """Return the slices that all sockets of the loop share.

    The first caller chooses the stopwatch (default: the real one).
    """
    # Kept by the loop itself: a table would keep every loop for ever, since its values would refer to their keys.
    owner: Any = loop
    found: Slices | None = getattr(owner, "realtime_slices", None)
    if found is None:
        found = owner.realtime_slices = Slices(loop, stopwatch or Runtime().stopwatch)
    return found
