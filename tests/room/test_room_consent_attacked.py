"""Attacks on consent by voice in a room: what is no agreement of who was asked, and what must not hold up the room."""

from __future__ import annotations

import asyncio
import logging

import pytest

from realtime.agent import Delegate
from realtime.agent.realtime import RealtimeAgent
from realtime.audio.playback import AcknowledgedPlayback
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig, TurnDetection
from realtime.message import ToolCallBlock
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.language_model import ReplyText, ReplyToolCall
from realtime.room.aloud import KEPT_CALLS, AskedAloud
from realtime.room.floor import FloorState
from realtime.tool import Toolkit
from tests.agent.consent_call import Table, Waiter
from tests.agent.consent_cases import (
    DONE,
    FOUR,
    Case,
    agreed,
    case,
    differences,
    do,
    heard,
    heard_again,
    in_room,
    not_booked,
    orders,
    pause,
    receipt,
    said,
    says,
    state,
    types,
)
from tests.agent.thinking import call, react, say
from tests.room.asked_room import FINCH, ROBIN, asked_aloud, asked_room, embedded

pytestmark = pytest.mark.virtual_time

BY_VOICE = {"consent": "voice"}
HOW_MUCH = "How much is it?"
ROBIN_HOW = "Robin, how are you?"


def only_to_book(state: FloorState) -> str | None:
    """Robin books; what else humans say is between them."""
    last = state.last
    return "robin" if last is not None and last.kind == "human" and "book" in last.text else None


def only_to_book_or_none_at_all(state: FloorState) -> str | None:
    if only_to_book(state) is None:
        raise RuntimeError("the policy fails")
    return "robin"


