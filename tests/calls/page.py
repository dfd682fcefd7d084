"""A page as a call sees it, in virtual time: a microphone that never stops, a speaker that plays in real time, and
acknowledgements of what was heard. It talks to the call through the frames of its dialect, both ways."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from realtime.agent import RealtimeAgent
from realtime.dialects import frames
from realtime.dialects.agentscope1 import AgentScope1Dialect
from realtime.dialects.native import NativeDialect
from realtime.event.config import SessionConfig
from realtime.model.base import RealtimeModel
from realtime.runtime import Runtime
from realtime.session import Session
from realtime.tool import Toolkit
from tests.calls.grammar import check_grammar

INPUT_HZ = 16_000
OUTPUT_HZ = 24_000
FRAME_MS = 40
FRAME_BYTES = FRAME_MS * INPUT_HZ // 1000 * 2
ACK_EVERY_MS = 100
OUTPUT_LATENCY_MS = 80
"""From the audio thread to the ear, as browsers report it for a laptop's speakers."""

Event = dict[str, Any]
Client = Literal["binary", "json", "agentscope1"]


@dataclass
class _Stretch:
    """Audio of one item that is played without a gap."""

    item_id: str
    from_s: float
    n_samples: int

    @property
    def to_s(self) -> float:
        return self.from_s + self.n_samples / OUTPUT_HZ


