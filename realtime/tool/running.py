"""Runs one function as a tool: its pieces or its value, with a limit of time, and an end in any case.

The function has a task of its own. A generator goes on when its piece has been taken; it is closed when no more are
taken. A function that swallows its cancellation is left behind after `CANCEL_S`, so that nothing waits for it.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from concurrent.futures import Executor
from contextlib import aclosing, asynccontextmanager, contextmanager, nullcontext
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from typing import Any

from realtime.exits import exits_held, is_ctrl_c
from realtime.tool.blocking import OnBlocked, ignored, watched

logger = logging.getLogger(__name__)

CANCEL_S = 1.0
"""Seconds that a cancelled tool has for its end."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What a generator gave."""

    value: Any


@dataclass(frozen=True, slots=True)
class Whole:
    """What a function returned."""

    value: Any


@dataclass(frozen=True, slots=True)
class Ended:
    """A generator has given all."""


@dataclass(frozen=True, slots=True)
class Raised:
    """The function raised this; a CancelledError if it cancelled itself."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class TimeUp:
    """The limit of time has passed."""


Step = Piece | Whole | Ended | Raised | TimeUp


class TimeLimit:
    """How long a tool may run. It stands still while a person is asked, and so does the limit that it runs within."""

    def __init__(self, timeout_s: float | None) -> None:
        self._left_s = timeout_s
        self._deadline: float | None = None
        self._n_pauses = 0
        self._clock: asyncio.Timeout | None = None
        self.outer = _LIMIT.get()
        """That of the tool behind which this one runs."""
        self.is_up = False
        """Whether the time is up."""
        self._resume()

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Make it the limit of tasks that start within the block."""
        token = _LIMIT.set(self)
        try:
            yield
        finally:
            _LIMIT.reset(token)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """End the block with TimeoutError when the time is up. Blocks one after another have one limit."""
        clock = self._clock = asyncio.timeout_at(self._deadline)
        try:
            async with clock:
                yield
        finally:
            self._clock, self.is_up = None, clock.expired()

    def end(self) -> None:
        """The time is up now."""
        self._left_s, self._deadline = 0.0, asyncio.get_running_loop().time()
        self._reschedule()

    def pause(self) -> None:
        """Stand still."""
        self._n_pauses += 1
        if self._n_pauses == 1 and self._deadline is not None:
            self._left_s = self._deadline - asyncio.get_running_loop().time()
            self._deadline = None
            self._reschedule()

    def resume(self) -> None:
        """Go on, once for each pause."""
        self._n_pauses -= 1
        if not self._n_pauses:
            self._resume()
            self._reschedule()

    def _resume(self) -> None:
        if self._left_s is not None:
            self._deadline = asyncio.get_running_loop().time() + self._left_s

    def _reschedule(self) -> None:
        if self._clock is not None and not self._clock.expired():
            self._clock.reschedule(self._deadline)


_LIMIT: ContextVar[TimeLimit | None] = ContextVar("tool_time_limit", default=None)


@contextmanager
def standing_still(*limits: TimeLimit | None) -> Iterator[None]:
    """Let the time of the running tool, and `limits`, stand still meanwhile."""
    paused: list[TimeLimit] = []
    for limit in {*limits, _LIMIT.get()}:
        while limit is not None:
            limit.pause()
            paused.append(limit)
            limit = limit.outer
    try:
        yield
    finally:
        for one in paused:
            one.resume()


async def steps_of(
    function: Callable[[], Any],
    *,
    name: str,
    executor: Executor,
    in_thread: bool,
    timeout_s: float | None,
    on_blocked: OnBlocked = ignored,
) -> AsyncGenerator[Step, None]:
    """Run a function; yield its pieces, then how it ended.

    `in_thread`: it may block, so it runs in `executor`, as the steps of every plain generator do. Closing or cancelling
    ends the function within `CANCEL_S`; one that blocks its thread goes on there and its result is dropped.
    """
    steps: asyncio.Queue[Step] = asyncio.Queue()
    limit = TimeLimit(timeout_s)
    with limit.in_force(), exits_held():
        task = asyncio.create_task(_work(function, executor, in_thread, steps, name, on_blocked), name=name)
    try:
        while True:
            step: Step
            try:
                async with limit.running():
                    step = await steps.get()
            except TimeoutError:
                step = TimeUp()
            yield step
            if not isinstance(step, Piece):
                return
            steps.task_done()
    finally:
        await stop(task)


