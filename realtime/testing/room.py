"""Runs a voice room: the real server, a simulated page per human, scripted agents.

    run = await voice_room(
        {"Anna": [Speak("what_time.wav", text="What time is it, Bob?"), Silence(8_000)], "Ben": [Silence(8_000)]},
        agents={"Alice": StandIn(otherwise=Say("Yes.")), "Bob": StandIn(otherwise=Say("It is seven."))},
        floor=addressed,
    )
    run.floor_went_to("Bob").every_word_once().no_two_agents_at_once()

Its record is the room's: the room's log, every human's voice and playback, all at the times of the room.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any

import msgspec

from realtime.agent import RealtimeAgent
from realtime.agent.input import Detector
from realtime.agent.partial_words import no_words
from realtime.audio.pcm import SAMPLE_BYTES
from realtime.call.limits import Limits
from realtime.event import server as s
from realtime.event.config import TurnDetection
from realtime.options import check_options
from realtime.room import ChatRoom
from realtime.room.floor import MAX_AGENT_TURNS, Policy, addressed
from realtime.room.human_participant import HumanParticipant
from realtime.runtime import Runtime
from realtime.server.settings import ServerSettings
from realtime.state.log import Entry
from realtime.testing.call import naming_apart, serving
from realtime.testing.cases.case import CASE_FILE, Case, Person
from realtime.testing.cases.hearing import HearingModel, LoudnessDetector, Overheard, Vocabulary
from realtime.testing.cases.stand_in import StandIn, StandInModel
from realtime.testing.cases.tools import TestToolkit
from realtime.testing.cases.used_up import notes_on
from realtime.testing.check.floor import Heard, RoomRun
from realtime.testing.client.page import Page
from realtime.testing.client.sound import load
from realtime.testing.client.steps import BargeIn, Speak, Step
from realtime.testing.client.user import User
from realtime.testing.clock import VirtualLoop
from realtime.testing.errors import CaseError, RunFailure, ScriptFailure
from realtime.testing.record import CallRecord, Lane, WholeLog

Users = Mapping[str, Sequence[Step]] | Case
"""Each human's steps by name, or a case with several users."""
Agents = Sequence[RealtimeAgent] | Mapping[str, StandIn]
"""Agents, or their stand-ins by name. A stand-in without `hears` understands the recordings of all humans
(`Speak.text`), and has a voice of its own."""

Meanwhile = Callable[[ChatRoom], Coroutine[Any, Any, None]]

JOIN_APART_MS = 7.0
"""Time between two pages' joins: they send frames at different moments."""


