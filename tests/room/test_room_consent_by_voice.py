"""A tool asks aloud in a room: the human whose turn led to the call answers by voice, and nobody else."""

from __future__ import annotations

import asyncio
import logging

import pytest

from realtime.agent import Delegate, RealtimeAgent
from realtime.audio.playback import AcknowledgedPlayback
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig, TurnDetection
from realtime.message import ToolCallBlock
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.language_model import ReplyText, ReplyToolCall
from realtime.room.aloud import KEPT_CALLS, AskedAloud
from realtime.room.floor import FloorState, addressed, broadcast, round_robin
from realtime.tool import Toolkit
from tests.agent.consent_call import QUESTION, Table, Waiter
from tests.agent.consent_cases import (
    DONE,
    FOUR,
    Case,
    Scene,
    after,
    agrees,
    agrees_after,
    asking,
    away,
    begins,
    card,
    differences,
    do,
    heard,
    heard_again,
    ignored,
    in_room,
    is_so,
    not_booked,
    orders,
    pause,
    plays,
    receipt,
    said,
    says,
    state,
    stops_the_reply,
    types,
    until,
)
from tests.agent.thinking import call, react, say
from tests.room.asked_room import FINCH, ROBIN, WREN, asked_aloud, asked_room, embedded, restaurant

pytestmark = pytest.mark.virtual_time

BY_VOICE = {"consent": "voice"}
AGREED = {"answer": "yes", "answered_by": "voice", "done": "success"}
HAS_LEFT = "Result: the user refused: the human who had to agree has left the room."
only_asked = is_so(lambda scene: (scene.told.states, scene.told.receipts) == (["asking", "heard"], []))


async def leaves(scene: Scene) -> None:
    await scene.anna.go("left")


async def orders_until_it_is_asked(scene: Scene) -> None:
    """Where anybody may have the floor, Robin gets it in the end."""
    while "asking" not in scene.told.states:
        await orders(scene)
        await asyncio.sleep(4)


