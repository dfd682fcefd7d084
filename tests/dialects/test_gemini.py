"""The Gemini Live dialect by itself: what it makes of a client's frames, and that no frame breaks it."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import MAX_TOOLS, AudioFormat
from realtime.event.config import SessionConfig, TurnDetection
from tests.dialects.exchanges import differing
from tests.dialects.gemini_call import LOOK, MANUAL, PCM, TOLD, Call, Json, refused

# -- whole exchanges ---------------------------------------------------------------------------------------------------


def test_each_exchange_goes_as_written() -> None:
    """The lines of `gemini_exchanges.jsonl`, turn by turn."""
    assert differing("gemini_exchanges.jsonl", lambda setup: Call(**setup)) == {}
    assert not Call().dialect.is_over, "only a mistake of the client ends its session"


def test_frames_are_written_as_the_service_writes_them() -> None:
    call = Call()
    call.begin()
    event = s.AgentResponseAudioDeltaEvent(response_id="r1", item_id="i", delta=b"\xfb\xff", format=PCM)
    (frame,) = call.dialect.encode(event)
    expected = {"serverContent": {"modelTurn": {"parts": [{"inlineData": {"mimeType": "audio/pcm;rate=24000"}}]}}}
    expected["serverContent"]["modelTurn"]["parts"][0]["inlineData"]["data"] = "+/8="
    assert frame == (json.dumps(expected, indent=2) + "\n").encode()


def test_a_burst_of_speech_is_cut_into_frames_that_the_sdk_takes() -> None:
    call = Call()
    call.begin()
    pcm = bytes(range(256)) * 4_000
    event = s.AgentResponseAudioDeltaEvent(response_id="r1", item_id="i", delta=pcm, format=PCM)
    frames = call.dialect.encode(event)
    assert max(map(len, frames)) < 200_000
    blobs = [json.loads(frame)["serverContent"]["modelTurn"]["parts"][0]["inlineData"] for frame in frames]
    assert b"".join(base64.b64decode(blob["data"]) for blob in blobs) == pcm


RESPONSES = st.sampled_from(["r1", "r2", "r3"])
HAPPENINGS = st.one_of(
    st.tuples(st.just("begin"), RESPONSES),
    st.tuples(st.just("say"), RESPONSES),
    st.tuples(st.just("call"), RESPONSES),
    st.tuples(st.just("return"), st.just("")),
    st.tuples(st.just("flush"), st.sampled_from(["cancel", "speech_started", "hasty_turn"])),
    st.tuples(st.sampled_from(["completed", "cancelled", "failed"]), RESPONSES),
)


@given(st.lists(HAPPENINGS, max_size=30))
def test_whatever_happens_every_turn_that_was_begun_is_completed_once(happenings: list[tuple[str, str]]) -> None:
    call = Call(**LOOK, **TOLD)
    running: set[str] = set()
    for count, (what, about) in enumerate(happenings):
        match what:
            case "begin":
                call.begin(f"{about}_{count}")
                running.add(f"{about}_{count}")
            case "say" | "call" if running:
                target = sorted(running)[0]
                if what == "say":
                    call.say("word", target)
                else:
                    call.ask(f"call_{count}", response_id=target)
            case "return":
                call.return_(f"call_{count - 1}")
            case "flush":
                call.tell(s.ServerAudioFlushEvent(reason=about))
            case "completed" | "cancelled" | "failed" if running:
                target = sorted(running)[-1]
                running.remove(target)
                call.end(target, status=what)
            case _:
                pass
    for response_id in sorted(running):
        call.end(response_id)
    call.tell(s.ServerAudioFlushEvent(reason="speech_started"))
    open_turn = False
    for frame in call.frames:
        kinds = frame.get("serverContent", frame).keys()
        if kinds & {"modelTurn", "outputTranscription", "toolCall"}:
            open_turn = True
        if "turnComplete" in kinds:
            open_turn = False
    assert not open_turn


# -- the setup ---------------------------------------------------------------------------------------------------------


def test_both_name_styles_mean_the_same() -> None:
    camel = Call(
        generationConfig={"responseModalities": ["TEXT"], "maxOutputTokens": 9},
        systemInstruction={"parts": [{"text": "One."}, {"text": "Two."}], "role": "user"},
        realtimeInputConfig={"automaticActivityDetection": {"endOfSpeechSensitivity": "END_SENSITIVITY_HIGH"}},
    )
    snake = Call(
        generation_config={"response_modalities": ["TEXT"], "max_output_tokens": 9},
        system_instruction={"parts": [{"text": "One."}, {"text": "Two."}], "role": "user"},
        realtime_input_config={"automatic_activity_detection": {"end_of_speech_sensitivity": "END_SENSITIVITY_HIGH"}},
    )
    assert camel.config == snake.config
    assert camel.config == SessionConfig(
        model="gemini-3.8-live",
        instructions="One.\nTwo.",
        output_modalities=("text",),
        max_output_tokens=9,
        turn_detection=TurnDetection(eagerness="high"),
    )
    assert camel.frames == [{"setupComplete": {}}]


def test_nulls_and_defaults_say_nothing() -> None:
    call = Call(
        generationConfig={"temperature": None, "responseModalities": ["AUDIO"]}, tools=[], systemInstruction=None
    )
    assert call.config == SessionConfig(model="gemini-3.8-live")


def test_marked_turns_are_the_clients_to_decide() -> None:
    assert Call(**MANUAL).config.turn_detection == "none"
    with pytest.raises(ClientError, match="NO_INTERRUPTION"):
        Call(realtimeInputConfig=MANUAL["realtimeInputConfig"] | {"activityHandling": "NO_INTERRUPTION"})


def test_schemas_become_json_schema_and_names_inside_are_left_alone() -> None:
    parameters = {
        "type": "OBJECT",
        "properties": {
            "max_speed": {"type": "INTEGER", "nullable": True, "example": 3},
            "names": {"type": "ARRAY", "items": {"type": "STRING"}, "min_items": "1"},
            "any": {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}]},
        },
        "required": ["max_speed"],
        "propertyOrdering": ["names"],
    }
    as_is = {"type": "object", "properties": {"snake_case": {"type": "string"}}}
    functions = [
        {"name": "one", "parameters": parameters, "behavior": "BLOCKING"},
        {"name": "two", "parameters_json_schema": as_is, "description": "Two."},
        {"name": "three"},
    ]
    tools = Call(tools=[{"function_declarations": functions}]).config.tools
    assert tools is not None
    assert tools[0].parameters == {
        "type": "object",
        "properties": {
            "max_speed": {"type": ["integer", "null"]},
            "names": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "any": {"anyOf": [{"type": "string"}, {"type": "number"}]},
        },
        "required": ["max_speed"],
    }
    assert (tools[1].parameters, tools[1].description) == (as_is, "Two.")
    assert tools[2].parameters == {}


# -- what streams in ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        {"realtimeInput": {"audio": {"data": "+/+/", "mimeType": "audio/pcm;rate=24000"}}},
        {"realtime_input": {"audio": {"data": "-_-_", "mime_type": "audio/pcm; rate=24000"}}},
        {"realtimeInput": {"mediaChunks": [{"data": "+/+_", "mimeType": "AUDIO/PCM;rate=24000".lower()}]}},
        {"realtime_input": {"media": None, "audio": {"data": "-_-_", "mime_type": "audio/l16;rate=24000"}}},
    ],
)
def test_speech_in_every_spelling_is_the_same_speech(frame: Json) -> None:
    call = Call()
    event = c.ClientAudioAppendEvent(audio=b"\xfb\xff\xbf", format=PCM)
    assert call.hear(frame) == [event]
    assert call.hear(json.dumps(frame).encode()) == [event]


@given(st.binary(max_size=60), st.booleans(), st.booleans())
def test_speech_survives_both_alphabets_with_and_without_padding(pcm: bytes, url_safe: bool, padded: bool) -> None:
    data = (base64.urlsafe_b64encode if url_safe else base64.b64encode)(pcm).decode()
    data = data if padded else data.rstrip("=")
    (event,) = Call().hear({"realtime_input": {"audio": {"data": data, "mime_type": "audio/pcm"}}})
    assert event == c.ClientAudioAppendEvent(audio=pcm, format=AudioFormat.pcm16(16_000))


def test_outside_of_a_marked_turn_speech_is_not_taken_unless_all_of_it_is_wanted() -> None:
    speech = {"realtimeInput": {"audio": {"data": "AAAA" * 2_000, "mimeType": "audio/pcm"}}}
    call = Call(**MANUAL)
    assert call.kinds(speech) == []
    assert call.kinds({"realtimeInput": {"activityStart": {}}}) == ["response_cancel"]
    assert call.kinds({"realtimeInput": {"activityStart": {}}}) == []
    assert call.kinds(speech) == ["audio_append"]
    assert call.kinds({"realtimeInput": {"audioStreamEnd": True}}) == []
    assert call.kinds({"realtimeInput": {"activityEnd": {}}}) == ["audio_commit"]
    assert call.kinds({"realtimeInput": {"activityEnd": {}}}) == []
    everything = Call(realtimeInputConfig=MANUAL["realtimeInputConfig"] | {"turnCoverage": "TURN_INCLUDES_ALL_INPUT"})
    assert everything.kinds(speech) == ["audio_append"]


# -- turns and results -------------------------------------------------------------------------------------------------


def test_parts_of_one_message_are_bounded_over_all_of_its_turns() -> None:
    call, part = Call(), {"text": "a"}
    assert call.kinds({"clientContent": {"turns": [{"parts": [part] * 500}] * 2}}).count("item_create") == 2
    assert "1000 parts" in refused(
        call, {"clientContent": {"turns": [{"parts": [part] * 500}, {"parts": [part] * 501}]}}
    )


# -- any frame ---------------------------------------------------------------------------------------------------------

KEYS = st.sampled_from(
    [
        "setup",
        "clientContent",
        "client_content",
        "realtimeInput",
        "realtime_input",
        "toolResponse",
        "contextUpdate",
        "model",
        "turns",
        "parts",
        "text",
        "inlineData",
        "data",
        "mimeType",
        "audio",
        "video",
        "activityStart",
        "role",
        "turnComplete",
        "functionResponses",
        "id",
        "response",
        "tools",
        "name",
        "functionDeclarations",
        "parameters",
        "systemInstruction",
        "generationConfig",
        "speechConfig",
        "properties",
        "items",
        "type",
        "mediaChunks",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["AAAA", "audio/pcm", "image/png", "user", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
MESSAGES = st.sampled_from(["clientContent", "realtime_input", "toolResponse", "context_update", "setup"])


@given(st.lists(st.tuples(MESSAGES, st.dictionaries(KEYS, VALUES, max_size=4)), max_size=6), st.booleans())
def test_no_frame_breaks_it(frames: list[tuple[str, Json]], manual: bool) -> None:
    call = Call(**LOOK, **(MANUAL if manual else {}))
    call.begin()
    call.ask("a")
    for kind, fields in frames:
        try:
            events = call.hear({kind: fields})
        except ClientError as error:
            told = s.AgentErrorEvent(error_type="client_error", code=error.code, message=error.message)
            assert call.tell(told) == []
            assert len(call.dialect.farewell()[1].encode()) <= 123
            continue
        for event in events:
            if isinstance(event, c.ClientSessionUpdateEvent):
                SessionConfig.from_dict(event.config)


@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_no_setup_breaks_it(setup: Json) -> None:
    refusals: list[ClientError] = []
    try:
        assert Call(**setup | {"model": "m"}).config.model == "m"
    except ClientError as error:
        refusals.append(error)
    assert all(error.code in ("invalid_argument", "not_supported") for error in refusals)


@given(st.text() | st.binary())
def test_garbage_is_refused(frame: str | bytes) -> None:
    refused(Call(), frame)


def test_more_functions_than_a_call_takes_are_refused_whichever_tools_they_stand_in() -> None:
    functions = [{"name": f"look{number}"} for number in range(MAX_TOOLS + 1)]
    half = len(functions) // 2
    parts = [{"functionDeclarations": functions[:half]}, {"functionDeclarations": functions[half:]}]
    taken = Call(tools=[parts[0], {"functionDeclarations": functions[half:-1]}])
    assert len(taken.config.tools or ()) == MAX_TOOLS
    assert refused(taken, {"contextUpdate": {"tools": {"tools": parts}}}) == "513 tools, at most 512 are taken."
