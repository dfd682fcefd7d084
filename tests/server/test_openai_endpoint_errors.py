"""What the endpoint for OpenAI clients refuses, and how it closes a session."""

import base64
import json
import time
from typing import Any

import msgspec
import pytest
from websockets.asyncio.client import connect

from realtime.agent import RealtimeAgent
from realtime.call.limits import Limits
from realtime.errors import ProviderError
from realtime.model import base
from realtime.model.scripted import PROFILE, ScriptedModel, Speak
from realtime.server.settings import ServerSettings
from tests.server.harness import serving
from tests.server.openai_sdk import asked, sdk, talking

# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "code", "param"),
    [
        ("no json", "invalid_event", None),
        ("[]", "invalid_event", None),
        ('{"event_id": "mine"}', "invalid_event", "type"),
        ('{"type": "input.dance", "event_id": "mine"}', "invalid_event", "type"),
        ('{"type": "session.update", "event_id": "mine"}', "missing_required_parameter", "session"),
        (
            '{"type": "session.update", "event_id": "mine", "session": {"type": "realtime", "voice": "ash"}}',
            "unknown_parameter",
            "session.voice",
        ),
        (
            '{"type": "session.update", "event_id": "mine", "session": {"type": "realtime", "instructions": 3}}',
            "invalid_type",
            "session.instructions",
        ),
        (
            '{"type": "session.update", "event_id": "mine", "session": {"type": "realtime", "audio": {"output": '
            '{"format": {"type": "audio/pcmu", "rate": 16000}}}}}',
            "invalid_value",
            "session.audio.output.format.rate",
        ),
        ('{"type": "response.cancel", "event_id": "mine"}', "response_cancel_not_active", None),
        ('{"type": "input_audio_buffer.commit", "event_id": "mine"}', "input_audio_buffer_commit_empty", None),
        ('{"type": "input_audio_buffer.append", "event_id": "mine", "audio": "*"}', "invalid_value", "audio"),
        (
            '{"type": "conversation.item.retrieve", "event_id": "mine", "item_id": "x"}',
            "item_retrieve_invalid_item_id",
            "item_id",
        ),
        (
            '{"type": "conversation.item.delete", "event_id": "mine", "item_id": "x"}',
            "item_delete_invalid_item_id",
            "item_id",
        ),
        (
            '{"type": "conversation.item.truncate", "event_id": "mine", "item_id": "x", "content_index": 0, '
            '"audio_end_ms": 1}',
            "item_truncate_invalid_item_id",
            "item_id",
        ),
    ],
)
async def test_what_cannot_be_done_is_told_and_the_session_lives_on(frame: str, code: str, param: str | None) -> None:
    async with talking(asked(), Speak("Still here.", 0.4)) as (ear, _):
        await ear.sdk.send_raw(frame)
        error = (await ear.until("error"))["error"]
        assert (error["type"], error["code"], error["param"]) == ("invalid_request_error", code, param)
        assert error["event_id"] == ("mine" if "mine" in frame else None)
        await ear.sdk.send_raw(b"\x00\x01")
        assert (await ear.until("error"))["error"]["code"] == "invalid_event"
        await ear.sdk.response.create()
        assert (await ear.until("response.done"))["response"]["status"] == "completed"


async def test_a_response_is_refused_while_one_runs() -> None:
    async with talking(asked(), Speak("A long story.", 8.0, pace=1.0)) as (ear, _):
        await ear.sdk.response.create()
        await ear.until("response.output_audio.delta")
        await ear.sdk.response.create(event_id="again")
        error = (await ear.until("error"))["error"]
        assert error["code"] == "conversation_already_has_active_response"
        assert error["event_id"] == "again"


async def test_a_wrong_key_is_told_then_the_socket_is_closed() -> None:
    settings = ServerSettings(token="right", drain_s=0)
    async with serving(settings=settings) as place:
        async with sdk(place, "wrong") as ear:
            assert (await ear.next())["error"]["code"] == "invalid_api_key"
            assert await ear.closed() == (3000, "invalid_request_error.invalid_api_key")
        async with sdk(place, "right") as ear:
            assert (await ear.next())["type"] == "session.created"


async def test_a_page_gives_its_key_as_a_subprotocol() -> None:
    async with serving(settings=ServerSettings(token="right", drain_s=0)) as place:
        offered: Any = ["realtime", "openai-insecure-api-key.right"]
        address = place.url.replace("http", "ws", 1) + "/v1/realtime?model=gpt-realtime"
        async with connect(address, subprotocols=offered, compression=None) as socket:
            assert socket.subprotocol == "realtime"
            assert json.loads(await socket.recv())["type"] == "session.created"


