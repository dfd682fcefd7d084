"""Attacks on consent by voice in a room: what is no agreement of who was asked, and what must not hold up the room."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator

import pytest

from realtime.agent import Delegate
from realtime.agent.realtime import RealtimeAgent
from realtime.audio.playback import AcknowledgedPlayback
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig, TurnDetection
from realtime.message import ToolCallBlock
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyToolCall
from realtime.room.aloud import KEPT_CALLS, AskedAloud
from realtime.room.floor import FloorState
from realtime.tool import Toolkit
from tests.agent.consent_call import Table
from tests.agent.thinking import call, react, say
from tests.room.asked_room import QUESTION, RATE_HZ, ROBIN, Waiter, asked_room, embedded, restaurant, sound

pytestmark = pytest.mark.virtual_time

FINCH = "Finch, what time is it?"


def only_to_book(state: FloorState) -> str | None:
    """Robin books; what else humans say is between them."""
    last = state.last
    return "robin" if last is not None and last.kind == "human" and "book" in last.text else None


async def test_a_yes_after_another_human_has_spoken_is_to_them_until_the_question_was_heard_again() -> None:
    """No agent answers the other human: only the humans have said anything since the question."""
    table = Table(consent="voice")
    async with restaurant(table, policy=only_to_book) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        await ben.says("How much is it?")
        await asyncio.sleep(1.2)
        await anna.says("Yes.")
        await asyncio.sleep(1.5)
        assert table.booked == []
        await home.until_state("heard", 2)
        await asyncio.sleep(1)
        await anna.says("Yes.")
        await home.until_receipt()
        assert table.booked == [(4, "Friday")]


async def test_a_typed_line_of_another_human_has_the_question_heard_again() -> None:
    table = Table(consent="voice")
    async with restaurant(table, policy=only_to_book) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        ben.receive(c.ClientTextAppendEvent(text="Anna, do you want coffee?"))
        anna.receive(c.ClientTextAppendEvent(text="Yes."))
        await home.until_state("heard", 2)
        assert table.booked == []


@pytest.mark.parametrize("delay_s", [0.0, 0.2, 0.5, 0.8, 1.2])
async def test_however_soon_another_human_speaks_the_question_comes_to_its_end(delay_s: float) -> None:
    """Ben speaks over Anna's yes, in the moment in which it may go on, and after it."""
    table = Table()
    async with restaurant(table) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        anna.begins("Yes.")
        await asyncio.sleep(0.9 + delay_s)
        await ben.says("Yes.")
        await home.until(lambda: table.booked or home.states.count("heard") == 2, 10)
        if not table.booked:
            await asyncio.sleep(1)
            await anna.says("Yes.")
        await home.until_receipt()
        assert table.booked == [(4, "Friday")]


async def test_a_human_whose_line_stalls_in_mid_turn_keeps_nobody_from_consenting() -> None:
    table = Table(consent="voice")
    async with restaurant(table) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        ben.begins("I see.", 2_000)
        await asyncio.sleep(1)
        assert ben.recording is not None
        ben.recording.cancel()
        await asyncio.sleep(4)
        await anna.says("Yes.")
        await home.until_receipt()
        assert table.booked == [(4, "Friday")]


async def test_what_follows_an_answer_is_asked_of_who_gave_it() -> None:
    """Ben has talked to the agent since; what it does next is still what Anna wanted."""

    class Payer(Waiter):
        async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
            result = prompt.history[-1].tool_result
            if result is not None and "booked" in result.output_text():
                yield ReplyToolCall("pay", '{"amount": 5}')
                return
            async for one in super().respond(prompt):
                yield one

    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    table = Table()
    table.tools.register(pay, consent="either")

    def make(engine: SpeechEngine) -> list[RealtimeAgent]:
        return [embedded(engine, "Robin", Payer(), table.tools), embedded(engine, "Finch", Waiter())]

    async with asked_room(make) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        await anna.says(ROBIN)
        await home.until_state("heard")
        await ben.says("Robin, how are you?")
        await home.until_state("heard", 2)
        (question,) = home.of(s.AgentResponseToolUseDoneEvent)
        anna.answers(question.tool_use.id)
        await home.until(lambda: home.custom("consent_question")[-1]["tool"] == "pay")
        assert home.custom("consent_question")[-1]["participant"] == "Anna"


@pytest.mark.parametrize("ben_speaks", [True, False])
async def test_a_background_tool_asks_who_it_works_for_and_keeps_no_floor(ben_speaks: bool) -> None:
    """The agent has talked to Ben meanwhile, and nobody has the floor when the tool wants to ask."""

    class Passer(Waiter):
        async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
            last = prompt.history[-1]
            if last.role == "user" and "book" in last.text:
                yield ReplyToolCall("clerk", '{"query": "book"}')
            elif last.tool_result is not None:
                yield ReplyText("I will see to it.")
            else:
                async for one in super().respond(prompt):
                    yield one

    async def look() -> str:
        """Look."""
        await asyncio.sleep(8)
        return "free"

    table = Table(consent="voice")
    table.tools.register(look)
    book = call("book_table", people=4, day="Friday")
    clerk = react([call("look")], [book], say("It is booked."), toolkit=table.tools)
    tools = Toolkit()
    tools.register(Delegate(clerk, "clerk", "Let the clerk do it."))
    async with asked_room(lambda engine: [embedded(engine, "Robin", Passer(), tools)]) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        await anna.says(ROBIN)
        await home.until_said("Robin", "I will see to it.")
        if ben_speaks:
            await ben.says("Robin, how are you?")
        await home.until_state("heard")
        assert home.custom("consent_question")[0]["participant"] == "Anna"
        await anna.says("Yes.")
        await home.until_receipt()
        assert table.booked == [(4, "Friday")]
        await asyncio.sleep(15)
        assert (home.room.floor, anna.errors()) == (None, [])


