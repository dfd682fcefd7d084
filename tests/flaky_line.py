"""A TCP line between a client and its server that can be cut in the ways in which lines are lost."""

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine
from typing import Any

from tests.volumes import HANG_S


class FlakyLine:
    """Forwards connections to a port of this machine, in its own thread, until it is closed."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._loop = asyncio.new_event_loop()
        self._pairs: list[_Pair] = []
        self._serving: set[asyncio.Task[None]] = set()
        self._down = False
        self.lost_bytes = 0
        """What connections have swallowed."""
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._do(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self, hole_ms: int = 0, down_ms: int = 0, server_learns: bool = True) -> None:
        """Drop everything for `hole_ms`, reset the connections, then refuse new ones for `down_ms`."""
        self._do(self._cut(hole_ms, down_ms, server_learns), wait=False)

    def swallow(self) -> None:
        """Silence the present connections without closing them."""
        for pair in self._pairs:
            pair.swallows = True

    def set_down(self, down: bool, server_learns: bool = True) -> None:
        """Down: every connection is reset, for the server too where it is to learn it, and none can be made."""
        self._do(self._set_down(down, server_learns))

    def lead_to(self, port: int) -> None:
        """Forward connections that are made from now on to another port."""
        self._target = port

    def close(self) -> None:
        """Stop forwarding."""
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, Any], wait: bool = True) -> Any:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        return future.result(HANG_S) if wait else None

    async def _cut(self, hole_ms: int, down_ms: int, server_learns: bool) -> None:
        hit = [*self._pairs]
        for pair in hit:
            pair.swallows = True
        await asyncio.sleep(hole_ms / 1000)
        self._down = down_ms > 0
        for pair in hit:
            pair.reset(server_learns)
        await asyncio.sleep(down_ms / 1000)
        self._down = False

    async def _set_down(self, down: bool, server_learns: bool) -> None:
        self._down = down
        for pair in [*self._pairs] if down else []:
            pair.reset(server_learns)

    async def _close(self) -> None:
        self._server.close()
        for pair in [*self._pairs]:
            pair.reset(server_learns=True)
        await asyncio.gather(*self._serving)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            await self._forward(reader, writer)
        finally:
            self._serving.remove(task)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._down:
            _reset(writer)
            return
        try:
            to_server = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            _reset(writer)
            return
        pair = _Pair(writer, to_server[1], self)
        self._pairs.append(pair)
        await asyncio.gather(pair.pump(reader, to_server[1]), pair.pump(to_server[0], writer))
        pair.reset(server_learns=True)
        self._pairs.remove(pair)


class _Pair:
    """A connection of the page, and its connection to the server."""

    def __init__(self, page: asyncio.StreamWriter, server: asyncio.StreamWriter, line: FlakyLine) -> None:
        self._line = line
        self._page = page
        self._server = server
        self.swallows = False

    async def pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                if self.swallows:
                    self._line.lost_bytes += len(data)
                else:
                    writer.write(data)
                    await writer.drain()
            if not self.swallows:
                writer.write_eof()
        except OSError:
            pass

    def reset(self, server_learns: bool) -> None:
        _reset(self._page)
        if server_learns:
            _reset(self._server)


def _reset(writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    if not writer.transport.is_closing():
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
