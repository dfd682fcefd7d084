"""Real work in virtual time: what is in flight, and what it costs when it has ended (see `clock`)."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from types import TracebackType

REAL_LIMIT_S = 30.0
"""Real seconds after which real work counts as stuck."""

real_now_s = time.monotonic  # bound here, so that no guard comes between the loop and the real clock


class Works:
    """The real work of one loop: in flight, or ended and not charged yet."""

    def __init__(self) -> None:
        self.in_flight: dict[RealWork, None] = {}
        self.ended: list[RealWork] = []
        self._orders = 0

    def next_order(self) -> int:
        """Return the next number in the order of timers and works."""
        self._orders += 1
        return self._orders

    def take_ended(self) -> list[RealWork]:
        """Return the ended work in starting order, not in order of ends."""
        ended = sorted(self.ended, key=lambda work: work.order)
        self.ended.clear()
        return ended

    def overdue(self) -> RealWork | None:
        """Return work that has exceeded its real-time limit; grant it the limit again.

        So cleaning up after the error can still wait for it.
        """
        now_s = real_now_s()
        for work in self.in_flight:
            if now_s >= work.deadline_s:
                work.deadline_s = now_s + work.limit_s
                return work
        return None

    def time_left_s(self) -> float:
        """Return real seconds until the first work in flight exceeds its limit."""
        return min(work.deadline_s for work in self.in_flight) - real_now_s()


class RealWork:
    """Work of the real world, entered by `async with` around its awaits.

    While it is in flight the clock stands still: other tasks of the same instant run, timers do not. When it has ended
    and nothing else can run at this instant, the time `cost_s` passes, and only then the block is left. An exception
    leaves the block after its cost as well; cancelling leaves it at once. Work inside other real work belongs to that
    and costs nothing more. Sockets opened inside are waited for inside real work only.
    """

    def __init__(self, works: Works, cost_s: float, name: str, limit_s: float) -> None:
        if cost_s < 0:
            raise ValueError(f"{name} cannot cost {cost_s} s")
        self.cost_s = cost_s
        """Virtual seconds. May be set while the work is in flight, to a duration known only then."""
        self.name = name
        self.limit_s = limit_s
        self.deadline_s = math.inf
        self.order = 0
        self.deliver: Callable[[], object] = int
        self._works = works
        self._outer: RealWork | None = None

    @property
    def in_flight(self) -> bool:
        """Whether it, or work that contains it, is begun and not ended."""
        return self in self._works.in_flight or (self._outer is not None and self._outer.in_flight)

    def begin(self) -> None:
        """Stop the clock."""
        self.order = self._works.next_order()
        self.deadline_s = real_now_s() + self.limit_s
        self._works.in_flight[self] = None

    def end(self, deliver: Callable[[], object]) -> None:
        """Let the clock advance; call `deliver` when the cost has passed."""
        self.deliver = deliver
        del self._works.in_flight[self]
        self._works.ended.append(self)

    async def __aenter__(self) -> RealWork:
        self._outer = enter(self)
        if not self.in_flight:
            self.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        enter(self._outer)
        if self not in self._works.in_flight:
            return
        if kind is not None and not issubclass(kind, Exception):
            del self._works.in_flight[self]
            return
        charged: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.end(partial(resolve, charged))
        await charged


def resolve(future: asyncio.Future[None]) -> None:
    """Complete a future, unless it is done."""
    if not future.done():
        future.set_result(None)


_work: ContextVar[RealWork | None] = ContextVar("_work", default=None)


def in_real_work() -> bool:
    """Return whether the running code belongs to real work in flight."""
    work = _work.get()
    return work is not None and work.in_flight


def enter(work: RealWork | None) -> RealWork | None:
    """Make the running code belong to this work; return the one to which it belonged."""
    outer = _work.get()
    _work.set(work)
    return outer
