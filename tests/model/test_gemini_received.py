"""The Gemini codec on frames: our own in `fixtures/models/gemini`, and the recorded ones of the real service."""

from __future__ import annotations

import json
from pathlib import Path

import pybase64
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from realtime.event import ModelEvents
from realtime.event.base import ContentPart, Item, UsageDetail
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.model.base import (
    AudioAppend,
    AudioCommit,
    ItemCreate,
    ModelInput,
    ResponseCancel,
    ResponseCreate,
    Settings,
    ToolResult,
)
from realtime.model.gemini.model import GeminiCodec, Resumption
from tests.model.gemini_frames import (
    Json,
    content,
    decode_all,
    fresh_codec,
    hear,
    make_codec,
    only,
    received,
    rows,
    say,
    types,
    wired,
)
from tests.model.grammar import check_grammar

FIXTURES = ("spoken_turn", "text_turn", "tool_calls", "interrupted", "rest")
RECORDINGS = ("text_in_audio_out_turn", "tool_call_round", "message_history_seeding")
MANUAL = Settings(turn_detection="none")
PCM = b"\x01\x02" * 160


def opened(settings: Settings | None = None) -> GeminiCodec:
    codec = fresh_codec()
    codec.opening(settings or Settings(), ())
    return codec


# What the service says.


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_recorded_frame_is_known_and_every_answer_well_formed(recordings_dir: Path, name: str) -> None:
    codec = opened()
    frames = [wired(frame) for direction, frame in recorded(recordings_dir, name) if direction == "received"]
    events = [event for frame in frames for event in codec.decode(pad(frame))]
    check_grammar(events, output_rate_hz=24_000)
    assert (codec.reader.unknown_frames, codec.reader.broken_frames) == (0, 0)
    assert only(events, ModelEvents.ModelSessionCreatedEvent)
    assert only(events, ModelEvents.ModelResponseAudioDeltaEvent)
    (done,) = only(events, ModelEvents.ModelResponseDoneEvent)[-1:]
    assert (done.status, done.input_tokens > 1000, done.output_tokens > 20) == ("completed", True, True)


@pytest.mark.parametrize("name", RECORDINGS)
def test_what_was_recorded_as_sent_is_what_we_send(recordings_dir: Path, name: str) -> None:
    check_sent(recorded(recordings_dir, name))


@pytest.mark.parametrize("name", FIXTURES)
def test_what_stands_in_our_frames_as_sent_is_what_we_send(fixtures_dir: Path, name: str) -> None:
    check_sent(rows(fixtures_dir, name))


def recorded(recordings_dir: Path, name: str) -> list[tuple[str, Json]]:
    text = (recordings_dir / "recordings" / f"gemini-{name}.yaml").read_text(encoding="utf-8")
    return [(row["direction"], row["data"]) for row in yaml.safe_load(text)["interactions"]]


