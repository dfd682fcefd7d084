"""An asyncio event loop in virtual time: waiting takes no time, every run is the same.

The clock of a `VirtualLoop` starts at 0 and moves only when nothing else can run: then it jumps to the next timer.
Everything built on `loop.time`, `call_later` and `call_at` follows: `asyncio.sleep`, `timeout`, `wait_for`, queues.

- Times are whole nanoseconds, so 0.1 s + 0.2 s and 0.3 s are one instant. Timers of one instant run in the order in
  which they were scheduled (asyncio itself promises no order).
- Executor jobs run on the loop's own thread; no thread is ever started. Each executor works on one job at a time in the
  order of submission; a job's result arrives after the virtual cost declared for it. So a job cannot wait for its loop:
  `run_coroutine_threadsafe(...).result()` is an error there, and needs a declared pool.
- A wait that can never end is an error that names the waiting tasks (`DeadlockError`), not a hang.
- Real work (a socket, a subprocess, a thread that answers through `call_soon_threadsafe`) is declared by
  `async with real_work(cost_s=0.2)` around the wait for it, or by `declare_pool` for an executor. While any is in
  flight the clock stands still; then each is charged its declared cost. So the clock and the order of events are the
  same each run, however long the work really took.
- Undeclared threads and subprocesses are not waited for: a loop that waits only for these counts as deadlocked. Sockets
  opened outside real work set the pace: the loop really waits for them, at most until the next timer, and the clock
  advances by the time waited. That is not deterministic; `realtime.testing.guard` forbids it.
"""

from __future__ import annotations

import asyncio
import math
import os
import selectors
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from contextvars import Context
from functools import partial
from typing import Any, TypeVar, TypeVarTuple

from realtime.options import checked
from realtime.testing.declared_work import REAL_LIMIT_S, RealWork, Works, enter, in_real_work, real_now_s, resolve

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

Cost = float | Callable[..., float]
"""The cost of a job in virtual seconds; a callable gets the job's arguments, as in `lambda text: 0.01 * len(text)`."""

EPOCH_S = 1_767_225_600.0
"""The start of `wall_now`: 2026-01-01T00:00:00Z, in Unix seconds."""

LIMIT_S = 86_400.0
"""The virtual time after which a loop gives up: a test that is stuck beside a heartbeat must end too."""

TURNS_LIMIT = 1_000_000
"""Maximum turns of a loop at one instant: otherwise polling without waiting would never end."""

_ASYNCIO_FOLDER = os.path.dirname(asyncio.__file__)


class DeadlockError(RuntimeError):
    """The test waits for something that will never happen; the text names the pending tasks and their places."""


