"""Who owes whom an answer: follows a call's events from the client's last turn on. Pure."""

from __future__ import annotations

from realtime.event import server as s


class Exchange:
    """Knows whether what the client said is answered, and by which items."""

    def __init__(self) -> None:
        self.items: dict[str, str] = {}
        """The answers' items since the last turn, with written words."""
        self.error: s.AgentErrorEvent | None = None
        """The latest error since the last turn."""
        self._owes = False
        self._knows_turn = True
        self._turn_is_open = False
        self._running: set[str] = set()
        self._calls: set[str] = set()

    def asked(self, *, with_turn: bool = True) -> None:
        """The client begins a turn, or requests an answer without one.

        What comes before the call knows the turn answers an earlier one.
        """
        self._owes, self._knows_turn, self.error = True, not with_turn, None
        self.items.clear()

    @property
    def is_answered(self) -> bool:
        """Whether nothing more is to come. What came may not be heard yet."""
        return not (self._owes or self._turn_is_open or self._running or self._calls)

    def take(self, event: s.ServerEvent) -> None:
        """Take the next event of the call."""
        match event:
            case s.AgentInputStartedEvent():
                self._turn_is_open = True
            case s.AgentInputDoneEvent():
                self._turn_is_open, self._owes, self._knows_turn = False, True, True
            case s.AgentInputCommittedEvent():
                self._knows_turn = True
            case s.AgentItemAddedEvent() if event.item.role == "user":
                self._knows_turn = True
            case s.AgentInputClearedEvent():
                self._turn_is_open = self._owes = False
            case s.AgentResponseCreatedEvent() if event.conversation != "none":
                self._owes = self._turn_is_open or not self._knows_turn
                self._running.add(event.response_id)
            case s.AgentResponseAudioTranscriptDeltaEvent():
                self.items.setdefault(event.item_id, "")
            case s.AgentResponseTextDeltaEvent():
                self.items[event.item_id] = self.items.get(event.item_id, "") + event.delta
            case s.AgentItemDeletedEvent():
                self.items.pop(event.item_id, None)
            case s.AgentResponseToolUseDoneEvent():
                self._calls.add(event.tool_use.id)
            case s.AgentResponseToolResultEvent():
                if event.tool_result.id in self._calls:
                    self._calls.discard(event.tool_result.id)
                    # The model has the results of all its calls, and goes on.
                    self._owes = self._owes or not self._calls
            case s.AgentResponseDoneEvent():
                self._running.discard(event.response_id)
                if event.status in ("failed", "cancelled"):
                    self._calls.clear()
            case s.AgentErrorEvent() if event.error_type in ("client_error", "provider_error"):
                self.error = event
                self._owes = self._owes and event.retryable
            case s.AgentEndedEvent() | s.ServerSessionEndedEvent():
                self._owes = self._turn_is_open = False
                self._running.clear()
                self._calls.clear()
            case _:
                pass
