"""Whatever humans do and agents suffer, in any order: nothing fails, nobody talks over anybody, the room goes on."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from realtime.event import client as c
from realtime.event import server as s
from realtime.room.floor import MAX_AGENT_TURNS, POLICIES
from realtime.testing import clock
from tests.room.rooms import House, Human, TalkModel, agent, house, seconds
from tests.volumes import volume

ANSWERS = {"alice": "I am Alice, and I say so.", "bob": "Bob here. What do you think, Alice?", "cleo": "Well."}
WORDS = ("Alice, what time is it?", "And you, Bob?", "That is all.", "Cleo, please.")

PAUSES = st.sampled_from((0.3, 0.0, 0.6, 0.05, 1.0, 4.0))
WHO = st.integers(0, 1)
ACTIONS = st.one_of(
    st.tuples(st.just("write"), WHO, st.sampled_from(WORDS)),
    st.tuples(st.just("begin"), WHO, st.sampled_from(WORDS)),
    st.tuples(st.just("end"), WHO),
    st.tuples(st.just("write"), WHO, st.sampled_from(WORDS)),
    st.tuples(st.just("begin"), WHO, st.sampled_from(WORDS)),
    st.tuples(st.just("end"), WHO),
    st.tuples(st.just("clear"), WHO),
    st.tuples(st.just("cancel"), WHO),
    st.tuples(st.just("ask"), WHO),
    st.tuples(st.just("mute"), st.sampled_from(("alice", "bob", "human")), st.booleans()),
    st.tuples(st.just("die"), st.sampled_from(("alice", "bob", "cleo")), st.integers(0, 2)),
    st.tuples(st.just("rejoin")),
    st.tuples(st.just("remove cleo")),
)


class Stage:
    """Two humans and three agents, of whom the last may be removed."""

    def __init__(self, home: House, models: dict[str, TalkModel]) -> None:
        self.home, self.models = home, models
        self.people: list[Human] = []
        self.muted: set[str] = set()

    async def do(self, action: tuple[Any, ...]) -> None:
        room = self.home.room
        match action:
            case ("write", who, text):
                self.people[who].write(text)
            case ("begin", who, text):
                self.people[who].begin(text)
            case ("end", who):
                self.people[who].end()
            case ("clear", who):
                self.people[who].call.receive(c.ClientAudioClearEvent())
            case ("cancel", who):
                self.people[who].call.receive(c.ClientResponseCancelEvent())
            case ("ask", who):
                self.people[who].call.receive(c.ClientResponseCreateEvent())
            case ("mute", who, muted):
                one = self.people[1].id if who == "human" else who
                room.mute(one, muted)
                self.muted = self.muted | {one} if muted else self.muted - {one}
            case ("die", who, refusals):
                if self.models[who].open:
                    self.models[who].die(refusals=refusals)
            case ("rejoin",):
                self.muted.discard(self.people[1].id)
                await self.people[1].go()
                self.people[1] = await self.home.come("Ben")
            case ("remove cleo",):
                if any(one.id == "cleo" for one in room.participants):
                    await room.remove("cleo")

    async def settle(self) -> None:
        """Everybody ends what they are saying, nobody is muted, every model is had."""
        for who in self.muted:
            self.home.room.mute(who, False)
        for one in self.people:
            one.end(1_200)
        for model in self.models.values():
            model.refusals = 0
        await asyncio.sleep(100)


@settings(max_examples=volume(10, 20), suppress_health_check=[HealthCheck.too_slow])
@given(policy=st.sampled_from(sorted(POLICIES)), talk=st.lists(st.tuples(ACTIONS, PAUSES), min_size=4, max_size=20))
@example(
    policy="broadcast",
    talk=[(("begin", 1, WORDS[0]), 0.9), (("write", 0, WORDS[0]), 0.3), (("remove cleo",), 1.0), (("rejoin",), 0.3)],
)
@example(
    policy="broadcast",
    talk=[
        (("mute", "bob", True), 0.3),
        (("die", "alice", 0), 0.3),
        (("write", 0, WORDS[0]), 0.3),
        (("remove cleo",), 0.3),
    ],
)
@example(policy="addressed", talk=[(("write", 0, WORDS[0]), 0.3), (("die", "bob", 0), 0.3)])
def test_the_room_goes_on(policy: str, talk: list[tuple[tuple[Any, ...], float]]) -> None:
    async def play() -> None:
        models = {name: TalkModel(answer) for name, answer in ANSWERS.items()}
        agents = [agent(name.capitalize(), model) for name, model in models.items()]
        async with house(*agents, floor=POLICIES[policy]) as home:
            stage = Stage(home, models)
            stage.people = [await home.come("Anna"), await home.come("Ben")]
            for action, pause_s in talk:
                await stage.do(action)
                await asyncio.sleep(pause_s)
            await stage.settle()
            check_floor(home, limit=None if any(action[0] == "ask" for action, _ in talk) else MAX_AGENT_TURNS)
            before = len(home.speakers())
            assert home.room.floor is None
            there = {one.id for one in home.room.participants if one.kind == "agent" and not one.away}
            assert there == {name for name, model in models.items() if model.open} >= {"alice", "bob"}
            stage.people[0].write("Bob, are you still there?")
            await asyncio.sleep(seconds(ANSWERS["bob"]) + 2)
            assert len(home.speakers()) > before

    clock.run(play())


def check_floor(home: House, *, limit: int | None) -> None:
    """The loop guard holds, no sound comes of whoever has no floor, and what began is over. A human who asks for more
    gets more. A turn that was broken off before a word of it was heard is none."""
    row = 0
    has_words = True
    floor: str | None = None
    agents = {one.participant_id for one in home.of(s.ServerRoomJoinedEvent) if one.kind == "agent"}
    open_responses: set[str] = set()
    for one in home.told:
        match one:
            case s.ServerRoomFloorEvent():
                if floor in agents and not has_words:
                    row = max(0, row - 1)
                floor = one.participant_id
                if floor in agents:
                    row += 1
                    has_words = False
                elif floor is not None:
                    row = 0
                assert limit is None or row <= limit
            case s.AgentResponseAudioTranscriptDeltaEvent(agent_id=who) if who == floor:
                has_words = True
            case s.AgentItemTruncatedEvent(agent_id=who, transcript=words) if who == floor:
                has_words = bool(words)
            case s.AgentItemDeletedEvent(agent_id=who) if who == floor:
                has_words = False
            case s.AgentItemAddedEvent(item=item) if item.role == "user":
                # Whoever leaves in mid-sentence has said something, and has no floor any more.
                row = 0
            case s.AgentResponseAudioDeltaEvent(agent_id=who):
                assert who == floor, f"{who} is told without the floor of {floor}"
            case s.AgentResponseCreatedEvent(response_id=response_id):
                open_responses.add(response_id)
            case s.AgentResponseDoneEvent(response_id=response_id):
                open_responses.discard(response_id)
            case _:
                pass
    assert not open_responses, "every response that was told of is over"


@pytest.fixture(autouse=True)
def no_leaks() -> None:
    """Each example has a loop of its own, which ends with nothing left on it."""
