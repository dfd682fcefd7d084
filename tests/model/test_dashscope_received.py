"""The DashScope codec on what the service says: our own frames in `fixtures/models/dashscope`, and broken ones.

The frames have the shapes that the provider documents and public clients handle; no recording of the service exists.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pybase64
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.event import Item, ModelEvent, ModelEvents
from realtime.event.base import ContentPart
from realtime.model.base import Settings
from realtime.model.openai_family import dashscope_frames as wire
from tests.model.dashscope_frames import (
    KEY,
    PLACE,
    Json,
    decode_all,
    make_codec,
    one,
    received,
    responding,
)
from tests.model.openai_frames import only, types

FIXTURES = ("spoken_turn", "text_turn", "tool_calls", "cancelled", "errors", "rest")


def test_every_kind_of_frame_is_in_our_fixtures(fixtures_dir: Path) -> None:
    frames = [frame for name in FIXTURES for frame in received(fixtures_dir, name)]
    assert {json.loads(frame)["type"] for frame in frames} == wire.FLAVOUR.all_types


def test_a_spoken_turn(fixtures_dir: Path) -> None:
    """MEV-01: the session's id. MEV-03: created before any delta. MEV-04: done once, after all.
    MEV-05: pcm16 at 24 kHz, whole samples from odd chunks. MEV-06, MEV-08: done after the last delta.
    MEV-07: the words make the sentence. MEV-11, MEV-12: the user's words from cumulative frames."""
    frames = received(fixtures_dir, "spoken_turn")
    events = decode_all(make_codec(), frames)
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
        "response_audio_delta",
        "response_audio_transcript_delta",
        "response_audio_delta",
        "input_transcription_delta",
        "input_transcription_done",
        "response_audio_delta",
        "response_audio_transcript_done",
        "response_audio_done",
        "item_done",
        "response_done",
    ]
    assert events[0] == ModelEvents.ModelSessionCreatedEvent(session_id="sess_fixture1")
    deltas = only(events, ModelEvents.ModelResponseAudioDeltaEvent)
    raw = b"".join(pybase64.b64decode(json.loads(frame)["delta"]) for frame in frames if b"audio.delta" in frame)
    assert [len(event.delta) for event in deltas] == [1920, 2080, 1760]
    assert b"".join(event.delta for event in deltas) == raw
    assert {event.format.rate_hz(0) for event in deltas} == {24_000}
    heard = only(events, ModelEvents.ModelInputTranscriptionDeltaEvent)
    assert [event.delta for event in heard] == ["Good", " morning", "."]
    done = events[-1]
    assert isinstance(done, ModelEvents.ModelResponseDoneEvent)
    assert (done.input_tokens, done.output_tokens, done.status) == (40, 20, "completed")
    assert done.usage_detail is not None
    assert (done.usage_detail.input_image_tokens, done.usage_detail.output_audio_tokens) == (4, 15)


def test_speech_is_reported_where_the_service_found_it(fixtures_dir: Path) -> None:
    """MEV-13, MEV-14: as documented, both times count from the first audio, without padding."""
    events = decode_all(make_codec(), received(fixtures_dir, "spoken_turn"))
    assert only(events, ModelEvents.ModelInputStartedEvent) == [
        ModelEvents.ModelInputStartedEvent(item_id="item_u1", audio_start_ms=1460)
    ]
    assert only(events, ModelEvents.ModelInputDoneEvent) == [
        ModelEvents.ModelInputDoneEvent(item_id="item_u1", audio_end_ms=3220)
    ]


def test_the_session_stands_once_it_has_our_settings(fixtures_dir: Path) -> None:
    """Audio before that would freeze the formats of its own."""
    codec = make_codec()
    created, updated, *_ = received(fixtures_dir, "spoken_turn")
    assert codec.decode(created) == []
    session, settings = codec.decode(updated)
    assert isinstance(session, ModelEvents.ModelSessionCreatedEvent)
    assert isinstance(settings, ModelEvents.ModelSessionUpdatedEvent)
    assert settings.settings | {"turn_detection": None} == {
        "model": "qwen3.5-omni-flash-realtime",
        "instructions": "Answer in one short sentence.",
        "output_modalities": ["text", "audio"],
        "voice": "Tina",
        "tools": [],
        "turn_detection": None,
        "input_audio_transcription": True,
        "temperature": 0.7,
        "max_output_tokens": None,
    }
    assert settings.settings["turn_detection"]["silence_duration_ms"] == 800
    assert types(codec.decode(updated)) == ["session_updated"]


