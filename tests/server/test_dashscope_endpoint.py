"""The endpoint for DashScope clients, judged by the official SDK over real sockets, in both of its styles."""

import asyncio
import base64
import json

import pytest

from realtime.model import base
from realtime.model.scripted import (
    CallTools,
    Expect,
    ExpectAudio,
    Speak,
    SpeechEnd,
    SpeechStart,
    Write,
)
from realtime.tool import Toolkit
from tests.server.dashscope_sdk import STYLES, TOOL, SessionStyle, asked, talking

AUDIO_TURN = [
    "response.created",
    "response.output_item.added",
    "conversation.item.created",
    "response.content_part.added",
]
AUDIO_END = [
    "response.audio_transcript.done",
    "response.audio.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.done",
]
TEXT_END = ["response.text.done", *AUDIO_END[2:]]

every_style = pytest.mark.parametrize("style", STYLES)


# -- open --------------------------------------------------------------------------------------------------------------


@every_style
async def test_the_session_is_told_first_and_unasked(style: str) -> None:
    async with talking(style) as (ear, _):
        assert ear.types == ["session.created"]
        session = ear.frames[0]["session"]
        assert session["id"].startswith("sess_")
        assert session["model"] == ear.model
        assert session["modalities"] == ["text", "audio"]
        assert session["input_audio_transcription"] == {"model": "qwen3-asr-flash-realtime"}
        assert session["turn_detection"] == {
            "type": "server_vad",
            "threshold": 0.5,
            "prefix_padding_ms": 300,
            "silence_duration_ms": 800,
            "create_response": True,
            "interrupt_response": True,
        }


@pytest.mark.parametrize("style", STYLES[:2])
async def test_an_update_with_all_that_the_sdk_says_unasked_is_taken(style: str) -> None:
    async with talking(style) as (ear, model):
        await ear.do("update", voice="Cherry", instructions="Be brief.", tools=[TOOL], temperature=0.5, top_k=20)
        session = (await ear.until("session.updated"))["session"]
        assert session["turn_detection"] == {
            "type": "server_vad",
            "threshold": 0.2,
            "prefix_padding_ms": 300,
            "silence_duration_ms": 800,
            "create_response": True,
            "interrupt_response": True,
        }
        assert (session["voice"], session["tools"], session["top_k"]) == ("Cherry", [TOOL], 20)
        assert session["input_audio_format"] == "pcm16"
        settings = model.connections[0].settings
        assert (settings.instructions, settings.voice, settings.temperature) == ("Be brief.", "Cherry", 0.5)
        assert [tool.name for tool in settings.tools] == ["get_weather"]
        assert not isinstance(settings.turn_detection, str)
        assert settings.turn_detection is not None
        assert settings.turn_detection.threshold == 0.2


async def test_the_newest_models_name_voice_and_formats_inside_audio() -> None:
    async with talking("newest") as (ear, model):
        await ear.do(
            "update",
            voice="Tina",
            input_audio_config={"type": "pcm", "sample_rate": 8_000},
            output_audio_config={"type": "pcm", "sample_rate": 16_000},
        )
        session = (await ear.until("session.updated"))["session"]
        assert session["audio"] == {
            "input": {"format": {"type": "pcm", "sample_rate": 8_000}},
            "output": {"format": {"type": "pcm", "sample_rate": 16_000}, "voice": "Tina"},
        }
        assert session["voice"] == "Tina"
        assert model.connections[0].settings.voice == "Tina"


async def test_rates_that_the_client_chose_hold_both_ways() -> None:
    async with talking("newest", ExpectAudio(900), asked(), Speak("Low.", 1.0)) as (ear, _):
        await ear.do(
            "update",
            input_audio_config={"type": "pcm", "sample_rate": 8_000},
            output_audio_config={"type": "pcm", "sample_rate": 16_000},
        )
        await ear.hush(5)
        await ear.do("respond")
        await ear.until("response.done")
        spoken = sum(len(base64.b64decode(one["delta"])) for one in ear.only("response.audio.delta"))
        assert spoken == 32_000


# -- turns -------------------------------------------------------------------------------------------------------------


