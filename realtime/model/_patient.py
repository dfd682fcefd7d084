"""A connection to a service that makes one response at a time, and refuses another one until the cancelled one is over.

That is OpenAI's protocol (`conversation_already_has_active_response`), and DashScope's after it.
"""

from __future__ import annotations

from realtime.event.model import ModelEvent, ModelResponseCreatedEvent, ModelResponseDoneEvent
from realtime.model.base import AudioAppend, Connection, ModelInput, OnEvent, Profile, ResponseCancel, ResponseCreate


class Patient:
    """Holds requests for a response back until the response that was cancelled before them is done.

    `report` is to be told what the connection `below` reports, and passes it on to `on_event`.
    """

    below: Connection

    def __init__(self, on_event: OnEvent) -> None:
        self._on_event = on_event
        self._running: str | None = None
        self._cancelling = False
        self._held: list[ResponseCreate] = []

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
                self._cancelling = self._running is not None
            case ResponseCreate(overrides=overrides) if self._cancelling:
                # Beside the conversation any number of them may run.
                if overrides is None or overrides.conversation != "none":
                    self._held.append(message)
                    return
            case _:
                pass
        self.below.send(message)

    async def close(self) -> None:
        """See `Connection.close`."""
        await self.below.close()

    def report(self, event: ModelEvent) -> None:
        """What the wire reports, passed on before anything is sent for it. A link that is lost ends its responses."""
        if isinstance(event, ModelResponseCreatedEvent) and event.conversation != "none":
            self._running = event.response_id
        ended = isinstance(event, ModelResponseDoneEvent) and event.response_id == self._running
        if ended:
            self._running = None
            self._cancelling = False
        try:
            self._on_event(event)
        finally:
            if ended:
                held, self._held = self._held, []
                for message in held:
                    self.below.send(message)
