"""All voices over replies in one room: how loud the reply is to be, and who speaks to whom."""

from __future__ import annotations

from dataclasses import dataclass, field

from realtime.call.participant import Ears
from realtime.event import server as s
from realtime.room.agent_participant import AgentParticipant
from realtime.room.context import RoomContext
from realtime.room.people import People
from realtime.room.side_talk import SideTalk
from realtime.room.speaker import Speaker


@dataclass(slots=True, eq=False)
class Overlaps:
    """What the voices of one room share: an `OverHub`."""

    context: RoomContext
    people: People
    speaker: Speaker
    undecided: set[str] = field(default_factory=set)
    """The humans (by id) whose voices are undecided: the reply is quieter while there is one."""
    _side_talk: SideTalk = field(default_factory=SideTalk)

    def speaking(self, human_id: str) -> AgentParticipant | None:
        """See `OverHub`."""
        agent = self.speaker.agent
        return agent if agent is not None and self.people.human(human_id) is not None else None

    def unplayed_ms(self, human_id: str) -> int:
        """See `OverHub`."""
        ears = self._ears_of(human_id)
        return self.speaker.unplayed_ms() if ears is None else ears.unplayed_ms()

    def can_be_lowered(self) -> bool:
        """See `OverHub`."""
        return self.speaker.can_be_lowered()

    def played_ms(self, human_id: str, item_id: str) -> int:
        """See `OverHub`."""
        ears = self._ears_of(human_id)
        return self.speaker.played_ms(item_id) if ears is None else ears.played_ms(item_id)

    def _ears_of(self, human_id: str) -> Ears | None:
        """The ears of a human; None for one who came while the agent spoke."""
        human = self.people.human(human_id)
        return human.host.ears if human is not None and self.speaker.is_heard_by(human) else None

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
        return self._side_talk.addressed(human_id, words, self.people.participants, self.context.runtime.now())