CASES = {
    "the talk holds the answer and not the question": after(
        *(orders, heard, says("Yes."), said(DONE), pause(3)),
        is_so(lambda scene: scene.told.talk() == [("Anna", ROBIN), ("Anna", "Yes."), ("Robin", DONE)]),
    ).agreed(tool=BY_VOICE),
    "another human's yes consents to nothing and withdraws nothing": after(
        *(orders, heard, says("Yes.", who="Ben"), ignored(), pause(3), only_asked, not_booked, heard_again),
        *(agrees, is_so(lambda scene: ("Ben", "Yes.") in scene.told.talk())),
    ).agreed(ignored=["other_person"]),
    "another human who speaks into the question cuts it and it is asked again": after(
        *(orders, asking, says(FINCH, 0.1, who="Ben"), heard),
        *(is_so(lambda scene: scene.told.said[1:] == [f"Finch: You said {FINCH}", QUESTION]), agrees),
    ).agreed(states="asking repeated heard answered"),
    "with consent by voice a yes on the card is refused and a no counts": after(
        *(orders, heard, card(), card(who="Ben"), pause(0.2), only_asked, not_booked),
        *(is_so(lambda scene: scene.people["Ben"].errors() == ["not_yours_to_answer"]), card(False)),
        said("Result: the user refused."),
    ).refused(by="card", errors=["asked_by_voice"], tool=BY_VOICE),
    "a card that answers while another agent speaks is told of afterwards": after(
        *(orders, heard, says(FINCH, who="Ben"), until(lambda scene: scene.told.said[-1].startswith("Finch: "))),
        *(card(), said(DONE)),
    ).agreed(by="card"),
    "a typed yes answers a question that was heard": after(
        orders, heard, types("Yes.", "Ben"), heard_again, not_booked, types("Yes."), said(DONE)
    ).agreed(by="text", ignored=["other_person"]),
    "when the asked human leaves the call is refused": after(
        orders, heard, leaves, said(HAS_LEFT), says("Yes.", who="Ben"), pause(3)
    ).ends(receipts=[{"done": "denied"}]),
    "who is away is asked again when back and the others talk on": after(
        *(orders, heard, away(True), pause(20), only_asked, is_so(lambda scene: scene.told.room.floor is None)),
        *(says(FINCH, who="Ben"), said(f"Finch: You said {FINCH}"), pause(3), only_asked, away(False)),
        *(heard_again, agrees),
    ).agreed(),
    "where anyone may consent the receipt names who did": after(orders, heard, says("Yes.", who="Ben"), receipt()).ends(
        receipts=[{**AGREED, "participant": "Ben", "words": "Yes."}],
        booked=[FOUR],
        tool=BY_VOICE,
        options={"consent_by": "anyone"},
    ),
    "a voice over another human's, as a loudspeaker lets it be heard, is no consent": after(
        *(orders, heard, begins("Yes.", who="Ben"), says("Yes.", 0.2), ignored(2)), *(heard_again, not_booked, agrees)
    ).agreed(ignored=["other_person", "other_person"]),
    "a far voice consents to nothing, right after an echo either": after(
        *(orders, heard, says("Table for four people on Friday."), ignored(), pause(1), only_asked),
        *(says("Yes.", far=True), ignored(2), not_booked, agrees),
    ).agreed(ignored=["echo", "far_voice"]),
    "a yes counts only once the asked human's own client has played the end": after(
        *(orders, asking, pause(1.2), plays(750), is_so(lambda scene: scene.told.states == ["asking"])),
        *(says("Yes.", ms=600), plays(800), ignored(), not_booked, state("repeated"), pause(1.1), plays(1_000)),
        *(heard, agrees),
    ).agreed(ignored=["before_end"], tool=BY_VOICE, options={"reports": True}),
    "anybody who stops the talk withdraws the question": after(
        *(orders, heard, stops_the_reply("Ben"), receipt()), *(says("Yes."), pause(5))
    ).withdrawn(),
    **{
        f"it is asked and answered under {policy.__name__}": after(
            orders_until_it_is_asked, heard, says(FINCH, who="Ben"), heard_again, agrees
        ).agreed(tool=BY_VOICE, options={"policy": policy, "max_agent_turns": 1})
        for policy in (broadcast, round_robin)
    },
    "one who never comes back holds up nobody else's question": after(
        *(orders, heard, away(True), pause(1), leaves, said(HAS_LEFT), says(ROBIN, 2, who="Ben"), heard_again),
        *(says("Yes.", who="Ben"), receipt(2)),
    ).ends(receipts=[{"done": "denied"}, {**AGREED, "participant": "Ben"}], booked=[FOUR]),
    "two humans may have the same tool asked for, and neither call takes the place of the other": after(
        *(orders, heard, says(ROBIN, who="Ben"), heard_again, agrees, state("heard", 3), says("No.", who="Ben")),
        receipt(2),
    ).ends(receipts=[AGREED, {"participant": "Ben", "answer": "no"}], booked=[FOUR]),
}


@pytest.mark.parametrize("scenario", CASES.values(), ids=CASES)
async def test_in_a_room_of_three_agents_and_four_people(scenario: Case) -> None:
    assert await differences(scenario, in_room) == {}


async def test_two_agents_ask_one_after_the_other() -> None:
    robins, wrens = Table(), Table()
    async with restaurant(robins, wrens) as (home, (anna, ben, *_)):
        await anna.says(ROBIN)
        await home.until_state("heard")
        await ben.says(WREN)
        await home.until(lambda: len(home.said) == 2)
        assert home.said[1].startswith("Wren: ")
        await home.until_state("heard", 2)
        await anna.says("Yes.")
        await asyncio.sleep(1.5)
        assert (robins.booked, wrens.booked) == ([], []), "Wren has asked since, and Ben"
        await home.until_said(home.said[1], 2)
        await home.until_state("heard", 3)
        await ben.says("Yes.")
        await home.until_receipt()
        assert (robins.booked, wrens.booked) == ([], [(2, "Monday")])
        await home.until_state("heard", 4)
        await anna.says("Yes.")
        await home.until_receipt(2)
        assert robins.booked == [FOUR]
        assert [one["participant"] for one in home.receipts] == ["Ben", "Anna"]


