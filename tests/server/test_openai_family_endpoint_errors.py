"""What the endpoints for OpenAI and DashScope clients refuse, and how they close a session."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import msgspec
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from realtime.agent import RealtimeAgent
from realtime.call.limits import Limits
from realtime.errors import ProviderError
from realtime.event.model import ModelErrorEvent
from realtime.model import base
from realtime.model.scripted import PROFILE, Emit, Hangup, ScriptedModel, Speak
from realtime.server.dashscope_endpoint import PATH
from realtime.server.settings import ServerSettings
from tests.real_loop import settled
from tests.server import dashscope_sdk, openai_sdk
from tests.server.cases import cases
from tests.server.dashscope_sdk import FLASH, NEWEST, STYLES, SessionStyle
from tests.server.ears import asked, received
from tests.server.harness import Json, begun_calls, serving
from tests.server.test_openai_family_endpoints import CLIENTS, every_client, talking

BAD_FRAMES = {"openai": "bad_frames_openai", "callbacks": "bad_frames_dashscope"}
"""Tables of a frame, the code of its error, and the parameter that it names."""
SENTENCES = {
    "response.cancel": "Conversation has none active response",
    "input_image_buffer.append": "Error append image before append audio.",
    "conversation.item.create": "Unknown function call id: call_gone",
}
"""By which DashScope's clients know the errors that have no code."""


@pytest.mark.parametrize("client", BAD_FRAMES)
async def test_what_cannot_be_done_is_told_and_the_session_lives_on(client: str) -> None:
    async with talking(client, asked(), Speak("Still here.", 0.4)) as (ear, model):
        for frame, code, param in cases(BAD_FRAMES[client]):
            event_id = "mine" if isinstance(frame, dict) else None
            await ear.do("raw", json.dumps(frame | {"event_id": "mine"}) if isinstance(frame, dict) else frame)
            error = (await ear.until("error"))["error"]
            told = (error["type"], error["code"], error["param"], error.get("event_id"))
            assert told == ("invalid_request_error", code, param, event_id), frame
            if not code:
                assert error["message"] == SENTENCES[frame["type"]]
        if client == "openai":
            await ear.sdk.send_raw(b"\x00\x01")
            assert (await ear.until("error"))["error"]["code"] == "invalid_event"
        assert received(model, base.ItemCreate, base.ToolResult) == []
        assert (await ear.answered())["status"] == "completed"


@every_client
async def test_a_response_is_refused_while_one_runs(client: str) -> None:
    async with talking(client, asked(), Speak("A long story.", 20.0, pace=1.0)) as (ear, _):
        await ear.do("respond")
        await ear.until(CLIENTS[client].sound)
        await ear.do("raw", json.dumps({"type": "response.create", "event_id": "again"}))
        error = (await ear.until("error"))["error"]
        assert error["event_id"] == "again"
        if client == "openai":
            assert error["code"] == "conversation_already_has_active_response"
        else:
            assert (error["code"], error["message"]) == ("", "Conversation already has an active response")
        await ear.do("cancel")
        assert (await ear.until("response.done"))["response"]["status"] == "cancelled", "it ran on until then"
        if client in STYLES[1:]:
            assert len(ear.style.raised) == 1


# -- OpenAI: what a model or a call has not ----------------------------------------------------------------------------

SILENCE = base64.b64encode(bytes(24_000)).decode()
LONG_SOUND = base64.b64encode(bytes(16 * 48_000)).decode()


def message(**part: str) -> Json:
    return {"type": "message", "role": "user", "content": [{"type": "input_audio", **part}]}


@pytest.mark.parametrize(
    ("what", "profile", "code"),
    [
        ({"conversation": "none"}, {"supports_response_overrides": False}, "unsupported_response"),
        ({"type": "function_call_output", "call_id": "call_gone", "output": "rain"}, {}, "invalid_tool_call_id"),
        (message(audio="AAAA"), {"supports_item_sound": False}, "unsupported_content_type"),
        (message(audio="*"), {}, "invalid_value"),
        (message(audio=LONG_SOUND), {}, "invalid_item"),
    ],
    ids=["response beside the conversation", "unknown call", "no sound in items", "no base64", "long sound"],
)
async def test_what_the_model_cannot_have_is_refused_before_it_hears_of_it(
    what: Json, profile: Json, code: str
) -> None:
    profiled = msgspec.structs.replace(PROFILE, **profile)
    async with openai_sdk.talking(asked(), Speak("Still here.", 0.4), profile=profiled) as (ear, model):
        if "conversation" in what:
            await ear.sdk.response.create(event_id="mine", response=what)
        else:
            await ear.do("item", what, event_id="mine")
        error = (await ear.until("error"))["error"]
        assert (error["type"], error["code"], error["event_id"]) == ("invalid_request_error", code, "mine")
        assert what.get("call_id", "") in error["message"]
        assert (await ear.answered())["status"] == "completed"
        assert received(model, base.ItemCreate, base.ToolResult) == []


