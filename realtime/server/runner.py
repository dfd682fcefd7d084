"""Runs an application: its listening socket, the address to open, and a graceful shutdown."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import functools
import gc
import ipaddress
import logging
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import cast
from urllib.parse import quote

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.websockets.auto import AutoWebSocketsProtocol
from uvicorn.supervisors import ChangeReload

from realtime.errors import UsageError
from realtime.model.credentials import is_loopback
from realtime.server.calls import Calls
from realtime.server.http_guard import GuardedHttp, connections_of, counted, settings_of
from realtime.server.tcp_listener import TcpListener
from realtime.texts import as_utf8

logger = logging.getLogger(__name__)

Say = Callable[[str], None]

PORTS_TO_TRY = 20
TOKEN_VARIABLE = "REALTIME_TOKEN"
MIN_TOKEN_CHARS = 16
"""Minimum length of a token that other machines can try."""
LARGE_BLOCK_BYTES = 262_144
"""The system maps each memory block of at least this size separately."""
_M_MMAP_THRESHOLD = -3
STALLED_MS = 30_000
"""Longest time a peer may accept no data: then its connection is dropped.

Linux only; elsewhere TCP's own timeout holds.
"""
GRACEFUL_S = 5
"""Seconds for open connections to close once all calls have ended."""
MAX_FRAME_BYTES = 16_777_216
"""The largest frame of a client that is read whole; a larger one closes its socket with 1009."""
FORCED_S = 1.0
"""Seconds for the application to close its resources after a repeated Ctrl+C."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """A certificate (with its chain) and its key, both PEM."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Token:
    """The token that clients have to send; `value` None: no token is needed."""

    value: str | None = field(repr=False)
    is_made_here: bool = False
    """Whether to print the token at the start: the owner already knows any other."""


def given_token(option: str | None, file: Path | None, environ: Mapping[str, str]) -> str | None:
    """Return the token of `--token`, `--token-file` or REALTIME_TOKEN, in this order; None if unset.

    Raises UsageError for two options at once, and for a file that cannot be read.
    """
    if option is not None and file is not None:
        raise UsageError("--token and --token-file exclude each other: give one of them", code="two_tokens")
    if file is None:
        return option if option is not None else environ.get(TOKEN_VARIABLE)
    try:
        return as_utf8(file.read_bytes()).decode().strip()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise UsageError(f"--token-file {file} cannot be read: {why}", code="no_file") from error


def token_for(host: str, token: str | None, *, insecure: bool, behind_proxy: bool = False) -> Token:
    """Return the token to serve with; `auto` makes one.

    Raises UsageError where others can reach the server, at a host beyond loopback or through a proxy, and there is no
    token or one that is too easy to guess.
    """
    if token == "":
        raise UsageError("the token is empty: leave it out, or give one", code="token_needed")
    if token is not None and not (token.isascii() and token.isprintable()):
        raise UsageError("a token is one line of ASCII letters, digits and signs", code="bad_token")
    if token == "auto":
        return Token(secrets.token_urlsafe(18), is_made_here=True)
    is_reachable = behind_proxy or not is_loopback(host)
    if token is None and not insecure and is_reachable:
        place = "a proxy makes the server" if behind_proxy else f"{host} is"
        raise UsageError(
            f"{place} reachable from other machines: anyone who finds it could talk at your cost. Give --token auto "
            "(or a token of your own), or --insecure if every client in reach may call",
            code="token_needed",
        )
    if token is not None and is_reachable and len(token) < MIN_TOKEN_CHARS:
        raise UsageError(
            f"a token that other machines can try has at least {MIN_TOKEN_CHARS} characters: give a longer one, or "
            "--token auto",
            code="token_too_short",
        )
    return Token(token)


def open_socket(host: str, port: int, *, strict: bool, say: Say) -> socket.socket:
    """Return a bound socket; port 0 means any free port.

    Where the port is taken, says so and takes the next free one, unless `strict`. Raises UsageError where none is free,
    or the host or port cannot be used.
    """
    last = port if strict or port == 0 else min(port + PORTS_TO_TRY, 65_535)
    for candidate in range(port, last + 1):
        try:
            found = _bind(host, candidate)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                continue
            if isinstance(error, socket.gaierror):
                raise UsageError(f"the host {host!r} is unknown: {error.strerror}", code="unknown_host") from error
            raise UsageError(f"cannot listen on {host} port {candidate}: {error.strerror}", code="no_port") from error
        if candidate != port:
            say(f"Port {port} is taken by another program; using {candidate}.")
        return found
    tried = f"port {port} is" if last == port else f"ports {port} to {last} are"
    raise UsageError(f"{tried} taken by other programs: name a free one with --port", code="port_taken")


def _bind(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    bound = socket.socket(family, kind, protocol)
    try:
        if sys.platform == "win32":
            # On Windows, REUSEADDR would let two programs share a port.
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if sys.platform == "linux":
            # Accepted sockets inherit it: otherwise a client that never reads would hold its connection for ever.
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALLED_MS)
        bound.bind(address)
        # Another program may hold the port for another address: only listening shows that.
        bound.listen(2048)
    except OSError:
        bound.close()
        raise
    bound.set_inheritable(True)
    return bound


