"""Who owes whom an answer: follows a call's events from the client's last turn on. Pure."""

from __future__ import annotations

from typing import Any

from realtime.event import server as s

_GREETING = "greeting_"
_ASIDES = ("filler_", "idle_")
"""The beginnings of an initiative: what an agent says without being asked, beside its answers."""


class Exchange:
    """Knows whether what the client said is answered, and by which items."""

    def __init__(self) -> None:
        self.items: dict[str, str] = {}
        """The items that answer the last turn, with written words."""
        self.greeting: dict[str, str] = {}
        """The items of the agent's greeting, likewise."""
        self.greets = False
        """Whether a greeting has begun."""
        self.has_turn = False
        """Whether the client has said anything, or is about to."""
        self.error: s.AgentErrorEvent | None = None
        """The latest error since the last turn."""
        self._owes = False
        self._knows_turn = False
        self._turn_is_open = False
        self._running: set[str] = set()
        self._answers: set[str] = set()
        self._greetings: set[str] = set()
        self._calls: set[str] = set()

    def sent(self, event: dict[str, Any]) -> None:
        """Take an event that the client sends."""
        match event["type"]:
            case "client_text_append" | "client_audio_commit":
                self.asked()
            case "client_response_create" if (event.get("response") or {}).get("conversation") != "none":
                self.asked(with_turn=False)
            case _:
                pass

    def asked(self, *, with_turn: bool = True) -> None:
        """The client begins a turn, or requests an answer without one.

        What begins before the call knows the turn answers an earlier one.
        """
        self._owes, self._knows_turn, self.error = True, not with_turn, None
        self._forget_answers()

    @property
    def is_answered(self) -> bool:
        """Whether nothing more is to come. What came may not be heard yet."""
        return not (self._owes or self._turn_is_open or self._running or self._calls)

    def take(self, event: s.ServerEvent) -> None:
        """Take the next event of the call."""
        match event:
            case s.AgentInputStartedEvent():
                self._turn_is_open = self.has_turn = True
            case s.AgentInputDoneEvent():
                self._turn_is_open, self._owes, self._knows_turn = False, True, True
                self._forget_answers()
            case s.AgentInputCommittedEvent():
                self._knows_turn = True
            case s.AgentItemAddedEvent() if event.item.role == "user":
                self._knows_turn = True
            case s.AgentInputClearedEvent():
                self._turn_is_open = self._owes = False
            case s.AgentResponseCreatedEvent() if event.conversation != "none":
                self._begin(event.response_id, str((event.metadata or {}).get("initiative", "")))
            case s.AgentResponseAudioTranscriptDeltaEvent():
                self._words_of(event.response_id).setdefault(event.item_id, "")
            case s.AgentResponseTextDeltaEvent():
                words = self._words_of(event.response_id)
                words[event.item_id] = words.get(event.item_id, "") + event.delta
            case s.AgentItemDeletedEvent():
                self.items.pop(event.item_id, None)
                self.greeting.pop(event.item_id, None)
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

    def _begin(self, response_id: str, initiative: str) -> None:
        self._running.add(response_id)
        if initiative.startswith(_GREETING):
            self.greets = True
            self._greetings.add(response_id)
        if self._knows_turn and not initiative.startswith(_ASIDES):
            self._owes = self._turn_is_open
            self._answers.add(response_id)

    def _words_of(self, response_id: str) -> dict[str, str]:
        """Return the items that the response belongs to: those of the answer, of the greeting, or of nothing."""
        if response_id in self._answers:
            return self.items
        return self.greeting if response_id in self._greetings else {}

    def _forget_answers(self) -> None:
        self.has_turn = True
        self._answers.clear()
        self.items.clear()
