"""Who is in a room: its humans and agents, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from realtime.agent.realtime import RealtimeAgent
from realtime.errors import ClientError
from realtime.event import server as s
from realtime.room.agent_participant import AgentParticipant
from realtime.room.human_participant import HumanParticipant
from realtime.room.names import look_alike
from realtime.room.participant import Participant, folded
from realtime.room.record import Record

ABSENT_S = 60.0
"""How long a human may be away, in seconds: then they leave the room."""


class People:
    """The participants of one room. Tells the humans who comes, goes and changes."""

    def __init__(self, agents: Sequence[RealtimeAgent]) -> None:
        self.expected = [*agents]
        """The agents in room order, including ones not connected yet."""
        self.agents: list[AgentParticipant] = []
        """The agents that are there, in order; empty before the room has begun."""
        self.humans: list[HumanParticipant] = []
        """The humans, in order of coming."""
        self.participants: tuple[Participant, ...] = ()
        """All who are there, as policies see them."""
        self.record = Record(self.humans)

    def agent(self, participant_id: str) -> AgentParticipant | None:
        """The agent of this id."""
        return next((one for one in self.agents if one.id == participant_id), None)

    def human(self, participant_id: str) -> HumanParticipant | None:
        """The human of this id."""
        return next((one for one in self.humans if one.id == participant_id), None)

    def find(self, participant_id: str) -> Participant:
        """The participant of this id. Raises KeyError where there is none."""
        for one in self.participants:
            if one.id == participant_id:
                return one
        raise KeyError(participant_id)

    def come(self, who: Participant, told: HumanParticipant | None = None) -> None:
        """Add a participant; tell everyone except the human `told`, who knows already."""
        self.participants = (*self.participants, who)
        self.record.tell(joined(who), told)

    def go(self, participant_id: str, name: str, reason: str) -> None:
        """Remove a participant and tell everyone who is left."""
        self.participants = tuple(one for one in self.participants if one.id != participant_id)
        self.record.tell(s.ServerRoomLeftEvent(participant_id=participant_id, name=name, reason=reason))

    def change(self, participant_id: str, **changes: Any) -> None:
        """Change fields of a participant. Tells everyone who is muted or away now, or is not any more.

        Does nothing for an unknown id.
        """
        before = next((one for one in self.participants if one.id == participant_id), None)
        if before is None:
            return
        after = replace(before, **changes)
        self.participants = tuple(after if one is before else one for one in self.participants)
        if (before.muted, before.away) != (after.muted, after.away):
            self.record.tell(
                s.ServerRoomChangedEvent(
                    participant_id=after.id, name=after.name, kind=after.kind, muted=after.muted, away=after.away
                )
            )

    def rename(self, participant_id: str, name: str) -> None:
        """Give a participant another name, told as leaving and joining. Raises ClientError for a name that is taken."""
        before = self.find(participant_id)
        if self.free_name(name, of=before) != name:
            raise ClientError(f"{name!r} is taken", code="name_taken")
        human, agent = self.human(participant_id), self.agent(participant_id)
        if human is not None:
            human.name = name
        if agent is not None:
            agent.name = agent.agent.name = name
        self.change(participant_id, name=name)
        self.record.tell(s.ServerRoomLeftEvent(participant_id=before.id, name=before.name, reason="renamed"))
        self.record.tell(joined(self.find(participant_id)))

    def free_name(self, name: str, *, of: Participant | None = None) -> str:
        """The name, numbered if another participant than `of` has or reserves it.

        Raises ClientError for one that only looks like a name that is taken.
        """
        coming = {id(one) for one in self.expected} - {id(one.agent) for one in self.agents}
        taken = [one.name for one in self.participants if one is not of]
        taken += [one.name for one in self.expected if id(one) in coming]
        if folded(name) not in map(folded, taken):
            seeming = next((one for one in taken if look_alike(one, name)), None)
            if seeming is not None:
                text = f"{name!r} looks like {seeming!r}, who is here already: take another name"
                raise ClientError(text, code="name_taken")
            return name
        numbers = (f"{name} {number}" for number in count(2))
        return next(free for free in numbers if not any(look_alike(free, one) for one in taken))


def joined(who: Participant) -> s.ServerRoomJoinedEvent:
    """The event that says that a participant is there."""
    return s.ServerRoomJoinedEvent(participant_id=who.id, name=who.name, kind=who.kind, muted=who.muted, away=who.away)
