"""The Gemini codec led through whole exchanges: what a frame means hangs on what was said before.

The frames are recorded, or hold what the types of the official SDK hold. `test_codec_received.py` has them one by one.
"""

from __future__ import annotations

import json
from pathlib import Path

import pybase64
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.event import ModelEvents
from realtime.event.base import ContentPart, Item
from realtime.message import ToolResultBlock
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
from realtime.model.gemini.model import Resumption
from tests.model.frames import (
    PCM,
    RECORDINGS,
    Json,
    content,
    fixture_rows,
    fresh_gemini,
    gemini,
    hear,
    only,
    opened_gemini,
    received,
    recorded,
    say,
    types,
    wired,
)
from tests.model.grammar import check_grammar

FIXTURES = ("spoken_turn", "text_turn", "tool_calls", "interrupted", "rest")
MANUAL = Settings(turn_detection="none")
ASK = (AudioAppend(PCM), AudioCommit(), ResponseCreate())
"""A spoken turn that we mark, and the request for its answer."""


@pytest.mark.parametrize("name", RECORDINGS)
def test_what_was_recorded_as_sent_is_what_we_send(recordings_dir: Path, name: str) -> None:
    check_sent(recorded(recordings_dir, "gemini", name))


@pytest.mark.parametrize("name", FIXTURES)
def test_what_stands_in_our_frames_as_sent_is_what_we_send(name: str) -> None:
    check_sent(fixture_rows("gemini", name))


def check_sent(session: list[tuple[str, Json]]) -> None:
    """Our codec, led through the session, sends the same; it asks for resumption and compression besides."""
    setup = session[0][1]["setup"]
    instructions = setup.get("systemInstruction", {"parts": [{"text": ""}]})["parts"][0]["text"]
    seed = [content for _, frame in session if (content := seed_of(frame)) is not None]
    codec = fresh_gemini()
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


def test_our_frames_are_those_of_the_official_sdk() -> None:
    """The SDK reads every key of our server frames, and they show every kind of message it has."""
    sdk = pytest.importorskip("google.genai.types")
    seen: set[str] = set()
    for name in FIXTURES:
        for frame in received(fixture_rows("gemini", name)):
            message = sdk.LiveServerMessage.model_validate(frame)
            assert not message.model_extra
            seen |= message.model_fields_set
    assert seen == set(sdk.LiveServerMessage.model_fields)


@pytest.mark.parametrize("asked", [True, False])
def test_the_user_s_words_are_told_only_where_they_were_asked_for(asked: bool) -> None:
    """RTM-18: on: an event with the words; off: none, and nothing in the setup."""
    codec = fresh_gemini(transcribes_input=asked)
    (setup,) = codec.opening(MANUAL, ())
    assert ("inputAudioTranscription" in json.loads(setup)["setup"]) is asked
    hear(codec, setupComplete={})
    say(codec, *ASK)
    events = content(codec, inputTranscription={"text": "Hello"}) if asked else []
    events += content(codec, outputTranscription={"text": "Hi"})
    events += content(codec, turnComplete=True)
    assert [event.transcript for event in only(events, ModelEvents.ModelInputTranscriptionDoneEvent)] == (
        ["Hello"] if asked else []
    )
    assert types(events)[0] == "input_committed"
    assert "input_started" not in types(events), "marked by us, not by the provider"


def test_words_before_the_commit_wait_for_it() -> None:
    codec = gemini(MANUAL)
    say(codec, AudioAppend(PCM))
    assert content(codec, inputTranscription={"text": "Hel"}) == []
    say(codec, AudioCommit(), ResponseCreate())
    events = content(codec, inputTranscription={"text": "lo"})
    assert types(events) == ["input_committed", "input_transcription_delta", "input_transcription_delta"]
    assert "".join(event.delta for event in only(events, ModelEvents.ModelInputTranscriptionDeltaEvent)) == "Hello"