class StuckWorkError(DeadlockError):
    """Real work exceeded its limit of real time; the text names it and the pending tasks."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer when idle.

    `costs` maps executor jobs to their cost, as `declare_cost` does. `epoch_s` is the Unix time at which the clock
    reads 0. `limit_s` is the virtual time the loop may reach before it raises `DeadlockError`.
    """

    def __init__(
        self, *, costs: Mapping[Any, Cost] | None = None, epoch_s: float = EPOCH_S, limit_s: float = LIMIT_S
    ) -> None:
        self._now_ns = 0
        self._epoch_s = epoch_s
        self._limit_s = self._patience_s = limit_s
        self._settling: list[asyncio.Future[None]] = []
        self._costs: dict[Any, Cost] = {}
        self._workers: dict[Executor | None, _Worker] = {}
        self._pools: dict[Executor | None, float] = {}
        self._works = Works()
        self._has_default_executor = False
        self._inline_on: int | None = None
        """The thread of the job that replaces the loop's turns, if any."""
        selector = _Selector(self)
        super().__init__(selector)
        selector.forget_own()
        # asyncio runs timers this much early; its default is the real clock's step, 16 ms on Windows.
        self._clock_resolution = 1e-9
        for job, cost in (costs or {}).items():
            self.declare_cost(job, cost)

    def time(self) -> float:
        """Return virtual seconds since the loop was made."""
        return self._now_ns / 1e9

    def wall_now(self) -> float:
        """Return this loop's wall clock in Unix seconds: a fixed epoch plus the virtual time."""
        return self._epoch_s + self.time()

    @staticmethod
    def cpu_s() -> float:
        """Return 0: work takes no virtual time, so none loads this loop (`realtime.runtime.cpu_s_of`)."""
        return 0.0

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run `callback` at virtual time `when`. At infinity it never runs and nothing waits for it."""
        if when == math.inf:
            return asyncio.TimerHandle(when, callback, args, self, context)
        return super().call_at(
            _When(round(when * 1e9) / 1e9, self._works.next_order()), callback, *args, context=context
        )

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """See asyncio. Callbacks from a job on this thread run once the job has ended."""
        if self._inline_on == threading.get_ident():
            for cell in getattr(callback, "__closure__", None) or ():
                if type(cell.cell_contents) is Future:  # of `run_coroutine_threadsafe`
                    cell.cell_contents.__class__ = _InlineFuture
        return super().call_soon_threadsafe(callback, *args, context=context)

    async def settle(self) -> None:
        """Wait until no other task can run at this instant; no time passes. Replaces sleeps in tests."""
        waiter: asyncio.Future[None] = self.create_future()
        self._settling.append(waiter)
        await waiter

    def declare_cost(self, job: Callable[..., object] | str, seconds: Cost) -> None:
        """Declare the virtual seconds that later executor runs of `job` take.

        Undeclared jobs take none. `job` is the function, the bound method, the method as defined in its class, or its
        name or qualified name. Raises `ValueError` for a negative cost.
        """
        if not callable(seconds) and seconds < 0:
            raise ValueError(f"a job cannot cost {seconds} s")
        self._costs[job] = seconds

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Run `func(*args)` on this thread once `executor` has done its earlier jobs.

        Nothing is submitted to the executor unless it is a declared pool. The result arrives when the declared cost has
        passed. Cancelling the future before the job has begun prevents it; later, only the result is lost and the
        executor stays busy, as with a real thread.

        Inside real work the job belongs to that: it is submitted to the real executor and costs nothing more.
        """
        if in_real_work():
            self._has_default_executor = self._has_default_executor or executor is None
            return super().run_in_executor(executor, func, *args)
        worker = self._workers.setdefault(executor, _Worker(self, executor))
        future: asyncio.Future[T] = self.create_future()
        worker.submit(partial(func, *args), future)
        return future

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 (asyncio's)
        """See asyncio. Only real work starts a default executor, and ending it is real work too."""
        if not self._has_default_executor:
            return
        async with self.real_work(name="ending the default executor"):
            await super().shutdown_default_executor()

    def declare_pool(self, executor: Executor, *, limit_s: float = REAL_LIMIT_S) -> None:
        """Run `executor`'s later jobs as real work: in own threads or processes.

        Still one at a time in the order of submission, each charged its declared cost. A job that really takes longer
        than `limit_s` ends the run with `StuckWorkError`.
        """
        self._pools[executor] = limit_s

    def real_work(self, cost_s: float = 0.0, *, name: str = "real work", limit_s: float = REAL_LIMIT_S) -> RealWork:
        """Declare real work inside `async with` that costs `cost_s` of virtual time.

        See `RealWork`. Raises `ValueError` for a negative cost.
        """
        return RealWork(self._works, cost_s, name, limit_s)

    def _deliver_ended(self) -> bool:
        """Charge the real work that has ended."""
        ended = self._works.take_ended()
        for work in ended:
            when = _When(round((self.time() + work.cost_s) * 1e9) / 1e9, work.order)
            super().call_at(when, work.deliver)
        return bool(ended)

    def _real_time_left_s(self) -> float:
        """Return the real seconds left for work in flight. Raises `StuckWorkError` once they have passed."""
        work = self._works.overdue()
        if work is not None:
            raise StuckWorkError(
                f"{work.name} has not ended after {work.limit_s:g} s of real time. The clock stands still while it "
                f"runs, so nothing in it may wait for a timer; work that needs longer is given a larger limit_s. "
                f"Now {self._pending()}"
            )
        return self._works.time_left_s()

    def _cost_of(self, job: partial[Any]) -> float:
        for called in _calls_of(job):
            for key in _names_of(called.func):
                cost = self._costs.get(key)
                if cost is not None:
                    return cost(*called.args, **called.keywords) if callable(cost) else cost
        return 0.0

    def _wake_settling(self) -> bool:
        woken = [waiter for waiter in self._settling if not waiter.done()]
        self._settling.clear()
        for waiter in woken:
            resolve(waiter)
        return bool(woken)

    def _advance(self, seconds: float) -> None:
        self._now_ns += round(seconds * 1e9)
        if self.time() > self._limit_s:
            passed_s = self._limit_s
            self._limit_s += self._patience_s  # so that cleaning up after this error can still use timers
            raise DeadlockError(
                f"{passed_s:g} s of virtual time have passed and the test has not ended; {self._pending()}"
            )

    def _pending(self) -> str:
        lines = sorted(_describe(task) for task in asyncio.all_tasks(self))
        return "pending tasks are\n" + "\n".join(f"  {line}" for line in lines) if lines else "no task is pending"


@checked()
def real_work(
    cost_s: float = 0.0, *, name: str = "real work", limit_s: float = REAL_LIMIT_S
) -> AbstractAsyncContextManager[object]:
    """Declare real work on the running loop; a loop in real time needs no declaration."""
    loop = asyncio.get_running_loop()
    return loop.real_work(cost_s, name=name, limit_s=limit_s) if isinstance(loop, VirtualLoop) else nullcontext()


class _Selector(selectors.DefaultSelector):
    """Replaces asyncio's selector: it waits only when no callback is ready, which is when the clock advances."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop
        self._undeclared: set[int] = set()
        self._turns = 0

    def forget_own(self) -> None:
        """Treat what is registered now (the loop's self-pipe) as the loop's own; never wait for it."""
        self._undeclared.clear()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        key = super().register(fileobj, events, data)
        if not in_real_work():
            self._undeclared.add(key.fd)
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        key = super().unregister(fileobj)
        self._undeclared.discard(key.fd)
        return key

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        was_undeclared = self.get_key(fileobj).fd in self._undeclared
        key = super().modify(fileobj, events, data)  # which registers again on some systems
        (self._undeclared.add if was_undeclared else self._undeclared.discard)(key.fd)
        return key

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if events or (timeout is not None and timeout <= 0) or self._loop._wake_settling():
            self._turns += 1
            if self._turns > TURNS_LIMIT:
                self._give_up()
            return events
        self._turns = 0
        if self._loop._works.in_flight:
            return super().select(self._loop._real_time_left_s())
        if self._loop._deliver_ended():
            return events
        if self._undeclared:
            began_s = real_now_s()
            events = super().select(timeout)
            waited_s = real_now_s() - began_s
            self._loop._advance(waited_s if timeout is None else min(waited_s, timeout) if events else timeout)
            return events
        if timeout is None:
            raise DeadlockError(f"the test waits for something that will never happen: {self._loop._pending()}")
        self._loop._advance(timeout)
        return events

    def _give_up(self) -> None:
        """Raise DeadlockError, unless real work may still end the polling in time."""
        self._turns = 0
        if self._loop._works.in_flight:
            self._loop._real_time_left_s()
        if not (self._loop._works.in_flight or self._undeclared):
            raise DeadlockError(
                f"the loop has turned {TURNS_LIMIT:,} times at {self._loop.time():g} s: something goes on and on and "
                f"waits for nothing; {self._loop._pending()}"
            )


class _InlineFuture(Future[Any]):
    """The future of a job's request to its loop; done after the job."""

    def result(self, timeout: float | None = None) -> Any:
        self._refuse_to_wait()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self._refuse_to_wait()
        return super().exception(timeout)

    def _refuse_to_wait(self) -> None:
        loop = asyncio._get_running_loop()
        if not self.done() and isinstance(loop, VirtualLoop) and loop._inline_on == threading.get_ident():
            raise DeadlockError(
                "a job of an executor waits for the loop on whose thread it runs in virtual time: give it an executor "
                "of its own that really works beside the loop, declared with `loop.declare_pool(executor)`"
            )


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
    """Runs one executor's jobs in order, each for its cost."""

    def __init__(self, loop: VirtualLoop, executor: Executor | None) -> None:
        self._loop = loop
        self._executor = executor
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
            if future.cancelled():
                continue
            try:
                cost_s = self._loop._cost_of(job)
            except Exception as error:
                future.set_exception(error)
                continue
            self._busy = True
            self._run(job, cost_s, future)

    def _run(self, job: partial[Any], cost_s: float, future: asyncio.Future[Any]) -> None:
        deliver: Callable[[], None]
        if self._executor is not None and self._executor in self._loop._pools:
            self._submit(self._executor, job, cost_s, future)
            return
        self._loop._inline_on = threading.get_ident()
        try:
            deliver = partial(future.set_result, job())
        except StopIteration as error:
            # No future can carry one.
            deliver = partial(future.set_exception, RuntimeError(f"the job raised {error!r}"))
        except Exception as error:
            deliver = partial(future.set_exception, error)
        finally:
            self._loop._inline_on = None
        self._loop.call_later(cost_s, self._finish, future, deliver)

    def _submit(self, pool: Executor, job: partial[Any], cost_s: float, future: asyncio.Future[Any]) -> None:
        name = next((str(name) for name in _names_of(job.func) if isinstance(name, str)), repr(job.func))
        work = RealWork(self._loop._works, cost_s, f"the job {name} of a pool", self._loop._pools[pool])

        def ended(done: Future[Any]) -> None:
            error = done.exception()
            deliver = (
                partial(future.set_result, done.result()) if error is None else partial(future.set_exception, error)
            )
            # The loop is closed if the run has ended without waiting for this job.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(work.end, partial(self._finish, future, deliver))

        work.begin()
        outer = enter(work)
        try:
            pool.submit(job).add_done_callback(ended)
        finally:
            enter(outer)

    def _finish(self, future: asyncio.Future[Any], deliver: Callable[[], None]) -> None:
        if not future.done():
            deliver()
        self._begin_next()


def run(main: Coroutine[Any, Any, T], *, costs: Mapping[Any, Cost] | None = None) -> T:
    """Run `main` on a new `VirtualLoop`, like `asyncio.run`; cancel what is left, return the result."""
    with asyncio.Runner(loop_factory=partial(VirtualLoop, costs=costs)) as runner:
        return runner.run(main)


def _calls_of(job: partial[Any]) -> Iterator[partial[Any]]:
    """Yield the job and the functions that it wraps, as in `asyncio.to_thread`."""
    yield job
    for place, given in enumerate(job.args):
        if callable(given):
            yield partial(given, *job.args[place + 1 :], **job.keywords)


def _names_of(func: Callable[..., object]) -> Iterator[object]:
    """Yield the keys that can declare a job, most exact first."""
    yield func
    for attribute in ("__func__", "__qualname__", "__name__"):
        name = getattr(func, attribute, None)
        if name is not None:
            yield name


def _describe(task: asyncio.Task[Any]) -> str:
    """Return a task's name, coroutine and innermost waiting place outside asyncio."""
    place = "not started"
    coro: Any = task.get_coro()
    title = getattr(coro, "__qualname__", repr(coro))
    while (frame := getattr(coro, "cr_frame", None)) is not None:
        if not frame.f_code.co_filename.startswith(_ASYNCIO_FOLDER):
            place = f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
        coro = coro.cr_await
    return f"{task.get_name()} ({title}): {place}"
