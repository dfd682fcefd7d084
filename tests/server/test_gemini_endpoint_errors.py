"""What the endpoint for Gemini Live clients refuses, and how it closes a session: by close code and reason alone."""

import asyncio
import json
from typing import Any

import pytest
from google.genai import errors, types
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from realtime.agent import RealtimeAgent
from realtime.call.limits import Limits
from realtime.errors import ProviderError
from realtime.event.model import ModelErrorEvent
from realtime.model import base
from realtime.model.scripted import Emit, Expect, Hangup, ScriptedModel, Speak, echo_bot
from realtime.server.app import create_app
from realtime.server.runner import TlsFiles
from realtime.server.settings import ServerSettings
from realtime.server.tls import self_signed
from tests.server.gemini_sdk import WEATHER, calling, live_address, sdk, serving, talking, trusting
from tests.server.harness import PATIENCE_S, Json, settled

INVALID = (1007, "Request contains an invalid argument. ")
UNSUPPORTED = (1008, "Operation is not implemented, or supported, or enabled. ")
SETUP: Json = {"setup": {"model": "models/m"}}


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return self_signed(tmp_path_factory.mktemp("tls"), ["127.0.0.1"])


def echo_agent() -> RealtimeAgent:
    return RealtimeAgent("F", "F", ScriptedModel(echo_bot(seconds=0.1)))


async def closed_after(tls: TlsFiles, *frames: str | bytes | Json) -> tuple[int, str]:
    """With which code and reason the socket is closed that sends these."""
    async with serving(echo_agent, tls) as place, connect(live_address(place), ssl=trusting(tls)) as socket:
        for frame in frames:
            await socket.send(json.dumps(frame) if isinstance(frame, dict) else frame)
        async with asyncio.timeout(PATIENCE_S):
            await socket.wait_closed()
        await settled(lambda: place.calls.running == 0)
    return socket.close_code or 0, socket.close_reason or ""


# -- frames that end a session -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ("no json", "not JSON"),
        (b"\xff\x00", "not JSON"),
        ("[]", "one JSON object"),
        ("{}", "exactly one message"),
        ('{"setup": {}}', "model"),
        ('{"setup": {"model": "m", "voice": "Kore"}}', "voice"),
        ('{"setup": {"model": "m", "generationConfig": {"stopSequences": ["x"]}}}', "stopSequences"),
        ('{"setup": {"model": "m", "generationConfig": {"responseModalities": ["SMELL"]}}}', "SMELL"),
        ('{"clientContent": {"turnComplete": true}}', "setup"),
        ('{"setup": {"model": "m"}, "clientContent": {}}', "exactly one message"),
        ("[" * 9_000, "not JSON"),
        ("[" * 100_000, "keys and values"),
    ],
)
async def test_a_session_does_not_begin_with_this(tls: TlsFiles, frame: str | bytes, words: str) -> None:
    code, reason = await closed_after(tls, frame)
    assert code == INVALID[0]
    assert reason.startswith(INVALID[1].strip())
    assert words in reason


@pytest.mark.parametrize(
    ("setup", "words"),
    [
        ({"tools": [{"googleSearch": {}}]}, "googleSearch"),
        ({"avatarConfig": {"avatarName": "Ada"}}, "avatarConfig"),
        ({"generationConfig": {"translationConfig": {"targetLanguageCode": "de"}}}, "translationConfig"),
    ],
)
async def test_what_only_the_service_can_do_is_refused_by_name(tls: TlsFiles, setup: Json, words: str) -> None:
    code, reason = await closed_after(tls, {"setup": SETUP["setup"] | setup})
    assert code == UNSUPPORTED[0]
    assert reason.startswith(UNSUPPORTED[1])
    assert words in reason


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (SETUP, "one setup"),
        ({"input": {}}, "input"),
        ({"realtimeInput": {"audio": {"data": "*", "mimeType": "audio/pcm"}}}, "Base64"),
        ({"realtimeInput": {"audio": {"data": "AAAA", "mimeType": "audio/ogg"}}}, "audio/ogg"),
        ({"realtimeInput": {"audio": {"data": "AAAA", "mimeType": "audio/pcm;rate=9"}}}, "rate"),
        ({"realtimeInput": {"activityStart": {}}}, "automaticActivityDetection"),
        ({"toolResponse": {"functionResponses": [{"id": "fc_9", "response": {}}]}}, "fc_9"),
        ({"clientContent": {"turns": [{"role": "system", "parts": []}]}}, "role"),
    ],
)
async def test_a_session_ends_with_this(tls: TlsFiles, frame: Json, words: str) -> None:
    code, reason = await closed_after(tls, SETUP, frame)
    assert code == INVALID[0]
    assert words in reason


