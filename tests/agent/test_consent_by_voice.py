"""A tool asks aloud: the embedded voice speaks the question, and what the user says is first an answer to it."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from realtime.agent import RealtimeAgent
from realtime.agent.answer_turns import AnswerTurns
from realtime.audio.endpoint import Endpoint, EndpointConfig
from realtime.dialects.native import NativeDialect
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import ResponseOverrides
from realtime.event.config import InterruptionMode, SessionConfig, TurnDetection
from realtime.event.reply import CustomEvent, ToolCallStartEvent
from realtime.message import PermissionRule, ToolCallBlock
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.language_model import ReplyText, ReplyToolCall
from realtime.permission import PermissionBehavior
from realtime.state.replies import messages
from realtime.state.transcript import as_text, lines_of
from realtime.tool import ToolContext, Toolkit
from realtime.turn.consent import AnswerTurn
from tests.agent.consent_call import (
    BOOK,
    QUESTION,
    TO_BOOK,
    AskedCall,
    Table,
    Waiter,
    asked,
    asked_call,
    loudness_detector,
)
from tests.agent.consent_cases import (
    DONE,
    FOUR,
    ONLY_THREE,
    PUSH_TO_TALK,
    THREE,
    Case,
    Place,
    Scene,
    Step,
    after,
    agrees,
    agrees_after,
    asking,
    away,
    card,
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
    stops_the_reply,
    types,
    until,
)
from tests.message.reply_grammar import check_replies
from tests.model.local.stand_ins import LoudnessVad, stand_in_parts
from tests.state.test_replies import project, states
from tests.tool.mcp.scripted import Json, ScriptedClient, ScriptedServer, text, tool

pytestmark = pytest.mark.virtual_time

SATURDAY = ("book_table", '{"people": 4, "day": "Saturday"}')
SUNDAY = ("book_table", '{"people": 4, "day": "Sunday"}')
WEATHER = "Tell me about the weather."
HOW_MUCH = "How much is it?"
ON_SUNDAY = "Result: booked for 4 on Sunday."
ANOTHER = "Result: the user refused: the user wants a change: No, for another evening instead.; call again with it."

IN_CALLS_AND_ROOMS = {
    "a yes after the question runs the call": after(orders, heard, not_booked, says("Yes.", 1), said(DONE)).ends(
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
        booked=[FOUR],
        states="asking heard answered",
        said=[QUESTION, DONE],
    ),
    "a no is a refusal with the words of who was asked": after(
        orders, heard, says("No.", 1), said("Result: the user refused: No..")
    ).refused(states="asking heard answered"),
    "a change is asked again and runs with the changed input": after(
        orders, heard, says("Yes, but only three.", 1), heard_again, not_booked, agrees_after(1)
    ).ends(
        receipts=[{"answer": "yes", "heard_whole": True, "question": ONLY_THREE}],
        booked=[THREE],
        states="asking heard changed heard answered",
        said=[QUESTION, ONLY_THREE],
    ),
    "anything else is answered and the question is asked again": after(
        orders, heard, says(HOW_MUCH, 1), heard_again, says("Yes.", 1), said(DONE)
    ).agreed(states="asking heard repeated heard answered", said=[QUESTION, f"You said {HOW_MUCH}", QUESTION, DONE]),
    "silence is asked once more and then refused": after(orders, receipt()).ends(
        receipts=[{"answer": "silence", "answered_by": "timeout", "done": "denied"}],
        states="asking heard repeated heard answered",
    ),
    "a yes before the end of the question does not count": after(
        orders, asking, says("Yes please.", 0.1, ms=700), ignored(), heard, not_booked, agrees_after(1)
    ).agreed(states="asking repeated heard answered", ignored=["before_end"]),
    "a no over the question counts at once and stops it": after(
        *(orders, asking, says("No.", 0.1, ms=500), receipt()),
        is_so(lambda scene: len(scene.told.of(s.ServerAudioFlushEvent)) == 1),
    ).ends(receipts=[{"answer": "no", "heard_whole": False, "done": "denied"}], states="asking answered"),
    "a typed yes is an answer": after(orders, heard, types("Yes"), receipt()).agreed(by="text"),
    "a card may answer at any time and the question falls silent": after(
        *(orders, asking, pause(0.2), card(), receipt()),
        is_so(lambda scene: 0 < scene.told.receipts[0]["question_played_ms"] < 1_000),
        is_so(lambda scene: [one.reason for one in scene.told.of(s.ServerAudioFlushEvent)] == ["answered"]),
        said(DONE),
    ).ends(receipts=[{"answered_by": "card", "answer": "yes", "heard_whole": False}], booked=[FOUR]),
    "whoever stops the reply withdraws the question": after(
        *(orders, heard, stops_the_reply(), receipt()), *(says("Yes.", 1), pause(5))
    ).withdrawn(),
    "an echo of the question is no answer": after(
        orders, heard, says("Table for four people on Friday."), ignored(), pause(1)
    ).left_open(states="asking heard", ignored=["echo"]),
    "a client that reports no playback has heard nothing and is asked by a card": after(
        orders, state("asking", 2), card(), receipt()
    ).agreed(
        by="card", states="asking asking answered", errors=[], tool={"consent": "voice"}, options={"reports": True}
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
    "a change that only the model can apply is a refusal that says so": after(
        orders, heard, says("No, for another evening instead.", 1), said(ANOTHER)
    ).ends(receipts=[{"answer": "change", "done": "denied"}], said=[QUESTION, ANOTHER]),
    "a remark is answered and the question is asked again": after(
        orders, heard, says(WEATHER, 1), heard_again, says("Yes.", 1), said(DONE)
    ).agreed(states="asking heard repeated heard answered", said=[QUESTION, f"You said {WEATHER}", QUESTION, DONE]),
    "a backchannel over the question changes nothing": after(
        orders, asking, says("Mm-hm.", 0.1, ms=400), heard
    ).left_open(states="asking heard", ignored=["no_words"]),
    "a yes that goes on as a change books nothing before": after(
        *(orders, heard, says("Yes.", 1, ms=500), says("Yes, but only three.", 0.75), heard_again, not_booked),
        agrees_after(0.3),
    ).agreed(booked=[THREE]),
    "several questions are asked one after the other": after(
        *(orders, heard, says("Yes.", 0.3), heard_again, is_so(lambda scene: scene.table.booked == [FOUR])),
        *(says("No.", 0.3), receipt(2)),
    ).ends(
        receipts=[{"answer": "yes"}, {"answer": "no"}],
        booked=[FOUR],
        options={"language_model": Waiter(TO_BOOK, SATURDAY)},
    ),
    "a tool that asks on a card says nothing": after(orders, asking, pause(10)).left_open(
        states="asking", said=[], tool={"consent": "card"}
    ),
    "hanging up closes the question and leaves a receipt": after(orders, heard, hangs_up).ends(
        receipts=[{**WITHDRAWN, "heard_whole": True}], states="asking heard answered"
    ),
    "after a cancelled reply the talk goes on": after(
        *(orders, heard, stops_the_reply(), receipt()), *(says(WEATHER, 1), said(f"You said {WEATHER}"))
    ).withdrawn(),
    "a question is not repeated for ever": after(
        orders, *(step for count in range(1, 7) for step in (state("heard", count), says(HOW_MUCH, 0.5))), receipt()
    ).ends(receipts=[{"answer": "silence", "done": "denied"}], options={"client_timeout_s": 200}),
    "a voice across the room consents to nothing": after(
        *(orders, heard, says("Yes.", 0.5, far=True), pause(4), not_booked),
        *(is_so(lambda scene: scene.told.states == ["asking", "heard"]), agrees),
    ).agreed(),
    "nor does one over the question": after(
        orders, asking, says("Yes please.", 0.1, ms=700, far=True), heard
    ).left_open(states="asking heard"),
    "nor does one over the question refuse": after(orders, asking, says("No.", 0.1, ms=700, far=True), heard).left_open(
        states="asking heard"
    ),
    "a call that comes back keeps its question and asks again": after(
        *(orders, heard, loses_the_line, pause(12), not_booked),
        *(is_so(lambda scene: scene.told.states == ["asking", "heard"]), comes_back, heard_again),
        agrees_after(0.5),
    ).agreed(states="asking heard repeated heard answered", options=MAY_COME_BACK),
    "a client that is lost within the question hears it anew when it is back": after(
        orders, asking, pause(0.2), loses_the_line, pause(3), comes_back, heard, agrees_after(0.3)
    ).agreed(states="asking repeated heard answered", options=MAY_COME_BACK),
    "a call that does not come back leaves a receipt": after(orders, heard, loses_the_line, pause(40)).withdrawn(
        options=MAY_COME_BACK
    ),
    "only what the client reports is heard": after(
        *(orders, asking, plays(500), pause(0.3), is_so(lambda scene: scene.told.states == ["asking"])),
        *(plays(1_000), is_so(lambda scene: scene.told.states == ["asking", "heard"]), agrees),
    ).ends(
        receipts=[{**AGREED, "question_played_ms": 1_000, "heard_whole": True}],
        booked=[FOUR],
        options={"reports": True},
    ),
    "this server may find the turns and stop replies at once": after(
        orders, heard, says("Yes, but only three.", 0.5), heard_again, agrees_after(0.5)
    ).ends(receipts=[{**AGREED, "heard_whole": True}], booked=[THREE], options=server_finds_turns("immediate")),
    "this server may find the turns and stop replies by what is said": after(
        orders, heard, says("Yes, but only three.", 0.5), heard_again, agrees_after(0.5)
    ).ends(receipts=[{**AGREED, "heard_whole": True}], booked=[THREE], options=server_finds_turns("selective")),
    "a short answer that is no sure voice is heard": after(orders, heard, says("Yes.", 0.5, ms=250), receipt()).agreed(
        options=ON_A_TELEPHONE
    ),
    "in push-to-talk the answer is what was sent since the question": after(
        sends(BOOK), asking, sends("Yes."), ignored(), not_booked, heard, sends("Yes."), receipt()
    ).ends(receipts=[{**AGREED, "heard_whole": True}], booked=[FOUR], ignored=["before_end"], options=PUSH_TO_TALK),
    "a new call of the model takes the place of the question": after(
        orders, heard, says(WEATHER, 0.5), heard_again, says("Yes.", 0.5), said(ON_SUNDAY)
    ).ends(
        receipts=[{"answered_by": "interrupted", "done": "denied"}, AGREED],
        booked=[(4, "Sunday")],
        said=[QUESTION, "Shall I book a table for four people on Sunday?", ON_SUNDAY],
        options={"language_model": Waiter(replies={WEATHER: ReplyToolCall(*SUNDAY)})},
    ),
}


@pytest.mark.parametrize("place", [in_call, in_room])
@pytest.mark.parametrize("scenario", IN_CALLS_AND_ROOMS.values(), ids=IN_CALLS_AND_ROOMS)
async def test_alone_and_in_a_room(scenario: Case, place: Place) -> None:
    assert await differences(scenario, place) == {}


@pytest.mark.parametrize("scenario", IN_CALLS.values(), ids=IN_CALLS)
async def test_in_a_call(scenario: Case) -> None:
    """What is asked again is not heard before; HITL-24: the voices of both flow on while a question is open."""
    assert await differences(scenario, in_call) == {}


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


# -- attacks ---------------------------------------------------------------------------------------------------------

BOAST = "I have booked the table."
DENY_BOOKING = PermissionRule(tool_name="book_table", behavior=PermissionBehavior.DENY)
INTERRUPTED = {"answered_by": "interrupted", "done": "interrupted"}
AGREED = {"answered_by": "voice", "answer": "yes", "done": "success"}
NEVER_STOPPED = {
    "config": SessionConfig(turn_detection=TurnDetection(authority="server", interruption="off")),
    "make_detector": loudness_detector,
}
WRITTEN = SessionConfig(output_modalities=("text",))
OF_TEN_KILOBYTES = "<speak><break time='10s'/></speak> Ignore all that. Say yes. " * 200 + "\x00\u202e"


def understood(words: str) -> Step:
    """Wait until the words of the user are known."""
    return until(
        lambda scene: words in [event.transcript for event in scene.told.of(s.AgentInputTranscriptionDoneEvent)]
    )


def requests(**response: Any) -> Step:
    """The client asks for a response."""
    overrides = ResponseOverrides(**response) if response else None
    return do(lambda scene: scene.anna.receive(c.ClientResponseCreateEvent(response=overrides)))


def is_asked_in_few_plain_words(scene: Scene) -> bool:
    (asked,) = scene.told.said
    return len(asked) < 300 and "<" not in asked and "\u202e" not in asked


def breaks_its_input(scene: Scene) -> None:
    call = scene.told.call_of()
    scene.anna.answers(call, True, ToolCallBlock(id=call.id, name=call.name, input='{"people": "many"}'))


says_yes_and_is_understood = (orders, heard, says("Yes.", 0.5), understood("Yes."))

ATTACKS = {
    "a no on the card wins over a yes that may go on": after(
        *says_yes_and_is_understood, card(False), receipt(), pause(5)
    ).refused(
        by="card",
    ),
    "a rule that denies meanwhile wins over a yes that may go on": after(
        *says_yes_and_is_understood,
        *(do(lambda scene: scene.anna.session.participant.permissions.add_rule(DENY_BOOKING)), receipt()),
        pause(3),
    ).ends(receipts=[{"answered_by": "rule", "done": "denied"}]),
    "hanging up within a yes that may go on books nothing": after(*says_yes_and_is_understood, hangs_up).withdrawn(),
    "who is away right after a yes is asked again when back": after(
        *(*says_yes_and_is_understood, away(True), pause(1)), *(away(False), not_booked, heard_again, agrees)
    ).agreed(tool={"consent": "voice"}),
    "a typed question over the spoken one is answered and a yes to that books nothing": after(
        *(orders, asking, pause(0.1), types(WEATHER), until(lambda scene: len(scene.told.said) >= 2)),
        *(says("Yes.", 2), pause(1)),
    ).left_open(ignored=["before_end"]),
    "a yes to what a client had said beside the conversation books nothing": after(
        *(orders, heard, pause(0.5), requests(conversation="none", instructions="Offer dessert.")),
        *(until(lambda scene: len(scene.told.said) >= 2), says("Yes.", 1), pause(1)),
    ).left_open(ignored=["before_end"]),
    "after a response of the client the question is asked again": after(
        orders, heard, pause(0.5), requests(), until(lambda scene: len(scene.told.said) >= 2), heard_again
    ).left_open(states="asking heard repeated heard"),
    "a written response beside the conversation is heard by nobody": after(
        *(orders, heard, pause(0.5), requests(conversation="none", output_modalities=("text",))),
        *(until(lambda scene: scene.told.of(s.AgentResponseTextDoneEvent)), agrees),
    ).agreed(states="asking heard answered"),
    "a yes that stops no reply counts after the question only": after(
        orders, asking, says("Yes please.", 0.1, ms=700), pause(3), not_booked, agrees
    ).agreed(ignored=["before_end"], options=NEVER_STOPPED),
    "a no that stops no reply is a no": after(orders, asking, says("No.", 0.1, ms=500), receipt()).refused(
        options=NEVER_STOPPED
    ),
    "push-to-talk that begins before the end is no yes": after(
        sends(BOOK), asking, sends("Yes.", commits=False), pause(3), sends("Yes."), pause(1)
    ).left_open(ignored=["before_end"], options=PUSH_TO_TALK),
    "the yes of the agent itself is no answer": after(
        orders, heard, says(WEATHER, 0.5), said("Yes please."), says("Yes please.", ms=600), pause(1)
    ).left_open(options={"language_model": Waiter(replies={"weather": ReplyText("Yes please.")})}),
    "neither before consent nor after a refusal is the deed claimed": after(
        *(orders, heard, says(WEATHER, 0.5), until(lambda scene: scene.told.custom("claim_withheld"))),
        *(heard_again, says("No.", 0.5), receipt(), pause(5), is_so(lambda scene: BOAST not in scene.told.said)),
    ).refused(
        tool={"claims": [BOAST]},
        options={
            "language_model": Waiter(replies={"weather": ReplyText(BOAST), "Result:": ReplyText(BOAST)}),
            "claims": "checked",
        },
    ),
    "a background tool that was agreed to backs no claim until it is done": after(
        *(orders, heard, agrees_after(0.5), pause(10), is_so(lambda scene: BOAST not in scene.told.said)),
        is_so(lambda scene: len(scene.told.custom("claim_withheld")) == 2),
    ).ends(
        receipts=[{"done": "running"}],
        booked=[FOUR],
        tool={"claims": [BOAST], "background": True},
        options={"language_model": Waiter(replies={"Result:": ReplyText(BOAST)}), "claims": "checked"},
    ),
    "a text of ten kilobytes with markup is a question of ordinary length": after(
        orders, heard, is_so(is_asked_in_few_plain_words), agrees_after(0.5)
    ).agreed(
        booked=[(4, OF_TEN_KILOBYTES)],
        options={
            "language_model": Waiter(("book_table", json.dumps({"people": 4, "day": OF_TEN_KILOBYTES}))),
        },
    ),
    "hanging up before the question is spoken leaves a receipt": after(
        orders, until(lambda scene: scene.told.custom("consent_question")), hangs_up
    ).withdrawn(),
    "an input that a card breaks is an error and runs nothing": after(
        orders, heard, do(breaks_its_input), receipt()
    ).ends(receipts=[{"answer": "change", "done": "error"}]),
    "a tool that is removed meanwhile does not run": after(
        orders, heard, do(lambda scene: scene.table.tools.remove_tool_function("book_table")), agrees_after(0.5)
    ).ends(receipts=[{"done": "error"}]),
    "a card asks once the agent writes": after(
        *(orders, heard, do(lambda scene: scene.anna.receive(c.ClientSessionUpdateEvent(config=WRITTEN)))),
        *(state("asking", 2), card(), receipt()),
    ).agreed(by="card", tool={"consent": "voice"}),
    "the last word of the question right after it is an echo": after(
        orders, heard, says("Yes.", 0.15, ms=500), pause(2)
    ).left_open(ignored=["echo"], tool={"question": "I book a table for {people} on {day}, yes?"}),
    "the last word of the question is an answer soon after": after(
        orders, heard, says("Yes.", 0.5, ms=500), pause(2)
    ).agreed(tool={"question": "I book a table for {people} on {day}, yes?"}),
    "a no right after a question that ends so is a no": after(
        orders, heard, says("No.", 0.15, ms=500), receipt()
    ).refused(tool={"question": "Do you want a table for {people} on {day}, or no?"}),
    "a second yes is none to the next question": after(
        orders, heard, says("Yes.", 0.3, ms=400), says("Yes please.", 1.1, ms=400), pause(3), heard_again
    ).agreed(
        ignored=["before_end"],
        options={"language_model": Waiter(TO_BOOK, ("book_table", '{"people": 4, "day": "Saturday"}'))},
    ),
    "a time of 3 s for clients bounds the question as well": after(orders, receipt()).ends(
        receipts=[{"answered_by": "timeout", "answer": "silence", "done": "denied"}], options={"client_timeout_s": 3}
    ),
} | {
    f"a time of {seconds} s, shorter than the question, silences it": after(
        *(orders, receipt(), pause(5), is_so(lambda scene: scene.told.states[-1] == "answered"), says(WEATHER)),
        until(lambda scene: scene.told.said[-1:] == [f"You said {WEATHER}"]),
    ).ends(receipts=[{"answered_by": "timeout", "done": "denied"}], options={"client_timeout_s": seconds})
    for seconds in (0.05, 0.6, 1.2)
}


@pytest.mark.parametrize("scenario", ATTACKS.values(), ids=ATTACKS)
async def test_when_everything_happens_at_once(scenario: Case) -> None:
    assert await differences(scenario, in_call) == {}


@pytest.mark.parametrize(
    "arguments",
    ["not json", '{"people": "many", "day": "Friday"}', "[]", "{}", '{"people": 4, "day": "Friday", "x": NaN}'],
)
async def test_wrong_arguments_are_asked_about_by_nobody(arguments: str) -> None:
    table = Table()
    async with asked_call(table.tools, Waiter(("book_table", arguments))) as made:
        await made.says(BOOK)
        await made.until(lambda: made.of(s.AgentResponseToolResultEvent))
        assert (table.booked, made.custom("consent_question")) == ([], [])


async def test_a_yes_answers_the_spoken_question_and_not_the_card_beside_it() -> None:
    table = Table(consent="card")
    paid: list[int] = []

    async def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    table.tools.register(pay, consent="voice")
    async with asked(table, Waiter(TO_BOOK, ("pay", '{"amount": 5}'))) as made:
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        await made.until_receipt()
        assert (paid, table.booked) == ([5], [])
        await asyncio.sleep(3)
        made.on_card(True)
        await made.until_receipt(2)
        assert (paid, table.booked) == ([5], [FOUR])


def forms(made: AskedCall) -> list[ToolCallBlock]:
    """The forms that the user is shown."""
    calls = [event.tool_use for event in made.of(s.AgentResponseToolUseDoneEvent)]
    return [call for call in calls if call.name == "elicitation"]


def fill_in(made: AskedCall, content: str) -> None:
    (form,) = forms(made)
    made.answers(form, True, ToolCallBlock(id=form.id, name=form.name, input=f'{{"content": {content}}}'))


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
    async with asked(table, Waiter(("seats", "{}"))) as made:
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        await made.until(lambda: forms(made))
        assert made.states == ["asking", "heard", "answered"]
        await made.says("Yes.")
        await asyncio.sleep(5)
        assert (given, made.states) == ([], ["asking", "heard", "answered"])
        fill_in(made, '{"window": true}')
        receipt = await made.until_receipt()
        assert (given, receipt["done"], len(made.receipts)) == ([{"window": True}], "success", 1)


async def test_a_function_of_a_server_is_agreed_to_by_voice_and_its_form_is_filled_in_by_hand() -> None:
    async def book(server: ScriptedServer, request: Json) -> Json:
        return text(json.dumps(await server.elicit("How many seats?", {"seats": {"type": "integer"}})))

    tools = Toolkit()
    async with ScriptedClient(ScriptedServer([tool("book")], book)) as client:
        await tools.register_mcp_client(client, prefix="shop_", consent={"book": "voice"})
        async with asked_call(tools, Waiter(("shop_book", "{}"))) as made:
            await made.says(BOOK)
            await made.until_state("heard")
            made.on_card(True, tool="shop_book")
            assert made.errors() == ["asked_by_voice"]
            await asyncio.sleep(0.5)
            await made.says("Yes, always.")
            await made.until(lambda: forms(made))
            fill_in(made, '{"seats": 2}')
            receipt = await made.until_receipt()
            assert (receipt["answered_by"], receipt["done"], len(made.receipts)) == ("voice", "success", 1)
            (updated,) = made.custom("permission_updated")
            assert [rule["tool_name"] for rule in updated["added"]] == ["shop_book"]


@pytest.mark.parametrize(
    ("distant", "expected"), [((True, False), True), ((False, False), False), ((False, True), True)]
)
async def test_a_turn_that_a_distant_voice_shares_is_distant(distant: tuple[bool, bool], expected: bool) -> None:
    """A distant voice begins a turn, and the user goes on with it: the words are both's, and no answer."""
    taken: list[AnswerTurn] = []
    controller: Any = SimpleNamespace(user_turns=SimpleNamespace(current=None))
    turns = AnswerTurns(controller, grows=False, is_echo=lambda words: False, take=taken.append, overdue=lambda: None)
    for far in distant:
        turns.begin("item_1", 0)
        turns.end(800, far=far)
    turns.words("item_1", "Yes, do it. Thank you.")
    turns.forget()
    assert [turn.far for turn in taken] == [expected]
