"""The event loop of tests by the wall clock: waits are for conditions, sleeping is an error."""

from __future__ import annotations

import asyncio
import sys
from asyncio import futures
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.volumes import HANG_S

TESTS = str(Path(__file__).resolve().parent)
OUTSIDE_S = 0.05
"""How often conditions are tried where nothing happens in the loop: other threads and processes do not wake it."""

UVICORN, TICK_S = str(Path("uvicorn", "server.py")), 0.01
"""Whose sleeps are shorter here: uvicorn looks each 0.1 s whether it is to end, then waits as long for its sockets.

A thousand tests start a server of their own and would wait for three minutes in all.
"""
LIMIT_S, GUARD_S, PATIENCE = 4.0, 10.0, 30
"""Limits of waits, and other timers, from which on they take so many times as long.

What waits for those runs in virtual time. Shorter timers that limit no wait may be the length of an answer.
"""


class RealLoop(asyncio.SelectorEventLoop):
    """asyncio's loop, which tries the conditions that tests wait for after each of its turns."""

    def __init__(self) -> None:
        super().__init__()
        self._awaited: dict[asyncio.Future[None], Callable[[], object]] = {}

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until the condition holds, and raise what it raises."""
        if condition():
            return
        held = self.create_future()
        self._awaited[held] = condition
        try:
            while not held.done():
                await asyncio.wait([held], timeout=OUTSIDE_S)
        finally:
            del self._awaited[held]
        held.result()

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any, **more: Any) -> asyncio.TimerHandle:
        """See asyncio. A test that sleeps fails: how long is long enough depends on the machine."""
        # asyncio.sleep schedules this callback; behind it is the coroutine that sleeps.
        if callback is futures._set_result_unless_cancelled:  # type: ignore[attr-defined]
            sleeper = sys._getframe(2).f_code
            if sleeper.co_filename.startswith(TESTS):
                raise AssertionError(f"{sleeper.co_qualname} sleeps in real time: wait for a condition (`settled`)")
            delay = TICK_S if sleeper.co_filename.endswith(UVICORN) else delay
            return super().call_at(self.time() + delay, callback, *args, **more)  # no guard: speech takes its time
        return super().call_later(delay, callback, *args, **more)

    def call_at(self, when: float, callback: Callable[..., object], *args: Any, **more: Any) -> asyncio.TimerHandle:
        """See asyncio. Limits of seconds are guards: beside other work they would end what is only slow."""
        delay = when - self.time()
        limits = getattr(callback, "__name__", "") in ("_on_timeout", "_release_waiter")
        when = self.time() + delay * PATIENCE if (LIMIT_S if limits else GUARD_S) <= delay < HANG_S else when
        return super().call_at(when, callback, *args, **more)

    def _run_once(self) -> None:
        super()._run_once()  # type: ignore[misc]
        for held, condition in [*self._awaited.items()]:
            if held.done():
                continue
            try:
                if condition():
                    held.set_result(None)
            except Exception as error:
                held.set_exception(error)


async def moment(due_s: float) -> None:
    """Wait for a moment by the loop's clock, where time is the input of a real server: speech, a pause of a client.

    By night alone.
    """
    loop = asyncio.get_running_loop()
    due = loop.create_future()
    timer = loop.call_at(due_s, due.set_result, None)
    try:
        await due
    finally:
        timer.cancel()


async def settled(condition: Callable[[], object], within_s: float = HANG_S) -> None:
    """Wait until the condition holds: it is tried after each turn of the loop.

    Fails after `within_s`, a guard against hanging, with the tasks that are left.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(within_s):
            if isinstance(loop, RealLoop):
                # Held once is enough: a turn of the loop later it may hold no more.
                return await loop.until(condition)
            while not condition():  # noqa: ASYNC110  (a loop in virtual time: each run takes the same steps)
                await asyncio.sleep(0.005)
    except TimeoutError:
        tasks = "\n".join(sorted(f"  {task.get_name()}: {task.get_coro()}" for task in asyncio.all_tasks()))
        raise AssertionError(f"the condition does not hold after {within_s:g} s; pending tasks:\n{tasks}") from None
