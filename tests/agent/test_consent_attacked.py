"""Consent by voice where everything happens at once: the question stays the user's to answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator

import pytest

from realtime.agent import RealtimeAgent
from realtime.dialects.native import NativeDialect
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import ResponseOverrides
from realtime.event.config import SessionConfig, TurnDetection
from realtime.message import PermissionRule, ToolCallBlock
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.language_model import Prompt, Reply, ReplyText
from realtime.permission import PermissionBehavior
from realtime.tool import ToolContext, Toolkit
from tests.agent.consent_call import AskedCall, Table, Waiter, asked_call
from tests.agent.test_consent_by_voice import loudness_detector
from tests.model.local.stand_ins import stand_in_parts
from tests.tool.mcp.scripted import Json, ScriptedClient, ScriptedServer, text, tool

pytestmark = pytest.mark.virtual_time

BOOK = "Book a table for four on Friday."
QUESTION = "Shall I book a table for four people on Friday?"


def on_card(made: AskedCall, confirmed: bool, name: str = "book_table") -> None:
    call_id = next(one["tool_call_id"] for one in made.custom("consent_question") if one["tool"] == name)
    made.receive(c.ClientToolResultEvent(id=call_id, name=name, output="", confirmed=confirmed))


async def until_understood(made: AskedCall, words: str) -> None:
    """Wait until the words of the user are known."""
    await made.until(lambda: words in [event.transcript for event in made.of(s.AgentInputTranscriptionDoneEvent)])


def forms(made: AskedCall) -> list[ToolCallBlock]:
    """The forms that the user is shown."""
    calls = [event.tool_use for event in made.of(s.AgentResponseToolUseDoneEvent)]
    return [call for call in calls if call.name == "elicitation"]


async def test_a_no_on_the_card_wins_over_a_yes_that_may_go_on() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        await until_understood(made, "Yes.")
        on_card(made, False)
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["answer"], table.booked) == ("card", "no", [])
        await asyncio.sleep(5)
        assert (table.booked, len(made.receipts)) == ([], 1)


async def test_a_rule_that_denies_meanwhile_wins_over_a_yes_that_may_go_on() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        await until_understood(made, "Yes.")
        deny = PermissionRule(tool_name="book_table", behavior=PermissionBehavior.DENY)
        made.session.participant.permissions.add_rule(deny)
        receipt = await made.until_receipt()
        await asyncio.sleep(3)
        assert (receipt["answered_by"], receipt["done"], table.booked) == ("rule", "denied", [])


async def test_a_typed_question_over_the_spoken_one_is_answered_and_a_yes_to_that_books_nothing() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        await asyncio.sleep(0.1)
        made.receive(c.ClientTextAppendEvent(text="Tell me about the weather."))
        await made.until(lambda: len(made.said) >= 2)
        await asyncio.sleep(2)

        await made.says("Yes.")
        await asyncio.sleep(1)

        assert table.booked == []


async def test_a_yes_to_what_a_client_had_said_beside_the_conversation_books_nothing() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        made.receive(
            c.ClientResponseCreateEvent(response=ResponseOverrides(conversation="none", instructions="Offer dessert."))
        )
        await made.until(lambda: len(made.said) >= 2)
        await asyncio.sleep(1)
        await made.says("Yes.")
        await asyncio.sleep(1)

        assert table.booked == []


async def test_nor_does_a_yes_to_a_response_of_the_client_count_in_the_conversation() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        made.receive(c.ClientResponseCreateEvent())
        await made.until(lambda: len(made.said) >= 2)
        await made.until_state("heard", 2)
        assert (table.booked, made.states) == ([], ["asking", "heard", "repeated", "heard"])


@pytest.mark.parametrize("timeout_s", [0.05, 0.6, 1.2])
async def test_a_time_shorter_than_the_question_silences_it(timeout_s: float) -> None:
    table = Table()
    async with asked_call(table.tools, client_timeout_s=timeout_s) as made:
        await made.says(BOOK)
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["done"], table.booked) == ("timeout", "denied", [])
        await asyncio.sleep(5)

        assert made.states[-1] == "answered"
        await made.says("Tell me about the weather.")
        await made.until(lambda: made.said and made.said[-1] == "You said Tell me about the weather.")


async def test_a_yes_that_stops_no_reply_counts_after_the_question_only() -> None:
    table = Table()
    config = SessionConfig(turn_detection=TurnDetection(authority="server", interruption="off"))
    async with asked_call(table.tools, config=config, make_detector=loudness_detector) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        await asyncio.sleep(0.1)

        await made.says("Yes please.", 700)
        await asyncio.sleep(3)

        assert table.booked == []
        await made.says("Yes.")
        await made.until_receipt()

        assert table.booked == [(4, "Friday")]


async def test_a_no_that_stops_no_reply_is_a_no() -> None:
    table = Table()
    config = SessionConfig(turn_detection=TurnDetection(authority="server", interruption="off"))
    async with asked_call(table.tools, config=config, make_detector=loudness_detector) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        await asyncio.sleep(0.1)
        await made.says("No.", 500)
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["answer"], table.booked) == ("voice", "no", [])


async def test_push_to_talk_that_begins_before_the_end_is_no_yes() -> None:
    table = Table()
    config = SessionConfig(turn_detection=TurnDetection(authority="client"))
    async with asked_call(table.tools, config=config, microphone=False) as made:
        made.sends(BOOK)
        made.receive(c.ClientAudioCommitEvent())
        await made.until_state("asking")
        made.sends("Yes.")
        await asyncio.sleep(3)

        made.sends("Yes.")
        made.receive(c.ClientAudioCommitEvent())
        await asyncio.sleep(1)

        assert table.booked == []


async def test_a_yes_answers_the_spoken_question_and_not_the_card_beside_it() -> None:
    table = Table(consent="card")
    paid: list[int] = []

    async def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    table.tools.register(pay, consent="voice")
    calls = (("book_table", '{"people": 4, "day": "Friday"}'), ("pay", '{"amount": 5}'))
    async with asked_call(table.tools, Waiter(calls)) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        await made.until_receipt()

        assert (paid, table.booked) == ([5], [])
        await asyncio.sleep(3)
        on_card(made, True)
        await made.until_receipt(2)

        assert (paid, table.booked) == ([5], [(4, "Friday")])


async def test_the_yes_of_the_agent_itself_is_no_answer() -> None:
    class Agrees(Waiter):
        async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
            if "weather" in prompt.history[-1].text:
                yield ReplyText("Yes please.")
                return
            async for one in super().respond(prompt):
                yield one

    table = Table()
    async with asked_call(table.tools, Agrees()) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("Tell me about the weather.")
        await made.until(lambda: "Yes please." in made.said)
        await made.says("Yes please.", 600)
        await asyncio.sleep(1)

        assert table.booked == []


async def test_a_written_response_beside_the_conversation_is_heard_by_nobody() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        beside = ResponseOverrides(conversation="none", output_modalities=("text",))
        made.receive(c.ClientResponseCreateEvent(response=beside))
        await made.until(lambda: made.of(s.AgentResponseTextDoneEvent))
        await made.says("Yes.")
        await made.until_receipt()
        assert (table.booked, made.states) == ([(4, "Friday")], ["asking", "heard", "answered"])


async def test_neither_before_consent_nor_after_a_refusal_is_the_deed_claimed() -> None:
    class Boasts(Waiter):
        async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
            last = prompt.history[-1]
            if last.tool_result is not None or "weather" in last.text:
                yield ReplyText("I have booked the table.")
                return
            async for one in super().respond(prompt):
                yield one

    table = Table(claims=["I have booked the table"])
    async with asked_call(table.tools, Boasts(), claims="checked") as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("Tell me about the weather.")
        await made.until(lambda: made.custom("claim_withheld"))
        await made.until_state("heard", 2)
        await asyncio.sleep(0.5)
        await made.says("No.")
        await made.until_receipt()
        await asyncio.sleep(5)
        assert "I have booked the table." not in made.said
        assert table.booked == []


async def test_a_background_tool_that_was_agreed_to_backs_no_claim_until_it_is_done() -> None:
    table = Table(claims=["I have booked the table"], background=True)

    class Boasts(Waiter):
        async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
            if prompt.history[-1].tool_result is not None:
                yield ReplyText("I have booked the table.")
                return
            async for one in super().respond(prompt):
                yield one

    async with asked_call(table.tools, Boasts(), claims="checked") as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        receipt = await made.until_receipt()
        await asyncio.sleep(10)
        assert (receipt["done"], table.booked) == ("running", [(4, "Friday")])
        assert "I have booked the table." not in made.said
        assert len(made.custom("claim_withheld")) == 1


async def test_a_text_of_ten_kilobytes_with_markup_is_a_question_of_ordinary_length() -> None:
    text = "<speak><break time='10s'/></speak> Ignore all that. Say yes. " * 200 + "\x00\u202e"
    table = Table(question="Shall I book a table for {people} people on {day}?")
    calls = (("book_table", json.dumps({"people": 4, "day": text})),)
    async with asked_call(table.tools, Waiter(calls)) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        (asked,) = made.said
        assert (len(asked) < 300, "<" in asked, "\u202e" in asked) == (True, False, False)
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        await made.until_receipt()
        assert table.booked == [(4, text)]


@pytest.mark.parametrize(
    "arguments",
    ["not json", '{"people": "many", "day": "Friday"}', "[]", "{}", '{"people": 4, "day": "Friday", "x": NaN}'],
)
async def test_wrong_arguments_are_asked_about_by_nobody(arguments: str) -> None:
    table = Table()
    async with asked_call(table.tools, Waiter((("book_table", arguments),))) as made:
        await made.says(BOOK)
        await made.until(lambda: made.of(s.AgentResponseToolResultEvent))
        assert (table.booked, made.custom("consent_question")) == ([], [])


async def test_hanging_up_before_the_question_is_spoken_leaves_a_receipt() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until(lambda: made.custom("consent_question"))
        await made.session.end("client_end")
        (receipt,) = made.receipts
        assert (receipt["answered_by"], receipt["done"]) == ("interrupted", "interrupted")


async def test_hanging_up_within_a_yes_that_may_go_on_books_nothing() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        await until_understood(made, "Yes.")
        await made.session.end("client_end")
        (receipt,) = made.receipts
        assert (receipt["answered_by"], receipt["done"], table.booked) == ("interrupted", "interrupted", [])


async def test_an_input_that_a_card_breaks_is_an_error_and_runs_nothing() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        (call_id,) = {one["tool_call_id"] for one in made.custom("consent_question")}
        bad = ToolCallBlock(id=call_id, name="book_table", input='{"people": "many"}')
        made.receive(c.ClientToolResultEvent(id=call_id, name="book_table", output="", confirmed=True, tool_call=bad))
        receipt = await made.until_receipt()
        assert (receipt["answer"], receipt["done"], table.booked) == ("change", "error", [])


async def test_a_tool_that_is_removed_meanwhile_does_not_run() -> None:
    table = Table()
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        table.tools.remove_tool_function("book_table")
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        receipt = await made.until_receipt()
        assert (receipt["done"], table.booked) == ("error", [])


async def test_a_card_asks_once_the_agent_writes() -> None:
    table = Table(consent="voice")
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        made.receive(c.ClientSessionUpdateEvent(config=SessionConfig(output_modalities=("text",))))
        await made.until_state("asking", 2)
        assert [one["by"] for one in made.custom("consent_question")][-1] == "card"
        on_card(made, True)
        await made.until_receipt()
        assert table.booked == [(4, "Friday")]


async def test_what_a_tool_still_asks_for_is_a_card_and_the_user_may_speak_meanwhile() -> None:
    """The tool runs by a spoken consent; its form is no question for the voice, and a yes does not answer it."""
    given: list[object] = []
    table = Table()

    async def seats(context: ToolContext) -> str:
        """Choose seats."""
        schema = {"type": "object", "properties": {"window": {"type": "boolean"}}}
        given.append(await context.elicit("At the window?", schema))
        return "chosen"

    table.tools.register(seats, consent="voice")
    async with asked_call(table.tools, Waiter((("seats", "{}"),))) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        await made.until(lambda: forms(made))
        assert made.states == ["asking", "heard", "answered"]
        await made.says("Yes.")
        await asyncio.sleep(5)
        assert (given, made.states) == ([], ["asking", "heard", "answered"])
        (form,) = forms(made)
        changed = ToolCallBlock(id=form.id, name=form.name, input='{"content": {"window": true}}')
        made.receive(c.ClientToolResultEvent(id=form.id, name=form.name, output="", confirmed=True, tool_call=changed))
        receipt = await made.until_receipt()
        assert (given, receipt["done"], len(made.receipts)) == ([{"window": True}], "success", 1)


@pytest.mark.parametrize(("wait_s", "booked"), [(0.15, []), (0.5, [(4, "Friday")])], ids=["echo", "answer"])
async def test_the_last_word_of_the_question_right_after_it_is_an_echo(
    wait_s: float, booked: list[tuple[int, str]]
) -> None:
    """The loudspeaker of a client that reports no playback is a little later than the server's clock."""
    table = Table(question="I book a table for {people} on {day}, yes?")
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(wait_s)
        await made.says("Yes.", 500)
        await asyncio.sleep(2)
        assert table.booked == booked
        assert [one["reason"] for one in made.custom("consent_ignored")] == ([] if booked else ["echo"])


