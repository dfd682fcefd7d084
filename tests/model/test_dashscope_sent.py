"""What the DashScope codec sends, to the letter, and as the official SDK sends it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from realtime.event import Item, ModelEvents, ResponseOverrides, TurnDetection
from realtime.event.base import ContentPart
from realtime.event.config import ToolDeclaration
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.model.base import (
    AudioAppend,
    AudioClear,
    AudioCommit,
    ItemCreate,
    ItemDelete,
    ItemRetrieve,
    ItemTruncate,
    ModelInput,
    ResponseCancel,
    ResponseCreate,
    SessionUpdate,
    Settings,
    ToolResult,
)
from realtime.model.openai_family.dashscope import DashScopeCodec
from tests.model.dashscope_frames import KEY, Json, make_codec, one, responding, say
from tests.model.openai_frames import types

HELLO = Item(id="item_h", role="user", content=(ContentPart(type="text", text="hello"),))
CALL = Item(id="item_c", type="tool_call", tool_call=ToolCallBlock(id="call_1", name="f", input='{"a":1}'))
RESULT = Item(id="item_r", type="tool_result", tool_result=ToolResultBlock(id="call_1", name="f", output="2"))
PHOTO = Item(id="item_p", role="user", content=(ContentPart(type="image", image=b"\xff\xd8", media_type="image/jpeg"),))
SPOKEN = Item(id="item_s", role="assistant", content=(ContentPart(type="audio", transcript="Good day."),))
RULES = Item(id="item_y", role="system", content=(ContentPart(type="text", text="Be kind."),))
TURN = TurnDetection(type="server_vad", threshold=0.6, silence_duration_ms=300, prefix_padding_ms=200)
TOOL = ToolDeclaration(
    name="f", description="d", parameters={"type": "object", "properties": {"a": {"type": "integer"}}}
)
SAID_HELLO = {
    "type": "conversation.item.create",
    "item": {
        "id": "item_h",
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "hello"}],
    },
}

SAID: list[tuple[ModelInput, list[Json]]] = [
    (AudioAppend(b"\1\0\2\0"), [{"type": "input_audio_buffer.append", "audio": "AQACAA=="}]),
    (AudioCommit(), [{"type": "input_audio_buffer.commit"}]),
    (AudioClear(), [{"type": "input_audio_buffer.clear"}]),
    (ItemCreate(HELLO), [SAID_HELLO]),
    (ItemCreate(HELLO, "item_x"), [SAID_HELLO | {"previous_item_id": "item_x"}]),
    (
        ItemCreate(SPOKEN),
        [
            {
                "type": "conversation.item.create",
                "item": {
                    "id": "item_s",
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "text", "text": "Good day."}],
                },
            }
        ],
    ),
    (ItemCreate(Item(id="x", role="user")), []),
    (ItemCreate(CALL), []),
    (ItemDelete("item_h"), [{"type": "conversation.item.delete", "item_id": "item_h"}]),
    (ItemRetrieve("item_h"), [{"type": "conversation.item.retrieve", "item_id": "item_h"}]),
    (ItemTruncate("item_s", 1200, "Good", 0), []),
    (ResponseCreate(), [{"type": "response.create"}]),
    (ResponseCreate(ResponseOverrides(voice="Tina")), [{"type": "response.create"}]),
    (
        ResponseCreate(ResponseOverrides(instructions="short", output_modalities=("text",))),
        [{"type": "response.create", "response": {"instructions": "short", "modalities": ["text"]}}],
    ),
    (ResponseCancel(), [{"type": "response.cancel"}]),
    (
        SessionUpdate(
            Settings(instructions="be kind", turn_detection=TURN, tools=(TOOL,), max_output_tokens=99, temperature=0.5)
        ),
        [
            {
                "type": "session.update",
                "session": {
                    "modalities": ["text", "audio"],
                    "instructions": "be kind",
                    "turn_detection": {
                        "type": "server_vad",
                        "threshold": 0.6,
                        "prefix_padding_ms": 200,
                        "silence_duration_ms": 300,
                    },
                    "voice": "Cherry",
                    "input_audio_transcription": {"model": "qwen3-asr-flash-realtime"},
                    "tools": [
                        {
                            "type": "function",
                            "function": {
                                "name": "f",
                                "description": "d",
                                "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
                            },
                        }
                    ],
                    "temperature": 0.5,
                    "max_tokens": 99,
                },
            }
        ],
    ),
]


@pytest.mark.parametrize(("message", "frames"), SAID, ids=[type(message).__name__ for message, _ in SAID])
def test_what_we_say(message: ModelInput, frames: list[Json]) -> None:
    assert say(make_codec(voice="Cherry"), message) == frames


class _Sdk:
    """The SDK's conversation with its socket replaced: what it would send."""

    def __init__(self) -> None:
        qwen_omni = pytest.importorskip("dashscope.audio.qwen_omni")
        self.sent: list[Json] = []
        self.sock = self
        self.connected = True
        self.text_and_audio = [qwen_omni.MultiModality.TEXT, qwen_omni.MultiModality.AUDIO]
        self.conversation = qwen_omni.OmniRealtimeConversation(
            model="qwen3-omni-flash-realtime", callback=qwen_omni.OmniRealtimeCallback(), api_key=KEY
        )
        self.conversation.ws = self

    def send(self, text: str) -> None:
        frame = json.loads(text)
        assert frame.pop("event_id").startswith("event_")
        self.sent.append(frame)