def test_a_session_that_refuses_our_settings_stands_with_its_own(fixtures_dir: Path) -> None:
    codec = make_codec()
    codec.decode(received(fixtures_dir, "spoken_turn")[0])
    refused = {"type": "invalid_request_error", "code": "invalid_value", "message": "no such voice", "param": "voice"}
    assert types(one(codec, "error", error=refused)) == ["session_created", "error"]


def test_settings_of_the_newest_models_are_read_too() -> None:
    tool = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
    session = {"id": "s", "audio": {"output": {"voice": "Tina"}}, "tools": [tool, {"type": "mcp"}]}
    event = one(make_codec(), "session.updated", session=session)[1]
    assert isinstance(event, ModelEvents.ModelSessionUpdatedEvent)
    assert event.settings["voice"] == "Tina"
    assert event.settings["tools"] == [{"name": "f", "description": "d", "parameters": {"type": "object"}}]
    assert event.settings["turn_detection"] == "none"


def test_words_that_stay_uncertain_are_not_told_twice() -> None:
    codec = make_codec()
    kind, where = "conversation.item.input_audio_transcription", {"item_id": "u", "content_index": 0}
    said = [
        event
        for text, stash in [("", "what"), ("What is", " the"), ("What is", " the weather"), ("What", "")]
        for event in one(codec, f"{kind}.delta", **where, text=text, stash=stash)
    ]
    assert [event.delta for event in only(said, ModelEvents.ModelInputTranscriptionDeltaEvent)] == ["What is"]
    done = one(codec, f"{kind}.completed", **where, transcript="What is the weather?")
    assert types(done) == ["input_transcription_delta", "input_transcription_done"]
    assert types(one(codec, f"{kind}.completed", **where, transcript="Again.")) == ["input_transcription_done"]


def test_words_of_the_user_that_were_not_asked_for_are_not_told() -> None:
    codec = make_codec()
    codec.opening(Settings(input_audio_transcription=False), [])
    kind = "conversation.item.input_audio_transcription"
    assert one(codec, f"{kind}.delta", item_id="u", text="Good", stash="") == []
    assert one(codec, f"{kind}.completed", item_id="u", transcript="Good.") == []


def test_a_written_answer(fixtures_dir: Path) -> None:
    events = decode_all(make_codec(), received(fixtures_dir, "text_turn"))
    assert [event.delta for event in only(events, ModelEvents.ModelResponseTextDeltaEvent)] == ["Hel", "lo."]
    user, assistant = only(events, ModelEvents.ModelItemDoneEvent)
    assert user.item.content == (ContentPart(type="text", text="hello"),)
    assert assistant.item.content == (ContentPart(type="text", text="Hello."),)


def test_tool_calls_stream_in_parallel_and_complete_once(fixtures_dir: Path) -> None:
    """MEV-09: the input grows. MEV-10: the input parses, also of a call without arguments."""
    events = decode_all(make_codec(), received(fixtures_dir, "tool_calls"))
    grown = only(events, ModelEvents.ModelResponseToolUseDeltaEvent)
    assert [event.tool_use.input for event in grown] == ['{"city"', '{"city":"Oslo"', '{"city":"Oslo"}']
    assert {(event.tool_use.id, event.tool_use.name) for event in grown} == {("call_1", "get_time")}
    calls = only(events, ModelEvents.ModelResponseToolUseDoneEvent)
    assert [(event.tool_use.id, event.tool_use.name, event.tool_use.input, event.output_index) for event in calls] == [
        ("call_1", "get_time", '{"city":"Oslo"}', 0),
        ("call_2", "get_date", "{}", 1),
    ]
    results = [
        event.item.tool_result for event in only(events, ModelEvents.ModelItemDoneEvent) if event.item.tool_result
    ]
    assert [(result.name, result.output) for result in results] == [("get_time", "09:00"), ("get_date", "Monday")]


def test_a_call_whose_item_never_ends_stands_with_its_response() -> None:
    done = {"call_id": "c", "name": "f", "arguments": "{}"}
    for status, names in (("completed", ["response_tool_use_done", "response_done"]), ("cancelled", ["response_done"])):
        codec = responding()
        assert one(codec, "response.function_call_arguments.done", **PLACE, **done) == []
        assert types(one(codec, "response.done", response={"id": "r", "status": status})) == names


