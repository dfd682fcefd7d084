"""The events of an agent as an async iterator."""

from __future__ import annotations

import asyncio
from collections import deque

from realtime.event import server as s

KEPT_EVENTS = 2_000
"""The latest events that wait for a reader: a minute or more of speech."""


class EventStream:
    """Keeps events until they are read, the latest `KEPT_EVENTS`; ends after `agent_ended`."""

    def __init__(self) -> None:
        self._events: deque[s.ServerEvent] = deque(maxlen=KEPT_EVENTS)
        self._news = asyncio.Event()
        self._is_over = False

    def put(self, event: s.ServerEvent) -> None:
        """Add the next event."""
        self._events.append(event)
        self._is_over = self._is_over or isinstance(event, s.AgentEndedEvent)
        self._news.set()

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> s.ServerEvent:
        while not self._events:
            if self._is_over:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._events.popleft()