async def stop(task: asyncio.Task[Any]) -> None:
    """End a tool's task within `CANCEL_S`; one that does not end is left behind."""
    if not task.done():
        task.cancel()
        try:
            await asyncio.wait([task], timeout=CANCEL_S)
        finally:
            if not task.done():
                logger.error("%s is left behind: it does not end when it is cancelled", task.get_name())
                _LEFT_BEHIND.add(task)
                task.add_done_callback(_LEFT_BEHIND.discard)


_LEFT_BEHIND: set[asyncio.Task[Any]] = set()
"""Keeps alive the tasks that are not waited for any more."""


async def _work(
    function: Callable[[], Any],
    executor: Executor,
    in_thread: bool,
    steps: asyncio.Queue[Step],
    name: str,
    on_blocked: OnBlocked,
) -> None:
    with nullcontext() if in_thread else watched(name, function, on_blocked):
        await _work_on(function, executor, in_thread, steps)


async def _work_on(
    function: Callable[[], Any], executor: Executor, in_thread: bool, steps: asyncio.Queue[Step]
) -> None:
    last: Step
    try:
        if in_thread:
            returned, error = await _in_thread(executor, copy_context(), function)
            if error is not None:
                steps.put_nowait(Raised(error))
                return
        else:
            returned = function()
        if inspect.isawaitable(returned):
            returned = await returned
        if isinstance(returned, AsyncIterator):
            try:
                async for value in returned:
                    steps.put_nowait(Piece(value))
                    await steps.join()
            finally:
                if isinstance(returned, AsyncGenerator):
                    await returned.aclose()
            last = Ended()
        elif isinstance(returned, Iterator):
            async with aclosing(_Steps(returned, executor)) as iterator:
                while (value := await iterator.next()) is not _END:
                    steps.put_nowait(Piece(value))
                    await steps.join()
            last = Ended()
        else:
            last = Whole(returned)
    except asyncio.CancelledError as cancelled:
        steps.put_nowait(Raised(cancelled))
        raise
    except KeyboardInterrupt as interrupt:
        last = Raised(interrupt)
        if is_ctrl_c(interrupt):  # the process is to end
            steps.put_nowait(last)
            raise
    except BaseException as raised:  # a panic of a Rust library, GeneratorExit: whatever ends the function
        last = Raised(raised)
    steps.put_nowait(last)


async def _in_thread(
    executor: Executor, context: Context, function: Callable[[], Any]
) -> tuple[Any, BaseException | None]:
    """Return the function's result or its exception, whatever it is.

    A future cannot carry StopIteration; a task that raises KeyboardInterrupt, which is no Ctrl-C in a thread, ends its
    loop.
    """
    return await asyncio.get_running_loop().run_in_executor(executor, _outcome, context, function)


def _outcome(context: Context, function: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return context.run(function), None
    except BaseException as error:
        return None, error


_END = object()


class _Steps:
    """The steps of a plain generator, each a job in a thread.

    A generator cannot be closed while a step of it runs: then the step closes it.
    """

    def __init__(self, iterator: Iterator[Any], executor: Executor) -> None:
        self._iterator = iterator
        self._executor = executor
        self._context = copy_context()
        self._lock = threading.Lock()
        self._is_running = False
        self._closed = threading.Event()

    async def next(self) -> Any:
        """Return the next piece; `_END` after the last. Raises what the generator raises."""
        returned, error = await _in_thread(self._executor, self._context, self._step)
        if isinstance(error, KeyboardInterrupt):
            raise RuntimeError("KeyboardInterrupt") from error
        if error is not None:
            raise error
        return returned

    def _step(self) -> Any:
        with self._lock:
            if self._closed.is_set():
                return _END
            self._is_running = True
        try:
            return next(self._iterator, _END)
        finally:
            with self._lock:
                self._is_running = False
                is_closed = self._closed.is_set()
            if is_closed:
                self._close()

    async def aclose(self) -> None:
        """Close the generator, now or when its step has returned."""
        with self._lock:
            self._closed.set()
            if self._is_running:
                return
        await _in_thread(self._executor, self._context, self._close)

    def _close(self) -> None:
        if inspect.isgenerator(self._iterator):
            self._iterator.close()
