"""Usage and end reasons, in our words and in those of AgentScope Java."""

import pytest

from realtime.event import (
    ModelCallEndEvent,
    ReplyEndEvent,
    ReplyStartEvent,
    RequireExternalExecutionEvent,
    ToolCallStartEvent,
)
from realtime.event.reply import AgentEvent
from realtime.message import AssistantMsg, FinishedReason, Msg, ToolCallBlock, Usage, UserMsg
from realtime.message.outcome import from_generate_reason, to_generate_reason

START = ReplyStartEvent(reply_id="r1", session_id="s1", name="Friday")


def reason_of(*events: AgentEvent) -> str:
    msg = Msg.from_events([START, *events])
    return to_generate_reason(msg.finished_reason, msg.metadata)


def test_usage_belongs_to_assistants() -> None:
    """USE-02: UserMsg.usage None. MSG-12: absent on UserMsg, present after a model call."""
    user = UserMsg("Ann", "Hi")
    assert user.usage is None
    with pytest.raises(ValueError, match="only assistant messages have usage"):
        UserMsg("Ann", "Hi", usage=Usage(input_tokens=1, output_tokens=1))

    answered = Msg.from_events([START, ModelCallEndEvent(reply_id="r1", input_tokens=3, output_tokens=4)])
    assert answered.usage == Usage(input_tokens=3, output_tokens=4)
    assert answered.model_dump()["usage"]["input_tokens"] == 3


def test_the_counts_of_the_cache_are_zero_where_nothing_is_said() -> None:
    """USE-03: defaults."""
    usage = Usage(input_tokens=3, output_tokens=4)
    assert (usage.cache_input_tokens, usage.cache_creation_input_tokens) == (0, 0)


def test_usage_is_the_sum_of_all_model_calls_of_the_reply() -> None:
    """USE-04: 3-round reply sums."""
    calls = [
        ModelCallEndEvent(reply_id="r1", input_tokens=10**number, output_tokens=2 * 10**number) for number in range(3)
    ]
    assert Msg.from_events([START, *calls]).usage == Usage(input_tokens=111, output_tokens=222)


def test_a_reply_that_ends_by_itself_stopped_by_the_model() -> None:
    assert reason_of(ReplyEndEvent(reply_id="r1", session_id="s1")) == "MODEL_STOP"


def test_a_reply_that_waits_for_a_tool_is_suspended() -> None:
    waiting = RequireExternalExecutionEvent(reply_id="r1", tool_calls=[ToolCallBlock(id="c1", name="where")])
    start = ToolCallStartEvent(reply_id="r1", tool_call_id="c1", tool_call_name="where")
    assert reason_of(start, waiting) == "TOOL_SUSPENDED"


def test_a_reply_that_the_user_broke_off_is_interrupted() -> None:
    assert reason_of(ReplyEndEvent(reply_id="r1", session_id="s1", finished_reason="interrupted")) == "INTERRUPTED"


@pytest.mark.parametrize(
    ("java", "ours", "metadata"),
    [
        ("MODEL_STOP", "completed", {}),
        ("INTERRUPTED", "interrupted", {}),
        ("MAX_ITERATIONS", "exceed_max_iters", {}),
        ("TOOL_SUSPENDED", None, {}),
        ("REASONING_STOP_REQUESTED", "completed", {"stop_requested": "reasoning"}),
        ("ACTING_STOP_REQUESTED", "completed", {"stop_requested": "acting"}),
        ("ALL_TOOLS_DENIED", "completed", {"generate_reason": "ALL_TOOLS_DENIED"}),
    ],
)
def test_reasons_are_translated_both_ways(java: str, ours: FinishedReason | None, metadata: dict[str, str]) -> None:
    """USE-12: mapping table test, both directions (AMB-21)."""
    assert from_generate_reason(java) == (ours, metadata)
    assert to_generate_reason(ours, metadata) == java


def test_an_error_has_no_word_of_its_own_in_java() -> None:
    """AMB-21: `error` exports as MODEL_STOP."""
    assert to_generate_reason("error", {}) == "MODEL_STOP"


def test_a_reason_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="finished_reason is one of completed, interrupted"):
        AssistantMsg("Friday", [], finished_reason="done")