@pytest.mark.parametrize("lacks", [{}, {"supports_audio_clear": False}])
async def test_a_buffer_that_holds_nothing_of_a_turn_is_cleared_whatever_the_model_can(lacks: Json) -> None:
    """Until there is a voice, the model has heard nothing."""
    profiled = msgspec.structs.replace(PROFILE, emits_speech_events=False, **lacks)
    async with openai_sdk.talking(profile=profiled) as (ear, _):
        await ear.do("raw", json.dumps({"type": "input_audio_buffer.append", "audio": SILENCE}))
        for _ in range(2):
            await ear.do("raw", json.dumps({"type": "input_audio_buffer.clear", "event_id": "mine"}))
            await ear.until("input_audio_buffer.cleared")


async def test_what_a_model_cannot_forget_is_refused_by_the_clients_label_and_stays_in_the_buffer() -> None:
    profiled = msgspec.structs.replace(PROFILE, supports_audio_clear=False, supports_item_delete=False)
    async with openai_sdk.talking(profile=profiled) as (ear, model):
        await ear.do("update", audio={"input": {"turn_detection": None}})
        await ear.until("session.updated")
        await ear.do("raw", json.dumps({"type": "input_audio_buffer.append", "audio": SILENCE}))
        await ear.do("raw", json.dumps({"type": "input_audio_buffer.clear", "event_id": "mine"}))
        error = (await ear.until("error"))["error"]
        assert (error["code"], error["event_id"]) == ("unsupported_audio_clear", "mine")
        assert received(model, base.AudioClear) == []
        await ear.do("raw", json.dumps({"type": "input_audio_buffer.commit"}))
        committed = await ear.until("input_audio_buffer.committed")
        await ear.until("conversation.item.done")
        gone = {"type": "conversation.item.delete", "item_id": committed["item_id"], "event_id": "other"}
        await ear.do("raw", json.dumps(gone))
        error = (await ear.until("error"))["error"]
        assert (error["code"], error["event_id"]) == ("unsupported_item_delete", "other")


async def test_an_item_is_created_once() -> None:
    item = {"type": "message", "id": "item_1", "role": "user", "content": [{"type": "input_text", "text": "One."}]}
    async with openai_sdk.talking() as (ear, _):
        await ear.do("item", item)
        await ear.until("conversation.item.done")
        await ear.do("item", item, event_id="again")
        error = (await ear.until("error"))["error"]
        assert (error["code"], error["event_id"]) == ("item_create_duplicate_item_id", "again")


# -- DashScope: what ends a session ------------------------------------------------------------------------------------


async def test_an_error_of_the_provider_after_which_the_call_goes_on_ends_no_client_and_its_end_does() -> None:
    """Both styles of the SDK, and its rule, take any type but `invalid_request_error` for the end of the session."""
    fast = ModelErrorEvent(error_type="provider_error", code="rate_limit_exceeded", message="too fast")
    gone = ModelErrorEvent(error_type="provider_error", code="server_error", message="the model is gone")
    async with talking("session", Emit(fast), asked(), Speak("Still here.", 0.4), Emit(gone), asked(), Hangup()) as (
        ear,
        _,
    ):
        error = (await ear.until("error"))["error"]
        assert (error["type"], error["code"]) == ("invalid_request_error", "Throttling.RateQuota")
        await ear.answered()
        await ear.until("error")
        await ear.do("respond")
        error = (await ear.until("error"))["error"]
        assert (error["type"], error["message"]) == ("server_error", "the model is gone")
        await ear.closed()


# -- who may come in ---------------------------------------------------------------------------------------------------


async def test_a_wrong_key_opens_nothing() -> None:
    """OpenAI's clients are told by an error, DashScope's before the socket is open."""
    from websocket import WebSocketBadStatusException

    async with serving(settings=ServerSettings(token="right", drain_s=0)) as place:
        begun = begun_calls(place.calls)
        async with openai_sdk.sdk(place, "wrong") as ear:
            assert (await ear.next())["error"]["code"] == "invalid_api_key"
            assert await ear.closed() == (3000, "invalid_request_error.invalid_api_key")
        with pytest.raises(WebSocketBadStatusException, match="401"):
            async with dashscope_sdk.sdk(place, "session", key="wrong"):
                pass
        assert begun == []
        async with openai_sdk.sdk(place, "right") as ear, dashscope_sdk.sdk(place, "session", key="right") as other:
            assert (await ear.next())["type"] == (await other.next())["type"] == "session.created"


