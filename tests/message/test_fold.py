"""What each reply event does to its message."""

import base64
import json
import logging
from collections.abc import AsyncIterator
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from realtime.event import read_reply_event
from realtime.event import reply as e
from realtime.message import (
    AssistantMsg,
    Block,
    ConfirmResult,
    Msg,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    fold_messages,
)

Json = dict[str, Any]
AT = "2026-01-01T00:00:00.000Z"
LATER = "2026-01-01T00:00:01.000Z"
R = {"reply_id": "r1", "created_at": AT}
PAY = ToolCallBlock(id="c1", name="pay", input='{"amount": 5}')
MAIL = ToolCallBlock(id="c2", name="mail", input="{}")
FOLDS: dict[str, Json] = json.loads(Path(__file__).with_name("folds.json").read_text(encoding="utf-8"))
"""By what they show: events of a reply, and the content of its message behind them; for some the states through which
the call `c1` walks, and other fields. What is None, or of the time AT, is left out."""


def start(reply_id: str = "r1", name: str = "Friday", **fields: Any) -> e.ReplyStartEvent:
    return e.ReplyStartEvent(reply_id=reply_id, session_id="s1", name=name, created_at=AT, **fields)


def fold(*events: e.AgentEvent) -> Msg:
    return Msg.from_events([start(), *events])


def calls(*blocks: ToolCallBlock) -> list[e.AgentEvent]:
    """The starts of calls."""
    return [e.ToolCallStartEvent(tool_call_id=one.id, tool_call_name=one.name, **R) for one in blocks]


def told(value: Any) -> Any:
    """Without what every event or block has."""
    if isinstance(value, dict):
        usual = {"created_at": AT, "suggested_rules": []}
        kept = {name: field for name, field in value.items() if field is not None}
        return {name: told(field) for name, field in kept.items() if name not in usual or field != usual[name]}
    return [told(one) for one in value] if isinstance(value, list) else value


def test_events_become_the_content_of_the_message() -> None:
    """REC-05, REC-06, REC-07, REC-08, REC-10, REC-11, REC-12, REC-13, REC-14, REC-15, REC-16, REC-17, REC-18, REC-19,
    REC-20, REC-21, REC-22, REC-23, EVT-06, EVT-07, EVT-16, EVT-36, EVT-42, MSG-11, MSG-61, MSG-62, MSG-63, MSG-64,
    MSG-65, MSG-71, MSG-75, HITL-04, HITL-19, AMB-24, AMB-26, AMB-28, AMB-29."""
    wrong = {}
    for name, case in FOLDS.items():
        frames = [{"id": f"e_{place}", **R, **event} for place, event in enumerate(case["events"])]
        msg, walk = Msg.from_events([start(**case.get("begins", {}))]), []
        for frame in frames:
            msg.append_event(read_reply_event(frame))
            walk += [one.state for one in msg.get_content_blocks("tool_call") if one.id == "c1"]
        whole = msg.model_dump()
        got: Json = {"content": told(whole["content"]), "unpaired": msg.check_pairs()}
        got |= {
            "walk": [state for state, _ in groupby(walk)],
            "message": {field: whole[field] for field in case.get("message", ())},
        }
        wanted = {field: case[field] for field in got if field in case}
        if got | wanted != got:
            wrong[name] = (got, wanted)
    assert not wrong, wrong


async def test_the_documented_loop_rebuilds_the_message() -> None:
    """REC-04: run the sample verbatim."""

    class Agent:
        async def reply_stream(self, _: Msg) -> AsyncIterator[e.AgentEvent]:
            yield start()
            yield e.TextBlockStartEvent(block_id="b1", **R)
            yield e.TextBlockDeltaEvent(block_id="b1", delta="Hi", **R)
            yield e.TextBlockEndEvent(block_id="b1", **R)
            yield e.ReplyEndEvent(reply_id="r1", session_id="s1", created_at=LATER)

    agent, user_msg = Agent(), Msg("user", "Hello!", "user")
    msg = None
    async for event in agent.reply_stream(user_msg):
        if isinstance(event, e.ReplyStartEvent):
            msg = AssistantMsg(name=event.name, content=[], id=event.reply_id)
        elif msg is not None:
            msg.append_event(event)

    assert msg is not None
    assert (msg.id, msg.name, msg.role, msg.get_text_content()) == ("r1", "Friday", "assistant", "Hi")
    assert msg.finished_at == LATER


