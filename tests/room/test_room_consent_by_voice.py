"""A tool asks aloud in a room: the human whose turn led to the call answers by voice, and nobody else."""

from __future__ import annotations

import asyncio

import pytest

from tests.agent.consent_call import Table
from tests.room.asked_room import QUESTION, ROBIN, WREN, restaurant

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


async def test_a_no_is_a_refusal_with_the_words_of_who_was_asked() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        await anna.says("No.")
        receipt = await home.until_receipt()
        assert (receipt["answer"], receipt["answered_by"], receipt["done"]) == ("no", "voice", "denied")
        await home.until_said("Robin", "Result: the user refused: No..")
        assert table.booked == []


async def test_a_change_is_asked_again_and_runs_with_the_changed_input() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        await asyncio.sleep(1)
        await anna.says("Yes, but only three.")
        await home.until_state("heard", 2)
        assert home.said[-1] == ("Robin", "Shall I book a table for three people on Friday?")
        await anna.says("Yes.")
        receipt = await home.until_receipt()
        assert table.booked == [(3, "Friday")]
        assert home.states == ["asking", "heard", "changed", "heard", "answered"]
        assert (receipt["answer"], receipt["participant"]) == ("yes", "Anna")


async def test_something_else_is_answered_and_the_question_is_asked_again() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        await asyncio.sleep(1)
        await anna.says("How much is it?")
        await home.until_state("heard", 2)
        assert home.said == [("Robin", QUESTION), ("Robin", "You said How much is it?"), ("Robin", QUESTION)]
        await anna.says("Yes.")
        await home.until_receipt()
        assert table.booked == [(4, "Friday")]
        await home.until_said("Robin", "Result: booked for 4 on Friday.")


async def test_silence_is_asked_once_more_and_then_refused() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, *_)):
        await anna.says(ROBIN)
        receipt = await home.until_receipt()
        assert home.states == ["asking", "heard", "repeated", "heard", "answered"]
        assert (receipt["answer"], receipt["answered_by"], receipt["done"]) == ("silence", "timeout", "denied")
        assert (receipt["participant"], table.booked) == ("Anna", [])


async def test_another_humans_yes_consents_to_nothing_and_withdraws_nothing() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        await ben.says("Yes.")
        await home.until(lambda: home.ignored)
        assert home.ignored == [("other_person", "Yes.")]
        await asyncio.sleep(3)
        assert (table.booked, home.receipts) == ([], [])
        await home.until_state("heard", 2)
        await anna.says("Yes.")
        receipt = await home.until_receipt()
        assert (table.booked, receipt["participant"]) == ([(4, "Friday")], "Anna")
        assert ("Ben", "Yes.") in home.talk()


async def test_another_human_who_speaks_into_the_question_cuts_it_and_it_is_asked_again() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("asking")
        await asyncio.sleep(0.1)
        await ben.says("Finch, what time is it?")
        await home.until_state("heard")
        assert home.said[1:] == [("Finch", "You said Finch, what time is it?"), ("Robin", QUESTION)]
        assert home.states == ["asking", "repeated", "heard"]
        await anna.says("Yes.")
        await home.until_receipt()
        assert table.booked == [(4, "Friday")]


async def test_a_yes_before_the_end_of_the_question_does_not_count() -> None:
    table = Table()
    async with restaurant(table) as (home, (anna, *_)):
        await anna.says(ROBIN)
        await home.until_state("asking")
        await asyncio.sleep(0.1)
        await anna.says("Yes.", 600)
        await home.until_state("repeated")
        assert (home.ignored, table.booked) == ([("before_end", "Yes.")], [])
        await home.until_state("heard")
        await anna.says("Yes.")
        await home.until_receipt()
        assert table.booked == [(4, "Friday")]


async def test_two_agents_ask_one_after_the_other() -> None:
    robins, wrens = Table(), Table()
    async with restaurant(robins, wrens) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        await ben.says(WREN)
        await home.until(lambda: len(home.said) == 2)
        assert home.said[1][0] == "Wren"
        await home.until_state("heard", 2)
        await anna.says("Yes.")
        await asyncio.sleep(1.5)
        assert (robins.booked, wrens.booked) == ([], []), "Wren has asked since, and Ben"
        await home.until_said("Wren", home.said[1][1], 2)
        await home.until_state("heard", 3)
        await ben.says("Yes.")
        await home.until_receipt()
        assert (robins.booked, wrens.booked) == ([], [(2, "Monday")])
        await home.until_state("heard", 4)
        await anna.says("Yes.")
        await home.until_receipt(2)
        assert robins.booked == [(4, "Friday")]
        assert [one["participant"] for one in home.receipts] == ["Ben", "Anna"]
