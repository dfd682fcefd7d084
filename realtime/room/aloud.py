"""What one agent in a room asks aloud: which human is asked, and what waits while others have the floor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from realtime.agent.asking import QUESTION
from realtime.agent.consent import Consents
from realtime.event.base import INITIATIVE
from realtime.event.server import AgentResponseCreatedEvent
from realtime.message import ToolCallBlock

KEPT_CALLS = 64
"""Calls that asked: so many are remembered with who was asked."""


@dataclass(slots=True, eq=False)
class AskedAloud:
    """The questions of one agent, which may lose the floor meanwhile. Calls have the agent's own ids.

    `find` returns the questions of its run; None while its model is lost.
    """

    find: Callable[[], Consents | None]
    is_paused: bool = False
    """Whether the agent has lost the floor with its question open."""
    is_withdrawn: bool = False
    """Whether its calls are being cancelled."""
    _askers: dict[str, str | None] = field(default_factory=dict)
    _response_ids: set[str] = field(default_factory=set)
    """Responses that speak a question."""
    _heard: str = ""
    """What was heard of its turn before it lost the floor."""

    @property
    def consents(self) -> Consents | None:
        """The questions, while one was asked aloud and has no answer."""
        consents = self.find()
        return consents if consents is not None and consents.is_asked else None

    @property
    def is_open(self) -> bool:
        """Whether a question was asked aloud and has no answer."""
        return self.consents is not None

    @property
    def needs_floor(self) -> bool:
        """Whether something is to be asked aloud, or is not done: the agent takes the floor again to go on."""
        consents = self.find()
        return consents is not None and consents.needs_floor and not self.is_withdrawn

    @property
    def waits_within_reply(self) -> bool:
        """Whether the agent thinks: it says nothing else meanwhile."""
        consents = self.find()
        return consents is not None and consents.waits_at_model

    @property
    def call_id(self) -> str:
        """The call that is asked about; "" without one."""
        consents = self.find()
        return "" if consents is None else consents.call_id

    def set_away(self, away: bool) -> None:
        """Whether all who are asked are away: nothing is asked meanwhile."""
        consents = self.find()
        if consents is not None and away != consents.is_away:
            consents.set_away(away)

    def drop(self) -> None:
        """The agent's model is lost, and its questions with it."""
        self.is_paused, self._heard = False, ""

    # -- who is asked --------------------------------------------------------------------------------------------------

    def note(self, call: ToolCallBlock, asked_by: str | None) -> None:
        """A call asks for consent; `asked_by` is the human (by id) whose turn led to it."""
        self._askers[call.id] = asked_by
        if len(self._askers) > KEPT_CALLS:
            del self._askers[next(iter(self._askers))]

    def asker_of(self, call_id: str) -> str | None:
        """The human (by id) who is asked about a call; None where no human led to it, "" for an unknown one."""
        return self._askers.get(call_id, "")

    # -- what is said --------------------------------------------------------------------------------------------------

    def begins(self, event: AgentResponseCreatedEvent) -> bool:
        """A response begins; returns whether it speaks a question."""
        is_question = str((event.metadata or {}).get(INITIATIVE, "")).startswith(QUESTION)
        if is_question:
            self._response_ids.add(event.response_id)
        return is_question

    def ends(self, response_id: str) -> bool:
        """A response ends; returns whether it has spoken a question: then the turn goes on."""
        is_question = response_id in self._response_ids
        self._response_ids.discard(response_id)
        return is_question

    def heard(self, text: str) -> str | None:
        """Take what was heard; return what was heard of the whole turn, or None while its question is open."""
        whole = " ".join(filter(None, (self._heard, text)))
        self._heard = whole if self.is_paused else ""
        return None if self.is_paused else whole