def test_text_only_answers_are_made_of_the_transcript() -> None:
    codec = gemini(Settings(output_modalities=("text",)))
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
    codec = gemini(MANUAL)
    say(codec, *ASK)
    say(codec, *ASK)
    events = content(codec, outputTranscription={"text": "Hi"}) + content(codec, turnComplete=True)
    assert [event.status for event in only(events, ModelEvents.ModelResponseDoneEvent)] == ["cancelled", "completed"]
    assert len(only(events, ModelEvents.ModelResponseCreatedEvent)) == 2
    assert len(only(events, ModelEvents.ModelInputCommittedEvent)) == 2
    check_grammar(events, output_rate_hz=24_000)


def test_the_end_of_an_interrupted_answer_ends_no_later_words() -> None:
    codec = gemini(MANUAL)
    say(codec, *ASK)
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
    codec = gemini()
    assert content(codec, turnComplete=True) == []
    say(codec, ResponseCreate())
    assert types(content(codec, turnComplete=True)) == ["response_created", "response_done"]


def test_the_end_of_an_interrupted_answer_that_comes_late_answers_no_later_request() -> None:
    codec = gemini(MANUAL)
    say(codec, *ASK)
    events = content(codec, outputTranscription={"text": "Once upon"})
    say(codec, AudioAppend(PCM))
    events += content(codec, interrupted=True)
    say(codec, AudioCommit(), ResponseCreate())
    events += content(codec, turnComplete=True)
    assert types(events)[-1] == "response_done"
    events += content(codec, outputTranscription={"text": "Well"}) + content(codec, turnComplete=True)
    assert [event.status for event in only(events, ModelEvents.ModelResponseDoneEvent)] == ["cancelled", "completed"]


def test_nor_does_the_end_of_one_that_was_interrupted_before_a_word() -> None:
    codec = gemini(MANUAL)
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
    codec = gemini()
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
    codec = gemini()
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
    events = gemini().decode(json.dumps(frame, indent=indent))
    assert [event.delta for event in only(events, ModelEvents.ModelResponseAudioDeltaEvent)] == [pcm]
    assert [event.delta for event in only(events, ModelEvents.ModelResponseAudioTranscriptDeltaEvent)] == ['"data"']


def test_long_strings_that_are_no_audio_are_read_as_they_are() -> None:
    text = "x" * 3000
    codec = gemini()
    (call,) = only(
        hear(codec, toolCall={"functionCalls": [{"id": "c", "name": "f", "args": {"data": text}}]}),
        ModelEvents.ModelResponseToolUseDoneEvent,
    )
    assert json.loads(call.tool_use.input) == {"data": text}


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
    codec = gemini(MANUAL if manual else Settings())
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


@pytest.mark.parametrize("code", [1000, 1007, 1008])
def test_a_session_that_never_stood_is_not_dialled_again_for_the_same_refusal(code: int) -> None:
    codec = opened_gemini()
    assert codec.closed(code, "").reconnect is False


def test_an_error_frame_of_a_proxy_is_mapped_and_remembered() -> None:
    codec = opened_gemini()
    (error,) = only(hear(codec, error={"code": 401, "status": "UNAUTHENTICATED", "message": "key xyz"}), object)
    assert isinstance(error, ModelEvents.ModelErrorEvent)
    assert (error.code, error.retryable, "xyz" in error.message) == ("invalid_api_key", False, False)
    assert codec.closed(1006, "").code == "invalid_api_key"


def test_a_refused_handle_is_not_used_again() -> None:
    resumption = Resumption(handle="h", item_id="a")
    answer = Item(id="a", role="assistant", content=(ContentPart(type="audio", transcript="Hi"),))
    codec = fresh_gemini(resumption=resumption)
    (setup,) = codec.opening(Settings(), [answer])
    assert json.loads(setup)["setup"]["sessionResumption"] == {"handle": "h"}
    assert codec.closed(1011, "Internal error encountered.").reconnect
    assert resumption.handle == "h", "the old connection may not be gone yet"
    assert codec.closed(1008, "Requested entity was not found.").reconnect
    assert resumption.handle is None