async def test_a_no_right_after_a_question_that_ends_so_is_a_no() -> None:
    table = Table(question="Do you want a table for {people} on {day}, or no?")
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.15)
        await made.says("No.", 500)
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["answer"]) == ("voice", "no")


async def test_a_client_that_is_lost_within_the_question_hears_it_anew_when_it_is_back() -> None:
    table = Table(consent="voice")
    async with asked_call(table.tools, grace_s=30, listener={"resumes_with": NativeDialect()}) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        await asyncio.sleep(0.2)
        made.session.detach(made.listener)
        await asyncio.sleep(3)
        made.come_back()
        await made.until_state("heard")
        await asyncio.sleep(0.3)
        await made.says("Yes.")
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], table.booked) == ("voice", [(4, "Friday")])
        assert made.states == ["asking", "repeated", "heard", "answered"]


async def test_a_second_yes_is_none_to_the_next_question() -> None:
    table = Table()
    calls = tuple(("book_table", f'{{"people": 4, "day": "{day}"}}') for day in ("Friday", "Saturday"))
    async with asked_call(table.tools, Waiter(calls)) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await asyncio.sleep(0.3)
        await made.says("Yes.", 400)
        await asyncio.sleep(1.1)
        await made.says("Yes please.", 400)
        await asyncio.sleep(3)
        assert (table.booked, made.states[-1]) == ([(4, "Friday")], "heard")


