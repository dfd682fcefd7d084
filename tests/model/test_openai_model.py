"""`OpenAIRealtimeModel` as documented, and whole conversations with a provider on loopback."""

from __future__ import annotations

import asyncio
import json

import pytest

from realtime.errors import ProviderError
from realtime.event import ModelEvent, ModelEvents
from realtime.event.base import ContentPart, Item, ResponseOverrides
from realtime.event.config import ToolDeclaration
from realtime.message import ToolResultBlock
from realtime.model.base import Connection, ItemCreate, OnEvent, ResponseCancel, ResponseCreate, Settings, ToolResult
from realtime.model.openai_family.openai import OpenAIRealtimeModel, profile_of
from realtime.runtime import Runtime
from tests.model.emulator import Emulator
from tests.model.grammar import check_grammar

KEY = "sk-test-0123456789abcdef"


async def connect(
    model: OpenAIRealtimeModel, on_event: OnEvent = lambda event: None, settings: Settings | None = None
) -> Connection:
    return await model.connect(
        settings=settings or Settings(), on_event=on_event, history=lambda: (), runtime=Runtime()
    )


def test_it_is_constructed_as_documented() -> None:
    """RTM-07: import, construct."""
    model = OpenAIRealtimeModel(
        model_name="gpt-4o-realtime-preview", api_key=KEY, voice="alloy", enable_input_audio_transcription=True
    )
    assert model.websocket_url == "wss://api.openai.com/v1/realtime?model=gpt-4o-realtime-preview"
    assert (model.input_sample_rate, model.output_sample_rate, model.support_tools) == (24_000, 24_000, True)
    assert model.support_input_modalities == ["audio", "text"]
    assert KEY not in repr(model)


@pytest.mark.parametrize(
    ("name", "takes_images"),
    [
        ("gpt-4o-realtime-preview", False),
        ("gpt-4o-mini-realtime-preview", False),
        ("gpt-realtime", True),
        ("gpt-realtime-mini", True),
        ("gpt-realtime-2.1", True),
        ("gpt-of-the-future", True),
    ],
)
def test_any_model_name_is_taken(name: str, takes_images: bool) -> None:
    """RTM-08: the documented name and newer ones."""
    profile = OpenAIRealtimeModel(name).profile
    assert profile == profile_of(name)
    assert profile.model == name
    assert ("image" in profile.input_modalities) is takes_images
    assert (profile.emits_speech_events, profile.supports_manual_turns, profile.interrupts_itself) == (True, True, True)


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://127.0.0.1:9/v1", "ws://127.0.0.1:9/v1/realtime?model=gpt-realtime-2.1"),
        ("wss://proxy.example/openai/", "wss://proxy.example/openai/realtime?model=gpt-realtime-2.1"),
    ],
)
def test_the_address_comes_from_the_base_url(monkeypatch: pytest.MonkeyPatch, base_url: str, url: str) -> None:
    assert OpenAIRealtimeModel(base_url=base_url).websocket_url == url
    monkeypatch.setenv("OPENAI_BASE_URL", base_url)
    assert OpenAIRealtimeModel().websocket_url == url


async def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Emulator() as provider:
        model = OpenAIRealtimeModel(base_url=provider.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        connection = await connect(model)
        assert (await provider.session()).header("Authorization") == f"Bearer {KEY}"
        await connection.close()


async def test_without_a_key_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ProviderError, match="OPENAI_API_KEY") as caught:
        await connect(OpenAIRealtimeModel())
    assert caught.value.code == "missing_api_key"


async def test_the_address_may_be_changed_to_a_proxy() -> None:
    async with Emulator() as provider:
        model = OpenAIRealtimeModel(api_key=KEY)
        model.websocket_url = provider.base_url.replace("http", "ws", 1).replace("/v1", "/elsewhere")
        connection = await connect(model)
        session = await provider.session()
        assert session.socket.request is not None
        assert session.socket.request.path == "/elsewhere"
        await connection.close()


@pytest.mark.parametrize("voice", ["alloy", "echo", "marin", "cedar"])
async def test_voices_reach_the_provider(voice: str) -> None:
    """RTM-11: the voice is in the session payload."""
    async with Emulator() as provider:
        connection = await connect(OpenAIRealtimeModel(api_key=KEY, voice=voice, base_url=provider.base_url))
        update = await (await provider.session()).until("session.update")
        assert update["session"]["audio"]["output"]["voice"] == voice
        await connection.close()


