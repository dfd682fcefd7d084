"""The reply events: their names, fields and JSON, and what is refused."""

import base64
import json
from datetime import datetime
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime import event as public
from realtime.event import read_reply_event
from realtime.event import reply as e
from realtime.event.server import ServerEvent
from realtime.message import (
    ConfirmResult,
    DataBlock,
    Msg,
    PermissionRule,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    URLSource,
)

CLASSES: tuple[type[e.ReplyEvent], ...] = get_args(e.AgentEvent)
CALL = ToolCallBlock(id="c1", name="f", input="{}")
BASE = ["id", "created_at", "reply_id", "metadata"]
SAMPLES: list[e.AgentEvent] = [
    e.ReplyStartEvent(reply_id="r1", session_id="s1", name="Friday"),
    e.ReplyEndEvent(reply_id="r1", session_id="s1", finished_reason="error", error="gone"),
    e.ExceedMaxItersEvent(reply_id="r1", name="Friday"),
    e.RequestStopEvent(reply_id="r1", source="hook", reason="enough"),
    e.ModelCallStartEvent(reply_id="r1", model_name="m"),
    e.ModelCallEndEvent(reply_id="r1", input_tokens=1, output_tokens=2),
    e.TextBlockStartEvent(reply_id="r1", block_id="b1"),
    e.TextBlockDeltaEvent(reply_id="r1", block_id="b1", delta="Hi"),
    e.TextBlockEndEvent(reply_id="r1", block_id="b1", text="H"),
    e.ThinkingBlockStartEvent(reply_id="r1", block_id="b1"),
    e.ThinkingBlockDeltaEvent(reply_id="r1", block_id="b1", delta="hm"),
    e.ThinkingBlockEndEvent(reply_id="r1", block_id="b1"),
    e.DataBlockStartEvent(reply_id="r1", block_id="b1", media_type="audio/pcm"),
    e.DataBlockDeltaEvent(reply_id="r1", block_id="b1", data=b"\x00\x01", media_type="audio/pcm"),
    e.DataBlockEndEvent(reply_id="r1", block_id="b1"),
    e.HintBlockEvent(reply_id="r1", block_id="b1", hint="noon", source="clock"),
    e.ToolCallStartEvent(reply_id="r1", tool_call_id="c1", tool_call_name="f"),
    e.ToolCallDeltaEvent(reply_id="r1", tool_call_id="c1", delta="{"),
    e.ToolCallEndEvent(reply_id="r1", tool_call_id="c1"),
    e.ToolResultStartEvent(reply_id="r1", tool_call_id="c1", tool_call_name="f"),
    e.ToolResultTextDeltaEvent(reply_id="r1", tool_call_id="c1", delta="12"),
    e.ToolResultDataDeltaEvent(reply_id="r1", tool_call_id="c1", block_id="b1", media_type="a/b", data=b"x"),
    e.ToolResultEndEvent(reply_id="r1", tool_call_id="c1", state="success"),
    e.RequireUserConfirmEvent(reply_id="r1", tool_calls=[CALL]),
    e.UserConfirmResultEvent(reply_id="r1", confirm_results=[ConfirmResult(confirmed=True, tool_call=CALL)]),
    e.RequireExternalExecutionEvent(reply_id="r1", tool_calls=[CALL]),
    e.ExternalExecutionResultEvent(reply_id="r1", execution_results=[ToolResultBlock(id="c1", name="f")]),
    e.UserInterruptEvent(reply_id="r1"),
    e.CustomEvent(reply_id="r1", name="tasks_context", value={"done": 1}),
]
TYPES = [
    "REPLY_START",
    "REPLY_END",
    "EXCEED_MAX_ITERS",
    "REQUEST_STOP",
    "MODEL_CALL_START",
    "MODEL_CALL_END",
    "TEXT_BLOCK_START",
    "TEXT_BLOCK_DELTA",
    "TEXT_BLOCK_END",
    "THINKING_BLOCK_START",
    "THINKING_BLOCK_DELTA",
    "THINKING_BLOCK_END",
    "DATA_BLOCK_START",
    "DATA_BLOCK_DELTA",
    "DATA_BLOCK_END",
    "HINT_BLOCK",
    "TOOL_CALL_START",
    "TOOL_CALL_DELTA",
    "TOOL_CALL_END",
    "TOOL_RESULT_START",
    "TOOL_RESULT_TEXT_DELTA",
    "TOOL_RESULT_DATA_DELTA",
    "TOOL_RESULT_END",
    "REQUIRE_USER_CONFIRM",
    "USER_CONFIRM_RESULT",
    "REQUIRE_EXTERNAL_EXECUTION",
    "EXTERNAL_EXECUTION_RESULT",
    "USER_INTERRUPT",
    "CUSTOM",
]


