"""What every foreign client goes through: the scenarios of the square, with a model right behind the endpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from realtime.agent import RealtimeAgent
from realtime.model.base import RealtimeModel
from realtime.model.scripted import ScriptedModel
from realtime.server.settings import ServerSettings
from tests.server.harness import Place, serving
from tests.server.openai_sdk import check_frames
from tests.square import callers
from tests.square.chain import Chain
from tests.square.scenarios import SCENARIOS

JUDGED = ["text turn", "voice turn", "tool round trip", "interruption", "error"]


async def judge(scenario: str, client: Any, model: RealtimeModel, behind: str) -> None:
    """Run the scenario with this client; every frame that it got satisfies the types of the official SDK."""
    opened: list[Any] = []

    @asynccontextmanager
    async def noted(place: Place, weather: callers.Weather | None, push_to_talk: bool) -> AsyncIterator[callers.Caller]:
        async with client(place, weather, push_to_talk) as caller:
            opened.append(caller)
            yield caller

    async with serving(lambda: RealtimeAgent("Heart", "Be Heart.", model), ServerSettings(drain_s=0)) as place:
        scripted = model if isinstance(model, ScriptedModel) else None
        await SCENARIOS[scenario].run(Chain(behind, place, place, scripted, noted))
    (caller,) = opened
    assert not caller.complaints
    check_frames(caller.frames)
