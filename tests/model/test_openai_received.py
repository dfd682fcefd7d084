"""The OpenAI codec on frames: our own in `fixtures/models/openai`, and the recorded ones of the real service."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import cast, get_args

import pybase64
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from realtime.event import Item, ModelEvent, ModelEvents
from realtime.event.base import ContentPart
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.model.base import (
    ItemCreate,
    ItemTruncate,
    ModelInput,
    ResponseCreate,
    Settings,
    ToolResult,
)
from realtime.model.openai_family import openai_frames as wire
from tests.model.grammar import check_grammar
from tests.model.openai_frames import KEY, PLACE, Json, decode_all, dump, make_codec, one, only, received, say, types

FIXTURES = ("spoken_turn", "text_turn", "tool_calls", "cancelled", "errors", "rest")
RECORDINGS = ("text_in_audio_out_turn", "tool_call_round", "message_history_seeding")


# What the service says.


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_recorded_frame_is_known_and_every_answer_well_formed(recordings_dir: Path, name: str) -> None:
    codec = make_codec()
    frames = [dump(frame).encode() for direction, frame in recorded(recordings_dir, name) if direction == "received"]
    events = decode_all(codec, frames)
    check_grammar(events, output_rate_hz=24_000)
    assert (codec.reader.unknown_frames, codec.reader.broken_frames) == (0, 0)
    assert only(events, ModelEvents.ModelSessionCreatedEvent)
    assert only(events, ModelEvents.ModelResponseDoneEvent)


@pytest.mark.parametrize("name", RECORDINGS)
def test_what_was_recorded_as_sent_is_what_we_send(recordings_dir: Path, name: str) -> None:
    codec = make_codec()
    for direction, frame in recorded(recordings_dir, name):
        if direction == "sent" and frame["type"] != "session.update":
            (said,) = say(codec, _as_input(frame))
            said.get("item", {}).pop("id", None)
            assert said == frame


def recorded(recordings_dir: Path, name: str) -> list[tuple[str, Json]]:
    text = (recordings_dir / "recordings" / f"openai-{name}.yaml").read_text(encoding="utf-8")
    return [(row["direction"], row["data"]) for row in yaml.safe_load(text)["interactions"]]


def _as_input(frame: Json) -> ModelInput:
    """What we would have been asked to do to send this frame."""
    if frame["type"] == "response.create":
        return ResponseCreate()
    assert frame["type"] == "conversation.item.create"
    item = frame["item"]
    if item["type"] == "function_call_output":
        return ToolResult(ToolResultBlock(id=item["call_id"], name="", output=item["output"]))
    if item["type"] == "function_call":
        call = ToolCallBlock(id=item["call_id"], name=item["name"], input=item["arguments"])
        return ItemCreate(Item(id="", type="tool_call", tool_call=call))
    (part,) = item["content"]
    return ItemCreate(Item(id="", role=item["role"], content=(ContentPart(type="text", text=part["text"]),)))


def test_our_frames_are_those_of_the_official_sdk(fixtures_dir: Path) -> None:
    """Every server event that the SDK knows is in our fixtures and passes its validation."""
    realtime, pydantic = pytest.importorskip("openai.types.realtime"), pytest.importorskip("pydantic")
    check = pydantic.TypeAdapter(realtime.RealtimeServerEvent)
    frames = [frame for name in FIXTURES for frame in received(fixtures_dir, name)]
    for frame in frames:
        check.validate_json(frame)
    members = get_args(get_args(realtime.RealtimeServerEvent)[0])
    known = {get_args(member.model_fields["type"].annotation)[0] for member in members}
    assert {json.loads(frame)["type"] for frame in frames} == known == wire.FLAVOUR.all_types


def test_a_spoken_turn(fixtures_dir: Path) -> None:
    """MEV-01: the session's id. MEV-03: created before any delta. MEV-04: done once, after all.
    MEV-05: pcm16 at 24 kHz, whole samples from odd chunks. MEV-06, MEV-08: done after the last delta.
    MEV-07: the words make the sentence. MEV-11: the user's words make the sentence. MEV-12: the full text."""
    codec = make_codec()
    frames = received(fixtures_dir, "spoken_turn")
    events = decode_all(codec, frames)
    assert types(events) == [
        "session_created",
        "session_updated",
        "input_started",
        "input_transcription_delta",
        "input_transcription_delta",
        "input_done",
        "input_committed",
        "item_added",
        "item_done",
        "response_created",
        "item_added",
        "response_audio_transcript_delta",
        "response_audio_transcript_delta",
        "response_audio_delta",
        "response_audio_transcript_delta",
        "input_transcription_delta",
        "response_audio_delta",
        "response_audio_delta",
        "input_transcription_done",
        "response_audio_done",
        "response_audio_transcript_done",
        "item_done",
        "response_done",
    ]
    assert events[0] == ModelEvents.ModelSessionCreatedEvent(session_id="sess_fixture1")
    deltas = only(events, ModelEvents.ModelResponseAudioDeltaEvent)
    raw = b"".join(pybase64.b64decode(json.loads(frame)["delta"]) for frame in frames if b"output_audio.delta" in frame)
    assert [len(event.delta) for event in deltas] == [1920, 2080, 1760]
    assert b"".join(event.delta for event in deltas) == raw
    assert {event.format.rate_hz(0) for event in deltas} == {24_000}
    words = only(events, ModelEvents.ModelResponseAudioTranscriptDeltaEvent)
    assert "".join(event.delta for event in words) == "Good morning to you."
    (heard,) = only(events, ModelEvents.ModelInputTranscriptionDoneEvent)
    assert (heard.transcript, heard.input_tokens, heard.output_tokens) == ("Good morning.", 17, 4)
    assert (
        "".join(event.delta for event in only(events, ModelEvents.ModelInputTranscriptionDeltaEvent)) == "Good morning."
    )
    done = events[-1]
    assert isinstance(done, ModelEvents.ModelResponseDoneEvent)
    assert (done.input_tokens, done.output_tokens, done.status, done.conversation) == (120, 80, "completed", "auto")
    assert done.usage_detail is not None
    assert done.usage_detail.output_reasoning_tokens == 12
    assert done.usage_detail.input_cached_tokens == 64


