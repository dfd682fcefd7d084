"""Reading events from JSON objects: the right class, or one sentence that says what is wrong."""

import base64
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybase64 import b64encode_as_string

from realtime.event import AudioFormat, ClientEvent, ClientEvents, ImageFormat, ModelEvents, ServerEvents
from realtime.event import client as c
from realtime.event.decode import explain
from realtime.message import TextBlock

PROTOCOL = Path(__file__).resolve().parents[2] / "fixtures" / "protocol"
SIDES = {"client": ClientEvents, "model": ModelEvents, "server": ServerEvents}
GOLDEN = [
    (side, frame) for side in SIDES for frame in json.loads((PROTOCOL / f"{side}.json").read_text(encoding="utf-8"))
]

PCM = b"\x00\x00\xe8\x03\x18\xfc"
PCM_BASE64 = base64.b64encode(PCM).decode()
SESSION = {"session_id": "session1"}
RAIN = {"type": "text", "text": "rain", "id": "b1"}


DOCUMENTED: list[tuple[dict[str, Any], c.ClientEvent]] = [
    ({"type": "client_session_create", "config": {"a": "b"}}, c.ClientSessionCreateEvent(config={"a": "b"})),
    ({"type": "client_session_end", **SESSION}, c.ClientSessionEndEvent(**SESSION)),
    ({"type": "client_response_create", **SESSION}, c.ClientResponseCreateEvent(**SESSION)),
    ({"type": "client_response_cancel", **SESSION}, c.ClientResponseCancelEvent(**SESSION)),
    ({"type": "client_text_append", "text": "Hello", **SESSION}, c.ClientTextAppendEvent(text="Hello", **SESSION)),
    (
        {"type": "client_audio_append", "audio": PCM_BASE64, "format": {"encoding": "pcm16", "sample_rate": 16000}},
        c.ClientAudioAppendEvent(audio=PCM, format=AudioFormat(encoding="pcm16", sample_rate=16000)),
    ),
    ({"type": "client_audio_commit", **SESSION}, c.ClientAudioCommitEvent(**SESSION)),
    (
        {"type": "client_image_append", "image": PCM_BASE64, "format": {"type": "image/png"}},
        c.ClientImageAppendEvent(image=PCM, format=ImageFormat(type="image/png")),
    ),
    (
        {"type": "client_tool_result", "id": "call_1", "name": "weather", "output": [RAIN]},
        c.ClientToolResultEvent(id="call_1", name="weather", output=[TextBlock(text="rain", id="b1")]),
    ),
]


def test_each_of_the_nine_documented_client_frames_becomes_its_event() -> None:
    """CEV-01: nine dicts."""
    assert [ClientEvents.from_json(frame) for frame, _ in DOCUMENTED] == [event for _, event in DOCUMENTED]


def test_the_sample_session_create_frame_needs_no_session_id() -> None:
    """CEV-03: the documented frame, without session_id."""
    frame = {
        "type": "client_session_create",
        "config": {"instructions": "You are a helpful assistant.", "user_name": "User1"},
    }
    event = ClientEvents.from_json(frame)
    assert isinstance(event, ClientEvents.ClientSessionCreateEvent)
    assert event.session_id is None
    assert event.config == frame["config"]


NO_EVENTS: list[tuple[Any, str]] = [
    (None, "an event is a JSON object, not NoneType"),
    ("client_audio_commit", "an event is a JSON object, not str"),
    ([{"type": "client_audio_commit"}], "an event is a JSON object, not list"),
    (7, "an event is a JSON object, not int"),
    ({}, "the event has no `type`"),
    ({"session_id": "session1"}, "the event has no `type`"),
    ({"type": None}, "the event has no `type`"),
    ({"type": ["client_audio_commit"]}, "the event has no `type`"),
    ({"type": "client_audio_comit"}, "unknown event type 'client_audio_comit'"),
    ({"type": "__class__"}, "unknown event type '__class__'"),
    ({"type": "x" * 1_000_000}, f"unknown event type '{'x' * 64}'"),
]
TEXT, AUDIO = {"type": "client_text_append"}, {"type": "client_audio_append"}
WRONG_FIELDS: list[tuple[dict[str, Any], str]] = [
    (TEXT, "Object missing required field `text`"),
    (TEXT | {"text": 5}, "Expected `str`, got `int` at `text`"),
    (TEXT | {"text": None}, "Expected `str`, got `null` at `text`"),
    ({"type": "client_session_create", "config": "x"}, "Expected `object`, got `str` at `config`"),
    (AUDIO | {"audio": "!!!"}, "Invalid base64 encoded string at `audio`"),
    (AUDIO | {"audio": "AAA"}, "Invalid base64 encoded string at `audio`"),
    (AUDIO | {"audio": "", "format": {"rate": "16k"}}, "Expected `int | null`, got `str` at `format.rate`"),
    (
        {"type": "client_playback_ack", "item_id": "item_1", "played_ms": 20.5},
        "Expected `int`, got `float` at `played_ms`",
    ),
    (
        {"type": "client_item_create", "item": {"id": "item_1", "content": [{"type": "video"}]}},
        "Invalid enum value 'video' at `item.content[0].type`",
    ),
    (TEXT | {"text": "\ud83d"}, "the event holds text that is not valid Unicode"),
    (TEXT | {"text": object()}, "the event is not JSON: Encoding objects of type object is unsupported"),
]


