"""Compatibility with AgentScope 1.x's two-agent page: a room with two agents that talk and one human listener.

The page sends nothing but silence, so the first agent begins by itself and the two go on in turns.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from realtime.agent import RealtimeAgent
from realtime.agent.detector import silero_detector
from realtime.call.participant import Host
from realtime.dialects.agentscope1 import PairedAgent
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig
from realtime.room import ChatRoom
from realtime.room.floor import FloorState, Policy, Said, broadcast
from realtime.room.human_participant import HumanParticipant
from realtime.runtime import Runtime

MAX_TURNS = 200
"""How many turns the two speak: half an hour of talk. A page that was left open ends there; Stop and Start begin anew.

Other rooms stop after `realtime.room.floor.MAX_AGENT_TURNS`, but here no human ever speaks.
"""
MAX_SILENT_TURNS = 3
"""Consecutive wordless turns after which an agent is not asked again."""


async def pair_of(
    pair: tuple[PairedAgent, PairedAgent],
    config: SessionConfig,
    make: Callable[[SessionConfig], Awaitable[RealtimeAgent | HumanParticipant]],
    runtime: Runtime,
) -> RealtimeAgent | HumanParticipant:
    """Make the human participant of a new room with these two agents.

    `make` makes each agent, with its own name and instructions. Where it returns a human participant, the client is in
    a room already and gets that one. Raises what `make` raises.
    """
    agents: list[RealtimeAgent] = []
    for one in pair:
        made = await make(msgspec.structs.replace(config, agent_name=one.name, instructions=one.instructions))
        if isinstance(made, HumanParticipant):
            return made
        made.name, made.sys_prompt = one.name, one.instructions
        agents.append(made)
    _tell_apart(*agents)
    return PairHuman(ChatRoom(agents, floor=in_turns(), max_agent_turns=MAX_TURNS, name="pair"), runtime)


def _tell_apart(first: RealtimeAgent, second: RealtimeAgent) -> None:
    """Give two agents of one voice different voices, if the model can."""
    voice, voices = first.describe()["voice"], first.model.profile.voices
    if second.describe()["voice"] != voice or second.model.profile.voices != voices or len(voices) < 2:
        return
    if voice not in voices:
        voice = voices[0]
        first.voice = voice
    second.voice = next(one for one in voices if one != voice)


def in_turns() -> Policy:
    """A policy by which the agents speak in turns; one that finds no words is asked again, but not for ever."""
    before: tuple[Said | None, int] = (None, 0)
    silent_turns = 0

    def decide(state: FloorState) -> str | None:
        nonlocal before, silent_turns
        last, turns = before
        if state.last is not last:
            silent_turns = 0
        elif state.agent_turns > turns:
            silent_turns += 1
        before = (state.last, state.agent_turns)
        return broadcast(state) if silent_turns < MAX_SILENT_TURNS else None

    return decide


class PairHuman(HumanParticipant):
    """The only human in a room, which begins and ends with them."""

    def __init__(self, room: ChatRoom, runtime: Runtime) -> None:
        super().__init__(room, "user", runtime.new_id("human"), silero_detector)
        self._chat_room = room

    async def join(self, host: Host, config: SessionConfig) -> None:
        """See `HumanParticipant.join`. The first agent begins."""
        await super().join(host, config)
        self._chat_room.on_event.append(self._follow)
        self._let_begin()

    async def leave(self, reason: str) -> None:
        """See `HumanParticipant.leave`. The agents end with their room, and say so."""
        if self._host is None:
            return
        await self._chat_room.close(reason)
        for agent in self._chat_room.agent_participants:
            self.tell(s.AgentEndedEvent(reason=reason, agent_id=agent.id, agent_name=agent.name))
        await super().leave(reason)

    def _follow(self, event: s.ServerEvent) -> None:
        if isinstance(event, s.ServerRoomJoinedEvent) and event.kind == "agent":
            # It was lost and is back: where nothing was said yet, it still has to begin.
            self._let_begin()

    def _let_begin(self) -> None:
        if not any(item.text for item in self._chat_room.conversation.items()):
            self.receive(c.ClientResponseCreateEvent())
