"""All voices over replies in one room: how loud the reply is to be, and who speaks to whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from realtime.event import server as s
from realtime.room.agent_participant import AgentParticipant
from realtime.room.people import People
from realtime.room.side_talk import SideTalk


@dataclass(slots=True, eq=False)
class Overlaps:
    """What the voices of one room share: an `OverHub`. `speaking` returns the agent that has the floor."""

    people: People
    speaking: Callable[[], AgentParticipant | None]
    now: Callable[[], float]
    undecided: set[str] = field(default_factory=set)
    """The humans (by id) whose voices are undecided: the reply is quieter while there is one."""
    _side_talk: SideTalk = field(default_factory=SideTalk)

    def tell(self, human_id: str, event: s.ServerEvent) -> None:
        """See `OverHub`."""
        if type(event) is s.AgentInterruptionEvent:
            if event.state == "possible":
                self.undecided.add(human_id)
            else:
                self.undecided.discard(human_id)
        elif self.undecided - {human_id}:
            return  # The voice of another human keeps the level where it is.
        self.people.record.tell(event)

    def addressed(self, human_id: str, words: str) -> bool | None:
        """See `OverHub`."""
        return self._side_talk.addressed(human_id, words, self.people.participants, self.now())
