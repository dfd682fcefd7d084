"""A reply with a tool while it runs: what is told before the tool does anything, and how a reply can end."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from realtime.event import client as c
from realtime.event import server as s
from realtime.event.reply import AgentEvent, ReplyEndEvent, ToolResultTextDeltaEvent
from realtime.message import TextBlock, fold_messages
from realtime.state.replies import ReplyProjection
from realtime.tool import Toolkit
from tests.agent.fakes import Call, call
from tests.agent.test_tools import ask_tools
from tests.message.reply_grammar import check_replies

pytestmark = pytest.mark.virtual_time


def follow(made: Call) -> list[AgentEvent]:
    """The reply events of the call, as they come."""
    projection = ReplyProjection("session1", created_at_of=lambda ms: f"2026-01-01T00:00:{ms // 1000:02}.000Z")
    events: list[AgentEvent] = []

    def read(event: s.ServerEvent) -> None:
        events.extend(projection.push(event))

    made.session.log.subscribe(read)
    return events


async def turn_with(tool: Callable[[], Any]) -> tuple[list[AgentEvent], list[str]]:
    """The events of a turn with this tool, and the types that had been told when its body began."""
    seen: list[str] = []
    told: list[list[AgentEvent]] = []

    async def probe() -> Any:
        """Do it."""
        seen.extend(event.type for event in told[0])
        return tool()

    async with call(toolkit=Toolkit([probe])) as made:
        told.append(follow(made))
        made.receive(c.ClientTextAppendEvent(text="Go"))
        ask_tools(made, ("call_1", "probe", "{}"))
        await asyncio.sleep(1)
        made.link.reply(500, "Done.")
        await asyncio.sleep(2)
    return told[0], seen


async def test_the_result_of_a_tool_begins_before_its_body_runs() -> None:
    """EVT-38: execution begins with TOOL_RESULT_START, and the call is complete by then."""
    events, seen = await turn_with(lambda: "ok")
    assert seen[-1] == "TOOL_RESULT_START"
    assert seen.index("TOOL_CALL_END") < seen.index("TOOL_RESULT_START")
    assert "TOOL_RESULT_TEXT_DELTA" not in seen
    check_replies(events)


async def test_each_text_of_a_result_is_a_delta_of_its_own() -> None:
    """A result of several texts gives several deltas, which fold to all of them."""
    events, _ = await turn_with(lambda: [TextBlock(text="one"), TextBlock(text="two"), TextBlock(text="three")])
    deltas = [event.delta for event in events if isinstance(event, ToolResultTextDeltaEvent)]
    assert len(deltas) == 3
    (message,) = [one for one in fold_messages(events) if one.role == "assistant"]
    (result,) = message.get_content_blocks("tool_result")
    assert "".join(deltas) in ("onetwothree", "one\ntwo\nthree")
    assert result.state == "success"


@pytest.mark.parametrize("way", ["completed", "interrupted", "error"])
async def test_a_reply_tells_why_it_is_over(way: str) -> None:
    """EVT-21: REPLY_END carries the session, the reason and, where there is one, the error."""
    async with call() as made:
        events = follow(made)
        made.receive(c.ClientTextAppendEvent(text="Go"))
        if way == "error":
            details = {"type": "failed", "error": {"code": "overloaded", "message": "the model is out of breath"}}
            made.link.finish(made.link.begin(), status="failed", status_details=details)
        else:
            made.link.reply(4_000, "One two three four five six.")
        await asyncio.sleep(1)
        if way == "interrupted":
            made.receive(c.ClientResponseCancelEvent())
        await asyncio.sleep(5)
    (end,) = [event for event in events if isinstance(event, ReplyEndEvent) and event.reply_id.startswith("resp")]
    assert end.session_id == "session1"
    assert end.finished_reason == way
    assert (end.error is not None) == (way == "error")
