"""Where a card asks, alone or beside a voice: what the user says, types or answers on it."""

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
from tests.agent.consent_call import BOOK, TO_BOOK, Table, Waiter, asked, asked_call
from tests.agent.consent_cases import (
    DONE,
    FOUR,
    ONLY_THREE,
    PUSH_TO_TALK,
    THREE,
    Case,
    Step,
    after,
    agrees_after,
    asking,
    begins,
    card,
    differences,
    do,
    heard,
    ignored,
    in_call,
    is_so,
    loses_the_line,
    not_booked,
    orders,
    pause,
    receipt,
    said,
    says,
    sends,
    state,
    types,
    until,
)
from tests.agent.fakes import Call, call
from tests.agent.test_confirmation import PAY, Till, answer
from tests.agent.test_selective_interruption import LEAVES
from tests.agent.test_tools import ask_tools, results

pytestmark = pytest.mark.virtual_time

WEATHER = "Tell me about the weather."
SHOWN = {"shows_questions": True}
TYPED = {"listener": SHOWN, "microphone": False}
BY_CARD, BY_VOICE = {"consent": "card"}, {"consent": "voice"}
WITHDRAWN = {"answered_by": "interrupted", "done": "interrupted"}
still_open = is_so(lambda scene: (scene.told.said, scene.told.receipts, scene.table.booked) == ([], [], []))
ordered_in_writing = (
    *(types(BOOK), asking, pause(1.5)),
    is_so(lambda scene: scene.told.custom("consent_question")[0]["by"] == "card"),
    is_so(lambda scene: scene.told.custom("consent_question")[0]["why"] == "this client has sent no sound"),
)


def leaves_the_card_open(*answer: Step) -> Case:
    """A yes that does not consent; the card does, and the model is not asked in between."""
    return after(
        *(orders, asking, pause(2), *answer, ignored(), pause(3), still_open, card(), said(DONE), pause(1)),
        is_so(lambda scene: len(scene.told.of(s.AgentResponseDoneEvent)) == 2),
    ).agreed(by="card", said=[DONE], ignored=["card_only"], tool=BY_CARD, options={"listener": SHOWN})


def refuses(answer: Step, by: str, words: str) -> Case:
    return after(orders, asking, answer, receipt(), until(lambda scene: scene.told.said)).ends(
        receipts=[{"answered_by": by, "answer": "no", "words": words, "done": "denied"}],
        said=[f"Result: the user refused: {words}."],
        tool=BY_CARD,
    )


def refused_as_an_error(told: str) -> Case:
    """The yes of a card while the voice asks."""
    return after(
        *(orders, until(lambda scene: told in [one["state"] for one in scene.told.custom("consent_question")])),
        *(card(), is_so(lambda scene: scene.anna.errors() == ["asked_by_voice"]), heard, not_booked),
        agrees_after(0.5),
    ).agreed(tool=BY_VOICE)