async def voice_room(
    users: Users,
    *,
    room: ChatRoom | None = None,
    agents: Agents | None = None,
    floor: Policy = addressed,
    max_agent_turns: int = MAX_AGENT_TURNS,
    folder: str | Path | None = None,
    by_loudness: bool = False,
    joins_after_ms: Mapping[str, int] | None = None,
    meanwhile: Meanwhile | None = None,
    config: dict[str, Any] | None = None,
    seed: int = 0,
    limit_s: float = 7_200.0,
) -> RoomRun:
    """Run a room: all users join, do their steps at the same time, and leave together.

    Users in `joins_after_ms` come that much later than the others, and begin then.

    `room` is a prepared room; else one is made of `agents` (default: the case's `models`), `floor` and
    `max_agent_turns`. In a room that is made here voices are found by the server's own detector, or with `by_loudness`
    by their level, which is exact for clean recordings and for sounds that are no voices, and needs no extra. `folder`
    is where audio files are. `meanwhile` runs beside the steps, for changes such as muting, renaming or adding
    participants. What is left of it when all have done their steps is cancelled.

    Raises CaseError for what cannot be run, ScriptFailure where a user waited in vain, and what the server raised.
    """
    # Agents are said by name below.
    check_options(voice_room, {name: one for name, one in locals().items() if name != "agents"}, above_0=("limit_s",))
    case = users if isinstance(users, Case) else _case_of(users, seed, limit_s)
    loop = asyncio.get_running_loop()
    if isinstance(loop, VirtualLoop):
        for job, cost in case.costs.items():
            loop.declare_cost(job, cost)
    where = Path.cwd() if folder is None else Path(folder)
    stage = _Stage(case, where)
    if room is None:
        room = ChatRoom(
            stage.agents(agents if agents is not None else case.models),
            floor=floor,
            max_agent_turns=max_agent_turns,
            make_detector=_by_loudness if by_loudness else None,
            recognise=no_words,
        )
    began_s = time.perf_counter()
    runtime = naming_apart(Runtime.deterministic(loop.time, seed=case.seed))
    stage.follow(room)

    async def make_agent(user: str) -> HumanParticipant:
        participant = stage.room.make_human(user, runtime)
        stage.participants[user] = participant
        return participant

    settings = ServerSettings(limits=Limits(grace_s=case.grace_s, idle_s=case.limit_s), drain_s=0.0, endpoints=())
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(serving(make_agent, settings, runtime))
        stack.push_async_callback(room.close, "over")
        for number, person in enumerate(case.users):
            page = Page(
                app,
                person.name,
                client=person.client,
                session_id=f"human{number}",
                config=case.config | (config or {}),
                seed=case.seed,
                starts_after_ms=number * JOIN_APART_MS,
            )
            stack.push_async_callback(page.close)
            user = User(person.name, page, person.steps, where, seed=case.seed)
            stage.humans.append(_Human(page, user, number * JOIN_APART_MS / 1000))
        failure: ScriptFailure | None = None
        try:
            async with asyncio.timeout(case.limit_s):
                for one in stage.humans:
                    one.joins_after_s = (joins_after_ms or {}).get(one.page.name, 0) / 1000
                    if not one.joins_after_s:
                        await one.join()
                await _all_at_once(stage.humans, meanwhile(room) if meanwhile is not None else None)
                for one in stage.humans:
                    await one.page.leave()
        except TimeoutError:
            failure = ScriptFailure(f"the room was not over within {case.limit_s:g} s")
        except ScriptFailure as error:
            failure = error
    record = stage.record(time.perf_counter() - began_s)
    failures: list[CaseError | RunFailure] = [
        *(one for toolkit in stage.toolkits for one in toolkit.failures),
        *filter(None, [failure]),
    ]
    for first in failures:
        if isinstance(first, ScriptFailure):
            raise first.with_record(record)
        first.record = record
        raise first
    return RoomRun(record, stage.heard, stage.said)


async def _all_at_once(humans: Sequence[_Human], meanwhile: Coroutine[Any, Any, None] | None) -> None:
    """Run all users' steps. The first failure ends the steps of all."""
    try:
        async with asyncio.TaskGroup() as group:
            besides = group.create_task(meanwhile, name="meanwhile") if meanwhile is not None else None
            steps = [group.create_task(one.run(), name=f"steps of {one.user.name}") for one in humans]
            await asyncio.wait(steps)
            if besides is not None:
                besides.cancel()
    except* ScriptFailure as failures:
        raise failures.exceptions[0] from None


def _case_of(users: Mapping[str, Sequence[Step]], seed: int, limit_s: float) -> Case:
    people = tuple(Person(tuple(steps), name) for name, steps in users.items())
    return Case(users=people, name="room", seed=seed, limit_s=limit_s)


def _by_loudness(_: TurnDetection) -> Detector:
    return LoudnessDetector()


@dataclass(slots=True)
class _Human:
    page: Page
    user: User
    starts_after_s: float
    """Seconds from joining until the microphone is switched on."""
    joins_after_s: float = 0.0
    hears_from_s: float = 0.0
    """The loop's time when the microphone was switched on."""

    async def join(self) -> None:
        await self.page.join()
        self.hears_from_s = asyncio.get_running_loop().time() + self.starts_after_s

    async def run(self) -> None:
        """Do the steps after joining."""
        if self.joins_after_s:
            await asyncio.sleep(self.joins_after_s)
            await self.join()
        await self.user.run()


