"""Who may answer what the agents of a room ask before a tool runs.

The human whose turn led to the call does: what one has asked for, nobody else agrees to (docs/rooms.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from realtime.errors import ClientError
from realtime.event import client as c
from realtime.room.agent_participant import AgentParticipant, OpenCall
from realtime.room.human_participant import HumanParticipant

ConsentBy = Literal["asked", "anyone"]
"""The human whose turn led to the call, or every human of the room."""
ABSENT = "the human who had to agree has left the room"


class Consent:
    """The rule of one room, over those who are in it (`members` and `seats` are the room's own lists)."""

    def __init__(self, by: ConsentBy, members: Sequence[AgentParticipant], seats: Sequence[HumanParticipant]) -> None:
        self._by = by
        self._members = members
        self._seats = seats
        self.asked_by: str | None = None
        """The human (by id) who said something last: an agent that takes the floor now acts for them."""

    def answered_by(self, seat: HumanParticipant, event: c.ClientToolResultEvent) -> AgentParticipant:
        """The agent whose call this human answers. Raises ClientError where none is open, or another human is asked."""
        # The longest first: one id may be the beginning of another.
        for member in sorted(self._members, key=lambda member: -len(member.id)):
            call = member.open_call(event.id)
            if call is not None:
                if event.confirmed is not None and call.asks:
                    self._check(seat, call)
                return member
        raise ClientError(f"no open tool call has the id {event.id!r}", code="unknown_tool_call")

    def _check(self, seat: HumanParticipant, call: OpenCall) -> None:
        if self._by == "anyone" or call.asked_by in (None, seat.id):
            return
        name = next((one.name for one in self._seats if one.id == call.asked_by), "somebody who has left")
        raise ClientError(
            f"{name} is asked whether {call.name} may run, since their turn led to it: the question stays open",
            code="not_yours_to_answer",
        )

    def refuse_for_absent(self) -> None:
        """Nobody agrees in the place of a human who has left: what they are asked is refused."""
        if self._by == "asked":
            present = {seat.id for seat in self._seats}
            for member in self._members:
                member.refuse_for_absent(present, ABSENT)
