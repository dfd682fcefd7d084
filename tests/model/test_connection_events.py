"""The link of a model going up and down, as its events tell it."""

from __future__ import annotations

from typing import get_args

from realtime.event import ModelEvent, ModelEvents
from tests.model.providers import OPENAI, talk

CREATED = ModelEvents.ModelSessionCreatedEvent
RECONNECTING = ModelEvents.ModelReconnectingEvent
RECONNECTED = ModelEvents.ModelReconnectedEvent
ENDED = ModelEvents.ModelSessionEndedEvent


async def test_a_link_going_up_and_down_is_told_by_four_events_and_by_no_others() -> None:
    """MEV-16: no events for the WebSocket itself; created, reconnecting, reconnected and ended say all of it."""
    async with talk(OPENAI) as made:
        (await made.session()).drop()
        await made.until(RECONNECTED)
    told = made.events
    links = [type(event) for event in told if not isinstance(event, ModelEvents.ModelSessionUpdatedEvent)]
    assert links == [CREATED, RECONNECTING, RECONNECTED, ENDED]
    # Everything else in the vocabulary is about what is said, about items and settings, or an error.
    others = {event.__name__ for event in get_args(ModelEvent) if event not in links}
    about = ("ModelResponse", "ModelInput", "ModelItem")
    assert {name for name in others if not name.startswith(about)} == {"ModelSessionUpdatedEvent", "ModelErrorEvent"}
