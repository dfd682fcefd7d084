"""One provider link with its codec, inside a session of `realtime.model.wire`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from realtime.errors import ProviderError
from realtime.event.base import Item
from realtime.event.model import ModelErrorEvent, ModelEvent
from realtime.model._silence import SilenceWatch
from realtime.model.base import AudioAppend, CloseVerdict, Codec, Frame, ModelInput, ResponseCreate
from realtime.model.link_protocol import Direction, Link, Tap
from realtime.runtime import Runtime
from realtime.turn.responses import ServiceLedger

_TOO_BIG = 1009


class LinkOwner(Protocol):
    """The provider session that a link session reports to."""

    current: LinkSession | None
    """The current one."""

    def deliver(self, session: LinkSession, event: ModelEvent) -> None:
        """An event of the service."""
        ...

    def drain(self, session: LinkSession) -> None:
        """The link takes messages again."""
        ...

    def link_lost(self, session: LinkSession, verdict: CloseVerdict, code: int) -> None:
        """The link of an open session is gone."""
        ...

    def fault(self, where: str, error: Exception) -> None:
        """The codec or the tap raised."""
        ...


class LinkSession:
    """One link and its codec: the `Receiver` of that link. Ignores events once it is no longer current."""

    def __init__(
        self,
        owner: LinkOwner,
        codec: Codec,
        runtime: Runtime,
        *,
        began_s: float,
        silence_s: float,
        tap: Tap | None,
    ) -> None:
        """`began_s` is when the session began, on the clock of the runtime."""
        self._owner = owner
        self._runtime = runtime
        self._began_s = began_s
        self._tap = tap
        self._codec = codec
        self.link: Link | None = None
        self.created: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_open = False
        self.opened_s = 0.0
        self.restored: Sequence[Item] = ()
        self.ledger = ServiceLedger()
        self.error: ModelErrorEvent | None = None
        self._early: list[bytes] = []
        self.watch = SilenceWatch(silence_s, self.ledger, self._silent)

    @property
    def can_write(self) -> bool:
        """Whether the link takes a frame now."""
        return self.link is not None and self.link.can_write

    def takes_all(self, message: ModelInput) -> bool:
        """Whether the full link takes the message: it belongs to one that the link has begun to take."""
        return type(message) is AudioAppend and message.follows and self.link is not None and self.link.is_open

    def opened(self, now_s: float) -> None:
        """The session stands."""
        self.is_open = True
        self.opened_s = now_s
        if not self.created.done():
            self.created.set_result(None)

    def send(self, message: ModelInput) -> None:
        """Say the message in frames."""
        try:
            frames = self._codec.encode(message)
        except Exception as error:
            self._owner.fault("encode", error)
            return
        for frame in frames:
            self.write(frame)
        if frames and type(message) is ResponseCreate:
            self.ledger.request(self._runtime.now())
            self.watch.start()
        if type(message) is not AudioAppend:
            # Not now: the sender must not get the event before this returns.
            asyncio.get_running_loop().call_soon(self._tell_overdue)

    def _tell_overdue(self) -> None:
        for event in self._codec.overdue():
            self._owner.deliver(self, event)

    def write(self, frame: Frame) -> None:
        """Send one frame, if there is a link."""
        if self._tap is not None:
            self._show("sent", frame)
        if self.link is not None:
            self.link.write(frame)

    def set_reading(self, reading: bool) -> None:
        """Read from the link, or stop reading."""
        if self.link is not None:
            if reading:
                self.link.resume_reading()
            else:
                self.link.pause_reading()

    async def close(self) -> None:
        """Close the link."""
        self.watch.stop()
        if self.link is not None:
            await self.link.close()

    def abort(self) -> None:
        """Drop the link at once."""
        self.watch.stop()
        self.created.cancel()
        if self.link is not None:
            self.link.abort()

    def received(self, data: bytes, is_text: bool) -> None:
        """See `Receiver`."""
        if self._owner.current is not self:
            return
        self.watch.heard = True
        if self._tap is not None:
            self._show("received", data.decode(errors="replace") if is_text else bytes(data))
        if self.link is None:
            self._early.append(bytes(data))
            return
        for event in self._decode(data):
            self._owner.deliver(self, event)

    def catch_up(self) -> None:
        """Deliver frames that arrived with the handshake, before the link could write."""
        early, self._early = self._early, []
        for data in early:
            for event in self._decode(data):
                self._owner.deliver(self, event)

    def _decode(self, data: bytes) -> list[ModelEvent]:
        try:
            return self._codec.decode(data)
        except Exception as error:
            self._owner.fault("decode", error)
            return []

    def writable(self) -> None:
        """See `Receiver`."""
        self._owner.drain(self)

    def lost(self, code: int, reason: str) -> None:
        """See `Receiver`."""
        self.link = None
        for data in self._early:
            self.error = next((event for event in self._decode(data) if isinstance(event, ModelErrorEvent)), self.error)
        self._early.clear()
        verdict = self._codec.closed(code, reason)
        if code == _TOO_BIG:
            verdict = CloseVerdict("message_too_big", "a message was bigger than is taken", reconnect=True)
        if self.is_open:
            self._owner.link_lost(self, verdict, code)
        elif not self.created.done():
            known = self.error
            failure = ProviderError(
                known.message if known else verdict.message,
                code=known.code if known else verdict.code,
                retryable=verdict.reconnect,
            )
            self.created.set_exception(failure)
            self.created.exception()  # retrieved: the dial itself may have failed first, and then nothing awaits it

    def _silent(self) -> None:
        """Give the link up: the service may answer pings, but not us."""
        verdict = CloseVerdict("provider_silent", "the provider owed an answer and said nothing", reconnect=True)
        self._owner.link_lost(self, verdict, 0)
        self.abort()

    def _show(self, direction: Direction, frame: Frame) -> None:
        assert self._tap is not None
        try:
            self._tap(direction, frame, int((self._runtime.now() - self._began_s) * 1000))
        except Exception as error:
            self._owner.fault("tap", error)
