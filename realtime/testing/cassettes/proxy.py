"""A loopback proxy between any client and a provider that records cassettes.

    await record_proxy("openai", "recordings", port=9000)

The client dials `ws://127.0.0.1:9000` with the path and query that it would use with the provider itself, and needs no
key: the proxy has it, and removes any key that the client sends. Since everyone who reaches the port uses that key, the
proxy listens on loopback only and refuses pages of other sites (by their `Origin`).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from realtime.errors import UsageError
from realtime.model.credentials import usable_key
from realtime.model.services import SERVICES
from realtime.model.socket_model import socket_url
from realtime.runtime import Runtime, iso
from realtime.testing.cassettes.format import Direction, Header
from realtime.testing.cassettes.record import CassetteRecorder, header_of

logger = logging.getLogger(__name__)
# websockets logs headers (the key) and frames (speech) at DEBUG.
_QUIET = logging.getLogger("realtime.testing.cassettes.proxy.websockets")
_QUIET.setLevel(logging.INFO)

_LOCAL_PAGE = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
_KEYS = {"authorization", "x-goog-api-key", "api-key", "cookie", "proxy-authorization"}
_OWN = {"host", "connection", "upgrade", "origin", "user-agent", "content-length", "accept-encoding"}
"""Headers that each connection makes for itself."""
_SECRET_QUERY = {"key", "access_token", "api_key"}
_SECRET_PROTOCOL = re.compile("api-key|token|auth", re.IGNORECASE)
_NORMAL, _GONE, _NO_STATUS, _INTERNAL = 1000, 1001, 1005, 1011


async def record_proxy(
    provider: str,
    folder: str | Path,
    *,
    port: int = 9000,
    url: str | None = None,
    key: str | None = None,
    runtime: Runtime | None = None,
    on_ready: Callable[[int], None] | None = None,
) -> None:
    """Listen on 127.0.0.1:`port` until cancelled; record each connection in a folder.

    The folders are `folder`/call-1, call-2, and so on. `port` 0 takes a free one; `on_ready` receives it once clients
    may connect. `url` is the provider's address (None: the environment, as with our models, else the provider's public
    one; http and ws both work, its path is not used), `key` its key (None: the environment). Raises UsageError without
    a key and OSError where the port is taken. Cancelling closes every connection and completes its cassette.
    """
    service = SERVICES[provider]
    key = usable_key(key, "`key`") if key else service.key(os.environ)
    if not key:
        raise UsageError(f"there is no key for {service.title}: set {service.key_variables[0]}", code="missing_api_key")
    source = "`url`" if url else service.base_url_variable
    base = socket_url(url or service.url(os.environ), source=source)
    proxy = _Proxy(provider, Path(folder), base, key, runtime or Runtime())
    async with serve(
        proxy.serve,
        "127.0.0.1",
        port,
        process_request=proxy.admit,
        select_subprotocol=proxy.choose_protocol,
        compression=None,
        max_size=None,
        ping_interval=None,
        close_timeout=2,
        logger=_QUIET,
    ) as server:
        if on_ready is not None:
            on_ready(int(next(iter(server.sockets)).getsockname()[1]))
        await asyncio.get_running_loop().create_future()


class _Proxy:
    def __init__(self, provider: str, folder: Path, base: str, key: str, runtime: Runtime) -> None:
        self._provider = provider
        self._folder = folder
        self._base = urlsplit(base)
        self._key = key
        self._runtime = runtime

    def admit(self, client: ServerConnection, request: Request) -> Response | None:
        """Refuse pages of other sites, which could reach loopback too: they send their origin."""
        origin = request.headers.get("Origin")
        if origin is None or _LOCAL_PAGE.fullmatch(origin):
            return None
        return client.respond(HTTPStatus.FORBIDDEN, "pages of other sites may not use this proxy\n")

    def choose_protocol(self, client: ServerConnection, offered: Any) -> Subprotocol | None:
        """Return the first offered subprotocol that is not a disguised key."""
        return next((name for name in offered if not _SECRET_PROTOCOL.search(name)), None)

    async def serve(self, client: ServerConnection) -> None:
        """Serve one client, from its first frame to either side's last."""
        assert client.request is not None
        began_s = self._runtime.now()
        try:
            # Gemini's clients name their model in the first frame, the others in the URL.
            first = await client.recv() if self._provider == "gemini" else None
        except ConnectionClosed:
            return
        recorder = CassetteRecorder(
            self._next_folder(), self._header(client.request, first), now=self._runtime.now, secrets=[self._key]
        )
        try:
            await self._relay(client, recorder, first)
        finally:
            recorder.close()
            logger.info("recorded %s: duration_s=%.1f", recorder.folder.name, self._runtime.now() - began_s)

    async def _relay(self, client: ServerConnection, recorder: CassetteRecorder, first: str | bytes | None) -> None:
        recorder.dialling()
        try:
            provider = await self._dial(client)
        except (OSError, WebSocketException) as error:
            status = f"HTTP {error.response.status_code}" if isinstance(error, InvalidStatus) else type(error).__name__
            recorder.refused("provider_refused", status, retryable=not isinstance(error, InvalidStatus))
            await client.close(_INTERNAL, f"the provider refused the connection: {status}")
            return
        recorder.opened()
        async with provider:
            if first is not None:
                recorder.frame("sent", first)
                await provider.send(first)
            ways = {
                asyncio.ensure_future(_pump(client, provider, recorder, "sent")),
                asyncio.ensure_future(_pump(provider, client, recorder, "received")),
            }
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                left_first = client.close_code is not None and provider.close_code is None
                source, target = (client, provider) if left_first else (provider, client)
                code, reason = source.close_code or _GONE, source.close_reason or ""
                recorder.closed("us" if left_first else "them", code, reason)
                await target.close(_sendable(code), reason)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)

    async def _dial(self, client: ServerConnection) -> ClientConnection:
        request = client.request
        assert request is not None
        parts = urlsplit(request.path)
        query = [(name, value) for name, value in parse_qsl(parts.query) if name.lower() not in _SECRET_QUERY]
        target = urlunsplit((self._base.scheme, self._base.netloc, parts.path, urlencode(query), ""))
        headers = [
            (name, value)
            for name, value in request.headers.raw_items()
            if name.lower() not in _KEYS | _OWN and not name.lower().startswith("sec-websocket-")
        ]
        ours = SERVICES[self._provider].open(api_key=self._key).websocket_headers
        own = [(name, value) for name, value in ours.items() if name.lower() in _KEYS]
        return await connect(
            target,
            additional_headers=[*headers, *own],
            subprotocols=[client.subprotocol] if client.subprotocol else None,
            compression=None,
            max_size=None,
            close_timeout=2,
            logger=_QUIET,
        )

    def _header(self, request: Request, first: str | bytes | None) -> Header:
        model = _model_of_setup(first) if first is not None else _model_of_query(request.path)
        profile = SERVICES[self._provider].open(model).profile
        return header_of(profile, recorded_at=iso(self._runtime.wall_now()))

    def _next_folder(self) -> Path:
        number = 1
        while (self._folder / f"call-{number}").exists():
            number += 1
        folder = self._folder / f"call-{number}"
        folder.mkdir(parents=True)
        return folder


async def _pump(
    source: ServerConnection | ClientConnection,
    target: ServerConnection | ClientConnection,
    recorder: CassetteRecorder,
    direction: Direction,
) -> None:
    """Pass on every message until either side is gone."""
    with suppress(ConnectionClosed):  # `_relay` asks both sides how they ended
        async for message in source:
            recorder.frame(direction, message)
            await target.send(message)


def _sendable(code: int) -> int:
    """Return a close code that a frame may carry."""
    if code == _NO_STATUS:
        return _NORMAL
    return code if code in {1000, 1001, 1002, 1003, *range(1007, 1015)} or 3000 <= code < 5000 else _INTERNAL


def _model_of_query(path: str) -> str:
    return dict(parse_qsl(urlsplit(path).query)).get("model", "")


def _model_of_setup(first: str | bytes) -> str:
    """Return the model in Gemini's first frame, such as `models/gemini-...`."""
    try:
        setup = json.loads(first)["setup"]
        return unquote(cast(str, setup["model"])).removeprefix("models/")
    except (ValueError, TypeError, KeyError, AttributeError):
        return ""
