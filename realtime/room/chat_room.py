"""`ChatRoom`: several humans, several agents, one conversation.

The room decides who speaks. A human who speaks has the floor, and the agent that spoke stops at the word that was
heard. When a turn is over and its words are known, the policy (`realtime.room.floor`) says which agent answers; all
others hear the turn as well, once: as sound, or as the line `[Name]: text`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, get_args

import msgspec

from realtime.agent.detector import DetectorFactory, silero_detector
from realtime.agent.realtime import Outlet, RealtimeAgent
from realtime.call.session import Session, queue_listener
from realtime.errors import ClientError, RealtimeError, UsageError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig
from realtime.room.agent_participant import AgentParticipant, Listens, Utterance
from realtime.room.consent import ConsentBy
from realtime.room.floor import MAX_AGENT_TURNS, FloorState, Participant, Policy, Said, broadcast, folded
from realtime.room.human_participant import KEPT_ITEMS, HumanParticipant
from realtime.room.names import look_alike, settled_name
from realtime.room.talk import Talk
from realtime.runtime import Runtime
from realtime.state.log import Log

logger = logging.getLogger(__name__)

MAX_HUMANS = 50
COMES_BACK_S = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
"""When an agent whose model was lost is tried again; the last holds from then on."""
STEADY_S = 60.0
"""An agent that was there for so long begins with the first of these again."""
TOLD_ITEMS = 200
"""So much of what was said last is told to whoever comes in."""


class ChatRoom(Talk):
    """Humans and agents in one conversation. One object is one room; its agents are connected by the first who comes.

    - `floor` says which agent may speak: a policy of `realtime.room.floor`, or a function of your own.
    - `max_agent_turns`: so many agents speak one after another until a human does.
    - `listens`: how agents (by name) hear what is not said to them, `audio` or `text`. Under `broadcast` all hear
      sound, else text.
    - `make_detector` makes the detector of each human; the default is Silero VAD.
    - `max_humans` may be in it at once.
    - `consent_by` says who may agree to a tool that asks: the human whose turn led to its call (`asked`), or `anyone`.
    """

    def __init__(
        self,
        agents: Sequence[RealtimeAgent] = (),
        *,
        floor: Policy = broadcast,
        max_agent_turns: int = MAX_AGENT_TURNS,
        listens: Mapping[str, Listens] | None = None,
        make_detector: DetectorFactory | None = None,
        max_humans: int = MAX_HUMANS,
        consent_by: ConsentBy = "asked",
        name: str = "room",
    ) -> None:
        if consent_by not in get_args(ConsentBy):
            raise UsageError(f"consent_by is one of {', '.join(get_args(ConsentBy))}", code="bad_consent_by")
        names = [folded(agent.name) for agent in agents]
        if len(set(names)) < len(names):
            raise UsageError("two agents of a room have one name; nobody could address them", code="name_taken")
        super().__init__(name, floor, max_agent_turns, consent_by)
        self._agents = [*agents]
        self._config = SessionConfig()
        """What the agents are called with: the settings of `start`."""
        self._listens = {name.casefold(): how for name, how in (listens or {}).items()}
        self._make_detector = make_detector or silero_detector
        self._max_humans = max_humans
        self._opening: asyncio.Lock = asyncio.Lock()
        self._own_call: Any = None
        self._own_seat: HumanParticipant | None = None
        self._speakers: dict[str, str] = {}
        """Whose the latest items are: ids of participants, who may have left."""

    @property
    def agents(self) -> tuple[RealtimeAgent, ...]:
        """The agents of this room, also before it has begun."""
        return tuple(self._agents)

    # -- used alone ------------------------------------------------------------------------------------------------

    async def start(self, outgoing_queue: Outlet, *, config: SessionConfig | None = None, name: str = "user") -> None:
        """Connect all agents and begin to emit events into `outgoing_queue`, as one human called `name` is told them.

        Raises ProviderError where an agent's model cannot be had: then nothing of the room is left running.
        """
        if self._own_call is not None:
            raise UsageError("this room runs already", code="room_running")
        runtime = Runtime.of_loop(asyncio.get_running_loop())
        seat = self._own_seat = self.seat(name, runtime)
        call = Session(participant=seat, runtime=runtime, session_id=runtime.new_id("session"), private=True)
        call.attach(queue_listener(outgoing_queue, runtime))
        self._own_call = call
        try:
            await call.start(config or SessionConfig())
        except BaseException:
            self._own_call = None
            await self.close("failed")
            raise

    async def stop(self) -> None:
        """End it: all agents' models are closed, no task is left. Idempotent."""
        call, self._own_call = self._own_call, None
        if call is not None:
            await call.end("stopped")
        await self.close("stopped")

    async def handle_input(self, event: c.ClientEvent) -> None:
        """Take a client event of the human that `start` made. Raises UsageError before `start`."""
        if self._own_call is None:
            raise UsageError("the room is not running: call start() first", code="agent_not_running")
        self._own_call.receive(event)

    # -- humans come and go ----------------------------------------------------------------------------------------

    def seat(self, name: str, runtime: Runtime) -> HumanParticipant:
        """A place for one human, to be given to a call in the place of an agent.

        Two humans of one name are told apart by a number. Raises ClientError where the room is full or over, or for a
        name that nobody can have (`realtime.room.names`).
        """
        wanted = settled_name(name)
        self._check_room()
        return HumanParticipant(self, wanted, runtime.new_id("human"), self._make_detector)

    def _check_room(self) -> None:
        if self._over:
            raise ClientError("the room is closed", code="room_closed")
        if len(self.seats) >= self._max_humans:
            raise ClientError(f"there are {self._max_humans} in the room already", code="room_full", retryable=True)

    async def enter(self, seat: HumanParticipant, config: SessionConfig) -> None:
        """See `realtime.room.human_participant.Room`."""
        host = seat.host
        async with self._opening:
            if self._runtime is None:
                # Who joins has a voice, tools and settings of their own: they are none of the agents'.
                await self._open(host.runtime, config if self._own_call is not None else SessionConfig())
        self._check_room()
        if not seat.is_in(host):
            raise ClientError("they left before the room was open", code="session_ended")
        seat.name = self._free_name(seat.name)
        me = Participant(seat.id, seat.name, "human", away=seat.is_away)
        for member in self.members:
            if member.ready is not None:
                seat.tell(member.ready)
        if not self.members:
            # Whoever waits for an agent to be ready waits for the room.
            seat.tell(s.AgentReadyEvent(agent_name=self.name))
        # The first whom a client is told of is itself: only so it learns its id, and the name that it was given.
        seat.tell(_joined(me))
        for one in self._state.participants:
            seat.tell(_joined(one))
            if one.away and one.kind == "agent":
                seat.tell(s.ServerRoomLeftEvent(participant_id=one.id, name=one.name, reason="away"))
        if self._floor is not None:
            seat.tell(s.ServerRoomFloorEvent(participant_id=self._floor))
        self._tell_the_talk(seat)
        was_empty = not self.seats
        self.seats.append(seat)
        self._come(me, told=seat)
        if was_empty:
            self._consider()  # What was asked before everybody left is answered to who comes back.

    async def depart(self, seat: HumanParticipant, reason: str) -> None:
        """See `realtime.room.human_participant.Room`."""
        if seat not in self.seats:
            return
        if self._hearing.ear is seat:
            self._settle_cut()  # What they have heard is known as well as it will be.
        self._hearing.without(seat)
        if self._over or seat is self._own_seat:
            seat.is_speaking = False  # Nobody will be there to hear it.
        else:
            seat.break_off()
        self.seats.remove(seat)
        self._cancel(f"voice {seat.id}")
        self._go(seat.id, seat.name, reason)
        self._consent.refuse_for_absent()
        if seat is self._own_seat:
            self._over = True
            for member in [*self.members]:
                await member.leave(reason)
                seat.tell(s.AgentEndedEvent(reason=reason, agent_id=member.id, agent_name=member.name))
        self._consider()

    def presence(self, seat: HumanParticipant, away: bool) -> None:
        """See `realtime.room.human_participant.Room`."""
        self._change(seat.id, away=away)

    def describe(self) -> dict[str, Any]:
        """Who is there, for people and pages. Holds no secrets."""
        agents = [{"name": agent.name, **agent.describe()} for agent in self._agents]
        first = agents[0] if agents else {"provider": "room", "model": self.name}
        return {**first, "room": self.name, "agents": agents, "turn_authority": "server"}

    def mute(self, participant_id: str, muted: bool = True) -> None:
        """Nobody hears this human, or this agent gets no floor. Raises KeyError for nobody of the room."""
        self._known(participant_id)
        for seat in self.seats:
            if seat.id == participant_id:
                seat.mute(muted)
        for member in self.members:
            if member.id == participant_id:
                member.is_muted = muted
                if muted and self._speaker is member:
                    self._stop_speaker()
        self._change(participant_id, muted=muted)
        self._consider()

    def rename(self, participant_id: str, name: str) -> None:
        """Somebody is called otherwise from now on: told as going and coming. Raises KeyError for nobody of the room,
        ClientError for a name that is taken or none."""
        before = self._known(participant_id)
        name = settled_name(name)
        if name == before.name:
            return
        if self._free_name(name, of=before) != name:
            raise ClientError(f"{name!r} is taken", code="name_taken")
        for seat in self.seats:
            if seat.id == participant_id:
                seat.name = name
        for member in self.members:
            if member.id == participant_id:
                member.name = member.agent.name = name
        self._change(participant_id, name=name)
        self.tell(s.ServerRoomLeftEvent(participant_id=before.id, name=before.name, reason="renamed"))
        self.tell(_joined(self._known(participant_id)))
        if before.kind == "agent":
            self._introduce()

    async def add(self, agent: RealtimeAgent) -> None:
        """Another agent comes in. Raises what `RealtimeAgent.join` raises, ClientError for a name that is taken or
        none, and where the room is over."""
        async with self._opening:
            pass  # While the first are connected, nobody knows yet whether there will be a room.
        if self._over:
            raise ClientError("the room is closed", code="room_closed")
        agent.name = settled_name(agent.name)
        if self._free_name(agent.name) != agent.name:
            raise ClientError(f"{agent.name!r} is taken", code="name_taken")
        self._agents.append(agent)  # From now on the name is taken, also while its model is being connected.
        if self._runtime is not None:
            try:
                await self._bring(agent, self._runtime, self._config)
            except BaseException:
                self._agents.remove(agent)
                raise
            self._introduce(but=agent)
            self._consider()

    async def remove(self, participant_id: str, reason: str = "kicked") -> None:
        """Somebody has to go: an agent's model is closed, a human is told why. Raises KeyError for nobody here."""
        self._known(participant_id)
        self._settle_cut()
        for member in [*self.members]:
            if member.id == participant_id:
                if self._speaker is member:
                    self._stop_speaker()
                self._cancel(f"again {member.id}")
                self.members.remove(member)
                self._agents.remove(member.agent)
                # Gone for everybody before its model is, which may take its time.
                self._go(member.id, member.name, reason)
                self._introduce()
                await member.leave(reason)
        for seat in [*self.seats]:
            if seat.id == participant_id:
                await self.depart(seat, reason)
                seat.tell(s.AgentEndedEvent(reason=reason, agent_id=seat.id, agent_name=seat.name))
        self._consider()

    async def close(self, reason: str) -> None:
        """The room is over: its agents leave. Idempotent; whoever is in it keeps a call without a partner."""
        self._settle_cut()
        self._over = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for task in [*self._tasks]:
            task.cancel()
        for member in [*self.members]:
            await member.leave(reason)
        if self._tasks:
            await asyncio.wait(self._tasks)

    # -- inside ----------------------------------------------------------------------------------------------------

    async def _open(self, runtime: Runtime, config: SessionConfig) -> None:
        """Connect all agents at once; where one cannot be had, none stays."""
        self._runtime, self.log, self._config = runtime, Log(runtime.now), config
        try:
            async with asyncio.TaskGroup() as group:
                for agent in self._agents:
                    group.create_task(self._bring(agent, runtime, config), name=f"agent {agent.name} comes in")
        except BaseException as error:
            for member in self.members:
                await member.leave("failed")
            self.members.clear()
            # An agent is for one call: whoever comes next finds others like them.
            self._agents = [agent.another() for agent in self._agents]
            self._runtime, self.log, self._state = None, None, FloorState(())
            known = error.subgroup(RealtimeError) if isinstance(error, BaseExceptionGroup) else None
            if known is None:
                raise
            raise known.exceptions[0] from None
        order = {id(agent): place for place, agent in enumerate(self._agents)}
        self.members.sort(key=lambda member: order[id(member.agent)])
        by_id = {one.id: one for one in self._state.participants}
        self._state = replace(self._state, participants=tuple(by_id[member.id] for member in self.members))

    async def _bring(self, agent: RealtimeAgent, runtime: Runtime, config: SessionConfig) -> None:
        listens = self._listens.get(agent.name.casefold(), "audio" if self._policy is broadcast else "text")
        member = AgentParticipant(agent, self, runtime, listens)
        known = self._state.said
        member.recall(known)
        await self._connect(member, config)
        if self._over:
            await member.leave("room_closed")
            raise ClientError("the room is closed", code="room_closed")
        for said in _after(known, self._state.said):
            member.read(Utterance(runtime.new_id("said"), said.id, said.name, text=said.text))
        self.members.append(member)
        self._come(Participant(member.id, member.name, "agent"))

    async def _connect(self, member: AgentParticipant, config: SessionConfig) -> None:
        told = self._instructions(member.agent)
        await member.join(msgspec.structs.replace(config, instructions=told))
        if self._instructions(member.agent) != told:
            member.agent.configure(SessionConfig(instructions=self._instructions(member.agent)))

    def _introduce(self, *, but: RealtimeAgent | None = None) -> None:
        """Somebody among the agents came, left or is called otherwise: their models are told who is there."""
        for member in self.members:
            if not member.is_away and member.agent is not but:
                member.agent.configure(SessionConfig(instructions=self._instructions(member.agent)))

    def _instructions(self, agent: RealtimeAgent) -> str:
        others = ", ".join(one.name for one in self._agents if one is not agent) or "nobody else"
        return (
            f"{agent.sys_prompt}\n\nYou are {agent.name}, in a room with humans and these other agents: {others}. What "
            "others say is written as [Name]: text. Speak for yourself only, and do not put your name before it."
        ).strip()

    def lost(self, member: AgentParticipant, reason: str) -> None:
        """See `Hub`: the others go on, and it is tried again."""
        super().lost(member, reason)
        if not self._over:
            # A provider that takes a session and ends it at once is asked less and less often, too.
            is_steady = self._now() - member.came_back_at_s >= STEADY_S
            self._try_again(member, 0 if is_steady else member.tries + 1)

    def _try_again(self, member: AgentParticipant, attempt: int) -> None:
        delay_s = COMES_BACK_S[min(attempt, len(COMES_BACK_S) - 1)]

        async def again() -> None:
            before = member.agent
            await before.leave("away")
            if before not in self._agents or self._over:
                return
            member.agent = self._agents[self._agents.index(before)] = before.another()
            member.recall(self._state.said)
            try:
                await self._connect(member, self._config)
            except RealtimeError:
                self._try_again(member, attempt + 1)
                return
            if member not in self.members:
                await member.leave("kicked")
                return
            member.tries, member.came_back_at_s = attempt, self._now()
            self._change(member.id, away=False)
            self.tell(_joined(self._known(member.id)))
            self._consider()

        def begin() -> None:
            if self._speaker is member or self._hearing.cut is not None:
                # What it said last is still being heard: it is to know how much of it was.
                self._try_again(member, attempt)
                return
            self._run(again(), f"agent {member.name} comes back")

        self._after(f"again {member.id}", delay_s, begin)

    def _come(self, who: Participant, told: HumanParticipant | None = None) -> None:
        self._state = replace(self._state, participants=(*self._state.participants, who))
        self.tell(_joined(who), told)

    def _go(self, participant_id: str, name: str, reason: str) -> None:
        left = tuple(one for one in self._state.participants if one.id != participant_id)
        self._state = replace(self._state, participants=left)
        self.tell(s.ServerRoomLeftEvent(participant_id=participant_id, name=name, reason=reason))
        if self._floor == participant_id:
            self._set_floor(None, "left")

    def tell(self, event: s.ServerEvent, told: HumanParticipant | None = None) -> None:
        """See `Hub`."""
        if isinstance(event, s.AgentItemAddedEvent):
            self._speakers[event.item.id] = event.agent_id
            if len(self._speakers) > KEPT_ITEMS:
                del self._speakers[next(iter(self._speakers))]
        super().tell(event, told)

    def _tell_the_talk(self, seat: HumanParticipant) -> None:
        """What was said last, as whoever was there has been told."""
        items = self.conversation.items()[-TOLD_ITEMS:]
        before: str | None = None
        for item in items:
            who: dict[str, Any] = {"agent_id": self._speakers.get(item.id, ""), "agent_name": item.name or ""}
            seat.tell(s.AgentItemAddedEvent(item=item, previous_item_id=before, **who))
            if item.status != "in_progress" and item.id not in self._pending:
                seat.tell(s.AgentItemDoneEvent(item=item, previous_item_id=before, **who))
            before = item.id

    def _change(self, participant_id: str, **changes: Any) -> None:
        before = self._find(participant_id)
        super()._change(participant_id, **changes)
        after = self._find(participant_id)
        if before is None or after is None or (before.muted, before.away) == (after.muted, after.away):
            return
        self.tell(
            s.ServerRoomChangedEvent(
                participant_id=after.id, name=after.name, kind=after.kind, muted=after.muted, away=after.away
            )
        )

    def _find(self, participant_id: str) -> Participant | None:
        return next((one for one in self._state.participants if one.id == participant_id), None)

    def _known(self, participant_id: str) -> Participant:
        found = self._find(participant_id)
        if found is None:
            raise KeyError(participant_id)
        return found

    def _free_name(self, name: str, *, of: Participant | None = None) -> str:
        """The name, with a number where somebody but `of` has it already, or is about to come in with it.

        Raises ClientError for one that only looks like a name that is taken.
        """
        coming = {id(one) for one in self._agents} - {id(one.agent) for one in self.members}
        taken = [one.name for one in self._state.participants if one is not of]
        taken += [one.name for one in self._agents if id(one) in coming]
        if folded(name) not in map(folded, taken):
            seeming = next((one for one in taken if look_alike(one, name)), None)
            if seeming is not None:
                text = f"{name!r} looks like {seeming!r}, who is here already: take another name"
                raise ClientError(text, code="name_taken")
            return name
        numbers = (f"{name} {number}" for number in count(2))
        return next(free for free in numbers if not any(look_alike(free, one) for one in taken))


def _joined(who: Participant) -> s.ServerRoomJoinedEvent:
    return s.ServerRoomJoinedEvent(participant_id=who.id, name=who.name, kind=who.kind, muted=who.muted, away=who.away)


def _after(known: Sequence[Said], said: Sequence[Said]) -> Sequence[Said]:
    """The turns since `known`, of which the oldest may be forgotten."""
    at = next((at for at, one in enumerate(said) if known and one is known[-1]), -1)
    return said[at + 1 :]