def own_fields(event: type[e.ReplyEvent]) -> list[str]:
    return [name for name in event.__struct_fields__ if name not in BASE]


def test_types_are_the_names_in_upper_snake_case() -> None:
    """EVT-12: golden table."""
    assert [event.type for event in SAMPLES] == TYPES
    assert [type(event) for event in SAMPLES] == list(CLASSES)


def test_every_event_is_public_and_none_is_a_server_event_too() -> None:
    for event in CLASSES:
        assert getattr(public, event.__name__) is event
        assert event.__name__ in public.__all__
    assert not {cls.__name__ for cls in get_args(ServerEvent)} & {cls.__name__ for cls in CLASSES}


def test_every_event_names_its_reply() -> None:
    """EVT-04: schema test over all classes."""
    for event in CLASSES:
        kinds = {field.name: field for field in msgspec.structs.fields(event)}
        assert [kinds[name].type for name in BASE] == [str, str, str, dict[str, Any]]
        assert kinds["reply_id"].required == (event is not e.CustomEvent)
    assert e.CustomEvent(name="x").reply_id == ""


@pytest.mark.parametrize("event", SAMPLES, ids=TYPES)
def test_an_event_survives_json_by_its_type_alone(event: e.AgentEvent) -> None:
    """EVT-11: round trip through JSON by `type` alone."""
    text = json.dumps(event.model_dump())
    assert read_reply_event(text) == event
    assert read_reply_event(text.encode()) == event
    assert read_reply_event(json.loads(msgspec.json.encode(event))) == event


@pytest.mark.parametrize("event", SAMPLES, ids=TYPES)
def test_an_event_is_routed_by_what_it_holds_itself(event: e.AgentEvent) -> None:
    """EVT-03: each event can be parsed and routed alone: reply and block are in it."""
    alone = json.loads(json.dumps(event.model_dump()))
    assert alone["reply_id"] == "r1"
    if "BLOCK" in alone["type"]:
        assert alone["block_id"] == "b1"
    elif alone["type"].startswith("TOOL_"):
        assert alone["tool_call_id"] == "c1"


def test_every_event_has_an_id_and_a_time() -> None:
    """EVT-09: no duplicates in 10 000. EVT-10: parses."""
    events = [e.TextBlockStartEvent(reply_id="r1", block_id="b1") for _ in range(10_000)]
    assert len({event.id for event in events}) == 10_000
    assert datetime.fromisoformat(events[0].created_at).utcoffset() is not None


def test_a_reply_is_by_an_assistant_unless_said() -> None:
    """EVT-19: default value."""
    assert e.ReplyStartEvent(reply_id="r1", session_id="s1", name="Friday").role == "assistant"
    assert own_fields(e.ReplyStartEvent) == ["session_id", "name", "role"]


def test_lifecycle_events_have_their_fields() -> None:
    assert own_fields(e.ReplyEndEvent) == ["session_id", "finished_reason", "error"]
    assert own_fields(e.ExceedMaxItersEvent) == ["name"]
    assert own_fields(e.RequestStopEvent) == ["source", "reason"]
    assert own_fields(e.ModelCallStartEvent) == ["model_name"]
    assert own_fields(e.ModelCallEndEvent) == ["input_tokens", "output_tokens"]
    assert own_fields(e.UserInterruptEvent) == []


def test_text_events_have_their_fields() -> None:
    """EVT-26, EVT-27, EVT-28: fields test."""
    assert own_fields(e.TextBlockStartEvent) == ["block_id"]
    assert own_fields(e.TextBlockDeltaEvent) == ["block_id", "delta"]
    assert own_fields(e.TextBlockEndEvent) == ["block_id", "text"]
    assert e.TextBlockEndEvent(reply_id="r1", block_id="b1").text is None


def test_thinking_events_have_their_fields() -> None:
    """EVT-29, EVT-30, EVT-31: fields test."""
    assert own_fields(e.ThinkingBlockStartEvent) == ["block_id"]
    assert own_fields(e.ThinkingBlockDeltaEvent) == ["block_id", "delta"]
    assert own_fields(e.ThinkingBlockEndEvent) == ["block_id"]


