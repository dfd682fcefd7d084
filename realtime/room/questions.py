"""The questions that agents of a room ask aloud: whose turns answer them, and which agent goes on to ask.

One question is asked at a time, by the agent that has the floor. A human who speaks takes the floor, and the question
stays open. The turn of who is asked is first an answer to it (`realtime.agent.consent`); any other is a turn of the
room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from realtime.agent.answers import Taken
from realtime.agent.consent import Consents
from realtime.agent.overlap import Overlap
from realtime.room.agent_participant import AgentParticipant
from realtime.room.asked import AskedHumans
from realtime.room.consent import Consent
from realtime.room.context import RoomContext
from realtime.room.human_participant import HumanParticipant
from realtime.room.overlaps import Overlaps
from realtime.room.people import People
from realtime.room.speaker import Speaker
from realtime.room.transcription import Transcription
from realtime.room.utterance import Utterance

CROSSTALK_S = 0.3
"""How late another microphone may hear a voice from a loudspeaker."""


@dataclass(slots=True, eq=False)
class _Turn:
    """A human's turn while a question is open."""

    agent: AgentParticipant
    """Whose question is open."""
    utterance: Utterance
    may_answer: bool
    """Whether it is of who is asked."""
    start_ms: int
    start_s: float
    end_ms: int | None = None
    end_s: float = inf


