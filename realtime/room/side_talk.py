"""Which humans speak to each other while an agent speaks. Pure: times are arguments."""

from __future__ import annotations

from dataclasses import dataclass, field

from realtime.room.addressee import called_in
from realtime.room.participant import Participant, named_in
from realtime.turn.small_talk import DEFAULT_BACKCHANNELS, rest_of, tokens_of

CALLED_S = 4.0
"""How soon a human who was called answers; a later voice is to the agent again."""


@dataclass(slots=True)
class SideTalk:
    """Knows who was called over a reply and may answer."""

    _called: dict[str, tuple[str, float]] = field(default_factory=dict)
    """By the id of a human: who has called them, and until when (seconds) their words are the answer."""

    def addressed(self, who: str, words: str, participants: tuple[Participant, ...], now_s: float) -> bool | None:
        """Whether these words are to an agent; False: to another human; None: unknown.

        `who` is the id of the human who says them. Humans and agents are called as in any turn; an agent that is only
        named may stop, too. Who was called answers, unless they name an agent or their words take the floor.
        """
        humans = tuple(one for one in participants if one.kind == "human" and one.id != who)
        agents = tuple(one for one in participants if one.kind == "agent")
        called = [one for one in called_in(words, participants) if one.id != who]
        if called and all(one.kind == "human" for one in called):
            for one in called:
                self._called[one.id] = who, now_s + CALLED_S
            return False
        if named_in(words, agents, besides=humans) is not None:
            self._called.pop(who, None)
            return True
        caller, until_s = self._called.get(who, ("", 0.0))
        if now_s >= until_s or rest_of(tokens_of(words), DEFAULT_BACKCHANNELS)[1]:
            return None
        self._called[who] = caller, now_s + CALLED_S  # They go on.
        self._called[caller] = who, now_s + CALLED_S
        return False
