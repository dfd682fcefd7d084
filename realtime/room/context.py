"""What the parts of one room share: its clock and ids, its timers and its tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from realtime.call.timers import Timers
from realtime.runtime import Runtime


@dataclass(slots=True, eq=False)
class RoomContext:
    """The world of one room. `runtime` is that of the first human who comes, from when the room `has_begun`."""

    room_name: str
    """For the server's log."""
    runtime: Runtime = field(init=False)
    has_begun: bool = False
    timers: Timers = field(default_factory=Timers)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    is_over: bool = False
    """Whether the room is closed."""

    def run(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run `work` as a task of the room, which `close` cancels."""
        task = asyncio.create_task(work, name=name)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task
