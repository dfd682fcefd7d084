"""Sends one response request at a time, for services that refuse more.

The next one waits until the running response is over.

That is OpenAI's protocol (`conversation_already_has_active_response`), and DashScope's after it.
"""

from __future__ import annotations

from collections import deque

from realtime.event import model as m
from realtime.model.base import AudioAppend, Connection, ModelInput, OnEvent, Profile, ResponseCancel, ResponseCreate
from realtime.runtime import Runtime
from realtime.turn.responses import ServiceLedger


class OneRequest:
    """Sends requests for a response one after the other (see `ServiceLedger.may_request`).

    A request outside the conversation waits for nothing. `report` takes what the connection `below` reports, and passes
    it on to `on_event`.
    """

    below: Connection

    def __init__(self, on_event: OnEvent, runtime: Runtime) -> None:
        self._on_event = on_event
        self._runtime = runtime
        self._ledger = ServiceLedger()
        """The responses of the conversation."""
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
            case ResponseCancel(response_id=response_id):
                self._ledger.cancel(response_id)
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

    def report(self, event: m.ModelEvent) -> None:
        """Pass on what the wire reports, before anything is sent for it."""
        match event:
            case m.ModelResponseCreatedEvent() if event.conversation != "none":
                self._ledger.begin(event.response_id, alone=True)
            case m.ModelResponseDoneEvent():
                self._ledger.end(event.response_id)
            case m.ModelErrorEvent() if not [*self._ledger]:
                self._ledger.refuse()
            case m.ModelReconnectingEvent():
                # The agent hears of the loss as well, and asks anew.
                self._ledger.clear()
                self._held = None
            case _:
                pass
        try:
            self._on_event(event)
        finally:
            self._release()

    def _release(self) -> None:
        """Send the requests that are due."""
        while self._held:
            now_s = self._runtime.now()
            if not self._ledger.may_request(now_s):
                return
            self._ledger.request(now_s)
            self.below.send(self._held.popleft())
