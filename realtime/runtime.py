"""Time, ids and chance of calls, as arguments."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random


def unique_id() -> str:
    """Return a unique id, for messages, blocks and events made without one."""
    return uuid.uuid4().hex


def wall_clock_iso() -> str:
    """Return the time of day, in the form of `iso`."""
    return iso(time.time())


def wall_clock_local() -> str:
    """Return the local date and time as `2026-01-01 00:00:00.000`."""
    return datetime.fromtimestamp(time.time()).isoformat(" ", timespec="milliseconds")  # noqa: DTZ006


def iso(wall_s: float) -> str:
    """Format seconds since the epoch as `2026-01-01T00:00:00.000Z` (ISO 8601, UTC, milliseconds)."""
    return datetime.fromtimestamp(wall_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def cpu_s_of(loop: asyncio.AbstractEventLoop) -> float:
    """Return the CPU seconds of this event loop's thread; call it on that thread.

    A loop in virtual time has a `cpu_s` of its own: real work says nothing about the load in a time that jumps.
    """
    own: Callable[[], float] = getattr(loop, "cpu_s", time.thread_time)
    return own()


def runs_in_real_time(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether the loop's clock is that of the machine: a loop in virtual time is kept by nothing."""
    return not hasattr(loop, "cpu_s")


_CHANCE = Random()


@dataclass(frozen=True, slots=True)
class Runtime:
    """A call's sources of time, ids and chance.

    `now` is monotonic seconds, `wall_now` seconds since the epoch, `new_id(prefix)` an unguessable id such as
    `call_4f1c...`, `random` the source of chance; runtimes without one share one (each takes 2.5 kB). `stopwatch`
    measures the cost of work; unlike `now` it advances within one turn of an event loop.
    """

    now: Callable[[], float] = time.monotonic
    wall_now: Callable[[], float] = time.time
    new_id: Callable[[str], str] = field(default=lambda prefix: f"{prefix}_{uuid.uuid4().hex}")
    random: Random = _CHANCE
    stopwatch: Callable[[], float] = time.perf_counter

    @classmethod
    def of_loop(cls, loop: asyncio.AbstractEventLoop) -> Runtime:
        """Make a runtime with the event loop's time, which may be virtual."""
        wall_start, loop_start = time.time(), loop.time()
        return cls(now=loop.time, wall_now=lambda: wall_start + loop.time() - loop_start)

    @classmethod
    def deterministic(cls, now: Callable[[], float], *, seed: int = 0) -> Runtime:
        """Make a repeatable runtime for tests and replays.

        Its ids count up, its chance is seeded, and its wall time starts in 2026.
        """
        count = 0

        def new_id(prefix: str) -> str:
            nonlocal count
            count += 1
            return f"{prefix}_{count}"

        return cls(now=now, wall_now=lambda: 1_767_225_600.0 + now(), new_id=new_id, random=Random(seed), stopwatch=now)
