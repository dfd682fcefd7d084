"""Policies in a room: of one's own, slow, wrong, failing; and the limit that holds for all of them."""

import asyncio
from collections.abc import Callable

import pytest

from realtime.event import server as s
from realtime.room.floor import FloorState, broadcast, moderator
from tests.room.rooms import anna_in, two

pytestmark = pytest.mark.virtual_time(limit_s=7_200)


@pytest.mark.parametrize("chosen", ["Bob", "bob", "BOB"])
async def test_a_policy_names_an_agent_by_name_or_id(chosen: str) -> None:
    def policy(state: FloorState) -> str | None:
        return chosen if state.last is not None and state.last.kind == "human" else None

    async with anna_in(two(floor=policy)) as (home, anna):
        await anna.writes("Hello.")
        assert home.speakers() == ["Bob"]


@pytest.mark.parametrize("chosen", [None, "Anna", "nobody", ""])
async def test_a_policy_that_names_no_agent_leaves_the_floor_to_nobody(chosen: str | None) -> None:
    async with anna_in(two(floor=lambda _: chosen)) as (home, anna):
        await anna.writes("Hello.")
        assert home.speakers() == []
        assert home.of(s.ServerRoomFloorEvent)[-1].reason == "nobody"


async def test_a_policy_that_fails_is_told_and_the_room_goes_on() -> None:
    failing = True

    def policy(_: FloorState) -> str | None:
        if failing:
            raise LookupError("a secret of the server")
        return "Bob"

    async with anna_in(two(floor=policy, max_agent_turns=1)) as (home, anna):
        anna.write("Hello.")
        (error,) = anna.of(s.AgentErrorEvent)
        assert error.code == "floor_policy_failed"
        assert "secret" not in error.message
        failing = False
        await anna.writes("Hello?")
        assert home.speakers() == ["Bob"]


async def test_a_policy_may_take_its_time_and_a_human_is_faster() -> None:
    asked = 0

    async def policy(state: FloorState) -> str | None:
        nonlocal asked
        asked += 1
        await asyncio.sleep(2)
        return "Alice" if state.last is not None and "Alice" in state.last.text else "Bob"

    async with anna_in(two(floor=policy, max_agent_turns=1)) as (home, anna):
        anna.write("Alice, hello.")
        await asyncio.sleep(1)
        anna.write("No, the other one.")
        await asyncio.sleep(1.5)
        assert home.speakers() == [], "the first answer came too late"
        await home.quiet()
        assert home.speakers() == ["Bob"]
        assert asked == 2


async def test_a_policy_that_never_answers_leaves_nothing_behind() -> None:
    async def policy(_: FloorState) -> str | None:
        await asyncio.Event().wait()
        return None

    async with anna_in(two(floor=policy)) as (_, anna):
        tasks = len(asyncio.all_tasks())
        for _ in range(50):
            anna.write("Hello?")
            await asyncio.sleep(0.1)
        assert len(asyncio.all_tasks()) <= tasks + 1


async def test_a_chair_decides_in_words() -> None:
    async def ask(question: str) -> str:
        return "Bob." if "[Alice]" in question else "I would say Alice."

    async with anna_in(two(floor=moderator(ask), max_agent_turns=2)) as (home, anna):
        await anna.writes("Hello.")
        assert home.speakers() == ["Alice", "Bob"]


@pytest.mark.parametrize("limit", [0, 1, 3])
@pytest.mark.parametrize("floor", [broadcast, lambda _: "Alice"])
async def test_no_policy_lets_more_agents_speak_in_a_row_than_the_room(
    limit: int, floor: Callable[[FloorState], str | None]
) -> None:
    async with anna_in(two(floor=floor, max_agent_turns=limit)) as (home, anna):
        await anna.writes("Hello.")
        assert len(home.speakers()) == limit
        assert home.of(s.ServerRoomFloorEvent)[-1].participant_id is None