def pad(frame: bytes) -> bytes:
    """The recordings cut payloads anywhere, also inside four characters of base64."""
    said = json.loads(frame)
    for part in said.get("serverContent", {}).get("modelTurn", {}).get("parts", ()):
        data = part.get("inlineData", {}).get("data")
        if data is not None:
            part["inlineData"]["data"] = data[: len(data) // 4 * 4]
    return wired(said)


def check_sent(session: list[tuple[str, Json]]) -> None:
    """Our codec, led through the session, sends the same; it asks for resumption and compression besides."""
    setup = session[0][1]["setup"]
    instructions = setup.get("systemInstruction", {"parts": [{"text": ""}]})["parts"][0]["text"]
    seed = [content for _, frame in session if (content := seed_of(frame)) is not None]
    codec = fresh_codec()
    history = [as_item(turn) for turns in seed for turn in turns]
    (first,) = codec.opening(Settings(instructions=instructions), history)
    ours = json.loads(first)["setup"]
    assert (ours.pop("sessionResumption"), ours.pop("contextWindowCompression")) == ({}, {"slidingWindow": {}})
    setup = {key: value for key, value in setup.items() if key != "tools"}
    assert ours == setup
    said: list[Json] = []
    expected: list[Json] = []
    for direction, frame in session[1:]:
        if direction == "received":
            codec.decode(wired(frame))
            continue
        (body,) = frame.values()
        expected.append({"toolResponse" if "functionResponses" in body else "clientContent": body})
        if "functionResponses" in body:
            for one in body["functionResponses"]:
                ((state, output),) = one["response"].items()
                result = ToolResultBlock(
                    id=one["id"], name=one["name"], output=output, state="success" if state == "output" else "error"
                )
                said += say(codec, ToolResult(result))
        elif body["turnComplete"]:
            said += say(codec, *(ItemCreate(as_item(turn)) for turn in body["turns"]), ResponseCreate())
    assert said == expected


def seed_of(frame: Json) -> list[Json] | None:
    body = frame.get("client_content") or frame.get("clientContent")
    turns: list[Json] | None = None if body is None or body["turnComplete"] else body["turns"]
    return turns


def as_item(turn: Json) -> Item:
    (part,) = turn["parts"]
    role = "assistant" if turn["role"] == "model" else "user"
    return Item(id="", role=role, content=(ContentPart(type="text", text=part["text"]),))  # type: ignore[arg-type]


def test_our_frames_are_those_of_the_official_sdk(fixtures_dir: Path) -> None:
    """The SDK reads every key of our server frames, and they show every kind of message it has."""
    sdk = pytest.importorskip("google.genai.types")
    seen: set[str] = set()
    for name in FIXTURES:
        for direction, frame in rows(fixtures_dir, name):
            if direction == "received":
                message = sdk.LiveServerMessage.model_validate(frame)
                assert not message.model_extra
                seen |= message.model_fields_set
    assert seen == set(sdk.LiveServerMessage.model_fields)


def test_a_spoken_turn(fixtures_dir: Path) -> None:
    codec = opened()
    say(codec, AudioAppend(PCM * 10))
    frames = received(fixtures_dir, "spoken_turn")
    events = decode_all(codec, frames)
    assert types(events) == [
        "session_created",
        "input_started",
        "input_transcription_delta",
        "input_transcription_delta",
        "input_done",
        "input_committed",
        "response_created",
        "response_thinking_delta",
        "response_thinking_done",
        "item_added",
        "response_audio_transcript_delta",
        "response_audio_transcript_delta",
        "response_audio_delta",
        "response_audio_transcript_delta",
        "response_audio_delta",
        "response_audio_delta",
        "input_transcription_done",
        "response_audio_done",
        "response_audio_transcript_done",
        "item_done",
        "response_done",
    ]
    (heard,) = only(events, ModelEvents.ModelInputTranscriptionDoneEvent)
    assert heard.transcript == "Good morning."
    (started,) = only(events, ModelEvents.ModelInputStartedEvent)
    assert (started.item_id, started.audio_start_ms) == (heard.item_id, 100)
    (said,) = only(events, ModelEvents.ModelResponseAudioTranscriptDoneEvent)
    assert said.transcript == "Good morning to you."
    parts = [
        part["inlineData"]["data"]
        for _, frame in rows(fixtures_dir, "spoken_turn")
        for part in frame.get("serverContent", {}).get("modelTurn", {}).get("parts", ())
        if "inlineData" in part
    ]
    deltas = only(events, ModelEvents.ModelResponseAudioDeltaEvent)
    assert [len(event.delta) for event in deltas] == [1920, 2080, 1760]
    assert b"".join(event.delta for event in deltas) == b"".join(map(pybase64.b64decode, parts))
    done = events[-1]
    assert isinstance(done, ModelEvents.ModelResponseDoneEvent)
    assert (done.status, done.input_tokens, done.output_tokens) == ("completed", 153, 28)
    assert done.usage_detail == UsageDetail(
        input_text_tokens=100,
        input_audio_tokens=30,
        input_image_tokens=23,
        input_cached_tokens=40,
        output_audio_tokens=28,
        output_reasoning_tokens=12,
    )


def test_several_keys_of_one_frame_are_all_read(fixtures_dir: Path) -> None:
    events = decode_all(opened(), received(fixtures_dir, "text_turn"))
    assert [event.delta for event in only(events, ModelEvents.ModelResponseAudioTranscriptDeltaEvent)] == [
        "Good day",
        " to you",
    ]
    assert [len(event.delta) for event in only(events, ModelEvents.ModelResponseAudioDeltaEvent)] == [2, 960]


def test_parallel_calls_end_a_response_and_the_words_after_them_are_the_next(fixtures_dir: Path) -> None:
    events = decode_all(opened(), received(fixtures_dir, "tool_calls"))
    calls = only(events, ModelEvents.ModelResponseToolUseDoneEvent)
    assert [call.tool_use for call in calls] == [
        ToolCallBlock(id="fc_1201", name="get_time", input='{"city":"Oslo"}'),
        ToolCallBlock(id="fc_1202", name="get_time", input='{"city":"Rome"}'),
        ToolCallBlock(id="fc_1203", name="ring_bell", input="{}"),
    ]
    assert [call.output_index for call in calls] == [1, 2, 3]
    first, second = only(events, ModelEvents.ModelResponseDoneEvent)
    assert {call.response_id for call in calls} == {first.response_id} != {second.response_id}
    assert (second.input_tokens, second.output_tokens) == (67, 11)
    assert [event.transcript for event in only(events, ModelEvents.ModelResponseAudioTranscriptDoneEvent)] == [
        "Let me look.",
        "It is nine.",
    ]


def test_an_interruption_drops_what_still_arrives_of_the_answer(fixtures_dir: Path) -> None:
    events = decode_all(opened(), received(fixtures_dir, "interrupted"))
    cut, whole = only(events, ModelEvents.ModelResponseDoneEvent)
    assert (cut.status, cut.status_details) == ("cancelled", {"type": "cancelled", "reason": "turn_detected"})
    assert (cut.input_tokens, cut.output_tokens, whole.status) == (80, 14, "completed")
    assert [event.transcript for event in only(events, ModelEvents.ModelResponseAudioTranscriptDoneEvent)] == [
        "Once upon a time",
        "Very well.",
    ]
    assert [len(event.delta) for event in only(events, ModelEvents.ModelResponseAudioDeltaEvent)] == [4800, 960]
    assert [event.transcript for event in only(events, ModelEvents.ModelInputTranscriptionDoneEvent)] == [
        "Tell me a story.",
        "Stop.",
    ]
    kinds = types(events)
    assert kinds.index("response_done") > [at for at, kind in enumerate(kinds) if kind == "input_started"][1]


def test_markers_of_the_provider_s_detector_are_used_where_there_are_any(fixtures_dir: Path) -> None:
    events = decode_all(opened(), received(fixtures_dir, "rest"))
    assert events[0] == ModelEvents.ModelSessionCreatedEvent(session_id="sess-1")
    assert only(events, ModelEvents.ModelInputStartedEvent)[0].audio_start_ms == 1250
    assert only(events, ModelEvents.ModelInputDoneEvent)[0].audio_end_ms == 2500
    assert len(only(events, ModelEvents.ModelInputStartedEvent)) == 2
    done = only(events, ModelEvents.ModelResponseDoneEvent)[-1]
    assert (done.status, done.status_details) == ("failed", {"type": "failed", "reason": "response_rejected"})
    (error,) = only(events, ModelEvents.ModelErrorEvent)
    assert error.code == "response_failed"


@pytest.mark.parametrize("asked", [True, False])
def test_the_user_s_words_are_told_only_where_they_were_asked_for(asked: bool) -> None:
    """RTM-18: on: an event with the words; off: none, and nothing in the setup."""
    codec = fresh_codec(transcribes_input=asked)
    (setup,) = codec.opening(MANUAL, ())
    assert ("inputAudioTranscription" in json.loads(setup)["setup"]) is asked
    hear(codec, setupComplete={})
    say(codec, AudioAppend(PCM), AudioCommit(), ResponseCreate())
    events = content(codec, inputTranscription={"text": "Hello"}) if asked else []
    events += content(codec, outputTranscription={"text": "Hi"})
    events += content(codec, turnComplete=True)
    assert [event.transcript for event in only(events, ModelEvents.ModelInputTranscriptionDoneEvent)] == (
        ["Hello"] if asked else []
    )
    assert types(events)[0] == "input_committed"
    assert "input_started" not in types(events), "marked by us, not by the provider"


def test_words_before_the_commit_wait_for_it() -> None:
    codec = make_codec(MANUAL)
    say(codec, AudioAppend(PCM))
    assert content(codec, inputTranscription={"text": "Hel"}) == []
    say(codec, AudioCommit(), ResponseCreate())
    events = content(codec, inputTranscription={"text": "lo"})
    assert types(events) == ["input_committed", "input_transcription_delta", "input_transcription_delta"]
    assert "".join(event.delta for event in only(events, ModelEvents.ModelInputTranscriptionDeltaEvent)) == "Hello"


def test_text_only_answers_are_made_of_the_transcript() -> None:
    codec = make_codec(Settings(output_modalities=("text",)))
    speech = {"parts": [{"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "AAAA"}}]}
    events = content(codec, outputTranscription={"text": "Hi"}, modelTurn=speech)
    events += content(codec, turnComplete=True)
    assert types(events) == [
        "response_created",
        "item_added",
        "response_text_delta",
        "response_text_done",
        "item_done",
        "response_done",
    ]


def test_every_request_has_a_response_also_one_that_is_overtaken() -> None:
    codec = make_codec(MANUAL)
    say(codec, AudioAppend(PCM), AudioCommit(), ResponseCreate())
    say(codec, AudioAppend(PCM), AudioCommit(), ResponseCreate())
    events = content(codec, outputTranscription={"text": "Hi"}) + content(codec, turnComplete=True)
    assert [event.status for event in only(events, ModelEvents.ModelResponseDoneEvent)] == ["cancelled", "completed"]
    assert len(only(events, ModelEvents.ModelResponseCreatedEvent)) == 2
    assert len(only(events, ModelEvents.ModelInputCommittedEvent)) == 2
    check_grammar(events, output_rate_hz=24_000)


def test_the_end_of_an_interrupted_answer_ends_no_later_words() -> None:
    codec = make_codec(MANUAL)
    say(codec, AudioAppend(PCM), AudioCommit(), ResponseCreate())
    content(codec, outputTranscription={"text": "Once upon"})
    said = say(codec, AudioAppend(PCM), ResponseCancel(), AudioCommit(), ResponseCreate())
    assert [frame for frame in said if "clientContent" in frame] == [], "the activity interrupts by itself"
    events = content(codec, interrupted=True) + content(codec, turnComplete=True)
    events += content(codec, inputTranscription={"text": "Stop"})
    events += content(codec, outputTranscription={"text": "Well"}) + content(codec, turnComplete=True)
    heard = only(events, ModelEvents.ModelInputTranscriptionDoneEvent)
    committed = only(events, ModelEvents.ModelInputCommittedEvent)
    assert [event.transcript for event in heard] == ["", "Stop"]
    assert heard[1].item_id == committed[-1].item_id
    assert [event.status for event in only(events, ModelEvents.ModelResponseDoneEvent)] == ["cancelled", "completed"]


def test_a_turn_without_output_is_an_empty_response_where_one_was_asked_for() -> None:
    codec = make_codec()
    assert content(codec, turnComplete=True) == []
    say(codec, ResponseCreate())
    assert types(content(codec, turnComplete=True)) == ["response_created", "response_done"]


def test_the_end_of_an_interrupted_answer_that_comes_late_answers_no_later_request() -> None:
    codec = make_codec(MANUAL)
    say(codec, AudioAppend(PCM), AudioCommit(), ResponseCreate())
    events = content(codec, outputTranscription={"text": "Once upon"})
    say(codec, AudioAppend(PCM))
    events += content(codec, interrupted=True)
    say(codec, AudioCommit(), ResponseCreate())
    events += content(codec, turnComplete=True)
    assert types(events)[-1] == "response_done"
    events += content(codec, outputTranscription={"text": "Well"}) + content(codec, turnComplete=True)
    assert [event.status for event in only(events, ModelEvents.ModelResponseDoneEvent)] == ["cancelled", "completed"]


def test_nor_does_the_end_of_one_that_was_interrupted_before_a_word() -> None:
    codec = make_codec(MANUAL)
    say(codec, AudioAppend(PCM), AudioCommit(), ResponseCreate(), AudioAppend(PCM))
    events = content(codec, interrupted=True)
    say(codec, AudioCommit(), ResponseCreate())
    events += content(codec, turnComplete=True)
    events += content(codec, outputTranscription={"text": "Well"}) + content(codec, turnComplete=True)
    say(codec, ResponseCreate())
    events += content(codec, turnComplete=True)
    done = only(events, ModelEvents.ModelResponseDoneEvent)
    assert [event.status for event in done] == ["cancelled", "completed", "completed"]


def test_the_end_of_a_turn_that_waits_for_a_tool_is_no_answer_to_a_result_that_was_faster() -> None:
    codec = make_codec()
    events = hear(codec, toolCall={"functionCalls": [{"id": "call_1", "name": "now", "args": {}}]})
    say(codec, ToolResult(ToolResultBlock(id="call_1", name="now", output="nine")), ResponseCreate())
    events += content(codec, turnComplete=True, interactionStatus="REQUIRES_ACTION")
    events += content(codec, outputTranscription={"text": "Nine."})
    events += content(codec, turnComplete=True, interactionStatus="IDLE")
    begun = only(events, ModelEvents.ModelResponseCreatedEvent)
    assert len(begun) == 2
    said = only(events, ModelEvents.ModelResponseAudioTranscriptDeltaEvent)
    assert [event.response_id for event in said] == [begun[1].response_id]


def test_our_own_cancel_is_no_speech_of_the_user() -> None:
    codec = make_codec()
    content(codec, outputTranscription={"text": "Once upon"})
    assert say(codec, ResponseCancel()) == [{"clientContent": {"turnComplete": True}}]
    events = content(codec, interrupted=True) + content(codec, turnComplete=True)
    assert "input_started" not in types(events)
    (done,) = only(events, ModelEvents.ModelResponseDoneEvent)
    assert done.status_details == {"type": "cancelled", "reason": "client_cancelled"}
    assert say(codec, ResponseCancel()) == []


@pytest.mark.parametrize("alphabet", ["standard", "url-safe"])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("n_bytes", [6, 30_000])
def test_audio_in_either_alphabet_and_form(alphabet: str, indent: int | None, n_bytes: int) -> None:
    pcm = bytes(range(250, 256)) * (n_bytes // 6)
    data = pybase64.b64encode_as_string(pcm) if alphabet == "standard" else pybase64.urlsafe_b64encode(pcm).decode()
    part = {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": data}}
    frame = {"serverContent": {"modelTurn": {"parts": [part]}, "outputTranscription": {"text": '"data"'}}}
    events = make_codec().decode(json.dumps(frame, indent=indent))
    assert [event.delta for event in only(events, ModelEvents.ModelResponseAudioDeltaEvent)] == [pcm]
    assert [event.delta for event in only(events, ModelEvents.ModelResponseAudioTranscriptDeltaEvent)] == ['"data"']


def test_long_strings_that_are_no_audio_are_read_as_they_are() -> None:
    text = "x" * 3000
    codec = make_codec()
    (call,) = only(
        hear(codec, toolCall={"functionCalls": [{"id": "c", "name": "f", "args": {"data": text}}]}),
        ModelEvents.ModelResponseToolUseDoneEvent,
    )
    assert json.loads(call.tool_use.input) == {"data": text}


# What is not understood.


def test_unknown_and_broken_frames_are_counted_and_cost_nothing() -> None:
    """RTM-24: ignored, not fatal."""
    codec = make_codec()
    for frame in (b"", b"[1]", b"{", b'{"serverContent": 5}', b"\xff\xfe", b"[" * 5000):
        assert codec.decode(frame) == []
    assert codec.reader.broken_frames == 6
    assert hear(codec, weather={"tomorrow": "rain"}) == []
    assert codec.reader.unknown_frames == 1
    bad = {"parts": [{"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "%%%"}}]}
    assert types(content(codec, modelTurn=bad)) == ["response_created"]
    assert codec.reader.broken_frames == 7
    assert types(content(codec, turnComplete=True)) == ["response_done"]


@given(st.binary(max_size=300))
def test_no_bytes_raise(data: bytes) -> None:
    """RTM-24, fuzzed."""
    codec = make_codec()
    codec.decode(data)
    codec.decode(b'{"serverContent":{"modelTurn":{"parts":[{"inlineData":{"data":"' + data * 10)
    assert codec.decode(b'{"serverContent":{}}') == []


WORDS = st.sampled_from(["a", " b", ""])
CONTENTS = st.fixed_dictionaries(
    {},
    optional={
        "inputTranscription": st.fixed_dictionaries({"text": WORDS}, optional={"finished": st.booleans()}),
        "outputTranscription": st.fixed_dictionaries({"text": WORDS}),
        "modelTurn": st.just({"parts": [{"inlineData": {"mimeType": "audio/pcm", "data": "AAAA"}}, {"text": "t"}]}),
        "interrupted": st.booleans(),
        "generationComplete": st.booleans(),
        "turnComplete": st.booleans(),
    },
)
CALLS = st.just({"functionCalls": [{"id": "c1", "name": "f"}, {"id": "c2", "name": "g", "args": {"x": 1}}]})
FRAMES = st.fixed_dictionaries(
    {}, optional={"serverContent": CONTENTS, "toolCall": CALLS, "toolCallCancellation": st.just({"ids": ["c1"]})}
)
RESULT = ToolResult(ToolResultBlock(id="c1", name="f", output="x"))
INPUTS = st.sampled_from([AudioAppend(PCM), AudioCommit(), ResponseCreate(), ResponseCancel(), RESULT])


@given(st.lists(FRAMES | INPUTS, max_size=30), st.booleans())
def test_whatever_comes_in_whatever_order_the_grammar_holds(steps: list[Json | ModelInput], manual: bool) -> None:
    codec = make_codec(MANUAL if manual else Settings())
    events = []
    for step in steps:
        if isinstance(step, dict):
            events += codec.decode(wired(step))
        else:
            say(codec, step)
    begun = {event.response_id for event in only(events, ModelEvents.ModelResponseCreatedEvent)}
    done = {event.response_id for event in only(events, ModelEvents.ModelResponseDoneEvent)}
    if begun - done:
        events += content(codec, turnComplete=True)
    check_grammar(events, output_rate_hz=24_000)


# How a connection ends.


@pytest.mark.parametrize(
    ("code", "reason", "name", "reconnect"),
    [
        (1007, "API key not valid. Please pass a valid API key.", "invalid_api_key", False),
        (1008, "API key not valid. Please pass a valid API key.", "invalid_api_key", False),
        (1007, "Request contains an invalid argument.", "invalid_request", True),
        (1008, "models/x is not found for API version v1beta, or is not supported for", "model_not_found", False),
        (1008, "The operation was aborted.", "provider_closed", True),
        (1011, "Internal error encountered.", "provider_failed", True),
        (1011, "The service is currently unavailable.", "provider_unavailable", True),
        (1011, "You exceeded your current quota, please check", "rate_limit_exceeded", True),
        (1011, "Deadline expired before operation could complete.", "session_expired", True),
        (1000, "", "closed", True),
        (1006, "", "link_lost", True),
        (None, "", "link_lost", True),
        (4000, "", "provider_closed", False),
    ],
)
def test_closes(code: int | None, reason: str, name: str, reconnect: bool) -> None:
    verdict = make_codec().closed(code, reason)
    assert (verdict.code, verdict.reconnect) == (name, reconnect)
    assert not reason or reason not in verdict.message


@pytest.mark.parametrize("code", [1000, 1007, 1008])
def test_a_session_that_never_stood_is_not_dialled_again_for_the_same_refusal(code: int) -> None:
    codec = opened()
    assert codec.closed(code, "").reconnect is False


def test_an_error_frame_of_a_proxy_is_mapped_and_remembered() -> None:
    codec = opened()
    (error,) = only(hear(codec, error={"code": 401, "status": "UNAUTHENTICATED", "message": "key xyz"}), object)
    assert isinstance(error, ModelEvents.ModelErrorEvent)
    assert (error.code, error.retryable, "xyz" in error.message) == ("invalid_api_key", False, False)
    assert codec.closed(1006, "").code == "invalid_api_key"


def test_a_refused_handle_is_not_used_again() -> None:
    resumption = Resumption(handle="h", item_id="a")
    answer = Item(id="a", role="assistant", content=(ContentPart(type="audio", transcript="Hi"),))
    codec = fresh_codec(resumption=resumption)
    (setup,) = codec.opening(Settings(), [answer])
    assert json.loads(setup)["setup"]["sessionResumption"] == {"handle": "h"}
    assert codec.closed(1011, "Internal error encountered.").reconnect
    assert resumption.handle == "h", "the old connection may not be gone yet"
    assert codec.closed(1008, "Requested entity was not found.").reconnect
    assert resumption.handle is None