CASES = {
    "a yes after another human has spoken is to them until the question was heard again": agreed(
        *(orders, heard, says(HOW_MUCH, who="Ben"), says("Yes.", 1.2), pause(1.5), not_booked, heard_again),
        *(says("Yes.", 1), receipt()),
        ignored=["?"],
        tool=BY_VOICE,
        options={"policy": only_to_book},
    ),
    "a typed line of another human has the question heard again": case(
        *(orders, heard, types("Anna, do you want coffee?", "Ben"), types("Yes."), heard_again),
        ignored=["?"],
        tool=BY_VOICE,
        options={"policy": only_to_book},
    ),
    "a human whose line stalls in mid-turn keeps nobody from consenting": agreed(
        *(orders, heard, do(lambda scene: scene.people["Ben"].begins("I see.", 2_000)), pause(1)),
        *(do(lambda scene: scene.people["Ben"].recording.cancel()), pause(4), says("Yes."), receipt()),
        tool=BY_VOICE,
    ),
    "what a muted human says is no answer": agreed(
        *(orders, heard, do(lambda scene: scene.told.room.mute(scene.anna.participant.id)), says("Yes.")),
        *(pause(1), do(lambda scene: scene.told.room.mute(scene.anna.participant.id, False)), pause(2)),
        *(not_booked, says("Yes."), receipt()),
        tool=BY_VOICE,
    ),
    "a policy that fails keeps no question from being asked and answered": agreed(
        *(orders, heard, says(HOW_MUCH, who="Ben"), heard_again, says(HOW_MUCH), state("heard", 3)),
        *(says("Yes."), said(DONE)),
        tool=BY_VOICE,
        options={"policy": only_to_book_or_none_at_all},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_in_a_room_of_three_agents_and_four_people(case: Case) -> None:
    assert await differences(case, in_room) == {}


@pytest.mark.parametrize("delay_s", [0.0, 0.2, 0.5, 0.8, 1.2])
async def test_however_soon_another_human_speaks_the_question_comes_to_its_end(delay_s: float) -> None:
    """Ben speaks over Anna's yes, in the moment in which it may go on, and after it."""
    table = Table()
    async with asked_aloud(table) as (home, (anna, ben, *_)):
        anna.begins("Yes.")
        await asyncio.sleep(0.9 + delay_s)
        await ben.says("Yes.")
        await home.until(lambda: table.booked or home.states.count("heard") == 2, 10)
        if not table.booked:
            await asyncio.sleep(1)
            await anna.says("Yes.")
        await home.until_receipt()
        assert table.booked == [FOUR]


async def test_what_follows_an_answer_is_asked_of_who_gave_it() -> None:
    """Ben has talked to the agent since; what it does next is still what Anna wanted."""

    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    table = Table()
    table.tools.register(pay, consent="either")
    payer = Waiter(replies={"booked for": ReplyToolCall("pay", '{"amount": 5}')})

    def make(engine: SpeechEngine) -> list[RealtimeAgent]:
        return [embedded(engine, "Robin", payer, table.tools), embedded(engine, "Finch", Waiter())]

    async with asked_room(make) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        await anna.says(ROBIN)
        await home.until_state("heard")
        await ben.says(ROBIN_HOW)
        await home.until_state("heard", 2)
        anna.answers(home.call_of())
        await home.until(lambda: home.custom("consent_question")[-1]["tool"] == "pay")
        assert home.custom("consent_question")[-1]["participant"] == "Anna"


@pytest.mark.parametrize("ben_speaks", [True, False])
async def test_a_background_tool_asks_who_it_works_for_and_keeps_no_floor(ben_speaks: bool) -> None:
    """The agent has talked to Ben meanwhile, and nobody has the floor when the tool wants to ask."""

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
    passes_on = Waiter(("clerk", '{"query": "book"}'), replies={"Result:": ReplyText("I will see to it.")})
    async with asked_room(lambda engine: [embedded(engine, "Robin", passes_on, tools)]) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        await anna.says(ROBIN)
        await home.until_said("I will see to it.")
        if ben_speaks:
            await ben.says(ROBIN_HOW)
        await home.until_state("heard")
        assert home.custom("consent_question")[0]["participant"] == "Anna"
        await anna.says("Yes.")
        await home.until_receipt()
        assert table.booked == [FOUR]
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
    async with asked_aloud(table, "Anna", "Ben", state="asking", consent_by="anyone") as (home, _):
        await asyncio.sleep(0.5)
        eve = await home.come("Eve")
        await home.until_state("heard")
        await eve.says("Yes.")
        await home.until_state("heard", 2)
        assert (home.ignored, table.booked) == ([("before_end", "Yes.")], [])
        await eve.says("Yes.")
        receipt = await home.until_receipt()
        assert (receipt["participant"], table.booked) == ("Eve", [FOUR])


async def test_another_human_of_the_same_name_agrees_to_nothing() -> None:
    table = Table(consent="voice")
    async with asked_aloud(table) as (home, (anna, *_)):
        anna.participant.set_away(True)
        second = await home.come("Anna")
        await second.says("Yes.")
        await asyncio.sleep(2)
        await anna.go("left")
        third = await home.come("Anna")
        await third.says("Yes.")
        await asyncio.sleep(2)
        assert (table.booked, [one["done"] for one in home.receipts]) == ([], ["denied"])


async def test_a_turn_by_button_begins_where_its_first_audio_does() -> None:
    """The report that the question was played comes inside the audio in which the yes was said before that."""
    table = Table(consent="voice")
    button = SessionConfig(turn_detection=TurnDetection(authority="client"))
    async with asked_room(lambda engine: [embedded(engine, "Robin", Waiter(), table.tools)]) as home:
        anna = await home.come("Anna", clock=AcknowledgedPlayback(24_000), microphone=False, config=button)
        anna.sends(ROBIN)
        await home.until_state("asking")
        await asyncio.sleep(1.2)
        item_id = home.of(s.AgentResponseAudioDeltaEvent)[0].item_id
        anna.sends("Yes.", played_item_id=item_id, played_ms=1_000)
        await home.until_state("heard")
        await asyncio.sleep(3)
        assert (home.ignored, table.booked) == ([("before_end", "Yes.")], [])


@pytest.mark.parametrize("how", ["remove", "mute", "close", "stop", "all leave"])
@pytest.mark.parametrize("when", ["asking", "heard", "answering", "agreed"])
async def test_whatever_ends_the_question_nothing_runs_and_the_room_goes_on(
    how: str, when: str, caplog: pytest.LogCaptureFixture
) -> None:
    table = Table(consent="voice")
    async with asked_aloud(table, state="asking" if when == "asking" else "heard") as (home, guests):
        anna, ben, *_ = guests
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
                    await one.go("left")
        await asyncio.sleep(5)
        if how in ("remove", "mute", "stop"):
            await ben.says(FINCH)
            await home.until_said(f"Finch: You said {FINCH}")
            await asyncio.sleep(90)
            assert home.room.floor is None
        assert (table.booked, len(home.receipts)) == ([], 1)
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING] == []
