"""Consent by voice for tools of thinking agents, behind the embedded voice and of delegates; and for later calls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from realtime.agent import Delegate
from realtime.event import server as s
from realtime.message import PermissionRule
from realtime.tool import Toolkit
from tests.agent.consent_call import BOOK, QUESTION, Table, Waiter, asked_call
from tests.agent.consent_cases import (
    FOUR,
    ONLY_THREE,
    THREE,
    Case,
    Place,
    Scene,
    after,
    differences,
    do,
    heard,
    heard_again,
    in_call,
    is_so,
    not_booked,
    orders,
    pause,
    receipt,
    said,
    says,
    until,
)
from tests.agent.thinking import call, react, say

pytestmark = pytest.mark.virtual_time

TABLE = call("book_table", people=4, day="Friday")
HOW_MUCH = "How much is it?"


@asynccontextmanager
async def behind_the_voice(table: Table, *, answers: Sequence[str]) -> AsyncIterator[Scene]:
    """The agent behind the voice books, then gives these answers."""
    agent = react([TABLE], *[say(one) for one in answers], toolkit=table.tools)
    async with asked_call(Toolkit(), agent) as made:
        yield Scene(made, {"Anna": made}, table, BOOK)


@asynccontextmanager
async def by_a_delegate(table: Table) -> AsyncIterator[Scene]:
    office = react([TABLE], say("Booked by the office."), toolkit=table.tools)
    desk = Toolkit([Delegate(office, "ask_the_office", "Books tables.", background=False)])
    async with asked_call(desk, Waiter(("ask_the_office", '{"query": "a table"}'))) as made:
        yield Scene(made, {"Anna": made}, table, BOOK)


def user_said(scene: Scene) -> list[str]:
    return [item.text for item in scene.anna.session.conversation.items() if item.role == "user"]


CASES: dict[str, tuple[Place, Case]] = {
    "a tool of the agent behind the voice asks aloud and the agent goes on": (
        behind_the_voice,
        after(
            *(orders, heard, not_booked, says("Yes.", 0.5), said("It is booked.")),
            is_so(lambda scene: user_said(scene) == [BOOK, "Yes."]),
        ).agreed(said=[QUESTION, "It is booked."], options={"answers": ["It is booked."]}),
    ),
    "it answers something else beside its call": (
        behind_the_voice,
        after(orders, heard, says(HOW_MUCH, 0.5), heard_again, says("Yes.", 0.5), said("It is booked.")).agreed(
            said=[QUESTION, "Forty euros.", QUESTION, "It is booked."],
            options={"answers": ["Forty euros.", "It is booked."]},
        ),
    ),
    "it learns of a refusal": (
        behind_the_voice,
        after(orders, heard, says("No.", 0.5), said("Then not.")).refused(
            said=[QUESTION, "Then not."], options={"answers": ["Then not."]}
        ),
    ),
    "a tool of a delegate asks aloud within its call": (
        by_a_delegate,
        after(
            *(orders, heard, says("Yes, but only three.", 0.5), heard_again, says("Yes.", 0.5)),
            said("Result: Booked by the office.."),
        ).agreed(booked=[THREE], said=[QUESTION, ONLY_THREE, "Result: Booked by the office.."]),
    ),
    "always accepts the first suggested rule": (
        in_call,
        after(
            *(orders, heard, says("Yes, always.", 0.5), receipt(), pause(3)),
            *(is_so(lambda scene: accepted(scene) == [("book_table", "allow")]), orders),
            until(lambda scene: len(scene.table.booked) == 2),
        ).agreed(booked=[FOUR, FOUR]),
    ),
    "a rule that denies the changed call wins": (
        in_call,
        after(
            *(do(lambda scene: scene.table.tools.permissions.add_rule(NOT_THREE)), orders, heard),
            *(says("Yes, but only three.", 0.5), receipt()),
        ).ends(receipts=[{"answer": "change", "answered_by": "rule", "done": "denied"}]),
    ),
}
NOT_THREE = PermissionRule(tool_name="book_table", rule_content="people=3", behavior="deny")


def accepted(scene: Scene) -> list[tuple[str, str]]:
    (updated,) = scene.told.custom("permission_updated")
    return [(rule["tool_name"], rule["behavior"]) for rule in updated["added"]]


@pytest.mark.parametrize(("place", "scenario"), CASES.values(), ids=CASES)
async def test_whose_tool_asks(place: Place, scenario: Case) -> None:
    assert await differences(scenario, place) == {}


@pytest.mark.parametrize(
    ("consent", "confirmed", "answered", "errors"),
    [
        ("voice", True, ("voice", "yes", "success"), ["asked_by_voice"]),
        ("either", True, ("card", "yes", "success"), []),
        ("card", True, ("card", "yes", "success"), []),
        ("voice", False, ("card", "no", "denied"), []),
    ],
)
async def test_a_card_that_answers_at_once_answers_once_it_is_known_how_the_agent_asks(
    consent: str, confirmed: bool, answered: tuple[str, str, str], errors: list[str]
) -> None:
    table = Table(consent=consent)
    agent = react([TABLE], say("It is booked."), toolkit=table.tools)
    async with asked_call(Toolkit(), agent) as made:

        def answer(event: s.ServerEvent) -> None:
            if isinstance(event, s.AgentResponseToolUseDoneEvent) and event.tool_use.state == "asking":
                asyncio.get_running_loop().call_soon(made.answers, event.tool_use, confirmed)

        made.session.log.subscribe(answer)
        await made.says(BOOK)
        if errors:
            await made.until_state("heard")
            await asyncio.sleep(0.5)
            await made.says("Yes.")
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["answer"], receipt["done"]) == answered
        assert made.errors() == errors
        assert len(table.booked) == (answered[2] == "success")


async def test_always_never_allows_more_than_this_call() -> None:
    """No rule can hold arguments that long: what is suggested first is about every call of the tool."""
    sent: list[str] = []

    def send_mail(body: str) -> str:
        """Send a mail."""
        sent.append(body)
        return "Sent."

    tools = Toolkit()
    tools.register(send_mail, consent="either", question="Shall I send the mail?")
    body = "word " * 2_000
    async with asked_call(tools, Waiter(("send_mail", json.dumps({"body": body})))) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("Yes, always.")
        await made.until_receipt()
        await asyncio.sleep(3)
        assert (sent, made.custom("permission_updated")) == ([body], [])
