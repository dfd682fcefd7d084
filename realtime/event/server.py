"""Server events: what a client receives.

`agent_*` events name the speaker (`agent_id`, `agent_name`). A logged event carries its place in the log: `seq` rises
by one from 1, `ts_ms` counts from the beginning of the call; the log stamps both. An event sent to one listener outside
the log has `seq` 0 here and none on the wire.
"""

from __future__ import annotations

from typing import Any, Literal

from realtime.errors import RealtimeError
from realtime.event import meaning
from realtime.event import model as m
from realtime.event.base import Event
from realtime.event.decode import classes_by_type, read_event
from realtime.message import ToolResultBlock

# isort: off
from realtime.event.call import (
    CLAIM_WITHHELD as CLAIM_WITHHELD,
    ServerAudioFlushEvent as ServerAudioFlushEvent,
    ServerAudioGainEvent as ServerAudioGainEvent,
    ServerAudioItemEvent as ServerAudioItemEvent,
    ServerAudioReceivedEvent as ServerAudioReceivedEvent,
    ServerCustomEvent as ServerCustomEvent,
    ServerGoodbyeEvent as ServerGoodbyeEvent,
    ServerLatencyEvent as ServerLatencyEvent,
    ServerPlaybackEvent as ServerPlaybackEvent,
    ServerRoomChangedEvent as ServerRoomChangedEvent,
    ServerRoomFloorEvent as ServerRoomFloorEvent,
    ServerRoomJoinedEvent as ServerRoomJoinedEvent,
    ServerRoomLeftEvent as ServerRoomLeftEvent,
    ServerSessionCreatedEvent as ServerSessionCreatedEvent,
    ServerSessionEndedEvent as ServerSessionEndedEvent,
    ServerSessionResumedEvent as ServerSessionResumedEvent,
    ServerSessionUpdatedEvent as ServerSessionUpdatedEvent,
)

# isort: on

InterruptionState = Literal["possible", "confirmed", "dismissed"]
ProgressKind = Literal["result", "note"]
"""A piece of a tool's result, or a note about its work."""