def test_a_message_needs_the_start_of_its_reply() -> None:
    """AMB-26: created_at comes from the event."""
    assert Msg.from_events([start()]).created_at == AT
    with pytest.raises(ValueError, match="no event starts a reply"):
        Msg.from_events([e.TextBlockStartEvent(block_id="b1", **R)])


def test_data_is_joined_as_bytes() -> None:
    """REC-09: decoded bytes = sum of decoded chunks, for chunk
    sizes not divisible by 3 (AMB-25)."""
    begin = e.DataBlockStartEvent(block_id="a", media_type="audio/pcm", **R)
    whole = bytes(range(256))
    for size in (1, 2, 3, 4, 5, 7):
        chunks = [base64.b64encode(whole[at : at + size]).decode() for at in range(0, len(whole), size)]
        frame = {"type": "DATA_BLOCK_DELTA", "block_id": "a", **R}
        deltas = [read_reply_event(frame | {"id": f"e{n}", "data": chunk}) for n, chunk in enumerate(chunks)]
        (block,) = fold(begin, *deltas).model_dump()["content"]
        assert base64.b64decode(block["source"]["data"], validate=True) == whole


def ask(*blocks: ToolCallBlock) -> e.RequireUserConfirmEvent:
    return e.RequireUserConfirmEvent(tool_calls=list(blocks), **R)


def answer(call: ToolCallBlock, confirmed: bool) -> e.UserConfirmResultEvent:
    return e.UserConfirmResultEvent(confirm_results=[ConfirmResult(confirmed=confirmed, tool_call=call)], **R)


def submit(*blocks: ToolCallBlock) -> e.RequireExternalExecutionEvent:
    return e.RequireExternalExecutionEvent(tool_calls=list(blocks), **R)


def executed(*blocks: ToolResultBlock) -> e.ExternalExecutionResultEvent:
    return e.ExternalExecutionResultEvent(execution_results=list(blocks), **R)


def test_an_answer_for_a_call_that_does_not_wait_is_refused() -> None:
    """HITL-20: wrong id -> ValueError."""
    msg = fold(*calls(PAY, MAIL), ask(PAY), submit(MAIL))
    msg.check_answers(answer(PAY, True))
    msg.check_answers(executed(ToolResultBlock(id="c2", name="mail")))
    with pytest.raises(ValueError, match="no tool call of these ids is asking: c2"):
        msg.check_answers(answer(MAIL, True))
    with pytest.raises(ValueError, match="no tool call of these ids is submitted: c1, c9"):
        msg.check_answers(executed(ToolResultBlock(id="c1", name="pay"), ToolResultBlock(id="c9", name="x")))
    with pytest.raises(ValueError, match="for reply r2, not for r1"):
        msg.check_answers(e.UserConfirmResultEvent(reply_id="r2", confirm_results=[]))
    with pytest.raises(ValueError, match="REPLY_START is no answer"):
        msg.check_answers(start())


def test_signals_change_nothing() -> None:
    """REC-23: apply to a Msg, dump unchanged. AMB-23: a CustomEvent outside a reply is ignored."""
    msg = fold(e.TextBlockStartEvent(block_id="b", **R))
    before = msg.to_json()
    for event in (
        start(),
        e.ModelCallStartEvent(model_name="m", **R),
        e.ExceedMaxItersEvent(name="Friday", **R),
        e.CustomEvent(name="x", value={"a": 1}, **R),
        e.CustomEvent(name="x", value={"a": 1}),
        e.RequestStopEvent(source="hook", reason="enough", **R),
        e.UserInterruptEvent(**R),
    ):
        msg.append_event(event)
    assert msg.to_json() == before


