"""Consent by voice for the tools of thinking agents: behind the embedded voice, and of delegates."""

from __future__ import annotations

import asyncio

import pytest

from realtime.agent import Delegate
from realtime.message import PermissionRule
from realtime.tool import Toolkit
from tests.agent.consent_call import Table, Waiter, asked_call
from tests.agent.thinking import call, react, say

pytestmark = pytest.mark.virtual_time

BOOK = "Book a table for four on Friday."
QUESTION = "Shall I book a table for four people on Friday?"
TABLE = call("book_table", people=4, day="Friday")


async def test_a_tool_of_the_agent_behind_the_voice_asks_aloud_and_the_agent_goes_on() -> None:
    table = Table()
    agent = react([TABLE], say("It is booked."), toolkit=table.tools)
    async with asked_call(Toolkit(), agent) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        assert (made.said, table.booked) == ([QUESTION], [])
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        receipt = await made.until_receipt()
        assert (receipt["answer"], receipt["done"], table.booked) == ("yes", "success", [(4, "Friday")])
        await made.until(lambda: len(made.said) == 2)
        assert made.said[1] == "It is booked."
        assert [item.text for item in made.session.conversation.items() if item.role == "user"] == [BOOK, "Yes."]


async def test_it_answers_something_else_beside_its_call() -> None:
    table = Table()
    agent = react([TABLE], say("Forty euros."), say("It is booked."), toolkit=table.tools)
    async with asked_call(Toolkit(), agent) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("How much is it?")
        await made.until_state("heard", 2)
        assert made.said == [QUESTION, "Forty euros.", QUESTION]
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        receipt = await made.until_receipt()
        assert (receipt["answer"], receipt["done"], table.booked) == ("yes", "success", [(4, "Friday")])
        await made.until(lambda: len(made.said) == 4)
        assert made.said[3] == "It is booked."


async def test_it_learns_of_a_refusal() -> None:
    table = Table()
    agent = react([TABLE], say("Then not."), toolkit=table.tools)
    async with asked_call(Toolkit(), agent) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("No.")
        receipt = await made.until_receipt()
        assert (receipt["answer"], receipt["done"], table.booked) == ("no", "denied", [])
        await made.until(lambda: len(made.said) == 2)
        assert made.said[1] == "Then not."


async def test_a_tool_of_a_delegate_asks_aloud_within_its_call() -> None:
    table = Table()
    office = react([TABLE], say("Booked by the office."), toolkit=table.tools)
    desk = Toolkit([Delegate(office, "ask_the_office", "Books tables.", background=False)])
    async with asked_call(desk, Waiter((("ask_the_office", '{"query": "a table"}'),))) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        assert made.said == [QUESTION]
        await asyncio.sleep(0.5)
        await made.says("Yes, but only three.")
        await made.until_state("heard", 2)
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        receipt = await made.until_receipt()
        assert (receipt["answer"], receipt["done"], table.booked) == ("yes", "success", [(3, "Friday")])
        await made.until(lambda: "Result: Booked by the office.." in made.said)


async def test_always_accepts_the_first_suggested_rule() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("Yes, always.")
        await made.until_receipt()
        await asyncio.sleep(3)
        (updated,) = made.custom("permission_updated")
        assert [(rule["tool_name"], rule["behavior"]) for rule in updated["added"]] == [("book_table", "allow")]
        await made.says(BOOK)
        await made.until(lambda: len(table.booked) == 2)
        assert len(made.receipts) == 1


async def test_a_rule_that_denies_the_changed_call_wins() -> None:
    table = Table()
    table.tools.permissions.add_rule(PermissionRule(tool_name="book_table", rule_content="people=3", behavior="deny"))
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("Yes, but only three.")
        receipt = await made.until_receipt()
        assert (receipt["answer"], receipt["answered_by"], receipt["done"]) == ("change", "rule", "denied")
        assert table.booked == []
