"""Policies in a room: of one's own, slow, wrong, failing; and the limit that holds for all of them."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from realtime.event import server as s
from realtime.room.floor import FloorState, broadcast, moderator
from realtime.room.floor_keeper import POLICY_S
from realtime.room.participant import Participant
from tests.room.rooms import anna_in, two

pytestmark = pytest.mark.virtual_time(limit_s=7_200)


def choosing(choose: Callable[[FloorState], Any], *, after_s: float | None = None) -> Any:
    """A policy that chooses at once, or is a coroutine that takes its time."""
    if after_s is None:
        return choose

    async def policy(state: FloorState) -> Any:
        await asyncio.sleep(after_s)
        return choose(state)

    return policy


@pytest.mark.parametrize("after_s", [None, 0.0])
async def test_a_policy_names_an_agent_by_name_id_or_itself(after_s: float | None) -> None:
    bobs: list[Callable[[FloorState], Any]] = [lambda _, name=name: name for name in ("Bob", "bob", "BOB")]  # type: ignore[misc]
    for choose in (*bobs, lambda state: state.agents[1]):
        async with anna_in(two(floor=choosing(choose, after_s=after_s), max_agent_turns=1)) as (home, anna):
            await anna.writes("Hello.")
            assert home.speakers() == ["Bob"]
            assert anna.errors() == []


async def test_a_policy_that_names_no_agent_leaves_the_floor_to_nobody() -> None:
    for chosen in (None, "Anna", "nobody", ""):
        async with anna_in(two(floor=lambda _, chosen=chosen: chosen)) as (home, anna):
            await anna.writes("Hello.")
            assert home.speakers() == []
            assert home.of(s.ServerRoomFloorEvent)[-1].reason == "nobody"


@pytest.mark.parametrize("after_s", [None, 0.0])
@pytest.mark.parametrize("wrong", [7, ["Bob"], Participant, b"bob", LookupError("a secret of the server")])
async def test_a_policy_that_fails_or_answers_with_anything_else_is_told_and_the_room_goes_on(
    wrong: object, after_s: float | None
) -> None:
    answers: list[Any] = [wrong]

    def choose(_: FloorState) -> Any:
        if isinstance(answers[-1], Exception):
            raise answers[-1]
        return answers[-1]

    async with anna_in(two(floor=choosing(choose, after_s=after_s), max_agent_turns=1)) as (home, anna):
        await anna.says("Hello to all of you.")
        assert home.room.floor is None
        (error,) = anna.of(s.AgentErrorEvent)
        assert error.code == "floor_policy_failed"
        assert "secret" not in error.message
        assert not any(one.away for one in home.room.participants), "it was no fault of the agent that wrote it down"
        answers.append("Bob")
        await anna.writes("Hello?")
        assert home.speakers() == ["Bob"]


async def test_a_policy_may_take_its_time_and_a_human_is_faster() -> None:
    asked: list[FloorState] = []

    async def policy(state: FloorState) -> str:
        asked.append(state)
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
        assert len(asked) == 2


async def test_a_policy_that_never_answers_holds_the_floor_for_a_while_and_leaves_nothing_behind() -> None:
    async with anna_in(two(floor=choosing(lambda _: None, after_s=7_000))) as (home, anna):
        tasks = len(asyncio.all_tasks())
        for _ in range(50):
            anna.write("Hello?")
            await asyncio.sleep(0.1)
        assert len(asyncio.all_tasks()) <= tasks + 1
        await asyncio.sleep(POLICY_S - 1)
        assert home.room.floor == anna.id
        await home.quiet()
        assert anna.errors()[-1] == "floor_policy_failed"
        assert home.of(s.ServerRoomFloorEvent)[-1].reason == "nobody"


async def test_a_moderator_decides_in_words() -> None:
    async def ask(question: str) -> str:
        return "Bob." if "[Alice]" in question else "I would say Alice."

    async with anna_in(two(floor=moderator(ask), max_agent_turns=2)) as (home, anna):
        await anna.writes("Hello.")
        assert home.speakers() == ["Alice", "Bob"]


@pytest.mark.parametrize("limit", [0, 1, 3])
@pytest.mark.parametrize("floor", [broadcast, lambda _: "Alice"])
async def test_no_policy_lets_more_agents_speak_in_a_row_than_the_room(limit: int, floor: Any) -> None:
    async with anna_in(two(floor=floor, max_agent_turns=limit)) as (home, anna):
        await anna.writes("Hello.")
        assert len(home.speakers()) == limit
        assert home.of(s.ServerRoomFloorEvent)[-1].participant_id is None
