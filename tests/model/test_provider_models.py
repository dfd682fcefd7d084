"""The models of the three providers as documented, and whole conversations with each service on loopback."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

import realtime
from realtime.errors import ProviderError
from realtime.event import Item, ModelEvents
from realtime.event.base import ContentPart, ResponseOverrides
from realtime.event.config import ToolDeclaration
from realtime.message import ToolResultBlock
from realtime.model.base import (
    AudioAppend,
    ItemCreate,
    RealtimeModel,
    ResponseCancel,
    ResponseCreate,
    Settings,
    ToolResult,
)
from realtime.model.gemini.model import GeminiRealtimeModel
from realtime.model.gemini.model import profile_of as gemini_profile
from realtime.model.open import open_model
from realtime.model.openai_family.dashscope import DashScopeRealtimeModel
from realtime.model.openai_family.dashscope import profile_of as dashscope_profile
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.openai_family.openai import profile_of as openai_profile
from realtime.model.services import SERVICES
from realtime.runtime import Runtime
from tests.model.grammar import check_grammar
from tests.model.providers import DASHSCOPE, GEMINI, KEY, OPENAI, DashScopeFake, Fake, Talk, talk

PCM = b"\x01\x02" * 16_000
HELLO = ItemCreate(Item(id="item_h", role="user", content=(ContentPart(type="text", text="Hello"),)))
TOOL = ToolDeclaration(name="get_time", description="The time", parameters={"type": "object"})
VARIABLES = (
    *("DASHSCOPE_WEBSOCKET_BASE_URL", "DASHSCOPE_WORKSPACE", "DASHSCOPE_REGION", "OPENAI_BASE_URL"),
    *("GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_API_VERSION"),
)
PROVIDERS = (OPENAI, GEMINI, DASHSCOPE)
each = pytest.mark.parametrize("fake", PROVIDERS, ids=lambda fake: fake.name)
of_the_family = pytest.mark.parametrize("fake", [OPENAI, DASHSCOPE], ids=lambda fake: fake.name)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [variable for fake in PROVIDERS for variable in SERVICES[fake.name].key_variables]
    for name in (*VARIABLES, *keys):
        monkeypatch.delenv(name, raising=False)


DOCUMENTED: list[tuple[type[RealtimeModel], str, str, str, tuple[Any, ...]]] = [
    (
        realtime.DashScopeRealtimeModel,
        "qwen3-omni-flash-realtime",
        "Cherry",
        "wss://dashscope.aliyuncs.com/api-ws/v1/realtime?model=qwen3-omni-flash-realtime",
        (16_000, 24_000, False, ["audio", "image", "text"]),
    ),
    (
        realtime.OpenAIRealtimeModel,
        "gpt-4o-realtime-preview",
        "alloy",
        "wss://api.openai.com/v1/realtime?model=gpt-4o-realtime-preview",
        (24_000, 24_000, True, ["audio", "text"]),
    ),
    (
        realtime.GeminiRealtimeModel,
        "gemini-2.5-flash-native-audio-preview-09-2025",
        "Puck",
        "wss://generativelanguage.googleapis.com/ws/"
        "google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
        (16_000, 24_000, True, ["audio", "image", "text"]),
    ),
]
"""Class, model and voice as documented; the address, and the rates, tools and modalities that the model then has."""


def test_they_are_constructed_as_documented() -> None:
    """RTM-02, RTM-07, RTM-12: import, construct. RTM-13: the documented name. RTM-17: the keywords common to all."""
    for model_class, name, voice, url, has in DOCUMENTED:
        make: Any = model_class
        model = make(model_name=name, api_key=KEY, voice=voice, enable_input_audio_transcription=True)
        rates = (model.input_sample_rate, model.output_sample_rate)
        assert (*rates, model.support_tools, model.support_input_modalities) == has
        assert model.websocket_url == url
        assert KEY not in repr(model)


OF_DASHSCOPE = {
    "input_rate_hz": 16_000,
    "supports_truncation": False,
    "supports_item_delete": False,
    "session_limit_s": 7200,
}
OF_OPENAI = {"emits_speech_events": True, "supports_manual_turns": True, "interrupts_itself": True}
OF_GEMINI = {
    "input_rate_hz": 16_000,
    "output_rate_hz": 24_000,
    "supports_truncation": False,
    "supports_item_delete": False,
    "supports_tools": True,
}
BY_NAME: dict[str, dict[str, Any]] = {
    "dashscope:qwen3-omni-flash-realtime": {"output_rate_hz": 24_000, "supports_tools": False},
    "dashscope:qwen3-omni-flash-realtime-2025-12-01": {"output_rate_hz": 24_000, "supports_tools": False},
    "dashscope:qwen-omni-turbo-realtime": {"output_rate_hz": 16_000, "supports_tools": False},
    "dashscope:qwen3.5-omni-plus-realtime": {"output_rate_hz": 24_000, "supports_tools": True},
    "dashscope:qwen3.5-omni-flash-realtime": {"output_rate_hz": 24_000, "supports_tools": True},
    "dashscope:qwen3.8-omni-flash-realtime": {"output_rate_hz": 24_000, "supports_tools": True},
    "dashscope:qwen-of-the-future": {"output_rate_hz": 24_000, "supports_tools": True},
    "openai:gpt-4o-realtime-preview": {"input_modalities": frozenset({"text", "audio"})},
    "openai:gpt-4o-mini-realtime-preview": {"input_modalities": frozenset({"text", "audio"})},
    "openai:gpt-realtime": {"input_modalities": frozenset({"text", "audio", "image"})},
    "openai:gpt-realtime-mini": {"input_modalities": frozenset({"text", "audio", "image"})},
    "openai:gpt-realtime-2.1": {"input_modalities": frozenset({"text", "audio", "image"})},
    "openai:gpt-of-the-future": {"input_modalities": frozenset({"text", "audio", "image"})},
    "gemini:gemini-2.5-flash-native-audio-preview-09-2025": {},
    "gemini:gemini-3.8-live": {},
    "gemini:gemini-later": {},
}


def test_what_a_model_can_do_goes_by_its_name_and_any_name_is_taken() -> None:
    """RTM-03, RTM-08, RTM-13: the documented names and newer ones. RTM-22: 16 kHz in, 24 kHz out of Gemini."""
    profiles = {"openai": openai_profile, "dashscope": dashscope_profile, "gemini": gemini_profile}
    of_all = {"openai": OF_OPENAI, "dashscope": OF_DASHSCOPE, "gemini": OF_GEMINI}
    wrong = {}
    for full_name, own in BY_NAME.items():
        provider, _, name = full_name.partition(":")
        profile = open_model(full_name).profile
        assert profile == profiles[provider](name)
        wanted = of_all[provider] | own | {"model": name}
        if (has := {field: getattr(profile, field) for field in wanted}) != wanted:
            wrong[full_name] = has
    assert wrong == {}
    assert open_model("dashscope").profile.model == "qwen3-omni-flash-realtime"


QWEN = "/api-ws/v1/realtime?model=qwen3-omni-flash-realtime"
GPT = "/realtime?model=gpt-realtime-2.1"
OPENAI_URL = "OPENAI_BASE_URL"
QWEN_URL, SPACE, REGION = "DASHSCOPE_WEBSOCKET_BASE_URL", "DASHSCOPE_WORKSPACE", "DASHSCOPE_REGION"
GOOGLE_URL, GOOGLE_VERSION = "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_API_VERSION"
ADDRESSES: list[tuple[type[Any], dict[str, str], str]] = [
    (OpenAIRealtimeModel, {OPENAI_URL: "http://127.0.0.1:9/v1"}, f"ws://127.0.0.1:9/v1{GPT}"),
    (OpenAIRealtimeModel, {OPENAI_URL: "wss://proxy.example/openai/"}, f"wss://proxy.example/openai{GPT}"),
    (DashScopeRealtimeModel, {QWEN_URL: "http://127.0.0.1:9"}, f"ws://127.0.0.1:9{QWEN}"),
    (DashScopeRealtimeModel, {QWEN_URL: "https://proxy.example/"}, f"wss://proxy.example{QWEN}"),
    (DashScopeRealtimeModel, {QWEN_URL: "https://proxy.example/qwen"}, f"wss://proxy.example/qwen{QWEN}"),
    (DashScopeRealtimeModel, {QWEN_URL: "wss://x.com/api-ws/v1/inference"}, f"wss://x.com{QWEN}"),
    (DashScopeRealtimeModel, {QWEN_URL: "wss://x/api-ws/v1/realtime?model=other"}, f"wss://x{QWEN}"),
    (DashScopeRealtimeModel, {QWEN_URL: "https://x/api/v1/"}, f"wss://x{QWEN}"),
    (DashScopeRealtimeModel, {REGION: "cn-beijing"}, f"wss://dashscope.aliyuncs.com{QWEN}"),
    (DashScopeRealtimeModel, {REGION: "ap-southeast-1"}, f"wss://dashscope-intl.aliyuncs.com{QWEN}"),
    (DashScopeRealtimeModel, {REGION: "cn-hongkong"}, f"wss://cn-hongkong.dashscope.aliyuncs.com{QWEN}"),
    (DashScopeRealtimeModel, {SPACE: "llm-1"}, f"wss://llm-1.cn-beijing.maas.aliyuncs.com{QWEN}"),
    (
        DashScopeRealtimeModel,
        {SPACE: "llm-1", REGION: "ap-southeast-1"},
        f"wss://llm-1.ap-southeast-1.maas.aliyuncs.com{QWEN}",
    ),
    (
        GeminiRealtimeModel,
        {GOOGLE_URL: "http://127.0.0.1:9/", GOOGLE_VERSION: "v1"},
        "ws://127.0.0.1:9/ws/google.ai.generativelanguage.v1.GenerativeService.BidiGenerateContent",
    ),
]
"""The model, what the environment says, and the address. All but Gemini's version may be said by an argument too."""
ARGUMENTS = {OPENAI_URL: "base_url", QWEN_URL: "base_url", SPACE: "workspace", REGION: "region"}


