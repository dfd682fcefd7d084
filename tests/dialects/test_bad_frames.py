"""Frames of every kind of nonsense: each is an event or a ClientError with a code, nothing else."""

import json
from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.dialects import ClientDialect
from realtime.dialects.agentscope1 import AgentScope1Dialect
from realtime.dialects.gemini.dialect import GeminiDialect
from realtime.dialects.native import NativeDialect
from realtime.dialects.openai_family.openai import OpenAIDialect
from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event.base import Event
from realtime.event.decode import classes_by_type
from realtime.runtime import Runtime
from tests.volumes import volume

TYPES = [*classes_by_type(c.ClientEvent)]
FIELDS = sorted({name for event in get_args(c.ClientEvent) for name in event.__struct_fields__})
DIALECTS: list[ClientDialect] = [NativeDialect(), AgentScope1Dialect(), AgentScope1Dialect(short_names=True)]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("AAAA"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
near_events = st.tuples(st.sampled_from(TYPES), st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=5)).map(
    lambda event: {"type": event[0]} | event[1]
)


def read(dialect: ClientDialect, frame: str | bytes) -> Event | ClientError:
    """The event, or the error, which then is fit to be told."""
    try:
        return dialect.decode(frame)
    except ClientError as refused:
        error = refused
    assert error.code
    assert error.message
    assert error.client_event_id is None or isinstance(error.client_event_id, str)
    return error


@settings(deadline=None)
@given(frame=st.text() | st.binary())
def test_anything_at_all_is_an_event_or_an_error(frame: str | bytes) -> None:
    for dialect in DIALECTS:
        read(dialect, frame)


@settings(deadline=None)
@given(frame=json_values)
def test_any_json_is_an_event_or_an_error(frame: Any) -> None:
    for dialect in DIALECTS:
        read(dialect, json.dumps(frame))


@settings(max_examples=volume(30, 300), deadline=None)
@given(frame=near_events)
def test_an_event_with_wrong_fields_is_an_event_or_an_error(frame: dict[str, Any]) -> None:
    """CEV-02: a wrong frame is an error to be told, the socket lives on."""
    for dialect in DIALECTS:
        read(dialect, json.dumps(frame))
        read(dialect, json.dumps(frame, ensure_ascii=False))


WRONG = [
    ("", "malformed_json", "not JSON"),
    ("{", "malformed_json", "not JSON"),
    ("[]", "invalid_event", "JSON object"),
    ("7", "invalid_event", "JSON object"),
    ("null", "invalid_event", "JSON object"),
    ("{}", "invalid_event", "no `type`"),
    ('{"type": 7}', "invalid_event", "type"),
    ('{"type": "client_dance"}', "unknown_event", "client_dance"),
    ('{"type": "agent_ready"}', "unknown_event", "agent_ready"),
    ('{"type": "client_text_append"}', "invalid_event", "text"),
    ('{"type": "client_text_append", "text": 7}', "invalid_event", "text"),
    ('{"type": "client_text_append", "text": "x", "event_id": 7}', "invalid_event", "event_id"),
    ('{"type": "client_audio_append", "audio": "%%%"}', "invalid_event", "audio"),
    ('{"type": "client_audio_append", "audio": "AAA"}', "invalid_event", "audio"),
    ("[" * 100_000, "invalid_event", "JSON object"),
    ('{"type": "client_session_create", "config": ' + '{"a":' * 50_000, "invalid_event", "nest"),
]


def test_what_is_wrong_is_said() -> None:
    """CEV-02: missing or unknown `type`, a non-object and wrong fields get a code and a sentence."""
    for frame, code, words in WRONG:
        error = read(NativeDialect(), frame)
        assert isinstance(error, ClientError)
        assert (error.code, words in error.message) == (code, True), error.message


def test_the_error_names_the_clients_own_event() -> None:
    for frame in ({"type": "client_dance"}, {"type": "client_text_append"}, {}):
        error = read(NativeDialect(), json.dumps(frame | {"event_id": "evt_1"}))
        assert isinstance(error, ClientError)
        assert error.client_event_id == "evt_1"


