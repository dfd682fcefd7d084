"""Who has the floor of a room; asks its policy for the next."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from realtime.event import server as s
from realtime.room.agent_participant import AgentParticipant
from realtime.room.context import RoomContext
from realtime.room.floor import FloorState, Policy, Said, named_by, with_turn
from realtime.room.people import People

logger = logging.getLogger(__name__)

POLICY_S = 20.0
"""How long a policy may take: one that asks a model takes seconds."""
MAX_FAILURES = 2
"""Failures to answer one question before an agent is not asked again."""


@dataclass(slots=True, eq=False)
class FloorKeeper:
    """Knows who has the floor; gives it to the policy's choice with `give`."""

    context: RoomContext
    people: People
    policy: Policy
    max_agent_turns: int
    give: Callable[[AgentParticipant], None]
    go_on: Callable[[], bool]
    """Lets an agent go on that has asked something aloud; returns whether there is one."""
    holder: str | None = None
    """The participant (by id) that has the floor; None where it is free."""
    failures: dict[str, int] = field(default_factory=dict)
    """How often agents, by id, failed to answer since the last turn."""
    _wishes: list[AgentParticipant] = field(default_factory=list)
    """Agents that have something to tell, in order."""
    _talk: FloorState = field(default_factory=lambda: FloorState(()))
    _number: int = 0
    """Of the latest question to the policy."""
    _decision: asyncio.Task[None] | None = None

    @property
    def state(self) -> FloorState:
        """What a policy is asked about."""
        return replace(self._talk, participants=self.people.participants)

    def recall(self, talk: FloorState) -> None:
        """Begin with an earlier talk."""
        self._talk = talk

    def add_turn(self, said: Said) -> None:
        """A turn is over: what was open is answered, or asked anew."""
        self.failures.clear()
        self._talk = with_turn(self.state, said)

    def failed(self, agent: AgentParticipant, *, for_good: bool) -> None:
        """An agent could not answer. After `MAX_FAILURES`, or `for_good`, it is not asked this question again."""
        self.failures[agent.id] = MAX_FAILURES if for_good else self.failures.get(agent.id, 0) + 1

    def set(self, participant_id: str | None, reason: str) -> None:
        """Move the floor; tells everyone where that changes it."""
        if participant_id != self.holder:
            self.holder = participant_id
            self.people.record.tell(s.ServerRoomFloorEvent(participant_id=participant_id, reason=reason))

    def wish(self, agent: AgentParticipant) -> None:
        """Give an agent the floor once the policy gives it to none."""
        if agent not in self._wishes:
            self._wishes.append(agent)

    def left(self, participant_id: str) -> None:
        """A participant has left: free the floor where they had it."""
        if self.holder == participant_id:
            self.set(None, "left")

    # -- the policy ------------------------------------------------------------------------------------------------

    def ask(self, *, is_asked: bool) -> None:
        """Ask the policy who is next; `is_asked` says that a client wants an agent to speak."""
        state = self._askable()
        if self.failures and not state.agents:
            if not self.go_on():
                self.set(None, "nobody")
            return
        is_open = is_asked or bool(self.failures)
        if not is_open and (state.last is None or state.agent_turns >= self.max_agent_turns):
            self._leave_free("limit" if state.last is not None and state.agent_turns else "")
            return
        try:
            chosen = self.policy(state)
            if inspect.isawaitable(chosen):
                self._decision = self.context.run(self._decide_later(chosen, self._number), "floor policy")
                return
            speaker = named_by(chosen)
        except Exception:
            self._policy_failed()
            return
        self._choose(speaker)

    def forget_question(self) -> None:
        """Ignore the answer to the latest question: the state has changed since."""
        self._number += 1
        if self._decision is not None:
            self._decision.cancel()

    async def _decide_later(self, chosen: Awaitable[object], number: int) -> None:
        try:
            async with asyncio.timeout(POLICY_S):
                speaker = named_by(await chosen)
        except Exception:
            if number == self._number:
                self._policy_failed()
            return
        if number == self._number:
            self._choose(speaker)

    def _policy_failed(self) -> None:
        """The policy raised or took too long: the room goes on, and the floor is free."""
        logger.exception("the floor policy of room %s failed", self.context.room_name)
        self.people.record.complain("the floor policy failed: the server's log says why", "floor_policy_failed")
        if not self.go_on():
            self.set(None, "nobody")

    def _askable(self) -> FloorState:
        """The state for a policy, less agents that cannot answer the question."""
        state = self.state
        if not self.failures:
            return state
        participants = tuple(
            replace(one, away=one.away or self.failures.get(one.id, 0) >= MAX_FAILURES) for one in state.participants
        )
        return replace(state, participants=participants)

    def _choose(self, speaker: str | None) -> None:
        found = self._askable().find(speaker)
        agent = self.people.agent(found.id) if found is not None else None
        if agent is None:
            self._leave_free("nobody")
        else:
            self._give(agent)

    def _leave_free(self, reason: str) -> None:
        """No one is to answer: an agent that has something to tell may speak."""
        able = {one.id for one in self._askable().agents}
        self._wishes = [one for one in self._wishes if one in self.people.agents and one.id in able]
        if self.go_on():
            return
        if self._wishes:
            self._give(self._wishes[0])
        else:
            self.set(None, reason)

    def _give(self, agent: AgentParticipant) -> None:
        self._wishes = [one for one in self._wishes if one is not agent]
        self.give(agent)
