"""`ChatRoom`: several humans, several agents, one conversation.

The room decides who speaks. A human who takes the floor has it, and the agent that spoke stops at the word that was
heard. When a turn is over and its words are known, the policy (`realtime.room.floor`) chooses the agent that answers;
all others hear the turn as well, once: as sound, or as the line `[Name]: text`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any

from realtime.agent.base import AgentBase
from realtime.agent.detector import DetectorFactory, silero_detector
from realtime.agent.overlap import Recognise
from realtime.agent.partial_words import recognise_words
from realtime.agent.realtime import Outlet, RealtimeAgent
from realtime.call.session import Session, queue_listener
from realtime.errors import BadOption, ClientError, UsageError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import InterruptionMode, SessionConfig
from realtime.model.local.engine import SpeechEngine
from realtime.module import StateModule
from realtime.options import check_options
from realtime.room.agent_participant import Listens
from realtime.room.consent import ConsentBy
from realtime.room.context import RoomContext
from realtime.room.floor import MAX_AGENT_TURNS, Policy, broadcast
from realtime.room.human_participant import HumanParticipant
from realtime.room.names import settled_name
from realtime.room.participant import Participant, folded
from realtime.room.people import ABSENT_S, People, joined
from realtime.room.saved import restore, save
from realtime.room.thinking import (
    MakeVoice,
    Observer,
    RoomAgent,
    as_realtime,
    embedded_voices,
    observing,
)
from realtime.room.turns import RoomTurns
from realtime.room.voice_over import Listening
from realtime.runtime import Runtime
from realtime.state.log import Log
from realtime.tool import DEFAULT_TIMEOUT_S

MAX_HUMANS = 50
POLICY = "policy"
"""The name of the policy's state in that of its room."""


def _check_floor(floor: object) -> None:
    if not callable(floor):
        known = "broadcast, round_robin, addressed or moderator(...)"
        raise UsageError(f"floor is a function of realtime.room: {known}, not {floor!r}", code="bad_floor")


