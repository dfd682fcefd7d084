"""Accepts TLS connections and counts each from its first moment."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable

from realtime.server.connections import Connections, Refusal, counted_address
from realtime.server.handshake import GuardedHttp, note

NO_FILES_S = 1.0
"""Seconds without accepting once the system has no file descriptor left."""


class TlsListener:
    """Listens on one socket; `close` and `wait_closed` are those of `asyncio.Server`.

    asyncio's own listener shows a connection only after its TLS handshake: until then nothing could count it, and one
    address could use up the server's files. `by_address`: whether the peer is the client, and not a trusted proxy.
    """

    def __init__(
        self,
        bound: socket.socket,
        make_protocol: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext,
        connections: Connections | None,
        *,
        handshake_s: float,
        by_address: bool,
    ) -> None:
        self._bound = bound
        self._make_protocol = make_protocol
        self._context = context
        self._connections = connections
        self._handshake_s = handshake_s
        self._by_address = by_address
        self._loop = asyncio.get_running_loop()
        self._handshakes: set[asyncio.Task[None]] = set()
        bound.setblocking(False)
        self._accepting = self._loop.create_task(self._accept(), name="accepting connections")

    def close(self) -> None:
        """Stop accepting, and break off the handshakes in progress."""
        for task in (self._accepting, *self._handshakes):
            task.cancel()

    async def wait_closed(self) -> None:
        """Wait until `close` has taken effect."""
        await asyncio.wait([self._accepting, *self._handshakes])

    async def _accept(self) -> None:
        while self._bound.fileno() >= 0:
            try:
                connection, peer = await self._loop.sock_accept(self._bound)
            except ConnectionError:
                continue  # it was closed before it was accepted
            except OSError:
                await asyncio.sleep(NO_FILES_S)
                continue
            refusal = self._refusal(connection, str(peer[0]))
            if refusal is not None:
                note(self._connections, refusal, self._loop.time())
                connection.close()
                continue
            handshake = self._loop.create_task(self._shake_hands(connection), name="a TLS handshake")
            self._handshakes.add(handshake)
            handshake.add_done_callback(self._handshakes.discard)

    def _refusal(self, connection: socket.socket, host: str) -> Refusal | None:
        if self._connections is None:
            return None
        refusal = self._connections.lacks_files(connection.fileno())
        if refusal is None and self._by_address:
            refusal = self._connections.enter(connection, counted_address(host))
        return refusal

    async def _shake_hands(self, connection: socket.socket) -> None:
        protocol = self._make_protocol()
        if isinstance(protocol, GuardedHttp):
            protocol.counted_as = connection
        try:
            await self._loop.connect_accepted_socket(
                lambda: protocol, connection, ssl=self._context, ssl_handshake_timeout=self._handshake_s
            )
        except OSError:
            pass  # no TLS, not in time, or gone
        finally:
            if self._connections is not None:
                self._connections.leave(connection)
