"""A call between one of the kit's simulated pages and an agent, made by hand: for tests that look into it while it
runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

import pybase64

from realtime.agent import RealtimeAgent
from realtime.agent.run import AgentRun
from realtime.call.session import Session
from realtime.client import outbox
from realtime.client.ear import ACK_EVERY_S
from realtime.client.speaker import OUTPUT_LATENCY_S
from realtime.event import frames
from realtime.model.base import RealtimeModel
from realtime.runtime import Runtime
from realtime.server.app import create_app
from realtime.server.settings import ServerSettings
from realtime.testing.client import page as kit
from realtime.testing.client.pair import Direction, Frame
from realtime.testing.client.steps import INPUT_HZ
from realtime.tool import Toolkit
from tests.calls.grammar import check_grammar

ACK_EVERY_MS = int(ACK_EVERY_S * 1000)
OUTPUT_LATENCY_MS = int(OUTPUT_LATENCY_S * 1000)

Event = dict[str, Any]
Client = Literal["binary", "json", "agentscope1"]
KINDS: dict[Client, outbox.Client] = {"binary": "realtime.v1", "json": "json", "agentscope1": "agentscope1"}


class Page(kit.Page):
    """A simulated page with shorthands. `sound` is all speech that came, by item, also what was flushed."""

    def __init__(self, app: Any, client: Client, config: dict[str, Any]) -> None:
        super().__init__(app, client=KINDS[client], config=config, tap=self._note)
        self.sound: dict[str, bytearray] = {}
        self._names: dict[int, str] = {}
        self._came = asyncio.Event()
        self.on_change = self._came.set

    def _note(self, direction: Direction, frame: Frame) -> None:
        if direction == "received":
            return
        if isinstance(frame, bytes):
            _, _, index, _, pcm = frames.unpack(frame)
            self.sound.setdefault(self._names[index], bytearray()).extend(pcm)
            return
        event = json.loads(frame)
        if event["type"] == "server_audio_item":
            self._names[event["item_index"]] = event["item_id"]
        elif event["type"] == "agent_response_audio_delta":
            self.sound.setdefault(event["item_id"], bytearray()).extend(pybase64.b64decode(event["delta"]))

    @property
    def position_ms(self) -> float:
        """How much audio the microphone has sent."""
        return self._microphone.position * 1000 / INPUT_HZ

    def left_ms(self) -> float:
        """How much speech is queued and not rendered."""
        now = asyncio.get_running_loop().time()
        return max(0.0, ((self.ear.silent_at or now) - OUTPUT_LATENCY_S - now) * 1000)

    def do(self, kind: str, **fields: Any) -> None:
        """Send an event."""
        self.send({"type": kind, **fields})

    async def speak(self, pcm: bytes) -> float:
        """Speak pcm16 at 16 kHz, in real time. Returns its place in the audio stream, in ms."""
        loop = asyncio.get_running_loop()
        begins_s, ends_s = self.say(pcm)
        began_ms = (begins_s - self._hears_from_s) * 1000
        await asyncio.sleep(ends_s - loop.time())
        return round(began_ms, 3)

    async def until(self, kind: str, *, after: int = 0, nth: int = 1) -> Event:
        """The nth event of this kind from place `after` of `events` on, once it is there."""
        while True:
            found = self.of(kind, after)
            if len(found) >= nth:
                return found[nth - 1]
            self._came.clear()
            await self._came.wait()

    async def until_silent(self) -> None:
        """Wait until everything that was sent so far is heard and acknowledged."""
        loop = asyncio.get_running_loop()
        while (left_s := (self.ear.silent_at or 0.0) + ACK_EVERY_S - loop.time()) > 1e-6:  # noqa: ASYNC110  (a moment that moves)
            await asyncio.sleep(left_s)

    def of(self, kind: str, after: int = 0) -> list[Event]:
        """Events of this kind, in order."""
        return [event for event in self.events[after:] if event["type"] == kind]


@dataclass
class Call:
    """A running call with one page."""

    session: Session
    agent: AgentRun
    page: Page

    def said(self) -> list[tuple[str, str]]:
        """(who, words) of each item of the conversation, as the call knows it."""
        return [(item.role or item.type, item.text) for item in self.session.conversation.items()]

    def user_turns(self) -> list[str]:
        """The words of each user turn."""
        return [words for who, words in self.said() if who == "user"]


@asynccontextmanager
async def call(
    model: RealtimeModel,
    *,
    client: Client = "binary",
    config: dict[str, Any] | None = None,
    toolkit: Toolkit | None = None,
) -> AsyncIterator[Call]:
    """A call between a page and an agent with this model. At the end nothing of it is left, and the page got its events
    in good order."""
    loop = asyncio.get_running_loop()
    agent = RealtimeAgent("Friday", "Be nice.", model, toolkit=toolkit)
    runtime = Runtime.deterministic(loop.time)
    app = create_app(lambda: agent, ServerSettings(drain_s=0, endpoints=()))
    sessions: list[Session] = []
    app.state.calls.make_runtime = lambda _: runtime
    app.state.calls.on_call.append(sessions.append)
    page = Page(app, client, config or {})
    async with app.router.lifespan_context(app):
        try:
            await page.join()
            run = sessions[0].participant
            assert isinstance(run, AgentRun)
            yield Call(sessions[0], run, page)
            await page.leave()
        finally:
            await page.close()
    assert not page.faults
    if client != "agentscope1":
        check_grammar(page.events)
