"""A message in a running call: whether it was told, and what the person answered. Pure."""

from __future__ import annotations

from enum import StrEnum

from realtime.event import server as s

_ENDED_BY_THE_PERSON = ("client_end", "client_left")
"""Reasons of a call's end that are the person's will."""


class Outcome(StrEnum):
    """How a message in a call ended."""

    ANSWERED = "answered"
    DECLINED = "declined"
    """The person has heard it and hung up."""
    NOT_THERE = "not_there"
    """The person has not heard it, or has left without a word."""


class Told:
    """Follows a call's log for one hint: `source` is the name of its item.

    The answer is the first turn of the person that begins after words of the agent's reply to the hint were said. A
    reply that was interrupted before anything of it was heard leaves the conversation, and counts as not said.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self.hint_item_id: str | None = None
        """The hint's item in the conversation; None: it still waits for silence."""
        self.answer = ""
        """What the person said; empty until they have."""
        self.outcome: Outcome | None = None
        """How the call ended for the hint; None while it goes on. An answer is one once the caller takes it."""
        self._responses: set[str] = set()
        self._said: set[str] = set()
        """Items of replies that may have told the hint."""
        self._earlier: set[str] = set()
        """Turns of the person that are no answer: they began before anything was told."""
        self._answer_item_id: str | None = None

    @property
    def is_said(self) -> bool:
        """Whether the agent has begun to tell it."""
        return bool(self._said)

    def take(self, event: s.ServerEvent) -> bool:
        """Take the next event of the call; returns whether answer or outcome changed."""
        before = self.answer, self.outcome
        match event:
            case s.AgentItemAddedEvent(item=item) if item.role == "system":
                if item.name == self._source:
                    self.hint_item_id = item.id
            case s.AgentItemAddedEvent(item=item) if item.role == "user":
                self._turn(item.id)
                if any(part.text for part in item.content):
                    self._words(item.id, item.text)
                    # What is typed is whole.
                    self.outcome = Outcome.ANSWERED if self._answer_item_id == item.id else self.outcome
            case s.AgentResponseCreatedEvent(response_id=response_id) if self.hint_item_id is not None:
                self._responses.add(response_id)
            case s.AgentResponseAudioTranscriptDeltaEvent() | s.AgentResponseTextDeltaEvent():
                if event.response_id in self._responses and event.delta.strip():
                    self._said.add(event.item_id)
            case s.AgentItemDeletedEvent(item_id=item_id):
                self._said.discard(item_id)
            case s.AgentInputStartedEvent(item_id=item_id):
                self._turn(item_id)
                if item_id == self._answer_item_id:
                    # They only paused: the whole turn is the answer.
                    self.answer = ""
            case s.AgentInputCommittedEvent(item_id=item_id):
                self._turn(item_id)
            case s.AgentInputTranscriptionDoneEvent(item_id=item_id, transcript=transcript):
                self._words(item_id, transcript)
            case s.ServerSessionEndedEvent(reason=reason):
                self._end(reason)
            case _:
                pass
        return (self.answer, self.outcome) != before

    def _turn(self, item_id: str) -> None:
        if not self._said and item_id != self._answer_item_id:
            self._earlier.add(item_id)

    def _words(self, item_id: str, words: str) -> None:
        if item_id in self._earlier or not self._said or not words.strip():
            return
        if self._answer_item_id in (None, item_id):
            self._answer_item_id, self.answer = item_id, words.strip()

    def _end(self, reason: str) -> None:
        if self.answer:
            self.outcome = Outcome.ANSWERED
        elif self._said and reason in _ENDED_BY_THE_PERSON:
            self.outcome = Outcome.DECLINED
        else:
            self.outcome = Outcome.NOT_THERE
