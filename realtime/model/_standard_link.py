"""A link over the public API of `websockets` alone: for a version that lacks what the short way of `link` needs.

It costs two tasks for each link and a wake-up for each message.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode
from websockets.protocol import State

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

    from realtime.model.base import Frame
    from realtime.model.link_limits import WireLimits
    from realtime.model.link_protocol import Receiver


class StandardLink:
    """See `realtime.model.link_protocol.Link`. `begin` has to be called once."""

    def __init__(self, connection: ClientConnection, receiver: Receiver, limits: WireLimits) -> None:
        self._connection = connection
        self._receiver = receiver
        self._close_within_s = limits.close_timeout_s
        self._max_unsent_bytes = limits.write_buffer_bytes
        self._unsent: asyncio.Queue[Frame] = asyncio.Queue()
        self._unsent_bytes = 0
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self) -> None:
        """Read and write from now on."""
        self._tasks = [
            asyncio.create_task(self._read(), name="reading a provider's link"),
            asyncio.create_task(self._send(), name="writing a provider's link"),
        ]

    @property
    def can_write(self) -> bool:
        """See `Link`."""
        return self._unsent_bytes <= self._max_unsent_bytes and self.is_open

    @property
    def is_open(self) -> bool:
        """See `Link`."""
        return self._connection.state is State.OPEN

    def write(self, frame: Frame) -> None:
        """See `Link`."""
        if self.is_open:
            self._unsent_bytes += len(frame)
            self._unsent.put_nowait(frame)

    def pause_reading(self) -> None:
        """See `Link`."""
        self._may_read.clear()

    def resume_reading(self) -> None:
        """See `Link`."""
        self._may_read.set()

    async def close(self) -> None:
        """See `Link`."""
        self.resume_reading()
        try:
            async with asyncio.timeout(self._close_within_s):
                await self._connection.close()
        except TimeoutError:
            pass
        finally:
            self.abort()
        await self._connection.wait_closed()

    def abort(self) -> None:
        """See `Link`."""
        self._connection.transport.abort()

    async def _read(self) -> None:
        code, reason = 1006, ""
        try:
            while True:
                message = await self._connection.recv()
                await self._may_read.wait()
                is_text = isinstance(message, str)
                self._receiver.received(message.encode() if isinstance(message, str) else message, is_text)
        except ConnectionClosed as closed:
            if closed.rcvd is not None:
                code, reason = closed.rcvd.code, closed.rcvd.reason
            elif closed.sent is not None and closed.sent.code == CloseCode.MESSAGE_TOO_BIG:
                code = closed.sent.code
        finally:
            self._tasks[1].cancel()
            self._receiver.lost(code, reason)

    async def _send(self) -> None:
        while True:
            frame = await self._unsent.get()
            try:
                await self._connection.send(frame)
            except ConnectionClosed:
                return
            was_full = not self.can_write
            self._unsent_bytes -= len(frame)
            if was_full and self.can_write:
                self._receiver.writable()