@every_style
async def test_a_text_turn_is_answered_in_the_documented_order(style: str) -> None:
    async with talking(style, asked(), Speak("Good morning to you.", 1.2)) as (ear, _):
        await ear.say("Good morning.")
        await ear.do("respond")
        done = (await ear.until("response.done"))["response"]
        assert ear.types[1:6] == ["conversation.item.created", *AUDIO_TURN]
        assert ear.types[-5:] == AUDIO_END
        assert {*ear.types[6:-5]} == {"response.audio_transcript.delta", "response.audio.delta"}
        assert ear.frames[1]["item"]["content"] == [{"type": "input_text", "text": "Good morning."}]
        spoken = sum(len(base64.b64decode(one["delta"])) for one in ear.only("response.audio.delta"))
        assert spoken == round(1.2 * 48_000)
        words = "".join(one["delta"] for one in ear.only("response.audio_transcript.delta"))
        assert words == "Good morning to you."
        assert done["status"] == "completed"
        assert done["output"][0]["content"] == [{"type": "audio", "transcript": "Good morning to you."}]
        assert done["usage"]["total_tokens"] == done["usage"]["input_tokens"] + done["usage"]["output_tokens"]


@every_style
async def test_a_text_only_answer_is_text(style: str) -> None:
    async with talking(style, asked(), Write("Just words.")) as (ear, model):
        await ear.do("update", modalities=("text",))
        await ear.say("Write.")
        await ear.do("respond")
        done = (await ear.until("response.done"))["response"]
        assert ear.types[-4:] == TEXT_END
        assert done["modalities"] == ["text"]
        assert done["output"][0]["content"] == [{"type": "text", "text": "Just words."}]
        assert model.connections[0].settings.output_modalities == ("text",)


@every_style
async def test_a_spoken_turn_with_server_vad(style: str) -> None:
    script = (ExpectAudio(200), SpeechStart(20), ExpectAudio(400), SpeechEnd(330, "what time"), Speak("Noon.", 0.4))
    async with talking(style, *script) as (ear, _):
        await ear.do("update")
        await ear.hush(5)
        await ear.until("response.done")
        assert ear.types[2:6] == [
            "input_audio_buffer.speech_started",
            "input_audio_buffer.speech_stopped",
            "input_audio_buffer.committed",
            "conversation.item.created",
        ]
        started, stopped, committed, created = ear.frames[2:6]
        assert (started["audio_start_ms"], stopped["audio_end_ms"]) == (20, 330)
        assert started["item_id"] == stopped["item_id"] == committed["item_id"] == created["item"]["id"]
        assert (created["item"]["role"], created["item"]["content"]) == ("user", [{"type": "input_audio"}])
        transcription = "conversation.item.input_audio_transcription"
        # Cumulative: each delta holds everything so far.
        assert [one["text"] for one in ear.only(f"{transcription}.delta")] == ["what", "what time"]
        assert ear.only(f"{transcription}.completed")[0]["transcript"] == "what time"
        assert ear.types.index(f"{transcription}.completed") > ear.types.index("input_audio_buffer.committed")
        assert ear.types[-5:] == AUDIO_END


@every_style
async def test_push_to_talk_answers_only_when_it_is_asked_to(style: str) -> None:
    async with talking(style, Expect(base.AudioCommit), asked(), Speak("Pressed.", 0.4)) as (ear, model):
        await ear.do("update", enable_turn_detection=False)
        updated = await ear.until("session.updated")
        assert updated["session"]["turn_detection"] is None
        await ear.do("clear")
        await ear.until("input_audio_buffer.cleared")
        await ear.hush(1)
        await ear.do("image", b"\xff\xd8\xff\xd9")
        await ear.do("commit")
        await ear.until("conversation.item.created")
        assert ear.types[-2:] == ["input_audio_buffer.committed", "conversation.item.created"]
        received = model.connections[0].received
        assert not [one for one in received if isinstance(one, base.ResponseCreate)]
        seen = [part for one in received if isinstance(one, base.ItemCreate) for part in one.item.content]
        assert [part.image for part in seen] == [b"\xff\xd8\xff\xd9"]
        await ear.do("respond")
        await ear.until("response.done")
        assert "error" not in ear.types