async def test_an_image_for_a_model_that_sees_nothing_is_refused(tls: TlsFiles) -> None:
    async with talking(tls, input_modalities=frozenset({"text", "audio"})) as (ear, _):
        await ear.sdk.send_realtime_input(video=types.Blob(data=b"\xff\xd8", mime_type="image/jpeg"))
        code, reason = await ear.closed()
        assert code == 1008
        assert "does not take image input" in reason


# -- the endpoint ------------------------------------------------------------------------------------------------------


async def test_a_wrong_key_is_refused_as_at_the_service(tls: TlsFiles) -> None:
    async with serving(echo_agent, tls, ServerSettings(token="right", drain_s=0)) as place:
        with pytest.raises(errors.APIError, match="API key not valid") as refused:
            async with sdk(place, tls, key="wrong"):
                pass
        assert refused.value.code == 1007
        async with sdk(place, tls, key="right") as ear:
            assert ear.sdk.setup_complete is not None


async def test_nothing_is_read_from_a_client_without_a_key() -> None:
    app = create_app(echo_agent, ServerSettings(token="right"))
    sent: list[Any] = []
    unread: list[Any] = [{"type": "websocket.connect"}, {"type": "websocket.receive", "text": "x" * 1_000}]
    path = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
    scope = {"type": "websocket", "path": path, "query_string": b"key=wrong", "headers": [], "subprotocols": []}

    async def receive() -> Any:
        return unread.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    assert [message["type"] for message in sent] == ["websocket.accept", "websocket.close"]
    assert len(unread) == 1


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ("key=auth_tokens/right", {}),
        ("access_token=auth_tokens/right", {}),
        ("", {"Authorization": "Token auth_tokens/right"}),
        ("", {"x-goog-api-key": "auth_tokens/right"}),
    ],
)
async def test_the_key_may_be_shown_in_every_way_of_the_service(tls: TlsFiles, query: str, headers: Json) -> None:
    async with serving(echo_agent, tls, ServerSettings(token="auth_tokens/right", drain_s=0)) as place:
        address = live_address(place, query, method="BidiGenerateContentConstrained")
        async with connect(address, ssl=trusting(tls), additional_headers=headers) as socket:
            await socket.send(json.dumps(SETUP))
            assert json.loads(await socket.recv()) == {"setupComplete": {}}


async def test_pages_from_elsewhere_are_not_let_in(tls: TlsFiles) -> None:
    async with serving(echo_agent, tls) as place:
        page = {"Origin": "https://evil.example"}
        async with connect(live_address(place), ssl=trusting(tls), additional_headers=page) as socket:
            with pytest.raises(ConnectionClosed) as refused:
                await socket.recv()
        assert refused.value.rcvd is not None
        assert (refused.value.rcvd.code, "--allow-origin" in refused.value.rcvd.reason) == (1008, True)


async def test_one_call_too_many_is_a_quota(tls: TlsFiles) -> None:
    settings = ServerSettings(max_calls_per_address=1, drain_s=0)
    async with serving(echo_agent, tls, settings) as place, sdk(place, tls):
        with pytest.raises(errors.APIError, match="exceeded your current quota") as refused:
            async with sdk(place, tls):
                pass
        assert refused.value.code == 1011


