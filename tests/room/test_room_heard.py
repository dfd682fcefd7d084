"""How much of an agent's turn was heard in a room, however far away the humans are."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from realtime.call.limits import Limits
from realtime.event import server as s
from realtime.room.floor import addressed
from realtime.room.human_participant import HumanParticipant
from realtime.server.settings import ServerSettings
from realtime.testing.call import serving
from realtime.testing.client.page import Page
from realtime.testing.client.steps import Network
from tests.room.rooms import House, TalkModel, agent, utterance

pytestmark = pytest.mark.virtual_time(limit_s=600)

STORY = "Once upon a time there was a king who had three sons and one crown, and a daughter who wanted it."
STOP = "Stop, Alice, stop it now, please."


def of(page: Page, kind: str) -> list[Any]:
    return [event for event in page.events if event["type"] == kind]


def check_cut(home: House, page: Page) -> s.AgentItemTruncatedEvent:
    """The last cut of the story, which is where this page has played it to."""
    cut = home.of(s.AgentItemTruncatedEvent)[-1]
    played = next(one for one in page.played() if one.item_id == cut.item_id)
    assert cut.audio_end_ms is not None
    assert abs(cut.audio_end_ms - played.ms) <= 40
    return cut


@asynccontextmanager
async def pages(home: House, **round_trips_ms: int) -> AsyncIterator[list[Page]]:
    """A page for each human, at this distance."""

    async def make_agent(user: str) -> HumanParticipant:
        return home.room.make_human(user, home.runtime)

    settings = ServerSettings(limits=Limits(grace_s=0), drain_s=0.0, endpoints=())
    async with serving(make_agent, settings, home.runtime) as app:
        came = []
        for name, round_trip_ms in round_trips_ms.items():
            page = Page(app, name, session_id=name)
            await page.join()
            page.uplink.network = Network(delay_ms=round_trip_ms)
            came.append(page)
        yield came
        for page in came:
            await page.leave()
        await home.room.close("over")


@asynccontextmanager
async def story(
    *answers: str, bob: TalkModel | None = None, **round_trips_ms: int
) -> AsyncIterator[tuple[House, TalkModel, list[Page]]]:
    """The pages of humans at these distances, who have heard Alice tell a story for five seconds; Anna asked for it."""
    alice = TalkModel(STORY, *answers)
    home = House([agent("Alice", alice), agent("Bob", bob or TalkModel("I am Bob."))], floor=addressed)
    async with pages(home, **round_trips_ms) as came:
        came[0].say(utterance("Alice, tell me a story."))
        await asyncio.sleep(5)
        yield home, alice, came


@pytest.mark.parametrize("round_trip_ms", [0, 100, 300])
async def test_an_agent_that_a_human_interrupts_ends_where_that_human_heard_it_last(round_trip_ms: int) -> None:
    bob = TalkModel("I am Bob.")
    async with story("Yes, Anna.", bob=bob, Anna=round_trip_ms, Ben=450) as (home, _, (anna, ben)):
        anna.say(utterance(STOP))
        await asyncio.sleep(6)
        cut = check_cut(home, anna)
    assert [one["item_id"] for one in of(anna, "agent_item_truncated")] == [cut.item_id]
    said = [text for name, text in home.talk()]
    assert said == ["Alice, tell me a story.", cut.transcript, STOP, "Yes, Anna."]
    assert bob.read == [f"[Anna]: {said[0]}", f"[Alice]: {said[1]}", f"[Anna]: {said[2]}", f"[Alice]: {said[3]}"]
    for page in (anna, ben):
        told = [one for one in of(page, "server_playback") if one["item_id"] == cut.item_id]
        heard_ms = next(one for one in page.played() if one.item_id == cut.item_id).ms
        assert [one["played_ms"] for one in told] == sorted(one["played_ms"] for one in told)
        assert abs(told[-1]["played_ms"] - heard_ms) <= 40
        assert not any(one["estimated"] for one in told)


async def test_a_human_far_away_holds_up_neither_the_cut_nor_the_next_agent() -> None:
    async def times(ben_ms: int) -> list[tuple[str, int]]:
        async with story(Anna=100, Ben=ben_ms) as (home, _, (anna, _ben)):
            anna.say(utterance("Bob, who are you?"))
            await asyncio.sleep(5)
        (flush,) = home.of(s.ServerAudioFlushEvent)
        told = [*home.of(s.AgentItemTruncatedEvent), *home.of(s.ServerRoomFloorEvent)]
        return [(one.type, one.ts_ms - flush.ts_ms) for one in told if flush.seq < one.seq][:3]

    near = await times(ben_ms=0)
    assert near == await times(ben_ms=5_000)
    assert near[0][0] == "agent_item_truncated"
    assert near[0][1] <= 140


async def test_an_agent_whose_model_was_lost_ends_where_the_human_who_interrupts_heard_it_last() -> None:
    async with story(Anna=300) as (home, alice, (anna,)):
        alice.die(refusals=99)
        await asyncio.sleep(0.5)
        anna.say(utterance(STOP))
        await asyncio.sleep(2)
        check_cut(home, anna)


async def test_a_line_that_interrupts_stands_behind_the_words_that_were_heard() -> None:
    bob = TalkModel("I am Bob.")
    async with story("Yes, Anna.", bob=bob, Anna=300) as (home, _, (anna,)):
        anna.send({"type": "client_text_append", "text": "Stop."})
        await asyncio.sleep(4)
        check_cut(home, anna)
    assert [line.split(":")[0] for line in bob.read] == ["[Anna]", "[Alice]", "[Anna]", "[Alice]"]


async def test_the_human_who_interrupts_and_leaves_at_once_loses_nobody_a_turn() -> None:
    bob = TalkModel("I am Bob.")
    async with story(bob=bob, Anna=100, Ben=300) as (home, _, (_anna, ben)):
        ben.say(utterance(STOP))
        await asyncio.sleep(0.5)
        assert home.of(s.ServerAudioFlushEvent)
        await ben.leave()
        await asyncio.sleep(2)
        (cut,) = home.of(s.AgentItemTruncatedEvent)
    assert f"[Alice]: {cut.transcript}" in bob.read
