"""A provider on loopback, whatever its protocol: it keeps what the client sends, and says what the test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Self

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from tests.volumes import HANG_S

Json = dict[str, Any]
PATIENCE_S = HANG_S
"""How long a test waits for a frame or a session before it fails: a guard against hanging."""


class LoopbackSession:
    """One client: what it sent (`frames`), and what the test lets the service say.

    A subclass overrides `kind_of`, and `greet` or `react` for what the service says by itself.
    """

    def __init__(self, socket: ServerConnection, number: int) -> None:
        self.socket = socket
        self.number = number
        self.frames: list[Json] = []
        self._arrived = asyncio.Condition()

    def kind_of(self, frame: Json) -> str:
        """The name of the frame in its protocol."""
        kind: str = frame["type"]
        return kind

    async def greet(self) -> None:
        """What the service says first."""

    async def react(self, frame: Json) -> None:
        """What the service answers, before a test sees the frame."""

    @property
    def kinds(self) -> list[str]:
        return [self.kind_of(frame) for frame in self.frames]

    def header(self, name: str) -> str | None:
        assert self.socket.request is not None
        return self.socket.request.headers.get(name)

    def sent(self, kind: str) -> list[Any]:
        """Its frames of this kind."""
        return [frame for frame in self.frames if self.kind_of(frame) == kind]

    async def until(self, kind: str, count: int = 1) -> Any:
        """Wait for the `count`-th frame of this kind, and return it."""
        await self.when(lambda: len(self.sent(kind)) >= count, f"frame {count} of the kind `{kind}`")
        return self.sent(kind)[count - 1]

    async def when(self, holds: Callable[[], bool], what: str = "what the test waits for") -> None:
        """Wait until this holds after a frame."""
        try:
            async with asyncio.timeout(PATIENCE_S), self._arrived:
                await self._arrived.wait_for(holds)
        except TimeoutError:
            raise TimeoutError(f"{what} did not reach the service, which got {self.kinds}") from None

    async def send(self, **frame: Any) -> None:
        await self.socket.send(json.dumps(frame))

    async def note(self, frame: Json) -> None:
        await self.react(frame)
        async with self._arrived:
            self.frames.append(frame)
            self._arrived.notify_all()

    def drop(self) -> None:
        """Lose the link without a word."""
        self.socket.transport.abort()

    async def close(self, code: int, reason: str = "") -> None:
        await self.socket.close(code, reason)


class LoopbackService:
    """`async with LoopbackService(ToySession) as provider`: listens on a free port until the block ends.

    `refuse` answers handshakes with this status and these headers.
    """

    def __init__(self, session_class: Callable[[ServerConnection, int], Any]) -> None:
        self.refuse: tuple[HTTPStatus, dict[str, str]] | None = None
        self.sessions: list[Any] = []
        self._session_class = session_class
        self._opened = asyncio.Condition()
        self._server: Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await serve(
            self._serve,
            "127.0.0.1",
            0,
            compression=None,
            max_size=None,
            ping_interval=None,
            close_timeout=0.2,
            process_request=self._admit,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        for session in self.sessions:
            session.drop()
        self._server.close()
        await self._server.wait_closed()

    @property
    def base_url(self) -> str:
        """What the model gets as `base_url`."""
        assert self._server is not None
        return f"http://127.0.0.1:{next(iter(self._server.sockets)).getsockname()[1]}"

    async def session(self, number: int = 1) -> Any:
        """The `number`-th session, as soon as it is there."""
        try:
            async with asyncio.timeout(PATIENCE_S), self._opened:
                await self._opened.wait_for(lambda: len(self.sessions) >= number)
        except TimeoutError:
            raise TimeoutError(f"session {number} did not reach the service, which got {len(self.sessions)}") from None
        return self.sessions[number - 1]

    async def greet(self, session: Any) -> None:
        await session.greet()

    def _admit(self, _: ServerConnection, __: Request) -> Response | None:
        if self.refuse is None:
            return None
        status, headers = self.refuse
        return Response(status.value, status.phrase, Headers({"Content-Length": "0"} | headers), b"")

    async def _serve(self, socket: ServerConnection) -> None:
        session = self._session_class(socket, len(self.sessions) + 1)
        async with self._opened:
            self.sessions.append(session)
            self._opened.notify_all()
        try:
            await self.greet(session)
            async for frame in socket:
                await session.note(json.loads(frame))
        except ConnectionClosed:
            pass
