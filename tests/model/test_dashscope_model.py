"""`DashScopeRealtimeModel` as documented, and whole conversations with a service on loopback."""

from __future__ import annotations

import asyncio
import json
import logging
from http import HTTPStatus
from typing import TypeVar

import msgspec
import pytest

import realtime
from realtime.errors import ProviderError
from realtime.event import Item, ModelEvent, ModelEvents, ResponseOverrides
from realtime.event.base import ContentPart
from realtime.event.config import ToolDeclaration
from realtime.message import ToolResultBlock
from realtime.model.base import (
    AudioAppend,
    AudioCommit,
    Connection,
    ItemCreate,
    ResponseCancel,
    ResponseCreate,
    Settings,
    ToolResult,
    refusal,
)
from realtime.model.open import open_model
from realtime.model.openai_family.dashscope import DashScopeRealtimeModel, profile_of
from realtime.model.wire import WireLimits
from realtime.runtime import Runtime
from tests.model.dashscope_emulator import QwenEmulator, QwenSession
from tests.model.frames import only, types
from tests.model.grammar import check_grammar

KEY = "sk-test-0123456789abcdef"
LIMITS = WireLimits(first_delay_s=0.02, max_delay_s=0.1, close_timeout_s=0.3, open_timeout_s=5.0, session_timeout_s=5.0)
SPEECH = bytes(range(256)) * 125
VARIABLES = ("DASHSCOPE_API_KEY", "DASHSCOPE_WEBSOCKET_BASE_URL", "DASHSCOPE_WORKSPACE", "DASHSCOPE_REGION")
HELLO = Item(id="item_h", role="user", content=(ContentPart(type="text", text="hello"),))
PHOTO = Item(id="item_p", role="user", content=(ContentPart(type="image", image=b"\xff\xd8", media_type="image/jpeg"),))

E = TypeVar("E", bound=ModelEvent)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


class Call:
    """A connection and what it has reported."""

    def __init__(self) -> None:
        self.events: list[ModelEvent] = []
        self._told = asyncio.Condition()
        self.connection: Connection

    def note(self, event: ModelEvent) -> None:
        self.events.append(event)
        self._wake = asyncio.ensure_future(self._notify())

    async def _notify(self) -> None:
        async with self._told:
            self._told.notify_all()

    async def until(self, kind: type[E], count: int = 1) -> E:
        """The `count`-th event of this kind."""
        async with asyncio.timeout(10), self._told:
            await self._told.wait_for(lambda: len(only(self.events, kind)) >= count)
        return only(self.events, kind)[count - 1]

    async def end(self) -> None:
        await self.connection.close()
        await self._wake
        check_grammar(self.events, output_rate_hz=24_000)


async def open_call(
    provider: QwenEmulator,
    model_name: str = "qwen3-omni-flash-realtime",
    *,
    settings: Settings | None = None,
    history: tuple[Item, ...] = (),
    transcribes: bool = True,
) -> tuple[Call, QwenSession]:
    call = Call()
    model = DashScopeRealtimeModel(
        model_name,
        api_key=KEY,
        enable_input_audio_transcription=transcribes,
        base_url=provider.base_url,
        limits=LIMITS,
    )
    call.connection = await model.connect(
        settings=settings or Settings(), on_event=call.note, history=lambda: history, runtime=Runtime()
    )
    session = await provider.session()
    await session.until("session.update")
    return call, session


def test_it_is_constructed_as_documented() -> None:
    """RTM-02: import, construct."""
    model = realtime.DashScopeRealtimeModel(
        model_name="qwen3-omni-flash-realtime", api_key=KEY, voice="Cherry", enable_input_audio_transcription=True
    )
    assert model.websocket_url == "wss://dashscope.aliyuncs.com/api-ws/v1/realtime?model=qwen3-omni-flash-realtime"
    assert (model.input_sample_rate, model.output_sample_rate, model.support_tools) == (16_000, 24_000, False)
    assert model.support_input_modalities == ["audio", "image", "text"]
    assert KEY not in repr(model)


