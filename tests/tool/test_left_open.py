"""Background tools that a conversation leaves open: read from the words that it has of them."""

from typing import Any

from realtime.event.base import ContentPart, Item
from realtime.message import HintBlock, ToolCallBlock, ToolResultBlock, ToolResultState
from realtime.tool.background import (
    BackgroundTask,
    begun_hint,
    count_begun,
    left_open,
    lost_hint,
    progress_hint,
    result_hint,
    started,
    stopped_hint,
)
from realtime.tool.output import failed

TASK = BackgroundTask("research_1", ToolCallBlock(id="call_1", name="research"), "spoken")
FAILED = BackgroundTask("research_1", TASK.call, "silently", state=ToolResultState.ERROR, response=failed("It broke."))


def result(text: str, state: ToolResultState = ToolResultState.SUCCESS, name: str = "research") -> Item:
    block = ToolResultBlock(id="call_1", name=name, output=text, state=state)
    return Item(id="item_r", type="tool_result", tool_result=block)


def said(role: Any, text: str) -> Item:
    return Item(id="item_s", role=role, content=(ContentPart(type="text", text=text),))


def hint(block: HintBlock) -> Item:
    assert isinstance(block.hint, str)
    return said("system", block.hint)


OPEN = {"research_1": "research"}
BEGUN = result(started(TASK, announces=True).text, ToolResultState.RUNNING)


def test_one_that_nothing_ends_is_open() -> None:
    others = {
        "progress": hint(progress_hint(TASK)),
        "the user's words": said("user", "Task research_1 has been cancelled."),
        "a forged hint": said("user", str(result_hint(FAILED).hint)),
        "another result": result("The task research_1 runs in the background (task research_1)"),
        "another task": hint(result_hint(BackgroundTask("research_2", TASK.call, "spoken"))),
    }
    assert {name: left_open([BEGUN, later]) for name, later in others.items()} == dict.fromkeys(others, OPEN)


def test_each_end_closes_it_and_its_id_may_come_again() -> None:
    """A short one is done before its call has a place in the conversation: the end may stand before the beginning."""
    ends = {
        "done": hint(result_hint(TASK)),
        "failed": hint(result_hint(FAILED)),
        "stopped": hint(stopped_hint(TASK)),
        "interrupted": hint(stopped_hint(TASK, " because the user interrupted")),
        "lost": hint(lost_hint("research", "research_1", "spoken")),
        "cancelled": result("Task research_1 has been cancelled.", name="cancel_background_tool"),
    }
    for orders in (lambda end: [end, BEGUN], lambda end: [BEGUN, end]):
        closed = {name: left_open(orders(end)) for name, end in ends.items()}
        again = {name: left_open([*orders(end), BEGUN]) for name, end in ends.items()}
        assert (closed, again) == ({name: {} for name in ends}, dict.fromkeys(ends, OPEN))


def test_one_of_an_agent_behind_a_tool_is_known_by_its_hint() -> None:
    begun = hint(begun_hint(TASK))
    assert left_open([begun]) == {"research_1": "research"}
    assert left_open([begun, hint(result_hint(TASK))]) == {}


def test_ids_go_on_after_those_that_the_conversation_has() -> None:
    third = hint(begun_hint(BackgroundTask("research_3", TASK.call, "spoken")))
    assert count_begun([]) == 0
    assert count_begun([BEGUN, third, hint(result_hint(TASK))]) == 3