@dataclass(slots=True, eq=False)
class Questions:
    """Those of one room."""

    context: RoomContext
    people: People
    consent: Consent
    speaker: Speaker
    transcription: Transcription
    overlaps: Overlaps
    is_turn_open: bool = False
    """Whether a human's turn, other than an answer, waits for an agent."""
    _latest: AgentParticipant | None = None
    """The agent that asked last, unless another one has spoken since."""
    _answerer: str | None = None
    """Who answers it (by id), of those who may: who began first."""
    _turns: dict[str, _Turn] = field(default_factory=dict)
    """By utterance, until the words are known."""
    _joined: list[Utterance] = field(default_factory=list)
    """What is read with the turn that follows it."""
    _voices: dict[str, tuple[float, float]] = field(default_factory=dict)
    """From when to when each human was heard last, in seconds."""

    def asked(self, agent: AgentParticipant) -> AskedHumans:
        """Return those whom this agent asks."""
        return AskedHumans(agent, self.people, self.consent, self.speaker, self.transcription, self.overlaps)

    # -- the floor -----------------------------------------------------------------------------------------------------

    def next(self) -> AgentParticipant | None:
        """The agent that goes on next with a question; None where none waits, or who is asked is away."""
        latest = self._latest
        for agent in sorted(self.people.agents, key=lambda one: one is not latest):
            if agent.aloud.needs_floor and not agent.is_muted:
                return agent
        return None

    def has_floor(self, agent: AgentParticipant) -> None:
        """An agent begins to speak: what is said to it answers no question of another one."""
        self.is_turn_open = False
        for one in self.people.agents:
            if one is not agent and (consents := one.aloud.consents) is not None:
                consents.on_other_words()
        agent.aloud.set_away(self._is_away(agent))
        self._latest = agent if agent.aloud.needs_floor else None

    def begins(self, agent: AgentParticipant) -> None:
        """An agent begins to ask, or asks again: anybody who is asked may answer."""
        self._latest, self._answerer = agent, None

    def presence(self) -> None:
        """A human is away, is back, or has left. Where no one who is asked is there, nothing is asked."""
        self._voices = {one.id: self._voices[one.id] for one in self.people.humans if one.id in self._voices}
        for agent in self.people.agents:
            is_away = self._is_away(agent)
            agent.aloud.set_away(is_away)
            if is_away and agent.aloud.is_open and self.speaker.agent is agent:
                self.speaker.stop()

    def withdraw(self) -> None:
        """A client has stopped the talk: the questions end with it."""
        for agent in self.people.agents:
            if agent.aloud.needs_floor:
                agent.withdraw()

    # -- what humans say -----------------------------------------------------------------------------------------------

    def asker(self) -> AgentParticipant | None:
        """The agent whose question is open to a voice that begins now."""
        speaker = self.speaker.agent
        if speaker is not None and speaker.aloud.is_open:
            self._latest = speaker
        agent = self._latest
        return agent if agent is not None and agent.aloud.is_open else None

    def is_asked(self, human: HumanParticipant) -> bool:
        """Whether a question is open that this human may answer."""
        agent = self.asker()
        return agent is not None and self._may_answer(agent, human)

    def voice_began(
        self, agent: AgentParticipant | None, human: HumanParticipant, utterance: Utterance, start_ms: int
    ) -> None:
        """A turn of a human begins; `agent` is the `asker` before it."""
        now = self.context.runtime.now()
        start_s = now - max(0, human.received_ms - start_ms) / 1000
        self._voices[human.id] = start_s, inf
        consents = None if agent is None else agent.aloud.consents
        if agent is None or consents is None:
            return
        may_answer = self._may_answer(agent, human)
        self._turns[utterance.id] = _Turn(agent, utterance, may_answer, start_ms, start_s)
        if may_answer:
            self._answerer = human.id
            consents.answers_from(human.id)
            consents.voice_began(utterance.id, start_ms)

    def voice_ended(self, human: HumanParticipant, utterance: Utterance, end_ms: int, *, is_far: bool) -> None:
        """Their turn is over; its words follow."""
        now = self.context.runtime.now()
        self.falls_silent(human)
        turn = self._turns.get(utterance.id)
        if turn is None:
            return
        turn.end_ms, turn.end_s = end_ms, now
        if turn.may_answer and (consents := turn.agent.aloud.consents) is not None:
            consents.voice_ended(end_ms, far=is_far)

    def voice_dropped(self, human: HumanParticipant, utterance: Utterance) -> None:
        """Their turn was a false start."""
        self.falls_silent(human)
        turn = self._turns.pop(utterance.id, None)
        if turn is not None and turn.may_answer:
            self._answerer = None

    def is_heard(self, human: HumanParticipant) -> None:
        """A voice begins over what an agent says, and is undecided; or one that had stopped in mid-turn goes on."""
        self._voices[human.id] = self.context.runtime.now(), inf

    def falls_silent(self, human: HumanParticipant) -> None:
        """Their voice is over, or its audio has stopped in mid-turn."""
        from_s, _ = self._voices.get(human.id, (0.0, 0.0))
        self._voices[human.id] = from_s, self.context.runtime.now()

    def dismissed(self, human: HumanParticipant, over: Overlap) -> None:
        """Such a voice did not take the floor."""
        self.falls_silent(human)
        agent = self.asker()
        if agent is not None and self._may_answer(agent, human) and (consents := agent.aloud.consents) is not None:
            consents.answers_from(human.id)
            consents.dismissed(over)

    def is_answer(self, utterance: Utterance) -> bool:
        """Whether a turn whose words are not known may be an answer."""
        turn = self._turns.get(utterance.id)
        return turn is not None and turn.may_answer

    def words(self, utterance: Utterance) -> tuple[Taken, list[Utterance]]:
        """The words of a turn are known: return what it was, with those that are read with it."""
        turn = self._turns.pop(utterance.id, None)
        consents = None if turn is None else turn.agent.aloud.consents
        if turn is None or consents is None:
            return Taken.TURN, [utterance]
        if not turn.may_answer:
            consents.other_said(utterance.text, turn.start_ms, turn.end_ms)
            return Taken.TURN, [utterance]
        consents.taken, consents.is_over_others = None, self._is_over_others(turn)
        consents.words(utterance.id, utterance.text)
        return self._taken(consents, turn.agent, utterance)

    def typed(
        self, agent: AgentParticipant | None, human: HumanParticipant, utterance: Utterance
    ) -> tuple[Taken, list[Utterance]]:
        """A human has typed a turn; `agent` is the `asker` before it."""
        consents = None if agent is None else agent.aloud.consents
        if agent is None or consents is None:
            return Taken.TURN, [utterance]
        if not self._may_answer(agent, human):
            consents.other_said(utterance.text, human.received_ms, human.received_ms)
            return Taken.TURN, [utterance]
        consents.answers_from(human.id)
        consents.taken, consents.is_over_others = None, False
        consents.typed(utterance.id, utterance.text)
        return self._taken(consents, agent, utterance)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _taken(
        self, consents: Consents, agent: AgentParticipant, utterance: Utterance
    ) -> tuple[Taken, list[Utterance]]:
        if consents.taken is None:
            self._joined.append(utterance)
            return Taken.NOTHING, []
        taken, joined = consents.taken, [*self._joined, utterance]
        self._joined.clear()
        if taken is Taken.ANSWER and agent.forgets_answers:
            for one in joined:
                one.heard_by.add(agent.id)  # its tool's result tells the model
        elif taken is not Taken.ANSWER:
            self._answerer = None
        return taken, joined

    def _is_away(self, agent: AgentParticipant) -> bool:
        """Whether all are away whom an agent asks."""
        humans = self._humans(agent)
        return bool(humans) and all(one.is_away for one in humans)

    def _may_answer(self, agent: AgentParticipant, human: HumanParticipant) -> bool:
        return human in self._humans(agent) and self._answerer in (None, human.id)

    def _humans(self, agent: AgentParticipant) -> Sequence[HumanParticipant]:
        """Return those whom an agent's question asks."""
        return self.consent.asked(agent.aloud.asker_of(agent.aloud.call_id))

    def _is_over_others(self, turn: _Turn) -> bool:
        """Whether another human was heard at the same time: a microphone near a loudspeaker hears both.

        Or whether it is not known yet what another one has said, which it may answer.
        """
        return any(not one.may_answer and one.end_s < inf for one in self._turns.values()) or any(
            from_s <= turn.end_s and to_s + CROSSTALK_S >= turn.start_s
            for human_id, (from_s, to_s) in self._voices.items()
            if human_id != turn.utterance.who
        )