@pytest.mark.parametrize(
    ("name", "output_rate_hz", "has_tools"),
    [
        ("qwen3-omni-flash-realtime", 24_000, False),
        ("qwen3-omni-flash-realtime-2025-12-01", 24_000, False),
        ("qwen-omni-turbo-realtime", 16_000, False),
        ("qwen3.5-omni-plus-realtime", 24_000, True),
        ("qwen3.5-omni-flash-realtime", 24_000, True),
        ("qwen3.8-omni-flash-realtime", 24_000, True),
        ("qwen-of-the-future", 24_000, True),
    ],
)
def test_what_a_model_can_do_goes_by_its_name(name: str, output_rate_hz: int, has_tools: bool) -> None:
    """RTM-03: the documented name and any other."""
    profile = DashScopeRealtimeModel(name).profile
    assert profile == profile_of(name)
    assert (profile.model, profile.input_rate_hz, profile.output_rate_hz) == (name, 16_000, output_rate_hz)
    assert profile.supports_tools is has_tools
    assert (profile.supports_truncation, profile.supports_item_delete, profile.session_limit_s) == (False, False, 7200)


def test_a_model_is_had_by_its_name() -> None:
    assert open_model("dashscope").profile.model == "qwen3-omni-flash-realtime"
    assert open_model("dashscope:qwen3.5-omni-plus-realtime").profile.model == "qwen3.5-omni-plus-realtime"


def test_what_the_name_says_may_be_replaced() -> None:
    """AMB-52: a model that takes no typed text is told so, and text is refused by name."""
    deaf_to_text = msgspec.structs.replace(profile_of("x"), input_modalities=frozenset({"audio"}))
    error = refusal(DashScopeRealtimeModel("x", profile=deaf_to_text).profile, ItemCreate(HELLO))
    assert error is not None
    assert error.code == "unsupported_modality"


def test_results_are_refused_where_the_model_has_no_tools() -> None:
    result = ToolResult(ToolResultBlock(id="c", name="f", output="x"))
    error = refusal(profile_of("qwen3-omni-flash-realtime"), result)
    assert error is not None
    assert error.code == "unsupported_tools"
    assert refusal(profile_of("qwen3.5-omni-flash-realtime"), result) is None


QUERY = "?model=qwen3-omni-flash-realtime"


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://127.0.0.1:9", "ws://127.0.0.1:9/api-ws/v1/realtime"),
        ("https://proxy.example/", "wss://proxy.example/api-ws/v1/realtime"),
        ("https://proxy.example/qwen", "wss://proxy.example/qwen/api-ws/v1/realtime"),
        ("wss://dashscope-intl.aliyuncs.com/api-ws/v1/inference", "wss://dashscope-intl.aliyuncs.com/api-ws/v1/realtime"),
        ("wss://x/api-ws/v1/realtime?model=other", "wss://x/api-ws/v1/realtime"),
        ("https://x/api/v1/", "wss://x/api-ws/v1/realtime"),
    ],
)  # fmt: skip
def test_the_address_comes_from_the_base_url(monkeypatch: pytest.MonkeyPatch, base_url: str, url: str) -> None:
    assert DashScopeRealtimeModel(base_url=base_url).websocket_url == url + QUERY
    monkeypatch.setenv("DASHSCOPE_WEBSOCKET_BASE_URL", base_url)
    assert DashScopeRealtimeModel().websocket_url == url + QUERY


@pytest.mark.parametrize(
    ("workspace", "region", "host"),
    [
        (None, "cn-beijing", "dashscope.aliyuncs.com"),
        (None, "ap-southeast-1", "dashscope-intl.aliyuncs.com"),
        (None, "cn-hongkong", "cn-hongkong.dashscope.aliyuncs.com"),
        ("llm-1", None, "llm-1.cn-beijing.maas.aliyuncs.com"),
        ("llm-1", "ap-southeast-1", "llm-1.ap-southeast-1.maas.aliyuncs.com"),
    ],
)
def test_workspace_and_region_say_which_host(
    monkeypatch: pytest.MonkeyPatch, workspace: str | None, region: str | None, host: str
) -> None:
    url = f"wss://{host}/api-ws/v1/realtime{QUERY}"
    assert DashScopeRealtimeModel(workspace=workspace, region=region).websocket_url == url
    for name, value in (("DASHSCOPE_WORKSPACE", workspace), ("DASHSCOPE_REGION", region)):
        if value is not None:
            monkeypatch.setenv(name, value)
    assert DashScopeRealtimeModel().websocket_url == url


