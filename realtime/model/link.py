"""One WebSocket to a provider: no task, queue or wake-up per message.

`dial_websocket` opens it with the `websockets` client (proxies, TLS, redirects, keepalive and the closing handshake are
its own). A complete message is handed to the `Receiver` inside the socket's read callback; a frame is written inside
`write`. Uses only what websockets 15, 16 and 17 share.
"""

from __future__ import annotations

import functools
import logging
import socket
import ssl
from asyncio import timeout
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.client import ClientProtocol
from websockets.datastructures import Headers
from websockets.exceptions import (
    InvalidHandshake,
    InvalidMessage,
    InvalidStatus,
    InvalidURI,
    ProxyError,
    SecurityError,
    WebSocketException,
)
from websockets.frames import CloseCode, Opcode
from websockets.frames import Frame as WebSocketFrame
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.typing import Subprotocol

from realtime.errors import ProviderError
from realtime.model._standard_link import StandardLink
from realtime.model.base import Address, Frame
from realtime.model.link_limits import WireLimits
from realtime.model.link_protocol import Link, Receiver
from realtime.model.proxies import Proxy, proxy_for
from realtime.websocket import BINARY, OTHER, TEXT, FrameCutter, FrameReader, client_frame

logger = logging.getLogger(__name__)

# websockets logs headers (the key) and frames (speech) at DEBUG: this logger never goes below INFO.
_LOGGER = logging.getLogger("realtime.model.link.websockets")
_LOGGER.setLevel(logging.INFO)

NEEDED = ("connection_lost", "data_received", "pause_writing", "process_event", "resume_writing")
"""What `_Socket` uses of its base beyond the public API."""
_OPEN = State.OPEN
_HEAD_END = b"\r\n\r\n"


async def dial_websocket(address: Address, receiver: Receiver, limits: WireLimits) -> Link:
    """An open link to `address`. Raises ProviderError with a code and a sentence; cancelling leaves nothing open.

    Codes: `provider_refused`, `provider_dns`, `provider_timeout`, `provider_tls`, `provider_unreachable`,
    `provider_unavailable`, `provider_proxy`, `provider_handshake`, `provider_address`, `rate_limit_exceeded`,
    `invalid_api_key`, `model_not_found`.
    """
    options: dict[str, Any] = {"ssl": _tls()} if address.url.startswith("wss:") else {}
    short_way = _has_internals()
    if short_way:
        make = functools.partial(_Socket, receiver=receiver, limits=limits)
        options["create_connection"] = cast(type[ClientConnection], make)
    proxy: Proxy | None = None
    try:
        proxy = proxy_for(address.url)
        connection = await _Connect(
            address.url,
            proxy=proxy.address if proxy is not None else None,
            additional_headers=list(address.headers),
            subprotocols=[Subprotocol(name) for name in address.subprotocols] or None,
            compression=None,
            open_timeout=limits.open_timeout_s,
            close_timeout=limits.close_timeout_s,
            ping_interval=limits.ping_interval_s,
            ping_timeout=limits.ping_timeout_s,
            max_size=limits.max_message_bytes,
            write_limit=limits.write_buffer_bytes,
            logger=_LOGGER,
            **options,
        )
    except (ImportError, OSError, ValueError, WebSocketException) as error:
        if proxy is not None and (failure := proxy.failure(error)) is not None:
            raise failure from None
        if isinstance(error, (InvalidURI, ValueError)):
            # Without its cause, which quotes the address: some providers take the key in the query.
            message = "the provider's address is not a ws:// or wss:// URL"
            raise ProviderError(message, code="provider_address") from None
        raise _explain(error, urlsplit(address.url).hostname or "?") from error
    # The headers of the handshake hold the key, and 7 kB. The library asks at each event whether there was a response.
    connection.request, connection.response = None, Response(101, "", Headers())
    if not short_way:
        link = StandardLink(connection, receiver, limits)
        link.begin()
        return link
    return cast(_Socket, connection)


