"""Consent by voice where everything happens at once: the question stays the user's to answer."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from realtime.agent.answer_turns import AnswerTurns
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import ResponseOverrides
from realtime.event.config import SessionConfig, TurnDetection
from realtime.message import PermissionRule, ToolCallBlock
from realtime.model.local.language_model import ReplyText
from realtime.permission import PermissionBehavior
from realtime.tool import ToolContext, Toolkit
from realtime.turn.consent import AnswerTurn
from tests.agent.consent_call import BOOK, TO_BOOK, AskedCall, Table, Waiter, asked, asked_call, loudness_detector
from tests.agent.consent_cases import (
    FOUR,
    PUSH_TO_TALK,
    Case,
    Scene,
    Step,
    agreed,
    asking,
    card,
    case,
    differences,
    do,
    hangs_up,
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
    sends,
    state,
    types,
    until,
    withdrawn,
)
from tests.tool.mcp.scripted import Json, ScriptedClient, ScriptedServer, text, tool

pytestmark = pytest.mark.virtual_time

WEATHER = "Tell me about the weather."
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

CASES = {
    "a no on the card wins over a yes that may go on": case(
        *(*says_yes_and_is_understood, card(False), receipt(), pause(5)),
        receipts=[{"answered_by": "card", "answer": "no"}],
    ),
    "a rule that denies meanwhile wins over a yes that may go on": case(
        *says_yes_and_is_understood,
        *(do(lambda scene: scene.anna.session.participant.permissions.add_rule(DENY_BOOKING)), receipt()),
        pause(3),
        receipts=[{"answered_by": "rule", "done": "denied"}],
    ),
    "hanging up within a yes that may go on books nothing": withdrawn(*(*says_yes_and_is_understood, hangs_up)),
    "who is away right after a yes is asked again when back": agreed(
        *(*says_yes_and_is_understood, do(lambda scene: scene.anna.session.participant.set_away(True))),
        *(pause(1), do(lambda scene: scene.anna.session.participant.set_away(False)), not_booked, heard_again),
        *(says("Yes."), receipt()),
        tool={"consent": "voice"},
    ),
    "a typed question over the spoken one is answered and a yes to that books nothing": case(
        *(orders, asking, pause(0.1), types(WEATHER), until(lambda scene: len(scene.told.said) >= 2)),
        *(says("Yes.", 2), pause(1)),
        ignored=["before_end"],
    ),
    "a yes to what a client had said beside the conversation books nothing": case(
        *(orders, heard, pause(0.5), requests(conversation="none", instructions="Offer dessert.")),
        *(until(lambda scene: len(scene.told.said) >= 2), says("Yes.", 1), pause(1)),
        ignored=["before_end"],
    ),
    "after a response of the client the question is asked again": case(
        *(orders, heard, pause(0.5), requests(), until(lambda scene: len(scene.told.said) >= 2), heard_again),
        states="asking heard repeated heard",
    ),
    "a written response beside the conversation is heard by nobody": agreed(
        *(orders, heard, pause(0.5), requests(conversation="none", output_modalities=("text",))),
        *(until(lambda scene: scene.told.of(s.AgentResponseTextDoneEvent)), says("Yes."), receipt()),
        states="asking heard answered",
    ),
    "a yes that stops no reply counts after the question only": agreed(
        *(orders, asking, says("Yes please.", 0.1, ms=700), pause(3), not_booked, says("Yes."), receipt()),
        ignored=["before_end"],
        options=NEVER_STOPPED,
    ),
    "a no that stops no reply is a no": case(
        *(orders, asking, says("No.", 0.1, ms=500), receipt()),
        receipts=[{"answered_by": "voice", "answer": "no"}],
        options=NEVER_STOPPED,
    ),
    "push-to-talk that begins before the end is no yes": case(
        *(sends(BOOK), asking, sends("Yes.", commits=False), pause(3), sends("Yes."), pause(1)),
        ignored=["before_end"],
        options=PUSH_TO_TALK,
    ),
    "the yes of the agent itself is no answer": case(
        *(orders, heard, says(WEATHER, 0.5), said("Yes please."), says("Yes please.", ms=600), pause(1)),
        options={"language_model": Waiter(replies={"weather": ReplyText("Yes please.")})},
    ),
    "neither before consent nor after a refusal is the deed claimed": case(
        *(orders, heard, says(WEATHER, 0.5), until(lambda scene: scene.told.custom("claim_withheld"))),
        *(heard_again, says("No.", 0.5), receipt(), pause(5)),
        is_so(lambda scene: BOAST not in scene.told.said),
        receipts=[{"answer": "no"}],
        tool={"claims": [BOAST]},
        options={
            "language_model": Waiter(replies={"weather": ReplyText(BOAST), "Result:": ReplyText(BOAST)}),
            "claims": "checked",
        },
    ),
    "a background tool that was agreed to backs no claim until it is done": case(
        *(orders, heard, says("Yes.", 0.5), receipt(), pause(10)),
        is_so(lambda scene: BOAST not in scene.told.said),
        is_so(lambda scene: len(scene.told.custom("claim_withheld")) == 2),
        booked=[FOUR],
        receipts=[{"done": "running"}],
        tool={"claims": [BOAST], "background": True},
        options={"language_model": Waiter(replies={"Result:": ReplyText(BOAST)}), "claims": "checked"},
    ),
    "a text of ten kilobytes with markup is a question of ordinary length": agreed(
        *(orders, heard, is_so(is_asked_in_few_plain_words), says("Yes.", 0.5), receipt()),
        booked=[(4, OF_TEN_KILOBYTES)],
        options={
            "language_model": Waiter(("book_table", json.dumps({"people": 4, "day": OF_TEN_KILOBYTES}))),
        },
    ),
    "hanging up before the question is spoken leaves a receipt": withdrawn(
        *(orders, until(lambda scene: scene.told.custom("consent_question")), hangs_up)
    ),
    "an input that a card breaks is an error and runs nothing": case(
        *(orders, heard, do(breaks_its_input), receipt()), receipts=[{"answer": "change", "done": "error"}]
    ),
    "a tool that is removed meanwhile does not run": case(
        *(orders, heard, do(lambda scene: scene.table.tools.remove_tool_function("book_table"))),
        *(says("Yes.", 0.5), receipt()),
        receipts=[{"done": "error"}],
    ),
    "a card asks once the agent writes": agreed(
        *(orders, heard, do(lambda scene: scene.anna.receive(c.ClientSessionUpdateEvent(config=WRITTEN)))),
        *(state("asking", 2), card(), receipt()),
        by="card",
        tool={"consent": "voice"},
    ),
    "the last word of the question right after it is an echo": case(
        *(orders, heard, says("Yes.", 0.15, ms=500), pause(2)),
        ignored=["echo"],
        tool={"question": "I book a table for {people} on {day}, yes?"},
    ),
    "the last word of the question is an answer soon after": agreed(
        *(orders, heard, says("Yes.", 0.5, ms=500), pause(2)),
        tool={"question": "I book a table for {people} on {day}, yes?"},
    ),
    "a no right after a question that ends so is a no": case(
        *(orders, heard, says("No.", 0.15, ms=500), receipt()),
        receipts=[{"answered_by": "voice", "answer": "no"}],
        tool={"question": "Do you want a table for {people} on {day}, or no?"},
    ),
    "a second yes is none to the next question": agreed(
        *(orders, heard, says("Yes.", 0.3, ms=400), says("Yes please.", 1.1, ms=400), pause(3), heard_again),
        ignored=["before_end"],
        options={"language_model": Waiter(TO_BOOK, ("book_table", '{"people": 4, "day": "Saturday"}'))},
    ),
    "a time of 3 s for clients bounds the question as well": case(
        *(orders, receipt()),
        receipts=[{"answered_by": "timeout", "answer": "silence", "done": "denied"}],
        options={"client_timeout_s": 3},
    ),
} | {
    f"a time of {seconds} s, shorter than the question, silences it": case(
        *(orders, receipt(), pause(5), is_so(lambda scene: scene.told.states[-1] == "answered"), says(WEATHER)),
        until(lambda scene: scene.told.said[-1:] == [f"You said {WEATHER}"]),
        receipts=[{"answered_by": "timeout", "done": "denied"}],
        options={"client_timeout_s": seconds},
    )
    for seconds in (0.05, 0.6, 1.2)
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_in_a_call(case: Case) -> None:
    assert await differences(case, in_call) == {}


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