def test_speech_is_reported_without_padding_and_without_the_silence(fixtures_dir: Path) -> None:
    """MEV-13, MEV-14: the fixture's voice lasts from 1760 to 2720 ms (300 ms padding, 500 ms silence)."""
    events = decode_all(make_codec(), received(fixtures_dir, "spoken_turn"))
    assert only(events, ModelEvents.ModelInputStartedEvent) == [
        ModelEvents.ModelInputStartedEvent(item_id="item_u1", audio_start_ms=1760)
    ]
    assert only(events, ModelEvents.ModelInputDoneEvent) == [
        ModelEvents.ModelInputDoneEvent(item_id="item_u1", audio_end_ms=2720)
    ]


def test_a_detector_without_padding_is_taken_as_it_is() -> None:
    codec = make_codec()
    one(codec, "session.updated", session={"id": "s", "audio": {"input": {"turn_detection": {"type": "semantic_vad"}}}})
    (event,) = one(codec, "input_audio_buffer.speech_started", audio_start_ms=100, item_id="i")
    assert isinstance(event, ModelEvents.ModelInputStartedEvent)
    assert event.audio_start_ms == 100


def test_items_know_their_predecessor_also_where_done_forgets_it(fixtures_dir: Path) -> None:
    events = decode_all(make_codec(), received(fixtures_dir, "spoken_turn"))
    done = only(events, ModelEvents.ModelItemDoneEvent)
    assert [(event.item.id, event.previous_item_id) for event in done] == [("item_u1", None), ("item_a1", "item_u1")]
    assert done[1].item.content == (ContentPart(type="audio", transcript="Good morning to you."),)


