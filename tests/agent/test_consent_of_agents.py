"""Consent by voice for the tools of thinking agents: behind the embedded voice, and of delegates."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable

import pytest

from realtime.agent import Delegate
from realtime.event import client as c
from realtime.event import server as s
from realtime.message import PermissionRule
from realtime.model.local.language_model import Prompt, Reply, ReplyText
from realtime.tool import Toolkit
from tests.agent.consent_call import AskedCall, Table, Waiter, asked_call
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
                call_id, name = event.tool_use.id, event.tool_use.name
                result = c.ClientToolResultEvent(id=call_id, name=name, output="", confirmed=confirmed)
                asyncio.get_running_loop().call_soon(made.receive, result)

        made.session.log.subscribe(answer)
        await made.says(BOOK)
        if errors:
            await made.until_state("heard")
            await asyncio.sleep(0.5)
            await made.says("Yes.")
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["answer"], receipt["done"]) == answered
        assert [event.code for event in made.of(s.AgentErrorEvent)] == errors
        assert len(table.booked) == (answered[2] == "success")


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


class Talker(Waiter):
    """Leaves tables to the office, and talks at length about all else."""

    def __init__(self) -> None:
        super().__init__((("ask_the_office", '{"query": "a table"}'),))

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        last = prompt.history[-1]
        if last.tool_result is not None:
            yield ReplyText("The office is on it.")
        elif last.role == "system":
            yield ReplyText("The office has answered.")
        elif "weather" in last.text:
            yield ReplyText("It rains here all day long, and tomorrow it will rain as well. " * 3)
        else:
            async for one in super().respond(prompt):
                yield one


def plays_on(made: AskedCall) -> None:
    """Nothing stops the reply."""


def by_cancel(made: AskedCall) -> None:
    made.receive(c.ClientResponseCancelEvent())


def by_voice(made: AskedCall) -> None:
    made.sends("Stop.")


@pytest.mark.parametrize("happens", [plays_on, by_cancel, by_voice])
async def test_a_delegate_in_the_background_asks_after_its_reply_in_the_next_silence(
    happens: Callable[[AskedCall], None],
) -> None:
    """Listeners get the same events as within a reply. What ends another reply does not end the question."""
    table, may_ask = Table(), asyncio.Event()

    async def look_up(day: str) -> str:
        """Find free tables."""
        await may_ask.wait()
        return "four free"

    table.tools.register(look_up)
    office = react([call("look_up", "call_a", day="Friday")], [TABLE], say("Booked."), toolkit=table.tools)
    desk = Toolkit([Delegate(office, "ask_the_office", "Books tables.")])
    async with asked_call(desk, Talker()) as made:
        await made.says(BOOK)
        await made.until(lambda: "The office is on it." in made.said)
        await asyncio.sleep(3)
        await made.says("Tell me about the weather.")
        await made.until(lambda: any("rains" in words for words in made.said))
        may_ask.set()
        await made.until(lambda: made.custom("consent_question") != [])
        (asking,) = [one for one in made.of(s.AgentResponseToolUseDoneEvent) if not one.item_id]
        assert (asking.tool_use.name, asking.tool_use.state) == ("book_table", "asking")
        assert (made.custom("consent_question")[0]["state"], made.states) == ("waiting", [])
        happens(made)
        await made.until_state("heard")
        assert made.said.count(QUESTION) == 1
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        receipt = await made.until_receipt()
        assert (receipt["answer"], receipt["done"], table.booked) == ("yes", "success", [(4, "Friday")])
        await made.until(lambda: made.said[-1] == "The office has answered.")


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
    async with asked_call(tools, Waiter((("send_mail", json.dumps({"body": body})),))) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("Yes, always.")
        await made.until_receipt()
        await asyncio.sleep(3)
        assert (sent, made.custom("permission_updated")) == ([body], [])


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
