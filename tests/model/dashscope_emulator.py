"""A small Qwen-Omni service on loopback: the rules of DashScope's dialect, and whatever the test lets it say."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pybase64
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from tests.model.emulator import Emulator, Session
from tests.model.loopback import Json

CHUNK_BYTES = 9_600
TRANSCRIPTION = "conversation.item.input_audio_transcription"
TURN_DETECTION: Json = {
    "type": "server_vad",
    "threshold": 0.5,
    "prefix_padding_ms": 300,
    "silence_duration_ms": 800,
    "create_response": True,
    "interrupt_response": True,
}
KNOWN = {
    "session.update",
    "input_audio_buffer.append",
    "input_audio_buffer.commit",
    "input_audio_buffer.clear",
    "input_image_buffer.append",
    "response.create",
    "response.cancel",
    "conversation.item.create",
    "conversation.item.retrieve",
    "conversation.item.delete",
}


class QwenSession(Session):
    """One client. It keeps the rules by itself; what it says is up to the test."""

    def __init__(self, socket: ServerConnection, number: int) -> None:
        super().__init__(socket, number)
        assert socket.request is not None
        (model,) = parse_qs(urlsplit(socket.request.path).query)["model"]
        self.running: str | None = None
        self.heard_audio = False
        self.settings: Json = {
            "object": "realtime.session",
            "id": self.id,
            "model": model,
            "modalities": ["text", "audio"],
            "voice": "Cherry",
            "input_audio_format": "pcm",
            "output_audio_format": "pcm",
            "input_audio_transcription": None,
            "turn_detection": TURN_DETECTION,
            "tools": [],
            "tool_choice": "auto",
        }
        self.calls: set[str] = set()

    async def send(self, kind: str, **fields: Any) -> None:
        self._count += 1
        frame = {"event_id": f"event_{self._count}", "type": kind} | fields
        await self.socket.send(json.dumps(frame, separators=(",", ":")))

    async def greet(self) -> None:
        await self.send("session.created", session=self.settings)

    async def refuse(self, message: str, *, code: str = "", param: str = "") -> None:
        error = {"type": "invalid_request_error", "code": code, "message": message, "param": param}
        await self.send("error", error=error)

    async def react(self, frame: Json) -> None:
        match frame:
            case {"type": kind} if kind not in KNOWN:
                await self.refuse(f"Unknown event type: {kind}", code="invalid_value")
            case {"type": "session.update", "session": session}:
                await self._update(session)
            case {"type": "input_audio_buffer.append"}:
                self.heard_audio = True
            case {"type": "input_image_buffer.append"} if not self.heard_audio:
                await self.refuse("Error append image before append audio.")
            case {"type": "input_audio_buffer.commit"}:
                await self.commit("item_m")
            case {"type": "input_audio_buffer.clear"}:
                await self.send("input_audio_buffer.cleared")
            case {"type": "response.create"} if self.running:
                await self.refuse("Conversation already has an active response")
            case {"type": "response.cancel"}:
                if self.running is None:
                    await self.refuse("Conversation has none active response")
            case {"type": "conversation.item.create", "item": item}:
                await self._create(item)
            case _:
                pass

    async def _update(self, session: Json) -> None:
        if session.get("modalities") == ["audio"]:
            await self.refuse("Invalid modalities: ['audio'].", code="invalid_value", param="session.modalities")
            return
        if self.heard_audio and {"input_audio_format", "output_audio_format"} & set(session):
            await self.refuse("The formats are fixed.", code="invalid_value")
            return
        detection = session.get("turn_detection", self.settings["turn_detection"])
        self.settings |= session | {"turn_detection": detection and TURN_DETECTION | detection}
        await self.send("session.updated", session=self.settings)

    async def _create(self, item: Json) -> None:
        if item["type"] == "function_call_output" and item["call_id"] not in self.calls:
            await self.refuse(f"Unknown function call id: {item['call_id']}")
            return
        shape = {"id": f"item_c{len(self.frames)}", "object": "realtime.item", "status": "completed"}
        await self.send("conversation.item.created", item=shape | item)

    async def commit(self, item_id: str) -> None:
        await self.send("input_audio_buffer.committed", item_id=item_id)
        item = self._message(item_id, "user", "completed", [{"type": "input_audio"}])
        await self.send("conversation.item.created", item=item)

    async def hear(self, item_id: str, *, start_ms: int, end_ms: int, transcript: str) -> None:
        """The detector's report of a turn, its words confirmed one by one, complete after the commit."""
        where = {"item_id": item_id, "content_index": 0}
        words = transcript.split(" ")
        await self.send("input_audio_buffer.speech_started", audio_start_ms=start_ms, item_id=item_id)
        for count in range(len(words)):
            certain, stash = " ".join(words[:count]), "".join(f" {word}" for word in words[count:])
            await self.send(f"{TRANSCRIPTION}.delta", **where, text=certain, stash=stash, language="en")
        await self.send("input_audio_buffer.speech_stopped", audio_end_ms=end_ms, item_id=item_id)
        await self.commit(item_id)
        await self.send(f"{TRANSCRIPTION}.completed", **where, transcript=transcript)

    async def begin(self, response_id: str, item_id: str) -> None:
        item = self._message(item_id, "assistant", "in_progress", [])
        await self._begin_response(response_id)
        await self.send("response.output_item.added", response_id=response_id, output_index=0, item=item)
        await self.send("conversation.item.created", item=item)

    async def speak(self, response_id: str, item_id: str, text: str, pcm: bytes) -> None:
        await self.begin(response_id, item_id)
        where = {"response_id": response_id, "item_id": item_id, "output_index": 0, "content_index": 0}
        await self.send("response.content_part.added", **where, part={"type": "audio", "text": ""})
        for word in text.split(" "):
            await self.send("response.audio_transcript.delta", **where, delta=f"{word} ")
        for at in range(0, len(pcm), CHUNK_BYTES):
            delta = pybase64.b64encode_as_string(pcm[at : at + CHUNK_BYTES])
            await self.send("response.audio.delta", **where, delta=delta)
        await self.send("response.audio_transcript.done", **where, transcript=text)
        await self.send("response.audio.done", **where)
        await self.send("response.content_part.done", **where, part={"type": "audio", "text": text})
        item = self._message(item_id, "assistant", "completed", [{"type": "audio", "transcript": text}])
        await self.send("response.output_item.done", response_id=response_id, output_index=0, item=item)
        await self.end("completed")

    async def call_tool(self, response_id: str, item_id: str, name: str, call_id: str, arguments: str) -> None:
        item = {"id": item_id, "object": "realtime.item", "type": "function_call", "name": name, "call_id": call_id}
        where = {"response_id": response_id, "output_index": 0}
        begun = item | {"status": "in_progress", "arguments": ""}
        kind = "response.function_call_arguments"
        self.calls.add(call_id)
        await self._begin_response(response_id)
        await self.send("response.output_item.added", **where, item=begun)
        await self.send("conversation.item.created", item=begun)
        for at in range(0, len(arguments), 4):
            await self.send(f"{kind}.delta", **where, item_id=item_id, call_id=call_id, delta=arguments[at : at + 4])
        await self.send(f"{kind}.done", **where, item_id=item_id, call_id=call_id, name=name, arguments=arguments)
        done = item | {"status": "completed", "arguments": arguments}
        await self.send("response.output_item.done", **where, item=done)
        await self.end("completed")

    async def end(self, status: str, **fields: Any) -> None:
        """The end of the response that runs."""
        assert self.running is not None
        details = {"text_tokens": 5, "audio_tokens": 5}
        usage = {"total_tokens": 30, "input_tokens": 10, "output_tokens": 20, "input_tokens_details": details}
        response = self._response(self.running, status) | {"usage": usage} | fields
        self.running = None
        await self.send("response.done", response=response)

    async def _begin_response(self, response_id: str) -> None:
        self.running = response_id
        await self.send("response.created", response=self._response(response_id, "in_progress"))

    def _response(self, response_id: str, status: str) -> Json:
        return {
            "id": response_id,
            "object": "realtime.response",
            "conversation_id": "conv_1",
            "status": status,
            "modalities": ["text", "audio"],
            "voice": "Cherry",
            "output_audio_format": "pcm",
            "output": [],
        }

    def _message(self, item_id: str, role: str, status: str, content: list[Json]) -> Json:
        shape = {"id": item_id, "object": "realtime.item", "type": "message"}
        return shape | {"status": status, "role": role, "content": content}


class QwenEmulator(Emulator):
    """`async with QwenEmulator() as provider`: refuses handshakes without a key, a model or the service's path."""

    def __init__(self) -> None:
        super().__init__(QwenSession)

    @property
    def base_url(self) -> str:
        return super().base_url.removesuffix("/v1")

    def _admit(self, socket: ServerConnection, request: Request) -> Response | None:
        url = urlsplit(request.path)
        if not url.path.endswith("/api-ws/v1/realtime") or "model" not in parse_qs(url.query):
            self.refuse = (HTTPStatus.NOT_FOUND, {})
        elif not request.headers.get("Authorization", "").startswith("Bearer sk-"):
            self.refuse = (HTTPStatus.UNAUTHORIZED, {})
        return super()._admit(socket, request)