def test_data_events_have_their_fields() -> None:
    """EVT-32, EVT-33, EVT-34: fields test; `data` is base64 text on the wire."""
    assert own_fields(e.DataBlockStartEvent) == ["block_id", "media_type"]
    assert own_fields(e.DataBlockDeltaEvent) == ["block_id", "data", "media_type"]
    assert own_fields(e.DataBlockEndEvent) == ["block_id"]
    as_text: Any = "AAEC"
    delta = e.DataBlockDeltaEvent(reply_id="r1", block_id="b1", data=as_text)
    assert delta.data == b"\x00\x01\x02"
    assert delta.model_dump()["data"] == "AAEC"
    assert delta.media_type is None
    with pytest.raises(ValueError, match="not valid base64"):
        e.DataBlockDeltaEvent(reply_id="r1", block_id="b1", data="?" + as_text)


def test_the_start_of_a_call_has_its_fields() -> None:
    """EVT-35: fields test."""
    assert own_fields(e.ToolCallStartEvent) == ["tool_call_id", "tool_call_name"]


def test_fragments_of_a_call_are_its_json() -> None:
    """EVT-36: fragments concatenate to valid JSON. EVT-37: input parses as JSON at the end."""
    assert own_fields(e.ToolCallDeltaEvent) == ["tool_call_id", "delta"]
    assert own_fields(e.ToolCallEndEvent) == ["tool_call_id"]
    fragments = ['{"city": "K', "ö", 'ln"}']
    message = Msg.from_events(
        [
            SAMPLES[0],
            e.ToolCallStartEvent(reply_id="r1", tool_call_id="c1", tool_call_name="f"),
            *(e.ToolCallDeltaEvent(reply_id="r1", tool_call_id="c1", delta=fragment) for fragment in fragments),
            e.ToolCallEndEvent(reply_id="r1", tool_call_id="c1"),
        ]
    )
    (call,) = message.get_content_blocks("tool_call")
    assert json.loads("".join(fragments)) == json.loads(call.input) == {"city": "Köln"}


def test_result_events_have_their_fields() -> None:
    assert own_fields(e.ToolResultStartEvent) == ["tool_call_id", "tool_call_name"]
    assert own_fields(e.ToolResultTextDeltaEvent) == ["tool_call_id", "delta"]
    assert own_fields(e.ToolResultDataDeltaEvent) == ["tool_call_id", "block_id", "media_type", "data", "url"]
    assert own_fields(e.ToolResultEndEvent) == ["tool_call_id", "state"]


@pytest.mark.parametrize("given", [{}, {"data": b"x", "url": "https://a.b/c"}], ids=["none", "both"])
def test_tool_output_is_data_or_a_url(given: dict[str, Any]) -> None:
    """EVT-41: none -> raises, both -> raises."""
    to: dict[str, Any] = {"reply_id": "r1", "tool_call_id": "c1", "block_id": "b1", "media_type": "image/png"}
    with pytest.raises(ValueError, match="exactly one"):
        e.ToolResultDataDeltaEvent(**to, **given)
    wire = {name: base64.b64encode(v).decode() if isinstance(v, bytes) else v for name, v in given.items()}
    with pytest.raises(ValueError, match="exactly one"):
        read_reply_event({"type": "TOOL_RESULT_DATA_DELTA", **to, **wire})
    assert e.ToolResultDataDeltaEvent(**to, url="https://a.b/c").data is None
    with pytest.raises(ValueError, match="not a valid URI"):
        e.ToolResultDataDeltaEvent(**to, url="not a url")


@pytest.mark.parametrize(
    "hint",
    [
        "noon",
        [TextBlock(text="a", id="p1"), DataBlock(source=URLSource(url="https://a.b/c", media_type="a/b"), id="p2")],
    ],
    ids=["text", "blocks"],
)
def test_a_hint_is_text_or_blocks(hint: Any) -> None:
    """EVT-44: fields test, both hint forms."""
    assert own_fields(e.HintBlockEvent) == ["block_id", "hint", "source"]
    event = e.HintBlockEvent(reply_id="r1", block_id="b1", hint=hint)
    assert read_reply_event(json.dumps(event.model_dump())) == event
    assert event.source is None


