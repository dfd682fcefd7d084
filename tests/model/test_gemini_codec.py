"""The Gemini codec before recorded sessions and the types of the official SDK, and what it does at a quiet moment."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
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
    SessionUpdate,
    Settings,
    ToolResult,
)
from realtime.model.gemini.model import Resumption
from tests.model.frames import (
    PCM,
    PHOTO,
    RECORDINGS,
    Json,
    content,
    fixture_rows,
    fresh_gemini,
    gemini,
    hear,
    only,
    received,
    recorded,
    say,
    types,
    wired,
)
from tests.model.grammar import check_grammar
from tests.model.test_codec_exchanges import exchanges

FIXTURES = ("spoken_turn", "text_turn", "tool_calls", "interrupted", "rest")
MANUAL = Settings(turn_detection="none")
NOT_OF_THE_SDK = ("an error frame of a proxy", "the other calls of a frame", "a thought is never spoken")
"""Exchanges with frames that the service does not send."""


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


def test_the_frames_of_our_exchanges_are_those_of_the_official_sdk() -> None:
    """It reads what the service says there whole, and knows each of our setups."""
    sdk = pytest.importorskip("google.genai.types")
    unread, setups = [], []
    for name, (_, steps) in exchanges("gemini").items():
        for step in steps:
            setups += [frame["setup"] for frame in step.get("sent", ()) if "setup" in frame]
            if "hear" in step and not name.startswith(NOT_OF_THE_SDK):
                message = sdk.LiveServerMessage.model_validate(step["hear"])
                unread += [(name, message.model_extra)] if message.model_extra else []
    assert unread == []
    for setup in setups:
        sdk.RealtimeInputConfig.model_validate(setup.pop("realtimeInputConfig", {}))
        setup.pop("proactivity", None)
        sdk.LiveClientSetup.model_validate(setup)


@pytest.mark.parametrize("n_bytes", [6, 30_000])
def test_audio_in_either_alphabet_and_form(n_bytes: int) -> None:
    pcm = bytes(range(250, 256)) * (n_bytes // 6)
    for data in (pybase64.b64encode_as_string(pcm), pybase64.urlsafe_b64encode(pcm).decode()):
        part = {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": data}}
        frame = {"serverContent": {"modelTurn": {"parts": [part]}, "outputTranscription": {"text": '"data"'}}}
        for indent in (None, 2):
            events = gemini().decode(json.dumps(frame, indent=indent))
            assert [event.delta for event in only(events, ModelEvents.ModelResponseAudioDeltaEvent)] == [pcm]
            (words,) = only(events, ModelEvents.ModelResponseAudioTranscriptDeltaEvent)
            assert words.delta == '"data"'


def test_long_strings_that_are_no_audio_are_read_as_they_are() -> None:
    calls = [{"id": "c", "name": "f", "args": {"data": "x" * 3000}}]
    (call,) = only(hear(gemini(), toolCall={"functionCalls": calls}), ModelEvents.ModelResponseToolUseDoneEvent)
    assert json.loads(call.tool_use.input) == {"data": "x" * 3000}


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


def test_of_pictures_that_wait_for_a_request_the_latest_are_told() -> None:
    """A camera shows one a second, also while nobody speaks for minutes."""
    codec = gemini()
    part = PHOTO.content[0]
    for number in range(100):
        picture = msgspec.structs.replace(part, image=b"%d" % number)
        say(codec, ItemCreate(Item(id=f"p{number}", role="user", content=(picture,))))
        if number % 50 == 0:
            note = ContentPart(type="text", text=f"This is {number}.")
            say(codec, ItemCreate(Item(id="i", role="user", content=(note,))))
    [frame] = say(codec, ResponseCreate())
    parts = [part for turn in frame["clientContent"]["turns"] for part in turn["parts"]]
    shown = [pybase64.b64decode(part["inlineData"]["data"]) for part in parts if "inlineData" in part]
    assert shown == [b"%d" % number for number in range(92, 100)]
    assert [part["text"] for part in parts if "text" in part] == ["This is 0.", "This is 50."]


def test_other_settings_need_a_new_connection_at_a_quiet_moment() -> None:
    left: list[bool] = []
    resumption = Resumption()
    codec = gemini(resumption=resumption, leave=lambda: left.append(True))
    content(codec, outputTranscription={"text": "Once"})
    assert say(codec, SessionUpdate(Settings(voice="Kore"))) == []
    assert left == []
    content(codec, turnComplete=True)
    assert left == [True]
    verdict = codec.closed(1006, "")
    assert (verdict.code, verdict.reconnect) == ("settings_changed", True)
    after = fresh_gemini(resumption=resumption)
    after.opening(Settings(voice="Kore"), ())
    assert types(hear(after, setupComplete={})) == ["session_created", "session_updated"]


def test_a_notice_is_followed_at_a_quiet_moment() -> None:
    left: list[bool] = []
    codec = gemini(MANUAL, leave=lambda: left.append(True))
    say(codec, AudioAppend(PCM))
    hear(codec, goAway={"timeLeft": "50s"})
    say(codec, AudioCommit(), ResponseCreate())
    content(codec, outputTranscription={"text": "Yes"})
    assert left == []
    content(codec, turnComplete=True)
    assert left == [True]
    assert codec.closed(1006, "").code == "provider_going_away"
