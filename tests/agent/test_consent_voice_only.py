"""`consent="voice"`: the card may refuse, and only the user's words consent."""

from __future__ import annotations

import asyncio

import pytest

from realtime.audio.playback import AcknowledgedPlayback
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig
from realtime.message import ToolCallBlock
from tests.agent.consent_call import AskedCall, Table, Waiter, asked_call

pytestmark = pytest.mark.virtual_time

BOOK = "Book a table for four on Friday."


def call_of(made: AskedCall) -> ToolCallBlock:
    return made.of(s.AgentResponseToolUseDoneEvent)[0].tool_use


def on_card(made: AskedCall, confirmed: bool, changed: ToolCallBlock | None = None) -> None:
    call = call_of(made)
    answer = c.ClientToolResultEvent(id=call.id, name=call.name, output="", confirmed=confirmed, tool_call=changed)
    made.receive(answer)


def errors(made: AskedCall) -> list[str]:
    return [event.code for event in made.of(s.AgentErrorEvent)]


async def test_how_it_is_asked_is_told_with_the_call_before_it_is_spoken() -> None:
    table = Table(consent="voice")
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        told = made.custom("consent_question")
        assert [(one["state"], one["by"], one["n"]) for one in told] == [
            ("waiting", "voice", 0),
            ("asking", "voice", 1),
        ]
        names = [event.type for event in made.log]
        assert names[names.index("agent_response_tool_use_done") + 1] == "server_custom"


@pytest.mark.parametrize("state", ["waiting", "asking", "heard"])
async def test_the_yes_of_a_card_is_an_error_and_the_question_stays_open(state: str) -> None:
    table = Table(consent="voice")
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until(lambda: any(one["state"] == state for one in made.custom("consent_question")))
        on_card(made, True)
        assert errors(made) == ["asked_by_voice"]
        await made.until_state("heard")
        assert (table.booked, made.receipts) == ([], [])
        await asyncio.sleep(0.5)
        await made.says("Yes.")
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], table.booked) == ("voice", [(4, "Friday")])


async def test_the_card_may_refuse() -> None:
    table = Table(consent="voice")
    async with asked_call(table.tools) as made:
        await made.says(BOOK)
        await made.until_state("heard")
        on_card(made, False)
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["answer"], table.booked, errors(made)) == ("card", "no", [], [])


async def test_where_the_voice_cannot_ask_the_card_consents() -> None:
    table = Table(consent="voice")
    config = SessionConfig(output_modalities=("text",))
    async with asked_call(table.tools, config=config) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        assert [one["by"] for one in made.custom("consent_question")] == ["card"]
        on_card(made, True)
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], table.booked) == ("card", [(4, "Friday")])


async def test_once_the_voice_has_failed_the_card_consents() -> None:
    table = Table(consent="voice")
    async with asked_call(table.tools, clock=AcknowledgedPlayback(24_000)) as made:
        await made.says(BOOK)
        await made.until_state("asking", 2)
        on_card(made, True)
        await made.until_receipt()
        assert (table.booked, errors(made)) == ([(4, "Friday")], [])


@pytest.mark.parametrize(("consent", "code"), [("voice", "asked_by_voice"), ("either", "other_tool")])
async def test_a_card_cannot_turn_its_call_into_another_that_asks(consent: str, code: str) -> None:
    table = Table(consent=consent)

    async def note(words: str) -> str:
        """Write a note."""
        return "written"

    table.tools.register(note, consent="card")
    async with asked_call(table.tools, Waiter((("note", '{"words": "table"}'),))) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        changed = ToolCallBlock(id=call_of(made).id, name="book_table", input='{"people": 9, "day": "Sunday"}')
        on_card(made, True, changed)
        await asyncio.sleep(1)
        assert (table.booked, errors(made)) == ([], [code])
