"""What the endpoint for DashScope clients refuses, and how it closes a session."""

import asyncio
import json
from typing import Any

import pytest
from websocket import WebSocketBadStatusException
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from realtime.agent import RealtimeAgent
from realtime.call.limits import Limits
from realtime.errors import ProviderError
from realtime.event.model import ModelErrorEvent
from realtime.model import base
from realtime.model.scripted import Emit, Hangup, ScriptedModel, Speak
from realtime.server.dashscope_endpoint import PATH
from realtime.server.settings import ServerSettings
from tests.server.dashscope_sdk import FLASH, NEWEST, STYLES, SessionStyle, asked, sdk, talking
from tests.server.harness import Json, begun_calls, serving

# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "code", "param"),
    [
        ("no json", "invalid_value", ""),
        ("[]", "invalid_value", ""),
        ('{"event_id": "mine"}', "invalid_value", "type"),
        ('{"type": "input.dance", "event_id": "mine"}', "invalid_value", "type"),
        ('{"type": "conversation.item.truncate", "event_id": "mine", "item_id": "x"}', "invalid_value", "type"),
        ('{"type": "session.update", "event_id": "mine"}', "invalid_value", ""),
        (
            '{"type": "session.update", "event_id": "mine", "session": {"modalities": ["audio"]}}',
            "invalid_value",
            "session.modalities",
        ),
        (
            '{"type": "session.update", "event_id": "mine", "session": {"temperature": "hot"}}',
            "invalid_value",
            "session.temperature",
        ),
        (
            '{"type": "session.update", "event_id": "mine", "session": {"input_audio_format": "mp3"}}',
            "invalid_value",
            "session.input_audio_format",
        ),
        ('{"type": "response.cancel", "event_id": "mine"}', "", ""),
        ('{"type": "input_audio_buffer.commit", "event_id": "mine"}', "invalid_value", ""),
        ('{"type": "input_audio_buffer.append", "event_id": "mine", "audio": "*"}', "invalid_value", "audio"),
        ('{"type": "input_image_buffer.append", "event_id": "mine", "image": "AAAA"}', "", ""),
        ('{"type": "conversation.item.delete", "event_id": "mine", "item_id": "x"}', "invalid_value", "item_id"),
        (
            '{"type": "conversation.item.create", "event_id": "mine", "item": {"type": "mcp_approval_response"}}',
            "invalid_value",
            "item.type",
        ),
        (
            '{"type": "conversation.item.create", "event_id": "mine", "item": {"type": "function_call_output", '
            '"call_id": "call_gone", "output": "x"}}',
            "",
            "",
        ),
    ],
)
async def test_what_cannot_be_done_is_told_and_the_session_lives_on(frame: str, code: str, param: str) -> None:
    async with talking("callbacks", asked(), Speak("Still here.", 0.4)) as (ear, _):
        await ear.do("raw", frame)
        error = (await ear.until("error"))["error"]
        assert (error["type"], error["code"], error["param"]) == ("invalid_request_error", code, param)
        assert error.get("event_id") == ("mine" if "mine" in frame else None)
        await ear.do("respond")
        assert (await ear.until("response.done"))["response"]["status"] == "completed"


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"type": "response.cancel"}, "Conversation has none active response"),
        ({"type": "input_image_buffer.append", "image": "AAAA"}, "Error append image before append audio."),
        (
            {"type": "conversation.item.create", "item": {"type": "function_call_output", "call_id": "call_gone"}},
            "Unknown function call id: call_gone",
        ),
    ],
)
async def test_errors_that_clients_know_by_their_sentence_have_it(frame: Json, message: str) -> None:
    async with talking("callbacks") as (ear, _):
        await ear.do("raw", json.dumps(frame))
        assert (await ear.until("error"))["error"]["message"] == message


@pytest.mark.parametrize("style", STYLES)
async def test_a_response_is_refused_while_one_runs(style: str) -> None:
    async with talking(style, asked(), Speak("A long story.", 1.2, pace=1.0)) as (ear, _):
        await ear.do("respond")
        await ear.until("response.audio.delta")
        await ear.do("respond")
        error = (await ear.until("error"))["error"]
        assert (error["code"], error["message"]) == ("", "Conversation already has an active response")
        assert error["event_id"]
        assert (await ear.until("response.done"))["response"]["status"] == "completed"
        if isinstance(ear.style, SessionStyle):
            assert len(ear.style.raised) == 1


async def test_an_error_of_the_provider_after_which_the_call_goes_on_ends_no_client() -> None:
    """Both styles of the SDK, and its rule, take any other type for the end of the session."""
    trouble = ModelErrorEvent(error_type="provider_error", code="rate_limit_exceeded", message="too fast")
    async with talking("session", Emit(trouble), asked(), Speak("Still here.", 0.4)) as (ear, _):
        error = (await ear.until("error"))["error"]
        assert (error["type"], error["code"]) == ("invalid_request_error", "Throttling.RateQuota")
        await ear.do("respond")
        await ear.until("response.done")


