"""Tasks that end: with a limit of time, and after a cancellation that they may swallow."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Coroutine, Iterable
from typing import Any, TypeVar

logger = logging.getLogger(__name__)

T = TypeVar("T")


class TimeUp(Exception):
    """The limit of time has passed. Unlike TimeoutError, no foreign code raises it."""


async def bounded(work: Awaitable[T], limit_s: float | None, *, grace_s: float) -> T:
    """Run `work` in a task of its own and return its result.

    Raises TimeUp after `limit_s` (None: no limit), RuntimeError for work that cancels itself. Cancelling ends the work,
    too. Work that swallows its cancellation is left behind after `grace_s`, with a warning in the log.
    """
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=limit_s)
    except asyncio.CancelledError:
        await end_task(task, grace_s)
        raise
    if not done:
        await end_task(task, grace_s)
        raise TimeUp
    if task.cancelled():
        raise RuntimeError("it was cancelled from within")
    return task.result()


async def to_its_end(work: Coroutine[Any, Any, T], grace_s: float) -> T:
    """Run `work` and return its result; where this is cancelled, the work still has `grace_s` for its end.

    For what must not stop halfway, such as a memory that is rewritten.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=grace_s)
        await end_task(task, grace_s)
        raise


async def together(works: Iterable[Coroutine[Any, Any, Any]]) -> None:
    """Run these at the same time. The first that fails ends the others, and its error is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work)
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None


async def end_task(task: asyncio.Future[Any], grace_s: float) -> None:
    """Cancel the task and wait for its end, at most `grace_s`. Its result and its error are dropped."""
    if not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=grace_s)
    leave_behind(task)


def leave_behind(task: asyncio.Future[Any]) -> None:
    """Take no further interest in the task; one that still runs stays alive, with a warning in the log."""
    if not task.done():
        name = task.get_name() if isinstance(task, asyncio.Task) else "a task"
        logger.warning("%s is left behind: it does not end when it is cancelled", name)
        _LEFT_BEHIND.add(task)
    task.add_done_callback(_drop)


def _drop(task: asyncio.Future[Any]) -> None:
    _LEFT_BEHIND.discard(task)
    if not task.cancelled():
        task.exception()


_LEFT_BEHIND: set[asyncio.Future[Any]] = set()
"""Tasks that nothing waits for any more, kept from the garbage collector."""
