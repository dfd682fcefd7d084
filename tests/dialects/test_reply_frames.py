"""Answers in the words of the reply events, on the sockets of clients that speak ours and of AgentScope 1.x pages."""

import json
from typing import Any

import pytest

from realtime.dialects.agentscope1 import AgentScope1Dialect
from realtime.dialects.native import NativeDialect
from realtime.errors import ClientError
from realtime.event import client as c
from realtime.message import PermissionBehavior, PermissionRule, TextBlock, ToolCallBlock, ToolResultState

Dialect = NativeDialect | AgentScope1Dialect
CALL = {"type": "tool_call", "id": "call_1", "name": "pay", "input": '{"amount": 4}', "state": "ASKING"}


@pytest.fixture(params=[NativeDialect, AgentScope1Dialect], ids=["native", "agentscope1"])
def dialect(request: pytest.FixtureRequest) -> Dialect:
    made: Dialect = request.param()
    return made


def read(dialect: Dialect, **frame: Any) -> list[c.ClientEvent]:
    event = dialect.decode(json.dumps({"id": "ev_1", "reply_id": "r1", **frame}))
    assert isinstance(event, c.ClientEventBase)
    return [event, *dialect.more()]


def test_a_consent_may_change_the_call_and_a_refusal_follows_in_the_same_frame(dialect: Dialect) -> None:
    """HITL-03, AMB-57: one answer per call, in order, each with a label that its error can name."""
    refused = {**CALL, "id": "call_2"}
    answers = [{"confirmed": True, "tool_call": CALL}, {"confirmed": False, "tool_call": refused, "rules": None}]
    first, second = read(dialect, type="USER_CONFIRM_RESULT", confirm_results=answers)
    assert isinstance(first, c.ClientToolResultEvent)
    assert isinstance(second, c.ClientToolResultEvent)
    assert (first.id, first.confirmed, first.event_id) == ("call_1", True, "ev_1")
    assert first.tool_call == ToolCallBlock(id="call_1", name="pay", input='{"amount": 4}', state="asking")  # type: ignore[arg-type]
    assert (second.id, second.confirmed, second.event_id) == ("call_2", False, "ev_1/1")
    assert dialect.more() == ()


def test_accepted_rules_come_with_the_answer(dialect: Dialect) -> None:
    """HITL-16: the rules that travelled with the question come back."""
    rule = {"tool_name": "pay", "rule_content": "amount<=4", "behavior": "allow", "source": "suggested"}
    answer = {"confirmed": True, "tool_call": CALL, "rules": [rule]}
    (event,) = read(dialect, type="USER_CONFIRM_RESULT", confirm_results=[answer])
    assert isinstance(event, c.ClientToolResultEvent)
    allow = PermissionBehavior.ALLOW
    accepted = PermissionRule(tool_name="pay", rule_content="amount<=4", behavior=allow, source="suggested")
    assert event.rules == [accepted]


def test_a_result_keeps_its_blocks_and_its_state(dialect: Dialect) -> None:
    """HITL-05, AMB-56."""
    result = {"type": "tool_result", "id": "call_1", "name": "camera", "state": "error"}
    text = {"type": "text", "text": "no camera", "id": "t1"}
    (event,) = read(dialect, type="EXTERNAL_EXECUTION_RESULT", execution_results=[{**result, "output": [text]}])
    assert event == c.ClientToolResultEvent(
        event_id="ev_1",
        id="call_1",
        name="camera",
        output=[TextBlock(text="no camera", id="t1")],
        state=ToolResultState.ERROR,
    )


def test_an_interrupt_names_the_reply(dialect: Dialect) -> None:
    """HITL-21."""
    (event,) = read(dialect, type="USER_INTERRUPT", session_id="session1")
    assert event == c.ClientResponseCancelEvent(response_id="r1", event_id="ev_1", session_id="session1")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"type": "USER_CONFIRM_RESULT", "confirm_results": []}, "answers no call"),
        ({"type": "USER_CONFIRM_RESULT"}, "confirm_results"),
        ({"type": "EXTERNAL_EXECUTION_RESULT", "execution_results": [{"type": "tool_result"}]}, "id"),
        (
            {
                "type": "USER_CONFIRM_RESULT",
                "confirm_results": [{"confirmed": True, "tool_call": CALL, "rules": [{"behavior": "allow"}]}],
            },
            "tool_name",
        ),
    ],
)
def test_a_wrong_answer_is_refused_with_its_label(dialect: Dialect, frame: dict[str, Any], message: str) -> None:
    with pytest.raises(ClientError, match=message) as refused:
        read(dialect, **frame)
    assert (refused.value.code, refused.value.client_event_id) == ("invalid_event", "ev_1")


@pytest.mark.parametrize("kind", ["REPLY_START", "CUSTOM", "TEXT_BLOCK_DELTA"])
def test_what_only_the_agent_says_is_no_answer(dialect: Dialect, kind: str) -> None:
    with pytest.raises(ClientError, match="unknown event type") as refused:
        read(dialect, type=kind)
    assert refused.value.code == "unknown_event"