def test_tool_calls_stream_in_parallel_and_complete_once(fixtures_dir: Path) -> None:
    """MEV-09: the input grows. MEV-10: the input parses, also of a call without arguments."""
    codec = make_codec()
    codec.encode(ToolResult(ToolResultBlock(id="call_aaaaaaaaaaaaaaa1", name="get_time")))
    events = decode_all(codec, received(fixtures_dir, "tool_calls"))
    grown = only(events, ModelEvents.ModelResponseToolUseDeltaEvent)
    assert [event.tool_use.input for event in grown] == ['{"city"', '{"city":"Oslo"', '{"city":"Oslo"}']
    assert {(event.tool_use.id, event.tool_use.name) for event in grown} == {("call_aaaaaaaaaaaaaaa1", "get_time")}
    calls = only(events, ModelEvents.ModelResponseToolUseDoneEvent)
    assert [(event.tool_use.name, json.loads(event.tool_use.input), event.output_index) for event in calls] == [
        ("get_time", {"city": "Oslo"}, 1),
        ("get_date", {}, 2),
    ]
    results = [
        event.item.tool_result for event in only(events, ModelEvents.ModelItemDoneEvent) if event.item.tool_result
    ]
    assert [(result.name, result.output) for result in results] == [("get_time", '{"time":"09:00"}'), ("", "Monday")]


def test_a_cancelled_response_closes_and_its_half_call_is_none(fixtures_dir: Path) -> None:
    """MEV-04: cancelled, done once; a cancel that came too late is no error."""
    codec = make_codec()
    events = decode_all(codec, received(fixtures_dir, "cancelled"))
    assert "response_tool_use_done" not in types(events)
    assert "error" not in types(events)
    (done,) = only(events, ModelEvents.ModelResponseDoneEvent)
    assert (done.status, done.status_details) == ("cancelled", {"type": "cancelled", "reason": "client_cancelled"})


@pytest.mark.parametrize(
    ("code", "fault", "retryable"),
    [
        ("unknown_parameter", "server_error", False),
        ("input_audio_buffer_commit_empty", "client_error", False),
        ("conversation_already_has_active_response", "client_error", True),
        ("item_truncate_invalid_item_id", "client_error", False),
        ("cannot_update_voice", "client_error", False),
        ("invalid_value", "client_error", False),
        ("invalid_event", "server_error", False),
        ("server_error", "provider_error", True),
        ("overloaded", "provider_error", True),
        ("rate_limit_exceeded", "provider_error", True),
        ("insufficient_quota", "provider_error", False),
    ],
)
def test_errors_say_whose_fault_and_whether_to_retry(
    fixtures_dir: Path, code: str, fault: str, retryable: bool
) -> None:
    """MEV-15: a provider error frame."""
    events = decode_all(make_codec(), received(fixtures_dir, "errors"))
    error = next(event for event in only(events, ModelEvents.ModelErrorEvent) if event.code == code)
    assert (error.error_type, error.retryable) == (fault, retryable)
    assert error.message


def test_the_end_of_the_hour_is_no_error_since_the_call_goes_on(fixtures_dir: Path) -> None:
    frames = received(fixtures_dir, "errors")
    assert any(b'"session_expired"' in frame for frame in frames)
    codes = [event.code for event in only(decode_all(make_codec(), frames), ModelEvents.ModelErrorEvent)]
    assert "session_expired" not in codes
    verdict = make_codec().closed(1001, "Your session hit the maximum duration of 60 minutes.")
    assert (verdict.code, verdict.reconnect) == ("session_expired", True)


def test_a_failed_response_says_why_and_a_failed_transcription_too(fixtures_dir: Path) -> None:
    events = decode_all(make_codec(), received(fixtures_dir, "errors"))
    assert types(events)[-6:] == [
        "input_transcription_failed",
        "response_created",
        "error",
        "response_done",
        "response_created",
        "response_done",
    ]
    failed, incomplete = only(events, ModelEvents.ModelResponseDoneEvent)
    assert (failed.status, incomplete.status) == ("failed", "incomplete")
    assert (failed.conversation, incomplete.conversation) == ("auto", "none")
    (unheard,) = only(events, ModelEvents.ModelInputTranscriptionFailedEvent)
    assert (unheard.item_id, unheard.code) == ("item_u1", "audio_unintelligible")


