"""The reply events: their names, fields and JSON, and what is refused.

`reply_events.jsonl` has one of each, as it stands on the wire: its keys are the fields, in their order.
"""

import base64
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime import event as public
from realtime.event import read_reply_event
from realtime.event import reply as e
from realtime.event.server import ServerEvent
from realtime.message import ConfirmResult, DataBlock, Msg, PermissionRule, TextBlock, ToolCallBlock, URLSource

CLASSES: tuple[type[e.ReplyEvent], ...] = get_args(e.AgentEvent)
LINES = (Path(__file__).parent / "reply_events.jsonl").read_text(encoding="utf-8").splitlines()
SAMPLES = [read_reply_event(line) for line in LINES]
CALL = ToolCallBlock(id="c1", name="f", input="{}")
BASE = ["id", "created_at", "reply_id", "metadata"]


def test_types_are_the_names_in_upper_snake_case() -> None:
    """EVT-12: golden table."""
    assert [type(event) for event in SAMPLES] == list(CLASSES)
    names = [event.__name__.removesuffix("Event") for event in CLASSES]
    assert [event.type for event in SAMPLES] == [re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper() for name in names]


def test_a_users_answer_is_made_of_names_of_this_module_also_with_a_call_of_another_version() -> None:
    call = {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}
    frame = {"type": "USER_CONFIRM_RESULT", "id": "e1", "created_at": "t", "reply_id": "r"}
    read = read_reply_event(frame | {"confirm_results": [{"confirmed": True, "tool_call": call}]})
    answer = public.ConfirmResult(confirmed=True, tool_call=ToolCallBlock(id="c1", name="f", input='{"a": 1}'))
    made = public.UserConfirmResultEvent(id="e1", created_at="t", reply_id="r", confirm_results=[answer])
    assert read == made


def test_every_event_has_its_fields_in_their_order() -> None:
    """EVT-26, EVT-27, EVT-28: text. EVT-29, EVT-30, EVT-31: thinking. EVT-32, EVT-33, EVT-34: data, which is base64 on
    the wire. EVT-35: the start of a call. EVT-44: hints. EVT-47: custom events."""
    fields = {event.type: ["type", *event.__struct_fields__] for event in SAMPLES}
    assert {row["type"]: [*row] for row in map(json.loads, LINES)} == fields


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


def test_an_event_survives_json_by_its_type_alone() -> None:
    """EVT-11: round trip through JSON by `type` alone."""
    for line, event in zip(LINES, SAMPLES, strict=True):
        text = json.dumps(event.model_dump())
        assert text == line
        read = [read_reply_event(frame) for frame in (text.encode(), json.loads(msgspec.json.encode(event)))]
        assert read == [event, event]


def test_an_event_is_routed_by_what_it_holds_itself() -> None:
    """EVT-03: each event can be parsed and routed alone: reply and block are in it."""
    for alone in map(json.loads, LINES):
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


def test_what_may_be_left_out_has_a_default() -> None:
    """EVT-19: a reply is by an assistant unless said."""
    assert e.ReplyStartEvent(reply_id="r1", session_id="s1", name="Friday").role == "assistant"
    assert e.TextBlockEndEvent(reply_id="r1", block_id="b1").text is None
    assert e.HintBlockEvent(reply_id="r1", block_id="b1", hint="noon").source is None
    assert e.CustomEvent(reply_id="r1", name="tasks_context").value == {}
    assert set(e.INPUT_EVENTS) < set(CLASSES)


def test_data_is_given_as_base64_too() -> None:
    as_text: Any = "AAEC"
    delta = e.DataBlockDeltaEvent(reply_id="r1", block_id="b1", data=as_text)
    assert (delta.data, delta.model_dump()["data"], delta.media_type) == (b"\x00\x01\x02", "AAEC", None)
    with pytest.raises(ValueError, match="not valid base64"):
        e.DataBlockDeltaEvent(reply_id="r1", block_id="b1", data="?" + as_text)


def test_fragments_of_a_call_are_its_json() -> None:
    """EVT-36: fragments concatenate to valid JSON. EVT-37: input parses as JSON at the end."""
    fragments = ['{"city": "K', "ö", 'ln"}']
    message = Msg.from_events(
        [
            e.ReplyStartEvent(reply_id="r1", session_id="s1", name="Friday"),
            e.ToolCallStartEvent(reply_id="r1", tool_call_id="c1", tool_call_name="f"),
            *(e.ToolCallDeltaEvent(reply_id="r1", tool_call_id="c1", delta=fragment) for fragment in fragments),
            e.ToolCallEndEvent(reply_id="r1", tool_call_id="c1"),
        ]
    )
    (call,) = message.get_content_blocks("tool_call")
    assert json.loads("".join(fragments)) == json.loads(call.input) == {"city": "Köln"}


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


def test_a_hint_is_text_or_blocks() -> None:
    """EVT-44: both hint forms."""
    picture = DataBlock(source=URLSource(url="https://a.b/c", media_type="a/b"), id="p2")
    for hint in ("noon", [TextBlock(text="a", id="p1"), picture]):
        event = e.HintBlockEvent(reply_id="r1", block_id="b1", hint=hint)
        assert read_reply_event(json.dumps(event.model_dump())) == event


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


REFUSED: list[tuple[Any, str]] = [
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
]


def test_what_is_no_event_is_refused_in_a_sentence() -> None:
    for frame, sentence in REFUSED:
        with pytest.raises(ValueError) as refused:  # noqa: PT011 - the sentence is compared below
            read_reply_event(frame)
        assert sentence in str(refused.value), frame


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
