"""The official OpenAI SDK as a client of our endpoint: each frame it gets has to satisfy the SDK's own types."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, get_args

import pytest
from openai import AsyncOpenAI
from openai.resources.realtime.realtime import AsyncRealtimeConnection
from openai.types.realtime import RealtimeServerEvent
from pydantic import BaseModel
from websockets.exceptions import ConnectionClosed

from realtime.agent import RealtimeAgent
from realtime.model import base
from realtime.model.scripted import (
    PROFILE,
    Expect,
    ScriptedModel,
    Step,
)
from realtime.tool import Toolkit
from tests.server.harness import PATIENCE_S, Json, Place, serving

TOOL: Json = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
SESSION_KEYS = [
    "type",
    "object",
    "id",
    "model",
    "output_modalities",
    "instructions",
    "tools",
    "tool_choice",
    "max_output_tokens",
    "tracing",
    "truncation",
    "prompt",
    "expires_at",
    "audio",
    "include",
]
RESPONSE_KEYS = [
    "object",
    "id",
    "status",
    "status_details",
    "output",
    "conversation_id",
    "output_modalities",
    "max_output_tokens",
    "audio",
    "usage",
    "metadata",
]
SILENCE_100_MS = base64.b64encode(bytes(4_800)).decode()


def types_by_name() -> dict[str, type[BaseModel]]:
    union = get_args(RealtimeServerEvent)[0]
    return {get_args(one.model_fields["type"].annotation)[0]: one for one in get_args(union)}


TYPES = types_by_name()


class Ear:
    """An SDK connection that validates each frame against the SDK's own types."""

    def __init__(self, connection: AsyncRealtimeConnection) -> None:
        self.sdk = connection
        self.frames: list[Json] = []

    @property
    def types(self) -> list[str]:
        return [frame["type"] for frame in self.frames]

    async def next(self) -> Json:
        async with asyncio.timeout(PATIENCE_S):
            raw = await self.sdk.recv_bytes()
        frame: Json = json.loads(raw)
        self.frames.append(frame)
        assert frame["type"] in TYPES, f"the SDK knows no {frame['type']}"
        TYPES[frame["type"]].model_validate(frame)
        assert frame["event_id"] not in {other["event_id"] for other in self.frames[:-1]}
        if "response" in frame:
            assert [*frame["response"]] == RESPONSE_KEYS
        if "session" in frame:
            assert set(SESSION_KEYS) <= {*frame["session"]}
        return frame

    async def until(self, kind: str) -> Json:
        while True:
            frame = await self.next()
            if frame["type"] == kind:
                return frame

    async def say(self, text: str) -> None:
        content: Any = [{"type": "input_text", "text": text}]
        await self.sdk.conversation.item.create(item={"type": "message", "role": "user", "content": content})

    async def closed(self) -> tuple[int, str]:
        with pytest.raises(ConnectionClosed) as closed:
            await self.until("nothing")
        assert closed.value.rcvd is not None
        return closed.value.rcvd.code, closed.value.rcvd.reason

    def since(self, kind: str) -> list[str]:
        """The types from the last frame of this type on."""
        types = self.types
        return types[len(types) - 1 - types[::-1].index(kind) :]


@asynccontextmanager
async def sdk(place: Place, key: str = "sk-anything", **more: Any) -> AsyncIterator[Ear]:
    client = AsyncOpenAI(api_key=key, base_url=f"{place.url}/v1")
    async with client, client.realtime.connect(model="gpt-realtime", **more) as connection:
        yield Ear(connection)


@asynccontextmanager
async def talking(*script: Step, tools: Toolkit | None = None, **more: Any) -> AsyncIterator[tuple[Ear, ScriptedModel]]:
    """An SDK client that has been told of its session, with a scripted model behind."""
    model = ScriptedModel(script, profile=PROFILE, strict=False)
    async with (
        serving(lambda: RealtimeAgent("Friday", "Be Friday.", model, toolkit=tools)) as place,
        sdk(place, **more) as ear,
    ):
        await ear.until("session.created")
        yield ear, model


def asked() -> Expect:
    return Expect(base.ResponseCreate)
