"""Who may speak in a talk: when a turn was heard, after a stop, after a policy that failed."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from realtime.call.audience import Audience
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.model import ModelEvent, ModelResponseCreatedEvent, ModelResponseDoneEvent
from realtime.model.base import AudioCommit, Connection, ModelInput, OnEvent, Profile, ResponseCancel
from realtime.model.script import Step, Transcribe, Wait
from realtime.room.floor import FloorState, addressed, broadcast
from realtime.testing.cases.hearing import voice
from tests.room.rooms import HZ, TalkModel, agent, anna_and_ben_in, anna_in, two

pytestmark = pytest.mark.virtual_time(limit_s=7_200)

STORY = "Once upon a time there was a king who had three sons and one crown."
STOP = c.ClientResponseCancelEvent()


def slow_words(after_ms: int, words: str = "What is the time, please?") -> Callable[[ModelInput], list[Step] | None]:
    """A model that takes its time to write down."""
    return lambda message: [Wait(after_ms), Transcribe(words)] if isinstance(message, AudioCommit) else None


async def test_a_turn_ends_where_the_time_left_is_too_short_for_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A listener who never says what was heard, and times that are sums of fractions."""
    monkeypatch.setattr(Audience, "unplayed_ms", lambda _: 333)
    for begins_s in (0.039, 0.052, 0.286):
        async with anna_in(two(floor=broadcast, max_agent_turns=2)) as (home, anna):
            await asyncio.sleep(begins_s)
            await anna.writes("Hello.")
            assert home.speakers() == ["Alice", "Bob"]


class AtOnce(TalkModel):
    """Its model reports that a response is over before it returns from being told to cancel it."""

    async def connect(self, *, on_event: OnEvent, **how: Any) -> Connection:
        going_on: set[str] = set()

        def emit(event: ModelEvent) -> None:
            if isinstance(event, ModelResponseCreatedEvent):
                going_on.add(event.response_id)
            elif isinstance(event, ModelResponseDoneEvent) and event.response_id not in going_on:
                return
            on_event(event)

        def stop() -> None:
            while going_on:
                on_event(ModelResponseDoneEvent(response_id=going_on.pop(), status="cancelled"))

        return AtOnceLink(await super().connect(on_event=emit, **how), stop)


class AtOnceLink:
    def __init__(self, link: Connection, stop: Callable[[], None]) -> None:
        self._link, self._stop = link, stop

    @property
    def profile(self) -> Profile:
        return self._link.profile

    def send(self, message: ModelInput) -> None:
        self._link.send(message)
        if isinstance(message, ResponseCancel):
            self._stop()

    async def close(self) -> None:
        await self._link.close()


@pytest.mark.parametrize("how", ["writes", "speaks", "stops it"])
async def test_a_turn_is_over_once_where_the_model_says_at_once_that_it_has_stopped(how: str) -> None:
    asked: list[FloorState] = []

    def policy(state: FloorState) -> str | None:
        asked.append(state)
        return "Alice" if len(asked) == 1 else None

    bob = TalkModel()
    async with anna_in(two(AtOnce(STORY), bob, floor=policy)) as (home, anna):
        anna.write("Alice, a story please.")
        await asyncio.sleep(1.0)
        if how == "writes":
            anna.write("Stop that.")
        elif how == "speaks":
            anna.say("Stop that please.")
        else:
            anna.call.receive(STOP)
        await home.quiet()
        said = [one.text for one in home.room.turns.floor.state.said if one.name == "Alice"]
        assert said == [text for name, text in home.talk() if name == "Alice"]
        assert len(said) == 1
        assert STORY.startswith(said[0])
        assert said[0] != STORY
        assert [line for line in bob.read if line.startswith("[Alice]")] == [f"[Alice]: {said[0]}"]
        assert [one.reason for one in home.of(s.ServerRoomFloorEvent)].count("interrupted") == 1


