"""A connection to a service that makes one response at a time, and refuses another one until the first is over.

That is OpenAI's protocol (`conversation_already_has_active_response`), and DashScope's after it.
"""

from __future__ import annotations

from collections import deque

from realtime.event.model import (
    ModelErrorEvent,
    ModelEvent,
    ModelReconnectingEvent,
    ModelResponseCreatedEvent,
    ModelResponseDoneEvent,
)
from realtime.model.base import AudioAppend, Connection, ModelInput, OnEvent, Profile, ResponseCancel, ResponseCreate
from realtime.runtime import Runtime

PATIENCE_S = 10.0
"""A request that nothing has followed for so long is lost: the next one waits for it no longer."""


class Patient:
    """Sends requests for a response one after the other: the next one once the one before has begun and was not
    cancelled, or was cancelled and is done. A request beside the conversation waits for nothing.

    `report` is to be told what the connection `below` reports, and passes it on to `on_event`.
    """

    below: Connection

    def __init__(self, on_event: OnEvent, runtime: Runtime) -> None:
        self._on_event = on_event
        self._runtime = runtime
        self._running: str | None = None
        self._asked_s: float | None = None
        """Since when a response is asked for that has not begun."""
        self._cancelling = False
        self._held: deque[ResponseCreate] | None = None

    @property
    def profile(self) -> Profile:
        return self.below.profile

    def send(self, message: ModelInput) -> None:
        """See `Connection.send`."""
        if type(message) is AudioAppend:
            self.below.send(message)
            return
        match message:
            case ResponseCancel(response_id=response_id) if response_id in (None, self._running):
                self._cancelling = self._running is not None or self._asked_s is not None
            case ResponseCreate(overrides=overrides) if overrides is None or overrides.conversation != "none":
                self._held = self._held or deque()
                self._held.append(message)
                self._release()
                return
            case _:
                pass
        self.below.send(message)

    async def close(self) -> None:
        """See `Connection.close`."""
        await self.below.close()

    def report(self, event: ModelEvent) -> None:
        """What the wire reports, passed on before anything is sent for it."""
        match event:
            case ModelResponseCreatedEvent() if event.conversation != "none":
                self._running, self._asked_s = event.response_id, None
            case ModelResponseDoneEvent() if event.response_id == self._running:
                self._running, self._cancelling = None, False
            case ModelErrorEvent() if self._running is None:
                # Perhaps it refuses the request; if not, the next one is what is refused.
                self._asked_s, self._cancelling = None, False
            case ModelReconnectingEvent():
                # Whoever asked is told as well, and asks anew.
                self._running, self._asked_s, self._cancelling, self._held = None, None, False, None
            case _:
                pass
        try:
            self._on_event(event)
        finally:
            self._release()

    def _release(self) -> None:
        """Send the requests that are due."""
        while self._held and not self._cancelling:
            now_s = self._runtime.now()
            if self._asked_s is not None and now_s - self._asked_s < PATIENCE_S:
                return
            self._asked_s = now_s
            self.below.send(self._held.popleft())