def test_a_failure_without_an_error_still_ends_the_response() -> None:
    events = one(
        make_codec(), "response.done", response={"id": "r", "status": "failed", "status_details": {"error": 7}}
    )
    assert types(events) == ["error", "response_done"]


def test_what_was_heard_comes_back_with_the_truncation(fixtures_dir: Path) -> None:
    codec = make_codec()
    codec.encode(ItemTruncate("item_a1", 250, "Once upon"))
    events = decode_all(codec, received(fixtures_dir, "cancelled"))
    assert only(events, ModelEvents.ModelItemTruncatedEvent) == [
        ModelEvents.ModelItemTruncatedEvent(item_id="item_a1", audio_end_ms=250, transcript="Once upon")
    ]


def test_items_are_read_back_in_our_words(fixtures_dir: Path) -> None:
    events = decode_all(make_codec(), received(fixtures_dir, "rest"))
    assert events == [
        ModelEvents.ModelItemRetrievedEvent(
            item=Item(id="item_u1", role="user", content=(ContentPart(type="audio", transcript="Hello."),))
        ),
        ModelEvents.ModelItemDeletedEvent(item_id="item_u1"),
        ModelEvents.ModelInputClearedEvent(),
    ]


def test_the_effective_settings_are_told_in_our_words(fixtures_dir: Path) -> None:
    events = decode_all(make_codec(), received(fixtures_dir, "spoken_turn")[:2])
    assert events[1] == ModelEvents.ModelSessionUpdatedEvent(
        settings={
            "model": "gpt-realtime-2.1",
            "instructions": "Answer in one short sentence.",
            "output_modalities": ["audio"],
            "voice": "marin",
            "tools": [],
            "turn_detection": {"type": "server_vad", "prefix_padding_ms": 300, "silence_duration_ms": 500},
            "input_audio_transcription": True,
            "max_output_tokens": None,
            "expires_at": 1800003600,
        }
    )


# Rules that hold for every frame.


