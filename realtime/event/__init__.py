"""The realtime vocabulary: `ClientEvents`, `ModelEvents`, `ServerEvents` are three modules by their documented names.

`ClientEvents.from_json(frame)` reads an event, `event.model_dump()` writes it and
`ClientEvents.ClientTextAppendEvent(...)` builds one. `ClientEvent`, `ModelEvent` and `ServerEvent` are the unions.
"""

from realtime.event import client as ClientEvents
from realtime.event import model as ModelEvents
from realtime.event import server as ServerEvents
from realtime.event.base import (
    AudioFormat,
    ContentPart,
    Event,
    ImageFormat,
    Item,
    ResponseOverrides,
    UsageDetail,
)
from realtime.event.client import ClientEvent
from realtime.event.config import SessionConfig, ToolDeclaration, TurnDetection
from realtime.event.model import ModelEvent
from realtime.event.server import ServerEvent

__all__ = [
    "AudioFormat",
    "ClientEvent",
    "ClientEvents",
    "ContentPart",
    "Event",
    "ImageFormat",
    "Item",
    "ModelEvent",
    "ModelEvents",
    "ResponseOverrides",
    "ServerEvent",
    "ServerEvents",
    "SessionConfig",
    "ToolDeclaration",
    "TurnDetection",
    "UsageDetail",
]