def test_a_call_that_is_only_told_by_its_item_is_one_and_a_half_call_is_none() -> None:
    call = {"id": "i", "type": "function_call", "name": "f", "call_id": "c", "arguments": ""}
    for status, count in (("completed", 1), ("incomplete", 0)):
        events = one(responding(), "response.output_item.done", response_id="r", item=call | {"status": status})
        calls = only(events, ModelEvents.ModelResponseToolUseDoneEvent)
        assert [event.tool_use.input for event in calls] == ["{}"] * count


def test_what_a_cancelled_response_still_says_is_dropped(fixtures_dir: Path) -> None:
    """MEV-04: each of the four is done once: by the detector, without its id, superseded, in the end completed."""
    codec = make_codec()
    events = decode_all(codec, received(fixtures_dir, "cancelled"))
    done = only(events, ModelEvents.ModelResponseDoneEvent)
    assert [(event.response_id, event.status, (event.status_details or {}).get("reason")) for event in done] == [
        ("resp_1", "cancelled", "turn_detected"),
        ("resp_2", "cancelled", None),
        ("resp_3", "cancelled", "superseded"),
        ("resp_4", "completed", None),
    ]
    words = only(events, ModelEvents.ModelResponseAudioTranscriptDeltaEvent)
    assert [event.delta for event in words] == ["Once upon a time", "Well"]
    assert codec.late_frames == 3
    assert "error" not in types(events), "a cancel that came too late is no error"