def test_a_call_that_nobody_is_known_to_have_led_to_is_nobodys_to_answer() -> None:
    asked = AskedAloud(lambda: None)
    asked.note(ToolCallBlock(id="of nobody", name="book_table", input="{}"), None)
    assert asked.asker_of("of nobody") is None, "anyone may answer"
    for number in range(KEPT_CALLS):
        asked.note(ToolCallBlock(id=str(number), name="book_table", input="{}"), "anna")
    assert (asked.asker_of("of nobody"), asked.asker_of("0")) == ("", "anna")


async def test_where_anyone_may_consent_one_who_came_later_has_to_hear_the_question() -> None:
    table = Table(consent="voice")
    async with restaurant(table, None, "Anna", "Ben", consent_by="anyone") as (home, (anna, _)):
        await anna.says(ROBIN)
        await home.until_state("asking")
        await asyncio.sleep(0.5)
        eve = await home.come("Eve")
        await home.until_state("heard")
        await eve.says("Yes.")
        await home.until_state("heard", 2)
        assert (home.ignored, table.booked) == ([("before_end", "Yes.")], [])
        await eve.says("Yes.")
        receipt = await home.until_receipt()
        assert (receipt["participant"], table.booked) == ("Eve", [(4, "Friday")])


async def test_another_human_of_the_same_name_agrees_to_nothing() -> None:
    table = Table(consent="voice")
    async with restaurant(table) as (home, (anna, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        anna.participant.set_away(True)
        second = await home.come("Anna")
        await second.says("Yes.")
        await asyncio.sleep(2)
        await anna.go()
        third = await home.come("Anna")
        await third.says("Yes.")
        await asyncio.sleep(2)
        assert (table.booked, [one["done"] for one in home.receipts]) == ([], ["denied"])


async def test_what_a_muted_human_says_is_no_answer() -> None:
    table = Table(consent="voice")
    async with restaurant(table) as (home, (anna, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        home.room.mute(anna.participant.id)
        await anna.says("Yes.")
        await asyncio.sleep(1)
        home.room.mute(anna.participant.id, False)
        await asyncio.sleep(2)
        assert table.booked == []
        await anna.says("Yes.")
        await home.until_receipt()
        assert table.booked == [(4, "Friday")]


async def test_a_turn_by_button_begins_where_its_first_audio_does() -> None:
    """The report that the question was played comes inside the audio in which the yes was said before that."""
    table = Table(consent="voice")
    pcm_format = AudioFormat.pcm16(RATE_HZ)
    button = SessionConfig(turn_detection=TurnDetection(authority="client"))

    async with asked_room(lambda engine: [embedded(engine, "Robin", Waiter(), table.tools)]) as home:
        anna = await home.come("Anna", clock=AcknowledgedPlayback(24_000), microphone=False, config=button)
        anna.receive(c.ClientAudioAppendEvent(audio=sound(ROBIN), format=pcm_format))
        anna.receive(c.ClientAudioCommitEvent())
        await home.until_state("asking")
        await asyncio.sleep(1.2)
        item_id = home.of(s.AgentResponseAudioDeltaEvent)[0].item_id
        anna.receive(
            c.ClientAudioAppendEvent(audio=sound("Yes."), format=pcm_format, played_item_id=item_id, played_ms=1_000)
        )
        anna.receive(c.ClientAudioCommitEvent())
        await home.until_state("heard")
        await asyncio.sleep(3)
        assert (home.ignored, table.booked) == ([("before_end", "Yes.")], [])


@pytest.mark.parametrize("how", ["remove", "mute", "close", "stop", "all leave"])
@pytest.mark.parametrize("when", ["asking", "heard", "answering", "agreed"])
async def test_whatever_ends_the_question_nothing_runs_and_the_room_goes_on(
    how: str, when: str, caplog: pytest.LogCaptureFixture
) -> None:
    table = Table(consent="voice")
    async with restaurant(table) as (home, guests):
        anna, ben, *_ = guests
        await anna.says(ROBIN)
        await home.until_state("asking" if when == "asking" else "heard")
        if when == "answering":
            anna.begins("Yes.", 2_000)
            await asyncio.sleep(0.5)
        elif when == "agreed":
            await anna.says("Yes.")
            await home.until(lambda: ("Anna", "Yes.") in home.talk())
        match how:
            case "remove":
                await home.room.remove("robin")
            case "mute":
                home.room.mute("robin")
            case "close":
                await home.room.close("over")
            case "stop":
                ben.receive(c.ClientResponseCancelEvent())
            case _:
                for one in guests:
                    await one.go()
        await asyncio.sleep(5)
        if how in ("remove", "mute", "stop"):
            await ben.says(FINCH)
            await home.until_said("Finch", f"You said {FINCH}")
            await asyncio.sleep(90)
            assert home.room.floor is None
        assert (table.booked, len(home.receipts)) == ([], 1)
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING] == []


async def test_a_policy_that_fails_keeps_no_question_from_being_asked_and_answered() -> None:
    def policy(state: FloorState) -> str | None:
        if only_to_book(state) is None:
            raise RuntimeError("the policy fails")
        return "robin"

    table = Table(consent="voice")
    async with restaurant(table, policy=policy) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        await ben.says("How much is it?")
        await home.until_state("heard", 2)
        await anna.says("How much is it?")
        await home.until_state("heard", 3)
        await anna.says("Yes.")
        await home.until_receipt()
        await home.until_said("Robin", "Result: booked for 4 on Friday.")
        assert (table.booked, home.said[0]) == ([(4, "Friday")], ("Robin", QUESTION))
