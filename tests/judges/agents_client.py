"""The OpenAI Agents SDK as a judge: its realtime session validates each frame strictly and runs functions itself."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agents import FunctionTool, set_tracing_disabled
from agents.realtime import (
    OpenAIRealtimeWebSocketModel,
    RealtimeAgent,
    RealtimeModelSendRawMessage,
    RealtimeRunner,
    RealtimeSession,
)
from agents.tool_context import ToolContext

from tests.judges.scenarios import RATE_HZ, Answer, Judged, Weather
from tests.server.harness import PATIENCE_S, Json, Place

CHUNK_BYTES = RATE_HZ * 2 // 10


class AgentsClient:
    """A program on a `RealtimeSession`, driven by the session's own events."""

    def __init__(self, session: RealtimeSession) -> None:
        self.frames: list[Json] = []
        self.complaints: list[str] = []
        self._session = session
        self._events = aiter(session)
        self._text = ""
        self._audio_bytes = 0
        self._said: str | None = None
        self._interrupted = False
        self._answers: deque[Answer] = deque()

    async def begin(self) -> None:
        """Wait until both of its session updates were taken."""
        while [frame["type"] for frame in self.frames].count("session.updated") < 2:
            await self._next()

    async def type(self, text: str) -> None:
        await self._session.send_message(text)

    async def talk(self, pcm: bytes) -> None:
        for at in range(0, len(pcm), CHUNK_BYTES):
            await self._session.send_audio(pcm[at : at + CHUNK_BYTES])

    async def begun(self) -> None:
        while not self._audio_bytes:
            await self._next()

    async def heard(self) -> str:
        while self._said is None:
            await self._next()
        return self._said

    async def silenced(self) -> None:
        """The SDK truncates by its own clock, then asks what the server holds of the item."""
        while not self._interrupted:
            await self._next()
        while "conversation.item.truncated" not in {frame["type"] for frame in self.frames}:
            await self._next()

    async def answer(self) -> Answer:
        while not self._answers:
            await self._next()
        return self._answers.popleft()

    async def blunder(self) -> None:
        message: Any = {"type": "conversation.item.delete", "other_data": {"item_id": "item_nowhere"}}
        await self._session.model.send_event(RealtimeModelSendRawMessage(message=message))
        while not self.complaints:
            await self._next()

    async def _next(self) -> Any:
        async with asyncio.timeout(PATIENCE_S):
            event: Any = await anext(self._events)
        match event.type:
            case "raw_model_event":
                self._note(event.data)
            case "audio":
                self._audio_bytes += len(event.audio.data)
            case "audio_interrupted":
                self._interrupted, self._text, self._audio_bytes = True, "", 0
            case "agent_end":
                self._finish()
            case "error":
                self.complaints.append(getattr(event.error, "message", None) or str(event.error))
        return event

    def _finish(self) -> None:
        text, audio_bytes = self._text, self._audio_bytes
        self._text, self._audio_bytes = "", 0
        done = next(frame for frame in reversed(self.frames) if frame["type"] == "response.done")
        if text and done["response"]["status"] == "completed":
            self._answers.append(Answer(text, audio_bytes * 500 / RATE_HZ))

    def _note(self, data: Any) -> None:
        match data.type:
            case "raw_server_event":
                self.frames.append(data.data)
            case "transcript_delta":
                self._text += data.delta
            case "input_audio_transcription_completed":
                self._said = data.transcript


def _function(weather: Weather) -> FunctionTool:
    async def invoke(_: ToolContext[Any], arguments: str) -> str:
        return weather(**json.loads(arguments))

    return FunctionTool(
        name=weather.name,
        description=weather.description,
        params_json_schema=weather.parameters,
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )


@asynccontextmanager
async def openai_agents(place: Place, weather: Weather | None) -> AsyncIterator[Judged]:
    """A realtime session of the Agents SDK with its default settings."""
    set_tracing_disabled(True)
    agent: RealtimeAgent[Any] = RealtimeAgent(
        name="Friday", instructions="You are brief.", tools=[_function(weather)] if weather is not None else []
    )
    address = place.url.replace("http", "ws", 1) + "/v1/realtime?model=gpt-realtime"
    runner = RealtimeRunner(agent, model=OpenAIRealtimeWebSocketModel())
    session = await runner.run(model_config={"api_key": "sk-anything", "url": address})
    async with session:
        client = AgentsClient(session)
        await client.begin()
        yield client