async def test_the_end_of_the_model_is_told_as_the_end_of_the_session() -> None:
    trouble = ModelErrorEvent(error_type="provider_error", code="server_error", message="the model is gone")
    async with talking("session", Emit(trouble), asked(), Hangup()) as (ear, _):
        await ear.until("error")
        await ear.do("respond")
        error = (await ear.until("error"))["error"]
        assert (error["type"], error["message"]) == ("server_error", "the model is gone")
        await ear.closed()


# -- who may come in ---------------------------------------------------------------------------------------------------


async def test_a_wrong_key_is_refused_before_the_socket_is_open() -> None:
    settings = ServerSettings(token="right", drain_s=0)
    async with serving(settings=settings) as place:
        begun = begun_calls(place.calls)
        with pytest.raises(WebSocketBadStatusException, match="401"):
            async with sdk(place, "session", key="wrong"):
                pass
        async with sdk(place, "session", key="right") as ear:
            assert (await ear.next())["type"] == "session.created"
        assert len(begun) == 1


async def test_a_url_without_a_model_and_a_page_of_somebody_else_are_refused() -> None:
    async with serving() as place:
        address = place.url.replace("http", "ws", 1) + PATH
        with pytest.raises(InvalidStatus) as refused:
            await connect(address, compression=None)
        assert refused.value.response.status_code == 400
        page = {"origin": "http://evil"}
        async with connect(f"{address}?model={FLASH}", compression=None, additional_headers=page) as socket:
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, "--allow-origin" in closed.value.rcvd.reason) == (1008, True)


async def test_the_name_in_the_url_reaches_make_agent() -> None:
    seen: list[Any] = []

    def make_agent(config: Any) -> RealtimeAgent:
        seen.append(config.model)
        return RealtimeAgent("F", "F", ScriptedModel([]))

    async with serving(make_agent) as place, sdk(place, model="anything-at-all") as ear:
        assert (await ear.until("session.created"))["session"]["model"] == "anything-at-all"
    assert seen == ["anything-at-all"]


async def test_a_model_that_cannot_be_had_is_told_then_the_socket_is_closed() -> None:
    class Broken(ScriptedModel):
        async def connect(self, **_: Any) -> base.Connection:
            raise ProviderError("the provider refuses the key", code="invalid_api_key")

    async with serving(lambda: RealtimeAgent("F", "F", Broken([]))) as place:
        async with sdk(place, "session") as ear:
            error = (await ear.until("error"))["error"]
            assert (error["type"], error["code"]) == ("server_error", "InvalidApiKey")
            await ear.closed()
        address = f"{place.url.replace('http', 'ws', 1)}{PATH}?model={FLASH}"
        async with connect(address, compression=None) as socket:
            await socket.wait_closed()
        assert (socket.close_code, socket.close_reason) == (1011, "InvalidApiKey")


# -- the end -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", STYLES[:2])
async def test_a_session_that_is_finished_says_so_and_closes(style: str) -> None:
    async with talking(style, asked(), Speak("A long story.", 8.0, pace=1.0)) as (ear, _):
        await ear.do("respond")
        await ear.until("response.audio.delta")
        await ear.do("finish")
        await ear.until("session.finished")
        assert ear.only("response.done")[0]["response"]["status"] == "cancelled"
        await ear.closed()


async def test_the_newest_models_are_finished_without_an_answer() -> None:
    async with talking("newest") as (ear, _):
        await ear.do("finish")
        await ear.closed()
        assert ear.types == ["session.created"]
        assert isinstance(ear.style, SessionStyle)
        assert ear.style.raised == []


async def test_models_that_cannot_be_finished_refuse_it() -> None:
    async with talking("callbacks", model="qwen3.5-omni-flash-realtime") as (ear, _):
        with pytest.raises(RuntimeError, match=r"session\.finish"):
            await ear.do("finish")


async def test_a_client_that_closes_leaves_no_call() -> None:
    async with serving() as place:
        async with sdk(place) as ear:
            await ear.until("session.created")
            assert place.calls.running == 1
        async with asyncio.timeout(10):
            while place.calls.running:  # noqa: ASYNC110  (the server tells nobody)
                await asyncio.sleep(0.005)


async def test_a_session_in_which_nothing_is_said_is_closed_with_the_documented_error() -> None:
    settings = ServerSettings(limits=Limits(idle_s=0.2), drain_s=0)
    async with serving(settings=settings) as place, sdk(place, "session", model=NEWEST) as ear:
        error = (await ear.until("error"))["error"]
        assert error["code"] == "response_idle_timeout"
        assert error["message"] == "Your session was closed because no response was generated for 0 seconds."
        await ear.closed()


async def test_a_session_that_lasts_too_long_is_closed() -> None:
    settings = ServerSettings(limits=Limits(call_s=0.2), drain_s=0)
    async with serving(settings=settings) as place, sdk(place) as ear:
        await ear.closed()
        assert ear.types == ["session.created"]
