"""Who writes down what humans say.

Agents do: an agent that hears a turn as sound reports its words as well. Where one cannot (its model is lost, does not
understand, takes too long), another one is asked, so a human's words are lost only where no agent has understood them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from realtime.event import server as s
from realtime.room.agent_participant import AgentParticipant
from realtime.room.context import Context
from realtime.room.people import People
from realtime.room.utterance import Utterance

ENOUGH_EMPTY = 2
"""A turn has no words once this many agents heard none."""
SLOW_WORDS_S = 5.0
"""Seconds for one agent to transcribe before a second is asked too."""
TRANSCRIPT_S = 10.0
"""How long the talk waits for a turn's words before it continues."""
LATE_WORDS_S = 60.0
"""How long after the end of a turn its words still count."""


class Transcription:
    """The words of humans' turns, and how long the room waits.

    `on_known` is called with a turn whose words are known (or never will be), and whether the talk has waited for them;
    `on_slow` when the talk waits for the words of a turn no longer.
    """

    def __init__(
        self,
        context: Context,
        people: People,
        on_known: Callable[[Utterance, bool], None],
        on_slow: Callable[[], None],
    ) -> None:
        self._context = context
        self._people = people
        self._on_known = on_known
        self._on_slow = on_slow
        self.words = Words()
        self._is_settling = False

    @property
    def are_awaited(self) -> bool:
        """Whether the talk has to wait for words."""
        return self.words.are_awaited

    @property
    def pending(self) -> dict[str, Utterance]:
        """Turns whose words are not known yet, by id."""
        return self.words.unknown

    def begin(self, utterance: Utterance) -> None:
        """A human begins to speak."""
        self.words.begin(utterance)

    def drop(self, utterance: Utterance) -> bool:
        """Forget a turn that was a false start. Returns False where its words are known already."""
        return self.words.drop(utterance)

    def write_down(self, utterance: Utterance, scribe: str | None) -> None:
        """A turn is over: have it written down, by the agent `scribe` (by id) where it can."""
        agents = self._people.agents
        if not self.words.hand_out(utterance, agents, scribe, named=self._is_named(utterance)):
            if not any(can_hear(one) for one in agents):
                self._people.record.complain(
                    "nobody here can hear: all agents are away or take no sound", "nobody_hears"
                )
            self.told(utterance, "")
        elif utterance.id in self.pending:
            self._after(utterance, SLOW_WORDS_S, self._ask_another)

    def told(self, utterance: Utterance, text: str, by: AgentParticipant | None = None) -> None:
        """Take the words of a turn as `by` has understood them; empty where it has understood none.

        The first words count. That there are none counts when all agree who were asked.
        """
        text, named = text.strip(), self._is_named(utterance)
        if self._context.is_over:
            by = None  # No other agent is asked: all of them leave.
        if self.words.told(utterance, by, self._people.agents, has_words=bool(text), named=named):
            self._settle(utterance, text)
        elif utterance.id not in self.pending and not self.words.is_still_written(utterance):
            self._cancel(utterance)

    def settle_forsaken(self) -> bool:
        """Settle turns that no agent writes down any more. Returns False while that is under way."""
        if self._is_settling:
            return False
        self._is_settling = True
        try:
            for utterance, writer in self.words.forsaken(self._people.agents):
                self.told(utterance, "", writer)
        finally:
            self._is_settling = False
        return True

    def _is_named(self, utterance: Utterance) -> bool:
        """Whether agents have to be told whose voice it is."""
        return any(human.id != utterance.who for human in self._people.humans)

    def _ask_another(self, utterance: Utterance) -> None:
        """The agent that writes it down is slow: another one does as well."""
        self._after(utterance, TRANSCRIPT_S - SLOW_WORDS_S, self._go_on_without)
        self.words.ask_another(utterance, self._people.agents, named=self._is_named(utterance))

    def _go_on_without(self, utterance: Utterance) -> None:
        self._after(utterance, LATE_WORDS_S - TRANSCRIPT_S, self._give_up)
        self.words.is_too_slow(utterance)
        self._on_slow()

    def _give_up(self, utterance: Utterance) -> None:
        if utterance.id in self.pending:
            self._settle(utterance, "")
        self.words.forget(utterance)
        self._cancel(utterance)

    def _settle(self, utterance: Utterance, text: str) -> None:
        """The words are known: tell everyone."""
        was_awaited = self.words.settle(utterance)
        if self.words.is_still_written(utterance):
            # Other agents write it down as well: not for ever.
            self._after(utterance, LATE_WORDS_S, self._give_up)
        else:
            self._cancel(utterance)
        utterance.text = text
        record = self._people.record
        who: dict[str, Any] = {"agent_id": utterance.who, "agent_name": utterance.name}
        record.tell(s.AgentInputTranscriptionDoneEvent(item_id=utterance.id, transcript=text, **who))
        item = record.conversation.get(utterance.id)
        if item is not None:
            record.tell(s.AgentItemDoneEvent(item=item, **who))
        self._on_known(utterance, was_awaited)

    def _after(self, utterance: Utterance, delay_s: float, act: Callable[[Utterance], None]) -> None:
        self._context.timers.after(f"words {utterance.id}", delay_s, lambda: act(utterance))

    def _cancel(self, utterance: Utterance) -> None:
        self._context.timers.cancel(f"words {utterance.id}")