@pytest.mark.parametrize(
    ("message", "do"),
    [
        (AudioAppend(b"\1\0\2\0"), lambda sdk: sdk.append_audio("AQACAA==")),
        (AudioCommit(), lambda sdk: sdk.commit()),
        (AudioClear(), lambda sdk: sdk.clear_appended_audio()),
        (ItemCreate(PHOTO), lambda sdk: sdk.append_video("/9g=")),
        (ItemCreate(HELLO), lambda sdk: sdk.create_item(SAID_HELLO["item"])),
        (
            ToolResult(ToolResultBlock(id="call_1", name="f", output="2")),
            lambda sdk: sdk.create_item({"type": "function_call_output", "call_id": "call_1", "output": "2"}),
        ),
        (ResponseCancel(), lambda sdk: sdk.cancel_response()),
        (ResponseCreate(ResponseOverrides(instructions="x")), lambda sdk: sdk.create_response(instructions="x")),
    ],
)
def test_it_is_what_the_official_sdk_sends(message: ModelInput, do: Callable[[Any], None]) -> None:
    sdk = _Sdk()
    codec = called(responding())
    codec.encode(AudioAppend(b"\0\0"))
    do(sdk.conversation)
    assert say(codec, message) == sdk.sent


def test_the_sdk_names_the_settings_as_we_do() -> None:
    sdk = _Sdk()
    sdk.conversation.update_session(
        output_modalities=sdk.text_and_audio,
        voice="Cherry",
        input_audio_transcription_model="qwen3-asr-flash-realtime",
        turn_detection_threshold=0.6,
        prefix_padding_ms=200,
        turn_detection_silence_duration_ms=300,
        instructions="be kind",
        temperature=0.5,
    )
    settings = Settings(instructions="be kind", turn_detection=TURN, temperature=0.5)
    codec = make_codec("qwen3-omni-flash-realtime", voice="Cherry")
    ours = json.loads(codec.opening(settings, [])[0])
    # Both spellings of the format are documented: `pcm` is the present one.
    sdk.sent[0]["session"] |= {"input_audio_format": "pcm", "output_audio_format": "pcm"}
    assert [ours] == sdk.sent


def called(codec: DashScopeCodec) -> DashScopeCodec:
    """The service has called a tool."""
    done = {"id": "item_c", "type": "function_call", "name": "f", "call_id": "call_1", "arguments": "{}"}
    one(codec, "response.output_item.done", response_id="r", item=done)
    return codec


# Settings.


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (None, {"type": "server_vad", "threshold": 0.5}),
        ("none", None),
        ("semantic_vad", {"type": "semantic_vad", "threshold": 0.5}),
        (TurnDetection(authority="server"), None),
        (TurnDetection(authority="client"), None),
        (TurnDetection(authority="provider"), {"type": "server_vad", "threshold": 0.5}),
        (
            TurnDetection(type="semantic_vad", eagerness="low", silence_duration_ms=400),
            {"type": "semantic_vad", "threshold": 0.5, "silence_duration_ms": 400},
        ),
        (
            TurnDetection(create_response=False, interrupt_response=False),
            {"type": "server_vad", "threshold": 0.5, "create_response": False, "interrupt_response": False},
        ),
    ],
)
def test_who_finds_the_end_of_a_turn(wanted: TurnDetection | str | None, said: Json | None) -> None:
    (frame,) = say(make_codec(), SessionUpdate(Settings(turn_detection=wanted)))
    assert frame["session"]["turn_detection"] == said


