"""The three providers as loopback services with one handle, for what has to hold for each of them."""

from __future__ import annotations

import asyncio
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pybase64

from realtime.event import Item, ModelEvent
from realtime.model.base import Codec, Connection, RealtimeModel, Settings
from realtime.model.services import SERVICES
from realtime.model.socket_model import SocketModel
from realtime.model.wire import WireLimits
from realtime.runtime import Runtime
from tests.model.dashscope_emulator import QwenEmulator
from tests.model.emulator import Emulator
from tests.model.gemini_emulator import GeminiEmulator
from tests.model.loopback import PATIENCE_S, LoopbackService

KEY = "sk-test-0123456789abcdef"
LIMITS = WireLimits(
    first_delay_s=0.02,
    max_delay_s=0.1,
    close_timeout_s=0.3,
    open_timeout_s=PATIENCE_S,
    session_timeout_s=PATIENCE_S,
)
COUNT = itertools.count(1)
"""Ids are never used twice, as with the services."""
GET_TIME = ("get_time", {"city": "Oslo"})
"""A tool call: name and arguments."""
E = TypeVar("E")


class Nowhere:
    """A service that is only named."""

    base_url = "http://127.0.0.1:9/v1"


class Fake(ABC):
    """One provider: its service, our model for it, and what its service says for one meaning."""

    name: str
    input_hz = 16_000
    has_tools = True
    asks = "response.create"
    """The frame that asks for a response."""
    asks_after_result = asks
    """The frame that does so once a tool has returned."""
    asks_for_turns = True
    """Whether a committed turn is followed by `asks`."""
    asks_to_restore = 0
    """How many `asks` restore a conversation on a new link."""
    redials_for_settings = False

    def model(self, service: Any, **options: Any) -> RealtimeModel:
        """Our model, dialling that service."""
        return SERVICES[self.name].open(**{"api_key": KEY, "base_url": service.base_url, "limits": LIMITS} | options)

    def codec(self) -> Codec:
        """A codec for a connection that nobody dials."""
        model = self.model(Nowhere())
        assert isinstance(model, SocketModel)
        return model._codec(KEY, lambda prefix: f"{prefix}_{next(COUNT)}")

    @abstractmethod
    def unknown_frame(self, thought: str) -> str:
        """A frame of a type with `telepathy` in its name, which no codec knows."""

    @abstractmethod
    def commits(self, session: Any) -> bool:
        """Whether the service knows that the user's turn is over."""

    @abstractmethod
    async def refuse_key(self, session: Any) -> None:
        """A refusal of the key in the open session."""

    @abstractmethod
    async def late_audio(self, session: Any) -> None:
        """Audio, or an interruption, of a response that does not run. It causes no error and harms no later answer."""

    def has_asked_turn(self, session: Any) -> bool:
        """Whether the service was asked for the response to a committed turn."""
        return self.commits(session) and (not self.asks_for_turns or bool(session.sent(self.asks)))

    @abstractmethod
    def service(self) -> LoopbackService:
        """A service that is not listening yet."""

    @abstractmethod
    async def speak(self, session: Any, text: str, pcm: bytes) -> None:
        """A whole spoken answer."""

    @abstractmethod
    async def begin(self, session: Any, text: str, pcm: bytes) -> None:
        """A spoken answer that is not over."""

    async def call_tool(self, session: Any, *call_ids: str, use: tuple[str, Any] = GET_TIME) -> None:
        """Answer with one response that calls a tool once for each id; only asked with `has_tools`."""
        raise NotImplementedError

    async def hear(self, session: Any, start_ms: int, end_ms: int) -> None:
        """A turn that the service's detector found."""
        raise NotImplementedError("a provider with `emits_speech_events` needs it")

    @abstractmethod
    def sent_audio(self, session: Any) -> bytes:
        """All audio that the service got."""


