"""The link of a model going up and down, as its events tell it."""

from __future__ import annotations

import asyncio
from typing import get_args

from realtime.event import ModelEvent, ModelEvents
from realtime.model.base import Settings
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.wire import WireLimits
from realtime.runtime import Runtime
from tests.model.emulator import Emulator

LIMITS = WireLimits(first_delay_s=0.02, max_delay_s=0.1, close_timeout_s=0.3, open_timeout_s=5.0, session_timeout_s=5.0)

CREATED = ModelEvents.ModelSessionCreatedEvent
RECONNECTING = ModelEvents.ModelReconnectingEvent
RECONNECTED = ModelEvents.ModelReconnectedEvent
ENDED = ModelEvents.ModelSessionEndedEvent


async def test_a_link_going_up_and_down_is_told_by_four_events_and_by_no_others() -> None:
    """MEV-16: no events for the WebSocket itself; created, reconnecting, reconnected and ended say all of it."""
    told: list[ModelEvent] = []
    back = asyncio.Event()

    def note(event: ModelEvent) -> None:
        told.append(event)
        if isinstance(event, RECONNECTED):
            back.set()

    async with Emulator() as provider, asyncio.timeout(20):
        model = OpenAIRealtimeModel(api_key="sk-test", base_url=provider.base_url, limits=LIMITS)
        connection = await model.connect(settings=Settings(), on_event=note, history=lambda: (), runtime=Runtime())
        (await provider.session()).drop()
        await back.wait()
        await connection.close()

    links = [type(event) for event in told if not isinstance(event, ModelEvents.ModelSessionUpdatedEvent)]
    assert links == [CREATED, RECONNECTING, RECONNECTED, ENDED]
    # Everything else in the vocabulary is about what is said, about items and settings, or an error.
    others = {event.__name__ for event in get_args(ModelEvent) if event not in links}
    about = ("ModelResponse", "ModelInput", "ModelItem")
    assert {name for name in others if not name.startswith(about)} == {"ModelSessionUpdatedEvent", "ModelErrorEvent"}
