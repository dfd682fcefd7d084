"""A room in which tools ask aloud: the humans say sounds that stand for sentences, the agents are embedded voices."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from realtime.agent import RealtimeAgent
from realtime.audio.playback import PlaybackClock, WallClockPlayback
from realtime.call.session import Session
from realtime.event import server as s
from realtime.event.config import SessionConfig
from realtime.model.base import RealtimeModel
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.engine import SpeechEngine
from realtime.room import ChatRoom
from realtime.room.floor import Policy, addressed
from realtime.room.thinker import Thinker
from realtime.room.thinking import RoomAgent
from realtime.runtime import Runtime
from realtime.testing.call import naming_apart
from realtime.testing.cases.hearing import LoudnessDetector
from realtime.tool import Toolkit
from tests.agent.consent_call import IN_ROOMS, Speaker, Table, Told, Waiter, recognise, speech_engine
from tests.agent.fakes import ListSink, listener_into

T = TypeVar("T")
ROBIN, WREN, FINCH = IN_ROOMS[:3]


class Guest(Speaker):
    """A human in the room."""

    def __init__(self, house: AskedRoom, name: str, clock: PlaybackClock | None) -> None:
        self.log: list[s.ServerEvent] = []
        self.participant = house.room.make_human(name, house.runtime)
        session_id = house.runtime.new_id("session")
        session = Session(participant=self.participant, runtime=house.runtime, session_id=session_id)
        view = listener_into(ListSink(), house.runtime, clock=clock or WallClockPlayback(24_000))
        super().__init__(session, view)
        session.attach(view)
        session.log.subscribe(self.log.append)

    async def come(self, *, microphone: bool = True, config: SessionConfig | None = None) -> Guest:
        await self.session.start(config or SessionConfig())
        if microphone:
            self.record()
        return self

    def of(self, kind: type[T]) -> list[T]:
        return [event for event in self.log if isinstance(event, kind)]

    def errors(self) -> list[str]:
        return [event.code for event in self.of(s.AgentErrorEvent)]


class AskedRoom(Told):
    """The room, and who is in it."""

    def __init__(self, agents: Sequence[RoomAgent], engine: SpeechEngine, **options: Any) -> None:
        super().__init__()
        self.engine = engine
        self.runtime = naming_apart(Runtime.deterministic(asyncio.get_running_loop().time))
        options = {"make_detector": lambda _: LoudnessDetector(), "recognise": recognise, "floor": addressed} | options
        self.room = ChatRoom(agents, make_voice=self._voice_of, **options)
        self.room.on_event.append(self.hear)
        self.times: list[float] = []
        self.guests: list[Guest] = []

    def _voice_of(self, thinker: Thinker) -> RealtimeModel:
        return LocalRealtimeModel("heart", language_model=thinker, engine=self.engine, speculation="off")

    def hear(self, event: s.ServerEvent) -> None:
        self.times.append(asyncio.get_running_loop().time())
        super().hear(event)

    async def come(self, name: str, *, clock: PlaybackClock | None = None, **options: Any) -> Guest:
        guest = Guest(self, name, clock)
        self.guests.append(guest)
        await guest.come(**options)
        await asyncio.sleep(0.2)  # their microphone is heard
        return guest

    def talk(self) -> list[tuple[str | None, str]]:
        """The conversation: who said what, as it was heard."""
        return [(item.name, item.text) for item in self.room.conversation.items() if item.type == "message"]


def embedded(engine: SpeechEngine, name: str, language_model: Any, tools: Toolkit | None = None) -> RealtimeAgent:
    """An agent with the embedded voice."""
    model = LocalRealtimeModel(language_model=language_model, engine=engine, speculation="off")
    return RealtimeAgent(name, f"You are {name}.", model, toolkit=tools, agent_id=name.lower(), fillers=())


Make = Callable[[SpeechEngine], Sequence[RoomAgent]]


@asynccontextmanager
async def asked_room(make: Make, **options: Any) -> AsyncIterator[AskedRoom]:
    """A room whose agents `make` makes; at its end everybody leaves."""
    engine = speech_engine()
    made = AskedRoom(make(engine), engine, **options)
    try:
        yield made
    finally:
        for guest in made.guests:
            await guest.go("left")
        await made.room.close("over")
        engine.close()


@asynccontextmanager
async def restaurant(
    table: Table,
    other: Table | None = None,
    *names: str,
    policy: Policy = addressed,
    clocks: dict[str, PlaybackClock] | None = None,
    **options: Any,
) -> AsyncIterator[tuple[AskedRoom, list[Guest]]]:
    """Three agents, of whom Robin books with `table` and Wren with `other`, and four humans."""

    def make(engine: SpeechEngine) -> Sequence[RoomAgent]:
        to_book = ("book_table", '{"people": 2, "day": "Monday"}')
        return [
            embedded(engine, "Robin", Waiter(), table.tools),
            embedded(engine, "Wren", Waiter(to_book), None if other is None else other.tools),
            embedded(engine, "Finch", Waiter()),
        ]

    async with asked_room(make, floor=policy, **options) as home:
        guests = [
            await home.come(name, clock=(clocks or {}).get(name)) for name in names or ("Anna", "Ben", "Carla", "David")
        ]
        yield home, guests


@asynccontextmanager
async def asked_aloud(
    table: Table, *names: str, state: str = "heard", **options: Any
) -> AsyncIterator[tuple[AskedRoom, list[Guest]]]:
    """A restaurant in which Anna has asked for a table; the question for it has come to `state`."""
    async with restaurant(table, None, *names, **options) as (home, guests):
        await guests[0].says(ROBIN)
        await home.until_state(state)
        yield home, guests
