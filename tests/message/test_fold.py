"""What each reply event does to its message."""

import base64
import json
import logging
from collections.abc import AsyncIterator, Iterable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from realtime.event import read_reply_event
from realtime.event import reply as e
from realtime.message import (
    AssistantMsg,
    Base64Source,
    Block,
    ConfirmResult,
    DataBlock,
    HintBlock,
    Msg,
    PermissionRule,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    URLSource,
    Usage,
    fold_messages,
)

AT = "2026-01-01T00:00:00.000Z"
LATER = "2026-01-01T00:00:01.000Z"
R = {"reply_id": "r1", "created_at": AT}
PAY = ToolCallBlock(id="c1", name="pay", input='{"amount": 5}')
MAIL = ToolCallBlock(id="c2", name="mail", input="{}")


def start(reply_id: str = "r1", name: str = "Friday", **fields: Any) -> e.ReplyStartEvent:
    return e.ReplyStartEvent(reply_id=reply_id, session_id="s1", name=name, created_at=AT, **fields)


def fold(*events: e.AgentEvent) -> Msg:
    return Msg.from_events([start(), *events])


def calls(*blocks: ToolCallBlock) -> list[e.AgentEvent]:
    """The events of whole calls."""
    made: list[e.AgentEvent] = []
    for block in blocks:
        made.append(e.ToolCallStartEvent(tool_call_id=block.id, tool_call_name=block.name, **R))
        made.append(e.ToolCallDeltaEvent(tool_call_id=block.id, delta=block.input, **R))
        made.append(e.ToolCallEndEvent(tool_call_id=block.id, **R))
    return made


def result_start(call_id: str = "c1") -> e.ToolResultStartEvent:
    return e.ToolResultStartEvent(tool_call_id=call_id, tool_call_name="pay", **R)


def result_end(state: ToolResultState, call_id: str = "c1") -> e.ToolResultEndEvent:
    return e.ToolResultEndEvent(tool_call_id=call_id, state=state, **R)


def states(events: Iterable[e.AgentEvent], call_id: str = "c1") -> list[ToolCallState]:
    """The states that a call goes through, each once."""
    msg = AssistantMsg("Friday", [], id="r1")
    seen: list[ToolCallState] = []
    for event in events:
        msg.append_event(event)
        for call in msg.get_content_blocks("tool_call"):
            if call.id == call_id and call.state not in seen[-1:]:
                seen.append(call.state)
    return seen


# -- from start to end -------------------------------------------------------------------------------------------------


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


def test_the_message_begins_with_its_reply() -> None:
    """AMB-26: created_at comes from the event."""
    msg = Msg.from_events([start(name="Ann", role="user")])
    assert (msg.id, msg.name, msg.role, msg.created_at, msg.content) == ("r1", "Ann", "user", AT, [])
    with pytest.raises(ValueError, match="no event starts a reply"):
        Msg.from_events([e.TextBlockStartEvent(block_id="b1", **R)])


def test_the_end_of_the_reply_finishes_the_message() -> None:
    """REC-05: equals the event's created_at. MSG-11: None before `ReplyEndEvent`, ISO after."""
    msg = fold()
    assert (msg.finished_at, msg.finished_reason, msg.error) == (None, None, None)
    msg.append_event(
        e.ReplyEndEvent(reply_id="r1", session_id="s1", created_at=LATER, finished_reason="error", error="gone")
    )
    assert (msg.finished_at, msg.finished_reason, msg.error) == (LATER, "error", "gone")


# -- text, thinking, data ----------------------------------------------------------------------------------------------


def test_text_and_thinking_blocks_begin_empty_and_grow() -> None:
    """REC-06: id = block_id, text "". REC-07, EVT-06: two interleaved text blocks. REC-10: id = block_id, thinking "".
    REC-11: two interleaved thinking blocks."""
    for begin, delta, block, field in (
        (e.TextBlockStartEvent, e.TextBlockDeltaEvent, partial(TextBlock, created_at=AT), "text"),
        (e.ThinkingBlockStartEvent, e.ThinkingBlockDeltaEvent, partial(ThinkingBlock, created_at=AT), "thinking"),
    ):
        msg = fold(begin(block_id="a", **R), begin(block_id="b", **R))
        assert msg.content == [block(**{field: ""}, id=name) for name in "ab"]
        for number in range(3):
            for name in "ab":
                msg.append_event(delta(block_id=name, delta=f"{name}{number}", **R))
        assert msg.content == [block(**{field: f"{n}0{n}1{n}2"}, id=n) for n in "ab"]


