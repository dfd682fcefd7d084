"""Messages as the history of a new session."""

import asyncio

import pytest

from realtime.event import client as c
from realtime.message import (
    AssistantMsg,
    Base64Source,
    Block,
    DataBlock,
    HintBlock,
    SystemMsg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    UserMsg,
)
from realtime.message.formatter import NO_RESULT
from realtime.state.prime import history_items
from realtime.state.replies import messages
from tests.agent.fakes import WORDS, call
from tests.agent.test_tools import TOOLS, ask_tools
from tests.state.test_replies import project

PNG = DataBlock(source=Base64Source(data=b"\x89PNG", media_type="image/png"))


@pytest.mark.virtual_time
async def test_a_call_comes_back_as_the_conversation_that_was_heard() -> None:
    """Events to messages to items: who said what, with the tools, as far as it was heard."""
    async with call(toolkit=TOOLS) as made:
        made.receive(c.ClientTextAppendEvent(text="What time is it?"))
        ask_tools(made, ("call_1", "clock", '{"zone": "UTC"}'))
        await asyncio.sleep(2)
        made.link.reply(4_000, WORDS)
        await asyncio.sleep(2)
        made.link.hear_start("u2")
        made.link.hear_end("u2", text="Stop.")
        await asyncio.sleep(1)
    items = history_items(messages(project(made.log)))
    assert [(item.role or item.type, item.text) for item in items] == made.transcript()
    assert [item.tool_result.output for item in items if item.tool_result] == ["12:00 in UTC"]


def test_other_agents_are_told_by_name() -> None:
    """Without their tools; one's own turns stay one's own."""
    said = [
        SystemMsg("system", "Be nice."),
        UserMsg("Ada", [TextBlock(text="Look."), PNG]),
        AssistantMsg("A", [ToolCallBlock(id="c1", name="clock"), TextBlock(text="View A")]),
        AssistantMsg("B", [TextBlock(text="View B", id="t1")]),
    ]
    items = history_items(said, own_name="B")
    assert [(item.role, item.text) for item in items] == [
        ("system", "Be nice."),
        ("user", "Look."),
        ("user", "[A]: View A"),
        ("assistant", "View B"),
    ]
    assert [part.type for part in items[1].content] == ["text", "image"]


def test_every_call_has_its_result_and_thoughts_are_left_out() -> None:
    """Models refuse a history in which one is missing."""
    blocks: list[Block] = [
        ThinkingBlock(thinking="Hm."),
        ToolCallBlock(id="c1", name="clock"),
        ToolCallBlock(id="c2", name="clock"),
        ToolResultBlock(id="c2", name="clock", output="12:00"),
        HintBlock(hint="It is late."),
        HintBlock(hint=[TextBlock(text="Look."), PNG]),
    ]
    items = history_items([AssistantMsg("Friday", blocks)])
    assert [item.type for item in items] == ["tool_call", "tool_result"] * 2 + ["message"] * 2
    assert [item.tool_result.output for item in items if item.tool_result] == [NO_RESULT, "12:00"]
    assert [item.tool_call.input for item in items if item.tool_call] == ["{}", "{}"]
    assert [item.role for item in items[4:]] == ["user", "user"]
    assert len({item.id for item in items}) == len(items)