def test_the_address_comes_from_the_arguments_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    dialled = []
    for model_class, variables, url in ADDRESSES:
        with monkeypatch.context() as patch:
            for variable, value in variables.items():
                patch.setenv(variable, value)
            dialled.append((model_class, variables, model_class().websocket_url))
        if variables.keys() <= ARGUMENTS.keys():
            arguments = {ARGUMENTS[variable]: value for variable, value in variables.items()}
            assert model_class(**arguments).websocket_url == url
    assert dialled == ADDRESSES


@each
async def test_the_key_comes_from_the_environment_and_stays_out_of_logs(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """RTM-17, RTM-19: from the variable, into a header, into no frame and no log."""
    monkeypatch.setenv(SERVICES[fake.name].key_variables[0], KEY)
    caplog.set_level(logging.DEBUG)
    async with talk(fake, api_key=None) as made:
        session = await made.session()
        header = "x-goog-api-key" if fake is GEMINI else "Authorization"
        assert session.header(header) == (KEY if fake is GEMINI else f"Bearer {KEY}")
        assert KEY not in session.socket.request.path + str(await opening_of(made))
    assert KEY not in "".join(line.getMessage() for line in caplog.records if line.name.startswith("realtime"))


@each
async def test_without_a_key_it_says_what_to_set(fake: Fake) -> None:
    with pytest.raises(ProviderError, match=SERVICES[fake.name].key_variables[0]) as caught:
        await open_model(fake.name).connect(
            settings=Settings(), on_event=lambda event: None, history=tuple, runtime=Runtime()
        )
    assert caught.value.code == "missing_api_key"


async def test_the_address_may_be_changed_to_a_proxy() -> None:
    async with OPENAI.service() as service:
        model = OpenAIRealtimeModel(api_key=KEY)
        model.websocket_url = service.base_url.replace("http", "ws", 1).replace("/v1", "/elsewhere")
        connection = await model.connect(
            settings=Settings(), on_event=lambda event: None, history=tuple, runtime=Runtime()
        )
        assert (await service.session()).socket.request.path == "/elsewhere"
        await connection.close()


async def opening_of(made: Talk) -> dict[str, Any]:
    """The first frame that the service got."""
    session = await made.session()
    await session.when(lambda: bool(session.frames), "the opening")
    frame: dict[str, Any] = session.frames[0]
    return frame


def voice_in(opening: dict[str, Any]) -> str | None:
    """The voice that a provider is asked for by the first frame."""
    if "setup" in opening:
        speech = opening["setup"]["generationConfig"]["speechConfig"]
        return str(speech["voiceConfig"]["prebuiltVoiceConfig"]["voiceName"])
    session = opening["session"]
    return str(session["voice"] if "voice" in session else session["audio"]["output"]["voice"])


@pytest.mark.parametrize(
    ("fake", "voices"),
    [
        (OPENAI, ("alloy", "echo", "marin", "cedar")),
        (GEMINI, ("Puck", "Charon", "Kore", "Fenrir")),
        (DASHSCOPE, ("Cherry", "Serena", "Ethan", "Chelsie", "a-cloned-voice")),
    ],
    ids=lambda value: value.name if isinstance(value, Fake) else "",
)
async def test_voices_reach_the_provider(fake: Fake, voices: tuple[str, ...]) -> None:
    """RTM-06, RTM-11, RTM-16, AMB-53: the model's voice is in the opening, the documented ones and any other, and the
    call's wins over the model's."""
    asked = {}
    for voice in voices:
        for of_model, of_call in ((voice, None), (voices[0], voice)):
            async with talk(fake, Settings(voice=of_call), voice=of_model) as made:
                asked[voice, of_call] = voice_in(await opening_of(made))
    assert asked == {(voice, of_call): voice for voice in voices for of_call in (None, voice)}


@of_the_family
@pytest.mark.parametrize(("by_model", "by_call"), [(True, True), (False, True), (True, False)])
async def test_a_spoken_turn_with_and_without_the_user_s_words(fake: Fake, by_model: bool, by_call: bool) -> None:
    """RTM-18: on: events; off: they are not asked for, and none."""
    asked = by_model and by_call
    settings = Settings(input_audio_transcription=by_call)
    async with talk(fake, settings, enable_input_audio_transcription=by_model) as made:
        session = await made.session()
        opening = (await session.until("session.update"))["session"]
        assert ("transcription" in str(opening)) is asked
        made.connection.send(AudioAppend(PCM))
        await session.until("input_audio_buffer.append")
        assert session.audio == PCM
        await session.hear("item_u", start_ms=500, end_ms=900, transcript="what is the time")
        await session.speak("resp_1", "item_a", "It is nine.", PCM)
        await made.until(ModelEvents.ModelResponseDoneEvent)
    (started,), (done,) = made.all(ModelEvents.ModelInputStartedEvent), made.all(ModelEvents.ModelInputDoneEvent)
    assert (started.audio_start_ms, done.audio_end_ms) == (500, 900)
    if asked or fake is DASHSCOPE:
        words = made.all(ModelEvents.ModelInputTranscriptionDeltaEvent)
        heard = made.all(ModelEvents.ModelInputTranscriptionDoneEvent)
        assert "".join(event.delta for event in words).strip() == ("what is the time" if asked else "")
        assert [event.transcript for event in heard] == (["what is the time"] if asked else [])
    check_grammar(made.events, output_rate_hz=24_000)


@each
async def test_a_typed_turn(fake: Fake) -> None:
    async with talk(fake) as made:
        made.connection.send(HELLO)
        made.connection.send(ResponseCreate())
        session = await made.session()
        asked = await session.until(fake.asks)
        if fake is GEMINI:
            assert asked == {"turns": [{"parts": [{"text": "Hello"}], "role": "user"}], "turnComplete": True}
        await fake.speak(session, "Good day.", PCM)
        done = await made.until(ModelEvents.ModelResponseDoneEvent)
    assert (done.status, done.input_tokens, done.output_tokens) == ("completed", 10, 20)
    assert b"".join(event.delta for event in made.all(ModelEvents.ModelResponseAudioDeltaEvent)) == PCM
    check_grammar(made.events, output_rate_hz=24_000)


DECLARED: dict[str, dict[str, Any]] = {
    "openai": {"type": "function", "name": "get_time", "description": "The time", "parameters": {"type": "object"}},
    "dashscope": {
        "type": "function",
        "function": {"name": "get_time", "description": "The time", "parameters": {"type": "object"}},
    },
    "gemini": {"functionDeclarations": [{"name": "get_time", "description": "The time"}]},
}


@each
async def test_a_tool_round_trip(fake: Fake) -> None:
    """RTM-10, RTM-15: declared, called twice, answered, and used for the answer; Gemini calls both at once."""
    options = {"model_name": "qwen3.5-omni-flash-realtime"} if fake is DASHSCOPE else {}
    async with talk(fake, Settings(tools=(TOOL,)), **options) as made:
        session = await made.session()
        opening = session.setup if fake is GEMINI else (await session.until("session.update"))["session"]
        assert opening["tools"] == [DECLARED[fake.name]]
        await fake.call_tool(session, "call_1", "call_2")
        await made.until(ModelEvents.ModelResponseDoneEvent, 1 if fake is GEMINI else 2)
        calls = [event.tool_use for event in made.all(ModelEvents.ModelResponseToolUseDoneEvent)]
        assert [(call.id, json.loads(call.input)) for call in calls] == [
            ("call_1", {"city": "Oslo"}),
            ("call_2", {"city": "Oslo"}),
        ]
        for call in calls:
            made.connection.send(ToolResult(ToolResultBlock(id=call.id, name="get_time", output="nine")))
        made.connection.send(ResponseCreate())
        await session.until(fake.asks_after_result, 2 if fake is GEMINI else 1)
        if fake is GEMINI:
            assert [frame["functionResponses"][0]["id"] for frame in session.sent("toolResponse")] == [
                "call_1",
                "call_2",
            ]
            assert session.sent("clientContent") == []
        else:
            assert [frame["item"] for frame in session.sent("conversation.item.create")] == [
                {"type": "function_call_output", "call_id": call.id, "output": "nine"} for call in calls
            ]
        done = len(made.all(ModelEvents.ModelResponseDoneEvent))
        await fake.speak(session, "It is nine", PCM)
        await made.until(ModelEvents.ModelResponseDoneEvent, done + 1)
    check_grammar(made.events, output_rate_hz=24_000)
    assert made.all(ModelEvents.ModelErrorEvent) == []


@of_the_family
async def test_a_new_answer_is_asked_for_once_the_cancelled_one_is_over(fake: Fake) -> None:
    """Before, the service refuses it (`conversation_already_has_active_response`), and the user gets no answer."""
    async with talk(fake) as made:
        session = await made.session()
        await session.begin("resp_1", "item_a")
        await made.until(ModelEvents.ModelResponseCreatedEvent)
        made.connection.send(ResponseCancel("resp_1"))
        made.connection.send(HELLO)
        made.connection.send(ResponseCreate(ResponseOverrides(instructions="short")))
        await session.until("conversation.item.create")
        assert session.kinds[-2:] == ["response.cancel", "conversation.item.create"]
        if isinstance(fake, DashScopeFake):
            await session.end("cancelled")
        else:
            made.connection.send(ResponseCreate(ResponseOverrides(conversation="none", instructions="beside")))
            beside = await session.until("response.create")
            assert beside["response"]["instructions"] == "beside", "any number of these may run"
            await session.send("response.done", response=session._response("resp_1", "cancelled"))
        asked = await session.until("response.create", 1 if fake is DASHSCOPE else 2)
        assert asked["response"] == {"instructions": "short"}
        await session.speak("resp_2", "item_b", "Hello.", PCM)
        await made.until(ModelEvents.ModelResponseDoneEvent, 2)
        made.connection.send(ResponseCreate())
        await session.until("response.create", len(session.sent("response.create")) + 1)
    assert made.all(ModelEvents.ModelErrorEvent) == []