def test_data_begins_empty_and_is_joined_as_bytes() -> None:
    """REC-08: base64 source, empty data, media_type kept. REC-09: decoded bytes = sum of decoded chunks, for chunk
    sizes not divisible by 3 (AMB-25)."""
    begin = e.DataBlockStartEvent(block_id="a", media_type="audio/pcm", **R)
    empty = Base64Source(data=b"", media_type="audio/pcm")
    assert fold(begin).content == [DataBlock(source=empty, id="a", created_at=AT)]
    whole = bytes(range(256))
    for size in (1, 2, 3, 4, 5, 7):
        chunks = [base64.b64encode(whole[at : at + size]).decode() for at in range(0, len(whole), size)]
        frame = {"type": "DATA_BLOCK_DELTA", "block_id": "a", **R}
        deltas = [read_reply_event(frame | {"id": f"e{n}", "data": chunk}) for n, chunk in enumerate(chunks)]
        (block,) = fold(begin, *deltas).model_dump()["content"]
        assert base64.b64decode(block["source"]["data"], validate=True) == whole


def test_block_ids_are_unique_within_a_type_only() -> None:
    """AMB-28: looked up by reply, kind and block id."""
    msg = fold(
        e.TextBlockStartEvent(block_id="0", **R),
        e.ThinkingBlockStartEvent(block_id="0", **R),
        e.TextBlockDeltaEvent(block_id="0", delta="said", **R),
        e.ThinkingBlockDeltaEvent(block_id="0", delta="thought", **R),
    )
    assert [block.type for block in msg.content] == ["text", "thinking"]
    assert msg.get_text_content() == "said"


def test_the_ends_of_blocks_are_kept() -> None:
    """REC-23: *End events stamp the block's end time."""
    msg = fold(
        e.TextBlockStartEvent(block_id="t", **R),
        e.ThinkingBlockStartEvent(block_id="k", **R),
        e.DataBlockStartEvent(block_id="d", media_type="a/b", **R),
        *calls(PAY)[:-1],
    )
    assert [block.finished_at for block in msg.content] == [None] * 4
    late = {"reply_id": "r1", "created_at": LATER}
    for event in (
        e.TextBlockEndEvent(block_id="t", **late),
        e.ThinkingBlockEndEvent(block_id="k", **late),
        e.DataBlockEndEvent(block_id="d", **late),
        e.ToolCallEndEvent(tool_call_id="c1", **late),
    ):
        msg.append_event(event)
    assert [(block.created_at, block.finished_at) for block in msg.content] == [(AT, LATER)] * 4


def test_after_a_barge_in_the_text_is_what_was_heard() -> None:
    msg = fold(
        e.TextBlockStartEvent(block_id="b", **R),
        e.TextBlockDeltaEvent(block_id="b", delta="The moon is three hundred", **R),
        e.TextBlockEndEvent(block_id="b", text="The moon", **R),
        e.TextBlockDeltaEvent(block_id="b", delta=" and eighty", **R),
    )
    assert msg.get_text_content() == "The moon"


def test_a_hint_is_kept_with_its_source() -> None:
    """REC-18: id = block_id, source kept."""
    parts: list[TextBlock | DataBlock] = [TextBlock(text="noon", id="t")]
    msg = fold(
        e.HintBlockEvent(block_id="h1", hint="noon", source='{"label": "clock"}', **R),
        e.HintBlockEvent(block_id="h2", hint=parts, **R),
    )
    one, other = msg.get_content_blocks("hint")
    assert one == HintBlock(hint="noon", id="h1", source='{"label": "clock"}', created_at=AT, finished_at=AT)
    assert (other.id, other.hint, other.source) == ("h2", parts, None)


# -- tools -------------------------------------------------------------------------------------------------------------


def test_a_call_begins_empty_and_its_input_grows() -> None:
    """REC-12: input "", state pending. REC-13: final input parses. EVT-36: the fragments make JSON."""
    begin, _, end = calls(PAY)
    fragments = ['{"am', 'ount"', ": 5}"]
    msg = fold(begin)
    assert msg.content == [ToolCallBlock(id="c1", name="pay", input="", state="pending", created_at=AT)]
    for fragment in fragments:
        msg.append_event(e.ToolCallDeltaEvent(tool_call_id="c1", delta=fragment, **R))
    msg.append_event(end)
    (call,) = msg.get_content_blocks("tool_call")
    assert json.loads(call.input) == {"amount": 5}


