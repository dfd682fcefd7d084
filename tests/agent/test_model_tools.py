"""Tools that a model runs itself: the call shows them like the agent's, and does not run them."""

from __future__ import annotations

import asyncio

import pytest

from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import Item
from realtime.message import ToolCallBlock, ToolCallState, ToolResultBlock
from realtime.model import base
from realtime.tool import Toolkit
from tests.agent.fakes import Call, call

pytestmark = pytest.mark.virtual_time


def search(query: str) -> str:
    """Search here."""
    raise AssertionError("it runs at the model")


def begin_tool(made: Call, call_id: str = "call_1") -> str:
    """The model says that it runs a tool, and ends its response."""
    response_id = made.link.begin()
    tool_use = ToolCallBlock(id=call_id, name="search", input='{"query": "tea"}', state=ToolCallState.SUBMITTED)
    made.link.say(
        m.ModelResponseToolUseDoneEvent(response_id=response_id, item_id=f"use_{call_id}", tool_use=tool_use),
        m.ModelResponseDoneEvent(response_id=response_id),
    )
    return response_id


def end_tool(made: Call, call_id: str = "call_1", output: str = "tea found") -> None:
    result = ToolResultBlock(id=call_id, name="search", output=output)
    made.link.say(m.ModelItemDoneEvent(item=Item(id=f"got_{call_id}", type="tool_result", tool_result=result)))


def results(made: Call) -> list[tuple[str, str]]:
    return [
        (event.tool_result.state, event.tool_result.output_text()) for event in made.of(s.AgentResponseToolResultEvent)
    ]


async def test_its_result_is_told_and_the_model_speaks_on() -> None:
    """A tool of the agent with that name is not asked, and needs no consent."""
    async with call(toolkit=Toolkit(confirm=[search])) as made:
        made.receive(c.ClientTextAppendEvent(text="Find tea"))
        begin_tool(made)
        end_tool(made, "unknown")
        await asyncio.sleep(100)
        assert results(made) == [], "the model takes the time that it needs, and may repeat what others gave"
        (used,) = made.of(s.AgentResponseToolUseDoneEvent)
        assert (used.tool_use.name, used.tool_use.state) == ("search", "pending")
        end_tool(made)
        await asyncio.sleep(0)
        assert results(made) == [("success", "tea found")]
        assert len(made.link.got(base.ResponseCreate)) == 2
        made.link.reply()
    assert [who for who, _ in made.transcript()] == ["user", "tool_call", "tool_result", "assistant"]


async def test_a_result_that_is_there_before_the_response_is_done_waits_for_it() -> None:
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Find tea"))
        response_id = made.link.begin()
        tool_use = ToolCallBlock(id="call_1", name="search", input="{}", state=ToolCallState.SUBMITTED)
        use = m.ModelResponseToolUseDoneEvent(response_id=response_id, item_id="use", tool_use=tool_use)
        made.link.say(use)
        end_tool(made)
        await asyncio.sleep(0)
        assert len(made.link.got(base.ResponseCreate)) == 1
        made.link.say(m.ModelResponseDoneEvent(response_id=response_id))
        assert len(made.link.got(base.ResponseCreate)) == 2


@pytest.mark.parametrize("act", ["speaks", "types", "cancels"])
async def test_a_user_who_takes_the_floor_ends_it(act: str) -> None:
    """The model learns it from its own tool's result."""
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Find tea"))
        response_id = begin_tool(made)
        await asyncio.sleep(0)
        if act == "speaks":
            made.link.hear_start("turn_2")
        elif act == "types":
            made.receive(c.ClientTextAppendEvent(text="No, coffee"))
        else:
            made.receive(c.ClientResponseCancelEvent(response_id=response_id))
        await asyncio.sleep(0)
        assert results(made) == [("interrupted", "interrupted by the user")]
        assert [sent.result.state for sent in made.link.got(base.ToolResult)] == ["interrupted"]
        end_tool(made)
        await asyncio.sleep(0)
        assert len(results(made)) == 1
        begin_tool(made, "call_2")
        await asyncio.sleep(0)
    assert not any("search" in task.get_name() for task in asyncio.all_tasks()), "the end of the call ends it, too"
