"""Messages become rounds: every call beside its result, hints at their places, nothing of the input changed."""

import logging

import pytest

from realtime.formatter import NO_RESULT, NO_RESULT_YET, OpenAIChatFormatter
from realtime.message import (
    AssistantMsg,
    Block,
    HintBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolCallState,
    ToolResultBlock,
    UserMsg,
)


def call(call_id: str, state: ToolCallState = ToolCallState.PENDING) -> ToolCallBlock:
    return ToolCallBlock(id=call_id, name="clock", state=state)


def result(call_id: str, output: str = "noon") -> ToolResultBlock:
    return ToolResultBlock(id=call_id, name="clock", output=output)


def said(text: str) -> TextBlock:
    return TextBlock(text=text)


def agent(*blocks: Block) -> Msg:
    return AssistantMsg("Friday", [*blocks])


async def told(*messages: Msg) -> list[str]:
    """The payload in short: roles, words, the ids of calls."""
    lines = []
    for message in await OpenAIChatFormatter().format([*messages]):
        ids = [one["id"] for one in message.get("tool_calls", ())] + [message.get("tool_call_id", "")]
        lines.append(" ".join(word for word in (message["role"], *ids, message["content"]) if word))
    return lines


async def test_each_round_is_a_message_with_its_results() -> None:
    """FMT-04: one message with two rounds becomes assistant, tool, assistant, tool, assistant."""
    blocks = [said("Let me see."), call("c1"), result("c1"), call("c2"), result("c2", "one"), said("It is one.")]
    assert await told(agent(*blocks)) == [
        "assistant c1 Let me see.",
        "tool c1 noon",
        "assistant c2",
        "tool c2 one",
        "assistant It is one.",
    ]


async def test_parallel_calls_are_one_round_and_each_has_an_answer() -> None:
    """FMT-06, FMT-12: in the order of the calls; a result that is missing is said to be."""
    blocks = [call("c1"), call("c2"), call("c3"), result("c2", "two"), result("c1"), said("Well."), call("c4")]
    assert await told(agent(*blocks)) == [
        "assistant c1 c2 c3",
        "tool c1 noon",
        "tool c2 two",
        f"tool c3 {NO_RESULT}",
        "assistant c4 Well.",
        f"tool c4 {NO_RESULT}",
    ]


@pytest.mark.parametrize("state", [ToolCallState.ASKING, ToolCallState.SUBMITTED])
async def test_a_call_that_waits_for_others_has_no_result_yet(state: ToolCallState) -> None:
    assert await told(agent(call("c1", state))) == ["assistant c1", f"tool c1 {NO_RESULT_YET}"]


async def test_a_result_that_came_late_stands_beside_its_call() -> None:
    """AMB-04: also where it is in a message of its own, behind others."""
    history = [agent(call("c1")), UserMsg("Ada", "Hurry."), agent(result("c1"), said("Noon."))]
    assert await told(*history) == ["assistant c1", "tool c1 noon", "user Hurry.", "assistant Noon."]


async def test_one_id_may_serve_several_calls() -> None:
    """Some models count their calls anew in each response. The last result of a call counts."""
    history = [agent(call("c1"), result("c1", "one")), agent(call("c1"), result("c1", ""), result("c1", "two"))]
    assert await told(*history) == ["assistant c1", "tool c1 one", "assistant c1", "tool c1 two"]


async def test_a_hint_between_call_and_result_ends_the_round() -> None:
    """FMT-09: providers take nothing between a call and its result."""
    blocks = [call("c1"), HintBlock(hint="Hurry."), call("c2"), result("c1"), result("c2", "two")]
    assert await told(agent(*blocks)) == ["assistant c1", "tool c1 noon", "user Hurry.", "assistant c2", "tool c2 two"]


async def test_what_is_empty_is_left_out() -> None:
    """Providers refuse messages without words."""
    silent = [agent(said(" "), ThinkingBlock(thinking="Hm."), HintBlock(hint="")), UserMsg("Ada", "\n"), agent()]
    assert await told(*silent, UserMsg("Ada", "Hello")) == ["user Hello"]


async def test_what_is_unpaired_is_reported_by_its_id(caplog: pytest.LogCaptureFixture) -> None:
    """AMB-16: by `check_pairs`, in the log."""
    with caplog.at_level(logging.WARNING):
        lines = await told(agent(result("r1", "secret"), call("c1", ToolCallState.FINISHED)))
    assert lines == ["assistant c1", f"tool c1 {NO_RESULT}"]
    assert [record.getMessage() for record in caplog.records] == [
        "result r1 has no call before it",
        "call c1 is finished and has no result",
    ]


async def test_a_frozen_message_is_formatted_too() -> None:
    assert await told(agent(said("Hi")).frozen()) == ["assistant Hi"]
