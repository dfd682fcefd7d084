"""Accepts TLS connections and counts each from its first moment."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass

from realtime.server.connections import ConnectionRefusal, Connections, counted_address
from realtime.server.http_guard import GuardedHttp, note
from realtime.server.settings import ServerSettings

NO_FILES_S = 1.0
"""Seconds without accepting once the system has no file descriptor left."""


@dataclass(eq=False)
class TlsListener:
    """Listens on one socket; `close` and `wait_closed` are those of `asyncio.Server`.

    asyncio's own listener shows a connection only after its TLS handshake: until then nothing could count it, and one
    address could use up the server's files.
    """

    bound: socket.socket
    make_protocol: Callable[[], asyncio.Protocol]
    context: ssl.SSLContext
    connections: Connections
    settings: ServerSettings

    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._handshakes: set[asyncio.Task[None]] = set()
        self.bound.setblocking(False)
        self._accepting = self._loop.create_task(self._accept(), name="accepting connections")

    def close(self) -> None:
        """Stop accepting, and break off the handshakes in progress."""
        for task in (self._accepting, *self._handshakes):
            task.cancel()

    async def wait_closed(self) -> None:
        """Wait until `close` has taken effect."""
        await asyncio.wait([self._accepting, *self._handshakes])

    async def _accept(self) -> None:
        while self.bound.fileno() >= 0:
            try:
                connection, peer = await self._loop.sock_accept(self.bound)
            except ConnectionError:
                continue  # it was closed before it was accepted
            except OSError:
                await asyncio.sleep(NO_FILES_S)
                continue
            refusal = self._refusal(connection, str(peer[0]))
            if refusal is not None:
                note(self.connections, refusal, self._loop.time())
                connection.close()
                continue
            handshake = self._loop.create_task(self._shake_hands(connection), name="a TLS handshake")
            self._handshakes.add(handshake)
            handshake.add_done_callback(self._handshakes.discard)

    def _refusal(self, connection: socket.socket, host: str) -> ConnectionRefusal | None:
        refusal = self.connections.lacks_files(connection.fileno())
        if refusal is None and not self.settings.trust_forwarded:  # else the peer is the proxy
            refusal = self.connections.enter(connection, counted_address(host))
        return refusal

    async def _shake_hands(self, connection: socket.socket) -> None:
        protocol = self.make_protocol()
        if isinstance(protocol, GuardedHttp):
            protocol.counted_as = connection
        try:
            await self._loop.connect_accepted_socket(
                lambda: protocol, connection, ssl=self.context, ssl_handshake_timeout=self.settings.handshake_s
            )
        except OSError:
            pass  # no TLS, not in time, or gone
        finally:
            self.connections.leave(connection)