@pytest.mark.parametrize("who", ["Anna", "Ben"])
async def test_a_cough_before_the_first_word_of_an_answer_takes_nothing_from_the_question(who: str) -> None:
    async with two("It is seven.", floor=addressed) as home:
        people = {"Anna": await home.come("Anna"), "Ben": await home.come("Ben")}
        people["Anna"].write("Alice, what time is it?")
        await asyncio.sleep(0.02)
        assert home.room.floor == "alice"
        people[who].hear(voice("a cough", HZ * 400 // 1000, HZ))
        people[who].end()
        await home.quiet()
        assert home.talk() == [("Anna", "Alice, what time is it?"), (who, ""), ("Alice", "It is seven.")]
        assert [one.text for one in home.room.turns.floor.state.said] == ["Alice, what time is it?", "It is seven."]


async def test_a_stop_before_the_first_word_of_an_answer_holds() -> None:
    async with anna_in(two("It is seven.", floor=addressed)) as (home, anna):
        anna.write("Alice, what time is it?")
        await asyncio.sleep(0.02)
        anna.call.receive(STOP)
        await home.quiet()
        assert home.speakers() == ["Alice"]
        assert home.talk() == [("Anna", "Alice, what time is it?")]


@pytest.mark.parametrize("what", ["leaves", "is muted", "comes"])
async def test_a_stop_holds_whoever_comes_or_goes(what: str) -> None:
    async with anna_and_ben_in(two(TalkModel(STORY), floor=broadcast)) as (home, anna, ben):
        anna.write("Hello everyone!")
        await asyncio.sleep(1.0)
        anna.call.receive(STOP)
        if what == "leaves":
            await ben.go()
        elif what == "is muted":
            home.room.mute(ben.id)
        else:
            await home.room.add(agent("Carl", TalkModel()))
        await home.quiet()
        assert home.speakers() == ["Alice"]
        anna.write("Now go on.")
        await asyncio.sleep(0.1)
        assert home.speakers() == ["Alice", "Alice"]
        await home.quiet()


async def think(state: FloorState) -> str | None:
    """A policy that takes a second for each turn of a human."""
    await asyncio.sleep(1)
    return "Alice" if state.last is not None and state.last.kind == "human" else None


async def test_a_stop_counts_while_a_policy_thinks_or_words_are_waited_for() -> None:
    async with anna_in(two(floor=think)) as (home, anna):
        anna.write("Hello.")
        await asyncio.sleep(0.3)
        anna.call.receive(STOP)
        assert home.room.floor is None
        await asyncio.sleep(5)
        assert home.speakers() == []
    async with anna_in(two(TalkModel(react=slow_words(500)), floor=addressed)) as (home, anna):
        anna.say("What is the time, please?")
        await asyncio.sleep(0.2)
        anna.call.receive(STOP)
        await home.quiet()
        assert home.talk() == [("Anna", "What is the time, please?")]
        assert home.speakers() == []


async def test_a_policy_that_thinks_while_a_human_begins_to_speak_gives_nobody_the_floor() -> None:
    async with anna_in(two(floor=think)) as (home, anna):
        anna.write("Hello.")
        await asyncio.sleep(0.9)
        anna.begin("What I have to say takes me a while.")
        await asyncio.sleep(0.5)
        assert home.room.floor == anna.id
        assert home.speakers() == []
        anna.end()
        await home.quiet()
        assert home.speakers() == ["Alice"]
        assert [name for name, _ in home.talk()] == ["Anna", "Anna", "Alice"]


async def test_a_stop_leaves_the_floor_to_a_human_who_speaks() -> None:
    async with anna_and_ben_in(two(floor=addressed)) as (home, anna, ben):
        anna.begin("I am speaking for a while now.")
        ben.call.receive(STOP)
        assert home.room.floor == anna.id
        anna.end()
        await home.quiet()
        assert home.speakers() == ["Alice"], "what she has said since is answered"
