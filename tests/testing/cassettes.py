"""A session to record and to replay: what the client does, and what the service on loopback does for it."""

from __future__ import annotations

import asyncio
import math
import struct
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from realtime.event import Item, ModelEvent, ModelEvents
from realtime.event.base import ContentPart
from realtime.event.config import ToolDeclaration
from realtime.message import ToolResultBlock
from realtime.model.base import AudioAppend, ItemCreate, RealtimeModel, ResponseCreate, Settings, ToolResult
from realtime.runtime import Runtime
from realtime.testing.cassettes.record import RecordingModel
from tests.model.providers import GEMINI, WITH_TOOLS, Fake, Talk

HANDLE = "resume-7f3a9c51d2"
"""What Gemini hands out: whoever has it has the conversation."""
TOOL = ToolDeclaration(name="get_time", description="The time.", parameters={"type": "object", "properties": {}})
SETTINGS = Settings(instructions="Be brief.", tools=(TOOL,))
CHUNK_MS = 40
SPEECH_MS = 600


def tone(rate_hz: int, ms: int, *, hz: float = 220.0) -> bytes:
    """A sine as pcm16."""
    count = rate_hz * ms // 1000
    return b"".join(struct.pack("<h", round(8000 * math.sin(n * hz * math.tau / rate_hz))) for n in range(count))


ANSWER = tone(24_000, 800)


def text(item_id: str, words: str) -> Item:
    return Item(id=item_id, role="user", content=(ContentPart(type="text", text=words),))


async def client(
    made: Talk, *, chunk_ms: int = CHUNK_MS, item_id: str = "item_q", words: str = "What time is it?"
) -> None:
    """Some speech, a typed question, a tool's result, a lost link and a question after it."""
    rate_hz = made.connection.profile.input_rate_hz
    speech, step = tone(rate_hz, SPEECH_MS), rate_hz * chunk_ms // 1000 * 2
    for at in range(0, len(speech), step):
        made.connection.send(AudioAppend(speech[at : at + step]))
        await asyncio.sleep(0)
    made.items = [text(item_id, words)]
    made.connection.send(ItemCreate(made.items[0]))
    made.connection.send(ResponseCreate())
    await made.until(ModelEvents.ModelResponseDoneEvent, 2)
    made.connection.send(ToolResult(ToolResultBlock(id="call_1", name="get_time", output="nine")))
    made.connection.send(ResponseCreate())
    await made.until(ModelEvents.ModelResponseDoneEvent, 3)
    await made.until(ModelEvents.ModelReconnectedEvent)
    made.connection.send(ItemCreate(text(f"{item_id}_2", "Are you still there?")))
    made.connection.send(ResponseCreate())
    await made.until(ModelEvents.ModelResponseDoneEvent, 4)


async def service(fake: Fake, listening: Any) -> None:
    """The other side of `client`."""
    session = await listening.session()
    if fake is GEMINI:
        await session.hand_out(HANDLE)
    await session.until(fake.asks)
    await fake.speak(session, "One moment please", ANSWER)
    await fake.call_tool(session, "call_1")
    await session.until(fake.asks_after_result, 2 if fake.asks_after_result == fake.asks else 1)
    await fake.speak(session, "It is nine", ANSWER)
    session.drop()
    session = await listening.session(2)
    await session.until(fake.asks)
    await fake.speak(session, "I am here", ANSWER)


async def record(fake: Fake, folder: Path, settings: Settings = SETTINGS, **options: Any) -> list[ModelEvent]:
    """Record the session over loopback. Returns what the model reported."""
    async with fake.service() as listening:
        serving = asyncio.get_running_loop().create_task(service(fake, listening))
        try:
            return await run(fake, RecordingModel(fake.model(listening, **options), folder), settings=settings)
        finally:
            serving.cancel()
            await asyncio.wait([serving])


async def run(
    fake: Fake, model: RealtimeModel, client: Callable[[Talk], Awaitable[None]] = client, settings: Settings = SETTINGS
) -> list[ModelEvent]:
    """A session with a model, whoever it is. Returns what the model reported."""
    made = Talk(fake, None)
    runtime = Runtime.deterministic(asyncio.get_running_loop().time)
    made.connection = await model.connect(
        settings=settings, on_event=made.note, history=lambda: made.items, runtime=runtime
    )
    try:
        await client(made)
    finally:
        await made.connection.close()
    return made.events


def timeless(events: list[ModelEvent]) -> list[ModelEvent]:
    """The events without how long the link was away, which the machine decides."""
    return [
        msgspec.structs.replace(event, gap_ms=0) if isinstance(event, ModelEvents.ModelReconnectedEvent) else event
        for event in events
    ]


def main(folder: Path) -> None:
    """Record the fixtures anew: one cassette per provider."""
    for fake in WITH_TOOLS:
        asyncio.run(record(fake, folder / fake.name))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
