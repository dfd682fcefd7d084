"""The agent that a server has where nobody gave it one: a name, a model, and a few tools."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from realtime.agent import RealtimeAgent
from realtime.event.base import ResponseOverrides
from realtime.event.client import ClientResponseCreateEvent
from realtime.model.base import RealtimeModel
from realtime.model.local.skills import make_skills, say_duration
from realtime.tool import Toolkit

NAME = "Heart"
INSTRUCTIONS = (
    "Your name is Heart. You are a friendly voice assistant. You speak, so answer in one to three short sentences, "
    "without lists, markup or emoji. Use the tools for the time, the date, sums and timers."
)


class HouseAgent(RealtimeAgent):
    """Tells the time and the date, works out sums, sets timers and rings them by voice. Its timers end with it."""

    def __init__(self, model: RealtimeModel) -> None:
        skills = make_skills(time.time, on_timer=self._set_timer)
        super().__init__(NAME, INSTRUCTIONS, model, toolkit=Toolkit(skills))
        self._loop = asyncio.get_running_loop()
        self._timers: set[asyncio.TimerHandle] = set()
        self._left = False

    async def leave(self, reason: str) -> None:
        """See `RealtimeAgent.leave`."""
        self._left = True
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        await super().leave(reason)

    def _set_timer(self, seconds: float) -> None:
        # Plain functions run in a thread.
        self._loop.call_soon_threadsafe(self._start_timer, seconds)

    def _start_timer(self, seconds: float) -> None:
        if self._left:
            return

        def ring() -> None:
            self._timers.discard(timer)
            words = f"Your timer is up: {say_duration(seconds)} have passed."
            self.receive(ClientResponseCreateEvent(response=ResponseOverrides(instructions=f"Say exactly: {words}")))

        timer = self._loop.call_later(seconds, ring)
        self._timers.add(timer)


def house_agents(model: RealtimeModel) -> Callable[[], RealtimeAgent]:
    """A `make_agent` whose agents all speak with this model."""
    return lambda: HouseAgent(model)


def describe(model: RealtimeModel) -> dict[str, Any]:
    """What such an agent says of its model, before there is one."""
    return RealtimeAgent(NAME, INSTRUCTIONS, model).describe()
