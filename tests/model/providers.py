"""The three providers as loopback services with one handle, for what has to hold for each of them."""

from __future__ import annotations

import asyncio
import itertools
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pybase64

from realtime.event import Item, ModelEvent
from realtime.model.base import Connection, RealtimeModel, Settings
from realtime.model.gemini.model import GeminiRealtimeModel
from realtime.model.openai_family.dashscope import DashScopeRealtimeModel
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.wire import WireLimits
from realtime.runtime import Runtime
from tests.model.dashscope_emulator import QwenEmulator
from tests.model.emulator import PATIENCE_S, Emulator
from tests.model.gemini_emulator import GeminiEmulator

KEY = "sk-test-0123456789abcdef"
LIMITS = WireLimits(first_delay_s=0.02, max_delay_s=0.1, close_timeout_s=0.3, open_timeout_s=5.0, session_timeout_s=5.0)
COUNT = itertools.count(1)
"""Ids are never used twice, as with the services."""
E = TypeVar("E")


class Fake(ABC):
    """One provider: its service, our model for it, and what its service says for one meaning."""

    name: str
    key_variable: str

    @abstractmethod
    def service(self) -> Any:
        """A service that is not listening yet."""

    @abstractmethod
    def model(self, service: Any, **options: Any) -> RealtimeModel:
        """Our model, dialling that service."""

    @abstractmethod
    async def speak(self, session: Any, text: str, pcm: bytes) -> None:
        """A whole spoken answer."""

    @abstractmethod
    async def begin(self, session: Any, text: str, pcm: bytes) -> None:
        """A spoken answer that is not over."""

    @abstractmethod
    async def call_tool(self, session: Any, *call_ids: str) -> None:
        """An answer that is a call of `get_time` for each id."""

    @abstractmethod
    def sent_audio(self, session: Any) -> bytes:
        """All audio that the service got."""


class OpenAIFake(Fake):
    name, key_variable = "openai", "OPENAI_API_KEY"

    def service(self) -> Emulator:
        return Emulator()

    def model(self, service: Any, **options: Any) -> RealtimeModel:
        return OpenAIRealtimeModel(**{"api_key": KEY, "base_url": service.base_url, "limits": LIMITS} | options)

    async def speak(self, session: Any, text: str, pcm: bytes) -> None:
        number = next(COUNT)
        await session.speak(f"resp_{number}", f"item_{number}", text, pcm)

    async def begin(self, session: Any, text: str, pcm: bytes) -> None:
        number = next(COUNT)
        where = {"response_id": f"resp_{number}", "item_id": f"item_{number}", "output_index": 0, "content_index": 0}
        await session.begin(where["response_id"], where["item_id"])
        await session.send("response.output_audio_transcript.delta", **where, delta=text)
        await session.send("response.output_audio.delta", **where, delta=pybase64.b64encode_as_string(pcm))

    async def call_tool(self, session: Any, *call_ids: str) -> None:
        for count, call_id in enumerate(call_ids):
            await session.call_tool(f"resp_{count}", f"item_f{count}", "get_time", call_id, '{"city":"Oslo"}')

    def sent_audio(self, session: Any) -> bytes:
        return bytes(session.audio)


class DashScopeFake(OpenAIFake):
    name, key_variable = "dashscope", "DASHSCOPE_API_KEY"

    def service(self) -> Emulator:
        return QwenEmulator()

    def model(self, service: Any, **options: Any) -> RealtimeModel:
        return DashScopeRealtimeModel(**{"api_key": KEY, "base_url": service.base_url, "limits": LIMITS} | options)

    async def begin(self, session: Any, text: str, pcm: bytes) -> None:
        number = next(COUNT)
        where = {"response_id": f"resp_{number}", "item_id": f"item_{number}", "output_index": 0, "content_index": 0}
        await session.begin(where["response_id"], where["item_id"])
        await session.send("response.audio_transcript.delta", **where, delta=text)
        await session.send("response.audio.delta", **where, delta=pybase64.b64encode_as_string(pcm))


class GeminiFake(Fake):
    name, key_variable = "gemini", "GEMINI_API_KEY"

    def service(self) -> GeminiEmulator:
        return GeminiEmulator()

    def model(self, service: Any, **options: Any) -> RealtimeModel:
        return GeminiRealtimeModel(**{"api_key": KEY, "base_url": service.base_url, "limits": LIMITS} | options)

    async def speak(self, session: Any, text: str, pcm: bytes) -> None:
        await session.begin(text, pcm)
        await session.finish()

    async def begin(self, session: Any, text: str, pcm: bytes) -> None:
        await session.begin(text, pcm)

    async def call_tool(self, session: Any, *call_ids: str) -> None:
        calls = [{"id": call_id, "name": "get_time", "args": {"city": "Oslo"}} for call_id in call_ids]
        await session.send(toolCall={"functionCalls": calls})

    def sent_audio(self, session: Any) -> bytes:
        return bytes(session.audio)


FAKES: tuple[Fake, ...] = (OpenAIFake(), GeminiFake(), DashScopeFake())


class Talk:
    """A model's session with its service: what it reported, and a way to wait for it."""

    def __init__(self, fake: Fake, service: Any) -> None:
        self.fake = fake
        self.service = service
        self.events: list[ModelEvent] = []
        self.items: list[Item] = []
        self.connection: Connection
        self.model: RealtimeModel
        self._said = asyncio.Event()

    def note(self, event: ModelEvent) -> None:
        self.events.append(event)
        self._said.set()

    def all(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    async def wait(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                self._said.clear()
                await self._said.wait()

    async def until(self, kind: type[E], count: int = 1) -> E:
        """The `count`-th event of this kind."""
        await self.wait(lambda: len(self.all(kind)) >= count)
        return self.all(kind)[count - 1]

    async def session(self, number: int = 1) -> Any:
        return await self.service.session(number)


@asynccontextmanager
async def talk(fake: Fake, settings: Settings | None = None, **options: Any) -> AsyncIterator[Talk]:
    """A session between our model and the provider's service on loopback."""
    async with fake.service() as service:
        made = Talk(fake, service)
        made.model = fake.model(service, **options)
        made.connection = await made.model.connect(
            settings=settings or Settings(), on_event=made.note, history=lambda: made.items, runtime=Runtime()
        )
        try:
            yield made
        finally:
            await made.connection.close()
