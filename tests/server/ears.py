"""What clients of foreign protocols got: each frame is checked as it comes."""

from __future__ import annotations

import asyncio
from typing import Any

from realtime.model.base import ResponseCreate
from realtime.model.scripted import Expect, ScriptedModel
from tests.server.harness import Json
from tests.volumes import HANG_S

WEATHER_SCHEMA: Json = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def asked() -> Expect:
    return Expect(ResponseCreate)


def received(model: ScriptedModel, *kinds: type[Any]) -> list[Any]:
    """What the model got of these kinds, in order."""
    return [message for message in model.connections[0].received if isinstance(message, kinds)]


class Ear:
    """A client of the OpenAI protocol or of one derived from it; `do` calls what the SDK can do by our name of it."""

    model: str
    rate_hz = 16_000

    def __init__(self) -> None:
        self.frames: list[Json] = []

    async def receive(self) -> Json:
        """The next frame."""
        raise NotImplementedError

    def check(self, frame: Json) -> None:
        """Fail unless the frame is one of the protocol."""
        raise NotImplementedError

    async def do(self, name: str, *args: Any, **named: Any) -> None:
        raise NotImplementedError

    async def next(self) -> Json:
        async with asyncio.timeout(HANG_S):
            frame = await self.receive()
        self.frames.append(frame)
        self.check(frame)
        assert frame["event_id"] not in {other["event_id"] for other in self.frames[:-1]}
        return frame

    async def until(self, kind: str) -> Json:
        while (frame := await self.next())["type"] != kind:
            pass
        return frame

    @property
    def types(self) -> list[str]:
        return [frame["type"] for frame in self.frames]

    def only(self, kind: str) -> list[Json]:
        return [frame for frame in self.frames if frame["type"] == kind]

    def since(self, kind: str) -> list[str]:
        """The types from the last frame of this type on."""
        types = self.types
        return types[len(types) - 1 - types[::-1].index(kind) :]

    async def say(self, text: str) -> None:
        content = [{"type": "input_text", "text": text}]
        await self.do("item", {"type": "message", "role": "user", "content": content})

    async def hush(self, count: int) -> None:
        """Send so many times 100 ms of silence."""
        for _ in range(count):
            await self.do("append", bytes(self.rate_hz // 5))

    async def answered(self) -> Json:
        """Ask for a response; it, once it is done."""
        await self.do("respond")
        done: Json = (await self.until("response.done"))["response"]
        return done
