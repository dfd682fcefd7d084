"""Which human may consent to the tool calls of a room's agents.

The one whose turn led to the call: no human agrees to what another one has asked for (docs/rooms.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from realtime.errors import ClientError
from realtime.event import client as c
from realtime.room.agent_participant import AgentParticipant, OpenCall
from realtime.room.human_participant import HumanParticipant
from realtime.room.people import People

ConsentBy = Literal["asked", "anyone"]
"""The human whose turn led to the call, or all humans."""
KEPT_NAMES = 200
"""So many of those who were asked are remembered by name."""
ABSENT = "the human who had to agree has left the room"


@dataclass(slots=True, eq=False)
class Consent:
    """The rule of one room."""

    by: ConsentBy
    people: People
    asked_by: str | None = None
    """The human (by id) who said something last: an agent that gets the floor now acts for them."""
    _names: dict[str, str] = field(default_factory=dict)
    """The names of those who were asked, by id: they may have left since."""

    def asked(self, asked_by: str | None) -> list[HumanParticipant]:
        """The humans here who may answer what `asked_by` has led to."""
        anyone = self.by == "anyone" or asked_by is None
        humans = [one for one in self.people.humans if anyone or one.id == asked_by]
        self._names.update((one.id, one.name) for one in humans)
        while len(self._names) > KEPT_NAMES:
            del self._names[next(iter(self._names))]
        return humans

    def name_of(self, human_id: str) -> str | None:
        """The name of a human who is here, or was asked."""
        human = self.people.human(human_id)
        return self._names.get(human_id) if human is None else human.name

    def answered_by(self, human: HumanParticipant, event: c.ClientToolResultEvent) -> AgentParticipant:
        """The agent whose tool call this human answers.

        Raises ClientError where the call is not open, or another human is asked.
        """
        # The longest first: one id may be the beginning of another.
        for agent in sorted(self.people.agents, key=lambda agent: -len(agent.id)):
            call = agent.open_call(event.id)
            if call is not None:
                if event.confirmed is not None and call.asks:
                    self._check(human, call)
                return agent
        raise ClientError(f"no open tool call has the id {event.id!r}", code="unknown_tool_call")

    def _check(self, human: HumanParticipant, call: OpenCall) -> None:
        if self.by == "anyone" or call.asked_by in (None, human.id):
            return
        name = next((one.name for one in self.people.humans if one.id == call.asked_by), "somebody who has left")
        raise ClientError(
            f"{name} is asked whether {call.name} may run, since their turn led to it: the question stays open",
            code="not_yours_to_answer",
        )

    def refuse_for_absent(self) -> None:
        """Refuse the questions to humans who have left: no other human agrees in their place."""
        if self.by == "asked":
            present = {human.id for human in self.people.humans}
            for agent in self.people.agents:
                agent.refuse_for_absent(present, ABSENT)
