"""The official OpenAI SDK as a client of our endpoint: each frame it gets has to satisfy the SDK's own types."""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, get_args

import pytest
from websockets.exceptions import ConnectionClosed

from realtime.agent import RealtimeAgent
from realtime.model.base import Profile
from realtime.model.scripted import PROFILE, ScriptedModel, Step
from realtime.tool import Toolkit
from tests.server import ears
from tests.server.harness import Json, Place, serving

if TYPE_CHECKING:
    from openai.resources.realtime.realtime import AsyncRealtimeConnection
    from pydantic import BaseModel

TOOL: Json = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather of a city.",
    "parameters": ears.WEATHER_SCHEMA,
}
SESSION_KEYS = [
    *("type", "object", "id", "model", "output_modalities", "instructions", "tools", "tool_choice"),
    *("max_output_tokens", "tracing", "truncation", "prompt", "expires_at", "audio", "include"),
]
RESPONSE_KEYS = [
    *("object", "id", "status", "status_details", "output", "conversation_id", "output_modalities"),
    *("max_output_tokens", "audio", "usage", "metadata"),
]


@functools.cache
def types_by_name() -> dict[str, type[BaseModel]]:
    """The SDK's types of what a server sends."""
    from openai.types.realtime import RealtimeServerEvent

    union = get_args(RealtimeServerEvent)[0]
    return {get_args(one.model_fields["type"].annotation)[0]: one for one in get_args(union)}


def check_frames(frames: Sequence[Json]) -> None:
    """Every frame satisfies the SDK's type of that name, and no two have the same id."""
    types = types_by_name()
    for frame in frames:
        assert frame["type"] in types, f"the SDK knows no {frame['type']}"
        types[frame["type"]].model_validate(frame)
    assert len({frame["event_id"] for frame in frames}) == len(frames)


class Ear(ears.Ear):
    """An SDK connection that validates each frame against the SDK's own types."""

    model = "gpt-realtime"
    rate_hz = 24_000

    def __init__(self, connection: AsyncRealtimeConnection) -> None:
        super().__init__()
        self.sdk: Any = connection

    async def receive(self) -> Json:
        frame: Json = json.loads(await self.sdk.recv_bytes())
        return frame

    def check(self, frame: Json) -> None:
        check_frames([frame])
        if "response" in frame:
            assert [*frame["response"]] == RESPONSE_KEYS
        if "session" in frame:
            assert set(SESSION_KEYS) <= {*frame["session"]}

    async def do(self, name: str, *args: Any, **named: Any) -> None:
        match name:
            case "update":
                await self.sdk.session.update(session={"type": "realtime", **named})
            case "append":
                await self.sdk.input_audio_buffer.append(audio=base64.b64encode(args[0]).decode())
            case "item":
                await self.sdk.conversation.item.create(item=args[0], **named)
            case "respond":
                await self.sdk.response.create(**({"response": named} if named else {}))
            case "raw":
                await self.sdk.send_raw(*args)
            case "cancel":
                await self.sdk.response.cancel()
            case "commit" | "clear":
                await getattr(self.sdk.input_audio_buffer, name)()
            case _:
                raise ValueError(f"this SDK cannot {name}")

    async def closed(self) -> tuple[int, str]:
        with pytest.raises(ConnectionClosed) as closed:
            await self.until("nothing")
        assert closed.value.rcvd is not None
        return closed.value.rcvd.code, closed.value.rcvd.reason


@asynccontextmanager
async def sdk(place: Place, key: str = "sk-anything", **more: Any) -> AsyncIterator[Ear]:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(api_key=key, base_url=f"{place.url}/v1")
    async with client, client.realtime.connect(model=Ear.model, **more) as connection:
        yield Ear(connection)


@asynccontextmanager
async def talking(
    *script: Step, tools: Toolkit | None = None, profile: Profile = PROFILE, **more: Any
) -> AsyncIterator[tuple[Ear, ScriptedModel]]:
    """An SDK client that has been told of its session, with a scripted model behind."""
    model = ScriptedModel(script, profile=profile, strict=False)
    async with (
        serving(lambda: RealtimeAgent("Friday", "Be Friday.", model, toolkit=tools)) as place,
        sdk(place, **more) as ear,
    ):
        await ear.until("session.created")
        yield ear, model
