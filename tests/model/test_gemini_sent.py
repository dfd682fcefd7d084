"""What the Gemini codec says: the setup, turns, history, images, tools, and changes while running."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pybase64
import pytest

from realtime.event import Item, ModelEvents
from realtime.event.base import ContentPart, ResponseOverrides
from realtime.event.config import ToolDeclaration, TurnDetection
from realtime.message import Base64Source, DataBlock, TextBlock, ToolCallBlock, ToolResultBlock
from realtime.model.base import (
    AudioAppend,
    AudioClear,
    AudioCommit,
    ItemCreate,
    ItemDelete,
    ItemTruncate,
    ModelInput,
    ResponseCancel,
    ResponseCreate,
    SessionUpdate,
    Settings,
    ToolResult,
)
from realtime.model.gemini.model import Resumption
from tests.model.frames import PCM, Json, content, fresh_gemini, gemini, hear, only, say, types

AUDIO = {"realtimeInput": {"audio": {"data": pybase64.b64encode_as_string(PCM), "mimeType": "audio/pcm;rate=16000"}}}
START: Json = {"realtimeInput": {"activityStart": {}}}
END: Json = {"realtimeInput": {"activityEnd": {}}}
MANUAL = Settings(turn_detection="none")
TOOL = ToolDeclaration(
    name="get_time", description="The time", parameters={"type": "object", "properties": {"city": {"type": "string"}}}
)
JPEG = b"\xff\xd8\xff"


def setup_of(settings: Settings, **options: Any) -> Json:
    (frame,) = fresh_gemini(**options).opening(settings, ())
    setup: Json = json.loads(frame)["setup"]
    return setup


def message(text: str, role: Any = "user", item_id: str = "i") -> Item:
    return Item(id=item_id, role=role, content=(ContentPart(type="text", text=text),))


def turn(text: str, role: str = "user") -> Json:
    return {"parts": [{"text": text}], "role": role}


def told(*turns: Json, complete: bool) -> Json:
    return {"clientContent": {"turns": list(turns), "turnComplete": complete}}


IMAGE = Item(id="p", role="user", content=(ContentPart(type="image", image=JPEG, media_type="image/jpeg"),))
BLOB = {"mimeType": "image/jpeg", "data": pybase64.b64encode_as_string(JPEG)}


# The setup.


def test_the_setup_holds_every_setting() -> None:
    setup = setup_of(
        Settings(
            instructions="Be kind.",
            tools=(TOOL, ToolDeclaration(name="ring")),
            temperature=0.5,
            max_output_tokens=100,
            extra={"generationConfig": {"topP": 0.9}, "proactivity": {"proactiveAudio": True}},
        ),
        voice="Kore",
    )
    assert setup == {
        "model": "models/gemini-2.5-flash-native-audio-preview-09-2025",
        "generationConfig": {
            "responseModalities": ["AUDIO"],
            "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}},
            "temperature": 0.5,
            "maxOutputTokens": 100,
            "topP": 0.9,
        },
        "systemInstruction": {"parts": [{"text": "Be kind."}], "role": "user"},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "get_time", "description": "The time", "parametersJsonSchema": TOOL.parameters},
                    {"name": "ring", "description": ""},
                ]
            }
        ],
        "inputAudioTranscription": {},
        "outputAudioTranscription": {},
        "sessionResumption": {},
        "contextWindowCompression": {"slidingWindow": {}},
        "proactivity": {"proactiveAudio": True},
    }


def test_the_setup_is_one_that_the_sdk_knows() -> None:
    sdk = pytest.importorskip("google.genai.types")
    setup = setup_of(Settings(instructions="x", tools=(TOOL,), turn_detection="none", temperature=1.0), voice="Puck")
    sdk.RealtimeInputConfig.model_validate(setup.pop("realtimeInputConfig"))
    sdk.LiveClientSetup.model_validate(setup)


DETECTION: list[tuple[TurnDetection | str | None, Json | None]] = [
    (None, None),
    ("server_vad", None),
    ("none", {"automaticActivityDetection": {"disabled": True}}),
    (TurnDetection(authority="server"), {"automaticActivityDetection": {"disabled": True}}),
    (
        TurnDetection(silence_duration_ms=400, prefix_padding_ms=20),
        {"automaticActivityDetection": {"prefixPaddingMs": 20, "silenceDurationMs": 400}},
    ),
    (
        TurnDetection(threshold=0.8),
        {"automaticActivityDetection": {"startOfSpeechSensitivity": "START_SENSITIVITY_LOW"}},
    ),
    (
        TurnDetection(threshold=0.2),
        {"automaticActivityDetection": {"startOfSpeechSensitivity": "START_SENSITIVITY_HIGH"}},
    ),
    (
        TurnDetection(eagerness="high"),
        {"automaticActivityDetection": {"endOfSpeechSensitivity": "END_SENSITIVITY_HIGH"}},
    ),
    # Speech that must not interrupt is told where the service decides.
    (TurnDetection(interrupt_response=False), {"activityHandling": "NO_INTERRUPTION"}),
    (
        TurnDetection(interrupt_response=False, silence_duration_ms=400),
        {"automaticActivityDetection": {"silenceDurationMs": 400}, "activityHandling": "NO_INTERRUPTION"},
    ),
    (
        TurnDetection(authority="server", interrupt_response=False),
        {"automaticActivityDetection": {"disabled": True}},
    ),
    (TurnDetection(interrupt_response=True, create_response=False), None),
]


def test_who_finds_the_end_of_a_turn_and_whether_speech_interrupts() -> None:
    sdk = pytest.importorskip("google.genai.types")
    told = [(wanted, setup_of(Settings(turn_detection=wanted)).get("realtimeInputConfig")) for wanted, _ in DETECTION]
    assert told == DETECTION
    for _, said in told:
        sdk.RealtimeInputConfig.model_validate(said or {})


@pytest.mark.parametrize(
    ("model", "behavior"),
    [("gemini-3.8-live", "BLOCKING"), ("gemini-3.8-live-extended-thinking", None), ("gemini-3.1-flash-live", None)],
)
def test_calls_block_where_that_has_to_be_asked_for(model: str, behavior: str | None) -> None:
    (declaration,) = setup_of(Settings(tools=(TOOL,)), model=model)["tools"][0]["functionDeclarations"]
    assert declaration.get("behavior") == behavior


# Turns.


def test_audio_flows_as_it_comes_where_the_provider_finds_the_turns() -> None:
    codec = gemini()
    assert say(codec, AudioAppend(PCM), AudioAppend(b""), AudioAppend(PCM)) == [AUDIO, AUDIO]


def test_manual_turns_are_marked_and_end_when_an_answer_is_wanted() -> None:
    codec = gemini(MANUAL)
    assert say(codec, AudioAppend(PCM), AudioAppend(PCM), AudioCommit(), ResponseCreate()) == [START, AUDIO, AUDIO, END]
    assert say(codec, AudioAppend(PCM), AudioCommit()) == [START, AUDIO]
    assert say(codec, AudioAppend(PCM)) == [AUDIO], "nobody wanted an answer yet"
    assert say(codec, AudioCommit(), ResponseCreate()) == [END]
    committed = only(content(codec), ModelEvents.ModelInputCommittedEvent)
    assert len({event.item_id for event in committed}) == 3


def test_typed_turns_are_told_with_the_request() -> None:
    codec = gemini()
    assert say(codec, ItemCreate(message("Hello")), ResponseCreate()) == [told(turn("Hello"), complete=True)]


def test_a_request_with_nothing_new_needs_a_turn_all_the_same() -> None:
    overrides = ResponseOverrides(instructions="Greet me.")
    assert say(gemini(), ResponseCreate()) == [told(turn("."), complete=True)]
    assert say(gemini(), ResponseCreate(overrides)) == [told(turn("Greet me."), complete=True)]


def test_instructions_that_begin_with_the_sessions_own_are_told_without_them() -> None:
    codec = gemini(Settings(instructions="Be nice."))
    asked = ResponseCreate(ResponseOverrides(instructions="Be nice.\n\nGreet the caller."))
    assert say(codec, asked) == [told(turn("Greet the caller."), complete=True)]
    again = ResponseCreate(ResponseOverrides(instructions="Be nice."))
    assert say(gemini(Settings(instructions="Be nice.")), again) == [told(turn("Be nice."), complete=True)]


def test_a_response_outside_the_conversation_is_refused() -> None:
    codec = gemini()
    assert say(codec, ResponseCreate(ResponseOverrides(conversation="none"))) == []
    (error,) = only(content(codec), ModelEvents.ModelErrorEvent)
    assert (error.error_type, error.code) == ("client_error", "unsupported_response")


def test_what_nobody_asked_about_is_told_before_the_next_speech_but_never_into_an_answer() -> None:
    codec = gemini()
    content(codec, outputTranscription={"text": "I am"})
    assert say(codec, ItemCreate(message("By the way")), AudioAppend(PCM)) == [AUDIO]
    content(codec, turnComplete=True)
    assert say(codec, AudioAppend(PCM)) == [told(turn("By the way"), complete=False), AUDIO]
    manual = gemini(MANUAL)
    assert say(manual, ItemCreate(message("By the way")), AudioAppend(PCM)) == [
        told(turn("By the way"), complete=False),
        START,
        AUDIO,
    ]


def test_images_go_with_the_words_or_into_the_activity() -> None:
    """RTM-14: text, audio and image reach the service."""
    shown = {"parts": [{"inlineData": BLOB}], "role": "user"}
    asked: list[ModelInput] = [ItemCreate(IMAGE), ItemCreate(message("What is it?")), ResponseCreate()]
    assert say(gemini(), *asked) == [told(shown, turn("What is it?"), complete=True)]
    assert say(gemini(), ItemCreate(IMAGE), AudioAppend(PCM)) == [told(shown, complete=False), AUDIO]
    video = {"realtimeInput": {"video": BLOB}}
    codec = gemini(MANUAL)
    assert say(codec, ItemCreate(IMAGE), AudioAppend(PCM)) == [START, video, AUDIO]
    assert say(codec, ItemCreate(IMAGE), AudioAppend(PCM)) == [video, AUDIO]


def test_of_pictures_that_wait_for_a_request_the_latest_are_told() -> None:
    """A camera shows one a second, also while nobody speaks for minutes."""
    codec = gemini()
    part = IMAGE.content[0]
    for number in range(100):
        picture = msgspec.structs.replace(part, image=b"%d" % number)
        say(codec, ItemCreate(Item(id=f"p{number}", role="user", content=(picture,))))
        if number % 50 == 0:
            say(codec, ItemCreate(message(f"This is {number}.")))
    [frame] = say(codec, ResponseCreate())
    parts = [part for turn in frame["clientContent"]["turns"] for part in turn["parts"]]
    shown = [pybase64.b64decode(part["inlineData"]["data"]) for part in parts if "inlineData" in part]
    assert shown == [b"%d" % number for number in range(92, 100)]
    assert [part["text"] for part in parts if "text" in part] == ["This is 0.", "This is 50."]


def test_what_the_service_cannot_do_is_not_said() -> None:
    codec = gemini(MANUAL)
    assert say(codec, ItemDelete("x"), ItemTruncate("x", 100), AudioClear(), AudioCommit(), ResponseCancel()) == []
    say(codec, AudioAppend(PCM), AudioClear())
    (error,) = only(content(codec), ModelEvents.ModelErrorEvent)
    assert error.code == "unsupported_audio_clear"


# Tools.


def called(*ids: str) -> list[Json]:
    return [{"id": call_id, "name": "f", "args": {}} for call_id in ids]


def test_results_are_answers_to_calls_and_the_model_goes_on_by_itself() -> None:
    codec = gemini()
    hear(codec, toolCall={"functionCalls": called("c1", "c2")})
    picture = DataBlock(source=Base64Source(data=JPEG, media_type="image/jpeg"))
    said = say(
        codec,
        ToolResult(ToolResultBlock(id="c1", name="f", output="nine")),
        ToolResult(ToolResultBlock(id="c2", name="f", output=[TextBlock(text="no"), picture], state="error")),
        ResponseCreate(),
    )
    assert [frame["toolResponse"]["functionResponses"] for frame in said] == [
        [{"id": "c1", "name": "f", "response": {"output": "nine"}}],
        [{"id": "c2", "name": "f", "response": {"error": "no\n[image/jpeg, which cannot be shown to you]"}}],
    ]


def test_results_of_withdrawn_calls_are_dropped_and_those_of_unknown_ones_told() -> None:
    codec = gemini()
    hear(codec, toolCall={"functionCalls": called("c1")})
    hear(codec, toolCallCancellation={"ids": ["c1"]})
    assert say(codec, ToolResult(ToolResultBlock(id="c1", name="f", output="x")), ResponseCreate()) == []
    fresh = gemini()
    assert say(fresh, ToolResult(ToolResultBlock(id="c0", name="f", output="x")), ResponseCreate()) == [
        told(turn("[f returned: x]"), complete=True)
    ]


# The context, and changes while running.

HISTORY = [
    message("My name is Alice.", item_id="a"),
    Item(id="b", type="tool_call", tool_call=ToolCallBlock(id="c", name="f", input='{"x":1}')),
    Item(id="c", type="tool_result", tool_result=ToolResultBlock(id="c", name="f", output="y")),
    Item(id="d", role="assistant", content=(ContentPart(type="audio", transcript="Hello Alice"),)),
    Item(id="e", role="user", content=(ContentPart(type="audio"),)),
]


def test_the_context_follows_the_confirmed_setup() -> None:
    codec = fresh_gemini()
    assert len(codec.opening(Settings(), HISTORY)) == 1
    hear(codec, setupComplete={})
    seed = told(
        turn("My name is Alice."),
        turn('[I called f({"x":1})]', "model"),
        turn("[f returned: y]"),
        turn("Hello Alice", "model"),
        complete=False,
    )
    assert say(codec, ResponseCancel(), AudioAppend(PCM), AudioAppend(PCM)) == [seed, AUDIO, AUDIO]


def test_a_session_is_resumed_with_the_latest_handle_and_told_what_came_after_it() -> None:
    resumption = Resumption()
    codec = gemini(resumption=resumption)
    content(codec, outputTranscription={"text": "Hi"})
    events = content(codec, turnComplete=True)
    (answer,) = [event.item for event in only(events, ModelEvents.ModelItemDoneEvent)]
    hear(codec, sessionResumptionUpdate={"newHandle": "h1", "resumable": True})
    hear(codec, sessionResumptionUpdate={"resumable": False})
    after = fresh_gemini(resumption=resumption)
    (setup,) = after.opening(Settings(), [message("old", item_id="o"), answer, message("new", item_id="n")])
    assert json.loads(setup)["setup"]["sessionResumption"] == {"handle": "h1"}
    hear(after, setupComplete={})
    assert say(after, AudioAppend(PCM)) == [told(turn("new"), complete=False), AUDIO]


def test_a_session_whose_last_answer_was_taken_back_is_not_resumed() -> None:
    codec = fresh_gemini(resumption=Resumption(handle="h", item_id="withdrawn"))
    (setup,) = codec.opening(Settings(), HISTORY)
    assert json.loads(setup)["setup"]["sessionResumption"] == {}


def test_new_instructions_and_tools_are_told_where_the_model_takes_them() -> None:
    codec = gemini(model="gemini-3.8-live")
    update = SessionUpdate(Settings(instructions="Be brief."))
    assert say(codec, update) == [
        {"contextUpdate": {"systemInstruction": {"parts": [{"text": "Be brief."}], "role": "user"}}}
    ]
    (event,) = only(content(codec), ModelEvents.ModelSessionUpdatedEvent)
    assert event.settings["instructions"] == "Be brief."
    assert say(codec, update) == []


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