@every_style
async def test_a_second_turn_right_after_a_spoken_one_cuts_nothing(style: str) -> None:
    """Asking for a response interrupts nothing in this protocol, however fast the client is."""
    script = (asked(), Speak("First answer.", 3.0), asked(), Speak("Second answer.", 0.4))
    async with talking(style, *script) as (ear, model):
        for words in ("One", "Two"):
            await ear.say(words)
            await ear.do("respond")
            await ear.until("response.done")
        kinds = {type(message) for message in model.connections[0].received}
        assert kinds == {base.ItemCreate, base.ResponseCreate}


async def test_one_response_may_have_instructions_of_its_own() -> None:
    async with talking("callbacks", asked(), Speak("La.", 0.2)) as (ear, model):
        await ear.do("respond", instructions="Sing.")
        await ear.until("response.done")
        (request,) = [one for one in model.connections[0].received if isinstance(one, base.ResponseCreate)]
        assert request.overrides is not None
        assert request.overrides.instructions == "Sing."


# -- interruptions -----------------------------------------------------------------------------------------------------


@every_style
async def test_a_cancel_ends_the_response(style: str) -> None:
    async with talking(style, asked(), Speak("A long story about a fox.", 20.0, pace=1.0)) as (ear, _):
        await ear.do("respond")
        await ear.until("response.audio.delta")
        await ear.do("cancel")
        done = (await ear.until("response.done"))["response"]
        assert done["status"] == "cancelled"
        assert done["status_details"] == {"type": "cancelled", "reason": "client_cancelled"}
        assert ear.types[-5:] == AUDIO_END
        assert ear.frames[-2]["item"]["status"] == "incomplete"
        await ear.do("cancel")
        error = (await ear.until("error"))["error"]
        assert (error["code"], error["message"]) == ("", "Conversation has none active response")


@every_style
async def test_speech_interrupts_and_the_answer_may_be_deleted(style: str) -> None:
    script = (asked(), Speak("A long story.", 8.0, pace=1.0, wait=False), ExpectAudio(200), SpeechStart(20))
    async with talking(style, *script) as (ear, _):
        await ear.do("respond")
        item_id = (await ear.until("response.audio.delta"))["item_id"]
        await ear.hush(3)
        await ear.until("input_audio_buffer.speech_started")
        if not ear.only("response.done"):
            await ear.until("response.done")
        (done,) = ear.only("response.done")
        assert done["response"]["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
        await ear.do("raw", json.dumps({"type": "conversation.item.retrieve", "item_id": item_id}))
        retrieved = await ear.until("conversation.item.retrieved")
        assert (retrieved["item"]["id"], retrieved["item"]["role"]) == (item_id, "assistant")
        await ear.do("raw", json.dumps({"type": "conversation.item.delete", "item_id": item_id}))
        assert (await ear.until("conversation.item.deleted"))["item_id"] == item_id
        assert "error" not in ear.types


# -- tools -------------------------------------------------------------------------------------------------------------


@every_style
async def test_a_tool_round_gives_one_response_after_the_clients_request(style: str) -> None:
    calls = CallTools((("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Rome"})))
    script = (asked(), calls, Expect(base.ToolResult), asked(), Speak("Rain and sun.", 0.4))
    async with talking(style, *script) as (ear, model):
        await ear.do("update", tools=[TOOL])
        await ear.say("The weather?")
        await ear.do("respond")
        await ear.until("response.done")
        kind = "response.function_call_arguments"
        called = ear.only(f"{kind}.done")
        assert [json.loads(one["arguments"])["city"] for one in called] == ["Oslo", "Rome"]
        order = [one for one in ear.since("response.created") if one != f"{kind}.delta"]
        per_call = [
            "response.output_item.added",
            "conversation.item.created",
            f"{kind}.done",
            "response.output_item.done",
        ]
        assert order == ["response.created", *per_call, *per_call, "response.done"]
        for place, one in enumerate(called):
            output = {"type": "function_call_output", "call_id": one["call_id"], "output": '{"sky": "grey"}'}
            await ear.do("item", output | {"id": f"item_mine_{place}"})
            acknowledged = (await ear.until("conversation.item.created"))["item"]
            assert (acknowledged["id"], acknowledged["status"]) == (f"item_mine_{place}", "completed")
            named = {"type": f"conversation.item.{'delete' if place else 'retrieve'}", "item_id": f"item_mine_{place}"}
            await ear.do("raw", json.dumps(named))
            told = await ear.until(f"conversation.item.{'deleted' if place else 'retrieved'}")
            assert (told["item_id"] if place else told["item"]["id"]) == f"item_mine_{place}"
        await ear.do("respond")
        done = (await ear.until("response.done"))["response"]
        assert done["output"][0]["content"][0]["transcript"] == "Rain and sun."
        received = [type(one) for one in model.connections[0].received]
        assert received.count(base.ToolResult) == 2
        assert received.count(base.ResponseCreate) == 2


