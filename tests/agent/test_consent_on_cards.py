"""Where only a card asks: what the user says or types meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from realtime.dialects.native import NativeDialect
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.config import InterruptionMode, SessionConfig, TurnDetection
from realtime.message import ToolCallBlock
from realtime.model import base
from realtime.tool import ToolContext
from tests.agent.consent_call import AskedCall, Table, Waiter, asked_call
from tests.agent.fakes import Call, call
from tests.agent.test_confirmation import PAY, Till, answer
from tests.agent.test_selective_interruption import LEAVES
from tests.agent.test_tools import ask_tools, results

pytestmark = pytest.mark.virtual_time

BOOK = "Book a table for four on Friday."
SHOWN = {"shows_questions": True}


def ignored(made: AskedCall) -> list[str]:
    return [one["reason"] for one in made.custom("consent_ignored")]


def types(made: AskedCall, words: str) -> None:
    made.receive(c.ClientTextAppendEvent(text=words))


def click(made: AskedCall) -> None:
    """The user agrees on the card."""
    (asked, *_) = made.of(s.AgentResponseToolUseDoneEvent)
    made.receive(c.ClientToolResultEvent(id=asked.tool_use.id, name="book_table", output="", confirmed=True))


# -- spoken ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["Yes.", "Yes, but only three."])
async def test_a_spoken_yes_leaves_the_card_open_and_is_told(words: str) -> None:
    table, waiter = Table(consent="card"), Waiter()
    async with asked_call(table.tools, waiter) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        await made.says(words)
        await made.until(lambda: ignored(made))
        await asyncio.sleep(3)
        assert (ignored(made), made.receipts, made.said, table.booked) == (["card_only"], [], [], [])
        click(made)
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], table.booked) == ("card", [(4, "Friday")])
        await made.until(lambda: made.said)
        assert made.said == ["Result: booked for 4 on Friday."]
        assert len(waiter.prompts) == 2


async def test_a_spoken_no_refuses_with_the_users_words() -> None:
    table = Table(consent="card")
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        await made.says("No.")
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["answer"], receipt["words"]) == ("voice", "no", "No.")
        await made.until(lambda: made.said)
        assert (table.booked, made.said) == ([], ["Result: the user refused: No.."])


async def test_anything_else_that_is_said_withdraws_the_call_and_is_answered() -> None:
    table = Table(consent="card")
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        await made.says("Tell me about the weather.")
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["done"]) == ("interrupted", "interrupted")
        await made.until(lambda: made.said)
        await asyncio.sleep(3)
        assert (len(made.said), table.booked) == (1, [])


async def test_a_yes_that_is_said_while_the_card_is_used_is_a_turn_of_its_own() -> None:
    table = Table(consent="card")
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        saying = asyncio.create_task(made.says("Yes."))
        await asyncio.sleep(0.5)
        click(made)
        await saying
        await made.until(lambda: made.said)
        await asyncio.sleep(5)
        assert (table.booked, ignored(made)) == ([(4, "Friday")], [])


async def test_in_push_to_talk_the_answer_is_what_was_sent() -> None:
    table = Table(consent="card")
    config = SessionConfig(turn_detection=TurnDetection(authority="client"))
    async with asked_call(table.tools, config=config, microphone=False) as made:
        made.sends(BOOK)
        made.receive(c.ClientAudioCommitEvent())
        await made.until_state("asking")
        made.sends("Yes.")
        made.receive(c.ClientAudioCommitEvent())
        await made.until(lambda: ignored(made))
        await asyncio.sleep(2)
        assert (made.receipts, table.booked) == ([], [])
        made.sends("Tell me about the weather.")
        made.receive(c.ClientAudioCommitEvent())
        assert (await made.until_receipt())["answered_by"] == "interrupted"


# -- typed -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["Yes, book it.", "Yes, but only three.", "ja", "sí", "好的"])
async def test_only_the_card_consents_where_the_tool_asks_for_one(words: str) -> None:
    table = Table(consent="card")
    async with asked_call(table.tools, listener=SHOWN) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        await asyncio.sleep(2)
        types(made, words)
        await asyncio.sleep(2)
        assert (ignored(made), made.receipts, table.booked) == (["card_only"], [], [])
        click(made)
        await made.until_receipt()
        assert table.booked == [(4, "Friday")]


@pytest.mark.parametrize("words", ["No.", "nein danke", "no gracias", "不要"])
async def test_a_typed_no_refuses(words: str) -> None:
    table = Table(consent="card")
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        types(made, words)
        receipt = await made.until_receipt()
        assert (receipt["answer"], receipt["words"], receipt["done"], table.booked) == ("no", words, "denied", [])


async def typed_call(made: AskedCall) -> None:
    types(made, BOOK)
    await made.until_state("asking")
    (question,) = made.custom("consent_question")
    assert (question["by"], question["why"]) == ("card", "this client has sent no sound")
    await asyncio.sleep(1.5)


@pytest.mark.parametrize("consent", ["voice", "either"])
async def test_a_typed_yes_consents_where_a_voice_would_have_asked(consent: str) -> None:
    table = Table(consent=consent)
    async with asked_call(table.tools, listener=SHOWN, microphone=False) as made:
        await typed_call(made)
        types(made, "Yes, please.")
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["answer"], receipt["words"]) == ("text", "yes", "Yes, please.")
        assert table.booked == [(4, "Friday")]
        await made.until(lambda: made.said)
        assert made.said == ["Result: booked for 4 on Friday."]


async def test_a_typed_change_is_shown_and_asked_again() -> None:
    table = Table()
    async with asked_call(table.tools, listener=SHOWN, microphone=False) as made:
        await typed_call(made)
        types(made, "Yes, but only three.")
        await made.until_state("changed")
        told = made.custom("consent_question")[-1]
        assert (told["question"], told["input"]) == (
            "Shall I book a table for three people on Friday?",
            '{"people": 3, "day": "Friday"}',
        )
        types(made, "Yes.")  # before anybody can have read it
        assert (ignored(made), table.booked) == (["too_soon"], [])
        await asyncio.sleep(1.5)
        types(made, "Yes.")
        await made.until_receipt()
        assert table.booked == [(3, "Friday")]


async def test_a_typed_yes_right_with_the_card_is_to_something_else() -> None:
    table = Table()
    async with asked_call(table.tools, listener=SHOWN, microphone=False) as made:
        types(made, BOOK)
        await made.until_state("asking")
        types(made, "Yes.")
        await asyncio.sleep(1)
        assert (ignored(made), made.receipts, table.booked) == (["too_soon"], [], [])


async def test_a_client_that_shows_no_questions_consents_to_none() -> None:
    """A page of AgentScope 1.x shows nothing that could be agreed to."""
    table = Table()
    async with asked_call(table.tools, microphone=False) as made:
        await typed_call(made)
        types(made, "Yes.")
        await asyncio.sleep(1)
        assert (ignored(made), made.receipts, table.booked) == (["card_only"], [], [])


async def test_of_several_cards_a_yes_agrees_to_none_and_a_no_refuses_all() -> None:
    table = Table()
    table.tools.register(table.book_table, name="book_other", confirm=True, question="Shall I book another?")
    calls = (("book_table", '{"people": 4, "day": "Friday"}'), ("book_other", '{"people": 2, "day": "Sunday"}'))
    async with asked_call(table.tools, Waiter(calls), listener=SHOWN, microphone=False) as made:
        types(made, BOOK)
        await made.until_state("asking", 2)
        await asyncio.sleep(1.5)
        types(made, "Yes.")
        assert (ignored(made), table.booked) == (["card_only", "card_only"], [])
        types(made, "No.")
        await made.until_receipt(2)
        assert [one["answer"] for one in made.receipts] == ["no", "no"]
        assert table.booked == []


async def test_a_yes_beside_a_form_of_a_tool_agrees_to_no_card() -> None:
    """It may be to what the form asks."""
    table = Table()

    async def seats(context: ToolContext) -> str:
        """Choose seats."""
        await context.elicit("At the window?", {"properties": {"window": {"type": "boolean"}}})
        return "chosen"

    table.tools.register(seats)
    calls = (("seats", "{}"), ("book_table", '{"people": 4, "day": "Friday"}'))
    async with asked_call(table.tools, Waiter(calls), listener=SHOWN, microphone=False) as made:
        types(made, BOOK)
        await made.until_state("asking")
        await asyncio.sleep(1.5)
        types(made, "Yes.")
        await asyncio.sleep(1)
        assert (ignored(made), made.receipts, table.booked) == (["card_only"], [], [])
        form = next(
            one.tool_use for one in made.of(s.AgentResponseToolUseDoneEvent) if one.tool_use.name == "elicitation"
        )
        made.receive(c.ClientToolResultEvent(id=form.id, name=form.name, output="", confirmed=False))
        types(made, "Yes.")
        await made.until_receipt()
        assert table.booked == [(4, "Friday")]


async def test_a_yes_that_was_typed_while_the_line_was_lost_is_to_no_card() -> None:
    """The client sends it once it is back, before its user can have seen the card."""
    table = Table()
    lost = {**SHOWN, "resumes_with": NativeDialect()}
    async with asked_call(table.tools, grace_s=30, listener=lost, microphone=False) as made:
        types(made, BOOK)
        made.session.detach(made.listener)
        await made.until_state("asking")
        await asyncio.sleep(5)
        made.come_back(**SHOWN)
        types(made, "Yes.")
        await asyncio.sleep(1)
        assert (ignored(made), made.receipts, table.booked) == (["too_soon"], [], [])
        types(made, "Yes.")
        await made.until_receipt()
        assert table.booked == [(4, "Friday")]


async def test_the_time_in_which_the_user_reads_the_card_is_no_latency() -> None:
    table = Table(consent="card")
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        await asyncio.sleep(20)
        click(made)
        await made.until(lambda: made.of(s.ServerLatencyEvent))
        (told,) = made.of(s.ServerLatencyEvent)
        assert told.latency_ms is not None
        assert told.latency_ms < 3_000
        assert 20_000 <= told.stages_ms["consent"] < 20_100
        assert sum(told.stages_ms.values()) == told.latency_ms + told.stages_ms["consent"]


# -- a provider that answers turns by itself ---------------------------------------------------------------------------


def reasons(made: Call) -> list[Any]:
    return [event.value["reason"] for event in made.of(s.ServerCustomEvent) if event.name == "consent_ignored"]


def says(made: Call, words: str, number: int = 2) -> None:
    made.link.hear_start(f"u{number}")
    made.link.hear_end(f"u{number}", text=words)


async def test_at_a_provider_a_yes_leaves_the_card_open_and_no_response_is_requested() -> None:
    till = Till()
    async with call(toolkit=till.tools, profile=LEAVES) as made:
        made.receive(c.ClientTextAppendEvent(text="Pay five."))
        ask_tools(made, PAY)
        await asyncio.sleep(1)
        says(made, "Yes.")
        await asyncio.sleep(1)
        assert (reasons(made), results(made), len(made.link.got(base.ResponseCreate))) == (["card_only"], [], 1)
        made.receive(answer(True))
        await asyncio.sleep(2)
        assert (till.paid, results(made)) == ([5], [("call_1", "success", "paid 5")])
        assert len(made.link.got(base.ResponseCreate)) == 2
        made.link.reply(500, "Done.")
        await asyncio.sleep(2)
        made.check_heard_truth()


async def test_at_a_provider_anything_else_withdraws_the_call_before_the_model_answers() -> None:
    till = Till()
    async with call(toolkit=till.tools, profile=LEAVES) as made:
        made.receive(c.ClientTextAppendEvent(text="Pay five."))
        ask_tools(made, PAY)
        await asyncio.sleep(1)
        says(made, "What is the weather like?")
        await asyncio.sleep(1)
        assert [(one, state) for one, state, _ in results(made)] == [("call_1", "interrupted")]
        kinds = (base.ToolResult, base.ResponseCreate)
        assert [type(one) for one in made.link.sent if isinstance(one, kinds)][1:] == [*kinds]
        made.link.reply(500, "Sunny.")
        await asyncio.sleep(2)
        assert len(made.link.got(base.ResponseCreate)) == 2
        made.check_heard_truth()
    assert till.paid == []


async def test_a_turn_without_words_changes_nothing_and_one_whose_words_never_come_withdraws() -> None:
    till = Till()
    async with call(toolkit=till.tools, profile=LEAVES) as made:
        ask_tools(made, PAY)
        await asyncio.sleep(1)
        says(made, "")
        await asyncio.sleep(5)
        assert (reasons(made), results(made)) == (["no_words"], [])
        made.link.hear_start("u3")
        made.link.hear_end("u3")
        await asyncio.sleep(6)
        assert [(one, state) for one, state, _ in results(made)] == [("call_1", "interrupted")]
        assert len(made.link.got(base.ResponseCreate)) == 1


@pytest.mark.parametrize("whole", [True, False])
async def test_a_no_over_the_words_that_asked_is_told_to_the_model_once_they_are_whole(whole: bool) -> None:
    till = Till()
    async with call(toolkit=till.tools, profile=LEAVES) as made:
        made.receive(c.ClientTextAppendEvent(text="Pay five."))
        response_id = made.link.begin()
        made.link.speak(response_id, 5_000, "I pay five now.")
        made.link.say(
            m.ModelResponseToolUseDoneEvent(
                response_id=response_id,
                item_id="use_call_1",
                tool_use=ToolCallBlock(id="call_1", name="pay", input='{"amount": 5}'),
            )
        )
        if whole:
            made.link.finish(response_id, "I pay five now.")
        await asyncio.sleep(1)
        says(made, "No.")
        await asyncio.sleep(1)
        assert [(one, state) for one, state, _ in results(made)] == [("call_1", "denied" if whole else "interrupted")]
        assert len(made.link.got(base.ResponseCreate)) == 2
    assert till.paid == []


@pytest.mark.parametrize("interruption", ["off", "immediate"])
async def test_where_the_provider_answers_each_turn_a_voice_withdraws_the_card(interruption: InterruptionMode) -> None:
    till = Till()
    config = SessionConfig(turn_detection=TurnDetection(interruption=interruption))
    async with call(toolkit=till.tools, profile=LEAVES, config=config) as made:
        ask_tools(made, PAY)
        await asyncio.sleep(1)
        says(made, "Yes.")
        await asyncio.sleep(1)
        done = [(one, state) for one, state, _ in results(made)]
        assert done == ([("call_1", "interrupted")] if interruption == "immediate" else [])
        assert (reasons(made), till.paid) == ([], [])
