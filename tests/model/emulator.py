"""A small OpenAI-like provider on loopback: speaks GA frames, does what the test says, breaks where it is told to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Self

import pybase64
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

Json = dict[str, Any]
CHUNK_MS = 400
"""Speech per audio delta, as the service sends it."""
BYTES_PER_MS = 48
PATIENCE_S = 10.0
"""How long a test waits for a frame or a session before it fails."""
TURN_DETECTION: Json = {
    "type": "server_vad",
    "threshold": 0.5,
    "prefix_padding_ms": 300,
    "silence_duration_ms": 200,
    "idle_timeout_ms": None,
    "create_response": True,
    "interrupt_response": True,
}


class Session:
    """One client: what it sent (`frames`), and what the test lets the service say."""

    def __init__(self, socket: ServerConnection, number: int) -> None:
        self.socket = socket
        self.number = number
        self.frames: list[Json] = []
        self.id = f"sess_{number}"
        self._count = 0
        self._arrived = asyncio.Condition()

    @property
    def types(self) -> list[str]:
        return [frame["type"] for frame in self.frames]

    @property
    def authorization(self) -> str | None:
        assert self.socket.request is not None
        return self.socket.request.headers.get("Authorization")

    def sent(self, kind: str) -> list[Json]:
        return [frame for frame in self.frames if frame["type"] == kind]

    @property
    def audio(self) -> bytes:
        """All audio the client appended."""
        return b"".join(pybase64.b64decode(frame["audio"]) for frame in self.sent("input_audio_buffer.append"))

    async def until(self, kind: str, count: int = 1) -> Json:
        """Wait for the `count`-th frame of this type."""
        await self.when(lambda: len(self.sent(kind)) >= count)
        return self.sent(kind)[count - 1]

    async def when(self, holds: Callable[[], bool]) -> None:
        """Wait until this holds after a frame."""
        async with asyncio.timeout(PATIENCE_S), self._arrived:
            await self._arrived.wait_for(holds)

    async def note(self, frame: Json) -> None:
        async with self._arrived:
            self.frames.append(frame)
            self._arrived.notify_all()

    async def send(self, kind: str, **fields: Any) -> None:
        self._count += 1
        await self.socket.send(
            json.dumps({"type": kind, "event_id": f"event_{self._count}"} | fields, separators=(",", ":"))
        )

    async def greet(self) -> None:
        await self.send("session.created", session=self._session(TURN_DETECTION))

    def _session(self, turn_detection: Json | None) -> Json:
        pcm = {"type": "audio/pcm", "rate": 24000}
        given = {"format": pcm, "transcription": None, "noise_reduction": None, "turn_detection": turn_detection}
        return {
            "type": "realtime",
            "object": "realtime.session",
            "id": self.id,
            "model": "gpt-realtime-2.1",
            "output_modalities": ["audio"],
            "instructions": "",
            "tools": [],
            "tool_choice": "auto",
            "max_output_tokens": "inf",
            "expires_at": 1_800_000_000,
            "audio": {"input": given, "output": {"format": pcm, "voice": "marin", "speed": 1.0}},
            "include": None,
        }

    async def update(self, frame: Json) -> None:
        wanted = frame["session"].get("audio", {}).get("input", {}).get("turn_detection", TURN_DETECTION)
        await self.send("session.updated", session=self._session(wanted and TURN_DETECTION | wanted))

    async def hear(self, item_id: str, *, start_ms: int, end_ms: int, transcript: str) -> None:
        """The detector's report of a turn that its voice activity began and ended at these times."""
        where = {"item_id": item_id, "content_index": 0}
        item = {"id": item_id, "type": "message", "status": "completed", "role": "user"}
        item["content"] = [{"type": "input_audio", "transcript": None}]  # type: ignore[assignment]
        await self.send("input_audio_buffer.speech_started", audio_start_ms=max(0, start_ms - 300), item_id=item_id)
        await self.send("input_audio_buffer.speech_stopped", audio_end_ms=end_ms + 200, item_id=item_id)
        await self.send("input_audio_buffer.committed", previous_item_id=None, item_id=item_id)
        await self.send("conversation.item.added", previous_item_id=None, item=item)
        await self.send("conversation.item.done", previous_item_id=None, item=item)
        kind = "conversation.item.input_audio_transcription"
        for word in transcript.split(" "):
            await self.send(f"{kind}.delta", **where, delta=f"{word} ", obfuscation="x")
        usage = {"type": "duration", "seconds": 2}
        await self.send(f"{kind}.completed", **where, transcript=transcript, usage=usage)

    async def speak(self, response_id: str, item_id: str, text: str, pcm: bytes) -> None:
        """A whole spoken answer, in bursts of 400 ms."""
        where = {"response_id": response_id, "item_id": item_id, "output_index": 0, "content_index": 0}
        await self.begin(response_id, item_id)
        for word in text.split(" "):
            await self.send("response.output_audio_transcript.delta", **where, delta=f"{word} ", obfuscation="x")
        step = CHUNK_MS * BYTES_PER_MS
        for at in range(0, len(pcm), step):
            delta = pybase64.b64encode_as_string(pcm[at : at + step])
            await self.send("response.output_audio.delta", **where, delta=delta)
        await self.send("response.output_audio.done", **where)
        await self.send("response.output_audio_transcript.done", **where, transcript=text)
        await self.send("response.content_part.done", **where, part={"type": "audio", "transcript": text})
        item = self._spoken_item(item_id, "completed") | {"content": [{"type": "output_audio", "transcript": text}]}
        await self.send("conversation.item.done", previous_item_id=None, item=item)
        await self.send("response.output_item.done", response_id=response_id, output_index=0, item=item)
        usage = {"total_tokens": 30, "input_tokens": 10, "output_tokens": 20}
        await self.send("response.done", response=self._response(response_id, "completed") | {"usage": usage})
        limits = [{"name": "tokens", "limit": 4000000, "remaining": 3999702, "reset_seconds": 0.004}]
        await self.send("rate_limits.updated", rate_limits=limits)

    async def call_tool(self, response_id: str, item_id: str, name: str, call_id: str, arguments: str) -> None:
        """A whole answer that is one call."""
        item = {"id": item_id, "type": "function_call", "name": name, "call_id": call_id}
        where = {"response_id": response_id, "output_index": 0}
        begun, complete = item | {"status": "in_progress", "arguments": ""}, item | {"arguments": arguments}
        await self.send("response.created", response=self._response(response_id, "in_progress"))
        await self.send("response.output_item.added", **where, item=begun)
        await self.send("conversation.item.added", previous_item_id=None, item=begun)
        kind = "response.function_call_arguments"
        for at in range(0, len(arguments), 4):
            delta = arguments[at : at + 4]
            await self.send(f"{kind}.delta", **where, item_id=item_id, call_id=call_id, delta=delta)
        await self.send(f"{kind}.done", **where, item_id=item_id, call_id=call_id, name=name, arguments=arguments)
        complete["status"] = "completed"
        await self.send("conversation.item.done", previous_item_id=None, item=complete)
        await self.send("response.output_item.done", **where, item=complete)
        await self.send("response.done", response=self._response(response_id, "completed"))

    async def begin(self, response_id: str, item_id: str) -> None:
        """The beginning of an answer."""
        item = self._spoken_item(item_id, "in_progress")
        await self.send("response.created", response=self._response(response_id, "in_progress"))
        await self.send("response.output_item.added", response_id=response_id, output_index=0, item=item)
        await self.send("conversation.item.added", previous_item_id=None, item=item)

    def _spoken_item(self, item_id: str, status: str) -> Json:
        return {"id": item_id, "type": "message", "status": status, "role": "assistant", "content": []}

    def _response(self, response_id: str, status: str) -> Json:
        return {
            "object": "realtime.response",
            "id": response_id,
            "status": status,
            "status_details": None,
            "output": [],
            "conversation_id": "conv_1",
            "output_modalities": ["audio"],
            "usage": None,
            "metadata": None,
        }

    def drop(self) -> None:
        """Lose the link without a word."""
        self.socket.transport.abort()

    async def close(self, code: int, reason: str = "") -> None:
        await self.socket.close(code, reason)

    def stall(self) -> None:
        """Stop reading."""
        self.socket.transport.pause_reading()

    def go_on(self) -> None:
        self.socket.transport.resume_reading()


