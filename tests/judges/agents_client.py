"""The OpenAI Agents SDK as a judge: its realtime session validates each frame strictly and runs functions itself."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.server.harness import Json, Place
from tests.square.callers import OUTPUT_RATE_HZ, Caller, Weather


class AgentsClient(Caller):
    """A program on a `RealtimeSession`, driven by the session's own events."""

    rate_hz = OUTPUT_RATE_HZ

    def __init__(self, session: Any) -> None:
        super().__init__(None)
        self.frames: list[Json] = []
        self._session = session
        self._events = aiter(session)

    async def begin(self) -> None:
        """Wait until both of its session updates were taken."""
        await self.until(lambda: [frame["type"] for frame in self.frames].count("session.updated") == 2)

    async def type(self, text: str) -> None:
        await self._session.send_message(text)

    async def send_speech(self, pcm: bytes) -> None:
        await self._session.send_audio(pcm)

    async def silenced(self) -> None:
        """The SDK truncates by its own clock, then asks what the server holds of the item."""
        await super().silenced()
        await self.until(lambda: "conversation.item.truncated" in {frame["type"] for frame in self.frames})

    async def blunder(self) -> None:
        from agents.realtime import RealtimeModelSendRawMessage

        message: Any = {"type": "conversation.item.delete", "other_data": {"item_id": "item_nonsense"}}
        await self._session.model.send_event(RealtimeModelSendRawMessage(message=message))

    async def step(self) -> None:
        event: Any = await anext(self._events)
        match event.type:
            case "raw_model_event":
                self._note(event.data)
            case "audio":
                self.note_audio(event.audio.data)
            case "audio_interrupted":
                self.silence()
                self.begin_answer()
            case "agent_end":
                done = next(frame for frame in reversed(self.frames) if frame["type"] == "response.done")
                if self.text and done["response"]["status"] == "completed":
                    self.end_answer()
                self.begin_answer()
            case "error":
                self.complaints.append(getattr(event.error, "message", None) or str(event.error))

    def _note(self, data: Any) -> None:
        match data.type:
            case "raw_server_event":
                self.frames.append(data.data)
            case "transcript_delta":
                self.text += data.delta
            case "input_audio_transcription_completed":
                self.said.append(data.transcript)


@asynccontextmanager
async def openai_agents(place: Place, weather: Weather | None, _: bool = False) -> AsyncIterator[AgentsClient]:
    """A realtime session of the Agents SDK with its default settings."""
    from agents import FunctionTool, set_tracing_disabled
    from agents.realtime import OpenAIRealtimeWebSocketModel, RealtimeAgent, RealtimeRunner

    async def invoke(_: Any, arguments: str) -> str:
        assert weather is not None
        return weather(**json.loads(arguments))

    set_tracing_disabled(True)
    tools: list[Any] = []
    if weather is not None:
        tools = [FunctionTool(weather.name, weather.description, weather.parameters, invoke, strict_json_schema=False)]
    agent: RealtimeAgent[Any] = RealtimeAgent(name="Friday", instructions="You are brief.", tools=tools)
    address = place.url.replace("http", "ws", 1) + "/v1/realtime?model=gpt-realtime"
    runner = RealtimeRunner(agent, model=OpenAIRealtimeWebSocketModel())
    session = await runner.run(model_config={"api_key": "sk-anything", "url": address})
    async with session:
        client = AgentsClient(session)
        await client.begin()
        yield client
