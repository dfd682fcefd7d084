"""What the DashScope codec alone does with what it sends, and that the official SDK sends the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from realtime.event import Item, ResponseOverrides
from realtime.event.base import ContentPart
from realtime.message import ToolResultBlock
from realtime.model.base import (
    AudioAppend,
    AudioClear,
    AudioCommit,
    ItemCreate,
    ModelInput,
    ResponseCancel,
    ResponseCreate,
    Settings,
    ToolResult,
)
from realtime.model.openai_family.dashscope import DashScopeCodec
from tests.model.frames import HELLO, KEY, PHOTO, RESULT, Json, dashscope, one, responding, say
from tests.model.test_codec_sent import TURN, sent

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


def test_only_the_latest_pictures_wait() -> None:
    codec = dashscope()
    for _ in range(50):
        codec.encode(ItemCreate(PHOTO))
    assert len(codec.encode(AudioAppend(b"\0\0"))) == 5


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
