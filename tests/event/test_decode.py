"""Reading events from JSON objects: the right class, or one sentence that says what is wrong."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybase64 import b64encode_as_string

from realtime.event import AudioFormat, ClientEvent, ClientEvents, ImageFormat, ModelEvents, ServerEvents
from realtime.event.decode import explain
from realtime.message import TextBlock

PROTOCOL = Path(__file__).resolve().parents[2] / "fixtures" / "protocol"
SIDES = {"client": ClientEvents, "model": ModelEvents, "server": ServerEvents}
GOLDEN = [
    (side, frame) for side in SIDES for frame in json.loads((PROTOCOL / f"{side}.json").read_text(encoding="utf-8"))
]

PCM = b"\x00\x00\xe8\x03\x18\xfc"
PCM_BASE64 = base64.b64encode(PCM).decode()


@pytest.mark.parametrize(
    ("frame", "event"),
    [
        (
            {"type": "client_session_create", "config": {"instructions": "Be brief."}},
            ClientEvents.ClientSessionCreateEvent(config={"instructions": "Be brief."}),
        ),
        (
            {"type": "client_session_end", "session_id": "session1"},
            ClientEvents.ClientSessionEndEvent(session_id="session1"),
        ),
        (
            {"type": "client_response_create", "session_id": "session1"},
            ClientEvents.ClientResponseCreateEvent(session_id="session1"),
        ),
        (
            {"type": "client_response_cancel", "session_id": "session1"},
            ClientEvents.ClientResponseCancelEvent(session_id="session1"),
        ),
        (
            {"type": "client_text_append", "session_id": "session1", "text": "Hello"},
            ClientEvents.ClientTextAppendEvent(session_id="session1", text="Hello"),
        ),
        (
            {
                "type": "client_audio_append",
                "session_id": "session1",
                "audio": PCM_BASE64,
                "format": {"encoding": "pcm16", "sample_rate": 16000},
            },
            ClientEvents.ClientAudioAppendEvent(
                session_id="session1", audio=PCM, format=AudioFormat(encoding="pcm16", sample_rate=16000)
            ),
        ),
        (
            {"type": "client_audio_commit", "session_id": "session1"},
            ClientEvents.ClientAudioCommitEvent(session_id="session1"),
        ),
        (
            {"type": "client_image_append", "image": PCM_BASE64, "format": {"type": "image/png"}},
            ClientEvents.ClientImageAppendEvent(image=PCM, format=ImageFormat(type="image/png")),
        ),
        (
            {
                "type": "client_tool_result",
                "id": "call_1",
                "name": "weather",
                "output": [{"type": "text", "text": "rain", "id": "b1"}],
            },
            ClientEvents.ClientToolResultEvent(id="call_1", name="weather", output=[TextBlock(text="rain", id="b1")]),
        ),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else "",
)
def test_each_of_the_nine_documented_client_frames_becomes_its_event(
    frame: dict[str, Any], event: ClientEvents.ClientEvent
) -> None:
    """CEV-01: nine dicts."""
    assert ClientEvents.from_json(frame) == event


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


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
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
    ],
)
def test_what_is_no_event_is_refused_with_a_sentence(frame: Any, sentence: str) -> None:
    """CEV-02, the reading half: missing or unknown `type`, or a non-dict, raises ValueError."""
    for events in SIDES.values():
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            events.from_json(frame)


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        ({"type": "client_text_append"}, "Object missing required field `text`"),
        ({"type": "client_text_append", "text": 5}, "Expected `str`, got `int` at `text`"),
        ({"type": "client_text_append", "text": None}, "Expected `str`, got `null` at `text`"),
        ({"type": "client_session_create", "config": "x"}, "Expected `object`, got `str` at `config`"),
        ({"type": "client_audio_append", "audio": "!!!"}, "Invalid base64 encoded string at `audio`"),
        ({"type": "client_audio_append", "audio": "AAA"}, "Invalid base64 encoded string at `audio`"),
        (
            {"type": "client_audio_append", "audio": "", "format": {"rate": "16k"}},
            "Expected `int | null`, got `str` at `format.rate`",
        ),
        (
            {"type": "client_playback_ack", "item_id": "item_1", "played_ms": 20.5},
            "Expected `int`, got `float` at `played_ms`",
        ),
        (
            {"type": "client_item_create", "item": {"id": "item_1", "content": [{"type": "video"}]}},
            "Invalid enum value 'video' at `item.content[0].type`",
        ),
        ({"type": "client_text_append", "text": "\ud83d"}, "the event holds text that is not valid Unicode"),
        ({"type": "client_text_append", "text": object()}, "the event is not JSON: Encoding objects of type object"),
    ],
)
def test_a_wrong_field_is_named(frame: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        ClientEvents.from_json(frame)


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "client_text_apend", "text": "Hi"},
        {"type": "x" * 1_000},
        {"type": "client_text_append"},
        {"type": "client_text_append", "text": 5},
        {"type": "client_audio_append", "audio": "!"},
        {"type": "client_tool_result", "id": "1", "name": "n", "output": [{"type": "smell"}]},
    ],
)
def test_the_typed_decoder_of_the_union_is_explained_in_the_same_words(frame: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError) as error:
        msgspec.json.decode(json.dumps(frame), type=ClientEvent)
    with pytest.raises(ValueError, match=f"^{re.escape(explain(error.value))}$"):
        ClientEvents.from_json(frame)


def test_a_very_long_type_is_not_echoed_in_full() -> None:
    with pytest.raises(ValueError, match=r"^unknown event type 'x{64}'$"):
        ClientEvents.from_json({"type": "x" * 1_000_000})


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


@pytest.mark.parametrize("text", ["a", "a===", "ab\ncd===", "????", "äöü=", "AAAA AAAA"])
def test_bad_base64_is_one_clear_error(text: str) -> None:
    with pytest.raises(ValueError, match="not valid base64"):
        ClientEvents.ClientAudioAppendEvent(audio=text)  # type: ignore[arg-type]
