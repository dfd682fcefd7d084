"""The official OpenAI SDK as a judge, twice: reading its typed events, and raw frames only."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from openai import AsyncOpenAI
from openai.resources.realtime.realtime import AsyncRealtimeConnection

from tests.judges.scenarios import RATE_HZ, Answer, Judged, Weather
from tests.server.harness import PATIENCE_S, Json, Place

CHUNK_BYTES = RATE_HZ * 2 // 10
MODEL = "gpt-realtime"


class SdkClient:
    """A program on the SDK's connection: everything that frameworks do by themselves, it does by hand."""

    def __init__(self, connection: AsyncRealtimeConnection, weather: Weather | None) -> None:
        self.sdk = connection
        self.frames: list[Json] = []
        self.complaints: list[str] = []
        self._weather = weather
        self._said: str | None = None
        self._item_id: str | None = None
        self._audio_bytes = 0
        self._began_s = 0.0
        self._text = ""
        self._answers: deque[Answer] = deque()

    async def receive(self) -> Any:
        """The next frame as the SDK's typed event; notes it."""
        event = await self.sdk.recv()
        self.frames.append(event.to_dict(mode="json"))
        return event

    async def update(self, session: Json) -> None:
        """Change the session."""
        session_: Any = session
        await self.sdk.session.update(session=session_)

    async def append(self, audio: str) -> None:
        await self.sdk.input_audio_buffer.append(audio=audio)

    async def create_item(self, item: Json) -> None:
        item_: Any = item
        await self.sdk.conversation.item.create(item=item_)

    async def create_response(self) -> None:
        await self.sdk.response.create()

    async def truncate(self, item_id: str, audio_end_ms: int) -> None:
        await self.sdk.conversation.item.truncate(item_id=item_id, content_index=0, audio_end_ms=audio_end_ms)

    async def delete(self, item_id: str) -> None:
        await self.sdk.conversation.item.delete(item_id=item_id)

    # As `Judged`:

    async def begin(self) -> None:
        """Take part: settings are given and taken."""
        tools = []
        if self._weather is not None:
            one = self._weather
            tools = [
                {"type": "function", "name": one.name, "description": one.description, "parameters": one.parameters}
            ]
        await self.update(
            {
                "type": "realtime",
                "instructions": "You are brief.",
                "tools": tools,
                "audio": {"input": {"transcription": {"model": "gpt-4o-mini-transcribe"}}},
            }
        )
        await self._until("session.updated")

    async def type(self, text: str) -> None:
        await self.create_item({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
        await self.create_response()

    async def talk(self, pcm: bytes) -> None:
        for at in range(0, len(pcm), CHUNK_BYTES):
            await self.append(base64.b64encode(pcm[at : at + CHUNK_BYTES]).decode())

    async def begun(self) -> None:
        await self._until("response.output_audio.delta")

    async def heard(self) -> str:
        while self._said is None:
            await self._next()
        return self._said

    async def silenced(self) -> None:
        await self._until("input_audio_buffer.speech_started")
        assert self._item_id is not None
        item_id, whole_ms = self._item_id, self._audio_bytes * 500 // RATE_HZ
        played_ms = min(whole_ms, round((time.monotonic() - self._began_s) * 1000))
        await self.truncate(item_id, played_ms)
        truncated = await self._until("conversation.item.truncated")
        assert truncated.item_id == item_id
        assert truncated.audio_end_ms <= played_ms

    async def answer(self) -> Answer:
        while not self._answers:
            await self._next()
        return self._answers.popleft()

    async def blunder(self) -> None:
        await self.delete("item_nowhere")
        await self._until("error")

    async def _until(self, kind: str) -> Any:
        while True:
            event = await self._next()
            if event.type == kind:
                return event

    async def _next(self) -> Any:
        async with asyncio.timeout(PATIENCE_S):
            event = await self.receive()
        match event.type:
            case "response.output_item.added":
                self._item_id, self._audio_bytes, self._text = event.item.id, 0, ""
            case "response.output_audio.delta":
                if not self._audio_bytes:
                    self._began_s = time.monotonic()
                self._audio_bytes += len(base64.b64decode(event.delta))
            case "response.output_audio_transcript.delta" | "response.output_text.delta":
                self._text += event.delta
            case "conversation.item.input_audio_transcription.completed":
                self._said = event.transcript
            case "response.done":
                await self._finish(event.response)
            case "error":
                self.complaints.append(event.error.message)
        return event

    async def _finish(self, done: Any) -> None:
        calls = [item for item in done.output if item.type == "function_call"]
        for call in calls:
            assert self._weather is not None
            result = self._weather(**json.loads(call.arguments))
            await self.create_item({"type": "function_call_output", "call_id": call.call_id, "output": result})
        if calls:
            await self.create_response()
        elif done.status == "completed":
            self._answers.append(Answer(self._text, self._audio_bytes * 500 / RATE_HZ))


class _Raw:
    """A frame whose keys are attributes, so that both clients read alike."""

    def __init__(self, frame: Json) -> None:
        self.__dict__.update(frame)


class RawClient(SdkClient):
    """Sends and reads JSON text through the SDK, as programs do that bring their own parser."""

    async def receive(self) -> Any:
        raw = await self.sdk.recv_bytes()
        self.frames.append(json.loads(raw))
        return json.loads(raw, object_hook=_Raw)

    async def update(self, session: Json) -> None:
        await self._send("session.update", session=session)

    async def append(self, audio: str) -> None:
        await self._send("input_audio_buffer.append", audio=audio)

    async def create_item(self, item: Json) -> None:
        await self._send("conversation.item.create", item=item)

    async def create_response(self) -> None:
        await self._send("response.create")

    async def truncate(self, item_id: str, audio_end_ms: int) -> None:
        await self._send("conversation.item.truncate", item_id=item_id, content_index=0, audio_end_ms=audio_end_ms)

    async def delete(self, item_id: str) -> None:
        await self._send("conversation.item.delete", item_id=item_id)

    async def _send(self, kind: str, **fields: Any) -> None:
        await self.sdk.send_raw(json.dumps({"type": kind, **fields}))


@asynccontextmanager
async def typed(place: Place, weather: Weather | None) -> AsyncIterator[Judged]:
    """The SDK's typed events."""
    async with _connected(place) as connection:
        client = SdkClient(connection, weather)
        await client.begin()
        yield client


@asynccontextmanager
async def raw(place: Place, weather: Weather | None) -> AsyncIterator[Judged]:
    """The SDK's raw frames."""
    async with _connected(place) as connection:
        client = RawClient(connection, weather)
        await client.begin()
        yield client


@asynccontextmanager
async def _connected(place: Place) -> AsyncIterator[AsyncRealtimeConnection]:
    client = AsyncOpenAI(api_key="sk-anything", base_url=f"{place.url}/v1")
    async with client, client.realtime.connect(model=MODEL) as connection:
        yield connection
