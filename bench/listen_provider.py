"""The service behind a provider's model, emulated in this process: its protocol, and turns of the embedded model.

The model's own codec speaks to the endpoint of the same protocol that this server offers. Frames pass in memory, late
by a network's time, so a call stays in virtual time. The service detects voices by Silero in the audio it gets and
reports the words at the end of a turn, as providers do.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Literal
from urllib.parse import unquote, urlsplit

from fastapi import FastAPI

from realtime.agent import RealtimeAgent
from realtime.agent.partial_words import no_words
from realtime.call.limits import Limits
from realtime.call.session import Session
from realtime.event.server import AgentInputTranscriptionDoneEvent, ServerEvent
from realtime.model.base import Address, Frame, RealtimeModel
from realtime.model.gemini.model import GeminiRealtimeModel
from realtime.model.openai_family.dashscope import DashScopeRealtimeModel
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.wire import Link, Receiver, WireLimits
from realtime.runtime import Runtime
from realtime.server.settings import ServerSettings
from realtime.testing.call import naming_apart, serving
from realtime.testing.client.pair import LOST, SocketPair

ProviderName = Literal["openai", "gemini", "dashscope"]

HOST = "http://provider.test"
KEY = "any"
NETWORK_S = 0.025
"""Time of a frame between this server and the service, each way."""


class EmulatedService:
    """The service of one protocol; `model` is what finds turns and responds behind it.

    `on_words` gets the words of each turn when they are known.
    """

    def __init__(self, name: ProviderName, model: RealtimeModel, on_words: Callable[[str], None]) -> None:
        self._name = name
        self._model = model
        self._on_words = on_words
        self._app: FastAPI | None = None

    def provider_model(self) -> RealtimeModel:
        """Return the provider's model, which dials this service."""
        match self._name:
            case "openai":
                return OpenAIRealtimeModel(api_key=KEY, base_url=f"{HOST}/v1", dial=self._dial)
            case "gemini":
                return GeminiRealtimeModel(api_key=KEY, base_url=HOST, dial=self._dial)
            case "dashscope":
                return DashScopeRealtimeModel(api_key=KEY, base_url=HOST, dial=self._dial)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve until the block ends."""
        runtime = naming_apart(Runtime.deterministic(asyncio.get_running_loop().time))
        settings = ServerSettings(limits=Limits(grace_s=0.0), drain_s=0.0, endpoints=(self._name,), lists_calls=False)
        agent = partial(RealtimeAgent, "Service", "", self._model, recognise=no_words)
        async with serving(agent, settings, runtime) as self._app:
            self._app.state.calls.on_call.append(self._follow)
            yield

    def _follow(self, session: Session) -> None:
        session.log.subscribe(self._read)

    def _read(self, event: ServerEvent) -> None:
        if isinstance(event, AgentInputTranscriptionDoneEvent):
            self._on_words(event.transcript)

    async def _dial(self, address: Address, receiver: Receiver, limits: WireLimits) -> Link:
        assert self._app is not None, "the service is dialled while it runs"
        where = urlsplit(address.url)
        link = _MemoryLink(receiver)
        link.pair = SocketPair(
            self._app,
            unquote(where.path),
            query=where.query,
            headers=address.headers,
            subprotocols=address.subprotocols,
            on_frame=link.receive,
            on_close=link.lose,
        )
        await link.pair.open()
        return link


class _MemoryLink:
    """A `Link` to an application in this process."""

    pair: SocketPair

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._loop = asyncio.get_running_loop()
        self._is_lost = False

    @property
    def can_write(self) -> bool:
        """See `Link`."""
        return self.is_open

    @property
    def is_open(self) -> bool:
        """See `Link`."""
        return self.pair.is_open

    def write(self, frame: Frame) -> None:
        """See `Link`."""
        self._loop.call_later(NETWORK_S, self.pair.send, frame)

    def pause_reading(self) -> None:
        """See `Link`. What is on its way fits into memory."""

    def resume_reading(self) -> None:
        """See `Link`."""

    async def close(self) -> None:
        """See `Link`."""
        self.pair.lose(1000)
        await self.pair.ended()
        self.lose(1000, "")

    def abort(self) -> None:
        """See `Link`."""
        self.pair.lose()
        self.lose(LOST, "")

    def receive(self, frame: Frame) -> None:
        """Take a frame of the service."""
        data, is_text = (frame.encode(), True) if isinstance(frame, str) else (frame, False)
        self._loop.call_later(NETWORK_S, self._receiver.received, data, is_text)

    def lose(self, code: int, reason: str) -> None:
        """Report once that the link is gone."""
        if not self._is_lost:
            self._is_lost = True
            self._loop.call_later(NETWORK_S, self._receiver.lost, code, reason)
