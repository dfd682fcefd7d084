"""`ChatRoom`: several humans, several agents, one conversation.

The room decides who speaks. A human who speaks has the floor, and the agent that spoke stops at the word that was
heard. When a turn is over and its words are known, the policy (`realtime.floor`) says which agent answers; everybody
else hears the turn as well, once: as sound, or as the line `[Name]: text`.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from realtime.agent.realtime import Outlet, RealtimeAgent, silero_detector
from realtime.audio.voice import Voice
from realtime.errors import ClientError, RealtimeError, UsageError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import ContentPart, Item
from realtime.event.config import SessionConfig
from realtime.floor import MAX_AGENT_TURNS, FloorState, Participant, Policy, Said, broadcast, with_turn
from realtime.pipeline.member import Listens, Member, Utterance
from realtime.pipeline.seat import EMPTY_COMMIT_MS, DetectorFactory, Seat
from realtime.runtime import Runtime
from realtime.state.conversation import Conversation
from realtime.state.log import AudioRun, Log
from realtime.state.restore import ConversationReader

logger = logging.getLogger(__name__)

MAX_HUMANS = 50
TRANSCRIPT_S = 10.0
"""How long the words of a turn are waited for before the talk goes on without them."""
STALLED_S = 2.0
"""How much longer than it takes to play a turn the others wait for a human who does not say that it was played."""
SETTLE_S = 0.02
"""How much later the ear is asked again whether all is heard."""
ANSWER_S = 20.0
"""How long an agent may have the floor before its model begins to answer."""
COMES_BACK_S = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
"""When an agent whose model was lost is tried again; the last holds from then on."""
MAX_NAME_CHARS = 64


class ChatRoom:
    """Humans and agents in one conversation. One object is one room; its agents are connected by the first who comes.

    - `floor` says which agent may speak: a policy of `realtime.floor`, or a function of your own.
    - `max_agent_turns`: so many agents speak one after another until a human does.
    - `listens`: how agents (by name) hear what is not said to them, `audio` or `text`. Under `broadcast` all hear
      sound, else text.
    - `make_detector` makes the detector of each human; the default is Silero VAD.
    - `max_humans` may be in it at once.
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
        name: str = "room",
    ) -> None:
        names = [agent.name.casefold() for agent in agents]
        if len(set(names)) < len(names):
            raise UsageError("two agents of a room have one name; nobody could address them", code="name_taken")
        self.name = name
        self.members: list[Member] = []
        """The agents, in order; empty before the room has begun."""
        self.seats: list[Seat] = []
        """The humans, in order of coming."""
        self.conversation = Conversation()
        """What was said, with names; of agents the words that were heard."""
        self.on_event: list[Callable[[s.ServerEvent], None]] = []
        """Called with each event of the room."""
        self.log: Log | None = None
        """Each event of the room in its order; none before the room has begun."""
        self._agents = [*agents]
        self._policy = floor
        self._max_agent_turns = max_agent_turns
        self._listens = {name.casefold(): how for name, how in (listens or {}).items()}
        self._make_detector = make_detector or silero_detector
        self._max_humans = max_humans
        self._reader = ConversationReader(self.conversation)
        self._runtime: Runtime | None = None
        self._state = FloorState(())
        self._pending: dict[str, Utterance] = {}
        """Turns of which the words are not known yet, by id."""
        self._speaker: Member | None = None
        self._ear: Seat | None = None
        self._floor: str | None = None
        self._wait_until: float | None = None
        """When the turn of the agent that speaks is taken for heard, whatever its listeners say."""
        self._deciding = 0
        self._decision: asyncio.Task[None] | None = None
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._opening: asyncio.Lock = asyncio.Lock()
        self._own_call: Any = None
        self._over = False

    @property
    def agents(self) -> tuple[RealtimeAgent, ...]:
        """The agents of this room, also before it has begun."""
        return tuple(self._agents)

    # -- used alone ------------------------------------------------------------------------------------------------

    async def start(self, outgoing_queue: Outlet, *, config: SessionConfig | None = None, name: str = "user") -> None:
        """Connect all agents and begin to emit events into `outgoing_queue`, as one human called `name` is told them.

        Raises ProviderError where an agent's model cannot be had: then nothing of the room is left running.
        """
        # The one import upwards besides an agent's own: used alone, a room needs a call around it (docs/decisions.md).
        from realtime.session import Session, queue_listener

        if self._own_call is not None:
            raise UsageError("this room runs already", code="room_running")
        runtime = Runtime.of_loop(asyncio.get_running_loop())
        call = Session(
            agent=self.seat(name, runtime), runtime=runtime, session_id=runtime.new_id("session"), private=True
        )
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

    async def handle_input(self, event: c.ClientEvent | s.ServerEvent) -> None:
        """Take a client event of the human that `start` made. Raises UsageError before `start`."""
        if self._own_call is None:
            raise UsageError("the room is not running: call start() first", code="agent_not_running")
        self._own_call.receive(event)

    # -- humans come and go ----------------------------------------------------------------------------------------

    def seat(self, name: str, runtime: Runtime) -> Seat:
        """A place for one human, to be given to a call in the place of an agent.

        Two humans of one name are told apart by a number. Raises ClientError where the room is full or over, or for a
        name that is empty or too long.
        """
        wanted = " ".join(name.split())
        if not wanted or len(wanted) > MAX_NAME_CHARS:
            raise ClientError(f"a name has 1 to {MAX_NAME_CHARS} characters", code="invalid_name")
        self._check_room()
        return Seat(self, wanted, runtime.new_id("human"), self._make_detector)

    def _check_room(self) -> None:
        if self._over:
            raise ClientError("the room is closed", code="room_closed")
        if len(self.seats) >= self._max_humans:
            raise ClientError(f"there are {self._max_humans} in the room already", code="room_full", retryable=True)

    async def enter(self, seat: Seat, config: SessionConfig) -> None:
        """See `realtime.pipeline.seat.Room`."""
        host = seat.host
        async with self._opening:
            if self._runtime is None:
                # Who joins has a voice, tools and settings of their own: they are none of the agents'.
                await self._open(host.runtime, config if self._own_call is not None else SessionConfig())
        self._check_room()
        seat.name = self._free_name(seat.name)
        me = Participant(seat.id, seat.name, "human")
        for member in self.members:
            if member.ready is not None:
                seat.tell(member.ready)
        # The first whom a client is told of is itself: only so it learns its id, and the name that it was given.
        seat.tell(_joined(me))
        for one in self._state.participants:
            seat.tell(_joined(one))
            if one.away:
                seat.tell(s.ServerRoomLeftEvent(participant_id=one.id, name=one.name, reason="away"))
        if self._floor is not None:
            seat.tell(s.ServerRoomFloorEvent(participant_id=self._floor))
        for item in self.conversation.items():
            seat.tell(s.AgentItemAddedEvent(item=item, agent_id="", agent_name=item.name or ""))
            seat.tell(s.AgentItemDoneEvent(item=item, agent_id="", agent_name=item.name or ""))
        self.seats.append(seat)
        self._come(me, told=seat)

    async def depart(self, seat: Seat, reason: str) -> None:
        """See `realtime.pipeline.seat.Room`."""
        if seat not in self.seats:
            return
        if seat.is_speaking:
            seat.is_speaking = False
        self.seats.remove(seat)
        self._cancel(f"voice {seat.id}")
        self._go(seat.id, seat.name, reason)
        if self._ear is seat:
            self._ear = None
        if self._own_call is not None or reason == "stopped":
            for member in self.members:
                await member.leave(reason)
                seat.tell(s.AgentEndedEvent(reason=reason, agent_id=member.id, agent_name=member.name))
        self._consider()

    def describe(self) -> dict[str, Any]:
        """Who is there, for people and pages. Holds no secrets."""
        agents = [{"name": agent.name, **agent.describe()} for agent in self._agents]
        first = agents[0] if agents else {"provider": "room", "model": self.name}
        return {**first, "room": self.name, "agents": agents, "turn_authority": "server"}

    @property
    def participants(self) -> tuple[Participant, ...]:
        """Who is in it now, in order of coming; empty before the room has begun."""
        return self._state.participants

    @property
    def floor(self) -> str | None:
        """The id of the participant that has the floor; None where nobody has."""
        return self._floor

    @property
    def policy(self) -> Policy:
        """What decides who may speak."""
        return self._policy

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
        ClientError for a name that is taken."""
        before = self._known(participant_id)
        if self._free_name(name) != name:
            raise ClientError(f"{name!r} is taken", code="name_taken")
        for seat in self.seats:
            if seat.id == participant_id:
                seat.name = name
        for member in self.members:
            if member.id == participant_id:
                member.name = name
        self._change(participant_id, name=name)
        self.tell(s.ServerRoomLeftEvent(participant_id=before.id, name=before.name, reason="renamed"))
        self.tell(s.ServerRoomJoinedEvent(participant_id=before.id, name=name, kind=before.kind))

    async def add(self, agent: RealtimeAgent) -> None:
        """Another agent comes in. Raises what `RealtimeAgent.join` raises, ClientError for a name that is taken."""
        if self._free_name(agent.name) != agent.name:
            raise ClientError(f"{agent.name!r} is taken", code="name_taken")
        self._agents.append(agent)
        if self._runtime is not None:
            try:
                await self._bring(agent, self._runtime, SessionConfig())
            except BaseException:
                self._agents.remove(agent)
                raise
            self._consider()

    async def remove(self, participant_id: str, reason: str = "kicked") -> None:
        """Somebody has to go: an agent's model is closed, a human is told why. Raises KeyError for nobody here."""
        self._known(participant_id)
        for member in [*self.members]:
            if member.id == participant_id:
                if self._speaker is member:
                    self._stop_speaker()
                self._cancel(f"again {member.id}")
                self.members.remove(member)
                self._agents.remove(member.agent)
                await member.leave(reason)
                self._go(member.id, member.name, reason)
        for seat in [*self.seats]:
            if seat.id == participant_id:
                await self.depart(seat, reason)
                seat.tell(s.AgentEndedEvent(reason=reason, agent_id=seat.id, agent_name=seat.name))
        self._consider()

    async def close(self, reason: str) -> None:
        """The room is over: its agents leave. Idempotent; whoever is in it keeps a call without a partner."""
        self._over = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for task in [*self._tasks]:
            task.cancel()
        for member in self.members:
            await member.leave(reason)
        if self._tasks:
            await asyncio.wait(self._tasks)

    # -- what humans do --------------------------------------------------------------------------------------------

    def voice(self, voice: Voice) -> None:
        """See `realtime.pipeline.seat.Room`."""
        for seat in self.seats:
            if seat.voice is not voice:
                seat.hear(voice)

    def voice_began(self, seat: Seat, start_ms: int) -> None:
        """See `realtime.pipeline.seat.Room`: whoever speaks has the floor."""
        self._take_floor(seat, "speech")
        utterance = Utterance(self._new_id("said"), seat.id, seat.name)
        self._pending[utterance.id] = utterance
        seat.utterance = utterance
        self._watch(seat, utterance)
        self.tell(
            s.AgentInputStartedEvent(
                item_id=utterance.id, audio_start_ms=start_ms, agent_id=seat.id, agent_name=seat.name
            )
        )

    def voice_ended(self, seat: Seat, end_ms: int, pcm: bytes) -> None:
        """See `realtime.pipeline.seat.Room`: somebody has to write the words down."""
        utterance, seat.utterance = seat.utterance, None
        if utterance is None:
            return
        who: dict[str, Any] = {"agent_id": seat.id, "agent_name": seat.name}
        self.tell(s.AgentInputDoneEvent(item_id=utterance.id, audio_end_ms=end_ms, **who))
        item = Item(id=utterance.id, role="user", name=seat.name, content=(ContentPart(type="audio"),))
        self.tell(s.AgentItemAddedEvent(item=item, **who))
        utterance.pcm += pcm
        listeners = [one for one in self.members if one.listens == "audio" and not one.is_away]
        scribe = self._scribe()
        if scribe is not None and scribe not in listeners:
            listeners.insert(0, scribe)
        for member in listeners:
            member.listen(utterance, named=len(self.seats) > 1)
        if not utterance.heard_by:
            self._complain("nobody here can hear: all agents are away or take no sound", "nobody_hears")
            self.transcribed(utterance, "")
            return
        self._after(f"words {utterance.id}", TRANSCRIPT_S, lambda: self.transcribed(utterance, ""))

    def voice_dropped(self, seat: Seat) -> None:
        """See `realtime.pipeline.seat.Room`."""
        utterance, seat.utterance = seat.utterance, None
        if utterance is not None and self._pending.pop(utterance.id, None) is not None:
            self.tell(s.AgentInputClearedEvent(agent_id=seat.id, agent_name=seat.name))
        self._consider()

    def voice_goes_on(self, seat: Seat) -> None:
        """See `realtime.pipeline.seat.Room`."""
        if seat.utterance is not None:
            self._take_floor(seat, "speech")
            self._watch(seat, seat.utterance)

    def _watch(self, seat: Seat, utterance: Utterance) -> None:
        """Whoever is not heard any more in the middle of a turn has the floor no longer; their turn stays open."""

        def look() -> None:
            if seat.utterance is not utterance or seat not in self.seats:
                return
            left_s = seat.heard_at_s + STALLED_S - self._now()
            if left_s > SETTLE_S:
                self._after(f"voice {seat.id}", left_s, look)
            else:
                seat.is_stalled = True
                self._consider()

        self._after(f"voice {seat.id}", STALLED_S, look)

    def act(self, seat: Seat, event: c.ClientEvent) -> None:
        """See `realtime.pipeline.seat.Room`."""
        if self._over:
            raise ClientError("the room is closed", code="room_closed")
        match event:
            case c.ClientTextAppendEvent(text=text):
                self._take_floor(seat, "text")
                item = Item(
                    id=self._new_id("said"),
                    role="user",
                    name=seat.name,
                    content=(ContentPart(type="text", text=text),),
                )
                who: dict[str, Any] = {"agent_id": seat.id, "agent_name": seat.name}
                self.tell(s.AgentItemAddedEvent(item=item, **who))
                self.tell(s.AgentItemDoneEvent(item=item, **who))
                self._spoken(Utterance(item.id, seat.id, seat.name, text=text), "human")
            case c.ClientResponseCreateEvent():
                if self._speaker is None:
                    self._consider(reason="asked")
            case c.ClientResponseCancelEvent():
                self._ear = seat
                self._stop_speaker()
                self._set_floor(None, "cancelled")
            case c.ClientToolResultEvent():
                if not any(member.answer_tool(event) for member in self.members):
                    raise ClientError(f"no open tool call has the id {event.id!r}", code="unknown_tool_call")
            case c.ClientItemTruncateEvent() | c.ClientPlaybackAckEvent():
                pass
            case _:
                raise ClientError(f"{event.type} has no meaning in a room", code="unsupported_in_room")

    # -- what agents do (`realtime.pipeline.member.Hub`) -----------------------------------------------------------

    def tell(self, event: s.ServerEvent, told: Seat | None = None) -> None:
        """Something happened: into the log of the room, and to every human but the one who was `told` already."""
        if self.log is None:
            return
        if type(event) is s.AgentItemAddedEvent:
            items = self.conversation.items()
            event = msgspec.structs.replace(event, previous_item_id=items[-1].id if items else None)
        self.log.append(event)
        if type(event) is s.AgentResponseCreatedEvent:
            self._cancel("answer")
        if type(event) is s.AgentResponseAudioDeltaEvent:
            run = AudioRun(event.seq, event.seq, event.ts_ms, event.ts_ms, event.item_id, 0, len(event.delta))
            self._reader.read(run)
        else:
            self._reader.read(event)
        for seat in self.seats:
            if seat is not told:
                seat.tell(event)
        for follow in self.on_event:
            follow(event)

    def transcribed(self, utterance: Utterance, text: str) -> None:
        """See `Hub`. The first who knows counts."""
        if self._pending.pop(utterance.id, None) is None:
            return
        self._cancel(f"words {utterance.id}")
        utterance.text = text.strip()
        who: dict[str, Any] = {"agent_id": utterance.who, "agent_name": utterance.name}
        self.tell(s.AgentInputTranscriptionDoneEvent(item_id=utterance.id, transcript=utterance.text, **who))
        item = self.conversation.get(utterance.id)
        if item is not None:
            self.tell(s.AgentItemDoneEvent(item=item, **who))
        self._spoken(utterance, "human")

    def turn_over(self, member: Member) -> None:
        """See `Hub`: the next may speak when this one was heard to the end."""
        left_s, now = self.unheard_ms() / 1000, self._now()
        self._wait_until = self._wait_until or now + left_s + STALLED_S
        if left_s > 0 and now < self._wait_until:
            again_s = min(left_s + SETTLE_S, self._wait_until - now)
            self._after("heard", again_s, lambda: self.turn_over(member))
            return
        if self._speaker is member:
            self._end_turn(member)

    def lost(self, member: Member, reason: str) -> None:
        """See `Hub`: the others go on, and it is tried again."""
        if self._over:
            return
        self._change(member.id, away=True)
        self.tell(s.ServerRoomLeftEvent(participant_id=member.id, name=member.name, reason="away"))
        logger.warning("agent %s of room %s is away: %s", member.id, self.name, reason)
        # What it has said already is still heard to its end.
        self.turn_over(member)
        self._try_again(member, 0)
        self._consider()

    def listens_to(self, member: Member) -> bool:
        """See `Hub`."""
        return any(one.listens == "audio" and one is not member for one in self.members)

    def heard_ms(self, item_id: str) -> int:
        """See `Hub`: the ear of whoever interrupts counts, else the furthest."""
        if self._ear is not None:
            return self._ear.heard_ms(item_id)
        return max((seat.heard_ms(item_id) for seat in self.seats), default=0)

    def unheard_ms(self) -> int:
        """See `Hub`."""
        return max((seat.unheard_ms() for seat in self.seats), default=0)

    # -- the floor -------------------------------------------------------------------------------------------------

    def _take_floor(self, seat: Seat, reason: str) -> None:
        self._ear = seat
        self._stop_speaker()
        self._set_floor(seat.id, reason)

    def _stop_speaker(self) -> None:
        member = self._speaker
        if member is not None:
            member.interrupt()
            self._end_turn(member, interrupted=True)

    def _end_turn(self, member: Member, *, interrupted: bool = False) -> None:
        """The agent's turn is over, with the words that were heard."""
        self._speaker = None
        self._cancel("heard")
        self._cancel("answer")
        member.has_floor = False
        self._set_floor(None, "interrupted" if interrupted else "done")
        # Whoever interrupts says what comes next.
        self._spoken(member.utterance(self._new_id("said")), "agent", goes_on=not interrupted)

    def _spoken(self, utterance: Utterance, kind: str, *, goes_on: bool = True) -> None:
        """A turn is over and its words are known: everybody hears it who has not. `goes_on`: the next may speak."""
        is_agent = kind == "agent"
        if utterance.text or is_agent:
            self._state = with_turn(
                self._state, Said(utterance.who, utterance.name, "agent" if is_agent else "human", utterance.text)
            )
            for member in self.members:
                if member.id == utterance.who or member.id in utterance.heard_by:
                    continue
                if is_agent and member.listens == "audio" and utterance.duration_ms >= EMPTY_COMMIT_MS:
                    member.listen(utterance, named=True)
                else:
                    member.read(utterance)
        if goes_on:
            self._consider()

    def _consider(self, reason: str = "") -> None:
        """Who is next, where nobody speaks and all words are known."""
        self._deciding += 1
        if self._decision is not None:
            self._decision.cancel()
        if self._over or self._speaker is not None:
            return
        if any(seat.is_speaking and not seat.is_stalled for seat in self.seats):
            return
        if any(one.pcm for one in self._pending.values()):
            return  # Words are still waited for.
        state = self._state
        if not reason and (state.last is None or state.agent_turns >= self._max_agent_turns):
            self._set_floor(None, "limit" if state.last is not None and state.agent_turns else "")
            return
        try:
            chosen = self._policy(state)
        except Exception:
            logger.exception("the floor policy of room %s failed", self.name)
            self._complain("the floor policy failed: the server's log says why", "floor_policy_failed")
            self._set_floor(None, "nobody")
            return
        if inspect.isawaitable(chosen):
            self._decision = self._run(self._decide_later(chosen, self._deciding), "floor policy")
        else:
            self._give(chosen)

    async def _decide_later(self, chosen: Any, number: int) -> None:
        try:
            speaker = await chosen
        except Exception:
            logger.exception("the floor policy of room %s failed", self.name)
            self._complain("the floor policy failed: the server's log says why", "floor_policy_failed")
            return
        if number == self._deciding:
            self._give(speaker)

    def _give(self, speaker: str | None) -> None:
        found = self._state.find(speaker)
        member = next((one for one in self.members if found is not None and one.id == found.id), None)
        if member is None:
            self._set_floor(None, "nobody")
            return
        self._speaker, self._ear, self._wait_until = member, None, None
        self._set_floor(member.id, "policy")
        self._after("answer", ANSWER_S, lambda: self._give_up(member))
        member.speak()

    def _give_up(self, member: Member) -> None:
        """It was asked and does not answer: the talk goes on without it."""
        if self._speaker is member:
            self._complain(f"{member.name} does not answer", "no_answer")
            member.interrupt()
            self._end_turn(member)

    def _set_floor(self, participant_id: str | None, reason: str) -> None:
        if participant_id != self._floor:
            self._floor = participant_id
            self.tell(s.ServerRoomFloorEvent(participant_id=participant_id, reason=reason))

    def _scribe(self) -> Member | None:
        """The agent that writes down what a human says: the one that is spoken to, else the first that can."""
        able = [one for one in self.members if not one.is_away and "audio" in one.agent.model.profile.input_modalities]
        return next((one for one in able if one.id == self._state.addressed), able[0] if able else None)

    # -- inside ----------------------------------------------------------------------------------------------------

    async def _open(self, runtime: Runtime, config: SessionConfig) -> None:
        """Connect all agents at once; where one cannot be had, none stays."""
        self._runtime, self.log = runtime, Log(runtime.now)
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
        member = Member(agent, self, runtime, listens)
        await member.join(msgspec.structs.replace(config, instructions=self._instructions(agent)))
        self.members.append(member)
        self._come(Participant(member.id, member.name, "agent"))

    def _instructions(self, agent: RealtimeAgent) -> str:
        others = ", ".join(one.name for one in self._agents if one is not agent) or "nobody else"
        return (
            f"{agent.sys_prompt}\n\nYou are {agent.name}, in a room with humans and these other agents: {others}. What "
            "others say is written as [Name]: text. Speak for yourself only, and do not put your name before it."
        ).strip()

    def _try_again(self, member: Member, attempt: int) -> None:
        delay_s = COMES_BACK_S[min(attempt, len(COMES_BACK_S) - 1)]

        async def again() -> None:
            before = member.agent
            await before.leave("away")
            if before not in self._agents:
                return
            member.agent = self._agents[self._agents.index(before)] = before.another()
            try:
                await member.join(SessionConfig(instructions=self._instructions(member.agent)))
            except RealtimeError:
                self._try_again(member, attempt + 1)
                return
            if member not in self.members:
                await member.leave("kicked")
                return
            self._change(member.id, away=False)
            self.tell(s.ServerRoomJoinedEvent(participant_id=member.id, name=member.name, kind="agent"))
            self._consider()

        def begin() -> None:
            self._run(again(), f"agent {member.name} comes back")

        self._after(f"again {member.id}", delay_s, begin)

    def _come(self, who: Participant, told: Seat | None = None) -> None:
        self._state = replace(self._state, participants=(*self._state.participants, who))
        self.tell(_joined(who), told)

    def _go(self, participant_id: str, name: str, reason: str) -> None:
        left = tuple(one for one in self._state.participants if one.id != participant_id)
        self._state = replace(self._state, participants=left)
        for utterance in [one for one in self._pending.values() if one.who == participant_id and not one.pcm]:
            # They left in the middle of a sentence that nobody has heard.
            del self._pending[utterance.id]
        self.tell(s.ServerRoomLeftEvent(participant_id=participant_id, name=name, reason=reason))
        if self._floor == participant_id:
            self._set_floor(None, "left")

    def _change(self, participant_id: str, **changes: Any) -> None:
        self._state = replace(
            self._state,
            participants=tuple(
                replace(one, **changes) if one.id == participant_id else one for one in self._state.participants
            ),
        )

    def _known(self, participant_id: str) -> Participant:
        return {one.id: one for one in self._state.participants}[participant_id]

    def _free_name(self, name: str) -> str:
        """The name, with a number where somebody has it already."""
        taken = {one.name.casefold() for one in self._state.participants}
        free, number = name, 1
        while free.casefold() in taken:
            number += 1
            free = f"{name} {number}"
        return free

    def _complain(self, message: str, code: str) -> None:
        self.tell(s.AgentErrorEvent(error_type="server_error", code=code, message=message))

    def _new_id(self, prefix: str) -> str:
        assert self._runtime is not None
        return self._runtime.new_id(prefix)

    def _now(self) -> float:
        assert self._runtime is not None
        return self._runtime.now()

    def _run(self, work: Any, name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _after(self, name: str, delay_s: float, act: Callable[[], None]) -> None:
        self._cancel(name)

        def fire() -> None:
            self._timers.pop(name, None)
            act()

        self._timers[name] = asyncio.get_running_loop().call_later(delay_s, fire)

    def _cancel(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()


def _joined(who: Participant) -> s.ServerRoomJoinedEvent:
    return s.ServerRoomJoinedEvent(participant_id=who.id, name=who.name, kind=who.kind)
