"""A tool asks aloud in a room: the human whose turn led to the call answers by voice, and nobody else."""

from __future__ import annotations

import asyncio

import pytest

from tests.agent.consent_call import Table
from tests.room.asked_room import QUESTION, ROBIN, restaurant

pytestmark = pytest.mark.virtual_time


async def test_the_asked_human_agrees_in_a_room_of_three_agents_and_four_people() -> None:
    table = Table(consent="voice")
    async with restaurant(table) as (home, (anna, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        assert (table.booked, home.said) == ([], [("Robin", QUESTION)])
        await asyncio.sleep(1)
        await anna.says("Yes.")
        receipt = await home.until_receipt()
        assert table.booked == [(4, "Friday")]
        assert home.states == ["asking", "heard", "answered"]
        assert (receipt["answer"], receipt["answered_by"], receipt["words"]) == ("yes", "voice", "Yes.")
        assert (receipt["participant"], receipt["heard_whole"], receipt["done"]) == ("Anna", True, "success")
        await home.until_said("Robin", "Result: booked for 4 on Friday.")
        await asyncio.sleep(3)
        assert home.talk() == [("Anna", ROBIN), ("Anna", "Yes."), ("Robin", "Result: booked for 4 on Friday.")]
