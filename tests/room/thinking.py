"""A room with thinking agents and the embedded voice. Its parts are stand-ins: a sentence takes a second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from realtime.agent.base import AgentBase
from realtime.message import Msg
from realtime.model.base import RealtimeModel
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.engine import SpeechEngine, SpeechParts
from realtime.room.thinker import Thinker
from realtime.room.thinking import RoomAgent
from tests.model.local.stand_ins import stand_in_parts
from tests.room.rooms import House, house

COSTS = {"FakeRecognizer.transcribe": 0.12, "FakeVoice.synthesize": 0.02}


class Thoughtful(AgentBase):
    """Notes what it gets. Answers what `answers` say, in turn, the last for ever; an error is raised."""

    def __init__(self, name: str, *answers: str | Exception) -> None:
        super().__init__(name)
        self.observed: list[tuple[str, str]] = []
        self.asked: list[Any] = []
        self.interruptions = 0
        self.observe_hook: Callable[[], Any] | None = None
        self._answers = [*(answers or ("Yes.",))]
        self.set_console_output_enabled(False)

    async def observe(self, msg: Msg | list[Msg] | None) -> None:
        assert isinstance(msg, Msg)
        if self.observe_hook is not None:
            await self.observe_hook()
        self.observed.append((msg.name, msg.get_text_content() or ""))

    async def reply(self, msg: Msg | None = None) -> Msg:
        self.asked.append(msg)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return Msg(self.name, answer, "assistant")

    async def interrupt(self, msg: Any = None) -> None:
        self.interruptions += 1
        await super().interrupt(msg)

    async def handle_interrupt(self, *args: Any, **kwargs: Any) -> Msg:
        return Msg(self.name, "Go ahead.", "assistant")


@asynccontextmanager
async def salon(*agents: RoomAgent, parts: SpeechParts | None = None, **options: Any) -> AsyncIterator[House]:
    """A room with an engine of its own."""
    engine = SpeechEngine(lambda progress: parts or stand_in_parts())
    voices = iter(["heart", "heart-low"] * 10)

    def make_voice(thinker: Thinker) -> RealtimeModel:
        return LocalRealtimeModel(next(voices), language_model=thinker, speculation="off", engine=engine)

    try:
        async with house(*agents, make_voice=make_voice, **options) as home:
            yield home
    finally:
        engine.close()


async def settle() -> None:
    """Let an agent observe what was said."""
    await asyncio.sleep(0.5)