async def test_a_client_of_the_beta_protocol_is_told_and_closed() -> None:
    async with serving() as place, sdk(place, extra_headers={"OpenAI-Beta": "realtime=v1"}) as ear:
        assert (await ear.next())["error"]["code"] == "beta_api_shape_disabled"
        assert await ear.closed() == (4000, "invalid_request_error.beta_api_shape_disabled")


async def test_a_response_beside_the_conversation_is_refused_where_the_model_has_none() -> None:
    profile = msgspec.structs.replace(PROFILE, supports_response_overrides=False)
    model = ScriptedModel([asked(), Speak("Still here.", 0.4)], profile=profile, strict=False)
    async with serving(lambda: RealtimeAgent("F", "F", model)) as place, sdk(place) as ear:
        await ear.sdk.response.create(event_id="aside", response={"conversation": "none"})
        error = (await ear.until("error"))["error"]
        assert (error["code"], error["event_id"]) == ("unsupported_response", "aside")
        await ear.sdk.response.create()
        assert (await ear.until("response.done"))["response"]["status"] == "completed"


async def test_the_result_of_an_unknown_call_is_refused_before_the_model_hears_of_it() -> None:
    async with talking(asked(), Speak("Still here.", 0.4)) as (ear, model):
        output: Any = {"type": "function_call_output", "call_id": "call_gone", "output": "rain"}
        await ear.sdk.conversation.item.create(item=output, event_id="late")
        error = (await ear.until("error"))["error"]
        assert (error["type"], error["code"]) == ("invalid_request_error", "invalid_tool_call_id")
        assert (error["event_id"], "call_gone" in error["message"]) == ("late", True)
        await ear.sdk.response.create()
        assert (await ear.until("response.done"))["response"]["status"] == "completed"
        assert not [one for one in model.connections[0].received if isinstance(one, base.ItemCreate | base.ToolResult)]


@pytest.mark.parametrize(
    ("sound", "profile", "code"),
    [
        ("AAAA", {"supports_item_sound": False}, "unsupported_content_type"),
        ("*", {}, "invalid_value"),
        (base64.b64encode(bytes(16 * 48_000)).decode(), {}, "invalid_item"),
    ],
)
async def test_sound_in_an_item_that_cannot_be_taken_is_refused(sound: str, profile: Any, code: str) -> None:
    model = ScriptedModel(
        [asked(), Speak("Still here.", 0.4)], profile=msgspec.structs.replace(PROFILE, **profile), strict=False
    )
    async with serving(lambda: RealtimeAgent("F", "F", model)) as place, sdk(place) as ear:
        item: Any = {"type": "message", "role": "user", "content": [{"type": "input_audio", "audio": sound}]}
        await ear.sdk.conversation.item.create(item=item, event_id="mine")
        error = (await ear.until("error"))["error"]
        assert (error["code"], error["event_id"]) == (code, "mine")
        await ear.sdk.response.create()
        assert (await ear.until("response.done"))["response"]["status"] == "completed"


async def test_an_item_is_created_once() -> None:
    item: Any = {
        "type": "message",
        "id": "item_mine",
        "role": "user",
        "content": [{"type": "input_text", "text": "One."}],
    }
    async with talking() as (ear, _):
        await ear.sdk.conversation.item.create(item=item)
        await ear.until("conversation.item.done")
        await ear.sdk.conversation.item.create(item=item, event_id="again")
        error = (await ear.until("error"))["error"]
        assert (error["code"], error["event_id"]) == ("item_create_duplicate_item_id", "again")


async def test_a_model_that_cannot_be_had_is_told_then_the_socket_is_closed() -> None:
    class Broken(ScriptedModel):
        async def connect(self, **_: Any) -> base.Connection:
            raise ProviderError("the provider refuses the key", code="invalid_api_key")

    async with serving(lambda: RealtimeAgent("F", "F", Broken([]))) as place, sdk(place) as ear:
        error = await ear.until("error")
        assert error["error"]["code"] == "invalid_api_key"
        assert await ear.closed() == (3000, "server_error.invalid_api_key")


async def test_a_session_that_lasts_too_long_expires() -> None:
    settings = ServerSettings(limits=Limits(call_s=0.2), drain_s=0)
    async with serving(settings=settings) as place, sdk(place) as ear:
        code, reason = await ear.closed()
        assert ear.frames[-1]["error"]["code"] == "session_expired"
        assert ear.frames[0]["session"]["expires_at"] <= time.time() + 1
        assert (code, reason) == (1001, "Your session hit the maximum duration of 0.2 seconds.")
