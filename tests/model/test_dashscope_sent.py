"""What the DashScope codec alone does with what it sends, and that the official SDK sends the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from realtime.event import Item, ResponseOverrides
from realtime.event.base import ContentPart
from realtime.event.config import ToolDeclaration
from realtime.message import ToolResultBlock
from realtime.model.base import (
    AudioAppend,
    AudioClear,
    AudioCommit,
    ItemCreate,
    ItemTruncate,
    ModelInput,
    ResponseCancel,
    ResponseCreate,
    SessionUpdate,
    Settings,
    ToolResult,
)
from realtime.model.openai_family.dashscope import DashScopeCodec
from tests.model.frames import CALL, HELLO, KEY, PHOTO, RESULT, Json, dashscope, one, responding, say
from tests.model.test_codec_sent import TOOL, TURN, sent

RESULT_ON_THE_WIRE = {"type": "function_call_output", "call_id": "call_1", "output": "2"}


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


SDK_CALLS: list[tuple[ModelInput, Callable[[Any], None]]] = [
    (AudioAppend(b"\1\0\2\0"), lambda sdk: sdk.append_audio("AQACAA==")),
    (AudioCommit(), lambda sdk: sdk.commit()),
    (AudioClear(), lambda sdk: sdk.clear_appended_audio()),
    (ItemCreate(PHOTO), lambda sdk: sdk.append_video("/9g=")),
    (ItemCreate(HELLO), lambda sdk: sdk.create_item(sent()["text"]["dashscope"][0]["item"])),
    (ItemCreate(RESULT), lambda sdk: sdk.create_item(RESULT_ON_THE_WIRE)),
    (ToolResult(ToolResultBlock(id="call_1", name="f", output="2")), lambda sdk: sdk.create_item(RESULT_ON_THE_WIRE)),
    (ResponseCancel(), lambda sdk: sdk.cancel_response()),
    (ResponseCreate(ResponseOverrides(instructions="x")), lambda sdk: sdk.create_response(instructions="x")),
]


def test_it_is_what_the_official_sdk_sends() -> None:
    """A result also where it is given as an item."""
    for message, do in SDK_CALLS:
        sdk, codec = _Sdk(), called(responding())
        codec.encode(AudioAppend(b"\0\0"))
        do(sdk.conversation)
        assert say(codec, message) == sdk.sent, message


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
    codec = dashscope("qwen3-omni-flash-realtime", voice="Cherry")
    ours = json.loads(codec.opening(settings, [])[0])
    # Both spellings of the format are documented: `pcm` is the present one.
    sdk.sent[0]["session"] |= {"input_audio_format": "pcm", "output_audio_format": "pcm"}
    assert [ours] == sdk.sent


def called(codec: DashScopeCodec) -> DashScopeCodec:
    """The service has called a tool."""
    done = {"id": "item_c", "type": "function_call", "name": "f", "call_id": "call_1", "arguments": "{}"}
    one(codec, "response.output_item.done", response_id="r", item=done)
    return codec


@pytest.mark.parametrize("model", ["qwen3-omni-flash-realtime", "qwen-omni-turbo-realtime"])
def test_models_without_tools_are_never_offered_any(model: str) -> None:
    codec = dashscope(model)
    settings = Settings(tools=(TOOL,))
    for frame in (json.loads(codec.opening(settings, [])[0]), *say(codec, SessionUpdate(settings))):
        assert "tools" not in frame["session"]


def test_formats_are_said_once_since_they_are_fixed_by_the_first_audio() -> None:
    codec = dashscope()
    first = json.loads(codec.opening(Settings(), [])[0])["session"]
    (later,) = say(codec, SessionUpdate(Settings()))
    assert (first["input_audio_format"], first["output_audio_format"]) == ("pcm", "pcm")
    assert not {"input_audio_format", "output_audio_format", "audio"} & set(later["session"])


def test_the_newest_models_take_formats_and_voice_in_the_nested_form() -> None:
    codec = dashscope("qwen3.8-omni-flash-realtime", voice="Tina")
    first = json.loads(codec.opening(Settings(), [])[0])["session"]
    (later,) = say(codec, SessionUpdate(Settings(voice="longanlingxin")))
    assert first["audio"] == {
        "input": {"format": {"type": "pcm", "sample_rate": 16000}},
        "output": {"format": {"type": "pcm", "sample_rate": 24000}, "voice": "Tina"},
    }
    assert later["session"]["audio"] == {"output": {"voice": "longanlingxin"}}
    assert not {"voice", "input_audio_format", "output_audio_format"} & (set(first) | set(later["session"]))


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
    (frame,) = say(dashscope(), SessionUpdate(Settings(tools=(ToolDeclaration(name="f", parameters=given),))))
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
    (frame,) = say(dashscope(), SessionUpdate(Settings(tools=(ToolDeclaration(name="f"),))))
    assert frame["session"]["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}


# Pictures, results and cancels.


def test_pictures_wait_for_the_first_speech_of_a_session() -> None:
    codec = dashscope()
    caption = ContentPart(type="text", text="look")
    assert say(codec, ItemCreate(PHOTO)) == []
    asked = say(codec, ItemCreate(Item(id="q", role="user", content=(*PHOTO.content, caption))))
    assert [frame["type"] for frame in asked] == ["conversation.item.create"]
    image = "input_image_buffer.append"
    assert [frame["type"] for frame in say(codec, AudioAppend(b"\0\0"))] == ["input_audio_buffer.append", image, image]
    assert say(codec, ItemCreate(PHOTO)) == [{"type": image, "image": "/9g="}]
    assert len(say(codec, AudioAppend(b"\0\0"))) == 1


def test_only_the_latest_pictures_wait() -> None:
    codec = dashscope()
    for _ in range(50):
        codec.encode(ItemCreate(PHOTO))
    assert len(codec.encode(AudioAppend(b"\0\0"))) == 5


def test_a_result_of_a_call_that_the_session_does_not_know_is_told_in_words() -> None:
    codec = dashscope()
    codec.opening(Settings(), [HELLO, CALL])
    (frame,) = say(codec, ToolResult(ToolResultBlock(id="call_1", name="f", output="2")))
    assert frame["item"]["role"] == "user"
    assert frame["item"]["content"][0]["text"] == 'The tool f was called with {"a":1} and returned: 2'


def test_a_cancel_names_no_response_so_that_only_the_running_one_is_cancelled() -> None:
    codec = responding("resp_2")
    assert say(codec, ResponseCancel("resp_1")) == []
    assert say(codec, ResponseCancel("resp_2")) == [{"type": "response.cancel"}]
    assert say(codec, ResponseCancel()) == [{"type": "response.cancel"}]


def test_what_tools_returned_is_still_known_after_new_instructions() -> None:
    codec = dashscope()
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
    _, *frames = (json.loads(frame) for frame in dashscope(model).opening(Settings(), history))
    assert len(frames) == 2 * turns
    assert frames[0]["item"]["id"] == f"user{120 - turns}"


def test_the_workspace_is_named() -> None:
    address = dashscope(workspace="llm-1").address(Settings())
    assert address.headers == (("Authorization", f"Bearer {KEY}"), ("X-DashScope-WorkSpace", "llm-1"))


def test_an_answer_keeps_its_length_whatever_was_heard() -> None:
    """The service cannot be told; an item is deleted only by who knows that it can."""
    assert say(responding(), ItemTruncate("i", 0)) == []
