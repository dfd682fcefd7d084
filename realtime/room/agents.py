"""The models of a room's agents: connecting them, and connecting again those that are lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

from realtime.agent.base import AgentBase
from realtime.agent.realtime import RealtimeAgent
from realtime.errors import ClientError, RealtimeError
from realtime.event import server as s
from realtime.event.config import SessionConfig
from realtime.room.agent_participant import AgentParticipant, Hub, Listens
from realtime.room.context import RoomContext
from realtime.room.floor import Said
from realtime.room.floor_keeper import FloorKeeper
from realtime.room.participant import Participant
from realtime.room.people import People, joined
from realtime.room.speaker import Speaker
from realtime.room.thinking import ThinkingAgent
from realtime.room.utterance import Utterance

logger = logging.getLogger(__name__)

COMES_BACK_S = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
"""Delays before each attempt to connect an agent whose model was lost; the last holds from then on."""
STEADY_S = 60.0
"""Seconds connected after which an agent begins with the first delay again."""


@dataclass(slots=True, eq=False)
class Agents:
    """Connects the agents of one room and keeps them connected.

    `hub` is what they talk to; `on_back` is called when one is connected again; `listens` is by an agent's name.
    `on_deaf` is called with a thinking agent that cannot observe any more.
    """

    context: RoomContext
    people: People
    hub: Hub
    floor: FloorKeeper
    speaker: Speaker
    on_back: Callable[[], None]
    on_deaf: Callable[[AgentParticipant], None]
    listens: Callable[[str], Listens]
    _config: SessionConfig = field(default_factory=SessionConfig)
    """The settings of all agents of the room."""
    _observed: dict[AgentBase, Said | None] = field(default_factory=dict)
    """The last turn that returning thinking agents know."""

    async def connect_all(self, config: SessionConfig) -> None:
        """Connect all agents at once. Raises what the first of them raises that cannot be; then none stays."""
        people, self._config = self.people, config
        try:
            async with asyncio.TaskGroup() as group:
                for agent in people.expected:
                    group.create_task(self._bring(agent), name=f"agent {agent.name} comes in")
        except BaseException as error:
            for one in people.agents:
                await one.leave("failed")
            people.agents.clear()
            people.participants = ()
            known = error.subgroup(RealtimeError) if isinstance(error, BaseExceptionGroup) else None
            if known is None:
                raise
            raise known.exceptions[0] from None
        order = {id(agent): place for place, agent in enumerate(people.expected)}
        people.agents.sort(key=lambda one: order[id(one.agent)])
        people.participants = tuple(people.find(one.id) for one in people.agents)

    async def add(self, agent: RealtimeAgent) -> None:
        """Connect one more agent. Raises what `AgentRun.join` raises, ClientError where the room has closed."""
        await self._bring(agent)
        self.introduce(but=agent)

    async def _bring(self, agent: RealtimeAgent) -> None:
        context = self.context
        participant = AgentParticipant(agent, self.hub, self.speaker, context.runtime, self.listens(agent.name))
        known = self.floor.state.said
        participant.recall(known)
        await self._connect(participant)
        if context.is_over:
            await participant.leave("room_closed")
            raise ClientError("the room is closed", code="room_closed")
        if participant.thinker is not None:
            participant.thinker.begin(context, self.people.record.complain, lambda: self.on_deaf(participant))
            known = (*filter(None, [self._observed.get(participant.thinker.agent)]),)
        for said in _after(known, self.floor.state.said):
            participant.read(Utterance(context.runtime.new_id("said"), said.id, said.name, text=said.text))
        self.people.agents.append(participant)
        self.people.come(Participant(participant.id, participant.name, "agent", silent=participant.is_silent))

    async def _connect(self, participant: AgentParticipant) -> None:
        told = self._told(participant.agent)
        await participant.join(self._config.merged(told))
        if self._told(participant.agent) != told:
            self._tell_instructions(participant)

    # -- who else is there -----------------------------------------------------------------------------------------

    def introduce(self, *, but: RealtimeAgent | None = None) -> None:
        """Tell all models but one which agents are in the room: one came, left or was renamed."""
        for one in self.people.agents:
            if not one.is_away and one.agent is not but:
                self._tell_instructions(one)

    def _tell_instructions(self, participant: AgentParticipant) -> None:
        participant.run.configure(self._told(participant.agent))

    def _told(self, agent: RealtimeAgent) -> SessionConfig:
        return SessionConfig(
            instructions=self._instructions(agent), names=tuple(one.name for one in self.people.expected)
        )

    def _instructions(self, agent: RealtimeAgent) -> str:
        others = ", ".join(one.name for one in self.people.expected if one is not agent) or "nobody else"
        return (
            f"{agent.sys_prompt}\n\nYou are {agent.name}, in a room with humans and these other agents: {others}. What "
            "others say is written as [Name]: text. Speak for yourself only, and do not put your name before it."
        ).strip()

    # -- lost and back ---------------------------------------------------------------------------------------------

    def lost(self, participant: AgentParticipant, reason: str) -> None:
        """Tell everyone that an agent's model is gone."""
        self.people.change(participant.id, away=True)
        self.people.record.tell(
            s.ServerRoomLeftEvent(participant_id=participant.id, name=participant.name, reason="away")
        )
        logger.warning("agent %s of room %s is away: %s", participant.id, self.context.room_name, reason)

    def bring_back(self, participant: AgentParticipant) -> None:
        """Reconnect a lost agent: later and later if its provider soon ends each session."""
        is_steady = self.context.runtime.now() - participant.came_back_at_s >= STEADY_S
        self._try_again(participant, 0 if is_steady else participant.tries + 1)

    def forget(self, participant: AgentParticipant) -> None:
        """Remove an agent from the room; its model is still to be closed."""
        self.context.timers.cancel(f"again {participant.id}")
        self.people.agents.remove(participant)
        self.people.expected.remove(participant.agent)
        if participant.thinker is not None:
            self._observed[participant.thinker.agent] = self.floor.state.last

    def recall(self, names: Container[str]) -> None:
        """Begin with an earlier talk that thinking agents of these names know."""
        for agent in self.people.expected:
            if isinstance(agent, ThinkingAgent) and agent.name in names:
                self._observed[agent.thinker.agent] = self.floor.state.last

    def _try_again(self, participant: AgentParticipant, attempt: int) -> None:
        def begin() -> None:
            if self.speaker.is_still_heard(participant):
                # The heard part has to be known first: the model gets the talk so far.
                self._try_again(participant, attempt)
            else:
                self.context.run(self._reconnect(participant, attempt), f"agent {participant.name} comes back")

        delay_s = COMES_BACK_S[min(attempt, len(COMES_BACK_S) - 1)]
        self.context.timers.after(f"again {participant.id}", delay_s, begin)

    async def _reconnect(self, participant: AgentParticipant, attempt: int) -> None:
        people = self.people
        await participant.run.leave("away")
        if participant.agent not in people.expected or self.context.is_over:
            return
        participant.recall(self.floor.state.said)
        try:
            await self._connect(participant)
        except RealtimeError:
            self._try_again(participant, attempt + 1)
            return
        if participant not in people.agents:
            await participant.leave("kicked")
            return
        participant.tries, participant.came_back_at_s = attempt, self.context.runtime.now()
        people.change(participant.id, away=False)
        people.record.tell(joined(people.find(participant.id)))
        self.on_back()


def _after(known: Sequence[Said], said: Sequence[Said]) -> Sequence[Said]:
    """The turns since `known`, of which the oldest may be forgotten."""
    at = next((at for at, one in enumerate(said) if known and one is known[-1]), -1)
    return said[at + 1 :]
