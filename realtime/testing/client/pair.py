"""A WebSocket with both ends in one process: the server's is ASGI, the client's are methods.

The server is the real application, unchanged. With `direct` it finds the extension that our own server offers beside
ASGI, so that a frame costs neither a task's turn nor a place in a queue; without it, it is served as under any other
ASGI server. Frames arrive at once and keep their order, in both directions. An `Uplink` in front simulates a bad
network.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from random import Random
from typing import Any, Literal

from realtime.client.outbox import Frame as Frame
from realtime.server.sink import EXTENSION
from realtime.testing.client.steps import Network

Message = MutableMapping[str, Any]
Application = Callable[[Any, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]
"""An ASGI application, such as `realtime.server.app.create_app` makes."""
Direction = Literal["sent", "received"]
"""Seen from the server."""
Tap = Callable[[Direction, Frame], None]
"""Gets each frame when it arrives at the other end."""

LOST = 1006
"""The code of a lost socket, which neither side closed (RFC 6455)."""


class SocketPair:
    """One socket of an ASGI application. Its only task is the application's.

    `on_frame` gets the server's frames, inside the server's own call; `on_close` the code and the reason with which the
    server closed the socket. Neither may raise or `send`: a client answers from a later callback of the loop, as over a
    network. `closed_with` is the code and the reason of either side; None while it is open.
    """

    def __init__(
        self,
        app: Application,
        path: str,
        *,
        subprotocols: Iterable[str] = (),
        query: str = "",
        headers: Iterable[tuple[str, str]] = (),
        address: str = "127.0.0.1",
        direct: bool = True,
        tap: Tap | None = None,
        on_frame: Callable[[Frame], None] = lambda _: None,
        on_close: Callable[[int, str], None] = lambda _code, _reason: None,
    ) -> None:
        self.on_frame = on_frame
        self.on_close = on_close
        self.on_message: Callable[[Frame], bool] | None = None
        """Set by the server (`realtime.server.sink.DirectSocket`)."""
        self.subprotocol: str | None = None
        """The subprotocol that the server chose."""
        self.closed_with: tuple[int, str] | None = None
        self._app = app
        self._tap = tap
        self._unread: deque[Message] = deque([{"type": "websocket.connect"}])
        self._reader: asyncio.Future[None] | None = None
        self._is_cut = False
        self._serving: asyncio.Task[None] | None = None
        self._opened: asyncio.Future[None] | None = None
        self._scope: dict[str, Any] = {
            "type": "websocket",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "scheme": "ws",
            "server": ("127.0.0.1", 80),
            "client": (address, 50_000),
            "root_path": "",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in (("host", "127.0.0.1"), *headers)],
            "subprotocols": list(subprotocols),
            "extensions": {EXTENSION: self} if direct else {},
            "state": {},
        }

    @property
    def is_open(self) -> bool:
        """Whether frames pass, as far as the client knows."""
        return self._opened is not None and self._opened.done() and self.closed_with is None and not self._is_cut

    async def open(self) -> None:
        """Connect. Raises what the application raised, and ConnectionRefusedError where the server refuses.

        A refusal is a socket that is not accepted, or one closed at once: browsers show only the reason of the latter.

        After a cancellation the application still has to be notified, by `lose`.
        """
        assert self._serving is None, "a socket is opened once"
        self._opened = asyncio.get_running_loop().create_future()
        self._serving = asyncio.create_task(self._serve(), name=f"socket {self._scope['path']}")
        await asyncio.wait([self._serving, self._opened], return_when=asyncio.FIRST_COMPLETED)
        if self._opened.done() and self.closed_with is None:
            return
        await self._serving
        code, reason = self.closed_with or (LOST, "")
        raise ConnectionRefusedError(f"the server did not accept the socket ({code} {reason})")

    def send(self, frame: Frame) -> None:
        """Send a client frame. On a closed or cut socket it is lost."""
        if self.closed_with is not None or self._is_cut:
            return
        if self._tap is not None:
            self._tap("received", frame)
        take = self.on_message
        if take is not None and not self._unread and take(frame):
            return
        self._put({"type": "websocket.receive", "text" if isinstance(frame, str) else "bytes": frame})

    def lose(self, code: int = LOST, reason: str = "") -> None:
        """Lose the socket, with the server's notice: closed with `code`, or lost. Idempotent."""
        self._is_cut = True
        if self.closed_with is None:
            self.closed_with = (code, reason)
            self._put({"type": "websocket.disconnect", "code": code, "reason": reason})

    def cut(self) -> None:
        """Stop all frames in both directions; the server does not notice until `lose`."""
        self._is_cut = True

    async def ended(self) -> None:
        """Wait until the application has finished with this socket. Raises what it raised; cancelling leaves it
        alone."""
        if self._serving is not None:
            await asyncio.shield(self._serving)

    # -- the server's end ------------------------------------------------------------------------------------------

    def write_now(self, message: Frame) -> bool:
        """See `realtime.server.sink.DirectSocket`. Frames on a cut socket are lost."""
        if self.closed_with is not None:
            return False
        if not self._is_cut:
            if self._tap is not None:
                self._tap("sent", message)
            self.on_frame(message)
        return True

    async def _serve(self) -> None:
        try:
            await self._app(self._scope, self._receive, self._send)
        finally:
            # Scope and socket refer to each other: separated, both are freed at once.
            self._scope["extensions"] = {}
            if self.closed_with is None:
                self._close(LOST, "the application returned")

    async def _receive(self) -> Message:
        while not self._unread:
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        return self._unread.popleft()

    async def _send(self, message: Message) -> None:
        kind = message["type"]
        if kind == "websocket.send":
            text = message.get("text")
            if not self.write_now(text if text is not None else message["bytes"]):
                raise ConnectionResetError("the socket is closed")
        elif kind == "websocket.accept":
            self.subprotocol = message.get("subprotocol")
            if self._opened is not None and not self._opened.done():
                self._opened.set_result(None)
        elif kind == "websocket.close" and self.closed_with is None and not self._is_cut:
            code, reason = message.get("code", 1000), message.get("reason") or ""
            self._close(code, reason)
            self._put({"type": "websocket.disconnect", "code": code, "reason": reason})

    def _close(self, code: int, reason: str) -> None:
        self.closed_with = (code, reason)
        if not self._is_cut:
            self.on_close(code, reason)

    def _put(self, message: Message) -> None:
        self._unread.append(message)
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