@pytest.mark.parametrize(
    ("code", "fault", "retryable"),
    [
        ("conversation_already_has_active_response", "client_error", True),
        ("bad_response_create", "client_error", True),
        ("unknown_tool_call", "client_error", False),
        ("image_before_audio", "client_error", False),
        ("invalid_value", "client_error", False),
        ("content_refused", "client_error", False),
        ("server_error", "provider_error", True),
        ("response_timeout", "provider_error", True),
        ("rate_limit_exceeded", "provider_error", True),
        ("provider_unavailable", "provider_error", True),
        ("provider_timeout", "provider_error", True),
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


def test_every_error_has_a_code_of_ours(fixtures_dir: Path) -> None:
    codec = make_codec()
    codes = [
        event.code for event in only(decode_all(codec, received(fixtures_dir, "errors")), ModelEvents.ModelErrorEvent)
    ]
    assert len(codes) == 20
    assert {"provider_error", "invalid_request_error"}.isdisjoint(codes)
    assert [
        event.code
        for error in ({"code": "Odd.NewCode"}, {"type": "Odd"}, {}, {"code": "..."})
        for event in only(one(codec, "error", error=error), ModelEvents.ModelErrorEvent)
    ] == ["odd_new_code", "odd", "provider_error", "provider_error"]


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
    (unheard,) = only(events, ModelEvents.ModelInputTranscriptionFailedEvent)
    assert (unheard.item_id, unheard.code) == ("item_u1", "audio_unintelligible")


def test_a_failure_without_an_error_still_ends_the_response() -> None:
    events = one(responding(), "response.done", response={"status": "failed", "status_details": {"error": 7}})
    assert types(events) == ["error", "response_done"]


def test_items_are_read_back_in_our_words(fixtures_dir: Path) -> None:
    events = decode_all(make_codec(), received(fixtures_dir, "rest"))
    assert events == [
        ModelEvents.ModelItemRetrievedEvent(
            item=Item(id="item_u1", role="user", content=(ContentPart(type="audio", transcript="Hello."),))
        ),
        ModelEvents.ModelItemDeletedEvent(item_id="item_u1"),
        ModelEvents.ModelInputClearedEvent(),
    ]


def test_older_models_speak_at_their_own_rate() -> None:
    (event,) = one(responding(model="qwen-omni-turbo-realtime"), "response.audio.delta", **PLACE, delta="AAAA")
    assert isinstance(event, ModelEvents.ModelResponseAudioDeltaEvent)
    assert event.format.rate_hz(0) == 16_000


# Rules that hold for every frame.


@given(pcm=st.binary(max_size=400), cuts=st.lists(st.integers(0, 400), max_size=6))
def test_audio_cut_at_any_byte_is_the_same_audio(pcm: bytes, cuts: list[int]) -> None:
    codec = responding()
    edges = [0, *sorted(min(cut, len(pcm)) for cut in cuts), len(pcm)]
    events: list[ModelEvent] = []
    for start, end in pairwise(edges):
        delta = pybase64.b64encode_as_string(pcm[start:end])
        events += one(codec, "response.audio.delta", **PLACE, delta=delta)
    deltas = [event.delta for event in only(events, ModelEvents.ModelResponseAudioDeltaEvent)]
    assert all(len(delta) % 2 == 0 for delta in deltas)
    assert b"".join(deltas) == pcm[: len(pcm) // 2 * 2]


@pytest.mark.parametrize(
    "frame",
    [
        '{"event_id":"e","type":"response.audio.delta","response_id":"r","item_id":"i","output_index":1,"delta":"AAAB"}',
        '{"delta":"AAAB","response_id":"r","item_id":"i","output_index":1,"type":"response.audio.delta"}',
        '{"type":"response.audio.delta","response_id":"r","delta":"AAAB","item_id":"i","output_index":1}',
        '{"type": "response.audio.delta", "response_id": "r","item_id": "i","output_index": 1, "delta": "AAAB"}',
        '{"type":"response.audio.delta","response_id":"r","item_id":"i","output_index":1,"delta":"AA\\u0041B"}',
        '{"x":{"delta":"BBBB"},"type":"response.audio.delta","response_id":"r","item_id":"i","output_index":1,"delta":"AAAB"}',
        '{"x":"\\"delta\\":\\"BBBB","type":"response.audio.delta","response_id":"r","item_id":"i","output_index":1,"delta":"AAAB"}',
    ],
)
def test_an_audio_delta_is_read_in_any_order_and_spelling(frame: str) -> None:
    for spelling in (frame, frame.encode(), bytearray(frame.encode())):
        (event,) = responding().decode(spelling)  # type: ignore[arg-type]
        assert isinstance(event, ModelEvents.ModelResponseAudioDeltaEvent)
        assert (event.response_id, event.item_id, event.output_index, event.delta) == ("r", "i", 1, b"\0\0")


def test_words_that_quote_a_frame_type_are_words() -> None:
    (event,) = one(responding(), "response.text.delta", **PLACE, delta='"response.audio.delta","delta":"AAAA"}')
    assert isinstance(event, ModelEvents.ModelResponseTextDeltaEvent)
    assert event.delta == '"response.audio.delta","delta":"AAAA"}'


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
        (b'{"type":"response.audio.delta","response_id":"r","item_id":"i","delta":"%%%"}', 0, 1),
        (b'{"type":"response.audio.delta","response_id":"r","item_id":"i","delta":"AAAA', 0, 1),
        (b'{"type":"rate_limits.updated"}', 0, 0),
    ],
)
def test_frames_that_cannot_be_read_are_counted_and_ignored(frame: bytes, unknown: int, broken: int) -> None:
    """RTM-24: unknown messages and broken JSON cost nothing but a debug line."""
    codec = responding()
    assert codec.decode(frame) == []
    assert (codec.reader.unknown_frames, codec.reader.broken_frames) == (unknown, broken)


FIELDS: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, -1, 2**70, 1.5, "", "x", "r", "%%%", "AAA=", [], {}, [1], {"id": "x"}, {"id": 1}, {"type": "x"}),
        {"id": "r", "status": "failed", "status_details": {"error": [1]}, "usage": {"input_tokens": None}},
        {"type": "message", "content": [{"type": "input_text"}, {"type": "odd"}]},
        {"type": "function_call", "status": "in_progress"},
        {"type": "function_call_output", "output": None},
        {"turn_detection": None, "tools": [{}, {"function": {}}], "audio": {"output": None}},
        {"code": None, "type": None, "message": None},
        {"type": "invalid_request_error", "code": "Throttling.X"},
    ]
)
NAMES = st.sampled_from(
    [
        *("session", "item", "item_id", "response", "response_id", "delta", "error", "audio_start_ms", "audio_end_ms"),
        *("call_id", "output_index", "text", "transcript", "arguments", "name"),
    ]
)


@given(kind=st.sampled_from(sorted(wire.FLAVOUR.all_types)), fields=st.dictionaries(NAMES, FIELDS, max_size=6))
def test_no_field_of_any_frame_can_make_it_raise(kind: str, fields: Json) -> None:
    """RTM-24: frames of every known type with any fields."""
    for codec in (make_codec(), responding()):
        for event in one(codec, kind, **fields):
            assert event.model_dump()["type"].startswith("model_")


@given(st.lists(st.tuples(st.sampled_from(sorted(wire.FLAVOUR.all_types)), st.dictionaries(NAMES, FIELDS, max_size=6))))
def test_no_series_of_frames_breaks_the_order_of_responses(frames: list[tuple[str, Json]]) -> None:
    codec = make_codec()
    events = [event for kind, fields in frames for event in one(codec, kind, **fields)]
    running: list[str] = []
    for event in events:
        if isinstance(event, ModelEvents.ModelResponseCreatedEvent):
            running.append(event.response_id)
        elif (response_id := getattr(event, "response_id", None)) is not None:
            assert running == [response_id]
            if isinstance(event, ModelEvents.ModelResponseDoneEvent):
                running.clear()


