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
    """USE-02: UserMsg.usage None. MSG-12: absent on UserMsg, present after a model call. USE-03: defaults of the cache.
    USE-04: 3-round reply sums."""
    assert UserMsg("Ann", "Hi").usage is None
    with pytest.raises(ValueError, match="only assistant messages have usage"):
        UserMsg("Ann", "Hi", usage=Usage(input_tokens=1, output_tokens=1))
    usage = Usage(input_tokens=3, output_tokens=4)
    assert (usage.cache_input_tokens, usage.cache_creation_input_tokens) == (0, 0)

    calls = [
        ModelCallEndEvent(reply_id="r1", input_tokens=10**number, output_tokens=2 * 10**number) for number in range(3)
    ]
    answered = Msg.from_events([START, *calls])
    assert answered.usage == Usage(input_tokens=111, output_tokens=222)
    assert answered.model_dump()["usage"]["input_tokens"] == 111


def test_the_end_of_a_reply_has_its_reason() -> None:
    """USE-12: mapping table test, both directions (AMB-21)."""
    waiting = RequireExternalExecutionEvent(reply_id="r1", tool_calls=[ToolCallBlock(id="c1", name="where")])
    start = ToolCallStartEvent(reply_id="r1", tool_call_id="c1", tool_call_name="where")
    interrupted = ReplyEndEvent(reply_id="r1", session_id="s1", finished_reason="interrupted")
    assert reason_of(ReplyEndEvent(reply_id="r1", session_id="s1")) == "MODEL_STOP"
    assert reason_of(start, waiting) == "TOOL_SUSPENDED"
    assert reason_of(interrupted) == "INTERRUPTED"
    reasons: dict[str, tuple[FinishedReason | None, dict[str, str]]] = {
        "MODEL_STOP": ("completed", {}),
        "INTERRUPTED": ("interrupted", {}),
        "MAX_ITERATIONS": ("exceed_max_iters", {}),
        "TOOL_SUSPENDED": (None, {}),
        "REASONING_STOP_REQUESTED": ("completed", {"stop_requested": "reasoning"}),
        "ACTING_STOP_REQUESTED": ("completed", {"stop_requested": "acting"}),
        "ALL_TOOLS_DENIED": ("completed", {"generate_reason": "ALL_TOOLS_DENIED"}),
    }
    assert {java: from_generate_reason(java) for java in reasons} == reasons
    assert [to_generate_reason(*ours) for ours in reasons.values()] == [*reasons]
    assert to_generate_reason("error", {}) == "MODEL_STOP", "an error has no word of its own in Java"
    with pytest.raises(ValueError, match="finished_reason is one of completed, interrupted"):
        AssistantMsg("Friday", [], finished_reason="done")
