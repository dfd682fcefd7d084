"""The HTTP side of each connection: limits on number, head size and arrival time.

A connection refused here uses neither a parser nor a task: it gets a status and is closed.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Hashable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from realtime.server.connections import ConnectionRefusal, Connections, counted_address, last_forwarded
from realtime.server.settings import ServerSettings

if TYPE_CHECKING:
    from uvicorn import Config

logger = logging.getLogger(__name__)
_BASE_LOGGER = logging.getLogger("uvicorn.error.requests")
"""uvicorn warns of every request that it cannot read; this logger shows only errors."""
_BASE_LOGGER.setLevel(logging.ERROR)

HEAD_END = b"\r\n\r\n"
MAX_REQUEST_LINE_BYTES = 8_000
MAX_HEADER_LINE_BYTES = 8_000
MAX_HEAD_BYTES = 16_000
MAX_HEADERS = 100
"""Most headers of a request.

All four limits are below those of the parsers behind, so that a parser never refuses a request for its size.
"""
LINGER_S = 1.0
"""Seconds that a refused client has to read its response."""
LONG_LINE = ConnectionRefusal(414, "the address of the request is too long", "oversized requests")
LARGE_HEAD = ConnectionRefusal(431, "the headers of the request are too large", "oversized requests")
UNREADABLE = ConnectionRefusal(400, "this is no HTTP request", "requests that cannot be read")
AHEAD = ConnectionRefusal(431, "too much was sent before the answer to an earlier request", "oversized requests")
TOO_SLOW = ConnectionRefusal(408, "the request did not arrive in time", "requests that did not arrive in time")
_UNLIMITED = Connections(sys.maxsize)


def too_large(head: bytes | bytearray) -> ConnectionRefusal | None:
    """Return why the head received so far is refused; None: it is not."""
    lines = bytes(head).split(b"\r\n")
    if len(lines[0]) > MAX_REQUEST_LINE_BYTES:
        return LONG_LINE
    if len(head) > MAX_HEAD_BYTES or len(lines) > MAX_HEADERS + 1 or max(map(len, lines)) > MAX_HEADER_LINE_BYTES:
        return LARGE_HEAD
    return None


def response_of(refusal: ConnectionRefusal) -> bytes:
    """Return the response: a status and a sentence."""
    body = f"{refusal.why}\n".encode()
    head = f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}\r\ncontent-type: text/plain\r\n"
    retry = "retry-after: 5\r\n" if refusal.status in (429, 503) else ""
    return f"{head}{retry}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body


def answer(transport: asyncio.Transport, refusal: ConnectionRefusal) -> None:
    """Send a status and a sentence, then end the response."""
    transport.write(response_of(refusal))
    if transport.can_write_eof():
        transport.write_eof()


def note(connections: Connections, refusal: ConnectionRefusal, now_s: float) -> None:
    """Log a condition, at most one line for many occurrences."""
    times = connections.notice(refusal.condition, now_s)
    if times:
        logger.warning("refused %d times: %s (%s)", times, refusal.condition, refusal.why)


def connections_of(config: Config) -> Connections:
    """Return the connections of uvicorn's application; one without limits where it counts none."""
    counted: Connections | None = getattr(getattr(config.loaded_app, "state", None), "connections", None)
    return counted if counted is not None else _UNLIMITED


def settings_of(config: Config) -> ServerSettings:
    """Return the settings of uvicorn's application; the defaults where it has none."""
    return getattr(getattr(config.loaded_app, "state", None), "settings", None) or ServerSettings()