@functools.cache
def _has_internals() -> bool:
    """Whether this `websockets` has what `_Socket` needs beyond the public API. Where not, the log says so once."""
    missing = [name for name in NEEDED if not hasattr(ClientConnection, name)]
    if missing:
        logger.warning("websockets lacks %s: providers are read its standard way, which costs more", ", ".join(missing))
    return not missing


@functools.cache
def _tls() -> ssl.SSLContext:
    """One context for all links: each loads the system's certificates, some 10 ms and 1 MB."""
    return ssl.create_default_context()


class _Connect(connect):
    """A dial that follows redirects within one origin only: elsewhere the key would go with it."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        target = super().process_redirect(exc)
        if isinstance(target, str) and urlsplit(target)[:2] != urlsplit(self.uri)[:2]:
            return SecurityError("redirect to another origin refused")
        return target


class _Socket(ClientConnection):
    """A client connection that hands messages over inside the read callback. Also the `Link`."""

    def __init__(self, protocol: ClientProtocol, *, receiver: Receiver, limits: WireLimits, **options: Any) -> None:
        logger = protocol.logger
        super().__init__(protocol, **options)
        # The library's own would refer to this object, and it to the library's: freed by the collector only.
        self.logger = protocol.logger = logger
        self._receiver = receiver
        self._close_within_s = limits.close_timeout_s
        self._max_bytes = limits.max_message_bytes
        self._full = False
        self._reading = True
        self._fragments = bytearray()
        self._fragments_are_text = False
        self._reader: FrameReader | None = None
        """`None` during the handshake and after the close frame: the library then reads everything."""
        self._head_end = b""

    @property
    def can_write(self) -> bool:
        return not self._full and self.protocol.state is _OPEN

    @property
    def is_open(self) -> bool:
        return self.protocol.state is _OPEN

    def write(self, frame: Frame) -> None:
        if self.protocol.state is not _OPEN:
            return
        if isinstance(frame, str):
            self.transport.write(client_frame(TEXT, frame.encode()))
        else:
            self.transport.write(client_frame(BINARY, frame))

    def pause_reading(self) -> None:
        if self._reading and not self.transport.is_closing():
            self._reading = False
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        if not self._reading and not self.transport.is_closing():
            self._reading = True
            self._caught_up()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        self.resume_reading()  # the other side's close frame has to be read
        try:
            # The limit of `websockets` begins only when everything before the close frame has been written.
            async with timeout(self._close_within_s):
                await super().close(code, reason)
        except TimeoutError:
            pass
        finally:
            self.abort()
        await self.wait_closed()

    def abort(self) -> None:
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._reader is not None:
            self._reader.push(data)
        elif self.protocol.state is State.CONNECTING:
            head, rest = self._split_head(data)
            super().data_received(head)
            if self.is_open:
                cutter = FrameCutter(masked=False, max_bytes=self._max_bytes)
                pause = self.transport.pause_reading
                self._reader = FrameReader(cutter, self._take, pause, self._caught_up, self.loop)
                self.data_received(rest)
            elif rest:
                super().data_received(rest)
        else:
            super().data_received(data)

    def _split_head(self, data: bytes) -> tuple[bytes, bytes]:
        """What belongs to the answer's head, and what follows it: the first frames may come in the same packet."""
        seen = self._head_end + data
        at = seen.find(_HEAD_END)
        if at < 0:
            self._head_end = seen[1 - len(_HEAD_END) :]
            return data, b""
        end = at + len(_HEAD_END) - len(self._head_end)
        return data[:end], data[end:]

    def _take(self, kind: int, payload: bytes) -> bool:
        """A message, or bytes for the library. False: closed by the other side or by a fault; nothing behind it
        counts."""
        if kind != OTHER:
            self._receiver.received(payload, kind == TEXT)
            return True
        super().data_received(payload)
        if self.is_open:
            return True
        self._reader = None
        return False

    def _caught_up(self) -> None:
        """Read on, unless reading is paused."""
        if self._reading and not self.transport.is_closing():
            self.transport.resume_reading()

    def process_event(self, event: Request | Response | WebSocketFrame) -> None:
        if not isinstance(event, WebSocketFrame):
            super().process_event(event)
            return
        opcode = event.opcode
        if opcode is Opcode.TEXT or opcode is Opcode.BINARY:
            if event.fin:
                self._receiver.received(cast(bytes, event.data), opcode is Opcode.TEXT)
            else:
                self._fragments_are_text = opcode is Opcode.TEXT
                self._fragments = bytearray(event.data)
        elif opcode is Opcode.CONT:
            self._fragments += event.data
            if event.fin:
                message, self._fragments = bytes(self._fragments), bytearray()
                self._receiver.received(message, self._fragments_are_text)
        else:
            super().process_event(event)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._full = True

    def resume_writing(self) -> None:
        super().resume_writing()
        self._full = False
        self._receiver.writable()

    def eof_received(self) -> None:
        if self._reader is None:
            super().eof_received()
        else:
            # After the end, the library takes no bytes: a close frame that waits behind a burst comes first.
            self._reader.finish(super().eof_received)

    def connection_lost(self, exc: Exception | None) -> None:
        reader, self._reader = self._reader, None
        if reader is None:
            self._lost(exc)
        else:
            reader.finish(functools.partial(self._lost, exc))

    def _lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.keepalive_task = None  # cancelled; its exception refers back here
        code = self.close_code or 1006
        ours = self.protocol.close_sent
        if code == 1006 and ours is not None and ours.code == CloseCode.MESSAGE_TOO_BIG:
            code = ours.code  # why we broke off, where the other side did not live to say it
        self._receiver.lost(code, self.close_reason or "")


