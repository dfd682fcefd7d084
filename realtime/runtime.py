"""Time, ids and chance, injected: nothing else in the package reads a clock or makes an id."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random


def unique_id() -> str:
    """A new id, unique everywhere: for what a program makes by hand and does not name (messages, blocks, events)."""
    return uuid.uuid4().hex


def wall_clock_iso() -> str:
    """The time of day, as `iso` writes it."""
    return iso(time.time())


def iso(wall_s: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC with milliseconds, `2026-01-01T00:00:00.000Z`."""
    return datetime.fromtimestamp(wall_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def cpu_s_of(loop: asyncio.AbstractEventLoop) -> float:
    """The processor time that this event loop's thread has used, in seconds; to be called on that thread.

    A loop in virtual time brings a `cpu_s` of its own: real work says nothing of the load in a time that jumps.
    """
    own: Callable[[], float] = getattr(loop, "cpu_s", time.thread_time)
    return own()


_CHANCE = Random()


@dataclass(frozen=True, slots=True)
class Runtime:
    """What a call needs from the world.

    `now` is monotonic seconds, `wall_now` seconds since the epoch, `new_id(prefix)` an unguessable id such as
    `call_4f1c...`, `random` the one source of chance, which all share that bring none (it takes 2.5 kB). `stopwatch`
    measures what work costs; unlike `now` it goes on within one turn of an event loop.
    """

    now: Callable[[], float] = time.monotonic
    wall_now: Callable[[], float] = time.time
    new_id: Callable[[str], str] = field(default=lambda prefix: f"{prefix}_{uuid.uuid4().hex}")
    random: Random = _CHANCE
    stopwatch: Callable[[], float] = time.perf_counter

    @classmethod
    def of_loop(cls, loop: asyncio.AbstractEventLoop) -> Runtime:
        """The runtime whose monotonic time is the event loop's, so that a virtual loop governs everything."""
        wall_start, loop_start = time.time(), loop.time()
        return cls(now=loop.time, wall_now=lambda: wall_start + loop.time() - loop_start)

    @classmethod
    def deterministic(cls, now: Callable[[], float], *, seed: int = 0) -> Runtime:
        """A runtime whose ids count up and whose chance is seeded; wall time starts in 2026. For tests and replays."""
        count = 0

        def new_id(prefix: str) -> str:
            nonlocal count
            count += 1
            return f"{prefix}_{count}"

        return cls(now=now, wall_now=lambda: 1_767_225_600.0 + now(), new_id=new_id, random=Random(seed), stopwatch=now)
