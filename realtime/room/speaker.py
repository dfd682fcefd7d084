"""The speaking agent's turn, from the request to its last heard word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.event import server as s
from realtime.event.base import DEFAULT_OUTPUT_RATE_HZ
from realtime.room.agent_participant import AgentParticipant
from realtime.room.context import RoomContext
from realtime.room.floor_keeper import FloorKeeper
from realtime.room.hearing import Hearing
from realtime.room.human_participant import HumanParticipant
from realtime.room.people import People
from realtime.turn.responses import ANSWER_S, REFUSED_S

STALLED_S = 2.0
"""Seconds beyond a turn's length to wait for a client's playback reports.

For a client that does not report playback.
"""
SETTLE_S = 0.02
"""How much later than expected the room checks again for full playback."""
FLOAT_ERROR_S = 0.001
"""A time that is nearer than this is reached: a timer for less would not move the clock at all."""


class Conclude(Protocol):
    """Called once per agent turn, when the heard words are known."""

    def __call__(self, agent: AgentParticipant, *, interrupted: bool, failed: bool) -> None: ...


@dataclass(slots=True, eq=False)
class Speaker:
    """The agent that speaks in a room. Its turn ends in a call of `conclude`."""

    context: RoomContext
    people: People
    floor: FloorKeeper
    conclude: Conclude
    agent: AgentParticipant | None = None
    """The agent that has the floor; None where none has."""
    _hearing: Hearing = field(default_factory=Hearing)
    """Who hears the agent that speaks, or spoke last."""
    is_ending: bool = False
    """Whether it has said all, and is only heard to its end."""
    _is_stopping: bool = False
    """Whether it is being stopped: what was heard of it is not known before it is."""
    _active_at_s: float = 0.0
    """When its model sent the last event."""
    _played_at_s: float = 0.0
    """When an instantly playing client has played all of it."""

    def begin(self, agent: AgentParticipant, asked_by: str | None, *, goes_on: bool = False) -> None:
        """Let an agent speak; `asked_by` is the human (by id) whose turn led to that.

        `goes_on`: it has asked something aloud, and goes on with that.
        """
        self.agent, self.is_ending = agent, False
        self._hearing = Hearing(agent, frozenset(self.people.humans))
        self.floor.set(agent.id, "question" if goes_on else "policy")
        self._active_at_s = self._played_at_s = self.context.runtime.now()
        self._watch(agent, ANSWER_S)
        if goes_on:
            agent.go_on()
        else:
            agent.speak(asked_by)

    def follow(self, agent: AgentParticipant, event: s.ServerEvent) -> None:
        """Take note of an event of the agent that speaks."""
        self._active_at_s = self.context.runtime.now()
        if type(event) is s.AgentResponseAudioDeltaEvent:
            sound_s = len(event.delta) / SAMPLE_BYTES / (event.format.rate or DEFAULT_OUTPUT_RATE_HZ)
            self._played_at_s = max(self._played_at_s, self._active_at_s) + sound_s
        elif type(event) is s.AgentErrorEvent and agent.responses.is_requested:
            self.context.timers.after("refused", REFUSED_S, partial(self._is_refused, agent))

    def over(self, agent: AgentParticipant) -> None:
        """The agent has said all: end its turn when that was heard to the end."""
        if self.agent is not agent or self._is_stopping:
            return
        if agent.responses.is_saying:
            # Another response has begun since: it ends the turn.
            if self.is_ending:
                self.is_ending = False
                self._watch(agent, ANSWER_S)
            return
        left_s = self._still_played_s()
        if left_s > 0:
            self.is_ending = True
            self.context.timers.after("heard", left_s, lambda: self.over(agent))
        else:
            self._end(agent)

    def stop(self, by: HumanParticipant | None = None, *, ends_tools: bool = True) -> None:
        """Interrupt the agent that speaks, at the word that `by` has heard."""
        if self.agent is not None:
            self._hearing.ear = by
            self._stop(self.agent, interrupted=True, ends_tools=ends_tools)

    def _stop(
        self, agent: AgentParticipant, *, interrupted: bool = False, failed: bool = False, ends_tools: bool = True
    ) -> None:
        """End the turn once, even if the model reports its stop immediately."""
        self._is_stopping = True
        try:
            agent.interrupt(ends_tools=ends_tools)
        finally:
            self._is_stopping = False
        self._end(agent, interrupted=interrupted, failed=failed)

    def _end(self, agent: AgentParticipant, *, interrupted: bool = False, failed: bool = False) -> None:
        """Free the floor at once; the turn is concluded when it is known which words were heard."""
        self.agent = None
        for name in ("heard", "answer", "refused"):
            self.context.timers.cancel(name)
        agent.has_floor = False
        self.floor.set(None, "interrupted" if interrupted else "done")
        conclude = partial(self.conclude, agent, interrupted=interrupted, failed=failed)
        if self._hearing.cut is not None:
            self._hearing.conclude = conclude
        else:
            conclude()

    # -- what was heard --------------------------------------------------------------------------------------------

    def played_ms(self, item_id: str) -> int:
        """Heard ms of an item, which has its id in the room."""
        return self._hearing.played_ms(item_id, self.people.humans)

    def unplayed_ms(self) -> int:
        """Sent but unplayed ms, for the human who is furthest behind."""
        return max((human.host.ears.unplayed_ms() for human in self.people.humans), default=0)

    def keep_played_audio(self) -> None:
        """See `realtime.call.participant.Ears`. A room keeps none: it hears whole turns, not microphones."""

    def far_end(self) -> None:
        """See `realtime.call.participant.Ears`."""

    def can_be_lowered(self) -> bool:
        """See `realtime.call.participant.Ears`."""
        return any(human.host.ears.can_be_lowered() for human in self.people.humans)

    def after_flush(self, settle: Callable[[], None]) -> None:
        """See `realtime.call.participant.Ears`."""
        hearing = self._hearing

        def cut() -> None:
            # A late answer counts for the turn that it was given to, whichever agent speaks by now.
            now, self._hearing = self._hearing, hearing
            hearing.cut = None
            try:
                settle()
            finally:
                self._hearing = now
            conclude, hearing.conclude = hearing.conclude, None
            if conclude is not None:
                hearing.correct = hearing.speaker.correction() if hearing.speaker is not None else None
                conclude()
            elif hearing.correct is not None:
                hearing.correct()

        hearing.cut = cut
        hearing.after_flush(cut)

    def settle_cut(self) -> None:
        """Cut the interrupted turn at what is known now: something is about to be added after it."""
        if self._hearing.cut is not None:
            self._hearing.cut()

    def is_heard_by(self, human: HumanParticipant) -> bool:
        """Whether this human was there when the agent's turn began."""
        return human in self._hearing.audience

    def is_still_heard(self, agent: AgentParticipant) -> bool:
        """Whether the agent speaks, or the latest turn's cut is still unknown."""
        return self.agent is agent or self._hearing.cut is not None

    def human_leaves(self, human: HumanParticipant) -> None:
        """What a human has heard stays heard after they have left."""
        if self._hearing.ear is human:
            self.settle_cut()  # It will not be known any better.
        self._hearing.without(human)

    @property
    def is_played(self) -> bool:
        """Whether all was heard, but by clients that do not report playback."""
        return self._still_played_s() <= 0

    def _still_played_s(self) -> float:
        """How long until it is worth checking again whether all was heard.

        0 where it was, but by clients that do not report playback.
        """
        unplayed_s = self.unplayed_ms() / 1000
        patience_s = self._played_at_s + STALLED_S - self.context.runtime.now()
        return min(unplayed_s + SETTLE_S, patience_s) if unplayed_s > 0 and patience_s > FLOAT_ERROR_S else 0.0

    # -- agents that do not speak ----------------------------------------------------------------------------------

    def _watch(self, agent: AgentParticipant, delay_s: float) -> None:
        """Take the floor from an idle agent after its speech is heard."""

        def look() -> None:
            if self.agent is not agent or self.is_ending:
                return
            left_s = ANSWER_S if agent.is_at_work else self._active_at_s + ANSWER_S - self.context.runtime.now()
            left_s = max(left_s, self._still_played_s())
            if left_s > FLOAT_ERROR_S:
                self._watch(agent, left_s)
            else:
                self.people.record.complain(f"{agent.name} does not answer", "no_answer")
                self._stop(agent, failed=True)

        self.context.timers.after("answer", delay_s, look)

    def _is_refused(self, agent: AgentParticipant) -> None:
        """Whether its model reported an error and has begun no response since."""
        if agent.responses.is_requested:
            agent.responses.fail()
            self._stop(agent)
