"""What the endpoint for Gemini Live clients refuses, and how it closes a session: by close code and reason alone."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from websockets.asyncio.client import connect

from realtime.agent import RealtimeAgent
from realtime.call.limits import Limits
from realtime.errors import ProviderError
from realtime.event.model import ModelErrorEvent
from realtime.model import base
from realtime.model.scripted import Emit, Expect, Hangup, ScriptedModel, Speak, echo_bot
from realtime.server.app import create_app
from realtime.server.runner import TlsFiles
from realtime.server.settings import ServerSettings
from tests.real_loop import settled
from tests.server.cases import cases
from tests.server.ears import asked
from tests.server.gemini_sdk import WEATHER, calling, live_address, sdk, serving, talking, trusting
from tests.server.harness import Json, Place
from tests.volumes import HANG_S

SETUP: Json = {"setup": {"model": "models/m"}}
GONE = (1011, "Deadline expired before operation could complete.")


def echo_agent() -> RealtimeAgent:
    return RealtimeAgent("F", "F", ScriptedModel(echo_bot(seconds=0.1)))


# -- frames that end a session -----------------------------------------------------------------------------------------

REASONS = {
    1007: "Request contains an invalid argument.",
    1008: "Operation is not implemented, or supported, or enabled. ",
}
NO_JSON = [
    ([b"\xff\x00"], 1007, "not JSON"),
    (["[" * 9_000], 1007, "not JSON"),
    (["[" * 100_000], 1007, "keys and values"),
]


async def test_what_a_session_cannot_have_ends_it_with_a_reason(tls: TlsFiles) -> None:
    """One frame or two of each row, in a session of its own."""
    wrong = []
    async with serving(echo_agent, tls) as place:
        for frames, code, word in [*NO_JSON, *cases("gemini_endings")]:
            async with connect(live_address(place), ssl=trusting(tls)) as socket:
                for frame in frames:
                    await socket.send(json.dumps(frame) if isinstance(frame, dict) else frame)
                async with asyncio.timeout(HANG_S):
                    await socket.wait_closed()
            reason = socket.close_reason or ""
            if (socket.close_code, reason.startswith(REASONS[code]), word in reason) != (code, True, True):
                wrong.append((str(frames)[:200], socket.close_code, reason))
        await settled(lambda: place.calls.running == 0)
    assert wrong == []


async def test_pictures_of_a_camera_for_a_model_that_sees_nothing_are_named_once_and_the_call_goes_on(
    tls: TlsFiles,
) -> None:
    sees_nothing = frozenset({"text", "audio"})
    async with talking(tls, Expect(base.ResponseCreate), Speak("Hello."), input_modalities=sees_nothing) as (ear, _):
        for _ in range(3):
            await ear.show(b"\xff\xd8")
        await ear.say("Hello?")
        await ear.until("turnComplete")
        warnings = [frame["warning"] for frame in ear.frames if "warning" in frame]
        assert [(one["code"], "does not take image input" in one["message"]) for one in warnings] == [
            ("unsupported_modality", True)
        ]


async def test_a_picture_in_a_turn_for_a_model_that_sees_nothing_ends_the_session(tls: TlsFiles) -> None:
    """The question is about the picture: an answer without it would be about nothing."""
    parts = [{"text": "What is this?"}, {"inline_data": {"data": b"\xff", "mime_type": "image/jpeg"}}]
    async with talking(tls, input_modalities=frozenset({"text", "audio"})) as (ear, _):
        await ear.sdk.send_client_content(turns={"role": "user", "parts": parts}, turn_complete=True)
        code, reason = await ear.closed()
        assert (code, "does not take image input" in reason) == (1008, True)


async def refused(place: Place, tls: TlsFiles, **more: Any) -> tuple[int, str]:
    """With which code and reason the SDK is refused a session."""
    from google.genai import errors

    with pytest.raises(errors.APIError) as raised:
        async with sdk(place, tls, **more):
            pass
    return raised.value.code, str(raised.value)


# -- the endpoint ------------------------------------------------------------------------------------------------------


async def test_a_wrong_key_is_refused_as_at_the_service(tls: TlsFiles) -> None:
    async with serving(echo_agent, tls, ServerSettings(token="right", drain_s=0)) as place:
        code, reason = await refused(place, tls, key="wrong")
        assert (code, "API key not valid" in reason) == (1007, True)
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


async def test_the_key_may_be_shown_in_every_way_of_the_service(tls: TlsFiles) -> None:
    key = "auth_tokens/right"
    ways: list[tuple[str, Json]] = [(f"key={key}", {}), (f"access_token={key}", {})]
    ways += [("", {"Authorization": f"Token {key}"}), ("", {"x-goog-api-key": key})]
    async with serving(echo_agent, tls, ServerSettings(token=key, drain_s=0)) as place:
        for query, headers in ways:
            address = live_address(place, query, method="BidiGenerateContentConstrained")
            async with connect(address, ssl=trusting(tls), additional_headers=headers) as socket:
                await socket.send(json.dumps(SETUP))
                assert json.loads(await socket.recv()) == {"setupComplete": {}}


async def test_one_call_too_many_is_a_quota(tls: TlsFiles) -> None:
    settings = ServerSettings(max_calls_per_address=1, drain_s=0)
    async with serving(echo_agent, tls, settings) as place, sdk(place, tls):
        code, reason = await refused(place, tls)
        assert (code, "exceeded your current quota" in reason) == (1011, True)


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
        told, reason = await refused(place, tls)
        assert (told, words in reason) == (close_code, True)
        await settled(lambda: place.calls.running == 0)


async def test_an_agent_that_cannot_be_made_closes_the_session_and_says_why_on_this_machine(tls: TlsFiles) -> None:
    def make_agent() -> RealtimeAgent:
        raise RuntimeError("no tenant")

    async with serving(make_agent, tls) as place:
        code, reason = await refused(place, tls)
        assert (code, "Internal error encountered" in reason, "RuntimeError: no tenant" in reason) == (1011, True, True)


async def test_a_model_that_hangs_up_makes_the_service_unavailable(tls: TlsFiles) -> None:
    async with talking(tls, asked(), Hangup()) as (ear, _):
        await ear.say("Hello?")
        assert await ear.closed() == (1011, "The service is currently unavailable.")


async def test_an_answer_that_the_model_refuses_is_a_turn_without_words(tls: TlsFiles) -> None:
    refusal = ModelErrorEvent(error_type="client_error", code="bad_response_create", message="No.")
    script = (asked(), Emit(refusal), asked(), Speak("Yes.", 0.1))
    async with talking(tls, *script) as (ear, _):
        await ear.say("One?")
        await ear.turn()
        assert ear.frames == [{"serverContent": {"turnComplete": True, "turnCompleteReason": "RESPONSE_REJECTED"}}]
        await ear.say("Two?")
        await ear.turn()
        assert ear.words("outputTranscription") == "Yes."


@pytest.mark.parametrize("stops", [True, False], ids=["the server stops", "the session lasts too long"])
async def test_a_client_is_told_how_long_it_has_before_its_session_ends(tls: TlsFiles, stops: bool) -> None:
    settings = ServerSettings(drain_s=0.3) if stops else ServerSettings(limits=Limits(call_s=0.3), drain_s=0)
    async with serving(echo_agent, tls, settings) as place, sdk(place, tls) as ear:
        place.server.should_exit = stops
        assert await ear.closed() == GONE
        assert ear.frames == [{"goAway": {"timeLeft": "0.3s" if stops else "0.15s"}}]


async def test_a_client_that_leaves_ends_its_call(tls: TlsFiles) -> None:
    tools: Json = {"tools": [{"function_declarations": [WEATHER]}]}
    script = (asked(), calling(("get_weather", {})))
    async with talking(tls, *script, config=tools) as (ear, model):
        await ear.say("The weather?")
        await ear.until("toolCall")
        await ear.sdk.close()
        await settled(lambda: model.connections[0]._ended)