class AgentReadyEvent(Event, frozen=True, kw_only=True):
    """The agent is ready to receive input. `model` describes the provider, the model and its abilities."""

    model: dict[str, Any] | None = None
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentEndedEvent(Event, frozen=True, kw_only=True):
    """The agent has left."""

    reason: str = "stopped"
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentToolProgressEvent(Event, frozen=True, kw_only=True):
    """A running tool reports: `delta` continues its result, or is a note about its work (`kind`).

    Neither is spoken. The whole result follows with the tool's end.
    """

    tool_call_id: str
    delta: str
    kind: ProgressKind = "result"
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentResponseToolResultEvent(Event, frozen=True, kw_only=True):
    """The output of a tool; its `id` is that of the call."""

    tool_result: ToolResultBlock
    response_id: str | None = None
    item_id: str | None = None
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentResponseCreatedEvent(meaning.ResponseCreated, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentResponseDoneEvent(meaning.ResponseDone, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentResponseAudioDeltaEvent(meaning.ResponseAudioDelta, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentResponseAudioDoneEvent(meaning.ResponseAudioDone, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentResponseAudioTranscriptDeltaEvent(meaning.ResponseAudioTranscriptDelta, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentResponseAudioTranscriptDoneEvent(meaning.ResponseAudioTranscriptDone, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentResponseTextDeltaEvent(meaning.ResponseTextDelta, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentResponseTextDoneEvent(meaning.ResponseTextDone, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentResponseThinkingDeltaEvent(meaning.ResponseThinkingDelta, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentResponseThinkingDoneEvent(meaning.ResponseThinkingDone, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentResponseReportEvent(meaning.ResponseReport, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentResponseToolUseDeltaEvent(meaning.ResponseToolUseDelta, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentResponseToolUseDoneEvent(meaning.ResponseToolUseDone, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentInputTranscriptionDeltaEvent(meaning.InputTranscriptionDelta, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentInputTranscriptionDoneEvent(meaning.InputTranscriptionDone, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentInputTranscriptionFailedEvent(meaning.InputTranscriptionFailed, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentInputStartedEvent(meaning.InputStarted, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentInputDoneEvent(meaning.InputDone, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentInputCommittedEvent(meaning.InputCommitted, frozen=True, kw_only=True):
    """The input audio so far became the user item `item_id`.

    In push-to-talk `audio_end_ms` is its end in the client's audio; otherwise `agent_input_done` has reported that.
    """

    audio_end_ms: int | None = None
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentInputClearedEvent(meaning.InputCleared, frozen=True, kw_only=True):
    """The uncommitted input audio was dropped. In a room `item_id` names a turn discarded as a false start."""

    item_id: str | None = None
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentItemAddedEvent(meaning.ItemAdded, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentItemDoneEvent(meaning.ItemDone, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentItemDeletedEvent(meaning.ItemDeleted, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentItemTruncatedEvent(meaning.ItemTruncated, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentItemRetrievedEvent(meaning.ItemRetrieved, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentSessionUpdatedEvent(meaning.SessionUpdated, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentInterruptionEvent(Event, frozen=True, kw_only=True):
    """What a voice over a reply means: `possible` when it begins, then `confirmed` or `dismissed`.

    `reason` is a stable word, such as `stop_words` or `backchannel` (docs/listening.md); `item_id` is the reply's item
    that was played; `voiced_ms` is how much of the voice was known at the decision.
    """

    state: InterruptionState
    reason: str = ""
    item_id: str | None = None
    voiced_ms: int = 0
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentReconnectingEvent(meaning.Reconnecting, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentReconnectedEvent(meaning.Reconnected, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class AgentErrorEvent(meaning.Error, frozen=True, kw_only=True):
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


ServerEvent = (
    ServerSessionCreatedEvent
    | ServerSessionUpdatedEvent
    | ServerSessionEndedEvent
    | ServerSessionResumedEvent
    | ServerAudioFlushEvent
    | ServerAudioGainEvent
    | ServerAudioItemEvent
    | ServerAudioReceivedEvent
    | ServerGoodbyeEvent
    | ServerLatencyEvent
    | ServerPlaybackEvent
    | ServerCustomEvent
    | ServerRoomJoinedEvent
    | ServerRoomChangedEvent
    | ServerRoomLeftEvent
    | ServerRoomFloorEvent
    | AgentReadyEvent
    | AgentEndedEvent
    | AgentToolProgressEvent
    | AgentResponseToolResultEvent
    | AgentResponseCreatedEvent
    | AgentResponseDoneEvent
    | AgentResponseAudioDeltaEvent
    | AgentResponseAudioDoneEvent
    | AgentResponseAudioTranscriptDeltaEvent
    | AgentResponseAudioTranscriptDoneEvent
    | AgentResponseTextDeltaEvent
    | AgentResponseTextDoneEvent
    | AgentResponseThinkingDeltaEvent
    | AgentResponseThinkingDoneEvent
    | AgentResponseReportEvent
    | AgentResponseToolUseDeltaEvent
    | AgentResponseToolUseDoneEvent
    | AgentInputTranscriptionDeltaEvent
    | AgentInputTranscriptionDoneEvent
    | AgentInputTranscriptionFailedEvent
    | AgentInputStartedEvent
    | AgentInputDoneEvent
    | AgentInputCommittedEvent
    | AgentInputClearedEvent
    | AgentItemAddedEvent
    | AgentItemDoneEvent
    | AgentItemDeletedEvent
    | AgentItemTruncatedEvent
    | AgentItemRetrievedEvent
    | AgentSessionUpdatedEvent
    | AgentInterruptionEvent
    | AgentReconnectingEvent
    | AgentReconnectedEvent
    | AgentErrorEvent
)

_CLASSES = classes_by_type(ServerEvent)


def from_json(frame: dict[str, Any]) -> ServerEvent:
    """Return the event of a JSON object. Raises ValueError for any other object."""
    event: ServerEvent = read_event(frame, _CLASSES)
    return event


_AGENT_CLASSES = {
    event: _CLASSES[tag.replace("model_", "agent_", 1)]
    for tag, event in classes_by_type(m.ModelEvent).items()
    if event not in (m.ModelSessionCreatedEvent, m.ModelSessionEndedEvent)
}
"""Maps model event classes to agent event classes of the same meaning."""


def from_model_event(event: m.ModelEvent, agent_id: str, agent_name: str, **known: str) -> ServerEvent:
    """Convert a model event into the agent's: created becomes ready, ended becomes ended.

    `known` are fields that replace those of the event.
    """
    if isinstance(event, m.ModelSessionCreatedEvent):
        return AgentReadyEvent(agent_id=agent_id, agent_name=agent_name)
    if isinstance(event, m.ModelSessionEndedEvent):
        return AgentEndedEvent(reason=event.reason, agent_id=agent_id, agent_name=agent_name)
    fields = {name: getattr(event, name) for name in event.__struct_fields__}
    converted: ServerEvent = _AGENT_CLASSES[type(event)](**fields | known, agent_id=agent_id, agent_name=agent_name)
    return converted


def error_event(error: RealtimeError, *, agent_id: str = "", agent_name: str = "") -> AgentErrorEvent:
    """Return the event that reports an error. Outside a call, no agent is named."""
    return AgentErrorEvent(
        error_type=f"{error.fault}_error",
        code=error.code,
        message=error.message,
        retryable=error.retryable,
        client_event_id=getattr(error, "client_event_id", None),
        retry_after_ms=getattr(error, "retry_after_ms", None),
        agent_id=agent_id,
        agent_name=agent_name,
    )