@given(st.one_of(st.binary(max_size=200), st.text(max_size=100)))
def test_no_bytes_can_make_it_raise(frame: bytes | str) -> None:
    """RTM-24: anything at all."""
    assert make_codec().decode(frame) == []


def test_memory_does_not_grow_with_the_session() -> None:
    codec = make_codec()
    kind = "conversation.item.input_audio_transcription"
    for number in range(200):
        one(codec, "response.created", response={"id": "r"})
        place = PLACE | {"item_id": f"item_{number}"}
        item = {"id": f"item_{number}", "type": "function_call", "call_id": f"c{number}", "name": "f"}
        one(codec, f"{kind}.delta", item_id=f"u{number}", text="Good")
        one(codec, f"{kind}.completed", item_id=f"u{number}", transcript="Good")
        one(codec, "response.output_item.added", response_id="r", item=item)
        one(codec, "response.function_call_arguments.delta", **place, call_id=f"c{number}", delta="{}")
        one(codec, "response.audio.delta", **place, delta="AAAAAA==")
        one(codec, "response.audio.delta", **place, delta="AA==")
        one(codec, "response.output_item.done", response_id="r", item=item)
        one(codec, "response.done", response={"id": "r"})
        output = {"id": f"o{number}", "type": "function_call_output", "status": "completed", "call_id": f"c{number}"}
        one(codec, "conversation.item.created", item=output)
    held = (codec._sounds, codec._outputs, codec._growing, codec._complete, codec._calls, codec._certain)
    assert [len(kept) for kept in held] == [0] * 6


# How it ends.


@pytest.mark.parametrize(
    ("code", "reason", "verdict", "reconnect"),
    [
        (1000, "", "provider_going_away", True),
        (1001, "", "provider_going_away", True),
        *[(code, "", "link_lost", True) for code in (None, 1005, 1006, 1007, 1009, 1011, 1012, 1013)],
        (1008, "", "provider_closed", False),
        (3000, "", "provider_closed", False),
        (1007, "InvalidApiKey: Invalid API-key provided.", "invalid_api_key", False),
        (1007, "AccessDenied.Unpurchased", "access_denied", False),
        (1011, "Arrearage", "insufficient_quota", False),
        (1011, "Throttling.RateQuota", "rate_limit_exceeded", True),
        (1011, "InternalError", "server_error", True),
        (1011, "Model serving stopped", "link_lost", True),
    ],
)
def test_what_a_close_means(code: int | None, reason: str, verdict: str, reconnect: bool) -> None:
    said = make_codec().closed(code, reason)
    assert (said.code, said.reconnect) == (verdict, reconnect)
    assert said.message


def test_a_close_for_idleness_is_answered_by_a_new_session_without_an_error(fixtures_dir: Path) -> None:
    codec = make_codec()
    assert codec.decode(received(fixtures_dir, "errors")[-1]) == []
    assert (codec.closed(1000, "").code, codec.closed(1000, "").reconnect) == ("response_idle_timeout", True)


@pytest.mark.parametrize(
    ("code", "ours"),
    [
        ("InvalidApiKey", "invalid_api_key"),
        ("AccessDenied.Unpurchased", "access_denied"),
        ("Model.NotExist", "model_not_found"),
        ("Arrearage", "insufficient_quota"),
    ],
)
def test_a_fatal_error_makes_any_close_final(code: str, ours: str) -> None:
    codec = make_codec()
    one(codec, "session.created", session={"id": "s"})
    refused = {"type": "invalid_request_error", "code": code, "message": f"about {KEY}"}
    (error,) = one(codec, "error", error=refused)
    assert isinstance(error, ModelEvents.ModelErrorEvent)
    assert (error.code, error.retryable, KEY in error.message) == (ours, False, False)
    assert (codec.closed(1006, "").code, codec.closed(1006, "").reconnect) == (ours, False)


@given(st.text(max_size=30), st.text(max_size=30))
def test_errors_never_repeat_the_key(before: str, after: str) -> None:
    """Not even where the service quotes it."""
    for error in one(make_codec(), "error", error={"code": "odd", "message": f"{before}{KEY}{after}"}):
        assert isinstance(error, ModelEvents.ModelErrorEvent)
        assert KEY not in error.message