async def test_a_call_that_the_client_ignores_does_not_silence_the_model() -> None:
    script = (asked(), CallTools((("get_weather", {}),)), asked(), Speak("Never mind.", 0.4))
    async with talking("callbacks", *script) as (ear, _):
        await ear.do("update", tools=[TOOL])
        await ear.do("respond")
        call_id = (await ear.until("response.done"))["response"]["output"][0]["call_id"]
        await ear.say("Forget it.")
        await ear.do("respond")
        await ear.until("response.done")
        await ear.do("item", {"type": "function_call_output", "call_id": call_id, "output": "rain"})
        assert (await ear.until("conversation.item.created"))["item"]["output"] == "rain"
        assert "error" not in ear.types


async def test_a_tool_of_the_server_stays_inside_one_response() -> None:
    def tell_time() -> str:
        """The time."""
        return "noon"

    script = (asked(), CallTools((("tell_time", {}),)), Expect(base.ToolResult), asked(), Speak("It is noon.", 0.4))
    async with talking("session", *script, tools=Toolkit([tell_time])) as (ear, _):
        await ear.say("The time?")
        await ear.do("respond")
        done = await ear.until("response.done")
        assert ear.types.count("response.created") == 1
        assert not [kind for kind in ear.types if "function_call" in kind]
        assert [item["type"] for item in done["response"]["output"]] == ["message"]
        assert done["response"]["id"] == ear.only("response.created")[0]["response"]["id"]


# -- what the SDK says ---------------------------------------------------------------------------------------------


async def test_whatever_the_older_style_can_say_of_a_session_is_taken() -> None:
    from dashscope.audio.qwen_omni import AudioFormatConfig
    from dashscope.audio.qwen_omni.omni_realtime import TranscriptionParams, TranslationParams

    async with talking("callbacks") as (ear, _):
        for settings in (
            {"enable_input_audio_transcription": False, "turn_detection_type": "semantic_vad"},
            {"transcription_params": TranscriptionParams(language="en", corpus_text="names")},
            {"translation_params": TranslationParams("en", TranslationParams.Corpus({"a": "b"}))},
            {"turn_detection_param": {"idle_timeout_ms": 5_000, "interrupt_response": False}},
            {"input_video_representation_compact": "normal", "enable_search": True, "seed": 3},
            {"output_audio_config": AudioFormatConfig(sample_rate=24_000, extra_params={"speech_rate": 1.2})},
        ):
            await ear.do("update", **settings)
            await ear.until("session.updated")
        session = ear.frames[-1]["session"]
        assert (session["seed"], session["video"]) == (3, {"input": {"representation_compact": "normal"}})
        assert "error" not in ear.types


@pytest.mark.parametrize("style", STYLES[1:])
async def test_whatever_the_newer_style_can_say_is_taken(style: str) -> None:
    async with talking(style, asked(), Speak("Yes.", 0.2)) as (ear, _):
        assert isinstance(ear.style, SessionStyle)
        said = ear.style.sdk
        await ear.do("update", transcription_params={"language": "en", "corpus_text": "names"}, translation_params={})
        await ear.do("update", voice=None, turn_detection_param={"interrupt_response": False}, search_options={})
        item = {"id": "item_mine", "type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}
        await asyncio.to_thread(said.create_item, item, previous_item_id="root")
        await asyncio.to_thread(said.retrieve_item, "item_mine")
        await asyncio.to_thread(said.create_response, ["text", "audio"], "Be brief.", temperature=0.4)
        await ear.until("response.done")
        await asyncio.to_thread(said.delete_item, "item_mine")
        await ear.until("conversation.item.deleted")
        assert "conversation.item.retrieved" in ear.types
        assert ear.style.raised == []
        assert said.session_id == ear.frames[0]["session"]["id"]
        assert said.last_first_audio_delay is not None
