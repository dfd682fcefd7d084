"""LiveKit's OpenAI realtime plugin as a judge: its session keeps a mirror of the conversation on the server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.server.harness import Json, Place
from tests.square.callers import OUTPUT_RATE_HZ, Caller, Weather


class LiveKitClient(Caller):
    """A program on the plugin's session; what LiveKit's agent session does with a reply, it does by hand."""

    rate_hz = OUTPUT_RATE_HZ

    def __init__(self, session: Any, tasks: asyncio.TaskGroup, weather: Weather | None) -> None:
        super().__init__(weather)
        self.frames: list[Json] = []
        self._session = session
        self._tasks = tasks
        self._changed = asyncio.Event()
        self._item_id: str | None = None
        session.on("openai_server_event_received", self._note)
        session.on("generation_created", lambda event: self._tasks.create_task(self._follow(event)) and None)
        session.on("input_speech_started", lambda _: self.silence())
        session.on("input_audio_transcription_completed", self._transcribed)
        session.on("error", self._failed)

    async def step(self) -> None:
        """Wait until a frame has come, or some of an answer was played."""
        self._changed.clear()
        await self._changed.wait()

    async def begin(self) -> None:
        """Give the instructions and the function; wait until they were taken."""
        from livekit.agents import llm

        await self._session.update_instructions("You are brief.")
        if self.weather is not None:
            about = {"name": self.weather.name, "description": self.weather.description}

            @llm.function_tool(raw_schema={"type": "function", **about, "parameters": self.weather.parameters})
            async def get_weather(raw_arguments: dict[str, object]) -> str:
                return ""

            await self._session.update_tools([get_weather])
        expected = 2 + (self.weather is not None)
        await self.until(lambda: self._count("session.updated") == expected)

    async def type(self, text: str) -> None:
        context = self._session.chat_ctx.copy()
        context.add_message(role="user", content=text)
        await self._session.update_chat_ctx(context)
        await self._session.generate_reply()

    async def send_speech(self, pcm: bytes) -> None:
        from livekit import rtc

        self._session.push_audio(rtc.AudioFrame(pcm, self.rate_hz, 1, len(pcm) // 2))

    async def silenced(self) -> None:
        await super().silenced()
        played_ms = self.played_ms
        self._session.interrupt()
        self._session.truncate(message_id=self._item_id, modalities=["audio"], audio_end_ms=played_ms)
        await self.until(lambda: self._count("conversation.item.truncated") == 1)

    async def blunder(self) -> None:
        from openai.types.realtime import ConversationItemDeleteEvent

        gone = ConversationItemDeleteEvent(type="conversation.item.delete", item_id="item_nonsense", event_id="mine")
        self._session.send_event(gone)

    def _count(self, kind: str) -> int:
        return sum(frame["type"] == kind for frame in self.frames)

    def _note(self, frame: Json) -> None:
        self.frames.append(json.loads(json.dumps(frame)))
        self._changed.set()

    def _transcribed(self, event: Any) -> None:
        if event.is_final:
            self.said.append(event.transcript)
            self._changed.set()

    def _failed(self, event: Any) -> None:
        body = getattr(event.error, "body", None)
        self.complaints.append(str(getattr(body, "message", None) or event.error))
        self._changed.set()

    async def _follow(self, event: Any) -> None:
        """Play one generation; then run what it called and have the model go on."""
        from livekit.agents import llm

        was_silenced = self.is_silenced
        async for message in event.message_stream:
            self._item_id = message.message_id
            self.begin_answer()
            words, _ = await asyncio.gather(_read(message.text_stream), self._play(message.audio_stream))
            self.text = words
        calls = [call async for call in event.function_stream]
        responses = [frame["response"] for frame in self.frames if frame["type"] == "response.done"]
        done = next(one for one in responses if one["id"] == event.response_id)
        if calls and self.weather is not None:
            context = self._session.chat_ctx.copy()
            for call in calls:
                output = self.weather(**json.loads(call.arguments))
                context.items.append(
                    llm.FunctionCallOutput(call_id=call.call_id, name=call.name, output=output, is_error=False)
                )
            await self._session.update_chat_ctx(context)
            await self._session.generate_reply()
        elif done["status"] == "completed" and self.is_silenced == was_silenced:
            self.end_answer()
        self._changed.set()

    async def _play(self, frames: Any) -> None:
        async for frame in frames:
            self.note_audio(bytes(frame.data))
            self._changed.set()


async def _read(words: Any) -> str:
    return "".join([str(word) async for word in words])


@asynccontextmanager
async def livekit_plugin(place: Place, weather: Weather | None, _: bool = False) -> AsyncIterator[LiveKitClient]:
    """A session of the plugin with its default settings, but for the address and transcripts."""
    import aiohttp
    from livekit.plugins.openai.realtime import RealtimeModel

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