async def test_a_thinking_agent_asks_aloud_and_goes_on_with_its_reply() -> None:
    table = Table()
    robin = react([call("book_table", people=4, day="Friday")], say("It is booked."), toolkit=table.tools)
    robin.name = "Robin"
    async with asked_room(lambda engine: [robin, embedded(engine, "Finch", Waiter())]) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        await anna.says(ROBIN)
        await home.until_state("heard")
        await ben.says(FINCH)
        await home.until_state("heard", 2)
        await anna.says("How much is it?")
        await home.until_state("heard", 3)
        await anna.says("Yes.")
        receipt = await home.until_receipt()
        assert (receipt["answer"], receipt["done"], table.booked) == ("yes", "success", [FOUR])
        await home.until_said("It is booked.")
        await asyncio.sleep(3)
        assert home.talk()[-1] == ("Robin", "It is booked.")


async def test_the_embedded_model_that_asked_forgets_the_answer_and_the_others_read_it() -> None:
    table, robin, finch = Table(), Waiter(), Waiter()

    def make(engine: SpeechEngine) -> list[RealtimeAgent]:
        return [embedded(engine, "Robin", robin, table.tools), embedded(engine, "Finch", finch)]

    async with asked_room(make, floor=addressed) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        await anna.says(ROBIN)
        await home.until_state("heard")
        await anna.says("Yes.")
        await home.until_said(DONE)
        kinds = [(item.type, item.text) for item in robin.prompts[-1].history]
        assert [kind for kind, _ in kinds[-2:]] == ["tool_call", "tool_result"]
        assert not [text for _, text in kinds if "Yes." in text]
        await asyncio.sleep(2)
        await ben.says(FINCH)
        await home.until(lambda: finch.prompts)
        assert "[Anna]: Yes." in [item.text for item in finch.prompts[-1].history]


# -- attacks ---------------------------------------------------------------------------------------------------------

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


ATTACKS = {
    "a yes after another human has spoken is to them until the question was heard again": after(
        *(orders, heard, says(HOW_MUCH, who="Ben"), says("Yes.", 1.2), pause(1.5), not_booked, heard_again),
        agrees_after(1),
    ).agreed(ignored=["?"], tool=BY_VOICE, options={"policy": only_to_book}),
    "a typed line of another human has the question heard again": after(
        orders, heard, types("Anna, do you want coffee?", "Ben"), types("Yes."), heard_again
    ).left_open(ignored=["?"], tool=BY_VOICE, options={"policy": only_to_book}),
    "a human whose line stalls in mid-turn keeps nobody from consenting": after(
        *(orders, heard, begins("I see.", 2_000, "Ben"), pause(1)),
        *(do(lambda scene: scene.people["Ben"].recording.cancel()), pause(4), agrees),
    ).agreed(tool=BY_VOICE),
    "what a muted human says is no answer": after(
        *(orders, heard, do(lambda scene: scene.told.room.mute(scene.anna.participant.id)), says("Yes.")),
        *(pause(1), do(lambda scene: scene.told.room.mute(scene.anna.participant.id, False)), pause(2)),
        *(not_booked, agrees),
    ).agreed(tool=BY_VOICE),
    "a policy that fails keeps no question from being asked and answered": after(
        *(orders, heard, says(HOW_MUCH, who="Ben"), heard_again, says(HOW_MUCH), state("heard", 3), says("Yes.")),
        said(DONE),
    ).agreed(tool=BY_VOICE, options={"policy": only_to_book_or_none_at_all}),
}


@pytest.mark.parametrize("scenario", ATTACKS.values(), ids=ATTACKS)
async def test_what_is_no_agreement_and_what_must_not_hold_up_the_room(scenario: Case) -> None:
    assert await differences(scenario, in_room) == {}


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