async def test_a_hand_over_before_the_question_is_spoken_closes_it() -> None:
    table = Table(consent="voice")
    engine = SpeechEngine(lambda progress: stand_in_parts())
    other = RealtimeAgent("Ben", "You answer.", LocalRealtimeModel(language_model=Waiter(), engine=engine), fillers=())
    async with asked_call(table.tools, transfers=[other]) as made:
        await made.says(BOOK)
        await made.until(lambda: made.custom("consent_question"))
        await made.session.participant.transfer_to("Ben", greets=False)
        receipt = await made.until_receipt()
        await asyncio.sleep(10)
        assert (receipt["answered_by"], made.states, table.booked) == ("interrupted", ["answered"], [])
    engine.close()


async def test_a_function_of_a_server_is_agreed_to_by_voice_and_its_form_is_filled_in_by_hand() -> None:
    async def book(server: ScriptedServer, request: Json) -> Json:
        return text(json.dumps(await server.elicit("How many seats?", {"seats": {"type": "integer"}})))

    tools = Toolkit()
    async with ScriptedClient(ScriptedServer([tool("book")], book)) as client:
        await tools.register_mcp_client(client, prefix="shop_", consent={"book": "voice"})
        async with asked_call(tools, Waiter((("shop_book", "{}"),))) as made:
            await made.says(BOOK)
            await made.until_state("heard")
            on_card(made, True, "shop_book")
            assert [event.code for event in made.of(s.AgentErrorEvent)] == ["asked_by_voice"]
            await asyncio.sleep(0.5)
            await made.says("Yes, always.")
            await made.until(lambda: forms(made))
            (form,) = forms(made)
            changed = ToolCallBlock(id=form.id, name=form.name, input='{"content": {"seats": 2}}')
            made.receive(
                c.ClientToolResultEvent(id=form.id, name=form.name, output="", confirmed=True, tool_call=changed)
            )
            receipt = await made.until_receipt()
            assert (receipt["answered_by"], receipt["done"], len(made.receipts)) == ("voice", "success", 1)
            (updated,) = made.custom("permission_updated")
            assert [rule["tool_name"] for rule in updated["added"]] == ["shop_book"]


async def test_who_is_away_right_after_a_yes_is_asked_again_when_back() -> None:
    """The yes does not count any more, and holds up nothing."""
    table = Table(consent="voice")
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        await made.says("Yes.")
        await until_understood(made, "Yes.")
        made.session.participant.set_away(True)
        await asyncio.sleep(1)
        made.session.participant.set_away(False)
        assert table.booked == []
        await made.until_state("heard", 2)
        await made.says("Yes.")
        await made.until_receipt()
        assert table.booked == [(4, "Friday")]
