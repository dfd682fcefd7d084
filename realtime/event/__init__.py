"""The realtime vocabulary: the modules `ClientEvents`, `ModelEvents` and `ServerEvents`, and reply events.

`ClientEvents.from_json(frame)` reads an event, `event.model_dump()` writes it and
`ClientEvents.ClientTextAppendEvent(...)` builds one. `ClientEvent`, `ModelEvent` and `ServerEvent` are the unions.

The reply events, from which messages are built, are exported by their own names; `AgentEvent` is their union.
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
from realtime.event.reply import (
    AgentEvent,
    CustomEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    ExceedMaxItersEvent,
    ExternalExecutionResultEvent,
    HintBlockEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    ReplyEndEvent,
    ReplyEvent,
    ReplyStartEvent,
    RequestStopEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    UserConfirmResultEvent,
    UserInterruptEvent,
    read_reply_event,
)
from realtime.event.server import ServerEvent
from realtime.message import ConfirmResult

__all__ = [
    "AgentEvent",
    "AudioFormat",
    "ClientEvent",
    "ClientEvents",
    "ConfirmResult",
    "ContentPart",
    "CustomEvent",
    "DataBlockDeltaEvent",
    "DataBlockEndEvent",
    "DataBlockStartEvent",
    "Event",
    "ExceedMaxItersEvent",
    "ExternalExecutionResultEvent",
    "HintBlockEvent",
    "ImageFormat",
    "Item",
    "ModelCallEndEvent",
    "ModelCallStartEvent",
    "ModelEvent",
    "ModelEvents",
    "ReplyEndEvent",
    "ReplyEvent",
    "ReplyStartEvent",
    "RequestStopEvent",
    "RequireExternalExecutionEvent",
    "RequireUserConfirmEvent",
    "ResponseOverrides",
    "ServerEvent",
    "ServerEvents",
    "SessionConfig",
    "TextBlockDeltaEvent",
    "TextBlockEndEvent",
    "TextBlockStartEvent",
    "ThinkingBlockDeltaEvent",
    "ThinkingBlockEndEvent",
    "ThinkingBlockStartEvent",
    "ToolCallDeltaEvent",
    "ToolCallEndEvent",
    "ToolCallStartEvent",
    "ToolDeclaration",
    "ToolResultDataDeltaEvent",
    "ToolResultEndEvent",
    "ToolResultStartEvent",
    "ToolResultTextDeltaEvent",
    "TurnDetection",
    "UsageDetail",
    "UserConfirmResultEvent",
    "UserInterruptEvent",
    "read_reply_event",
]