class OpenAIFake(Fake):
    name = "openai"
    input_hz = 24_000
    audio_type = "response.output_audio.delta"
    refused_code = "invalid_api_key"

    def unknown_frame(self, thought: str) -> str:
        return f'{{"type":"response.telepathy","telepathy":{{"thought":"{thought}"}}}}'

    def commits(self, session: Any) -> bool:
        return bool(session.sent("input_audio_buffer.commit"))

    async def refuse_key(self, session: Any) -> None:
        message = f"Incorrect API key provided: {KEY}"
        error = {"type": "invalid_request_error", "code": self.refused_code, "message": message}
        await session.send("error", error=error)
        await session.close(3000, "invalid_request_error.invalid_api_key")

    async def late_audio(self, session: Any) -> None:
        late = {"response_id": "resp_9", "item_id": "item_9", "output_index": 0, "content_index": 0}
        await session.send(self.audio_type, **late, delta="AAAA")

    def service(self) -> Emulator:
        return Emulator()

    async def speak(self, session: Any, text: str, pcm: bytes) -> None:
        number = next(COUNT)
        await session.speak(f"resp_{number}", f"item_{number}", text, pcm)

    async def begin(self, session: Any, text: str, pcm: bytes) -> None:
        number = next(COUNT)
        where = {"response_id": f"resp_{number}", "item_id": f"item_{number}", "output_index": 0, "content_index": 0}
        await session.begin(where["response_id"], where["item_id"])
        await session.send("response.output_audio_transcript.delta", **where, delta=text)
        await session.send("response.output_audio.delta", **where, delta=pybase64.b64encode_as_string(pcm))

    async def hear(self, session: Any, start_ms: int, end_ms: int) -> None:
        await session.hear(f"item_{next(COUNT)}", start_ms=start_ms, end_ms=end_ms, transcript="Hello")

    async def call_tool(self, session: Any, *call_ids: str, use: tuple[str, Any] = GET_TIME) -> None:
        arguments = json.dumps(use[1], separators=(",", ":"))
        for count, call_id in enumerate(call_ids):
            await session.call_tool(f"resp_{count}", f"item_f{count}", use[0], call_id, arguments)

    def sent_audio(self, session: Any) -> bytes:
        return bytes(session.audio)


class DashScopeFake(OpenAIFake):
    name = "dashscope"
    input_hz = 16_000
    audio_type = "response.audio.delta"
    refused_code = "InvalidApiKey"

    def service(self) -> Emulator:
        return QwenEmulator()

    async def begin(self, session: Any, text: str, pcm: bytes) -> None:
        number = next(COUNT)
        where = {"response_id": f"resp_{number}", "item_id": f"item_{number}", "output_index": 0, "content_index": 0}
        await session.begin(where["response_id"], where["item_id"])
        await session.send("response.audio_transcript.delta", **where, delta=text)
        await session.send("response.audio.delta", **where, delta=pybase64.b64encode_as_string(pcm))


class GeminiFake(Fake):
    name = "gemini"
    asks = "clientContent"
    asks_after_result = "toolResponse"
    asks_for_turns = False
    asks_to_restore = 1
    redials_for_settings = True

    def unknown_frame(self, thought: str) -> str:
        return f'{{"telepathy":{{"thought":"{thought}"}}}}'

    def commits(self, session: Any) -> bool:
        return any("activityEnd" in said for said in session.sent("realtimeInput"))

    async def refuse_key(self, session: Any) -> None:
        await session.close(1008, "API key not valid. Please pass a valid API key.")

    async def late_audio(self, session: Any) -> None:
        await session.content(interrupted=True)

    def service(self) -> GeminiEmulator:
        return GeminiEmulator()

    async def speak(self, session: Any, text: str, pcm: bytes) -> None:
        await session.begin(text, pcm)
        await session.finish()

    async def begin(self, session: Any, text: str, pcm: bytes) -> None:
        await session.begin(text, pcm)

    async def call_tool(self, session: Any, *call_ids: str, use: tuple[str, Any] = GET_TIME) -> None:
        calls = [{"id": call_id, "name": use[0], "args": use[1]} for call_id in call_ids]
        await session.send(toolCall={"functionCalls": calls})

    def sent_audio(self, session: Any) -> bytes:
        return bytes(session.audio)


OPENAI, GEMINI, DASHSCOPE = OpenAIFake(), GeminiFake(), DashScopeFake()
FAKES: tuple[Fake, ...] = (OPENAI, GEMINI, DASHSCOPE)
WITH_TOOLS = tuple(fake for fake in FAKES if fake.has_tools)


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

    async def wait(self, holds: Callable[[], bool], what: str = "what the test waits for") -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not holds():
                    self._said.clear()
                    await self._said.wait()
        except TimeoutError:
            told = [event.type for event in self.events]
            raise TimeoutError(f"{what} was not reported by the model, which reported {told}") from None

    async def until(self, kind: type[E], count: int = 1) -> E:
        """The `count`-th event of this kind."""
        await self.wait(lambda: len(self.all(kind)) >= count, f"{kind.__name__} {count}")
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
