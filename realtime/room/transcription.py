"""Who writes down what humans say.

Agents do: an agent that hears a turn as sound tells its words as well. One that cannot (its model is lost, does not
understand, takes too long) is helped out by another, so a human's words are lost only where nobody here has understood
them. A pure core: which time is up is told by whoever has a clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from realtime.room.agent_participant import AgentParticipant, Utterance

ENOUGH_EMPTY = 2
"""What so many agents have heard no words in has none."""


@dataclass(slots=True)
class _Sheet:
    """A turn that is being written down."""

    utterance: Utterance
    asked: set[str] = field(default_factory=set)
    """All who were given the sound, by id."""
    writers: dict[str, AgentParticipant] = field(default_factory=dict)
    """Those of them who have not told yet what they understood."""
    n_empty: int = 0
    is_awaited: bool = True
    """Whether the talk waits for its words."""


class Words:
    """The turns of humans whose words are not known yet."""

    def __init__(self) -> None:
        self.unknown: dict[str, Utterance] = {}
        """From the beginning of a turn until its words are known, by id."""
        self._sheets: dict[str, _Sheet] = {}
        """From the end of a turn until nobody writes it down any more."""

    @property
    def are_awaited(self) -> bool:
        """Whether the talk has to wait for words."""
        return any(sheet.is_awaited and item_id in self.unknown for item_id, sheet in self._sheets.items())

    def begin(self, utterance: Utterance) -> None:
        """A human begins to speak."""
        self.unknown[utterance.id] = utterance

    def drop(self, utterance: Utterance) -> bool:
        """The turn is none after all; False where its words are known already."""
        self._sheets.pop(utterance.id, None)
        return self.unknown.pop(utterance.id, None) is not None

    def hand_out(
        self, utterance: Utterance, members: Sequence[AgentParticipant], scribe: str | None, *, named: bool
    ) -> bool:
        """The turn is over: all who listen get the sound, and first of all the one that writes it down: `scribe`, else
        the first who can. False where nobody has taken it."""
        able = [one for one in members if can_hear(one)]
        able.sort(key=lambda one: one.id != scribe)
        chosen = able[:1] + [one for one in able[1:] if one.listens == "audio"]
        sheet = self._sheets[utterance.id] = _Sheet(utterance)
        # All at once: the first may know the words before the next has the sound.
        sheet.asked.update(one.id for one in chosen)
        sheet.writers.update((one.id, one) for one in chosen)
        for member in chosen:
            # Whoever has not heard it when the words are known reads them.
            if utterance.id not in self.unknown or not member.listen(utterance, named=named):
                sheet.writers.pop(member.id, None)
        return bool(utterance.heard_by) or self.ask_another(utterance, members, named=named)

    def ask_another(self, utterance: Utterance, members: Sequence[AgentParticipant], *, named: bool) -> bool:
        """Give the sound to somebody who was not asked yet; False where nobody is left."""
        sheet = self._sheets.get(utterance.id)
        if sheet is None or utterance.id not in self.unknown:
            return False
        for member in members:
            if member.id in sheet.asked or not can_hear(member):
                continue
            sheet.asked.add(member.id)
            sheet.writers[member.id] = member
            if member.listen(utterance, named=named):
                return True
            del sheet.writers[member.id]
        return False

    def told(
        self,
        utterance: Utterance,
        by: AgentParticipant | None,
        members: Sequence[AgentParticipant],
        *,
        has_words: bool,
        named: bool,
    ) -> bool:
        """One has told what it understood (`by` is None: nobody will). True where that settles the turn."""
        sheet = self._sheets.get(utterance.id)
        if sheet is not None and by is not None:
            sheet.writers.pop(by.id, None)
        elif sheet is not None:
            sheet.writers.clear()
        if utterance.id not in self.unknown:
            if sheet is not None and not sheet.writers:
                del self._sheets[utterance.id]
            return False
        if has_words or by is None or sheet is None:
            return True
        if by.is_away or by not in members:
            # What it heard is lost with it: if it comes back, it reads the words.
            utterance.heard_by.discard(by.id)
        else:
            sheet.n_empty += 1
        if sheet.writers:
            return False
        return sheet.n_empty >= ENOUGH_EMPTY or not self.ask_another(utterance, members, named=named)

    def forsaken(self, members: Sequence[AgentParticipant]) -> list[tuple[Utterance, AgentParticipant]]:
        """Turns with one who will not tell any more what it understood."""
        return [
            (sheet.utterance, writer)
            for sheet in self._sheets.values()
            for writer in [*sheet.writers.values()]
            if writer.is_away or writer not in members
        ]

    def is_too_slow(self, utterance: Utterance) -> None:
        """The talk goes on without the words; they count when they come."""
        sheet = self._sheets.get(utterance.id)
        if sheet is not None:
            sheet.is_awaited = False

    def settle(self, utterance: Utterance) -> bool:
        """The words are known, or never will be. True where the talk has waited for them."""
        del self.unknown[utterance.id]
        sheet = self._sheets.get(utterance.id)
        if sheet is not None and not sheet.writers:
            del self._sheets[utterance.id]
        return sheet is None or sheet.is_awaited

    def is_still_written(self, utterance: Utterance) -> bool:
        """Whether somebody may still tell what it understood."""
        return utterance.id in self._sheets

    def forget(self, utterance: Utterance) -> None:
        """Nobody waits any more for what is still being written."""
        sheet = self._sheets.pop(utterance.id, None)
        for writer in sheet.writers.values() if sheet is not None else ():
            writer.forget(utterance)


def can_hear(member: AgentParticipant) -> bool:
    """Whether it takes sound now."""
    return not member.is_away and "audio" in member.agent.model.profile.input_modalities


def anybody_hears(members: Iterable[AgentParticipant]) -> bool:
    """Whether somebody of these does."""
    return any(can_hear(one) for one in members)
