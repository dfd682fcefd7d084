"""The official google-genai SDK as a client of our endpoint: each frame it gets has to satisfy the SDK's own types."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from fastapi import FastAPI

from realtime.agent import RealtimeAgent
from realtime.model.scripted import PROFILE, CallTools, ScriptedModel, Step
from realtime.server.archive import Archive
from realtime.server.calls import Calls
from realtime.server.gate import Gate
from realtime.server.gemini_endpoint import gemini_endpoint
from realtime.server.make_agent import MakeAgent
from realtime.server.runner import TlsFiles
from realtime.server.settings import ServerSettings
from realtime.server.socket_endpoint import SocketEndpoint
from realtime.tool import Toolkit
from tests.server.harness import Json, Place, serving_app
from tests.volumes import HANG_S

if TYPE_CHECKING:
    from google.genai import types

MODEL = "gemini-3.8-live"
TRANSCRIBED: Json = {
    "response_modalities": ["AUDIO"],
    "input_audio_transcription": {},
    "output_audio_transcription": {},
}
WEATHER: Json = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]},
}
SILENCE_100_MS = bytes(3_200)


@asynccontextmanager
async def serving(
    make_agent: MakeAgent, tls: TlsFiles, settings: ServerSettings | None = None, archive: Archive | None = None
) -> AsyncIterator[Place]:
    """An application with nothing but this endpoint, on loopback, over TLS, which the SDK insists on."""
    settings = settings or ServerSettings(drain_s=0)
    calls = Calls(max_per_address=settings.max_calls_per_address, max_total=settings.max_calls, archive=archive)
    app = FastAPI()
    app.state.calls, app.state.settings = calls, settings
    app.include_router(gemini_endpoint(SocketEndpoint(make_agent, calls, settings, Gate(settings))))
    async with serving_app(app, tls=tls) as place:
        yield place


def labels(frame: Json) -> str:
    """What a frame holds: its keys, those of `serverContent` in its place, with a plus between."""
    content = frame.get("serverContent")
    keys = [*(content if content is not None else ()), *(key for key in frame if key != "serverContent")]
    return "+".join(keys) or "serverContent"


class _Recorder:
    """The SDK's socket; notes what it receives and checks each frame against the SDK's types, which forbid extras."""

    def __init__(self, socket: Any, frames: list[Json]) -> None:
        self._socket = socket
        self._frames = frames

    async def recv(self, decode: bool | None = None) -> Any:
        from google.genai import types

        raw = await self._socket.recv(decode=decode)
        assert isinstance(raw, bytes)
        assert raw.endswith(b"}\n")
        frame = json.loads(raw)
        # The SDK's reader drops a `warning`, which its types do not know.
        types.LiveServerMessage.model_validate({key: part for key, part in frame.items() if key != "warning"})
        self._frames.append(frame)
        return raw

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)


class Ear:
    """An SDK session and all that it was told."""

    def __init__(self, session: Any) -> None:
        self.sdk = session
        self.frames: list[Json] = []
        # One that leaves with messages unread waits for the server's farewell behind them: not for ten seconds.
        session._ws.close_timeout = 0.3
        recorder: Any = _Recorder(session._ws, self.frames)
        session._ws = recorder

    @property
    def kinds(self) -> list[str]:
        """What the frames hold, repetitions of the same kind once."""
        told = [labels(frame) for frame in self.frames]
        return [one for place, one in enumerate(told) if place == 0 or told[place - 1] != one]

    @property
    def audio(self) -> bytes:
        from google.genai import types

        parts = [part for frame in self.frames for part in content(frame).get("modelTurn", {}).get("parts", ())]
        blobs = [types.Blob.model_validate(part["inlineData"]) for part in parts if "inlineData" in part]
        return b"".join(blob.data or b"" for blob in blobs)

    def words(self, kind: str) -> str:
        """All words of `inputTranscription` or `outputTranscription`."""
        return "".join(content(frame).get(kind, {}).get("text", "") for frame in self.frames)

    async def turn(self) -> list[types.LiveServerMessage]:
        """The messages of one turn, as the SDK delimits it."""
        async with asyncio.timeout(HANG_S):
            return [message async for message in self.sdk.receive()]

    async def until(self, kind: str) -> Json:
        """The next frame that holds this."""
        async with asyncio.timeout(HANG_S):
            while True:
                async for _ in self.sdk.receive():
                    break
                if kind in labels(self.frames[-1]).split("+"):
                    return self.frames[-1]

    async def say(self, text: str) -> None:
        turn = {"role": "user", "parts": [{"text": text}]}
        await self.sdk.send_client_content(turns=turn, turn_complete=True)

    async def speak(self, pcm: bytes = SILENCE_100_MS, rate_hz: int = 16_000, times: int = 1) -> None:
        for _ in range(times):
            await self.sdk.send_realtime_input(audio={"data": pcm, "mime_type": f"audio/pcm;rate={rate_hz}"})

    async def show(self, jpeg: bytes) -> None:
        await self.sdk.send_realtime_input(video={"data": jpeg, "mime_type": "image/jpeg"})

    async def press(self) -> None:
        await self.sdk.send_realtime_input(activity_start={})

    async def release(self) -> None:
        await self.sdk.send_realtime_input(activity_end={})

    async def called(self) -> list[Json]:
        """The functions that the model calls next."""
        calls: list[Json] = (await self.until("toolCall"))["toolCall"]["functionCalls"]
        return calls

    async def return_(self, call_id: str, response: Json, **more: Any) -> None:
        """Answer a call."""
        from google.genai import types

        answer = types.FunctionResponse(id=call_id, name="get_weather", response=response, **more)
        await self.sdk.send_tool_response(function_responses=answer)

    async def closed(self) -> tuple[int, str]:
        """Read on until the server closes; with which code and reason."""
        from google.genai import errors

        with pytest.raises(errors.APIError) as closed:
            await self.until("nothing")
        return closed.value.code, str(closed.value).removeprefix(f"{closed.value.code} None. ")


def calling(*calls: tuple[str, Json]) -> CallTools:
    """A response that calls these functions."""
    return CallTools(calls)


def content(frame: Json) -> Json:
    found: Json = frame.get("serverContent", {})
    return found


def trusting(tls: TlsFiles) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(tls.certificate))


def live_address(place: Place, query: str = "key=any", *, method: str = "BidiGenerateContent") -> str:
    """Where programs without the SDK connect."""
    path = f"/ws/google.ai.generativelanguage.v1beta.GenerativeService.{method}"
    return f"{place.url.replace('http', 'ws', 1)}{path}?{query}"


def client_of(place: Place, tls: TlsFiles, key: str = "any-key", *, slash: str = "", version: str = "v1beta") -> Any:
    """An SDK client of this server: its address and its certificate are all that is changed."""
    from google import genai
    from google.genai import types

    options = types.HttpOptions(
        base_url=place.url + slash, api_version=version, async_client_args={"ssl": trusting(tls)}
    )
    return genai.Client(api_key=key, http_options=options)


@asynccontextmanager
async def sdk(place: Place, tls: TlsFiles, config: Json | None = None, **more: Any) -> AsyncIterator[Ear]:
    client = client_of(place, tls, **more)
    async with client.aio.live.connect(model=MODEL, config=TRANSCRIBED | (config or {})) as session:
        yield Ear(session)


@asynccontextmanager
async def talking(
    tls: TlsFiles, *script: Step, config: Json | None = None, tools: Toolkit | None = None, **profile: Any
) -> AsyncIterator[tuple[Ear, ScriptedModel]]:
    """An SDK client in a session, with a scripted model behind."""
    model = ScriptedModel(script, profile=msgspec.structs.replace(PROFILE, **profile), strict=False)
    async with (
        serving(lambda: RealtimeAgent("Friday", "Be Friday.", model, toolkit=tools), tls) as place,
        sdk(place, tls, config) as ear,
    ):
        yield ear, model
