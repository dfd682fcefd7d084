"""Writes frames to a WebSocket by the shortest way its server offers."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator, MutableMapping
from typing import Any, Protocol

from starlette.websockets import WebSocketDisconnect

EXTENSION = "realtime.direct"
"""The ASGI extension under which the scope holds a `DirectSocket`."""
Message = MutableMapping[str, Any]
_GONE = (OSError, WebSocketDisconnect, RuntimeError)
"""What sending raises once the socket is closed, by whichever side."""


class DirectSocket(Protocol):
    """What our own server offers beside ASGI (`realtime.server.websocket_protocol`): no task and no queue between."""

    on_message: Callable[[str | bytes], bool] | None
    """Called with each message inside the read callback; False leaves it to ASGI. Messages keep their order."""

    def write_now(self, message: str | bytes) -> bool:
        """Write a whole message; False where ASGI's way has to be taken, since it may have to wait."""
        ...


class SocketSink:
    """The sink of a listener over a WebSocket (`realtime.call.listener.Sink`).

    Where the socket takes the frame it is out when `write` returns, in whichever task or timer made it: written
    directly, or under another server by stepping the coroutine of ASGI's send by hand. Where the socket is full, a task
    finishes the send.
    """

    def __init__(
        self,
        send: Callable[[Message], Coroutine[Any, Any, None]],
        on_close: Callable[[], None],
        direct: DirectSocket | None = None,
    ) -> None:
        self._send = send
        self._direct = direct
        self._on_close = on_close
        self.lost = False
        """Whether sending found it closed: how the client closed it is still to be read."""
        self._rest: asyncio.Task[None] | None = None
        self._behind: list[Message] = []
        self.closed = False

    def write(self, frame: str | bytes) -> bool:
        """See `Sink`. A frame for a client that is gone vanishes."""
        if self.closed:
            return True
        if self._direct is not None and self._rest is None and self._direct.write_now(frame):
            return True
        if type(frame) is str:
            return self._begin({"type": "websocket.send", "text": frame})
        return self._begin({"type": "websocket.send", "bytes": frame})

    async def finish(self) -> None:
        """See `Sink`. Cancelling it does not cancel the frame."""
        if self._rest is not None:
            await asyncio.shield(self._rest)
        if self.closed:
            raise ConnectionError("the client is gone")

    def close(self, code: int, reason: str) -> None:
        """See `Sink`. Idempotent."""
        if self.closed:
            return
        self._begin({"type": "websocket.close", "code": code, "reason": reason})
        self.closed = True
        self._on_close()

    async def abandon(self) -> None:
        """Drop what was not sent, and the callback.

        The callback would keep a closed socket alive.
        """
        self.closed = True
        self._on_close = lambda: None
        if self._rest is not None:
            self._rest.cancel()
            await asyncio.wait([self._rest])

    def _begin(self, message: Message) -> bool:
        if self._rest is not None:
            self._behind.append(message)
            return False
        sending = self._send(message)
        try:
            waits_for = sending.send(None)
        except StopIteration:
            return True
        except _GONE:
            self.closed = self.lost = True
            return True
        self._rest = asyncio.create_task(self._complete(sending, waits_for), name="finishing a send")
        return False

    async def _complete(self, sending: Coroutine[Any, Any, None], waits_for: Any) -> None:
        try:
            await _rest_of(sending, waits_for)
            while self._behind:
                await self._send(self._behind.pop(0))
        except _GONE:
            self.closed = self.lost = True
        finally:
            self._rest = None


@types.coroutine
def _rest_of(begun: Coroutine[Any, Any, None], waits_for: Any) -> Generator[Any, Any, None]:
    """Await a coroutine that, stepped by hand, waits for `waits_for`."""
    try:
        yield waits_for
    except BaseException:
        begun.close()
        raise
    yield from begun.__await__()