async def test_the_voice_of_the_call_wins_over_the_model_s() -> None:
    async with Emulator() as provider:
        model = OpenAIRealtimeModel(api_key=KEY, base_url=provider.base_url)
        connection = await connect(model, settings=Settings(voice="sage"))
        update = await (await provider.session()).until("session.update")
        assert update["session"]["audio"]["output"]["voice"] == "sage"
        await connection.close()


@pytest.mark.parametrize(
    ("by_model", "by_call", "asked"), [(True, True, True), (False, True, False), (True, False, False)]
)
async def test_the_user_s_words_are_asked_for_unless_switched_off(by_model: bool, by_call: bool, asked: bool) -> None:
    async with Emulator() as provider:
        model = OpenAIRealtimeModel(api_key=KEY, enable_input_audio_transcription=by_model, base_url=provider.base_url)
        connection = await connect(model, settings=Settings(input_audio_transcription=by_call))
        update = await (await provider.session()).until("session.update")
        assert ("transcription" in update["session"]["audio"]["input"]) is asked
        await connection.close()


async def test_a_tool_round_trip() -> None:
    """RTM-10: declared, called, answered, and used for the answer, on the fake server."""
    tool = ToolDeclaration(name="get_time", description="The time", parameters={"type": "object"})
    async with Emulator() as provider:
        events: list[ModelEvent] = []
        reported: asyncio.Queue[ModelEvent] = asyncio.Queue()
        model = OpenAIRealtimeModel(api_key=KEY, base_url=provider.base_url)
        connection = await connect(model, reported.put_nowait, Settings(tools=(tool,)))
        session = await provider.session()
        update = await session.until("session.update")
        assert update["session"]["tools"] == [
            {"type": "function", "name": "get_time", "description": "The time", "parameters": {"type": "object"}}
        ]
        await session.call_tool("resp_1", "item_f", "get_time", "call_1", '{"city":"Oslo"}')
        async with asyncio.timeout(10):
            while not isinstance(event := await reported.get(), ModelEvents.ModelResponseDoneEvent):
                events.append(event)
        events.append(event)
        (call,) = [event for event in events if isinstance(event, ModelEvents.ModelResponseToolUseDoneEvent)]
        assert json.loads(call.tool_use.input) == {"city": "Oslo"}
        connection.send(ToolResult(ToolResultBlock(id=call.tool_use.id, name="get_time", output="nine")))
        connection.send(ResponseCreate())
        await session.until("response.create")
        (result,) = session.sent("conversation.item.create")
        assert result["item"] == {"type": "function_call_output", "call_id": "call_1", "output": "nine"}
        await connection.close()
        check_grammar(events, output_rate_hz=24_000)


async def test_a_new_answer_is_asked_for_once_the_cancelled_one_is_over() -> None:
    """Before, the service refuses it (`conversation_already_has_active_response`), and the user gets no answer."""
    async with Emulator() as provider:
        reported: asyncio.Queue[ModelEvent] = asyncio.Queue()
        model = OpenAIRealtimeModel(api_key=KEY, base_url=provider.base_url)
        connection = await connect(model, reported.put_nowait)
        session = await provider.session()
        await session.begin("resp_1", "item_a")
        async with asyncio.timeout(10):
            while not isinstance(await reported.get(), ModelEvents.ModelResponseCreatedEvent):
                pass
        connection.send(ResponseCancel("resp_1"))
        connection.send(ItemCreate(Item(id="q", role="user", content=(ContentPart(type="text", text="Hello"),))))
        connection.send(ResponseCreate(ResponseOverrides(instructions="short")))
        connection.send(ResponseCreate(ResponseOverrides(conversation="none", instructions="beside")))
        beside = await session.until("response.create")
        assert beside["response"]["instructions"] == "beside", "any number of these may run"
        assert session.kinds[-3:] == ["response.cancel", "conversation.item.create", "response.create"]
        await session.send("response.done", response=session._response("resp_1", "cancelled"))
        assert (await session.until("response.create", 2))["response"]["instructions"] == "short"
        await connection.close()