Behave = Callable[[Session], Awaitable[None]]


class Emulator:
    """`async with Emulator() as provider`: listens on a free loopback port until the block ends.

    `refuse` answers handshakes with this status and these headers; `on_open` replaces the greeting.
    """

    def __init__(self, *, on_open: Behave | None = None) -> None:
        self.on_open: Behave = on_open or (lambda session: session.greet())
        self.refuse: tuple[HTTPStatus, dict[str, str]] | None = None
        self.sessions: list[Session] = []
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
    def port(self) -> int:
        assert self._server is not None
        return int(next(iter(self._server.sockets)).getsockname()[1])

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def session(self, number: int = 1) -> Session:
        """The `number`-th session, as soon as it is there."""
        async with asyncio.timeout(PATIENCE_S), self._opened:
            await self._opened.wait_for(lambda: len(self.sessions) >= number)
        return self.sessions[number - 1]

    def _admit(self, _: ServerConnection, __: Request) -> Response | None:
        if self.refuse is None:
            return None
        status, headers = self.refuse
        return Response(status.value, status.phrase, Headers({"Content-Length": "0"} | headers), b"")

    async def _serve(self, socket: ServerConnection) -> None:
        session = Session(socket, len(self.sessions) + 1)
        async with self._opened:
            self.sessions.append(session)
            self._opened.notify_all()
        try:
            await self.on_open(session)
            async for frame in socket:
                message = json.loads(frame)
                if message["type"] == "session.update":
                    await session.update(message)
                await session.note(message)
        except ConnectionClosed:
            pass
