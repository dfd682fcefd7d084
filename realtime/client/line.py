"""One WebSocket of a call: frames go out in order, and old speech is dropped where the network is slow."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.typing import Subprotocol

from realtime.client.outbox import Frame
from realtime.errors import CallError
from realtime.event.frames import SUBPROTOCOL

OPEN_S = 8.0
"""A try to connect that takes longer is given up."""
PING_S = 5.0
"""A server that answers no ping for this long is away."""
CLOSE_S = 1.0
MAX_WAITING_FRAMES = 100
"""Frames of speech that may wait for the network: 2 s of 20 ms each. Older speech would come too late."""
LOST = 1006


class Line:
    """An open socket. Use `open`, then `run`; `put` and `close` work meanwhile."""

    def __init__(self, socket: ClientConnection) -> None:
        self.dropped_frames = 0
        """Frames of speech that the network was too slow for."""
        self._socket = socket
        self._waiting: deque[tuple[Frame, bool]] = deque()
        self._waiting_audio = 0
        self._wake = asyncio.Event()

    @classmethod
    async def open(cls, address: str) -> Line:
        """Connect. Raises CallError where nothing answers or the server refuses; cancelling gives up."""
        place = urlsplit(address).netloc
        try:
            socket = await connect(
                address,
                subprotocols=[Subprotocol(SUBPROTOCOL)],
                compression=None,
                max_size=None,
                open_timeout=OPEN_S,
                ping_interval=PING_S,
                ping_timeout=PING_S,
                close_timeout=CLOSE_S,
                proxy=None,
            )
        except InvalidStatus as error:
            status = error.response.status_code
            raise CallError(
                f"the server at {place} refused the call with HTTP {status}: is this the address of a realtime server?",
                code="refused",
            ) from None
        except (OSError, InvalidHandshake, EOFError) as error:
            raise CallError(
                f"no server answers at {place} ({type(error).__name__}): start one with `realtime serve`, or correct "
                "the address",
                code="unreachable",
                retryable=True,
            ) from error
        return cls(socket)

    def put(self, frame: Frame, is_audio: bool) -> None:
        """Send a frame as soon as the network takes it."""
        self._waiting.append((frame, is_audio))
        self._waiting_audio += is_audio
        if self._waiting_audio > MAX_WAITING_FRAMES:
            oldest = next(one for one in self._waiting if one[1])
            self._waiting.remove(oldest)
            self._waiting_audio -= 1
            self.dropped_frames += 1
        self._wake.set()

    async def run(self, take: Callable[[Frame], None]) -> tuple[int, str]:
        """Exchange frames until the socket closes; returns its close code and reason. Cancelling drops the socket."""
        writing = asyncio.create_task(self._write(), name="client writes")
        try:
            async for frame in self._socket:
                take(frame)
        except ConnectionClosed:
            pass
        finally:
            writing.cancel()
            await asyncio.wait([writing])
            # After a close this does nothing; else nothing more of this socket is wanted.
            self.abandon()
        return self._socket.close_code or LOST, self._socket.close_reason or ""

    async def close(self, code: int) -> None:
        """Send everything that waits, then close. Takes at most a second or so."""
        try:
            async with asyncio.timeout(CLOSE_S):
                while self._waiting:
                    await self._send()
                await self._socket.close(code)
        except (ConnectionClosed, TimeoutError):
            pass
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Drop the socket at once, without a word to the server."""
        self._socket.transport.abort()

    async def _write(self) -> None:
        try:
            while True:
                while self._waiting:
                    await self._send()
                self._wake.clear()
                await self._wake.wait()
        except ConnectionClosed:
            return

    async def _send(self) -> None:
        frame, is_audio = self._waiting.popleft()
        self._waiting_audio -= is_audio
        await self._socket.send(frame)
