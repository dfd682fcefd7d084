"""LiveKit's OpenAI realtime plugin as a judge: its session keeps a mirror of the conversation on the server."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from livekit import rtc
from livekit.agents import llm
from livekit.plugins.openai.realtime import RealtimeModel, RealtimeSession
from openai.types.realtime import ConversationItemDeleteEvent

from tests.judges.scenarios import RATE_HZ, Answer, Judged, Weather
from tests.server.harness import PATIENCE_S, Json, Place

CHUNK_BYTES = RATE_HZ * 2 // 10


class LiveKitClient:
    """A program on the plugin's session; what LiveKit's agent session does with a reply, it does by hand."""

    def __init__(self, session: RealtimeSession, tasks: asyncio.TaskGroup, weather: Weather | None) -> None:
        self.frames: list[Json] = []
        self.complaints: list[str] = []
        self._session = session
        self._tasks = tasks
        self._weather = weather
        self._changed = asyncio.Event()
        self._answers: asyncio.Queue[Answer] = asyncio.Queue()
        self._item_id: str | None = None
        self._audio_ms = 0.0
        self._began_s = 0.0
        self._said: str | None = None
        self._speech = 0
        session.on("openai_server_event_received", self._note)
        session.on("generation_created", self._generated)
        session.on("input_speech_started", self._interrupted)
        session.on("input_audio_transcription_completed", self._transcribed)
        session.on("error", self._failed)

    async def begin(self) -> None:
        """Give the instructions and the function; wait until they were taken."""
        await self._session.update_instructions("You are brief.")
        if self._weather is not None:
            schema = {
                "type": "function",
                "name": self._weather.name,
                "description": self._weather.description,
                "parameters": self._weather.parameters,
            }

            @llm.function_tool(raw_schema=schema)
            async def get_weather(raw_arguments: dict[str, object]) -> str:
                return ""

            await self._session.update_tools([get_weather])
        expected = 2 + (self._weather is not None)
        await self._until(lambda: self._count("session.updated") == expected)

    async def type(self, text: str) -> None:
        context = self._session.chat_ctx.copy()
        context.add_message(role="user", content=text)
        await self._session.update_chat_ctx(context)
        await self._session.generate_reply()

    async def talk(self, pcm: bytes) -> None:
        for at in range(0, len(pcm), CHUNK_BYTES):
            chunk = pcm[at : at + CHUNK_BYTES]
            self._session.push_audio(rtc.AudioFrame(chunk, RATE_HZ, 1, len(chunk) // 2))

    async def begun(self) -> None:
        await self._until(lambda: self._audio_ms > 0)

    async def heard(self) -> str:
        await self._until(lambda: self._said is not None)
        assert self._said is not None
        return self._said

    async def silenced(self) -> None:
        await self._until(lambda: self._speech > 0)
        assert self._item_id is not None
        played_ms = min(int(self._audio_ms), round((time.monotonic() - self._began_s) * 1000))
        self._session.interrupt()
        self._session.truncate(message_id=self._item_id, modalities=["audio"], audio_end_ms=played_ms)
        await self._until(lambda: self._count("conversation.item.truncated") == 1)

    async def answer(self) -> Answer:
        async with asyncio.timeout(PATIENCE_S):
            return await self._answers.get()

    async def blunder(self) -> None:
        self._session.send_event(
            ConversationItemDeleteEvent(type="conversation.item.delete", item_id="item_nowhere", event_id="mine")
        )
        await self._until(lambda: bool(self.complaints))

    async def _until(self, condition: Any) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    def _count(self, kind: str) -> int:
        return sum(frame["type"] == kind for frame in self.frames)

    def _note(self, frame: Json) -> None:
        self.frames.append(json.loads(json.dumps(frame)))
        self._changed.set()

    def _interrupted(self, _: llm.InputSpeechStartedEvent) -> None:
        self._speech += 1
        self._changed.set()

    def _transcribed(self, event: llm.InputTranscriptionCompleted) -> None:
        if event.is_final:
            self._said = event.transcript
            self._changed.set()

    def _failed(self, event: llm.RealtimeModelError) -> None:
        body = getattr(event.error, "body", None)
        self.complaints.append(str(getattr(body, "message", None) or event.error))
        self._changed.set()

    def _generated(self, event: llm.GenerationCreatedEvent) -> None:
        self._tasks.create_task(self._follow(event))

    async def _follow(self, event: llm.GenerationCreatedEvent) -> None:
        """Play one generation; then run what it called and have the model go on."""
        text = ""
        async for message in event.message_stream:
            self._item_id, self._audio_ms = message.message_id, 0.0
            words, _ = await asyncio.gather(self._read(message.text_stream), self._play(message.audio_stream))
            text += words
        calls = [call async for call in event.function_stream]
        done = next(
            frame["response"]
            for frame in self.frames
            if frame["type"] == "response.done" and frame["response"]["id"] == event.response_id
        )
        if calls and self._weather is not None:
            context = self._session.chat_ctx.copy()
            for call in calls:
                output = self._weather(**json.loads(call.arguments))
                context.items.append(
                    llm.FunctionCallOutput(call_id=call.call_id, name=call.name, output=output, is_error=False)
                )
            await self._session.update_chat_ctx(context)
            await self._session.generate_reply()
        elif done["status"] == "completed":
            self._answers.put_nowait(Answer(text, self._audio_ms))

    async def _read(self, words: Any) -> str:
        return "".join([str(word) async for word in words])

    async def _play(self, frames: Any) -> None:
        async for frame in frames:
            if not self._audio_ms:
                self._began_s = time.monotonic()
            self._audio_ms += frame.samples_per_channel * 1000 / frame.sample_rate
            self._changed.set()


@asynccontextmanager
async def livekit_plugin(place: Place, weather: Weather | None) -> AsyncIterator[Judged]:
    """A session of the plugin with its default settings, but for the address and transcripts."""
    async with aiohttp.ClientSession() as http:
        model = RealtimeModel(api_key="sk-anything", base_url=f"{place.url}/v1", http_session=http)
        async with asyncio.TaskGroup() as tasks:
            session = model.session()
            try:
                client = LiveKitClient(session, tasks, weather)
                await client.begin()
                yield client
            finally:
                await session.aclose()
        await model.aclose()
