"""Keeps exits of a program's functions away from the event loop.

asyncio lets SystemExit and KeyboardInterrupt out of the task that raises them, and out of the loop. A tool that runs
`argparse` in a task of its own (`wait_for`, `gather`, a TaskGroup) would end the server with all calls; here such a
task fails as any other.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

_EXITS = (SystemExit, KeyboardInterrupt)
_HELD: ContextVar[bool] = ContextVar("exits_held", default=False)


def is_ctrl_c(error: BaseException) -> bool:
    """Whether it may be Ctrl-C. Where the loop or the server handles that, it is the function's own."""
    return isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Held(Coroutine[Any, Any, T]):
    """A coroutine that raises RuntimeError in place of an exit."""

    def __init__(self, inner: Coroutine[Any, Any, T]) -> None:
        self._inner = inner

    def send(self, value: Any) -> Any:
        """See `Coroutine`."""
        try:
            return self._inner.send(value)
        except _EXITS as error:
            raise _failure(error) from error

    def throw(self, *thrown: Any) -> Any:
        """See `Coroutine`."""
        try:
            return self._inner.throw(*thrown)
        except _EXITS as error:
            raise _failure(error) from error

    def close(self) -> None:
        """See `Coroutine`."""
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, T]:
        try:
            return (yield from self._inner.__await__())
        except _EXITS as error:
            raise _failure(error) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)  # `cr_frame` and its like


def _failure(error: BaseException) -> BaseException:
    return error if is_ctrl_c(error) else RuntimeError(f"{type(error).__name__}: {error}".removesuffix(": "))


@contextmanager
def exits_held() -> Iterator[None]:
    """Hold the exits of tasks that start within the block.

    Those that they start in turn belong to them.
    """
    loop = asyncio.get_running_loop()
    factory: Any = loop.get_task_factory()
    if not isinstance(factory, _TaskFactory):
        own: Any = _TaskFactory(factory or _plain_task)
        loop.set_task_factory(own)
    token = _HELD.set(True)
    try:
        yield
    finally:
        _HELD.reset(token)


class _TaskFactory:
    """Makes a loop's tasks as before; holds the exits of some."""

    def __init__(self, make: Callable[..., asyncio.Task[Any]]) -> None:
        self._make = make

    def __call__(
        self, loop: asyncio.AbstractEventLoop, run: Coroutine[Any, Any, Any], **options: Any
    ) -> asyncio.Task[Any]:
        return self._make(loop, Held(run) if _HELD.get() else run, **options)


def _plain_task(loop: asyncio.AbstractEventLoop, run: Coroutine[Any, Any, Any], **options: Any) -> asyncio.Task[Any]:
    return asyncio.Task(run, loop=loop, **options)