def _explain(error: Exception, host: str) -> ProviderError:
    """The failed dial as an error for people. Never repeats the address or an answer's body: they may hold keys."""

    def failure(code: str, message: str, *, retryable: bool = False) -> ProviderError:
        return ProviderError(message, code=code, retryable=retryable)

    match error:
        case TimeoutError():
            return failure("provider_timeout", f"{host} did not answer in time", retryable=True)
        case socket.gaierror():
            return failure("provider_dns", f"the name {host} cannot be resolved", retryable=True)
        case ConnectionRefusedError():
            return failure("provider_refused", f"{host} refused the connection", retryable=True)
        case ssl.SSLError():
            return failure("provider_tls", f"{host} cannot be trusted or speaks no TLS ({error.reason})")
        case OSError():
            return failure("provider_unreachable", f"{host} cannot be reached ({type(error).__name__})", retryable=True)
        case InvalidStatus():
            return _explain_status(error.response.status_code, host, failure)
        case ProxyError():
            return failure("provider_proxy", f"the proxy did not connect to {host}", retryable=True)
        case InvalidMessage():
            return failure("provider_handshake", f"{host} broke off the handshake", retryable=True)
        case SecurityError():
            return failure("provider_handshake", f"{host} redirects to another place, which is not followed")
        case InvalidHandshake():
            return failure("provider_handshake", f"{host} does not speak WebSocket ({type(error).__name__})")
        case _:
            return failure("provider_handshake", f"{host} cannot be dialled ({type(error).__name__})")


def _explain_status(status: int, host: str, failure: Callable[..., ProviderError]) -> ProviderError:
    if status in (401, 403):
        return failure("invalid_api_key", f"{host} refused the API key (HTTP {status})")
    if status == 404:
        return failure("model_not_found", f"{host} knows no such model or address (HTTP 404)")
    if status == 429:
        return failure("rate_limit_exceeded", f"{host} takes no more sessions now (HTTP 429)", retryable=True)
    if status >= 500:
        return failure("provider_unavailable", f"{host} is not available (HTTP {status})", retryable=True)
    return failure("provider_handshake", f"{host} refused the handshake (HTTP {status})")