class GuardedHttp(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """uvicorn's HTTP protocol with limits in front of it.

    Of its base it needs what `asyncio.Protocol` has. `timeout_keep_alive_task` and `cycle` show where the next request
    of a connection begins and whether a body is complete: without them only the first head has a time limit.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.logger = _BASE_LOGGER
        self._settings = settings_of(self.config)
        self._connections = connections_of(self.config)
        self._head: bytearray | None = bytearray()
        """The received part of a request's head; None once it is complete."""
        self._ahead_bytes = 0
        """Bytes received after a complete request, before its response was sent."""
        self._timer: asyncio.TimerHandle | None = None
        self._is_served = False
        """Whether the base knows of the connection."""
        self._is_refused = False
        self.counted_as: Hashable = None
        """The key under which `TcpListener` counts a connection during its TLS handshake.

        From then until `connection_made`.
        """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        self.transport = cast(asyncio.Transport, transport)
        self._connections.leave(self.counted_as)
        bare = transport.get_extra_info("socket")
        refusal = self._connections.lacks_files(bare.fileno()) if bare is not None else None
        if refusal is not None:
            self._refuse(refusal)
        elif self._settings.trust_forwarded or self._enters(self._peer()):
            self._is_served = True
            super().connection_made(transport)
            self._expect_request()

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        if self._is_refused:
            return
        if self._head is None:
            idle = getattr(self, "timeout_keep_alive_task", None)
            if idle is None:
                self._pass_on(data)
                return
            idle.cancel()  # the base does not know that a request has begun
            self._expect_request()
        head = self._head = (self._head or bytearray()) + data
        end = head.find(HEAD_END)
        refusal = too_large(head if end < 0 else head[:end])
        if refusal is not None:
            self._refuse(refusal)
        elif end >= 0:
            self._head = None
            if self._settings.trust_forwarded and not self._enters(self._forwarded(bytes(head[:end]))):
                return
            super().data_received(bytes(head))
            if not self._is_arriving():
                self._stop_timer()

    def _pass_on(self, data: bytes) -> None:
        """Pass on a body, or data sent before an earlier response."""
        if not self._is_arriving():
            self._ahead_bytes += len(data)
            if self._ahead_bytes > MAX_HEAD_BYTES:
                note(self._connections, AHEAD, self.loop.time())
                self.transport.abort()  # a refusal would land inside the response that is being written
                return
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._stop_timer()
        self._connections.leave(self.transport)
        if self._is_served:
            super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """See the base."""
        self._stop_timer()
        note(self._connections, UNREADABLE, self.loop.time())
        super().send_400_response(msg)

    def _expect_request(self) -> None:
        self._head = bytearray()
        self._ahead_bytes = 0
        self._stop_timer()
        self._timer = self.loop.call_later(self._settings.handshake_s, self._late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if self._is_arriving():
            self._refuse(TOO_SLOW)

    def _is_arriving(self) -> bool:
        """Whether a request has begun, or is expected, and is still incomplete."""
        cycle = getattr(self, "cycle", None)
        return self._head is not None or bool(getattr(cycle, "more_body", False))

    def _peer(self) -> str:
        peer = self.transport.get_extra_info("peername")
        return counted_address(str(peer[0])) if isinstance(peer, tuple) and peer else "local"

    def _forwarded(self, head: bytes) -> str:
        fields = [line.partition(b":") for line in head.split(b"\r\n")[1:]]
        lines = [value.decode("latin-1") for name, _, value in fields if name.strip().lower() == b"x-forwarded-for"]
        forwarded = last_forwarded(lines)
        return counted_address(forwarded) if forwarded is not None else self._peer()

    def _enters(self, address: str) -> bool:
        refusal = self._connections.enter(self.transport, address)
        if refusal is not None:
            self._refuse(refusal)
        return refusal is None

    def _refuse(self, refusal: ConnectionRefusal) -> None:
        self._is_refused = True
        self._stop_timer()
        note(self._connections, refusal, self.loop.time())
        answer(self.transport, refusal)
        # Closing at once would reset the connection while the client still sends, and the response would be lost.
        self._timer = self.loop.call_later(LINGER_S, self.transport.close)


def counted(base: Any) -> type[asyncio.Protocol]:
    """Make a uvicorn socket protocol count its connections as `GuardedHttp` does."""

    class CountedSocket(base):  # type: ignore[misc]
        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            connections_of(self.config).leave(self.transport)

    return CountedSocket
