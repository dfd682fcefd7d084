"""A small Gemini-like provider on loopback: strict about what it takes, says what the test says, breaks where told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Self

import pybase64
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

Json = dict[str, Any]
PATIENCE_S = 10.0
"""How long a test waits for a frame or a session before it fails."""
KINDS = {"setup", "clientContent", "realtimeInput", "toolResponse", "contextUpdate"}


class GeminiSession:
    """One client: what it sent (`frames`), and what the test lets the service say."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket
        self.frames: list[Json] = []
        self._arrived = asyncio.Condition()

    @property
    def setup(self) -> Json:
        setup: Json = self.frames[0]["setup"]
        return setup

    @property
    def key(self) -> str | None:
        assert self.socket.request is not None
        return self.socket.request.headers.get("x-goog-api-key")

    @property
    def path(self) -> str:
        assert self.socket.request is not None
        return self.socket.request.path

    @property
    def audio(self) -> bytes:
        """All audio of the client."""
        said = [frame["audio"]["data"] for frame in self.sent("realtimeInput") if "audio" in frame]
        return b"".join(map(pybase64.b64decode, said))

    def sent(self, kind: str) -> list[Json]:
        return [frame[kind] for frame in self.frames if kind in frame]

    async def until(self, kind: str, count: int = 1) -> Json:
        """Wait for the `count`-th frame of this kind."""
        await self.when(lambda: len(self.sent(kind)) >= count)
        return self.sent(kind)[count - 1]

    async def when(self, holds: Callable[[], bool]) -> None:
        """Wait until this holds after a frame."""
        async with asyncio.timeout(PATIENCE_S), self._arrived:
            await self._arrived.wait_for(holds)

    async def serve(self) -> None:
        """Take frames until the end. What the service would refuse is refused with its close code."""
        async for data in self.socket:
            assert isinstance(data, str), "clients send text"
            frame = json.loads(data)
            (kind,) = frame
            if kind not in KINDS or (kind == "setup") is bool(self.frames):
                await self.close(1007, "Request contains an invalid argument.")
                return
            disabled = self._disabled if self.frames else False
            markers = kind == "realtimeInput" and frame[kind].keys() & {"activityStart", "activityEnd"}
            if markers and not disabled:
                await self.close(1007, "Request contains an invalid argument.")
                return
            async with self._arrived:
                self.frames.append(frame)
                self._arrived.notify_all()
            if kind == "setup":
                await self.send(setupComplete={})

    @property
    def _disabled(self) -> bool:
        config = self.setup.get("realtimeInputConfig", {})
        return bool(config.get("automaticActivityDetection", {}).get("disabled"))

    async def send(self, **keys: Any) -> None:
        await self.socket.send((json.dumps(keys, indent=2) + "\n").encode())

    async def content(self, **keys: Any) -> None:
        await self.send(serverContent=keys)

    async def begin(self, words: str, pcm: bytes) -> None:
        """The beginning of an answer: words, and audio in bursts."""
        await self.content(outputTranscription={"text": words})
        for at in range(0, len(pcm), 19_200):
            data = pybase64.b64encode_as_string(pcm[at : at + 19_200])
            await self.content(
                modelTurn={"parts": [{"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": data}}]}
            )

    async def finish(self) -> None:
        await self.content(generationComplete=True)
        usage = {"promptTokenCount": 10, "responseTokenCount": 20, "totalTokenCount": 30}
        await self.send(serverContent={"turnComplete": True}, usageMetadata=usage)

    async def hand_out(self, handle: str) -> None:
        await self.send(sessionResumptionUpdate={"newHandle": handle, "resumable": True})

    def drop(self) -> None:
        """Lose the link without a word."""
        self.socket.transport.abort()

    async def close(self, code: int, reason: str = "") -> None:
        await self.socket.close(code, reason)


class GeminiEmulator:
    """`async with GeminiEmulator() as provider`: listens on a free loopback port until the block ends."""

    def __init__(self) -> None:
        self.sessions: list[GeminiSession] = []
        self._opened = asyncio.Condition()
        self._server: Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await serve(
            self._serve, "127.0.0.1", 0, compression=None, max_size=None, ping_interval=None, close_timeout=0.2
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
        assert self._server is not None
        return f"http://127.0.0.1:{next(iter(self._server.sockets)).getsockname()[1]}"

    async def session(self, number: int = 1) -> GeminiSession:
        """The `number`-th session, as soon as its setup is there."""
        async with asyncio.timeout(PATIENCE_S), self._opened:
            await self._opened.wait_for(lambda: len(self.sessions) >= number)
        session = self.sessions[number - 1]
        await session.until("setup")
        return session

    async def _serve(self, socket: ServerConnection) -> None:
        session = GeminiSession(socket)
        async with self._opened:
            self.sessions.append(session)
            self._opened.notify_all()
        try:
            await session.serve()
        except ConnectionClosed:
            pass