class Uplink:
    """A client's connection to the server: late and lossy as `network` says, in order.

    `chance` decides about each frame, so that the same seed loses the same ones.
    """

    def __init__(self, chance: Random) -> None:
        self.network = Network()
        """Conditions for the frames sent from now on."""
        self.lost_frames = 0
        """Frames of speech that never arrived."""
        self._chance = chance
        self._flight: deque[tuple[float, SocketPair, Frame]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def send(self, pair: SocketPair, frame: Frame, *, is_audio: bool) -> None:
        """Put a frame on its way. Only speech is lost: a page sends nothing else again."""
        network = self.network
        if not (self._flight or network.loss or network.delay_ms or network.jitter_ms):
            pair.send(frame)
            return
        if is_audio and network.loss and self._chance.random() < network.loss:
            self.lost_frames += 1
            return
        late_ms = network.delay_ms + self._chance.random() * network.jitter_ms
        arrives_s = asyncio.get_running_loop().time() + late_ms / 1000
        if self._flight:
            arrives_s = max(arrives_s, self._flight[-1][0])
        self._flight.append((arrives_s, pair, frame))
        if self._timer is None:
            self._arrive_later()

    def clear(self) -> None:
        """Drop all frames on their way."""
        self._flight.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arrive_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_at(self._flight[0][0], self._arrive)

    def _arrive(self) -> None:
        self._timer = None
        due_s = self._flight[0][0]
        while self._flight and self._flight[0][0] <= due_s:
            _, pair, frame = self._flight.popleft()
            pair.send(frame)
        if self._flight and self._timer is None:
            self._arrive_later()