@given(pcm=st.binary(max_size=400), cuts=st.lists(st.integers(0, 400), max_size=6))
def test_audio_cut_at_any_byte_is_the_same_audio(pcm: bytes, cuts: list[int]) -> None:
    codec = make_codec()
    edges = [0, *sorted(min(cut, len(pcm)) for cut in cuts), len(pcm)]
    events: list[ModelEvent] = []
    for start, end in pairwise(edges):
        delta = pybase64.b64encode_as_string(pcm[start:end])
        events += one(codec, "response.output_audio.delta", **PLACE, delta=delta)
    deltas = [event.delta for event in only(events, ModelEvents.ModelResponseAudioDeltaEvent)]
    assert all(len(delta) % 2 == 0 for delta in deltas)
    assert b"".join(deltas) == pcm[: len(pcm) // 2 * 2]


@pytest.mark.parametrize(
    "frame",
    [
        '{"type":"response.output_audio.delta","response_id":"r","item_id":"i","output_index":1,"delta":"AAAB"}',
        '{"type":"response.output_audio.delta","response_id":"r","delta":"AAAB","item_id":"i","output_index":1}',
        '{"type": "response.output_audio.delta", "response_id": "r","item_id": "i","output_index": 1, "delta": "AAAB"}',
        '{"delta":"AAAB","response_id":"r","item_id":"i","output_index":1,"type":"response.output_audio.delta"}',
        '{"type":"response.output_audio.delta","response_id":"r","item_id":"i","output_index":1,"delta":"AA\\u0041B"}',
        '{"type":"response.output_audio.delta","response_id":"r","item_id":"i","output_index":1,"delta":"AAAB","x":"y"}',
    ],
)
def test_an_audio_delta_is_read_in_any_spelling(frame: str) -> None:
    codec = make_codec()
    (event,) = codec.decode(frame)
    assert isinstance(event, ModelEvents.ModelResponseAudioDeltaEvent)
    assert (event.response_id, event.item_id, event.output_index, event.delta) == ("r", "i", 1, b"\0\0")


ids = st.sampled_from(["event_1", "event_2", "", 'a"b', "\\", '","response_id":"r2"', '"event_id":"', "\n", "\u00fc"])
names = st.sampled_from(["r", "r2", 'i"', "event_id"])


@given(
    st.lists(
        st.builds(
            lambda order, event_id, response_id, item_id, index, pcm: {
                name: {
                    "type": "response.output_audio.delta",
                    "event_id": event_id,
                    "response_id": response_id,
                    "item_id": item_id,
                    "output_index": index,
                    "delta": pybase64.b64encode_as_string(pcm),
                }[name]
                for name in order
            },
            st.sampled_from(
                [
                    ("type", "event_id", "response_id", "item_id", "output_index", "delta"),
                    ("type", "response_id", "item_id", "output_index", "event_id", "delta"),
                    ("event_id", "type", "response_id", "item_id", "output_index", "delta"),
                    ("type", "response_id", "item_id", "delta", "output_index", "event_id"),
                    ("type", "response_id", "item_id", "output_index", "delta"),
                ]
            ),
            ids,
            names,
            names,
            st.integers(0, 1),
            st.sampled_from([b"", b"\1\2", b"\3\4\5\6"]),
        ),
        max_size=8,
    )
)
def test_an_audio_delta_says_the_same_whatever_came_before_it(frames: list[Json]) -> None:
    codec = make_codec()
    for frame in frames:
        assert codec.decode(dump(frame)) == make_codec().decode(dump(frame))


def test_a_delta_whose_payload_is_no_base64_is_refused_also_behind_good_ones() -> None:
    codec = make_codec()
    good = dump({"type": "response.output_audio.delta", "event_id": "e"} | PLACE | {"delta": "AAAA"})
    assert len(codec.decode(good)) == len(codec.decode(good)) == 1
    assert codec.decode(good.replace("AAAA", "A?AA")) == []
    assert codec.reader.broken_frames == 1


def test_text_is_read_as_str_bytes_or_bytearray() -> None:
    frame = dump({"type": "response.output_audio.delta"} | PLACE | {"delta": "AAAA"})
    spellings: list[str | bytes] = [frame, frame.encode(), cast(bytes, bytearray(frame.encode()))]
    first, *others = [make_codec().decode(spelling) for spelling in spellings]
    assert types(first) == ["response_audio_delta"]
    assert others == [first, first]


def test_words_that_quote_a_frame_type_are_words() -> None:
    (event,) = one(
        make_codec(), "response.output_text.delta", **PLACE, delta='"response.output_audio.delta","delta":"AAAA"}'
    )
    assert isinstance(event, ModelEvents.ModelResponseTextDeltaEvent)
    assert event.delta == '"response.output_audio.delta","delta":"AAAA"}'


@pytest.mark.parametrize(
    ("frame", "unknown", "broken"),
    [
        (b"", 0, 1),
        (b"not json", 0, 1),
        (b"[1]", 0, 1),
        (b"\xff\xfe", 0, 1),
        (b"[" * 100_000, 0, 1),
        (b'{"type":7}', 0, 1),
        (b'{"type":"response.of.the.future"}', 1, 0),
        (b'{"type":"input_audio_buffer.speech_started","item_id":"i"}', 0, 1),
        (b'{"type":"response.output_audio.delta","response_id":"r","item_id":"i","delta":"%%%"}', 0, 1),
        (b'{"type":"rate_limits.updated"}', 0, 0),
    ],
)
def test_frames_that_cannot_be_read_are_counted_and_ignored(frame: bytes, unknown: int, broken: int) -> None:
    codec = make_codec()
    assert codec.decode(frame) == []
    assert (codec.reader.unknown_frames, codec.reader.broken_frames) == (unknown, broken)


FIELDS = st.sampled_from(
    [
        *(None, True, -1, 2**70, 1.5, "", "x", "%%%", "AAA=", [], {}, [1], {"id": "x"}, {"id": 1}, {"type": "x"}),
        {"id": "x", "status": "failed", "status_details": {"error": [1]}, "usage": {"input_tokens": None}},
        {"type": "message", "content": [{"type": "input_text"}, {"type": "odd"}]},
        {"type": "function_call", "status": "in_progress"},
        {"type": "function_call_output", "output": None},
        {"audio": {"input": {"turn_detection": {"prefix_padding_ms": None}}, "output": {"voice": {}}}, "tools": [{}]},
        {"code": None, "type": None, "message": None},
    ]
)
NAMES = st.sampled_from(
    [
        "session",
        "item",
        "item_id",
        "response",
        "response_id",
        "delta",
        "error",
        "audio_start_ms",
        "call_id",
        "output_index",
    ]
)


@given(kind=st.sampled_from(sorted(wire.FLAVOUR.all_types)), fields=st.dictionaries(NAMES, FIELDS, max_size=6))
def test_no_field_of_any_frame_can_make_it_raise(kind: str, fields: Json) -> None:
    codec = make_codec()
    for event in one(codec, kind, **fields):
        assert event.model_dump()["type"].startswith("model_")


@given(st.binary(max_size=200))
def test_no_bytes_can_make_it_raise(frame: bytes) -> None:
    assert make_codec().decode(frame) == []


def test_memory_does_not_grow_with_the_session() -> None:
    codec = make_codec()
    for number in range(1000):
        place = PLACE | {"item_id": f"item_{number}"}
        one(codec, "response.output_audio.delta", **place, delta="AAA=")
        one(codec, "response.output_audio.done", **place)
    assert len(codec._sounds) == 64
    assert not any(sound.odd for sound in codec._sounds.values())


# How it ends.


@pytest.mark.parametrize(
    ("code", "reason", "verdict", "reconnect"),
    [
        (1000, "", "closed", False),
        (1001, "Your session hit the maximum duration of 60 minutes.", "session_expired", True),
        (1001, "", "provider_going_away", True),
        (None, "", "link_lost", True),
        (1005, "", "link_lost", True),
        (1006, "", "link_lost", True),
        (1011, "keepalive ping timeout", "link_lost", True),
        (1012, "", "link_lost", True),
        (1013, "", "link_lost", True),
        (1008, "", "provider_closed", False),
        (3000, "invalid_request_error.invalid_api_key", "invalid_api_key", False),
        (3000, "invalid_request_error.model_not_found", "model_not_found", False),
        (4000, "invalid_request_error.beta_api_shape_disabled", "beta_api_shape_disabled", False),
        (3000, "invalid_request_error.session_expired", "session_expired", True),
        (3000, "Some sentence. With a stop.", "provider_closed", False),
    ],
)
def test_what_a_close_means(code: int | None, reason: str, verdict: str, reconnect: bool) -> None:
    said = make_codec().closed(code, reason)
    assert (said.code, said.reconnect) == (verdict, reconnect)
    assert said.message


def test_a_fatal_error_makes_any_close_final() -> None:
    codec = make_codec()
    one(codec, "error", error={"type": "x", "code": "insufficient_quota", "message": "no money"})
    assert codec.closed(1006, "").reconnect is False
    assert codec.closed(1006, "").code == "insufficient_quota"
    response = {"id": "resp_1", "object": "realtime.response", "status": "completed", "output": []}
    one(codec, "response.done", response=response)
    assert codec.closed(1006, "").reconnect, "it answers again: the account was topped up"


def test_the_beta_header_is_never_sent_and_the_key_never_shown() -> None:
    address = make_codec().address(Settings())
    assert [name for name, _ in address.headers] == ["Authorization"]
    assert KEY not in repr(address)


@given(st.text(max_size=30), st.text(max_size=30))
def test_errors_never_repeat_the_key(before: str, after: str) -> None:
    """Not even where the service quotes it."""
    (error,) = one(make_codec(), "error", error={"code": "odd", "message": f"{before}{KEY}{after}"})
    assert isinstance(error, ModelEvents.ModelErrorEvent)
    assert KEY not in error.message
