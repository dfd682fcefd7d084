"""An asyncio event loop in virtual time: an hour of waiting takes no time, and every run is the same.

The clock of a `VirtualLoop` starts at 0 and moves only when nothing else can run: then it jumps to the next timer.
Everything built on `loop.time`, `call_later` and `call_at` follows: `asyncio.sleep`, `timeout`, `wait_for`, queues.

- Times are whole nanoseconds, so 0.1 s + 0.2 s and 0.3 s are one instant. Timers of one instant run in the order they
  were scheduled (asyncio itself promises no order).
- Executor jobs run on the loop's own thread, no thread is ever started. Each executor works on one job at a time in the
  order of submission; a job's result arrives after the virtual cost declared for it.
- A wait that can never end is an error that names the waiting tasks (`DeadlockError`), not a hang.
- Sockets work, at the pace of the real world: while any is registered, the loop really waits for it, at most until the
  next timer, and the clock moves on by the time waited. Nothing is deterministic then: avoid sockets.

Threads that call `call_soon_threadsafe` and subprocesses are not waited for: a loop that only waits for these is taken
for a deadlock.
"""

from __future__ import annotations

import asyncio
import math
import os
import selectors
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Executor
from contextvars import Context
from functools import partial
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

Cost = float | Callable[..., float]
"""What a job costs in virtual seconds; a callable gets the job's arguments, as in `lambda text: 0.01 * len(text)`."""

EPOCH_S = 1_767_225_600.0
"""Where `wall_now` starts: 2026-01-01T00:00:00Z, in Unix seconds."""

LIMIT_S = 86_400.0
"""The virtual time after which a loop gives up: a test that is stuck beside a heartbeat must end, too."""

_ASYNCIO_FOLDER = os.path.dirname(asyncio.__file__)


class DeadlockError(RuntimeError):
    """The test waits for something that will never happen; the text names the pending tasks and where they wait."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer when nothing else can run.

    `costs` maps executor jobs to their cost, as `declare_cost` does. `epoch_s` is the Unix time at which the clock
    reads 0. `limit_s` is the virtual time the loop may reach before it raises `DeadlockError`.
    """

    def __init__(
        self, *, costs: Mapping[Any, Cost] | None = None, epoch_s: float = EPOCH_S, limit_s: float = LIMIT_S
    ) -> None:
        self._now_ns = 0
        self._epoch_s = epoch_s
        self._limit_s = self._patience_s = limit_s
        self._timers_made = 0
        self._settling: list[asyncio.Future[None]] = []
        self._costs: dict[Any, Cost] = {}
        self._workers: dict[Executor | None, _Worker] = {}
        selector = _Selector(self)
        super().__init__(selector)
        selector.count_own()
        # asyncio runs timers this much early; its default is the real clock's step, 16 ms on Windows.
        self._clock_resolution = 1e-9
        for job, cost in (costs or {}).items():
            self.declare_cost(job, cost)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._now_ns / 1e9

    def wall_now(self) -> float:
        """The wall clock that belongs to this loop: a fixed epoch plus the virtual time, in Unix seconds."""
        return self._epoch_s + self.time()

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run `callback` at virtual time `when`. At infinity it never runs and nothing waits for it."""
        if when == math.inf:
            return asyncio.TimerHandle(when, callback, args, self, context)
        self._timers_made += 1
        return super().call_at(_When(round(when * 1e9) / 1e9, self._timers_made), callback, *args, context=context)

    async def settle(self) -> None:
        """Wait until no other task can run at this instant; no time passes. The way to wait without sleeping."""
        waiter: asyncio.Future[None] = self.create_future()
        self._settling.append(waiter)
        await waiter

    def declare_cost(self, job: Callable[..., object] | str, seconds: Cost) -> None:
        """Let each later run of `job` in an executor take `seconds` of virtual time; undeclared jobs take none.

        `job` is the function, the bound method, the method as it stands in its class, or its name or qualified name.
        Raises `ValueError` for a negative cost.
        """
        if not callable(seconds) and seconds < 0:
            raise ValueError(f"a job cannot cost {seconds} s")
        self._costs[job] = seconds

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Run `func(*args)` on this thread as soon as `executor` has done its earlier jobs; nothing is submitted to it.

        The result arrives when the declared cost has passed. Cancelling the future before the job has begun prevents
        it; later, only the result is lost and the executor stays busy, as with a real thread.
        """
        worker = self._workers.setdefault(executor, _Worker(self))
        future: asyncio.Future[T] = self.create_future()
        worker.submit(partial(func, *args), future)
        return future

    def _cost_of(self, job: partial[Any]) -> float:
        for key in _names_of(job.func):
            cost = self._costs.get(key)
            if cost is not None:
                return cost(*job.args, **job.keywords) if callable(cost) else cost
        return 0.0

    def _wake_settling(self) -> bool:
        woken = [waiter for waiter in self._settling if not waiter.done()]
        self._settling.clear()
        for waiter in woken:
            waiter.set_result(None)
        return bool(woken)

    def _advance(self, seconds: float) -> None:
        self._now_ns += round(seconds * 1e9)
        if self.time() > self._limit_s:
            passed_s = self._limit_s
            self._limit_s += self._patience_s  # so that the cleaning up after this error can still use timers
            raise DeadlockError(
                f"{passed_s:g} s of virtual time have passed and the test has not ended; {self._pending()}"
            )

    def _pending(self) -> str:
        lines = sorted(_describe(task) for task in asyncio.all_tasks(self))
        return "pending tasks are\n" + "\n".join(f"  {line}" for line in lines) if lines else "no task is pending"