STATES = ("waiting", "asking", "heard")
YESES = ("Yes, book it.", "Yes, but only three.", "ja", "sí", "好的")
CASES = {
    "a spoken yes leaves the card open": leaves_the_card_open(says("Yes.")),
    "a spoken change leaves the card open": leaves_the_card_open(says("Yes, but only three.")),
    **{f"typed, {words} leaves the card open": leaves_the_card_open(types(words)) for words in YESES},
    "a spoken no refuses with the user's words": refuses(says("No."), "voice", "No."),
    **{
        f"typed, {words} refuses": refuses(types(words), "text", words)
        for words in ("No.", "nein danke", "no gracias", "不要")
    },
    "anything else that is said withdraws the call and is answered": after(
        orders, asking, says(WEATHER), receipt(), until(lambda scene: scene.told.said), pause(3)
    ).withdrawn(said=["Result: interrupted by the user."], tool=BY_CARD),
    "a yes that is said while the card is used is a turn of its own": after(
        *(orders, asking, begins("Yes."), pause(0.5), card()), *(until(lambda scene: scene.told.said), pause(5))
    ).agreed(by="card", tool=BY_CARD),
    "in push-to-talk the answer is what was sent": after(
        sends(BOOK), asking, sends("Yes."), ignored(), pause(2), still_open, sends(WEATHER), receipt()
    ).withdrawn(ignored=["card_only"], tool=BY_CARD, options=PUSH_TO_TALK),
    **{
        f"a typed yes consents where {asks} would have asked": after(
            *ordered_in_writing, types("Yes, please."), said(DONE)
        ).ends(
            receipts=[{"answered_by": "text", "answer": "yes", "words": "Yes, please."}],
            booked=[FOUR],
            said=[DONE],
            tool={"consent": consent},
            options=TYPED,
        )
        for asks, consent in (("a voice", "voice"), ("a voice or a card", "either"))
    },
    "a typed change is shown and asked again, and a yes is none before anybody can have read it": after(
        *(*ordered_in_writing, types("Yes, but only three."), state("changed")),
        is_so(lambda scene: scene.told.custom("consent_question")[-1]["question"] == ONLY_THREE),
        *(is_so(lambda scene: '"people": 3' in scene.told.custom("consent_question")[-1]["input"]), types("Yes.")),
        *(ignored(), not_booked, pause(1.5), types("Yes."), receipt()),
    ).agreed(by="text", booked=[THREE], ignored=["too_soon"], options=TYPED),
    "a typed yes right with the card is to something else": after(
        types(BOOK), asking, types("Yes."), pause(1), still_open
    ).left_open(ignored=["too_soon"], options=TYPED),
    "a client that shows no questions, as a page of AgentScope 1.x, consents to none": after(
        *ordered_in_writing, types("Yes."), pause(1), still_open
    ).left_open(ignored=["card_only"], options={"microphone": False}),
    "a yes that was typed while the line was lost is to no card, as its user cannot have seen it": after(
        *(types(BOOK), loses_the_line, asking, pause(5), do(lambda scene: scene.anna.come_back(**SHOWN))),
        *(types("Yes."), pause(1), still_open, types("Yes."), receipt()),
    ).agreed(
        by="text",
        ignored=["too_soon"],
        options={**TYPED, "grace_s": 30, "listener": {**SHOWN, "resumes_with": NativeDialect()}},
    ),
    **{f"the yes of a card is an error where a voice asks: {told}": refused_as_an_error(told) for told in STATES},
    "the no of a card refuses where a voice asks": after(orders, heard, card(False), receipt()).refused(
        by="card", errors=[], tool=BY_VOICE
    ),
    "where the voice cannot ask the card consents": after(
        *(orders, asking),
        *(is_so(lambda scene: [one["by"] for one in scene.told.custom("consent_question")] == ["card"]), card()),
        receipt(),
    ).agreed(by="card", tool=BY_VOICE, options={"config": SessionConfig(output_modalities=("text",))}),
}


@pytest.mark.parametrize("scenario", CASES.values(), ids=CASES)
async def test_in_a_call(scenario: Case) -> None:
    assert await differences(scenario, in_call) == {}


async def test_how_it_is_asked_is_told_with_the_call_before_it_is_spoken() -> None:
    async with asked(Table(consent="voice"), state="asking") as made:
        told = made.custom("consent_question")
        assert [(one["state"], one["by"], one["n"]) for one in told] == [
            ("waiting", "voice", 0),
            ("asking", "voice", 1),
        ]
        names = [event.type for event in made.log]
        assert names[names.index("agent_response_tool_use_done") + 1] == "server_custom"


@pytest.mark.parametrize(("consent", "code"), [("voice", "asked_by_voice"), ("either", "other_tool")])
async def test_a_card_cannot_turn_its_call_into_another_that_asks(consent: str, code: str) -> None:
    table = Table(consent=consent)

    async def note(words: str) -> str:
        """Write a note."""
        return "written"

    table.tools.register(note, consent="card")
    async with asked(table, Waiter(("note", '{"words": "table"}')), state="asking") as made:
        call_id = made.call_of("note").id
        changed = ToolCallBlock(id=call_id, name="book_table", input='{"people": 9, "day": "Sunday"}')
        made.on_card(True, changed, tool="note")
        await asyncio.sleep(1)
        assert (table.booked, made.errors()) == ([], [code])


async def test_of_several_cards_a_yes_agrees_to_none_and_a_no_refuses_all() -> None:
    table = Table()
    table.tools.register(table.book_table, name="book_other", confirm=True, question="Shall I book another?")
    waiter = Waiter(TO_BOOK, ("book_other", '{"people": 2, "day": "Sunday"}'))
    async with asked_call(table.tools, waiter, listener=SHOWN, microphone=False) as made:
        made.types(BOOK)
        await made.until_state("asking", 2)
        await asyncio.sleep(1.5)
        made.types("Yes.")
        assert (made.ignored, table.booked) == ([("card_only", "Yes.")] * 2, [])
        made.types("No.")
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
    async with asked_call(table.tools, Waiter(("seats", "{}"), TO_BOOK), listener=SHOWN, microphone=False) as made:
        made.types(BOOK)
        await made.until_state("asking")
        await asyncio.sleep(1.5)
        made.types("Yes.")
        await asyncio.sleep(1)
        assert (made.ignored, made.receipts, table.booked) == ([("card_only", "Yes.")], [], [])
        made.on_card(False, tool="elicitation")
        made.types("Yes.")
        await made.until_receipt()
        assert table.booked == [FOUR]


async def test_the_time_in_which_the_user_reads_the_card_is_no_latency() -> None:
    async with asked(Table(consent="card"), state="asking") as made:
        await asyncio.sleep(20)
        made.on_card(True)
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
