"""Signed POST requests, as Standard Webhooks describes them."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import os
import ssl
from collections.abc import Iterable, Mapping
from urllib.parse import urlunsplit

import h11
from h11 import Request as HttpRequest

from realtime.errors import RealtimeError, ToolError, UsageError
from realtime.model.credentials import parts_of_address, pasted
from realtime.tool.mcp.hosts import AllowedHosts
from realtime.version import __version__

SECRET = "REALTIME_WEBHOOK_SECRET"
"""The variable with the secret: `whsec_` and base64."""
SECRET_BYTES = (24, 64)
"""The fewest and the most bytes of a secret."""
TIMEOUT_S = 10.0
"""Seconds for a delivery, from the look-up of the host on."""
_READ_BYTES = 65_536


class WebhookFailed(RealtimeError):
    """A message was not delivered. The text names no address: it may hold a key."""


class Webhook:
    """An address that takes signed messages.

    Only public addresses are dialled, and those that the URL or `addresses` name themselves; other hosts than this
    computer by https only. No redirect is followed and no proxy used, and of an answer only the status is read.
    """

    def __init__(
        self,
        url: str,
        secret: bytes,
        *,
        addresses: Iterable[str] = (),
        timeout_s: float = TIMEOUT_S,
        source: str = "record_webhook",
    ) -> None:
        """Raises UsageError, naming `source`, for an address that cannot be."""
        parts = parts_of_address(url, source, ("http", "https"))
        host = parts.hostname or ""
        if parts.username is not None or parts.password is not None:
            raise UsageError(f"{source} has a user or a password: requests are signed instead", code="webhook_address")
        self._is_secure, self._host = parts.scheme == "https", host
        self._port = parts.port or (443 if self._is_secure else 80)
        self._hosts = AllowedHosts([_named(host, self._port), *addresses])
        if why := self._hosts.why_not(urlunsplit(parts)):
            raise UsageError(f"{source}: {why}", code="webhook_address")
        try:
            ascii_host = host if ":" in host else host.encode("idna").decode("ascii")
        except UnicodeError:
            raise UsageError(f"{source} names no host that there could be", code="webhook_address") from None
        netloc = f"[{ascii_host}]" if ":" in ascii_host else ascii_host
        self._netloc = netloc if parts.port is None else f"{netloc}:{parts.port}"
        self._target = urlunsplit(("", "", parts.path or "/", parts.query, ""))
        if not all("!" <= letter <= "~" for letter in self._target):
            raise UsageError(f"{source} is to be an address in ASCII: encode its path", code="webhook_address")
        self._secret = secret
        self._timeout_s = timeout_s
        self._tls: ssl.SSLContext | None = None

    @classmethod
    def of(cls, url: str, addresses: Iterable[str] = (), *, environment: Mapping[str, str] = os.environ) -> Webhook:
        """Return the webhook with the secret of the environment. Raises UsageError."""
        return cls(url, secret_in(environment), addresses=addresses)

    def __repr__(self) -> str:
        return f"Webhook({self._host!r})"  # path and query may hold a key

    async def post(self, message_id: str, body: bytes, now_s: float) -> int:
        """Send the message, JSON, once; return the status of the answer, or raise WebhookFailed.

        `now_s` is in seconds since the epoch. It takes at most `timeout_s`; cancelling closes the connection.
        """
        sent_at = int(now_s)
        headers = [
            ("host", self._netloc),
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("user-agent", f"realtime-voice-agent/{__version__}"),
            ("connection", "close"),
            ("webhook-id", message_id),
            ("webhook-timestamp", str(sent_at)),
            ("webhook-signature", signature(self._secret, message_id, sent_at, body)),
        ]
        request = HttpRequest(method="POST", target=self._target, headers=headers)
        try:
            async with asyncio.timeout(self._timeout_s):
                reader, writer = await self._dial()
                try:
                    return await _exchange(reader, writer, request, body)
                finally:
                    writer.transport.abort()
        except TimeoutError:
            raise WebhookFailed(f"it did not answer within {self._timeout_s:g} s", code="webhook_timeout") from None
        except ToolError as error:
            raise WebhookFailed(error.message, code="webhook_address") from None
        except ssl.SSLError as error:
            raise WebhookFailed(f"its certificate or TLS: {error.reason or 'it failed'}", code="webhook_tls") from None
        except h11.RemoteProtocolError:
            raise WebhookFailed("it did not answer in HTTP/1.1", code="webhook_protocol") from None
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise WebhookFailed(f"it cannot be reached: {why}", code="webhook_unreachable") from None

    async def _dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to an address that was checked: a second look at the name could give another."""
        if self._is_secure and self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)  # reads 150 kB of certificates
        scheme = "https" if self._is_secure else "http"
        *others, last = await self._hosts.addresses_of(scheme, self._host, self._port)
        name = self._host if self._is_secure else None
        for address in others:
            try:
                return await asyncio.open_connection(address, self._port, ssl=self._tls, server_hostname=name)
            except OSError:
                continue
        return await asyncio.open_connection(last, self._port, ssl=self._tls, server_hostname=name)


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: HttpRequest, body: bytes
) -> int:
    """Send the request; return the status of the answer, whose content is left unread."""
    connection = h11.Connection(our_role=h11.CLIENT)
    for part in (request, h11.Data(data=body), h11.EndOfMessage()):
        writer.write(connection.send(part) or b"")
    await writer.drain()
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Response):
            return int(event.status_code)
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(_READ_BYTES))


def signature(secret: bytes, message_id: str, sent_at: int, body: bytes) -> str:
    """Return the value of `webhook-signature`; `sent_at` is in seconds since the epoch."""
    signed = hmac.digest(secret, f"{message_id}.{sent_at}.".encode() + body, hashlib.sha256)
    return f"v1,{base64.b64encode(signed).decode()}"


def secret_in(environment: Mapping[str, str]) -> bytes:
    """Return the secret of the environment. Raises UsageError, which does not repeat it."""
    written = pasted(environment.get(SECRET, ""))
    try:
        secret = base64.b64decode(written.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        secret = b""
    fewest, most = SECRET_BYTES
    if not fewest <= len(secret) <= most:
        raise UsageError(
            f"webhooks are signed with a secret in {SECRET}: whsec_ and the base64 of {fewest} to {most} bytes, such "
            'as "whsec_$(openssl rand -base64 32)", which the receiver knows, too',
            code="webhook_secret",
        )
    return secret


def _named(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