def test_unknown_fields_are_ignored() -> None:
    event = NativeDialect().decode('{"type": "client_text_append", "text": "x", "mood": "glad"}')

    assert event == c.ClientTextAppendEvent(text="x")


@pytest.mark.parametrize("dialect", DIALECTS[1:], ids=["agentscope1", "docs"])
def test_binary_frames_need_the_native_subprotocol(dialect: ClientDialect) -> None:
    error = read(dialect, bytes(32))

    assert isinstance(error, ClientError)
    assert (error.code, "realtime.v1" in error.message) == ("invalid_frame", True)


HALF = {
    "escaped": (r"Hi \ud83d", "Hi \ufffd"),
    "the second": (r"\uDE00 Hi", "\ufffd Hi"),
    "whole": (r"Hi \ud83d\ude00", "Hi \U0001f600"),
    "behind a backslash": (r"C:\\ud83d", r"C:\ud83d"),
    "as it is": ("Hi \ud83d", "Hi \ufffd"),
    "two halves as they are": ("Hi \ud83d\ude00", "Hi \U0001f600"),
}


def gemini() -> ClientDialect:
    dialect = GeminiDialect(Runtime(), life_s=600, drain_s=5)
    dialect.decode('{"setup": {"model": "models/m"}}')
    return dialect


SAYS: dict[str, tuple[Callable[[], ClientDialect], str]] = {
    "native": (NativeDialect, '{"type": "client_text_append", "text": "@"}'),
    "agentscope": (AgentScope1Dialect, '{"type": "client_text_append", "text": "@"}'),
    "openai": (
        lambda: OpenAIDialect("gpt-realtime", Runtime()),
        '{"type": "conversation.item.create", "item": {"type": "message", "role": "user", '
        '"content": [{"type": "input_text", "text": "@"}]}}',
    ),
    "gemini": (gemini, '{"realtimeInput": {"text": "@"}}'),
}


@pytest.mark.parametrize(("sent", "read"), HALF.values(), ids=HALF)
@pytest.mark.parametrize(("dialect_of", "frame"), SAYS.values(), ids=SAYS)
def test_half_a_character_in_what_a_client_says_costs_only_itself(
    dialect_of: Callable[[], ClientDialect], frame: str, sent: str, read: str
) -> None:
    """A browser that cuts text by its length sends one."""
    event = dialect_of().decode(frame.replace("@", sent))
    text = event.item.text if isinstance(event, c.ClientItemCreateEvent) else getattr(event, "text", None)
    assert text == read


def test_half_a_character_hides_no_other_fault() -> None:
    frame = r'{"type": "client_dance", "text": "\ud83d", "event_id": "mine"}'
    refused = read(NativeDialect(), frame)
    assert isinstance(refused, ClientError)
    assert (refused.code, refused.client_event_id) == ("unknown_event", "mine")


def test_a_tools_result_may_hold_blocks_of_another_version() -> None:
    picture = {"type": "image", "source": {"type": "url", "url": "https://a.b/c.png"}}
    fields = {"type": "client_tool_result", "id": "c1", "name": "f", "event_id": "mine"}
    call = {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}
    for dialect in (NativeDialect(), AgentScope1Dialect()):
        frame = fields | {"output": [{"type": "text", "text": "Hi"}, picture], "tool_call": call}
        event = dialect.decode(json.dumps(frame))
        assert isinstance(event, c.ClientToolResultEvent)
        assert isinstance(event.output, list)
        assert [block.type for block in event.output] == ["text", "data"]
        assert event.tool_call is not None
        assert event.tool_call.input == '{"a": 1}'
        wrong = read(dialect, json.dumps(frame | {"output": [7]}))
        assert isinstance(wrong, ClientError)
        assert (wrong.code, wrong.client_event_id) == ("invalid_event", "mine")