def test_a_result_begins_empty_and_runs_and_its_text_is_joined() -> None:
    """REC-14, MSG-71: state running right after ToolResultStartEvent. REC-15: several deltas make one text."""
    msg = fold(*calls(PAY), result_start())
    (result,) = msg.get_content_blocks("tool_result")
    assert (result.id, result.name, result.output, result.state) == ("c1", "pay", "", "running")
    for part in ("12", " ", "°C"):
        msg.append_event(e.ToolResultTextDeltaEvent(tool_call_id="c1", delta=part, **R))
    assert [result.output for result in msg.get_content_blocks("tool_result")] == ["12 °C"]


def test_text_and_data_of_a_tool_keep_their_order() -> None:
    """REC-16: base64 and URL variants, order with text kept. AMB-26: nested ids derive from event ids."""
    to: dict[str, Any] = {"tool_call_id": "c1"} | R
    (result,) = fold(
        *calls(PAY),
        result_start(),
        e.ToolResultTextDeltaEvent(delta="one", **to),
        e.ToolResultDataDeltaEvent(block_id="d1", media_type="audio/wav", data=b"RI", id="e1", **to),
        e.ToolResultDataDeltaEvent(block_id="d1", media_type="audio/wav", data=b"FF", id="e2", **to),
        e.ToolResultTextDeltaEvent(delta="two", id="e3", **to),
        e.ToolResultTextDeltaEvent(delta="!", id="e4", **to),
        e.ToolResultDataDeltaEvent(block_id="d2", media_type="image/png", url="https://a.b/c", id="e5", **to),
    ).get_content_blocks("tool_result")
    assert result.output == [
        TextBlock(text="one", id="e1_text", created_at=AT),
        DataBlock(source=Base64Source(data=b"RIFF", media_type="audio/wav"), id="d1", created_at=AT),
        TextBlock(text="two!", id="e3_text", created_at=AT),
        DataBlock(source=URLSource(url="https://a.b/c", media_type="image/png"), id="d2", created_at=AT),
    ]


def test_the_end_of_a_result_has_its_state_and_finishes_the_call() -> None:
    """REC-17, EVT-42: five states. MSG-64: `finished` after ToolResultEndEvent in every outcome. AMB-29: `running`
    is allowed."""
    for state in ToolResultState:
        msg = fold(*calls(PAY), result_start(), result_end(state))
        (call,), (result,) = msg.get_content_blocks("tool_call"), msg.get_content_blocks("tool_result")
        assert (call.state, result.state) == ("finished", state)
        assert msg.check_pairs() == []


def test_results_of_parallel_tools_may_interleave() -> None:
    """EVT-07, EVT-16: two slow tools, correct rebuild."""
    msg = fold(*calls(PAY, MAIL), result_start("c1"), result_start("c2"))
    for number in range(3):
        for call_id in ("c2", "c1"):
            msg.append_event(e.ToolResultTextDeltaEvent(tool_call_id=call_id, delta=f"{call_id}.{number} ", **R))
    msg.append_event(result_end("error", "c2"))
    msg.append_event(result_end("success", "c1"))
    assert [(block.id, block.output, block.state) for block in msg.get_content_blocks("tool_result")] == [
        ("c1", "c1.0 c1.1 c1.2 ", "success"),
        ("c2", "c2.0 c2.1 c2.2 ", "error"),
    ]


def test_tokens_of_model_calls_add_up() -> None:
    """REC-21: two calls sum up."""
    msg = fold(*(e.ModelCallEndEvent(input_tokens=n, output_tokens=2 * n, **R) for n in (1, 10)))
    assert msg.usage == Usage(input_tokens=11, output_tokens=22)


# -- human in the loop -------------------------------------------------------------------------------------------------


def ask(*blocks: ToolCallBlock) -> e.RequireUserConfirmEvent:
    return e.RequireUserConfirmEvent(tool_calls=list(blocks), **R)


def answer(call: ToolCallBlock, confirmed: bool, **fields: Any) -> e.UserConfirmResultEvent:
    return e.UserConfirmResultEvent(confirm_results=[ConfirmResult(confirmed=confirmed, tool_call=call, **fields)], **R)


def submit(*blocks: ToolCallBlock) -> e.RequireExternalExecutionEvent:
    return e.RequireExternalExecutionEvent(tool_calls=list(blocks), **R)