async def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """RTM-17: constructed with the common keywords; the key from DASHSCOPE_API_KEY."""
    monkeypatch.setenv("DASHSCOPE_API_KEY", KEY)
    async with QwenEmulator() as provider:
        model = DashScopeRealtimeModel(
            model_name="qwen3-omni-flash-realtime", voice="Cherry", enable_input_audio_transcription=True
        )
        model.websocket_url = f"{provider.base_url.replace('http', 'ws')}/api-ws/v1/realtime?model=m"
        connection = await model.connect(
            settings=Settings(), on_event=lambda event: None, history=lambda: (), runtime=Runtime()
        )
        assert (await provider.session()).header("Authorization") == f"Bearer {KEY}"
        await connection.close()


async def test_without_a_key_it_says_what_to_set() -> None:
    with pytest.raises(ProviderError, match="DASHSCOPE_API_KEY") as caught:
        await DashScopeRealtimeModel().connect(
            settings=Settings(), on_event=lambda event: None, history=lambda: (), runtime=Runtime()
        )
    assert caught.value.code == "missing_api_key"


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [(HTTPStatus.UNAUTHORIZED, "invalid_api_key", False), (HTTPStatus.TOO_MANY_REQUESTS, "rate_limit_exceeded", True)],
)
async def test_a_refused_handshake_says_why(status: HTTPStatus, code: str, retryable: bool) -> None:
    async with QwenEmulator() as provider:
        provider.refuse = (status, {})
        with pytest.raises(ProviderError) as caught:
            await open_call(provider)
        assert (caught.value.code, caught.value.retryable) == (code, retryable)


@pytest.mark.parametrize("voice", ["Cherry", "Serena", "Ethan", "Chelsie", "a-cloned-voice"])
async def test_voices_reach_the_provider(voice: str) -> None:
    """RTM-06, AMB-53: the voice is in the session payload, the documented ones and any other."""
    async with QwenEmulator() as provider:
        model = DashScopeRealtimeModel(api_key=KEY, voice=voice, base_url=provider.base_url)
        connection = await model.connect(
            settings=Settings(), on_event=lambda event: None, history=lambda: (), runtime=Runtime()
        )
        assert (await (await provider.session()).until("session.update"))["session"]["voice"] == voice
        await connection.close()


async def test_text_audio_and_images_are_sent() -> None:
    """RTM-04: each input modality reaches the fake server, the picture after the first audio."""
    async with QwenEmulator() as provider:
        call, session = await open_call(provider)
        for message in (ItemCreate(HELLO), ItemCreate(PHOTO), AudioAppend(b"\1\0")):
            assert refusal(call.connection.profile, message) is None
            call.connection.send(message)
        assert (await session.until("input_image_buffer.append"))["image"] == "/9g="
        assert session.kinds == [
            "session.update",
            "conversation.item.create",
            "input_audio_buffer.append",
            "input_image_buffer.append",
        ]
        await call.end()
        assert not only(call.events, ModelEvents.ModelErrorEvent)


async def test_a_typed_turn() -> None:
    async with QwenEmulator() as provider:
        call, session = await open_call(provider)
        call.connection.send(ItemCreate(HELLO))
        call.connection.send(ResponseCreate())
        await session.until("response.create")
        await session.speak("resp_1", "item_a", "Hello to you.", SPEECH)
        done = await call.until(ModelEvents.ModelResponseDoneEvent)
        assert (done.response_id, done.status, done.input_tokens, done.output_tokens) == ("resp_1", "completed", 10, 20)
        deltas = only(call.events, ModelEvents.ModelResponseAudioDeltaEvent)
        assert b"".join(event.delta for event in deltas) == SPEECH
        await call.end()


@pytest.mark.parametrize(("by_model", "by_call"), [(True, True), (False, True), (True, False)])
async def test_a_spoken_turn_with_and_without_the_user_s_words(by_model: bool, by_call: bool) -> None:
    """RTM-18: on: events; off: none and no config entry."""
    async with QwenEmulator() as provider:
        settings = Settings(input_audio_transcription=by_call)
        call, session = await open_call(provider, settings=settings, transcribes=by_model)
        assert ("input_audio_transcription" in session.frames[0]["session"]) is (by_model and by_call)
        call.connection.send(AudioAppend(SPEECH))
        await session.until("input_audio_buffer.append")
        assert session.audio == SPEECH
        await session.hear("item_u", start_ms=200, end_ms=900, transcript="what is the time")
        await session.speak("resp_1", "item_a", "It is nine.", SPEECH)
        await call.until(ModelEvents.ModelResponseDoneEvent)
        words = only(call.events, ModelEvents.ModelInputTranscriptionDeltaEvent)
        done = only(call.events, ModelEvents.ModelInputTranscriptionDoneEvent)
        wanted = "what is the time" if by_model and by_call else ""
        assert "".join(event.delta for event in words) == wanted
        assert [event.transcript for event in done] == ([wanted] if wanted else [])
        assert only(call.events, ModelEvents.ModelInputStartedEvent)[0].audio_start_ms == 200
        assert only(call.events, ModelEvents.ModelInputDoneEvent)[0].audio_end_ms == 900
        await call.end()