@dataclass(slots=True)
class _Sheet:
    """A turn that is being written down."""

    utterance: Utterance
    asked: set[str] = field(default_factory=set)
    """All agents (by id) that were given the sound."""
    writers: dict[str, AgentParticipant] = field(default_factory=dict)
    """Those of them that have not reported yet what they understood."""
    n_empty: int = 0
    is_awaited: bool = True
    """Whether the talk waits for its words."""


class Words:
    """The turns of humans whose words are not known yet. Pure: time comes in as calls."""

    def __init__(self) -> None:
        self.unknown: dict[str, Utterance] = {}
        """Turns from their beginning until their words are known, by id."""
        self._sheets: dict[str, _Sheet] = {}
        """Turns from their end until no agent transcribes them any more."""

    @property
    def are_awaited(self) -> bool:
        """Whether the talk has to wait for words."""
        return any(sheet.is_awaited and item_id in self.unknown for item_id, sheet in self._sheets.items())

    def begin(self, utterance: Utterance) -> None:
        """A human begins to speak."""
        self.unknown[utterance.id] = utterance

    def drop(self, utterance: Utterance) -> bool:
        """Forget a turn that was a false start. Returns False where its words are known already."""
        self._sheets.pop(utterance.id, None)
        return self.unknown.pop(utterance.id, None) is not None

    def hand_out(
        self, utterance: Utterance, agents: Sequence[AgentParticipant], scribe: str | None, *, named: bool
    ) -> bool:
        """Send a turn's audio to all listening agents: first to the one that transcribes.

        That is `scribe`, else the first that can. Returns False where no agent has taken it.
        """
        able = [one for one in agents if can_hear(one)]
        able.sort(key=lambda one: one.id != scribe)
        chosen = able[:1] + [one for one in able[1:] if one.listens == "audio"]
        sheet = self._sheets[utterance.id] = _Sheet(utterance)
        # All at once: the first may know the words before the next has the sound.
        sheet.asked.update(one.id for one in chosen)
        sheet.writers.update((one.id, one) for one in chosen)
        for agent in chosen:
            # An agent that has not heard it when the words are known reads them.
            if utterance.id not in self.unknown or not agent.listen(utterance, named=named):
                sheet.writers.pop(agent.id, None)
        return bool(utterance.heard_by) or self.ask_another(utterance, agents, named=named)

    def ask_another(self, utterance: Utterance, agents: Sequence[AgentParticipant], *, named: bool) -> bool:
        """Give the sound to an agent that was not asked yet. Returns False where none is left."""
        sheet = self._sheets.get(utterance.id)
        if sheet is None or utterance.id not in self.unknown:
            return False
        for agent in agents:
            if agent.id in sheet.asked or not can_hear(agent):
                continue
            sheet.asked.add(agent.id)
            sheet.writers[agent.id] = agent
            if agent.listen(utterance, named=named):
                return True
            del sheet.writers[agent.id]
        return False

    def told(
        self,
        utterance: Utterance,
        by: AgentParticipant | None,
        agents: Sequence[AgentParticipant],
        *,
        has_words: bool,
        named: bool,
    ) -> bool:
        """Take what `by` has understood; None: no agent will. Returns whether that settles the turn."""
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
        if by.is_away or by not in agents:
            # What it heard is lost with it: if it comes back, it reads the words.
            utterance.heard_by.discard(by.id)
        else:
            sheet.n_empty += 1
        if sheet.writers:
            return False
        return sheet.n_empty >= ENOUGH_EMPTY or not self.ask_another(utterance, agents, named=named)

    def forsaken(self, agents: Sequence[AgentParticipant]) -> list[tuple[Utterance, AgentParticipant]]:
        """Turns whose agent will not report any more what it understood."""
        return [
            (sheet.utterance, writer)
            for sheet in self._sheets.values()
            for writer in [*sheet.writers.values()]
            if writer.is_away or writer not in agents
        ]

    def is_too_slow(self, utterance: Utterance) -> None:
        """The talk goes on without the words; they count when they come."""
        sheet = self._sheets.get(utterance.id)
        if sheet is not None:
            sheet.is_awaited = False

    def settle(self, utterance: Utterance) -> bool:
        """The words are known, or never will be. Returns whether the talk has waited for them."""
        del self.unknown[utterance.id]
        sheet = self._sheets.get(utterance.id)
        if sheet is not None and not sheet.writers:
            del self._sheets[utterance.id]
        return sheet is None or sheet.is_awaited

    def is_still_written(self, utterance: Utterance) -> bool:
        """Whether an agent may still report what it understood."""
        return utterance.id in self._sheets

    def forget(self, utterance: Utterance) -> None:
        """Wait no more for what is still being written."""
        sheet = self._sheets.pop(utterance.id, None)
        for writer in sheet.writers.values() if sheet is not None else ():
            writer.dictation.forget(utterance)


def can_hear(agent: AgentParticipant) -> bool:
    """Whether it takes sound now."""
    return not agent.is_away and "audio" in agent.agent.model.profile.input_modalities