class ChatRoom(StateModule):
    """Humans and agents in one conversation. One object is one room; the first human who comes connects its agents.

    - `agents` talk (`RealtimeAgent`), think (`AgentBase`: its words are spoken), or observe in silence (`Observer`).
    - `floor` chooses the agent that may speak: a policy of `realtime.room.floor`, or a function of your own.
    - `max_agent_turns`: so many agents speak one after another until a human does.
    - `listens`: how agents (by name) hear what is not said to them, `audio` or `text`. Under `broadcast` all hear
      sound, else text.
    - `make_detector` makes the detector of each human; the default is Silero VAD.
    - `interruption`: what a human's voice over a reply does, where their own settings do not say it; `recognise`
      recognises it meanwhile, by default with the recogniser of the embedded model where that is loaded.
    - `engine` holds the parts of the embedded model; None: those of the running event loop.
    - `max_humans` may be in it at once.
    - `consent_by` says who may agree to a tool that asks: the human whose turn led to its call (`asked`), or `anyone`.
    - `make_voice` makes the model through which a thinking agent speaks; by default the embedded one, whose voices the
      agents get in turn.
    - `tool_timeout_s`: how long a tool of a thinking agent may run.

    Its state is that of its agents, what was said as it was heard, and that of a policy that has one: a room with
    agents of the same names goes on from there. A human of the same name has said what they said before.
    """

    def __init__(
        self,
        agents: Sequence[RoomAgent] | None = None,
        *,
        floor: Policy = broadcast,
        max_agent_turns: int = MAX_AGENT_TURNS,
        listens: Mapping[str, Listens] | None = None,
        make_detector: DetectorFactory | None = None,
        interruption: InterruptionMode = "immediate",
        recognise: Recognise | None = None,
        engine: SpeechEngine | None = None,
        max_humans: int = MAX_HUMANS,
        consent_by: ConsentBy = "asked",
        make_voice: MakeVoice | None = None,
        tool_timeout_s: float = DEFAULT_TIMEOUT_S,
        name: str = "room",
    ) -> None:
        super().__init__()
        _check_floor(floor)
        # Whom the room takes is said by name, for each of them.
        listed = {name: one for name, one in locals().items() if name != "agents" or not isinstance(one, list | tuple)}
        check_options(ChatRoom.__init__, listed, above_0=("tool_timeout_s",))
        if not name.strip():
            raise BadOption("name is empty: give the room a name, or leave it out")
        if max_humans < 1:
            raise BadOption(f"max_humans is at least 1, not {max_humans}")
        if max_agent_turns < 0:
            raise BadOption(f"max_agent_turns is 0 or more, not {max_agent_turns}")
        if agents is not None and not agents:
            raise UsageError("agents is empty: leave it out for a room of humans alone", code="no_agents")
        self._make_voice = make_voice or embedded_voices(engine)
        self._tool_timeout_s = tool_timeout_s
        made = [as_realtime(agent, self._make_voice, tool_timeout_s) for agent in agents or ()]
        names = [folded(agent.name) for agent in made]
        if len(set(names)) < len(names):
            raise UsageError("two agents of a room have one name; nobody could address them", code="name_taken")
        self.name = name
        self._make_detector = make_detector or silero_detector
        self.listening = Listening(recognise or partial(recognise_words, engine=engine), interruption)
        """How it listens while an agent speaks."""
        self._max_humans = max_humans
        self._context = RoomContext(name)
        people = self._people = People(made)
        self.agent_participants = people.agents
        """The agents that are there, in order; empty before the room has begun."""
        self.humans = people.humans
        """The humans, in order of coming."""
        self.policy = floor
        """Decides which agent may speak."""
        self.conversation = people.record.conversation
        """What was said, with names; of agents the words that were heard."""
        self.on_event = people.record.on_event
        """Called with each event of the room."""
        by_name = {name.casefold(): how for name, how in (listens or {}).items()}
        for name in by_name:
            near = get_close_matches(name, [agent.name.casefold() for agent in made], 1, 0.75)
            if near and near != [name]:
                raise BadOption(f"listens names {name!r}, but the agent is called {near[0]!r}")
        default: Listens = "audio" if floor is broadcast else "text"
        self.turns = RoomTurns(
            self._context,
            people,
            policy=floor,
            max_agent_turns=max_agent_turns,
            consent_by=consent_by,
            listens=lambda name: by_name.get(name.casefold(), default),
        )
        """What the humans of the room talk to."""
        self._opening = asyncio.Lock()
        self._own_call: Session | None = None
        self._own_human: HumanParticipant | None = None

    # -- what there is ---------------------------------------------------------------------------------------------

    @property
    def agents(self) -> tuple[RealtimeAgent, ...]:
        """The agents of this room, also before it has begun."""
        return tuple(self._people.expected)

    @property
    def participants(self) -> tuple[Participant, ...]:
        """All who are there, in order of coming; empty before the room has begun."""
        return self._people.participants

    @property
    def floor(self) -> str | None:
        """The id of the participant that has the floor; None where it is free."""
        return self.turns.floor.holder

    @property
    def log(self) -> Log | None:
        """Each event of the room in its order; None before the room has begun."""
        return self._people.record.log

    def describe(self) -> dict[str, Any]:
        """Describe the room and its agents, for people and pages. Holds no secrets."""
        runs = {id(one.agent): one.run for one in self._people.agents}
        agents = [
            {"name": agent.name, **runs.get(id(agent), agent).describe(), **observing(agent)}
            for agent in self._people.expected
        ]
        first = agents[0] if agents else {"provider": "room", "model": self.name}
        return {**first, "room": self.name, "agents": agents, "turn_authority": "server"}

    # -- its state -------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the state of its agents, and its talk, as builtins."""
        state = save(self._people, self.turns.floor.state, self.turns.speaker)
        return state if self._stateful_policy is None else {**state, POLICY: self._stateful_policy.state_dict()}

    @property
    def _stateful_policy(self) -> StateModule | None:
        policy: object = self.policy
        return policy if isinstance(policy, StateModule) else None

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Restore what `state_dict` returned; agents are found by their names.

        Raises UsageError once the room has begun, and for a damaged state; KeyError, with `strict`, where the state
        lacks an agent, before anything changes.
        """
        if self._context.has_begun or self._context.is_over:
            raise UsageError("this room has begun: load the state into a new one", code="room_running")
        policy = self._stateful_policy
        if policy is not None and strict and POLICY not in state_dict:
            raise KeyError("the state of the room lacks that of its policy")
        self.turns.floor.recall(restore(self._people, self.turns.floor.state, state_dict, strict))
        if policy is not None and POLICY in state_dict:
            policy.load_state_dict(state_dict[POLICY], strict)
        self.turns.agents.recall(state_dict.get("agents", {}))

    # -- without a server ------------------------------------------------------------------------------------------

    async def start(
        self, outgoing_queue: Outlet, *, config: SessionConfig | Mapping[str, Any] | None = None, name: str = "user"
    ) -> None:
        """Connect all agents; emit the events of a human called `name` into `outgoing_queue`.

        Raises ProviderError where an agent's model cannot be had: then nothing of the room is left running.
        """
        if self._own_call is not None:
            raise UsageError("this room runs already", code="room_running")
        settings = SessionConfig.of(config)
        runtime = Runtime.of_loop(asyncio.get_running_loop())
        human = self._own_human = self.make_human(name, runtime)
        call = Session(participant=human, runtime=runtime, session_id=runtime.new_id("session"), private=True)
        call.attach(queue_listener(outgoing_queue, runtime))
        self._own_call = call
        try:
            await call.start(settings)
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

    def make_human(self, name: str, runtime: Runtime) -> HumanParticipant:
        """Make the participant of one human, to be given to a call.

        A number distinguishes two humans of one name. Raises ClientError where the room is full or over, or for a
        name that is not allowed (`realtime.room.names`).
        """
        wanted = settled_name(name)
        self._check_place()
        return HumanParticipant(self, wanted, runtime.new_id("human"), self._make_detector)

    def _check_place(self) -> None:
        """Raises ClientError where no human can come in."""
        if self._context.is_over:
            raise ClientError("the room is closed", code="room_closed")
        if len(self.humans) >= self._max_humans:
            raise ClientError(f"there are {self._max_humans} in the room already", code="room_full", retryable=True)

    async def enter(self, human: HumanParticipant, config: SessionConfig) -> None:
        """See `realtime.room.human_participant.Room`."""
        people, host = self._people, human.host
        async with self._opening:
            if not self._context.has_begun:
                # A human has a voice, tools and settings of their own: the agents do not take them over.
                await self._open(host.runtime, config if self._own_call is not None else SessionConfig())
        self._check_place()
        if not human.is_in(host):
            raise ClientError("they left before the room was open", code="session_ended")
        human.name = people.free_name(human.name)
        me = Participant(human.id, human.name, "human", away=human.is_away)
        for agent in people.agents:
            if agent.ready is not None:
                human.tell(agent.ready)
        if not people.agents:
            # A client that waits for an agent to be ready waits for the room.
            human.tell(s.AgentReadyEvent(agent_name=self.name))
        # The first participant that a client learns of is itself: so it gets its id and its name.
        human.tell(joined(me))
        for one in people.participants:
            human.tell(joined(one))
            if one.away and one.kind == "agent":
                human.tell(s.ServerRoomLeftEvent(participant_id=one.id, name=one.name, reason="away"))
        if self.floor is not None:
            human.tell(s.ServerRoomFloorEvent(participant_id=self.floor))
        people.record.comes_back(human.id, human.name)
        people.record.tell_history(human, self.turns.transcription.pending)
        for agent in people.agents:
            if (plan := agent.run.plan.now()) is not None:
                human.tell(plan)
        was_empty = not people.humans
        people.humans.append(human)
        people.come(me, told=human)
        self._watch_absence(human)
        if was_empty:
            self.turns.consider()  # A question from before the last human left is answered to the one who comes back.

    async def _open(self, runtime: Runtime, config: SessionConfig) -> None:
        """Connect all agents; where one cannot be had, none stays."""
        self._context.runtime, self._context.has_begun = runtime, True
        self._people.record.begin(runtime)
        try:
            await self.turns.agents.connect_all(config)
        except BaseException:
            self._context.has_begun, self._people.record.log = False, None
            raise

    async def depart(self, human: HumanParticipant, reason: str) -> None:
        """See `realtime.room.human_participant.Room`."""
        people = self._people
        if human not in people.humans:
            return
        if people.humans == [human]:
            self.turns.speaker.stop(human)  # What is said from now on is not heard.
        self.turns.speaker.human_leaves(human)
        if self._context.is_over or human is self._own_human:
            human.microphone.forsake_voice("cleared")
            human.microphone.is_speaking = False  # No agent will be there to hear it.
        else:
            human.microphone.break_off()
        people.humans.remove(human)
        self._context.timers.cancel(f"voice {human.id}")
        self._context.timers.cancel(f"absent {human.id}")
        self.turns.gone(human.id, human.name, reason)
        self.turns.consent.refuse_for_absent()
        if human is self._own_human:
            self._context.is_over = True
            for agent in [*people.agents]:
                await agent.leave(reason)
                human.tell(s.AgentEndedEvent(reason=reason, agent_id=agent.id, agent_name=agent.name))
        self.turns.presence()

    def presence(self, human: HumanParticipant, away: bool) -> None:
        """See `realtime.room.human_participant.Room`."""
        self._people.change(human.id, away=away)
        self._watch_absence(human)
        self.turns.presence()

    def _watch_absence(self, human: HumanParticipant) -> None:
        """Remove a human who stays away. Their call may wait for longer; here others wait for them."""
        context, name = self._context, f"absent {human.id}"

        def remove() -> None:
            context.run(self.remove(human.id, "absent"), name)

        if human.is_away and human in self.humans:
            context.timers.after(name, ABSENT_S, remove)
        else:
            context.timers.cancel(name)

    # -- changing who is in it -------------------------------------------------------------------------------------

    def mute(self, participant_id: str, muted: bool = True) -> None:
        """Mute a human, or give an agent no floor. Raises KeyError for an unknown id."""
        self._people.find(participant_id)
        human, agent = self._people.human(participant_id), self._people.agent(participant_id)
        if human is not None:
            human.microphone.mute(muted)
        if agent is not None:
            agent.is_muted = muted
            if muted and self.turns.speaker.agent is agent:
                self.turns.speaker.stop()
        self._people.change(participant_id, muted=muted)
        self.turns.consider()

    def rename(self, participant_id: str, name: str) -> None:
        """Give a participant another name.

        Raises KeyError for an unknown id, ClientError for a name that is taken or not allowed.
        """
        before = self._people.find(participant_id)
        name = settled_name(name)
        if name == before.name:
            return
        self._people.rename(participant_id, name)
        if before.kind == "agent":
            self.turns.agents.introduce()

    async def observe(self, agent: AgentBase) -> None:
        """Add a thinking agent that listens in silence (`Observer`). Raises what `add` raises."""
        await self.add(Observer(agent))

    async def add(self, agent: RoomAgent) -> None:
        """Add an agent to the room.

        Raises what `AgentRun.join` raises, and ClientError for a name that is taken or not allowed, or where the
        room is over.
        """
        async with self._opening:
            pass  # While the first are connected, it is not known yet whether there will be a room.
        if self._context.is_over:
            raise ClientError("the room is closed", code="room_closed")
        made = as_realtime(agent, self._make_voice, self._tool_timeout_s)
        made.name = settled_name(made.name)
        if self._people.free_name(made.name) != made.name:
            raise ClientError(f"{made.name!r} is taken", code="name_taken")
        self._people.expected.append(made)  # From now on the name is taken, also while its model is being connected.
        if self._context.has_begun:
            try:
                await self.turns.agents.add(made)
            except BaseException:
                self._people.expected.remove(made)
                raise
            self.turns.consider()

    async def remove(self, participant_id: str, reason: str = "kicked") -> None:
        """Remove a participant. Raises KeyError for an unknown id.

        An agent's model is closed; a human gets the reason.
        """
        self._people.find(participant_id)
        agent, human = self._people.agent(participant_id), self._people.human(participant_id)
        if agent is not None:
            await self.turns.dismiss(agent, reason)
        if human is not None:
            self.turns.speaker.settle_cut()
            await self.depart(human, reason)
            human.tell(s.AgentEndedEvent(reason=reason, **human.who))

    async def close(self, reason: str) -> None:
        """Close the room: its agents leave. Idempotent; humans who are in it keep a call without a partner."""
        self.turns.speaker.settle_cut()
        self.turns.speaker.stop()
        self._context.is_over = True
        self._context.timers.close()
        tasks = self._context.tasks
        for task in [*tasks]:
            task.cancel()
        for agent in [*self.agent_participants]:
            await agent.leave(reason)
        if tasks:
            await asyncio.wait(tasks)
