"""What only the endpoint for DashScope clients has, judged by the official SDK over real sockets."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from realtime.model.scripted import ExpectAudio, Speak
from tests.server.dashscope_sdk import STYLES, TOOL, SessionStyle, talking
from tests.server.ears import asked
from tests.server.harness import Json

DETECTOR: Json = {
    "type": "server_vad",
    "threshold": 0.5,
    "prefix_padding_ms": 300,
    "silence_duration_ms": 800,
    "create_response": True,
    "interrupt_response": True,
}
LOW_RATES = {
    "input_audio_config": {"type": "pcm", "sample_rate": 8_000},
    "output_audio_config": {"type": "pcm", "sample_rate": 16_000},
}


@pytest.mark.parametrize("style", STYLES)
async def test_a_session_begins_with_the_documented_settings(style: str) -> None:
    async with talking(style) as (ear, _):
        session = ear.frames[0]["session"]
        assert session["modalities"] == ["text", "audio"]
        assert session["input_audio_transcription"] == {"model": "qwen3-asr-flash-realtime"}
        assert session["turn_detection"] == DETECTOR


@pytest.mark.parametrize("style", STYLES[:2])
async def test_an_update_with_all_that_the_sdk_says_unasked_is_taken(style: str) -> None:
    async with talking(style) as (ear, model):
        await ear.do("update", voice="Cherry", instructions="Be brief.", tools=[TOOL], temperature=0.5, top_k=20)
        session = (await ear.until("session.updated"))["session"]
        assert session["turn_detection"] == DETECTOR | {"threshold": 0.2}
        assert (session["voice"], session["tools"], session["top_k"]) == ("Cherry", [TOOL], 20)
        assert session["input_audio_format"] == "pcm16"
        settings = model.connections[0].settings
        assert (settings.instructions, settings.voice, settings.temperature) == ("Be brief.", "Cherry", 0.5)
        assert [tool.name for tool in settings.tools] == ["get_weather"]
        assert not isinstance(settings.turn_detection, str)
        assert settings.turn_detection is not None
        assert settings.turn_detection.threshold == 0.2


async def test_the_newest_models_name_voice_and_formats_inside_audio_and_the_rates_hold_both_ways() -> None:
    async with talking("newest", ExpectAudio(900), asked(), Speak("Low.", 1.0)) as (ear, model):
        await ear.do("update", voice="Tina", **LOW_RATES)
        session = (await ear.until("session.updated"))["session"]
        assert session["audio"] == {
            "input": {"format": {"type": "pcm", "sample_rate": 8_000}},
            "output": {"format": {"type": "pcm", "sample_rate": 16_000}, "voice": "Tina"},
        }
        assert session["voice"] == model.connections[0].settings.voice == "Tina"
        await ear.hush(5)
        await ear.answered()
        spoken = sum(len(base64.b64decode(one["delta"])) for one in ear.only("response.audio.delta"))
        assert spoken == 32_000


async def test_whatever_the_older_style_can_say_of_a_session_is_taken() -> None:
    from dashscope.audio.qwen_omni import AudioFormatConfig
    from dashscope.audio.qwen_omni.omni_realtime import TranscriptionParams, TranslationParams

    said: list[dict[str, Any]] = [
        {"enable_input_audio_transcription": False, "turn_detection_type": "semantic_vad"},
        {"transcription_params": TranscriptionParams(language="en", corpus_text="names")},
        {"translation_params": TranslationParams("en", TranslationParams.Corpus({"a": "b"}))},
        {"turn_detection_param": {"idle_timeout_ms": 5_000, "interrupt_response": False}},
        {"input_video_representation_compact": "normal", "enable_search": True, "seed": 3},
        {"output_audio_config": AudioFormatConfig(sample_rate=24_000, extra_params={"speech_rate": 1.2})},
    ]
    async with talking("callbacks") as (ear, _):
        for settings in said:
            await ear.do("update", **settings)
            session = (await ear.until("session.updated"))["session"]
        assert (session["seed"], session["video"]) == (3, {"input": {"representation_compact": "normal"}})
        assert ear.types.count("error") == 1, "this model cannot search"


@pytest.mark.parametrize("style", STYLES[1:])
async def test_whatever_the_newer_style_can_say_is_taken(style: str) -> None:
    async with talking(style, asked(), Speak("Yes.", 0.2)) as (ear, _):
        assert isinstance(ear.style, SessionStyle)
        said = ear.style.sdk
        await ear.do("update", transcription_params={"language": "en", "corpus_text": "names"}, translation_params={})
        await ear.do("update", voice=None, turn_detection_param={"interrupt_response": False}, search_options={})
        item = {"id": "item_mine", "type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}
        await ear.do("item", item, previous_item_id="root")
        await ear.do("retrieve_item", "item_mine")
        await ear.do("respond", ["text", "audio"], "Be brief.", temperature=0.4)
        await ear.until("response.done")
        await ear.do("delete_item", "item_mine")
        await ear.until("conversation.item.deleted")
        assert "conversation.item.retrieved" in ear.types
        assert ear.style.raised == []
        assert said.session_id == ear.frames[0]["session"]["id"]
        assert said.last_first_audio_delay is not None
