"""The one asyncio shell of every provider over a socket: dial, pump, dial again with the context restored, close.

A codec says what goes over the wire, a link carries it (`realtime.model.link`); this module holds the session together
while links come and go. In a healthy session it has no task: events are reported inside the socket's read callback,
messages written inside `send`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Literal

import msgspec

from realtime.errors import ProviderError, RealtimeError
from realtime.event import model as m
from realtime.model._backlog import Backlog
from realtime.model._link_session import LinkSession
from realtime.model.base import (
    AudioAppend,
    CloseVerdict,
    Codec,
    History,
    ItemTruncate,
    ModelInput,
    OnEvent,
    Profile,
    SessionUpdate,
    Settings,
)
from realtime.model.link import dial_websocket
from realtime.model.link_limits import WireLimits
from realtime.model.link_protocol import Dial, Link, Receiver, Tap
from realtime.runtime import Runtime

__all__ = ["Dial", "Link", "Receiver", "Tap", "Wire", "WireLimits", "dial_websocket", "open_wire"]

logger = logging.getLogger(__name__)

_NORMAL_CLOSURE = 1000
INVALID_KEY = "invalid_api_key"
"""Error code of a key that the provider does not accept."""


async def open_wire(
    make_codec: Callable[[], Codec],
    settings: Settings,
    *,
    on_event: OnEvent,
    history: History,
    runtime: Runtime,
    dial: Dial = dial_websocket,
    tap: Tap | None = None,
    limits: WireLimits | None = None,
    refused_key: str = "the provider refused the key",
) -> Wire:
    """A session over one provider socket; returns once `ModelSessionCreatedEvent` has been reported.

    `make_codec` gives a fresh codec for each link. Raises ProviderError when the first dial fails: only a session
    that once stood is dialled again. Cancelling leaves nothing open. `refused_key` is the sentence for a key that the
    provider does not take, however it says so.
    """
    wire = Wire(make_codec, settings, on_event, history, runtime, dial, tap, limits or WireLimits(), refused_key)
    await wire._open_link()
    return wire


class Wire:
    """A `Connection` over links that come and go. Made by `open_wire`.

    The provider's session id changes with each link; `ModelSessionCreatedEvent` is reported for the first one only,
    `ModelReconnectedEvent` for those after it. A response that was running on a lost link is reported as done, with
    status `failed`. `audio_start_ms` and `audio_end_ms` count from the first audio sent here, over all links.
    """

    def __init__(
        self,
        make_codec: Callable[[], Codec],
        settings: Settings,
        on_event: OnEvent,
        history: History,
        runtime: Runtime,
        dial: Dial,
        tap: Tap | None,
        limits: WireLimits,
        refused_key: str,
    ) -> None:
        self._refused_key = refused_key
        self._make_codec = make_codec
        self._settings = settings
        self._on_event = on_event
        self._history = history
        self._runtime = runtime
        self._dial = dial
        self._tap = tap
        self._limits = limits
        self._began_s = runtime.now()
        self._profile = make_codec().profile
        self.current: LinkSession | None = None
        self._closing: LinkSession | None = None
        self._redial: asyncio.Task[None] | None = None
        self._attempt = 0
        self._lost_s: float | None = None
        self._done = False
        self._ended = False
        self._session_id = ""
        self._reading = True
        self._waiting = Backlog(
            max_audio_bytes=int(limits.kept_audio_s * self._profile.input_rate_hz) * 2,
            max_controls=limits.max_waiting_messages,
        )
        self._accepted_bytes = 0
        self._skipped_bytes = 0
        self.faults = 0
        """Exceptions raised by a codec or by `on_event`: each cost one frame or event."""

    @property
    def profile(self) -> Profile:
        """What the model can do."""
        return self._profile

    @property
    def dropped_audio_bytes(self) -> int:
        """Input audio that had to be given up, oldest first."""
        return self._waiting.dropped_audio_bytes

    def send(self, message: ModelInput) -> None:
        """See `Connection.send`."""
        if self._done:
            return
        if type(message) is AudioAppend:
            if not message.again:
                self._accepted_bytes += len(message.pcm)
        elif type(message) is SessionUpdate:
            self._settings = message.settings
        link = self.current
        if (
            link is not None
            and link.is_open
            and not self._waiting.messages
            and (link.can_write or link.takes_all(message))
        ):
            link.send(message)
        else:
            self._keep(message)

    def pause_reading(self) -> None:
        """Stop reading from the provider: the last resort against a listener that takes nothing."""
        self._reading = False
        if self.current is not None and self.current.is_open:
            self.current.set_reading(False)

    def resume_reading(self) -> None:
        """Read again."""
        self._reading = True
        if self.current is not None:
            self.current.set_reading(True)

    async def close(self) -> None:
        """See `Connection.close`."""
        self._done = True
        if self.current is not None:
            self._closing, self.current = self.current, None
        try:
            if self._redial is not None and not self._redial.done():
                self._redial.cancel()
                await asyncio.wait([self._redial])
            if self._closing is not None:
                await self._closing.close()
        finally:
            if self._closing is not None:
                self._closing.abort()
            self._finish("closed")
            self._closing = None

    # What a link session reports.

    def deliver(self, session: LinkSession, event: m.ModelEvent) -> None:
        """See `LinkOwner`."""
        if session is not self.current:
            return
        kind = type(event)
        if kind is m.ModelResponseAudioDeltaEvent:
            self._emit(event)
            return
        match event:
            case m.ModelSessionCreatedEvent():
                self._opened(session, event)
                return
            case m.ModelErrorEvent():
                message = self._sentence(event.code, event.message)
                session.error = event = msgspec.structs.replace(event, message=message)
                if not session.is_open:
                    return  # becomes the reason why the session cannot be had
                session.ledger.refuse()
            case m.ModelResponseCreatedEvent():
                session.ledger.begin(event.response_id)
                session.watch.start()
            case m.ModelResponseDoneEvent():
                session.ledger.end(event.response_id)
            case m.ModelInputStartedEvent() if self._skipped_bytes:
                start_ms = event.audio_start_ms + self._skipped_ms
                event = msgspec.structs.replace(event, audio_start_ms=start_ms)
            case m.ModelInputDoneEvent() if self._skipped_bytes:
                end_ms = event.audio_end_ms + self._skipped_ms
                event = msgspec.structs.replace(event, audio_end_ms=end_ms)
            case _:
                pass
        self._emit(event)

    def _opened(self, session: LinkSession, event: m.ModelSessionCreatedEvent) -> None:
        session.opened(self._runtime.now())
        self._session_id = event.session_id
        self._waiting.forget_restored(session.restored, link_was_lost=self._lost_s is not None)
        self._skipped_bytes = self._accepted_bytes - self._waiting.audio_bytes
        session.set_reading(self._reading)
        if self._lost_s is None:
            self._emit(event)
        else:
            gap_ms = round((self._runtime.now() - self._lost_s) * 1000)
            self._lost_s = None
            logger.info("provider link back: session=%s gap_ms=%d", self._session_id, gap_ms)
            self._emit(m.ModelReconnectedEvent(gap_ms=gap_ms))
        self.drain(session)

    def drain(self, session: LinkSession) -> None:
        """See `LinkOwner`."""
        while self._waiting.messages and session is self.current and session.is_open and session.can_write:
            session.send(self._waiting.pop())

    def link_lost(self, session: LinkSession, verdict: CloseVerdict, code: int) -> None:
        """See `LinkOwner`."""
        if session is not self.current:
            return
        self.current = None
        session.watch.stop()
        now_s = self._runtime.now()
        self._close_responses(session, "failed", "link_lost")
        self._waiting.forget_asked()
        logger.info("provider link lost: session=%s close=%d code=%s", self._session_id, code, verdict.code)
        if verdict.reconnect:
            if now_s - session.opened_s >= self._limits.settled_s:
                self._attempt = 0
            self._lost_s = now_s
            # Told here, not by the task: nothing may be sent between the loss and the news of it.
            delay_s = self._announce_try(verdict.code)
            if delay_s is None:
                self._give_up(verdict.code, f"the link to the model is lost again and again: {verdict.message}")
            else:
                self._redial = asyncio.get_running_loop().create_task(self._dial_again(delay_s))
            return
        if code != _NORMAL_CLOSURE and (session.error is None or session.error.code != verdict.code):
            message = self._sentence(verdict.code, verdict.message)
            self._emit(m.ModelErrorEvent(error_type="provider_error", code=verdict.code, message=message))
        self._finish(verdict.code)

    # Links.

    async def _open_link(self) -> None:
        """Dial and wait until the session stands. Raises ProviderError."""
        codec = self._make_codec()
        session = self.current = LinkSession(
            self,
            codec,
            self._runtime,
            began_s=self._began_s,
            silence_s=self._limits.silence_s,
            tap=self._tap,
        )
        try:
            session.link = await self._dial(codec.address(self._settings), session, self._limits)
            items = self._history()
            session.restored = items
            if self._lost_s is not None:
                self._waiting.forget(SessionUpdate)
                self._waiting.forget(ItemTruncate)
            for frame in codec.opening(self._settings, items):
                session.write(frame)
            session.catch_up()
            async with asyncio.timeout(self._limits.session_timeout_s):
                await session.created
        except BaseException as error:
            self.current = None
            session.abort()
            if isinstance(error, TimeoutError):
                raise ProviderError(
                    "the provider took the connection but opened no session in time",
                    code="provider_timeout",
                    retryable=True,
                ) from error
            if isinstance(error, ProviderError) and error.code == INVALID_KEY:
                raise ProviderError(self._refused_key, code=INVALID_KEY) from error
            raise

    def _sentence(self, code: str, message: str) -> str:
        return self._refused_key if code == INVALID_KEY else message

    def _announce_try(self, reason: str) -> float | None:
        """Report the next try to dial. Returns in how many seconds it is due; `None`: the policy allows no more."""
        limits = self._limits
        if self._attempt >= limits.attempts:
            return None
        self._attempt += 1
        delay_s = min(limits.max_delay_s, limits.first_delay_s * 2.0 ** (self._attempt - 1))
        delay_s *= self._runtime.random.uniform(0.5, 1.0)
        self._emit(m.ModelReconnectingEvent(attempt=self._attempt, retry_after_ms=round(delay_s * 1000), reason=reason))
        return delay_s

    async def _dial_again(self, first_delay_s: float) -> None:
        """The owner of this task is the wire; `close` cancels it and waits for it."""
        delay_s: float | None = first_delay_s
        reason, why = "link_lost", "no try was answered"
        while delay_s is not None:
            await asyncio.sleep(delay_s)
            try:
                await self._open_link()
                return
            except RealtimeError as error:
                reason, why = error.code, error.message
                logger.info("provider dial failed: attempt=%d code=%s", self._attempt, reason)
                if not error.retryable:
                    break
            except Exception as error:
                self.fault("reopening", error)
                reason, why = "internal_error", type(error).__name__
                break
            delay_s = self._announce_try(reason)
        self._give_up(reason, f"the link to the model was lost and could not be restored: {why}")

    def _give_up(self, code: str, message: str) -> None:
        self._done = True
        self._emit(m.ModelErrorEvent(error_type="provider_error", code=code, message=message))
        self._finish(code)

    def _finish(self, reason: str) -> None:
        """Report the end, once."""
        if self._ended:
            return
        self._ended = self._done = True
        if self._closing is not None:
            self._close_responses(self._closing, "cancelled", "session_closed")
        self._waiting.clear()
        logger.info(
            "provider session ended: session=%s reason=%s duration_s=%.1f dropped_audio_bytes=%d faults=%d",
            self._session_id,
            reason,
            self._runtime.now() - self._began_s,
            self.dropped_audio_bytes,
            self.faults,
        )
        self._emit(m.ModelSessionEndedEvent(session_id=self._session_id, reason=reason))
        # The listener may hold this object: without the reference back, both are freed at once.
        self._on_event = _ignore

    def _close_responses(self, session: LinkSession, status: Literal["failed", "cancelled"], reason: str) -> None:
        for response_id in sorted(session.ledger):
            details = {"type": status, "reason": reason}
            self._emit(m.ModelResponseDoneEvent(response_id=response_id, status=status, status_details=details))
        session.ledger.clear()

    # Messages that have to wait.

    def _keep(self, message: ModelInput) -> None:
        dropped = self._waiting.dropped_audio_bytes
        self._waiting.keep(message)
        self._skipped_bytes += self._waiting.dropped_audio_bytes - dropped
        if self._waiting.overflowed:
            self._overflow()

    def _overflow(self) -> None:
        self._done = True
        if self.current is not None:
            self._closing, self.current = self.current, None
            self._closing.abort()
        if self._redial is not None:
            self._redial.cancel()
        self._give_up("overflow", "the model takes no more messages")

    @property
    def _skipped_ms(self) -> int:
        """Milliseconds of this session's audio that the present link's provider never got."""
        return self._skipped_bytes * 1000 // (self._profile.input_rate_hz * 2)

    # Nothing that others raise may end the link.

    def _emit(self, event: m.ModelEvent) -> None:
        try:
            self._on_event(event)
        except Exception as error:
            self.fault("on_event", error)

    def fault(self, where: str, error: Exception) -> None:
        """See `LinkOwner`. Count and log by type and place only: an exception's text may quote what was said."""
        self.faults += 1
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        at = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place is not None else "?"
        logger.error("%s raised %s at %s: session=%s", where, type(error).__name__, at, self._session_id)


def _ignore(event: m.ModelEvent) -> None:
    """The session is over."""