async def test_a_barge_in_ends_the_answer_and_what_comes_late_is_dropped() -> None:
    async with QwenEmulator() as provider:
        call, session = await open_call(provider)
        await session.begin("resp_1", "item_a")
        where = {"response_id": "resp_1", "item_id": "item_a", "output_index": 0, "content_index": 0}
        await session.send("response.audio.delta", **where, delta="AAAA")
        await session.send("input_audio_buffer.speech_started", audio_start_ms=100, item_id="item_u")
        await call.until(ModelEvents.ModelInputStartedEvent)
        call.connection.send(ResponseCancel("resp_1"))
        await session.until("response.cancel")
        await session.end("cancelled", status_details={"type": "cancelled", "reason": "turn_detected"})
        await session.send("response.audio.delta", **where, delta="AAAA")
        call.connection.send(ResponseCancel())
        await session.until("response.cancel", 2)
        await session.speak("resp_2", "item_b", "Yes?", SPEECH)
        assert (await call.until(ModelEvents.ModelResponseDoneEvent, 2)).status == "completed"
        cut = only(call.events, ModelEvents.ModelResponseDoneEvent)[0]
        assert (cut.status, cut.status_details) == ("cancelled", {"type": "cancelled", "reason": "turn_detected"})
        await call.end()
        assert not only(call.events, ModelEvents.ModelErrorEvent), "cancelling nothing is no error"


async def test_a_new_answer_is_asked_for_once_the_cancelled_one_is_over() -> None:
    async with QwenEmulator() as provider:
        call, session = await open_call(provider)
        await session.begin("resp_1", "item_a")
        await call.until(ModelEvents.ModelResponseCreatedEvent)
        call.connection.send(ResponseCancel("resp_1"))
        call.connection.send(ItemCreate(HELLO))
        call.connection.send(ResponseCreate(ResponseOverrides(instructions="short")))
        await session.until("conversation.item.create")
        assert "response.create" not in session.kinds
        await session.end("cancelled")
        assert (await session.until("response.create"))["response"] == {"instructions": "short"}
        await session.speak("resp_2", "item_b", "Hello.", SPEECH)
        await call.until(ModelEvents.ModelResponseDoneEvent, 2)
        call.connection.send(ResponseCreate())
        await session.until("response.create", 2)
        await call.end()
        assert not only(call.events, ModelEvents.ModelErrorEvent)


async def test_a_manual_turn() -> None:
    async with QwenEmulator() as provider:
        call, session = await open_call(provider, settings=Settings(turn_detection="none"))
        assert session.frames[0]["session"]["turn_detection"] is None
        for message in (AudioAppend(SPEECH), ItemCreate(PHOTO), AudioCommit(), ResponseCreate()):
            call.connection.send(message)
        await session.until("response.create")
        assert (await call.until(ModelEvents.ModelInputCommittedEvent)).item_id == "item_m"
        await session.speak("resp_1", "item_a", "A cat.", SPEECH)
        await call.until(ModelEvents.ModelResponseDoneEvent)
        assert session.kinds[1:] == [
            "input_audio_buffer.append",
            "input_image_buffer.append",
            "input_audio_buffer.commit",
            "response.create",
        ]
        await call.end()