def address_of(bound: socket.socket, host: str, *, tls: bool, token: str | None) -> str:
    """Return the URL for a browser: scheme, reachable host, port, and the token if any."""
    scheme, port = ("https" if tls else "http"), bound.getsockname()[1]
    if host in ("0.0.0.0", "::", ""):
        host = lan_addresses()[0] if lan_addresses() else "localhost"
    name = f"[{host}]" if ":" in host else host
    return f"{scheme}://{name}:{port}" + (f"/?token={quote(token, safe='')}" if token is not None else "")


def lan_addresses() -> list[str]:
    """Return this machine's addresses beyond loopback, the default route's first. Sends nothing."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Connecting a datagram socket only chooses a route (TEST-NET-1 is assigned to no host).
            probe.connect(("192.0.2.1", 9))
            found.append(str(probe.getsockname()[0]))
        except OSError:
            pass
    try:
        infos = socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)
    except OSError:
        infos = []
    found += [str(info[4][0]) for info in infos if "%" not in str(info[4][0])]
    return [one for one in dict.fromkeys(found) if not ipaddress.ip_address(one).is_loopback]


def uvicorn_config(
    app: FastAPI | str, *, tls: TlsFiles | None = None, reload_folder: Path | None = None
) -> uvicorn.Config:
    """Return uvicorn's configuration for an application or a factory's name.

    Compression is off: speech does not shrink, and it costs 10 times as much as all the rest. uvicorn's own lines about
    requests contain whole URLs, tokens included, so they stay off.
    """
    return uvicorn.Config(
        app,
        factory=isinstance(app, str),
        http=GuardedHttp,
        ws=_socket_protocol(),
        ws_per_message_deflate=False,
        ws_max_size=MAX_FRAME_BYTES,
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACEFUL_S,
        ssl_certfile=str(tls.certificate) if tls is not None else None,
        ssl_keyfile=str(tls.key) if tls is not None else None,
        reload=reload_folder is not None,
        reload_dirs=[str(reload_folder)] if reload_folder is not None else None,
    )


@functools.cache
def _socket_protocol() -> type[asyncio.Protocol]:
    """Return our protocol class; uvicorn's, logged once, where ours lacks something."""
    try:
        from realtime.server.websocket_protocol import VoiceSocketProtocol, lacking

        missing = ", ".join(lacking())
    except (ImportError, AttributeError) as error:
        missing = str(error)
    if not missing:
        return VoiceSocketProtocol
    logger.warning("uvicorn %s lacks %s: sockets take its standard way, which costs more", uvicorn.__version__, missing)
    return counted(AutoWebSocketsProtocol)


class Server(uvicorn.Server):
    """uvicorn's server, which lets calls end before their sockets close.

    An obeyed signal counts as success.
    """

    def __init__(self, config: uvicorn.Config, say: Say | None = None, on_started: Callable[[], None] | None = None):
        super().__init__(config)
        self._say = say
        self._on_started = on_started
        self._draining: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn."""
        config = self.config
        if sockets is None:
            await super().startup()
        else:
            await super().startup([])
            connections, settings = connections_of(config), settings_of(config)
            listeners = [TcpListener(bound, self._protocol, config.ssl, connections, settings) for bound in sockets]
            self.servers = cast(list[asyncio.base_events.Server], listeners)
        if self._on_started is not None:
            self._on_started()

    def _protocol(self) -> asyncio.Protocol:
        make: Callable[..., asyncio.Protocol] = self.config.http_protocol_class
        return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for the running calls, unless signalled again, then close everything."""
        app = self.config.loaded_app
        calls = getattr(app.state, "calls", None) if isinstance(app, FastAPI) else None
        if isinstance(calls, Calls):
            await self._drain(calls, app.state.settings.drain_s)
        await super().shutdown(sockets)
        if self.force_exit:
            # After a forced exit uvicorn skips the application's shutdown: agents without a call would lose their
            # models when the loop ends, as if these had failed.
            with suppress(TimeoutError):
                await asyncio.wait_for(self.lifespan.shutdown(), FORCED_S)

    async def _drain(self, calls: Calls, wait_s: float) -> None:
        if calls.running and self._say is not None:
            self._say(f"Waiting up to {wait_s:g} s for calls to end; press Ctrl+C again to end them now.")
        self._draining = asyncio.create_task(calls.drain(wait_s), name="draining")
        await asyncio.wait([self._draining])
        draining, self._draining = self._draining, None
        if draining.cancelled():
            await calls.drain(0)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle signals: the first ends gracefully, the second ends the calls, one more Ctrl+C everything else."""
        if self._draining is not None:
            self._draining.get_loop().call_soon_threadsafe(self._draining.cancel)
        elif self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True


def _give_memory_back() -> None:
    """Return freed memory of large frames to the system (glibc only).

    By default glibc raises the size from which it maps blocks separately to that of the largest freed block, up to 32
    MB; after the first large frame all others lie in a heap that shrinks only at its end.
    """
    if not sys.platform.startswith("linux"):
        return
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES)


def run(config: uvicorn.Config, bound: socket.socket, *, say: Say | None, on_started: Callable[[], None]) -> None:
    """Serve until a signal stops it."""
    # What is loaded by now stays: a garbage collection that scans it again would delay every call by about 30 ms.
    gc.collect()
    gc.freeze()
    _give_memory_back()
    if config.should_reload:
        on_started()
        ChangeReload(config, target=Server(config).run, sockets=[bound]).run()
    else:
        Server(config, say, on_started).run([bound])
