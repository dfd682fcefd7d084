"""Which humans hear an agent's turn, and how much of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from realtime.room.agent_participant import AgentParticipant
from realtime.room.human_participant import HumanParticipant

LAGS_MS = 2_000
"""A client further behind than this does not report what it plays."""


@dataclass(slots=True, eq=False)
class Hearing:
    """One turn of an agent (`speaker`). `audience` are the humans who were there when it began."""

    speaker: AgentParticipant | None = None
    audience: frozenset[HumanParticipant] = frozenset()
    ear: HumanParticipant | None = None
    """The human who interrupts."""
    cut: Callable[[], None] | None = None
    """Cuts it where it was heard, once a client has reported that; None while nothing is to be cut."""
    conclude: Callable[[], None] | None = None
    """Called when it is cut."""
    correct: Callable[[], None] | None = None
    """Called where a client reports late, after that."""
    _played_to_gone: dict[str, int] = field(default_factory=dict)
    """How much those who have left heard of each item, in ms."""

    def played_ms(self, item_id: str, humans: Sequence[HumanParticipant]) -> int:
        """Heard ms of an item: by the human who interrupts, else by the furthest.

        A human who came in the middle, or whose client does not report playback, takes nothing from the others.
        """
        furthest_ms = max(
            [self._played_to_gone.get(item_id, 0), *(human.host.ears.played_ms(item_id) for human in humans)]
        )
        ear = self._ear_that_counts
        if ear is None or ear not in humans:
            return furthest_ms
        played_ms = ear.host.ears.played_ms(item_id)
        return played_ms if played_ms and furthest_ms - played_ms <= LAGS_MS else furthest_ms

    def after_flush(self, settle: Callable[[], None]) -> None:
        """See `realtime.call.participant.Ears`: it waits for the answer of no other human."""
        ear = self._ear_that_counts
        if ear is None:
            settle()
        else:
            ear.host.ears.after_flush(settle)

    def without(self, human: HumanParticipant) -> None:
        """A human leaves; what they have heard stays heard."""
        if self.speaker is not None and human in self.audience:
            for item_id in self.speaker.item_ids:
                played_ms = max(self._played_to_gone.get(item_id, 0), human.host.ears.played_ms(item_id))
                self._played_to_gone[item_id] = played_ms
        if self.ear is human:
            self.ear = None

    @property
    def _ear_that_counts(self) -> HumanParticipant | None:
        return self.ear if self.ear in self.audience else None
