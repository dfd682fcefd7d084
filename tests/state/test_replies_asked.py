"""A voice or a stop over an open question for consent: the result of the call decides what its reply tells."""

import msgspec
import pytest

from realtime.event import server as s
from realtime.event.reply import CustomEvent
from realtime.message import Msg, ToolCallBlock, ToolCallState, ToolResultBlock, ToolResultState
from realtime.state.replies import messages
from tests.message.reply_grammar import check_replies
from tests.state.test_replies import project

CALL = ToolCallBlock(id="call_1", name="book_table", input='{"people": 4}', state=ToolCallState.ASKING)
FLUSH = s.ServerAudioFlushEvent()


def question(state: str, by: str = "voice", call_id: str = "call_1") -> s.ServerCustomEvent:
    """What the log tells of a question."""
    return s.ServerCustomEvent(name="consent_question", value={"tool_call_id": call_id, "by": by, "state": state})


def asking(*calls: ToolCallBlock) -> list[s.ServerEvent]:
    """A response that ends with calls."""
    used = [s.AgentResponseToolUseDoneEvent(response_id="r1", item_id=f"i_{one.id}", tool_use=one) for one in calls]
    return [
        s.AgentResponseCreatedEvent(response_id="r1"),
        *used,
        s.AgentResponseDoneEvent(response_id="r1", status="completed"),
    ]


def result(state: str = "success", call_id: str = "call_1") -> s.AgentResponseToolResultEvent:
    """The result of a call."""
    block = ToolResultBlock(id=call_id, name="book_table", output="told", state=ToolResultState(state))
    return s.AgentResponseToolResultEvent(tool_result=block)


def reply_of(*log: s.ServerEvent) -> Msg:
    """The first reply of a call that ends after these events; nothing of it is told as late."""
    whole = [*log, s.ServerSessionEndedEvent(session_id="session1", reason="client_end")]
    events = project([msgspec.structs.replace(one, seq=place, ts_ms=place * 100) for place, one in enumerate(whole)])
    check_replies(events)
    assert [one.name for one in events if isinstance(one, CustomEvent) and one.name == "late_tool_result"] == []
    return messages(events)[0]


def result_states(reply: Msg) -> dict[str, str]:
    return {block.id: block.state for block in reply.get_content_blocks("tool_result")}


@pytest.mark.parametrize("by", ["voice", "either", "card"])
@pytest.mark.parametrize("done", ["success", "error", "denied"])
def test_a_flush_over_an_open_question_leaves_the_result_to_the_call(by: str, done: str) -> None:
    reply = reply_of(
        *asking(CALL), question("asking", by), FLUSH, question("repeated", by), question("answered", by), result(done)
    )
    assert result_states(reply) == {"call_1": done}
    assert reply.finished_reason == "completed"


def test_a_question_that_a_flush_withdraws_or_a_tool_that_it_stops_ends_interrupted() -> None:
    for course in ([FLUSH, question("answered")], [question("answered"), FLUSH]):
        reply = reply_of(*asking(CALL), question("asking"), *course, result("interrupted"))
        assert result_states(reply) == {"call_1": "interrupted"}
        assert reply.finished_reason == "interrupted"


def test_an_interrupted_call_beside_the_question_leaves_the_question_open() -> None:
    other = ToolCallBlock(id="call_2", name="book_table", input="{}")
    reply = reply_of(
        *asking(CALL, other), question("asking"), FLUSH, result("interrupted", "call_2"), question("answered"), result()
    )
    assert result_states(reply) == {"call_1": "success", "call_2": "interrupted"}
    assert reply.finished_reason == "completed"


def test_a_question_within_another_call_keeps_that_call_as_well() -> None:
    """An agent behind the voice asks: the call of the voice waits for it, under another id."""
    outer = ToolCallBlock(id="call_0", name="delegate", input="{}")
    reply = reply_of(
        *asking(outer),
        s.AgentResponseToolUseDoneEvent(response_id="r1", item_id="", tool_use=CALL),
        question("asking"),
        FLUSH,
        question("answered"),
        result(),
        result(call_id="call_0"),
    )
    assert result_states(reply) == {"call_0": "success"}
    assert reply.finished_reason == "completed"