# -- the model and the end ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "close_code", "words"),
    [
        ("invalid_api_key", 1011, "Internal error encountered. it refuses"),
        ("model_not_found", 1008, "models/gemini-3.8-live is not found for API version"),
        ("provider_unavailable", 1011, "The service is currently unavailable."),
    ],
)
async def test_a_model_that_cannot_be_had_closes_the_session_before_it_began(
    tls: TlsFiles, code: str, close_code: int, words: str
) -> None:
    class Broken(ScriptedModel):
        async def connect(self, **_: Any) -> base.Connection:
            raise ProviderError("it refuses", code=code)

    async with serving(lambda: RealtimeAgent("F", "F", Broken([])), tls) as place:
        with pytest.raises(errors.APIError, match=words) as refused:
            async with sdk(place, tls):
                pass
        assert refused.value.code == close_code
        await settled(lambda: place.calls.running == 0)


async def test_an_agent_that_cannot_be_made_closes_the_session_and_says_why_on_this_machine(tls: TlsFiles) -> None:
    def make_agent() -> RealtimeAgent:
        raise RuntimeError("no tenant")

    async with serving(make_agent, tls) as place:
        with pytest.raises(errors.APIError, match="Internal error encountered") as refused:
            async with sdk(place, tls):
                pass
        assert (refused.value.code, "RuntimeError: no tenant" in str(refused.value)) == (1011, True)


async def test_a_model_that_hangs_up_makes_the_service_unavailable(tls: TlsFiles) -> None:
    async with talking(tls, Expect(base.ResponseCreate), Hangup()) as (ear, _):
        await ear.say("Hello?")
        assert await ear.closed() == (1011, "The service is currently unavailable.")


async def test_an_answer_that_the_model_refuses_is_a_turn_without_words(tls: TlsFiles) -> None:
    refusal = ModelErrorEvent(error_type="client_error", code="bad_response_create", message="No.")
    script = (Expect(base.ResponseCreate), Emit(refusal), Expect(base.ResponseCreate), Speak("Yes.", 0.1))
    async with talking(tls, *script) as (ear, _):
        await ear.say("One?")
        await ear.turn()
        assert ear.frames == [{"serverContent": {"turnComplete": True, "turnCompleteReason": "RESPONSE_REJECTED"}}]
        await ear.say("Two?")
        await ear.turn()
        assert ear.words("outputTranscription") == "Yes."


async def test_a_session_that_lasts_too_long_is_told_to_go(tls: TlsFiles) -> None:
    settings = ServerSettings(limits=Limits(call_s=0.3), drain_s=0)
    async with serving(echo_agent, tls, settings) as place, sdk(place, tls) as ear:
        assert await ear.closed() == (1011, "Deadline expired before operation could complete.")
        assert ear.frames == [{"goAway": {"timeLeft": "0.15s"}}]


async def test_a_server_that_stops_says_how_long_it_waits(tls: TlsFiles) -> None:
    async with serving(echo_agent, tls, ServerSettings(drain_s=0.3)) as place, sdk(place, tls) as ear:
        place.server.should_exit = True
        assert await ear.closed() == (1011, "Deadline expired before operation could complete.")
        assert ear.frames == [{"goAway": {"timeLeft": "0.3s"}}]


async def test_a_client_that_leaves_ends_its_call(tls: TlsFiles) -> None:
    tools: Json = {"tools": [{"function_declarations": [WEATHER]}]}
    script = (Expect(base.ResponseCreate), calling(("get_weather", {})))
    async with talking(tls, *script, config=tools) as (ear, model):
        await ear.say("The weather?")
        await ear.until("toolCall")
        await ear.sdk.close()
        await settled(lambda: model.connections[0]._ended)
