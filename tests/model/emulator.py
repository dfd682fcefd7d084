"""A small OpenAI-like provider on loopback: speaks GA frames, does what the test says, breaks where it is told to."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pybase64
from websockets.asyncio.server import ServerConnection

from tests.model.loopback import Json, LoopbackService, LoopbackSession

CHUNK_MS = 400
"""Speech per audio delta, as the service sends it."""
BYTES_PER_MS = 48
TURN_DETECTION: Json = {
    "type": "server_vad",
    "threshold": 0.5,
    "prefix_padding_ms": 300,
    "silence_duration_ms": 200,
    "idle_timeout_ms": None,
    "create_response": True,
    "interrupt_response": True,
}


class Session(LoopbackSession):
    """One client: what it sent (`frames`), and what the test lets the service say."""

    def __init__(self, socket: ServerConnection, number: int) -> None:
        super().__init__(socket, number)
        self.id = f"sess_{number}"
        self._count = 0

    @property
    def audio(self) -> bytes:
        """All audio the client appended."""
        return b"".join(pybase64.b64decode(frame["audio"]) for frame in self.sent("input_audio_buffer.append"))

    async def react(self, frame: Json) -> None:
        if frame["type"] == "session.update":
            await self.update(frame)

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

    def stall(self) -> None:
        """Stop reading."""
        self.socket.transport.pause_reading()

    def go_on(self) -> None:
        self.socket.transport.resume_reading()


Behave = Callable[[Session], Awaitable[None]]


class Emulator(LoopbackService):
    """A `LoopbackService` whose `on_open` replaces the greeting."""

    def __init__(
        self,
        session_class: Callable[[ServerConnection, int], Session] = Session,
        *,
        on_open: Behave | None = None,
    ) -> None:
        super().__init__(session_class)
        self.on_open: Behave = on_open or super().greet

    async def greet(self, session: Session) -> None:
        await self.on_open(session)

    @property
    def base_url(self) -> str:
        return f"{super().base_url}/v1"
