"""A tool asks aloud: the embedded voice speaks the question, and what the user says is first an answer to it."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from realtime.agent import RealtimeAgent
from realtime.audio.endpoint import Endpoint, EndpointConfig
from realtime.dialects.native import NativeDialect
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import InterruptionMode, SessionConfig, TurnDetection
from realtime.event.reply import CustomEvent, ToolCallStartEvent
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.language_model import ReplyToolCall
from realtime.state.replies import messages
from realtime.state.transcript import as_text, lines_of
from realtime.tool import ToolContext
from tests.agent.consent_call import BOOK, QUESTION, TO_BOOK, Table, Waiter, asked, asked_call, loudness_detector
from tests.agent.consent_cases import (
    DONE,
    FOUR,
    ONLY_THREE,
    PUSH_TO_TALK,
    THREE,
    Case,
    Place,
    agreed,
    asking,
    card,
    case,
    differences,
    do,
    hangs_up,
    heard,
    heard_again,
    ignored,
    in_call,
    in_room,
    is_so,
    loses_the_line,
    not_booked,
    orders,
    pause,
    plays,
    receipt,
    said,
    says,
    sends,
    state,
    types,
    withdrawn,
)
from tests.message.reply_grammar import check_replies
from tests.model.local.stand_ins import LoudnessVad, stand_in_parts
from tests.state.test_replies import project, states

pytestmark = pytest.mark.virtual_time

SATURDAY = ("book_table", '{"people": 4, "day": "Saturday"}')
SUNDAY = ("book_table", '{"people": 4, "day": "Sunday"}')
WEATHER = "Tell me about the weather."
HOW_MUCH = "How much is it?"
ON_SUNDAY = "Result: booked for 4 on Sunday."
ANOTHER = "Result: the user refused: the user wants a change: No, for another evening instead.; call again with it."

IN_CALLS_AND_ROOMS = {
    "a yes after the question runs the call": case(
        *(orders, heard, not_booked, says("Yes.", 1), said(DONE)),
        booked=[FOUR],
        receipts=[
            {
                "answer": "yes",
                "answered_by": "voice",
                "words": "Yes.",
                "heard_whole": True,
                "done": "success",
                "question": QUESTION,
            }
        ],
        states="asking heard answered",
        said=[QUESTION, DONE],
    ),
    "a no is a refusal with the words of who was asked": case(
        *(orders, heard, says("No.", 1), said("Result: the user refused: No..")),
        receipts=[{"answer": "no", "answered_by": "voice", "done": "denied"}],
        states="asking heard answered",
    ),
    "a change is asked again and runs with the changed input": case(
        *(orders, heard, says("Yes, but only three.", 1), heard_again, not_booked, says("Yes.", 1), receipt()),
        booked=[THREE],
        receipts=[{"answer": "yes", "heard_whole": True, "question": ONLY_THREE}],
        states="asking heard changed heard answered",
        said=[QUESTION, ONLY_THREE],
    ),
    "anything else is answered and the question is asked again": agreed(
        *(orders, heard, says(HOW_MUCH, 1), heard_again, says("Yes.", 1), said(DONE)),
        states="asking heard repeated heard answered",
        said=[QUESTION, f"You said {HOW_MUCH}", QUESTION, DONE],
    ),
    "silence is asked once more and then refused": case(
        *(orders, receipt()),
        receipts=[{"answer": "silence", "answered_by": "timeout", "done": "denied"}],
        states="asking heard repeated heard answered",
    ),
    "a yes before the end of the question does not count": agreed(
        *(orders, asking, says("Yes please.", 0.1, ms=700), ignored(), heard, not_booked, says("Yes.", 1)),
        receipt(),
        states="asking repeated heard answered",
        ignored=["before_end"],
    ),
    "a no over the question counts at once and stops it": case(
        *(orders, asking, says("No.", 0.1, ms=500), receipt()),
        is_so(lambda scene: len(scene.told.of(s.ServerAudioFlushEvent)) == 1),
        receipts=[{"answer": "no", "heard_whole": False, "done": "denied"}],
        states="asking answered",
    ),
    "a typed yes is an answer": agreed(*(orders, heard, types("Yes"), receipt()), by="text"),
    "a card may answer at any time and the question falls silent": case(
        *(orders, asking, pause(0.2), card(), receipt()),
        is_so(lambda scene: 0 < scene.told.receipts[0]["question_played_ms"] < 1_000),
        is_so(lambda scene: [one.reason for one in scene.told.of(s.ServerAudioFlushEvent)] == ["answered"]),
        said(DONE),
        booked=[FOUR],
        receipts=[{"answered_by": "card", "answer": "yes", "heard_whole": False}],
    ),
    "whoever stops the reply withdraws the question": withdrawn(
        *(orders, heard, do(lambda scene: scene.anna.receive(c.ClientResponseCancelEvent())), receipt()),
        *(says("Yes.", 1), pause(5)),
    ),
    "an echo of the question is no answer": case(
        *(orders, heard, says("Table for four people on Friday."), ignored(), pause(1)),
        states="asking heard",
        ignored=["echo"],
    ),
    "a client that reports no playback has heard nothing and is asked by a card": agreed(
        *(orders, state("asking", 2), card(), receipt()),
        by="card",
        states="asking asking answered",
        errors=[],
        tool={"consent": "voice"},
        options={"reports": True},
    ),
}


def server_finds_turns(interruption: InterruptionMode) -> dict[str, Any]:
    config = SessionConfig(turn_detection=TurnDetection(authority="server", interruption=interruption))
    return {"config": config, "make_detector": loudness_detector}


class UnsureVad(LoudnessVad):
    """Is never sure of a voice, as over a telephone."""

    def probability(self, frame: bytes) -> float:
        return min(0.6, super().probability(frame))


ON_A_TELEPHONE = {
    "config": SessionConfig(turn_detection=TurnDetection(authority="server")),
    "make_detector": lambda wanted: Endpoint(UnsureVad(), EndpointConfig(keep_audio=False)),
}
MAY_COME_BACK = {"grace_s": 30, "listener": {"resumes_with": NativeDialect()}}
AGREED = {"answer": "yes", "answered_by": "voice", "done": "success"}
WITHDRAWN = {"answered_by": "interrupted", "done": "interrupted"}
TIMED_OUT = {"answer": "silence", "answered_by": "timeout", "done": "denied"}
comes_back = do(lambda scene: scene.anna.come_back())

IN_CALLS = {
    "a change that only the model can apply is a refusal that says so": case(
        *(orders, heard, says("No, for another evening instead.", 1), said(ANOTHER)),
        receipts=[{"answer": "change", "done": "denied"}],
        said=[QUESTION, ANOTHER],
    ),
    "a remark is answered and the question is asked again": agreed(
        *(orders, heard, says(WEATHER, 1), heard_again, says("Yes.", 1), said(DONE)),
        states="asking heard repeated heard answered",
        said=[QUESTION, f"You said {WEATHER}", QUESTION, DONE],
    ),
    "a backchannel over the question changes nothing": case(
        *(orders, asking, says("Mm-hm.", 0.1, ms=400), heard), states="asking heard", ignored=["no_words"]
    ),
    "a yes that goes on as a change books nothing before": agreed(
        *(orders, heard, says("Yes.", 1, ms=500), says("Yes, but only three.", 0.75), heard_again, not_booked),
        *(says("Yes.", 0.3), receipt()),
        booked=[THREE],
    ),
    "several questions are asked one after the other": case(
        *(orders, heard, says("Yes.", 0.3), heard_again, is_so(lambda scene: scene.table.booked == [FOUR])),
        *(says("No.", 0.3), receipt(2)),
        booked=[FOUR],
        receipts=[{"answer": "yes"}, {"answer": "no"}],
        options={"language_model": Waiter(TO_BOOK, SATURDAY)},
    ),
    "a tool that asks on a card says nothing": case(
        *(orders, asking, pause(10)), states="asking", said=[], tool={"consent": "card"}
    ),
    "hanging up closes the question and leaves a receipt": case(
        *(orders, heard, hangs_up), receipts=[{**WITHDRAWN, "heard_whole": True}], states="asking heard answered"
    ),
    "after a cancelled reply the talk goes on": withdrawn(
        *(orders, heard, do(lambda scene: scene.anna.receive(c.ClientResponseCancelEvent())), receipt()),
        *(says(WEATHER, 1), said(f"You said {WEATHER}")),
    ),
    "a question is not repeated for ever": case(
        *(orders, *(step for count in range(1, 7) for step in (state("heard", count), says(HOW_MUCH, 0.5)))),
        receipt(),
        receipts=[{"answer": "silence", "done": "denied"}],
        options={"client_timeout_s": 200},
    ),
    "a voice across the room consents to nothing": agreed(
        *(orders, heard, says("Yes.", 0.5, far=True), pause(4), not_booked),
        *(is_so(lambda scene: scene.told.states == ["asking", "heard"]), says("Yes."), receipt()),
    ),
    "nor does one over the question": case(
        *(orders, asking, says("Yes please.", 0.1, ms=700, far=True), heard), states="asking heard"
    ),
    "nor does one over the question refuse": case(
        *(orders, asking, says("No.", 0.1, ms=700, far=True), heard), states="asking heard"
    ),
    "a call that comes back keeps its question and asks again": agreed(
        *(orders, heard, loses_the_line, pause(12), not_booked),
        *(is_so(lambda scene: scene.told.states == ["asking", "heard"]), comes_back, heard_again),
        *(says("Yes.", 0.5), receipt()),
        states="asking heard repeated heard answered",
        options=MAY_COME_BACK,
    ),
    "a client that is lost within the question hears it anew when it is back": agreed(
        *(orders, asking, pause(0.2), loses_the_line, pause(3), comes_back, heard, says("Yes.", 0.3)),
        receipt(),
        states="asking repeated heard answered",
        options=MAY_COME_BACK,
    ),
    "a call that does not come back leaves a receipt": withdrawn(
        *(orders, heard, loses_the_line, pause(40)), options=MAY_COME_BACK
    ),
    "only what the client reports is heard": case(
        *(orders, asking, plays(500), pause(0.3), is_so(lambda scene: scene.told.states == ["asking"])),
        *(plays(1_000), is_so(lambda scene: scene.told.states == ["asking", "heard"]), says("Yes."), receipt()),
        booked=[FOUR],
        receipts=[{**AGREED, "question_played_ms": 1_000, "heard_whole": True}],
        options={"reports": True},
    ),
    "this server may find the turns and stop replies at once": case(
        *(orders, heard, says("Yes, but only three.", 0.5), heard_again, says("Yes.", 0.5), receipt()),
        booked=[THREE],
        receipts=[{**AGREED, "heard_whole": True}],
        options=server_finds_turns("immediate"),
    ),
    "this server may find the turns and stop replies by what is said": case(
        *(orders, heard, says("Yes, but only three.", 0.5), heard_again, says("Yes.", 0.5), receipt()),
        booked=[THREE],
        receipts=[{**AGREED, "heard_whole": True}],
        options=server_finds_turns("selective"),
    ),
    "a short answer that is no sure voice is heard": agreed(
        *(orders, heard, says("Yes.", 0.5, ms=250), receipt()), options=ON_A_TELEPHONE
    ),
    "in push-to-talk the answer is what was sent since the question": case(
        *(sends(BOOK), asking, sends("Yes."), ignored(), not_booked, heard, sends("Yes."), receipt()),
        booked=[FOUR],
        receipts=[{**AGREED, "heard_whole": True}],
        ignored=["before_end"],
        options=PUSH_TO_TALK,
    ),
    "a new call of the model takes the place of the question": case(
        *(orders, heard, says(WEATHER, 0.5), heard_again, says("Yes.", 0.5), said(ON_SUNDAY)),
        booked=[(4, "Sunday")],
        receipts=[{"answered_by": "interrupted", "done": "denied"}, AGREED],
        said=[QUESTION, "Shall I book a table for four people on Sunday?", ON_SUNDAY],
        options={"language_model": Waiter(replies={WEATHER: ReplyToolCall(*SUNDAY)})},
    ),
}


@pytest.mark.parametrize("place", [in_call, in_room])
@pytest.mark.parametrize("case", IN_CALLS_AND_ROOMS.values(), ids=IN_CALLS_AND_ROOMS)
async def test_alone_and_in_a_room(case: Case, place: Place) -> None:
    assert await differences(case, place) == {}


@pytest.mark.parametrize("case", IN_CALLS.values(), ids=IN_CALLS)
async def test_in_a_call(case: Case) -> None:
    """What is asked again is not heard before; HITL-24: the voices of both flow on while a question is open."""
    assert await differences(case, in_call) == {}


# -- what others are told ----------------------------------------------------------------------------------------------


async def test_the_transcript_of_the_call_holds_the_receipt() -> None:
    table = Table()
    recorder = Mock(close=AsyncMock())
    config = SessionConfig(recording=True)
    async with asked(table, config=config, record=lambda session: recorder) as made:
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        receipt = await made.until_receipt()
        (line,) = [line for line in lines_of(made.log) if line.kind == "tool"]
        assert line.receipt == receipt
        assert receipt["recording"] == f"/api/calls/{made.session.call_id}/sound"
        assert receipt["answer_start_ms"] >= 2_800
        assert receipt["question_played_ms"] == 1_000
        assert f"Asked: {QUESTION} Answer: yes, by voice (Yes.)" in as_text([line])


async def test_the_transcript_of_the_call_is_in_the_order_of_the_conversation() -> None:
    async with asked(Table()) as made:
        await asyncio.sleep(0.5)
        await made.says(HOW_MUCH)
        await made.until_state("heard", 2)
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        await made.until_said(DONE)
        lines = lines_of(made.log)
        assert [line.text for line in lines] == [BOOK, "book_table", HOW_MUCH, f"You said {HOW_MUCH}", "Yes.", DONE]
        assert [line.from_ms for line in lines] == sorted(line.from_ms for line in lines)


async def test_nothing_else_is_said_while_an_answer_is_awaited() -> None:
    """Neither fillers of a tool that runs meanwhile nor words of the program come between question and answer."""
    table = Table()

    async def look_up(context: ToolContext) -> str:
        """Look something up."""
        context.say("I am still looking.")
        await asyncio.sleep(20)
        return "found"

    table.tools.register(look_up)
    waiter = Waiter(("look_up", "{}"), TO_BOOK)
    async with asked(table, waiter, fillers=("One moment.",), client_timeout_s=100) as made:
        said = len(made.said)
        await asyncio.sleep(7)
        assert len(made.said) == said
        await made.says("Yes.")
        await made.until_receipt()
        assert table.booked == [FOUR]


@pytest.mark.parametrize(
    ("told", "says", "ends"),
    [("waiting", [], ["answered"]), ("heard", [QUESTION], ["asking", "heard", "answered"])],
)
async def test_a_hand_over_closes_the_question(told: str, says: list[str], ends: list[str]) -> None:
    """The other agent answers what the user has said."""
    table = Table(consent="voice")
    engine = SpeechEngine(lambda progress: stand_in_parts())
    other = RealtimeAgent("Ben", "You answer.", LocalRealtimeModel(language_model=Waiter(), engine=engine), fillers=())
    async with asked_call(table.tools, transfers=[other]) as made:
        await made.says(BOOK)
        await made.until(lambda: told in [one["state"] for one in made.custom("consent_question")])
        await made.session.participant.transfer_to("Ben", greets=False)
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["done"]) == ("interrupted", "interrupted")
        await asyncio.sleep(10)
        assert (made.said, made.states, table.booked) == ([*says, "Ben: Result: interrupted by the user."], ends, [])
    engine.close()


async def test_a_spoken_consent_walks_the_states_of_any_other() -> None:
    """HITL-10: pending, asking, allowed with the changed input, finished; in the reply's events."""
    async with asked(Table()) as made:
        await asyncio.sleep(0.5)
        await made.says("Yes, but only three.")
        await made.until_state("heard", 2)
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        receipt = await made.until_receipt()
        await made.until(lambda: len(made.said) == 3)
        await asyncio.sleep(3)
    events = project(made.log)
    check_replies(events, complete=False)
    begun = next(event.reply_id for event in events if isinstance(event, ToolCallStartEvent))
    walk = [state for state, _ in states(events, begun, receipt["tool_call_id"])]
    assert [*dict.fromkeys(walk)] == ["pending", "asking", "allowed", "finished"]
    (allowed,) = [event.item.tool_call for event in made.of(s.AgentItemDoneEvent) if event.item.tool_call is not None]
    assert allowed is not None
    assert allowed.arguments == {"people": 3, "day": "Friday"}


@pytest.mark.parametrize(("early", "answer", "done"), [("Yes please.", "Yes.", "success"), ("No.", "", "denied")])
async def test_a_voice_that_stops_the_question_leaves_the_result_as_it_was(early: str, answer: str, done: str) -> None:
    """The messages tell what the receipt tells."""
    async with asked(Table(), state="asking") as made:
        await asyncio.sleep(0.1)
        await made.says(early, 700)
        if answer:
            await made.until_state("heard")
            await asyncio.sleep(0.5)
            await made.says(answer)
        receipt = await made.until_receipt()
        await made.until(lambda: any(said.startswith("Result:") for said in made.said))
        await asyncio.sleep(3)
    assert made.of(s.ServerAudioFlushEvent)
    events = project(made.log)
    (kept,) = [block for one in messages(events) for block in one.get_content_blocks("tool_result")]
    assert (kept.state, receipt["done"]) == (done, done)
    assert [one.name for one in events if isinstance(one, CustomEvent) and one.name == "late_tool_result"] == []
