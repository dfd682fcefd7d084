"""The real application around a model that hears loudness, for tests of what a simulated page and its user do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
from fastapi import FastAPI

from realtime.agent import RealtimeAgent
from realtime.audio.pcm import ms_of
from realtime.call.session import Session
from realtime.model.base import AudioAppend, ModelInput, Profile, ResponseCreate
from realtime.model.script import Speak, SpeechEnd, SpeechStart, Step
from realtime.model.scripted import PROFILE, ScriptedModel
from realtime.runtime import Runtime
from realtime.server.app import create_app
from realtime.server.settings import ServerSettings
from realtime.testing.client.page import Page
from realtime.tool import Toolkit

INPUT_HZ = 16_000
ANSWER = "It is seven in the morning, and the sun shines."
LOUD = 500
QUIET_MS = 200
"""After so much silence a turn is over."""


def voice(ms: int, *, seed: int = 1) -> bytes:
    """Something loud, all of it different."""
    return np.random.default_rng(seed).integers(1_000, 20_000, INPUT_HZ * ms // 1000).astype("<i2").tobytes()


def answer(seconds: float = 2.0, text: str = ANSWER, *, pace: float = 4.0) -> Step:
    """Speech that comes faster than it is played."""
    return Speak(text, seconds, chunk_ms=100, pace=pace, wait=False)


class Hearer:
    """Hears speech where it is loud, and goes through `turns`: what it does at the end of each turn of the user, after
    a tool, or when it is asked. The last goes on for ever. `heard` is all audio that came."""

    def __init__(self, *turns: Sequence[Step]) -> None:
        self.heard = bytearray()
        self._turns = turns or ((answer(),),)
        self._turn = 0
        self._speaking_since: int | None = None
        self._quiet_ms = 0

    def __call__(self, message: ModelInput) -> Iterable[Step]:
        if isinstance(message, ResponseCreate):
            return self._next()
        return self._hear(message.pcm) if isinstance(message, AudioAppend) else []

    def _hear(self, pcm: bytes) -> Iterable[Step]:
        at_ms = ms_of(len(self.heard), INPUT_HZ)
        self.heard += pcm
        if np.abs(np.frombuffer(pcm, "<i2")).max(initial=0) > LOUD:
            began, self._speaking_since, self._quiet_ms = self._speaking_since, at_ms, 0
            return [SpeechStart(at_ms)] if began is None else []
        self._quiet_ms += ms_of(len(pcm), INPUT_HZ)
        if self._speaking_since is None or self._quiet_ms < QUIET_MS:
            return []
        self._speaking_since = None
        return [SpeechEnd(at_ms, "what time is it"), *self._next()]

    def _next(self) -> Sequence[Step]:
        self._turn += 1
        return self._turns[min(self._turn, len(self._turns)) - 1]


@asynccontextmanager
async def served(
    react: Any = None,
    *,
    toolkit: Toolkit | None = None,
    profile: Profile = PROFILE,
    settings: ServerSettings | None = None,
    seed: int = 0,
) -> AsyncIterator[FastAPI]:
    """An application whose agents have this model. Calls that still run at the end get no time."""

    def make_agent() -> RealtimeAgent:
        return RealtimeAgent("Friday", "", ScriptedModel(react or Hearer(), profile=profile), toolkit=toolkit)

    app = create_app(make_agent, settings or ServerSettings(drain_s=0.0))
    runtime = Runtime.deterministic(asyncio.get_running_loop().time, seed=seed)
    app.state.calls.make_runtime = lambda _: runtime
    async with app.router.lifespan_context(app):
        yield app


def session_of(app: FastAPI) -> Session:
    """The only call."""
    (session,) = app.state.calls.sessions.values()
    assert isinstance(session, Session)
    return session


async def until_silent(page: Page) -> None:
    """Wait until all that came was heard and acknowledged."""
    loop = asyncio.get_running_loop()
    over = loop.create_future()

    def look() -> None:
        if page.ear.silent_at is not None and page.ear.silent_at <= loop.time():
            over.set_result(None)
        else:
            loop.call_later(0.1, look)

    look()
    await over
    await asyncio.sleep(0.1)