class _Selector(selectors.DefaultSelector):
    """Stands where asyncio waits. It is asked to wait only when no callback is ready: the moment to move the clock."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop
        self._own = 0

    def count_own(self) -> None:
        """Take what is registered now (the loop's self-pipe) for the loop's own, not for something to wait for."""
        self._own = len(self.get_map())

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if events or (timeout is not None and timeout <= 0) or self._loop._wake_settling():
            return events
        if len(self.get_map()) > self._own:
            began_s = time.monotonic()
            events = super().select(timeout)
            waited_s = time.monotonic() - began_s
            self._loop._advance(waited_s if timeout is None else min(waited_s, timeout) if events else timeout)
            return events
        if timeout is None:
            raise DeadlockError(f"the test waits for something that will never happen: {self._loop._pending()}")
        self._loop._advance(timeout)
        return events


class _When(float):
    """The time of a timer, in seconds. The order of scheduling breaks ties, in asyncio's heap of timers too."""

    __slots__ = ("_order",)
    _order: int

    def __new__(cls, when: float, order: int) -> _When:
        self = super().__new__(cls, when)
        self._order = order
        return self

    def __lt__(self, other: float) -> bool:
        if isinstance(other, _When) and self == other:
            return self._order < other._order
        return float(self) < other


class _Worker:
    """One executor: runs its jobs one at a time in the order of submission, each for as long as it costs."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._jobs: deque[tuple[partial[Any], asyncio.Future[Any]]] = deque()
        self._busy = False

    def submit(self, job: partial[Any], future: asyncio.Future[Any]) -> None:
        self._jobs.append((job, future))
        if not self._busy:
            self._begin_next()

    def _begin_next(self) -> None:
        self._busy = False
        while self._jobs and not self._busy:
            job, future = self._jobs.popleft()
            if not future.cancelled():
                self._busy = True
                self._run(job, future)

    def _run(self, job: partial[Any], future: asyncio.Future[Any]) -> None:
        deliver: Callable[[], None]
        cost_s = self._loop._cost_of(job)
        try:
            deliver = partial(future.set_result, job())
        except Exception as error:
            deliver = partial(future.set_exception, error)
        self._loop.call_later(cost_s, self._finish, future, deliver)

    def _finish(self, future: asyncio.Future[Any], deliver: Callable[[], None]) -> None:
        if not future.done():
            deliver()
        self._begin_next()


def run(main: Coroutine[Any, Any, T], *, costs: Mapping[Any, Cost] | None = None) -> T:
    """`asyncio.run` in virtual time: run `main` on a new `VirtualLoop`, cancel what is left, return the result."""
    with asyncio.Runner(loop_factory=partial(VirtualLoop, costs=costs)) as runner:
        return runner.run(main)


def _names_of(func: Callable[..., object]) -> Iterator[object]:
    """All a job can be declared by, the most exact first."""
    yield func
    for attribute in ("__func__", "__qualname__", "__name__"):
        name = getattr(func, attribute, None)
        if name is not None:
            yield name


def _describe(task: asyncio.Task[Any]) -> str:
    """The task's name, its coroutine, and the innermost place outside asyncio where it waits."""
    place = "not started"
    coro: Any = task.get_coro()
    title = getattr(coro, "__qualname__", repr(coro))
    while (frame := getattr(coro, "cr_frame", None)) is not None:
        if not frame.f_code.co_filename.startswith(_ASYNCIO_FOLDER):
            place = f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
        coro = coro.cr_await
    return f"{task.get_name()} ({title}): {place}"