def test_events_of_another_reply_are_skipped_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """REC-24: two replies interleaved in a room."""
    events: list[e.AgentEvent] = [start("r1"), start("r2", "Saturday")]
    for reply_id in ("r1", "r2"):
        events.append(e.TextBlockStartEvent(reply_id=reply_id, block_id="b"))
    for number in range(3):
        for reply_id in ("r2", "r1"):
            events.append(e.TextBlockDeltaEvent(reply_id=reply_id, block_id="b", delta=f"secret {reply_id} {number}. "))
    with caplog.at_level(logging.WARNING):
        alone = Msg.from_events(events)
    assert alone.get_text_content() == "secret r1 0. secret r1 1. secret r1 2. "
    assert len(caplog.records) == 5
    assert all("reply r2 skipped: it is not of reply r1" in record.getMessage() for record in caplog.records)
    assert "secret" not in caplog.text

    caplog.clear()
    both = fold_messages(events)
    assert [(msg.name, msg.get_text_content()) for msg in both] == [
        ("Friday", "secret r1 0. secret r1 1. secret r1 2. "),
        ("Saturday", "secret r2 0. secret r2 1. secret r2 2. "),
    ]
    assert not caplog.records


LOST: list[e.AgentEvent] = [
    *(e.TextBlockDeltaEvent(block_id="lost", delta="x", **R), e.TextBlockEndEvent(block_id="lost", **R)),
    *(e.ThinkingBlockDeltaEvent(block_id="lost", delta="x", **R), e.ThinkingBlockEndEvent(block_id="lost", **R)),
    *(e.DataBlockDeltaEvent(block_id="lost", data=b"x", **R), e.DataBlockEndEvent(block_id="lost", **R)),
    *(e.ToolCallDeltaEvent(tool_call_id="lost", delta="x", **R), e.ToolCallEndEvent(tool_call_id="lost", **R)),
    e.ToolResultTextDeltaEvent(tool_call_id="lost", delta="x", **R),
    e.ToolResultDataDeltaEvent(tool_call_id="lost", block_id="b", media_type="a/b", data=b"x", **R),
    e.ToolResultEndEvent(tool_call_id="lost", state="success", **R),
    *(ask(PAY), answer(PAY, True), submit(PAY), executed(ToolResultBlock(id="c1", name="pay"))),
]


def test_an_event_for_an_unknown_block_or_of_a_later_version_is_skipped_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """REC-24: lost start event."""
    msg = fold()
    before = msg.to_json()
    with caplog.at_level(logging.WARNING):
        for event in LOST:
            caplog.clear()
            msg.append_event(event)
            assert msg.to_json() == before
            (record,) = caplog.records
            assert f"{event.type}) of reply r1 skipped" in record.getMessage()
    msg.append_event(SimpleNamespace(id="e9", type="SMELL", created_at=AT, reply_id="r1"))
    assert msg.to_json() == before
    assert "event e9 (SMELL) of reply r1 skipped: its type is unknown" in caplog.text


def test_what_a_role_may_not_hold_is_skipped_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    msg = Msg.from_events([start(role="user")])
    with caplog.at_level(logging.WARNING):
        msg.append_event(calls(PAY)[0])
        msg.append_event(e.ModelCallEndEvent(input_tokens=1, output_tokens=1, **R))
    assert (msg.content, msg.usage) == ([], None)
    assert len(caplog.records) == 2


def test_an_event_that_comes_twice_counts_once() -> None:
    """AMB-27: events are dropped by id; the start of a known block is ignored."""
    delta = e.TextBlockDeltaEvent(block_id="b", delta="Hi", **R)
    msg = fold(e.TextBlockStartEvent(block_id="b", **R), delta, delta, e.TextBlockStartEvent(block_id="b", **R), delta)
    assert msg.get_text_content() == "Hi"
    twin = msg.copy()
    twin.append_event(delta)
    assert twin.get_text_content() == "Hi"


def test_the_list_of_blocks_may_be_changed_while_the_message_grows() -> None:
    """AMB-15: mutable in canon."""
    msg = fold(e.TextBlockStartEvent(block_id="b", **R), e.TextBlockDeltaEvent(block_id="b", delta="1", **R))
    first = msg.content
    msg.append_event(e.TextBlockDeltaEvent(block_id="b", delta="2", **R))
    extra: Block = TextBlock(text="extra", id="x")
    first.insert(0, extra)
    msg.append_event(e.TextBlockDeltaEvent(block_id="b", delta="3", **R))
    assert msg.get_text_content("|") == "extra|123"
    msg.append_event(e.TextBlockDeltaEvent(block_id="b", delta="4", **R))
    first.clear()
    assert msg.content == []