@pytest.mark.parametrize(
    ("opened", "named"),
    [
        ({"extra_headers": {"OpenAI-Beta": "realtime=v1"}}, "the header OpenAI-Beta"),
        (
            {"websocket_connection_options": {"subprotocols": ["realtime", "openai-beta.realtime-v1"]}},
            "the subprotocol openai-beta.realtime-v1",
        ),
    ],
    ids=["by header", "as browsers do"],
)
async def test_a_client_of_the_beta_protocol_is_told_and_closed(opened: dict[str, Any], named: str) -> None:
    async with serving() as place, openai_sdk.sdk(place, **opened) as ear:
        error = (await ear.next())["error"]
        assert (error["code"], named in error["message"]) == ("beta_api_shape_disabled", True)
        assert await ear.closed() == (4000, "invalid_request_error.beta_api_shape_disabled")


async def test_an_offer_of_webrtc_is_refused_with_what_is_served() -> None:
    from openai import AsyncOpenAI, BadRequestError

    async with serving() as place, AsyncOpenAI(api_key="sk-x", base_url=f"{place.url}/v1", max_retries=0) as client:
        with pytest.raises(BadRequestError, match="Only WebSockets are served here") as refused:
            await client.realtime.calls.create(sdp="v=0")
        assert refused.value.code == "not_served"


async def test_a_url_without_a_model_is_refused() -> None:
    async with serving() as place:
        with pytest.raises(InvalidStatus) as refused:
            await connect(place.url.replace("http", "ws", 1) + PATH, compression=None)
        assert refused.value.response.status_code == 400


async def test_the_name_in_the_url_reaches_make_agent_and_a_client_that_closes_leaves_no_call() -> None:
    seen: list[Any] = []

    def make_agent(config: Any) -> RealtimeAgent:
        seen.append(config.model)
        return RealtimeAgent("F", "F", ScriptedModel([]))

    async with serving(make_agent) as place:
        async with dashscope_sdk.sdk(place, model="anything-at-all") as ear:
            assert (await ear.until("session.created"))["session"]["model"] == "anything-at-all"
            assert place.calls.running == 1
        await settled(lambda: place.calls.running == 0)
    assert seen == ["anything-at-all"]


async def test_a_model_that_cannot_be_had_is_told_then_the_socket_is_closed() -> None:
    class Broken(ScriptedModel):
        async def connect(self, **_: Any) -> base.Connection:
            raise ProviderError("the provider refuses the key", code="invalid_api_key")

    async with serving(lambda: RealtimeAgent("F", "F", Broken([]))) as place:
        async with openai_sdk.sdk(place) as ear:
            assert (await ear.until("error"))["error"]["code"] == "invalid_api_key"
            assert await ear.closed() == (3000, "server_error.invalid_api_key")
        async with dashscope_sdk.sdk(place, "session") as other:
            error = (await other.until("error"))["error"]
            assert (error["type"], error["code"]) == ("server_error", "InvalidApiKey")
            await other.closed()
        async with connect(f"{place.url.replace('http', 'ws', 1)}{PATH}?model={FLASH}", compression=None) as socket:
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


async def test_the_newest_models_are_finished_without_an_answer_and_some_refuse_it() -> None:
    async with talking("newest") as (ear, _):
        await ear.do("finish")
        await ear.closed()
        assert ear.types == ["session.created"]
        assert isinstance(ear.style, SessionStyle)
        assert ear.style.raised == []
    async with talking("callbacks", model="qwen3.5-omni-flash-realtime") as (ear, _):
        with pytest.raises(RuntimeError, match=r"session\.finish"):
            await ear.do("finish")


def short(**limits: float) -> Any:
    """A server whose calls are short."""
    return serving(settings=ServerSettings(limits=Limits(**limits), drain_s=0))


async def test_a_session_in_which_nothing_is_said_is_closed_with_the_documented_error() -> None:
    async with short(idle_s=0.2) as place, dashscope_sdk.sdk(place, "session", model=NEWEST) as ear:
        error = (await ear.until("error"))["error"]
        assert error["code"] == "response_idle_timeout"
        assert error["message"] == "Your session was closed because no response was generated for 0 seconds."
        await ear.closed()


async def test_a_session_that_lasts_too_long_is_closed() -> None:
    async with short(call_s=0.2) as place:
        async with openai_sdk.sdk(place) as ear:
            assert await ear.closed() == (1001, "Your session hit the maximum duration of 0.2 seconds.")
            assert ear.frames[-1]["error"]["code"] == "session_expired"
            assert ear.frames[0]["session"]["expires_at"] <= time.time() + 1
        async with dashscope_sdk.sdk(place) as other:
            await other.closed()
            assert other.types == ["session.created"]