def refusal(events: ModuleType, frame: Any) -> str:
    """The sentence with which it is refused."""
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the sentence is what the tests compare
        events.from_json(frame)
    return str(refused.value)


def test_what_is_no_event_is_refused_with_a_sentence() -> None:
    """CEV-02, the reading half: missing or unknown `type`, or a non-dict, raises ValueError; a long one is cut."""
    for events in SIDES.values():
        assert [(frame, refusal(events, frame)) for frame, _ in NO_EVENTS] == NO_EVENTS


def test_a_wrong_field_is_named() -> None:
    assert [(frame, refusal(ClientEvents, frame)) for frame, _ in WRONG_FIELDS] == WRONG_FIELDS


def test_the_typed_decoder_of_the_union_is_explained_in_the_same_words() -> None:
    for frame in (
        {"type": "client_text_apend", "text": "Hi"},
        {"type": "x" * 1_000},
        TEXT,
        TEXT | {"text": 5},
        AUDIO | {"audio": "!"},
        {"type": "client_tool_result", "id": "1", "name": "n", "output": [{"type": "smell"}]},
    ):
        with pytest.raises(msgspec.ValidationError) as error:
            msgspec.json.decode(json.dumps(frame), type=ClientEvent)
        assert explain(error.value) == refusal(ClientEvents, frame)


def test_bottomless_nesting_is_refused() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(ValueError, match="nested too deeply"):
        ClientEvents.from_json({"type": "client_session_create", "config": {"extra": nested}})


def test_unknown_fields_are_ignored_so_that_newer_clients_are_understood() -> None:
    event = ClientEvents.from_json({"type": "client_text_append", "text": "Hi", "mood": "sunny"})
    assert event == ClientEvents.ClientTextAppendEvent(text="Hi")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.just(PCM_BASE64),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


def read_or_refuse(side: str, frame: Any) -> None:
    """Read `frame`: an event that can be written again, or a ValueError with a sentence."""
    try:
        event = SIDES[side].from_json(frame)
    except ValueError as refusal:
        said = str(refusal)
    else:
        said = event.type
        written = msgspec.json.encode(event)
        assert SIDES[side].from_json(msgspec.json.decode(written)).type == event.type
    assert said


@given(st.sampled_from(sorted(SIDES)), json_values)
def test_any_json_is_an_event_or_a_value_error(side: str, frame: Any) -> None:
    read_or_refuse(side, frame)


@st.composite
def spoiled_frames(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A golden frame of which one value, at any depth, was replaced, removed or joined by another."""
    side, golden = draw(st.sampled_from(GOLDEN))
    frame = json.loads(json.dumps(golden))
    place: Any = frame
    while True:
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or draw(st.booleans()):
            break
        place = inner
    match draw(st.sampled_from(["replace", "remove", "join"])):
        case "replace":
            place[key] = draw(json_values)
        case "remove":
            del place[key]
        case "join" if isinstance(place, dict):
            place[draw(st.text(st.characters(), max_size=8))] = draw(json_values)
        case "join":
            place.append(draw(json_values))
    return side, frame


@given(spoiled_frames())
def test_a_spoiled_frame_is_an_event_or_a_value_error(spoiled: tuple[str, dict[str, Any]]) -> None:
    read_or_refuse(*spoiled)


@given(st.binary())
def test_base64_round_trip(pcm: bytes) -> None:
    assert ClientEvents.ClientAudioAppendEvent(audio=b64encode_as_string(pcm)).audio == pcm  # type: ignore[arg-type]


def test_bad_base64_is_one_clear_error() -> None:
    for text in ("a", "a===", "ab\ncd===", "????", "äöü=", "AAAA AAAA"):
        with pytest.raises(ValueError, match="not valid base64"):
            ClientEvents.ClientAudioAppendEvent(audio=text)  # type: ignore[arg-type]