def test_a_custom_event_has_its_fields() -> None:
    """EVT-47: fields test."""
    assert own_fields(e.CustomEvent) == ["name", "value"]
    assert e.CustomEvent(reply_id="r1", name="tasks_context").value == {}


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, b"x", float("nan"), {1: 2}, "\ud83d"],
    ids=["object", "set", "bytes", "nan", "key", "half-pair"],
)
def test_a_custom_event_holds_json(value: Any) -> None:
    """EVT-49: non-serialisable value rejected."""
    assert e.CustomEvent(name="team_updated", value={"members": ["Ann", None, 1.5]}).value["members"][0] == "Ann"
    with pytest.raises(ValueError, match="has to be JSON"):
        e.CustomEvent(name="tasks_context", value={"v": value})


def test_a_confirmation_has_its_fields() -> None:
    """HITL-06: fields test."""
    rule = PermissionRule(tool_name="f", behavior="allow")
    result = ConfirmResult(confirmed=True, tool_call=CALL, rules=[rule])
    assert (result.confirmed, result.tool_call, result.rules) == (True, CALL, [rule])
    assert ConfirmResult(confirmed=False, tool_call=CALL).rules is None
    with pytest.raises(TypeError, match="confirmed is bool, not str"):
        ConfirmResult(confirmed="yes", tool_call=CALL)  # type: ignore[arg-type]


def test_questions_and_answers_have_their_fields() -> None:
    assert own_fields(e.RequireUserConfirmEvent) == ["tool_calls"]
    assert own_fields(e.RequireExternalExecutionEvent) == ["tool_calls"]
    assert own_fields(e.UserConfirmResultEvent) == ["confirm_results"]
    assert own_fields(e.ExternalExecutionResultEvent) == ["execution_results"]
    assert set(e.INPUT_EVENTS) < set(CLASSES)


def test_states_are_read_in_either_case() -> None:
    """AMB-30: values are lower case on the wire; the loader accepts either."""
    frame = {"type": "TOOL_RESULT_END", "reply_id": "r1", "tool_call_id": "c1", "state": "DENIED"}
    event = read_reply_event(frame)
    assert isinstance(event, e.ToolResultEndEvent)
    assert event.state == "denied"
    call = {"type": "tool_call", "id": "c1", "name": "f", "input": "{}", "state": "ASKING"}
    asked = read_reply_event({"type": "REQUIRE_USER_CONFIRM", "reply_id": "r1", "tool_calls": [call]})
    assert isinstance(asked, e.RequireUserConfirmEvent)
    assert asked.tool_calls[0].state == "asking"


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        ("{", "the event is not JSON"),
        ("[" * 100_000, "the event is not JSON"),
        ("[]", "an event is a JSON object, not list"),
        ({}, "the event has no `type`"),
        ({"type": "AGENT_START"}, "unknown event type 'AGENT_START'"),
        ({"type": "TEXT_BLOCK_START", "reply_id": "r1"}, "block_id"),
        ({"type": "TEXT_BLOCK_DELTA", "reply_id": "r1", "block_id": "b1", "delta": 7}, "`delta`"),
        ({"type": "TOOL_RESULT_END", "reply_id": "r1", "tool_call_id": "c1", "state": "done"}, "`state`"),
        ({"type": "REQUIRE_USER_CONFIRM", "reply_id": "r1", "tool_calls": [7]}, "tool_calls"),
        ({"type": "EXTERNAL_EXECUTION_RESULT", "reply_id": "r1", "execution_results": 7}, "execution_results"),
        ({"type": "HINT_BLOCK", "id": "e1", "reply_id": "r1", "block_id": "b", "hint": [7]}, "hint"),
        ({"type": "CUSTOM", "name": "x", "value": [1]}, "`value`"),
    ],
)
def test_what_is_no_event_is_refused_in_a_sentence(frame: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence.replace("[", r"\[")):
        read_reply_event(frame)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "id", "output", "x"]), inner),
    max_leaves=6,
)


@given(st.sampled_from(SAMPLES), st.data())
def test_a_damaged_event_is_read_or_refused(event: e.AgentEvent, data: st.DataObject) -> None:
    frame = event.model_dump()
    for name in data.draw(st.lists(st.sampled_from(sorted(frame)), max_size=3)):
        frame[name] = data.draw(json_values)
    try:
        read = read_reply_event(frame)
    except ValueError:
        return
    assert read_reply_event(read.model_dump()) == read
