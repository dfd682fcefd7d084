"""A line between an agent and its model: it takes time, and it can be lost for a while, as one to a provider.

A case has it in `provider.json`, beside `case.json`: `{"delay_ms": 60, "lost": [[4000, 4600]]}`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from realtime.audio.pcm import ms_of
from realtime.event import model as m
from realtime.model import base
from realtime.runtime import Runtime

LINE_FILE = "provider.json"
LINK_LOST = "link_lost"


class Line(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """`delay_ms` is how long each message is on its way, there or back. `lost` are stretches without a link, in ms
    since the agent connected."""

    delay_ms: int = 0
    lost: tuple[tuple[int, int], ...] = ()


def read_line(folder: Path) -> Line | None:
    """The line of a case; None where the model is in the process."""
    file = folder / LINE_FILE
    return msgspec.json.decode(file.read_bytes(), type=Line) if file.exists() else None


class DistantModel(base.RealtimeModel):
    """`model` at the other end of `line`."""

    def __init__(self, model: base.RealtimeModel, line: Line) -> None:
        self.voice = model.voice
        self._model = model
        self._line = line

    @property
    def profile(self) -> base.Profile:
        return self._model.profile

    async def connect(
        self, *, settings: base.Settings, on_event: base.OnEvent, history: base.History, runtime: Runtime
    ) -> base.Connection:
        connection = _Distant(self._model, self._line, settings, on_event, history, runtime)
        await connection.dial()
        return connection


class _Distant:
    """A connection over links that come and go, as `realtime.model.wire.WireConnection`."""

    def __init__(
        self,
        model: base.RealtimeModel,
        line: Line,
        settings: base.Settings,
        on_event: base.OnEvent,
        history: base.History,
        runtime: Runtime,
    ) -> None:
        self.profile = model.profile
        self._model, self._history, self._runtime = model, history, runtime
        self._settings = settings
        self._on_event = on_event
        self._delay_s = line.delay_ms / 1000
        self._loop = asyncio.get_running_loop()
        self._inner: base.Connection | None = None
        self._links = 0
        self._waiting: list[base.ModelInput] = []
        self._running: dict[str, None] = {}
        self._sent_bytes = 0
        self._heard_before_ms = 0
        """What was said before this link: positions count over all links."""
        self._dialling: asyncio.Task[None] | None = None
        self._lost_s = 0.0
        self._ended = False
        self._timers = [
            self._loop.call_later(at_ms / 1000, act)
            for from_ms, to_ms in line.lost
            for at_ms, act in ((from_ms, self._lose), (to_ms, self._come_back))
        ]

    async def dial(self) -> None:
        """A new link. Only the first one tells that the session is made, at once."""
        self._links += 1
        link, self._heard_before_ms = self._links, ms_of(self._sent_bytes, self.profile.input_rate_hz)
        self._inner = await self._model.connect(
            settings=self._settings,
            on_event=lambda event: self._report(link, event),
            history=self._history,
            runtime=self._runtime,
        )

    def send(self, message: base.ModelInput) -> None:
        if isinstance(message, base.SessionUpdate):
            self._settings = message.settings
        if self._inner is None:
            self._waiting.append(message)
            return
        if isinstance(message, base.AudioAppend):
            self._sent_bytes += len(message.pcm)
        self._later(self._links, lambda inner: inner.send(message))

    async def close(self) -> None:
        for timer in self._timers:
            timer.cancel()
        if self._dialling is not None:
            await self._dialling
        self._links += 1
        if self._inner is not None:
            await self._inner.close()
        if not self._ended:
            self._tell(m.ModelSessionEndedEvent(session_id="distant", reason="closed"))

    def _later(self, link: int, act: Callable[[base.Connection], None]) -> None:
        def arrive() -> None:
            if link == self._links and self._inner is not None:
                act(self._inner)

        if self._delay_s:
            self._loop.call_later(self._delay_s, arrive)
        else:
            arrive()

    def _report(self, link: int, event: m.ModelEvent) -> None:
        if isinstance(event, m.ModelSessionCreatedEvent):
            if link == 1:
                self._on_event(event)
            return
        changes: dict[str, Any] = {}
        if isinstance(event, m.ModelInputStartedEvent):
            changes["audio_start_ms"] = event.audio_start_ms + self._heard_before_ms
        elif isinstance(event, m.ModelInputDoneEvent):
            changes["audio_end_ms"] = event.audio_end_ms + self._heard_before_ms
        told: m.ModelEvent = msgspec.structs.replace(event, **changes) if changes else event
        self._later(link, lambda _: self._tell(told))

    def _tell(self, event: m.ModelEvent) -> None:
        if isinstance(event, m.ModelResponseCreatedEvent):
            self._running[event.response_id] = None
        elif isinstance(event, m.ModelResponseDoneEvent):
            self._running.pop(event.response_id, None)
        self._ended = self._ended or isinstance(event, m.ModelSessionEndedEvent)
        self._on_event(event)

    def _lose(self) -> None:
        self._links += 1
        self._inner, self._lost_s = None, self._loop.time()
        for response_id in [*self._running]:
            lost = {"type": "failed", "reason": LINK_LOST}
            self._tell(m.ModelResponseDoneEvent(response_id=response_id, status="failed", status_details=lost))
        self._on_event(m.ModelReconnectingEvent(attempt=1, retry_after_ms=0, reason=LINK_LOST))

    def _come_back(self) -> None:
        self._dialling = self._loop.create_task(self._dial_again())

    async def _dial_again(self) -> None:
        await self.dial()
        self._on_event(m.ModelReconnectedEvent(gap_ms=round((self._loop.time() - self._lost_s) * 1000)))
        waiting, self._waiting = self._waiting, []
        for message in waiting:
            self.send(message)