def executed(*blocks: ToolResultBlock) -> e.ExternalExecutionResultEvent:
    return e.ExternalExecutionResultEvent(execution_results=list(blocks), **R)


def test_a_question_sets_the_named_calls_to_asking() -> None:
    """REC-19: others unchanged. MSG-61: after RequireUserConfirmEvent. MSG-65: the rules of the question are kept."""
    rule = PermissionRule(tool_name="pay", behavior="allow")
    asked = ToolCallBlock(id="c1", name="pay", input=PAY.input, suggested_rules=[rule])
    pay, mail = fold(*calls(PAY, MAIL), ask(asked)).get_content_blocks("tool_call")
    assert (pay.state, pay.suggested_rules) == ("asking", [rule])
    assert (mail.state, mail.suggested_rules) == ("pending", [])


ASKED = [*calls(PAY), ask(PAY)]
DENIED = [*ASKED, answer(PAY, False), result_start(), result_end("denied")]
PAID = ToolResultBlock(id="c1", name="pay", output="paid")
BROKEN = calls(ToolCallBlock(id="c1", name="pay", input='{"amount"'))
WALKS: dict[str, tuple[list[e.AgentEvent], list[str]]] = {
    "approved": ([*ASKED, answer(PAY, True)], ["pending", "asking", "allowed"]),
    "approved and run": (
        [*ASKED, answer(PAY, True), result_start(), result_end("success")],
        ["pending", "asking", "allowed", "finished"],
    ),
    "refused": (DENIED, ["pending", "asking", "finished"]),
    "allowed without having asked": (
        [*calls(PAY), answer(PAY, True, rules=[PermissionRule(tool_name="pay", behavior="allow")])],
        ["pending", "allowed"],
    ),
    "submitted until its result comes": (
        [*ASKED, answer(PAY, True), submit(PAY), executed(PAID)],
        ["pending", "asking", "allowed", "submitted", "finished"],
    ),
    "not run, as it is broken": ([*BROKEN, result_start(), result_end("error")], ["pending", "finished"]),
    "not run, as it is denied": ([*BROKEN, result_start(), result_end("denied")], ["pending", "finished"]),
    "finished, which never goes back": (
        [*DENIED, ask(PAY), answer(PAY, True), submit(PAY)],
        ["pending", "asking", "finished"],
    ),
}


def test_a_call_walks_through_its_states() -> None:
    """REC-22: state walk; finished if refused; -> submitted. MSG-62: allowed after approval, before result. MSG-75:
    deny path. MSG-63: after RequireExternalExecutionEvent."""
    for name, (events, walk) in WALKS.items():
        assert states(events) == walk, name
    (result,) = fold(*DENIED).get_content_blocks("tool_result")
    assert result.state == "denied"


def test_external_results_are_appended_once() -> None:
    """REC-20: appended once, in order. AMB-24: the paired call is finished, results already present are skipped."""
    results = [ToolResultBlock(id=call_id, name="f", output=call_id) for call_id in ("c2", "c1")]
    msg = fold(*calls(PAY, MAIL), submit(PAY, MAIL), executed(*results), executed(*results))
    assert msg.get_content_blocks("tool_result") == results
    assert [call.state for call in msg.get_content_blocks("tool_call")] == ["finished", "finished"]


def test_a_call_without_an_answer_goes_on_asking_and_the_reply_is_not_finished() -> None:
    """HITL-04: missing one leaves that call asking. HITL-19: check parked Msg."""
    msg = fold(*calls(PAY, MAIL), ask(PAY, MAIL), answer(MAIL, True))
    assert [call.state for call in msg.get_content_blocks("tool_call")] == ["asking", "allowed"]
    for parked in (msg, fold(*ASKED), fold(*calls(PAY), submit(PAY))):
        assert (parked.finished_at, parked.finished_reason) == (None, None)


def test_the_user_may_change_what_is_run() -> None:
    changed = ToolCallBlock(id="c1", name="pay_later", input='{"amount": 4}')
    (call,) = fold(*calls(PAY), ask(PAY), answer(changed, True)).get_content_blocks("tool_call")
    assert (call.state, call.name, call.input) == ("allowed", "pay_later", '{"amount": 4}')


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


# -- what changes nothing ----------------------------------------------------------------------------------------------


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
    *(ask(PAY), answer(PAY, True), submit(PAY), executed(PAID)),
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