@pytest.mark.parametrize("model", ["qwen3-omni-flash-realtime", "qwen-omni-turbo-realtime"])
def test_models_without_tools_are_never_offered_any(model: str) -> None:
    codec = make_codec(model)
    settings = Settings(tools=(TOOL,))
    for frame in (json.loads(codec.opening(settings, [])[0]), *say(codec, SessionUpdate(settings))):
        assert "tools" not in frame["session"]


def test_formats_are_said_once_since_they_are_fixed_by_the_first_audio() -> None:
    codec = make_codec()
    first = json.loads(codec.opening(Settings(), [])[0])["session"]
    (later,) = say(codec, SessionUpdate(Settings()))
    assert (first["input_audio_format"], first["output_audio_format"]) == ("pcm", "pcm")
    assert not {"input_audio_format", "output_audio_format", "audio"} & set(later["session"])


def test_the_newest_models_take_formats_and_voice_in_the_nested_form() -> None:
    codec = make_codec("qwen3.8-omni-flash-realtime", voice="Tina")
    first = json.loads(codec.opening(Settings(), [])[0])["session"]
    (later,) = say(codec, SessionUpdate(Settings(voice="longanlingxin")))
    assert first["audio"] == {
        "input": {"format": {"type": "pcm", "sample_rate": 16000}},
        "output": {"format": {"type": "pcm", "sample_rate": 24000}, "voice": "Tina"},
    }
    assert later["session"]["audio"] == {"output": {"voice": "longanlingxin"}}
    assert not {"voice", "input_audio_format", "output_audio_format"} & (set(first) | set(later["session"]))


def test_transcription_that_is_off_is_not_mentioned_at_first_and_switched_off_later() -> None:
    codec = make_codec()
    off = Settings(input_audio_transcription=False)
    assert "input_audio_transcription" not in json.loads(codec.opening(off, [])[0])["session"]
    (update,) = say(codec, SessionUpdate(off))
    assert update["session"]["input_audio_transcription"] is None


def test_text_only_answers_are_asked_for_as_such() -> None:
    (frame,) = say(make_codec(), SessionUpdate(Settings(output_modalities=("text",))))
    assert frame["session"]["modalities"] == ["text"]


def test_extra_settings_are_merged_level_by_level() -> None:
    extra = {"enable_search": True, "turn_detection": {"idle_timeout_ms": 6000}}
    (frame,) = say(make_codec(), SessionUpdate(Settings(extra=extra)))
    assert frame["session"]["enable_search"] is True
    assert frame["session"]["turn_detection"] == {"type": "server_vad", "threshold": 0.5, "idle_timeout_ms": 6000}


def test_schemas_lose_what_the_service_refuses() -> None:
    given = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "city": {"type": ["string", "null"], "default": None},
            "unit": {"enum": ["C", "F", None]},
            "additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "null"}], "title": "T"},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "list": {"type": "array", "items": {"type": "object", "additionalProperties": True}},
        },
        "required": ["city"],
    }
    (frame,) = say(make_codec(), SessionUpdate(Settings(tools=(ToolDeclaration(name="f", parameters=given),))))
    assert frame["session"]["tools"][0]["function"]["parameters"] == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "default": None},
            "unit": {"enum": ["C", "F"]},
            "additionalProperties": {"type": "integer", "title": "T"},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "list": {"type": "array", "items": {"type": "object"}},
        },
        "required": ["city"],
    }