@dataclass(slots=True)
class _Stage:
    """Makes the agents, and follows the room."""

    case: Case
    folder: Path
    humans: list[_Human] = field(default_factory=list)
    participants: dict[str, HumanParticipant] = field(default_factory=dict)
    """By the name that the human requested."""
    heard: dict[str, list[Heard]] = field(default_factory=dict)
    said: dict[str, dict[str, bytearray]] = field(default_factory=dict)
    """The audio of each item by agent."""
    toolkits: list[TestToolkit] = field(default_factory=list)
    stand_ins: list[StandInModel] = field(default_factory=list)
    _room: ChatRoom | None = None
    _began_s: float = 0.0
    _log: WholeLog = field(default_factory=WholeLog)

    @property
    def room(self) -> ChatRoom:
        assert self._room is not None
        return self._room

    def agents(self, agents: Agents) -> list[RealtimeAgent]:
        """Return the agents, made of their stand-ins where given."""
        if not isinstance(agents, Mapping):
            return [*agents]
        vocabulary = Vocabulary()
        for person in self.case.users:
            for number, step in enumerate(person.steps, 1):
                speech = step.speech if isinstance(step, BargeIn) else step
                if isinstance(speech, Speak):
                    pcm = load(speech, self.folder, seed=self.case.seed + number)
                    vocabulary.add(pcm, speech.text if speech.text is not None else Path(speech.audio).stem)
        made = []
        for name, stand_in in agents.items():
            self._check_stand_in(name, stand_in)
            if stand_in.hears:
                model = stand_in.model(self.folder)
                self.stand_ins.append(model)
                made.append(RealtimeAgent(name, "", model))
                continue
            plain = msgspec.structs.replace(stand_in, turns="none").model(self.folder)
            self.stand_ins.append(plain)
            made.append(RealtimeAgent(name, "", HearingModel(name, plain, vocabulary)))
        return made

    def _check_stand_in(self, name: str, given: object) -> None:
        if not isinstance(given, StandIn):
            problem = f"a name stands for a StandIn here, not for a {type(given).__name__}"
            remedy = "Give agents of your own as a list, or the room as it is: room=office()."
            raise CaseError(self.folder / CASE_FILE, problem, remedy, place=f"agents.{name}")

    def follow(self, room: ChatRoom) -> None:
        """Record the room's events and its agents' audio input. Raises CaseError for a room that has begun."""
        if room.log is not None:
            raise CaseError(room.name, "the room has begun already", "Give voice_room a new one.", place="room")
        self._room = room
        known = {tool.name for agent in room.agents for tool in agent.toolkit.declarations()}
        known |= self.case.called_tools
        for name in self.case.tools:
            if room.agents and name not in known:
                problem, remedy = f"no agent has a tool {name!r}", f"They have: {', '.join(sorted(known)) or 'none'}."
                raise CaseError(self.folder / CASE_FILE, problem, remedy, place=f"tools.{name}")
        for agent in room.agents:
            toolkit = TestToolkit(agent.toolkit, "recorded", self.case.tools, self.folder / CASE_FILE)
            self.toolkits.append(toolkit)
            agent.toolkit = toolkit
            agent.model = Overheard(agent.model, self._ear_of(agent.name, agent.model.profile.input_rate_hz))
        room.on_event.append(self._read)

    def _ear_of(self, name: str, rate_hz: int) -> Any:
        heard = self.heard.setdefault(name, [])
        now = asyncio.get_running_loop().time
        open_turn = bytearray()

        def note(pcm: bytes | None) -> None:
            if pcm is not None:
                open_turn.extend(pcm)
                return
            heard.append(Heard(round((now() - self._began_s) * 1000, 3), rate_hz, bytes(open_turn)))
            open_turn.clear()

        return note

    def _read(self, event: s.ServerEvent) -> None:
        if not self._log.entries:
            self._began_s = asyncio.get_running_loop().time() - event.ts_ms / 1000
        self._log.read(event)
        if type(event) is s.AgentResponseAudioDeltaEvent:
            self.said.setdefault(event.agent_name, {}).setdefault(event.item_id, bytearray()).extend(event.delta)

    # -- what came of it -------------------------------------------------------------------------------------------

    def record(self, wall_s: float) -> CallRecord:
        """Return the record at the times of the room."""
        names = {asked: one.name for asked, one in self.participants.items()}
        late_ms = {one.page.name: round((one.page.call_began_s - self._began_s) * 1000, 3) for one in self.humans}
        hears_from_ms = {
            self.participants[one.page.name].id: (one.hears_from_s - self._began_s) * 1000
            for one in self.humans
            if one.page.name in self.participants
        }
        spoken, played, marks = [], [], []
        for one in self.humans:
            name, ms = names.get(one.page.name, one.page.name), late_ms[one.page.name]
            for part in one.user.spoken:
                spoken.append(replace(part, who=name, from_ms=part.from_ms + ms, to_ms=part.to_ms + ms))
            mine = [replace(mark, who=name, ts_ms=mark.ts_ms + ms) for mark in one.user.marks]
            marks += mine
            # A human who has left hears no more of the room, whatever their device still has to play.
            left_ms = min((mark.ts_ms for mark in mine if mark.what == "left"), default=inf)
            for heard in one.page.played():
                from_ms = heard.from_ms + ms
                if from_ms < left_ms:
                    played.append(replace(heard, who=name, from_ms=from_ms, ms=min(heard.ms, left_ms - from_ms)))
        return CallRecord(
            name=self.case.name,
            entries=tuple(_at_room_times(entry, hears_from_ms) for entry in self._log.entries),
            items=tuple(self.room.conversation.items()),
            lanes=tuple(self._lanes(names, late_ms)),
            spoken=tuple(sorted(spoken, key=lambda one: one.from_ms)),
            played=tuple(played),
            marks=tuple(sorted(marks, key=lambda one: one.ts_ms)),
            late_samples=sum(one.page.ear.late_samples for one in self.humans),
            wall_s=wall_s,
            folder=self.folder,
            expected=self.case.expect,
            notes=notes_on(self.stand_ins, self._log.entries, lambda at_s: (at_s - self._began_s) * 1000),
        )

    def _lanes(self, names: Mapping[str, str], late_ms: Mapping[str, float]) -> list[Lane]:
        """Return each human's voice, and each agent's as the longest listener heard."""
        humans, agents = [], dict[str, Lane]()
        for one in self.humans:
            for lane in one.page.lanes():
                silence = bytes(round(late_ms[one.page.name] * lane.rate_hz / 1000) * SAMPLE_BYTES)
                shifted = replace(lane, pcm=silence + lane.pcm)
                if lane.kind == "human":
                    humans.append(replace(shifted, speaker=names.get(lane.speaker, lane.speaker)))
                elif lane.speaker not in agents or len(agents[lane.speaker].pcm) < len(shifted.pcm):
                    agents[lane.speaker] = shifted
        return [*humans, *agents.values()]


def _at_room_times(entry: Entry, hears_from_ms: Mapping[str, float]) -> Entry:
    """Convert positions in a human's audio to ms of the room: each microphone began at another moment."""
    match entry:
        case s.AgentInputStartedEvent(agent_id=who, audio_start_ms=ms) if who in hears_from_ms:
            return msgspec.structs.replace(entry, audio_start_ms=round(ms + hears_from_ms[who]))
        case s.AgentInputDoneEvent(agent_id=who, audio_end_ms=ms) if who in hears_from_ms:
            return msgspec.structs.replace(entry, audio_end_ms=round(ms + hears_from_ms[who]))
        case _:
            return entry
