"""Who writes down what humans say.

Agents do: an agent that hears a turn as sound reports its words as well. Where one cannot (its model is lost, does not
understand, takes too long), another one is asked, so a human's words are lost only where no agent has understood them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from realtime.event import server as s
from realtime.room.agent_participant import AgentParticipant
from realtime.room.context import RoomContext
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


@dataclass(slots=True, eq=False)
class Transcription:
    """The words of humans' turns, and how long the room waits.

    `on_known` is called with a turn whose words are known (or never will be), and whether the talk has waited for them;
    `on_slow` when the talk waits for the words of a turn no longer.
    """

    context: RoomContext
    people: People
    on_known: Callable[[Utterance, bool], None]
    on_slow: Callable[[], None]
    pending: dict[str, Utterance] = field(default_factory=dict)
    """Turns from their beginning until their words are known, by id."""
    _sheets: dict[str, _Sheet] = field(default_factory=dict)
    """Turns from their end until no agent transcribes them any more."""
    _is_settling: bool = False

    @property
    def are_awaited(self) -> bool:
        """Whether the talk has to wait for words."""
        return any(sheet.is_awaited and item_id in self.pending for item_id, sheet in self._sheets.items())

    def begin(self, utterance: Utterance) -> None:
        """A human begins to speak."""
        self.pending[utterance.id] = utterance

    def drop(self, utterance: Utterance) -> bool:
        """Forget a false start. Returns False where its words are known already."""
        self._sheets.pop(utterance.id, None)
        return self.pending.pop(utterance.id, None) is not None

    def write_down(self, utterance: Utterance, scribe: str | None) -> None:
        """Send a finished turn's audio to the listening agents; one transcribes it.

        That is `scribe` (by id), else the first that can.
        """
        able = [one for one in self.people.agents if can_hear(one)]
        able.sort(key=lambda one: (one.id != scribe, one.is_silent))
        chosen = able[:1] + [one for one in able[1:] if one.listens == "audio"]
        sheet = self._sheets[utterance.id] = _Sheet(utterance)
        # All at once: the first may know the words before the next has the sound.
        sheet.asked.update(one.id for one in chosen)
        sheet.writers.update((one.id, one) for one in chosen)
        for agent in chosen:
            # An agent that has not heard it when the words are known reads them.
            if utterance.id not in self.pending or not self._let_hear(agent, utterance):
                sheet.writers.pop(agent.id, None)
        if not (utterance.heard_by or self._ask_another(utterance)):
            if not any(can_hear(one) for one in self.people.agents):
                self.people.record.complain(
                    "nobody here can hear: all agents are away or take no sound", "nobody_hears"
                )
            self.told(utterance, "")
        elif utterance.id in self.pending:
            self._after(utterance, SLOW_WORDS_S, self._is_slow)

    def told(self, utterance: Utterance, text: str, by: AgentParticipant | None = None) -> None:
        """Take the words of a turn as `by` has understood them; empty where it has understood none.

        The first words count. That there are none counts when all agree who were asked, or without `by`.
        """
        text, sheet = text.strip(), self._sheets.get(utterance.id)
        if self.context.is_over:
            by = None  # No other agent is asked: all of them leave.
        if sheet is not None and by is not None:
            sheet.writers.pop(by.id, None)
        elif sheet is not None:
            sheet.writers.clear()
        if utterance.id not in self.pending:
            if sheet is None or not sheet.writers:
                self._forget(utterance)
            return
        if sheet is not None and by is not None and not text:
            if by.is_away or by not in self.people.agents:
                # What it heard is lost with it: if it comes back, it reads the words.
                utterance.heard_by.discard(by.id)
            else:
                sheet.n_empty += 1
            if sheet.writers or (sheet.n_empty < ENOUGH_EMPTY and self._ask_another(utterance)):
                return
        self._settle(utterance, text)

    def settle_forsaken(self) -> bool:
        """Settle turns that no agent writes down any more. Returns False while that is under way."""
        if self._is_settling:
            return False
        self._is_settling = True
        agents = self.people.agents
        forsaken = [
            (sheet.utterance, writer)
            for sheet in self._sheets.values()
            for writer in sheet.writers.values()
            if writer.is_away or writer not in agents
        ]
        try:
            for utterance, writer in forsaken:
                self.told(utterance, "", writer)
        finally:
            self._is_settling = False
        return True

    def _let_hear(self, agent: AgentParticipant, utterance: Utterance) -> bool:
        """Give an agent the audio, after the human's name among several."""
        return agent.listen(utterance, named=any(human.id != utterance.who for human in self.people.humans))

    def _ask_another(self, utterance: Utterance) -> bool:
        """Give the sound to an agent that was not asked yet. Returns False where none is left."""
        sheet = self._sheets.get(utterance.id)
        if sheet is None or utterance.id not in self.pending:
            return False
        for agent in self.people.agents:
            if agent.id in sheet.asked or not can_hear(agent):
                continue
            sheet.asked.add(agent.id)
            sheet.writers[agent.id] = agent
            if self._let_hear(agent, utterance):
                return True
            del sheet.writers[agent.id]
        return False

    def _is_slow(self, utterance: Utterance) -> None:
        """The agent that writes it down is slow: another one does as well."""
        self._after(utterance, TRANSCRIPT_S - SLOW_WORDS_S, self._go_on_without)
        self._ask_another(utterance)

    def _go_on_without(self, utterance: Utterance) -> None:
        """The talk goes on without the words; they count when they come."""
        self._after(utterance, LATE_WORDS_S - TRANSCRIPT_S, self._give_up)
        if utterance.id in self._sheets:
            self._sheets[utterance.id].is_awaited = False
        self.on_slow()

    def _give_up(self, utterance: Utterance) -> None:
        """Wait no more for what is still being written."""
        if utterance.id in self.pending:
            self._settle(utterance, "")
        sheet = self._forget(utterance)
        for writer in sheet.writers.values() if sheet is not None else ():
            writer.dictation.forget(utterance)

    def _settle(self, utterance: Utterance, text: str) -> None:
        """The words are known: tell everyone."""
        del self.pending[utterance.id]
        sheet = self._sheets.get(utterance.id)
        if sheet is not None and sheet.writers:
            # Other agents write it down as well: not for ever.
            self._after(utterance, LATE_WORDS_S, self._give_up)
        else:
            self._forget(utterance)
        utterance.text = text
        record = self.people.record
        who: dict[str, Any] = {"agent_id": utterance.who, "agent_name": utterance.name}
        record.tell(s.AgentInputTranscriptionDoneEvent(item_id=utterance.id, transcript=text, **who))
        item = record.conversation.get(utterance.id)
        if item is not None:
            record.tell(s.AgentItemDoneEvent(item=item, **who))
        self.on_known(utterance, sheet is None or sheet.is_awaited)

    def _after(self, utterance: Utterance, delay_s: float, act: Callable[[Utterance], None]) -> None:
        self.context.timers.after(f"words {utterance.id}", delay_s, lambda: act(utterance))

    def _forget(self, utterance: Utterance) -> _Sheet | None:
        """No agent writes it down any more."""
        self.context.timers.cancel(f"words {utterance.id}")
        return self._sheets.pop(utterance.id, None)


def can_hear(agent: AgentParticipant) -> bool:
    """Whether it takes sound now."""
    return not agent.is_away and "audio" in agent.agent.model.profile.input_modalities