def test_a_tool_without_parameters_has_an_empty_schema() -> None:
    (frame,) = say(make_codec(), SessionUpdate(Settings(tools=(ToolDeclaration(name="f"),))))
    assert frame["session"]["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}


# Pictures, results and cancels.


def test_pictures_wait_for_the_first_speech_of_a_session() -> None:
    codec = make_codec()
    caption = ContentPart(type="text", text="look")
    assert say(codec, ItemCreate(PHOTO)) == []
    asked = say(codec, ItemCreate(Item(id="q", role="user", content=(*PHOTO.content, caption))))
    assert [frame["type"] for frame in asked] == ["conversation.item.create"]
    image = "input_image_buffer.append"
    assert [frame["type"] for frame in say(codec, AudioAppend(b"\0\0"))] == ["input_audio_buffer.append", image, image]
    assert say(codec, ItemCreate(PHOTO)) == [{"type": image, "image": "/9g="}]
    assert len(say(codec, AudioAppend(b"\0\0"))) == 1


def test_only_the_latest_pictures_wait() -> None:
    codec = make_codec()
    for _ in range(50):
        codec.encode(ItemCreate(PHOTO))
    assert len(codec.encode(AudioAppend(b"\0\0"))) == 5


def test_a_result_of_a_call_that_the_session_does_not_know_is_told_in_words() -> None:
    codec = make_codec()
    codec.opening(Settings(), [HELLO, CALL])
    (frame,) = say(codec, ToolResult(ToolResultBlock(id="call_1", name="f", output="2")))
    assert frame["item"]["role"] == "user"
    assert frame["item"]["content"][0]["text"] == 'The tool f was called with {"a":1} and returned: 2'


def test_a_result_as_an_item_is_a_result() -> None:
    (frame,) = say(called(responding()), ItemCreate(RESULT))
    assert frame["item"] == {"type": "function_call_output", "call_id": "call_1", "output": "2"}


def test_a_cancel_names_no_response_so_that_only_the_running_one_is_cancelled() -> None:
    codec = responding("resp_2")
    assert say(codec, ResponseCancel("resp_1")) == []
    assert say(codec, ResponseCancel("resp_2")) == [{"type": "response.cancel"}]
    assert say(codec, ResponseCancel()) == [{"type": "response.cancel"}]


# The context, restored.


def test_the_context_is_restored_in_order_and_its_echo_is_silent() -> None:
    codec = make_codec()
    silent = Item(id="item_e", role="user", content=(ContentPart(type="audio"),))
    history = [RULES, HELLO, CALL, RESULT, silent, SPOKEN]
    frames = [json.loads(frame) for frame in codec.opening(Settings(instructions="Be brief."), history)]
    assert [frame["type"] for frame in frames] == ["session.update", *["conversation.item.create"] * 3]
    assert [frame["item"]["id"] for frame in frames[1:]] == ["item_y", "item_h", "item_s"]
    told = 'Be brief.\n\nThe tool f was called with {"a":1} and returned: 2'
    assert frames[0]["session"]["instructions"] == told
    echo = {"id": "item_h", "type": "message", "role": "user", "status": "completed", "content": []}
    assert one(codec, "conversation.item.created", item=echo) == []
    assert types(one(codec, "conversation.item.created", item=echo | {"id": "new"})) == ["item_added", "item_done"]


def test_what_tools_returned_is_still_known_after_new_instructions() -> None:
    codec = make_codec()
    codec.opening(Settings(), [CALL, RESULT])
    (frame,) = say(codec, SessionUpdate(Settings(instructions="Be long.")))
    assert frame["session"]["instructions"].startswith("Be long.\n\nThe tool f")


@pytest.mark.parametrize(
    ("model", "turns"), [("qwen3-omni-flash-realtime", 8), ("qwen3.5-omni-flash-realtime", 80), ("of-the-future", 100)]
)
def test_no_more_is_restored_than_the_model_keeps_in_mind(model: str, turns: int) -> None:
    words = (ContentPart(type="text", text="x"),)
    history = [
        item
        for turn in range(120)
        for item in (
            Item(id=f"user{turn}", role="user", content=words),
            Item(id=f"assistant{turn}", role="assistant", content=words),
        )
    ]
    _, *frames = (json.loads(frame) for frame in make_codec(model).opening(Settings(), history))
    assert len(frames) == 2 * turns
    assert frames[0]["item"]["id"] == f"user{120 - turns}"


def test_the_key_is_never_shown_and_the_workspace_is_named() -> None:
    address = make_codec(workspace="llm-1").address(Settings())
    assert address.headers == (("Authorization", f"Bearer {KEY}"), ("X-DashScope-WorkSpace", "llm-1"))
    assert KEY not in repr(address)
    assert [name for name, _ in make_codec().address(Settings()).headers] == ["Authorization"]


def test_an_answer_keeps_its_length_whatever_was_heard() -> None:
    """The service cannot be told; an item is deleted only by who knows that it can."""
    codec = responding()
    assert say(codec, ItemTruncate("i", 0)) == []
    assert one(codec, "conversation.item.deleted", item_id="i") == [ModelEvents.ModelItemDeletedEvent(item_id="i")]