async def test_a_tool_round_trip_where_the_model_has_tools() -> None:
    tool = ToolDeclaration(name="get_time", description="The time", parameters={"type": "object"})
    async with QwenEmulator() as provider:
        call, session = await open_call(provider, "qwen3.5-omni-flash-realtime", settings=Settings(tools=(tool,)))
        (declared,) = session.frames[0]["session"]["tools"]
        assert declared == {
            "type": "function",
            "function": {"name": "get_time", "description": "The time", "parameters": {"type": "object"}},
        }
        await session.call_tool("resp_1", "item_f", "get_time", "call_1", '{"city":"Oslo"}')
        await call.until(ModelEvents.ModelResponseDoneEvent)
        (done,) = only(call.events, ModelEvents.ModelResponseToolUseDoneEvent)
        assert json.loads(done.tool_use.input) == {"city": "Oslo"}
        call.connection.send(ToolResult(ToolResultBlock(id=done.tool_use.id, name="get_time", output="nine")))
        call.connection.send(ResponseCreate())
        await session.until("response.create")
        (result,) = session.sent("conversation.item.create")
        assert result["item"] == {"type": "function_call_output", "call_id": "call_1", "output": "nine"}
        await session.speak("resp_2", "item_a", "It is nine.", SPEECH)
        await call.until(ModelEvents.ModelResponseDoneEvent, 2)
        await call.end()
        assert not only(call.events, ModelEvents.ModelErrorEvent)


async def test_a_refused_setting_is_told_and_the_call_goes_on() -> None:
    async with QwenEmulator() as provider:
        call, session = await open_call(provider, settings=Settings(extra={"modalities": ["audio"]}))
        error = await call.until(ModelEvents.ModelErrorEvent)
        assert (error.code, error.error_type) == ("invalid_value", "client_error")
        await session.speak("resp_1", "item_a", "Still here.", SPEECH)
        await call.until(ModelEvents.ModelResponseDoneEvent)
        await call.end()


async def test_an_error_of_the_service_is_told_and_the_session_is_had_anew(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with QwenEmulator() as provider:
        call, session = await open_call(provider)
        failure = {"type": "server_error", "code": "COMMON_ERROR", "message": f"<50002> ModelServingError {KEY}"}
        await session.send("error", error=failure)
        await session.close(1011, "")
        await call.until(ModelEvents.ModelReconnectedEvent)
        (error,) = only(call.events, ModelEvents.ModelErrorEvent)
        assert (error.code, error.retryable, KEY in error.message) == ("server_error", True, False)
        await call.end()
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("realtime")]
    assert ours
    assert not [line for line in ours if KEY in line]


@pytest.mark.parametrize("how", ["dropped", "idle", "expired"])
async def test_a_lost_session_is_had_anew_with_the_context_restored(how: str) -> None:
    said = Item(id="item_s", role="assistant", content=(ContentPart(type="audio", transcript="Once upon"),))
    async with QwenEmulator() as provider:
        call, session = await open_call(provider, history=(HELLO, said))
        await session.begin("resp_1", "item_a")
        await call.until(ModelEvents.ModelResponseCreatedEvent)
        if how == "dropped":
            session.drop()
        else:
            if how == "idle":
                message = "Your session was closed because no response was generated for 300 seconds."
                await session.refuse(message, code="response_idle_timeout")
            await session.close(1000)
        await call.until(ModelEvents.ModelReconnectingEvent)
        call.connection.send(AudioAppend(SPEECH))
        await call.until(ModelEvents.ModelReconnectedEvent)
        second = await provider.session(2)
        await second.until("input_audio_buffer.append")
        assert second.audio == SPEECH
        assert [frame["item"]["content"][0]["text"] for frame in second.sent("conversation.item.create")] == [
            "hello",
            "Once upon",
        ]
        await second.speak("resp_2", "item_b", "a time.", SPEECH)
        await call.until(ModelEvents.ModelResponseDoneEvent, 2)
        lost = only(call.events, ModelEvents.ModelResponseDoneEvent)[0]
        assert (lost.response_id, lost.status) == ("resp_1", "failed")
        await call.end()
        assert not only(call.events, ModelEvents.ModelErrorEvent)
        assert types(call.events)[0] == "session_created"
        assert types(call.events).count("session_created") == 1


async def test_an_account_without_money_ends_the_session_for_good() -> None:
    async with QwenEmulator() as provider:
        call, session = await open_call(provider)
        await session.send("error", error={"type": "", "code": "Arrearage", "message": "Access denied.", "param": ""})
        await session.close(1011, "Arrearage")
        assert (await call.until(ModelEvents.ModelSessionEndedEvent)).reason == "insufficient_quota"
        await call.end()
        (error,) = only(call.events, ModelEvents.ModelErrorEvent)
        assert (error.code, error.retryable) == ("insufficient_quota", False)
        assert len(provider.sessions) == 1
