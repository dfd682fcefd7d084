"""Accepts connections, and counts and refuses each from its first moment."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from realtime.server.connections import NO_DESCRIPTOR, ConnectionRefusal, Connections, counted_address
from realtime.server.http_guard import HEAD_END, LINGER_S, GuardedHttp, note, response_of
from realtime.server.settings import ServerSettings

NO_FILES_S = 1.0
"""Seconds without accepting once the system has no file descriptor left."""
ACCEPTED_AT_ONCE = 16
"""Connections that are accepted before others have their turn."""
TURNED_AWAY_AT_ONCE = 8
"""Refused connections that are open together; the next ones wait to be accepted."""
MAX_REQUEST_BYTES = 65_536
"""What is read of a refused client's request at most."""


@dataclass(eq=False)
class TcpListener:
    """Listens on one socket; `close` and `wait_closed` are those of `asyncio.Server`.

    The loop's own listener accepts all that wait before anything can refuse one. At the limit of open files it closes
    the rest without an answer. And it shows a connection only after its TLS handshake: until then nothing could count
    it, and one address could use up the server's files. `context` None is without TLS.
    """

    bound: socket.socket
    make_protocol: Callable[[], asyncio.Protocol]
    context: ssl.SSLContext | None
    connections: Connections
    settings: ServerSettings

    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._handshakes: set[asyncio.Task[None]] = set()
        self._turned_away = asyncio.Semaphore(TURNED_AWAY_AT_ONCE)
        self.bound.setblocking(False)
        self._spare: int | None = os.open(os.devnull, os.O_RDONLY)
        """Given up at the limit of open files, to refuse a connection."""
        self._accepting = self._loop.create_task(self._accept(), name="accepting connections")

    def close(self) -> None:
        """Stop accepting, and break off what has only begun."""
        for task in (self._accepting, *self._handshakes):
            task.cancel()
        spare, self._spare = self._spare, None
        if spare is not None:
            os.close(spare)

    async def wait_closed(self) -> None:
        """Wait until `close` has taken effect."""
        await asyncio.wait([self._accepting, *self._handshakes])

    async def _accept(self) -> None:
        accepted = 0
        while self.bound.fileno() >= 0:
            try:
                connection, peer = await self._loop.sock_accept(self.bound)
            except ConnectionError:
                continue  # it was closed before it was accepted
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE) or not await self._refuse_one():
                    await asyncio.sleep(NO_FILES_S)
                continue
            refusal = self._refusal(connection, str(peer[0]) if peer else "local")
            if refusal is None:
                self._begin(self._shake_hands(connection))
            else:
                note(self.connections, refusal, self._loop.time())
                await self._turned_away.acquire()
                self._begin(self._turn_away(connection, refusal))
            accepted += 1
            if accepted % ACCEPTED_AT_ONCE == 0:
                await asyncio.sleep(0)

    async def _refuse_one(self) -> bool:
        """Accept and refuse one connection with the spare descriptor; returns whether there was one to refuse with."""
        if self._spare is None:
            note(self.connections, NO_DESCRIPTOR, self._loop.time())
            return self._takes_spare()
        os.close(self._spare)
        self._spare = None
        try:
            connection, _ = self.bound.accept()
        except OSError:
            self._takes_spare()
            return False  # no client waits: the system says at once that it has no file
        note(self.connections, NO_DESCRIPTOR, self._loop.time())
        connection.setblocking(False)
        await self._turned_away.acquire()
        await self._turn_away(connection, NO_DESCRIPTOR)
        self._takes_spare()
        return True

    def _takes_spare(self) -> bool:
        """Open the spare descriptor again; returns whether there is one."""
        try:
            self._spare = os.open(os.devnull, os.O_RDONLY)
        except OSError:
            return False
        return True

    def _begin(self, job: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(job, name="a connection that begins")
        self._handshakes.add(task)
        task.add_done_callback(self._handshakes.discard)

    async def _turn_away(self, connection: socket.socket, refusal: ConnectionRefusal) -> None:
        """Answer and close; a client of TLS gets no answer.

        Closing before the request was read would reset the connection, and the answer would be lost.
        """
        try:
            if self.context is None:
                async with asyncio.timeout(LINGER_S):
                    await self._loop.sock_sendall(connection, response_of(refusal))
                    connection.shutdown(socket.SHUT_WR)
                    read = b""
                    while HEAD_END not in read and len(read) < MAX_REQUEST_BYTES:
                        data = await self._loop.sock_recv(connection, MAX_REQUEST_BYTES)
                        if not data:
                            break
                        read += data
        except (OSError, TimeoutError):
            pass  # it is gone, or sends nothing
        finally:
            connection.close()
            self._turned_away.release()

    def _refusal(self, connection: socket.socket, host: str) -> ConnectionRefusal | None:
        refusal = self.connections.lacks_files(connection.fileno())
        # Without TLS, the protocol counts it at once; behind a proxy, the peer is not the client.
        if refusal is None and self.context is not None and not self.settings.trust_forwarded:
            refusal = self.connections.enter(connection, counted_address(host))
        return refusal

    async def _shake_hands(self, connection: socket.socket) -> None:
        protocol = self.make_protocol()
        if isinstance(protocol, GuardedHttp):
            protocol.counted_as = connection
        handshake_s = None if self.context is None else self.settings.handshake_s
        try:
            await self._loop.connect_accepted_socket(
                lambda: protocol, connection, ssl=self.context, ssl_handshake_timeout=handshake_s
            )
        except OSError:
            pass  # no TLS, not in time, or gone
        finally:
            self.connections.leave(connection)
