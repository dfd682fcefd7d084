"""The humans of a room as an agent asks them aloud: a `realtime.call.asked.Asked`.

Each is heard by their own socket, and has heard what their own client has played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from realtime.call.asked import Person
from realtime.event.server import ServerEvent, ServerPlaybackEvent
from realtime.room.agent_participant import AgentParticipant
from realtime.room.consent import Consent
from realtime.room.human_participant import HumanParticipant
from realtime.room.overlaps import Overlaps
from realtime.room.people import People
from realtime.room.speaker import Speaker
from realtime.room.transcription import TRANSCRIPT_S, Transcription, can_hear


@dataclass(frozen=True, slots=True)
class AskedHuman:
    """One human: a `Person`."""

    human: HumanParticipant
    agent: AgentParticipant

    @property
    def id(self) -> str:
        """See `Person`."""
        return self.human.id

    @property
    def position_ms(self) -> int:
        """See `Person`."""
        return self.human.received_ms

    def played_ms(self, item_id: str) -> int:
        """See `Person`."""
        return self.human.host.ears.played_ms(self.agent.room_name(item_id))

    def unplayed_ms(self) -> int:
        """See `Person`."""
        return self.human.host.ears.unplayed_ms()


@dataclass(slots=True, eq=False)
class AskedHumans:
    """Those whom one agent (`agent`) asks."""

    agent: AgentParticipant
    people_here: People
    consent: Consent
    speaker: Speaker
    transcription: Transcription
    overlaps: Overlaps
    words_s: float = TRANSCRIPT_S
    recording: str | None = None
    """Each human has a call of their own, whose sound is theirs."""

    @property
    def is_silent(self) -> bool:
        """See `Asked`."""
        return self.speaker.unplayed_ms() <= 0

    @property
    def is_free(self) -> bool:
        """See `Asked`."""
        is_there = any(not one.is_away for one in self._humans(self.agent.aloud.call_id))
        return is_there and self.speaker.is_played and not self.is_held_up

    @property
    def is_held_up(self) -> bool:
        """See `Asked`."""
        if (
            not self.agent.has_floor
            or self.speaker.is_ending
            or self.overlaps.undecided
            or self.transcription.are_awaited
        ):
            return True
        microphones = (one.microphone for one in self.people_here.humans)
        return any(one.is_speaking and not one.is_stalled for one in microphones)

    def why_not(self, call_id: str) -> str:
        """See `Asked`."""
        humans = self._humans(call_id)
        if not any(can_hear(one) for one in self.people_here.agents):
            return "no agent in this room hears what humans say"
        if not any(_takes_unasked(one) for one in humans):
            return "this client does not expect an agent that speaks unasked"
        if all(one.microphone.is_muted for one in humans):
            return "who is asked is muted"
        return "" if any(one.received_samples for one in humans) else "this client has sent no sound"

    def people(self, call_id: str) -> Sequence[Person]:
        """See `Asked`."""
        return [AskedHuman(one, self.agent) for one in self._humans(call_id)]

    def only(self, call_id: str) -> str | None:
        """See `Asked`."""
        asked_by = self.agent.aloud.asker_of(call_id)
        return None if self.consent.by == "anyone" or asked_by is None else self.consent.name_of(asked_by)

    def name_of(self, call_id: str, person_id: str) -> str | None:
        """See `Asked`."""
        return self.consent.name_of(person_id or self.agent.aloud.asker_of(call_id) or "")

    def follow(self, follow: Callable[[ServerEvent, str], None]) -> Callable[[], None]:
        """See `Asked`."""
        unfollow = [self.agent.follow(lambda event: follow(event, ""))]
        for human in self.people_here.humans:
            own = human.host.own
            if own is not None:
                unfollow.append(own.follow(self._playback(human, follow)))

        def end() -> None:
            for one in unfollow:
                one()

        return end

    def _playback(
        self, human: HumanParticipant, follow: Callable[[ServerEvent, str], None]
    ) -> Callable[[ServerEvent], None]:
        human_id, agent = human.id, self.agent

        def told(event: ServerEvent) -> None:
            if type(event) is ServerPlaybackEvent and (own_id := agent.own_name(event.item_id)) is not None:
                follow(msgspec.structs.replace(event, item_id=own_id), human_id)

        return told

    def let_pass(self, *, is_theirs: bool) -> None:
        """See `Asked`: the room decides what follows."""

    def respond(self, beside: Callable[[], None] | None) -> None:
        """See `Asked`: it is a turn of the room."""

    def forget(self, turn_ids: Iterable[str], *, typed: bool) -> None:
        """See `Asked`."""
        for turn_id in turn_ids:
            self.agent.forget(turn_id)

    def _humans(self, call_id: str) -> Sequence[HumanParticipant]:
        return self.consent.asked(self.agent.aloud.asker_of(call_id))


def _takes_unasked(human: HumanParticipant) -> bool:
    return human.host.own is None or human.host.own.takes_unasked