class Speaker:
    """Plays what it is given, in that order and in real time. What is rendered is heard one output latency later."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._stretches: list[_Stretch] = []
        self._over: set[str] = set()

    def play(self, item_id: str, n_samples: int) -> bool:
        """Queue audio behind what waits. False, and silence, for an item that was flushed."""
        if item_id in self._over:
            return False
        now = self._loop.time()
        last = self._stretches[-1] if self._stretches else None
        if last is not None and last.item_id == item_id and last.to_s >= now:
            last.n_samples += n_samples
        else:
            self._stretches.append(_Stretch(item_id, max(now, last.to_s if last is not None else 0.0), n_samples))
        return True

    def flush(self) -> list[str]:
        """Silence. Returns the items of which something is not heard."""
        now = self._loop.time()
        unheard = [one.item_id for one in self._stretches if one.to_s > now]
        self._over.update(one.item_id for one in self._stretches)
        for one in self._stretches:
            one.n_samples = min(one.n_samples, max(0, round((now - one.from_s) * OUTPUT_HZ)))
        return [*dict.fromkeys(unheard)]

    def heard_ms(self, item_id: str) -> int:
        """How much of the item has reached the ear, in whole ms."""
        until_s = self._loop.time() - OUTPUT_LATENCY_MS / 1000
        heard = sum(
            min(one.n_samples, max(0, round((until_s - one.from_s) * OUTPUT_HZ)))
            for one in self._stretches
            if one.item_id == item_id
        )
        return heard * 1000 // OUTPUT_HZ

    def left_ms(self) -> float:
        """How much is queued and not rendered."""
        return max(0.0, self._stretches[-1].to_s - self._loop.time()) * 1000 if self._stretches else 0.0

    @property
    def silent_at(self) -> float:
        """When the last sound of what is queued reaches the ear, in loop seconds."""
        return self._stretches[-1].to_s + OUTPUT_LATENCY_MS / 1000 if self._stretches else 0.0


class Page:
    """One client. `events` is what it was sent, in order; the payload of audio is in `sound` instead."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.events: list[Event] = []
        self.sound: dict[str, bytearray] = {}
        self.late_samples = 0
        """Audio that came of an item after it was flushed."""
        self.closed_with: tuple[int, str] | None = None
        self._loop = asyncio.get_running_loop()
        self.speaker = Speaker(self._loop)
        self._items: dict[int, Event] = {}
        self._acked: dict[str, int] = {}
        self._timers: list[asyncio.TimerHandle] = []
        self._to_say = bytearray()
        self._said = asyncio.Event()
        self._came = asyncio.Event()
        self._sent_samples = 0
        self._noise = np.random.default_rng(5)
        self._session: Session | None = None

    # -- what the call sends (a `realtime.listener.Sink`) ----------------------------------------------------------

    def write(self, frame: str | bytes) -> bool:
        if isinstance(frame, bytes):
            kind, _, item_index, offset_samples, pcm = frames.unpack(frame)
            assert kind == frames.AGENT_AUDIO
            where = self._items[item_index]
            assert offset_samples * 2 == len(self.sound.get(where["item_id"], b"")), (
                "frames follow each other without a gap"
            )
            self._hear(where, pcm)
        else:
            self._read(json.loads(frame))
        self._came.set()
        return True

    async def finish(self) -> None:
        return

    def close(self, code: int, reason: str) -> None:
        self.closed_with = (code, reason)

    def _read(self, event: Event) -> None:
        match event["type"]:
            case "agent_response_audio_delta":
                self._hear(event, base64.b64decode(event["delta"]))
                return
            case "server_audio_item":
                self._items[event["item_index"]] = event
            case "server_audio_flush":
                for item_id in self.speaker.flush():
                    self._acknowledge(item_id, flushed=True)
            case "agent_input_started" if self.client == "agentscope1":
                # These pages know no flush: they stop at the first word of the user.
                self.speaker.flush()
            case "agent_response_audio_done":
                self._timers.append(self._loop.call_at(self.speaker.silent_at, self._acknowledge, event["item_id"]))
        self.events.append(event)

    def _hear(self, where: Event, pcm: bytes) -> None:
        item_id = where["item_id"]
        if not self.speaker.play(item_id, len(pcm) // 2):
            self.late_samples += len(pcm) // 2
        self.sound.setdefault(item_id, bytearray()).extend(pcm)
        named = {name: where[name] for name in ("response_id", "item_id")}
        self.events.append({"type": "agent_response_audio_delta", **named, "n_bytes": len(pcm)})

    # -- what it sends ---------------------------------------------------------------------------------------------

    @property
    def position_ms(self) -> float:
        """How much audio the microphone has sent."""
        return self._sent_samples * 1000 / INPUT_HZ

    def send(self, **event: Any) -> None:
        """A JSON frame."""
        assert self._session is not None
        session, listener = self._session, self._session.listeners[0]
        session.receive(self.dialect.decode(json.dumps(event)), listener)

    async def say(self, pcm: bytes) -> float:
        """Speak pcm16 at 16 kHz into the microphone, in real time. Returns its place in the audio stream, in ms."""
        began_ms = self.position_ms + len(self._to_say) / 2 * 1000 / INPUT_HZ
        self._to_say += pcm
        self._said.clear()
        await self._said.wait()
        return began_ms

    async def until(self, kind: str, *, after: int = 0, nth: int = 1) -> Event:
        """The nth event of this kind from place `after` of `events` on, once it is there."""
        while True:
            found = [event for event in self.events[after:] if event["type"] == kind]
            if len(found) >= nth:
                return found[nth - 1]
            self._came.clear()
            await self._came.wait()

    async def until_silent(self) -> None:
        """Wait until everything that was sent so far is heard and acknowledged."""
        left_s = 1.0
        while left_s > 1e-6:
            left_s = self.speaker.silent_at + ACK_EVERY_MS / 1000 - self._loop.time()
            await asyncio.sleep(left_s)

    def of(self, kind: str, after: int = 0) -> list[Event]:
        """Events of this kind, in order."""
        return [event for event in self.events[after:] if event["type"] == kind]

    def _acknowledge(self, item_id: str, *, flushed: bool = False) -> None:
        if self.client == "agentscope1" or self._session is None or self._session.ended.is_set():
            return
        heard_ms = self.speaker.heard_ms(item_id)
        if flushed or heard_ms > self._acked.get(item_id, 0):
            self._acked[item_id] = heard_ms
            self.send(type="client_playback_ack", item_id=item_id, played_ms=heard_ms, flushed=flushed)

    # -- its life --------------------------------------------------------------------------------------------------

    async def live(self, session: Session, config: dict[str, Any]) -> None:
        """Join the call and speak and acknowledge until cancelled."""
        self._session = session
        self.dialect = AgentScope1Dialect() if self.client == "agentscope1" else NativeDialect()
        settings = SessionConfig.from_dict({"audio_frames": "binary" if self.client == "binary" else "json", **config})
        session.attach(self.dialect.listener(self, session.runtime, settings))
        await session.start(settings)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._microphone(), name="microphone")
            group.create_task(self._report(), name="acknowledgements")

    def leave(self) -> None:
        """Nothing of it is left."""
        for timer in self._timers:
            timer.cancel()

    async def _microphone(self) -> None:
        began = self._loop.time()
        n_frames = 0
        while True:
            n_frames += 1
            await asyncio.sleep(began + n_frames * FRAME_MS / 1000 - self._loop.time())
            if self._session is None or self._session.ended.is_set():
                return
            self._send_audio(self._next_frame())
            if not self._to_say:
                self._said.set()

    def _next_frame(self) -> bytes:
        pcm = bytes(self._to_say[:FRAME_BYTES])
        del self._to_say[:FRAME_BYTES]
        return pcm + self._noise.normal(0, 3, (FRAME_BYTES - len(pcm)) // 2).astype("<i2").tobytes()

    def _send_audio(self, pcm: bytes) -> None:
        offset, self._sent_samples = self._sent_samples, self._sent_samples + len(pcm) // 2
        if self.client != "binary":
            pcm_format = {"type": "audio/pcm", "rate": INPUT_HZ}
            self.send(type="client_audio_append", audio=base64.b64encode(pcm).decode(), format=pcm_format)
            return
        assert self._session is not None
        self._session.receive(self.dialect.decode(self._binary_frame(offset, pcm)), self._session.listeners[0])

    def _binary_frame(self, offset: int, pcm: bytes) -> bytes:
        """Speech, with how much was heard of the item that plays where that is new."""
        for item_index, where in reversed(self._items.items()):
            item_id, heard_ms = where["item_id"], self.speaker.heard_ms(where["item_id"])
            if heard_ms > self._acked.get(item_id, 0):
                self._acked[item_id] = heard_ms
                return frames.pack_played(0, item_index, heard_ms, offset, pcm)
        return frames.pack(frames.CLIENT_AUDIO, 0, 0, offset, pcm)

    async def _report(self) -> None:
        """What was heard, beside speech that does not carry it."""
        while self.client != "binary":
            await asyncio.sleep(ACK_EVERY_MS / 1000)
            for item_id in [*self.sound]:
                self._acknowledge(item_id)


@dataclass
class Call:
    """A running call with one page."""

    session: Session
    agent: RealtimeAgent
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
    """A call between a page and an agent with this model. At the end it is ended, nothing of it is left, and the page
    got its events in good order."""
    loop = asyncio.get_running_loop()
    agent = RealtimeAgent("Friday", "Be nice.", model, toolkit=toolkit)
    session = Session(agent=agent, runtime=Runtime.deterministic(loop.time), session_id="session1")
    page = Page(client)
    try:
        async with asyncio.TaskGroup() as group:
            # Where the page fails, the test does.
            life = group.create_task(page.live(session, config or {}), name="page")
            await page.until("agent_ready")
            yield Call(session, agent, page)
            await session.end("test_over")
            life.cancel()
        if client != "agentscope1":
            check_grammar(page.events)
    finally:
        page.leave()
        for listener in [*session.listeners]:
            session.detach(listener)
