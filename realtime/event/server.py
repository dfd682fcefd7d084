"""Server events: what a client receives.

`agent_*` events name the speaker (`agent_id`, `agent_name`). A logged event carries its place in the log: `seq` rises
by one from 1, `ts_ms` counts from the beginning of the call; the log stamps both. An event sent to one listener outside
the log has `seq` 0 here and none on the wire.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from realtime.errors import RealtimeError
from realtime.event import meaning
from realtime.event import model as m
from realtime.event.base import AudioFormat, Event
from realtime.event.decode import classes_by_type, read_event
from realtime.message import ToolResultBlock
from realtime.message.canonical import canonical_json

InterruptionState = Literal["possible", "confirmed", "dismissed"]
ProgressKind = Literal["result", "note"]
"""A piece of a tool's result, or a note about its work."""


class ServerSessionCreatedEvent(Event, frozen=True, kw_only=True):
    """The call exists. `session_id` is the client's own label, `call_id` the server's unguessable name of the call.

    A client that may return after losing its socket gets a `resume_token`, valid for one `client_session_resume`; the
    call waits for it for `resume_within_ms`. The log contains neither.
    """

    session_id: str
    call_id: str = ""
    resume_token: str | None = None
    resume_within_ms: int | None = None
    seq: int = 0
    ts_ms: int = 0


class ServerSessionUpdatedEvent(Event, frozen=True, kw_only=True):
    """The new settings are in force."""

    session_id: str
    config: dict[str, Any] | None = None
    seq: int = 0
    ts_ms: int = 0


class ServerSessionEndedEvent(Event, frozen=True, kw_only=True):
    """The call has ended; nothing follows. `reason` is a stable word."""

    session_id: str
    reason: str = "ended"
    seq: int = 0
    ts_ms: int = 0


class ServerSessionResumedEvent(Event, frozen=True, kw_only=True):
    """This client is back in its call. The events after `last_seq` follow, then the speech that it has not played.

    Only this client gets the event. `token` is valid for the next resume; the one used now expires as soon as the
    client sends anything on this socket. `from_store`: the call had ended, or its server had; it continues with the
    words that were heard, in a new session of the model. `gap`: some of the missed events are lost. `rewound_to_seq`:
    the server stopped before it had stored all that it sent; events that the client received beyond this `seq` are not
    part of the call, and their numbers are used again. `last_seq` is then the same number.
    """

    session_id: str
    call_id: str
    last_seq: int
    token: str | None = None
    from_store: bool = False
    gap: bool = False
    rewound_to_seq: int | None = None
    seq: int = 0
    ts_ms: int = 0


CLAIM_WITHHELD = "claim_withheld"
"""The custom event of a sentence that claims what was not done; also the reason of a flush and a response's end."""


class ServerAudioFlushEvent(Event, frozen=True, kw_only=True):
    """Silence the voice at once: drop all unplayed audio of `item_id`, or of every item without one."""

    item_id: str | None = None
    reason: str = "barge_in"
    seq: int = 0
    ts_ms: int = 0


class ServerAudioGainEvent(Event, frozen=True, kw_only=True):
    """Play the voice at `gain_db` from now on, reached over `ramp_ms`: of `item_id`, or of every item without one.

    -15 while it is undecided what a voice over the reply means, 0 when the reply goes on. A flush ends it.
    """

    gain_db: float
    ramp_ms: int = 0
    item_id: str | None = None
    seq: int = 0
    ts_ms: int = 0


class ServerAudioItemEvent(Event, frozen=True, kw_only=True):
    """Binary frames with `item_index` are audio of this part of a response.

    `offset_samples` is where in the part the following audio begins: beyond 0 after a resume, when the event also
    precedes audio as JSON.
    """

    item_index: int
    response_id: str
    item_id: str
    format: AudioFormat
    output_index: int = 0
    content_index: int = 0
    offset_samples: int = 0
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class ServerAudioReceivedEvent(Event, frozen=True, kw_only=True):
    """Client audio up to sample `offset` of its stream has arrived; the client may discard earlier samples."""

    offset: int
    seq: int = 0
    ts_ms: int = 0


class ServerGoodbyeEvent(Event, frozen=True, kw_only=True):
    """This socket is about to close. With a token the call can be resumed elsewhere after `retry_after_ms`."""

    reason: str
    resume_token: str | None = None
    retry_after_ms: int | None = None
    seq: int = 0
    ts_ms: int = 0


class ServerLatencyEvent(Event, frozen=True, kw_only=True):
    """What the user waited after turn `item_id`: from the end of the voice to the first sound that was played.

    `stages_ms` are its parts in order. `estimated`: the client reported no playback, or had stopped sending audio.
    """

    response_id: str
    turn_end_to_audio_ms: int
    stages_ms: dict[str, int] = msgspec.field(default_factory=dict)
    latency_ms: int | None = None
    item_id: str | None = None
    estimated: bool = False
    seq: int = 0
    ts_ms: int = 0


class ServerPlaybackEvent(Event, frozen=True, kw_only=True):
    """A client's playback position in an item: at its first sound, every second, at a flush and at its end.

    Its own audio was at sample `input_offset` then, at `input_ms`; 0 without any. `estimated`: it did not report this.
    """

    item_id: str
    played_ms: int
    input_offset: int = 0
    input_ms: int | None = None
    estimated: bool = False
    seq: int = 0
    ts_ms: int = 0


class ServerCustomEvent(Event, frozen=True, kw_only=True):
    """Something of the program's own (`RealtimeAgent.emit_custom_event`). Clients skip a `name` that they do not know.

    Raises ValueError where `value` is not JSON.
    """

    name: str
    value: dict[str, Any] = msgspec.field(default_factory=dict)
    seq: int = 0
    ts_ms: int = 0

    def __post_init__(self) -> None:
        try:
            canonical_json(self.value)
        except ValueError as error:
            raise ValueError(f"the value of a custom event has to be JSON: {error}") from error


class ServerRoomJoinedEvent(Event, frozen=True, kw_only=True):
    """A participant entered the room, or was there when a client joined."""

    participant_id: str
    name: str
    kind: str
    muted: bool = False
    away: bool = False
    seq: int = 0
    ts_ms: int = 0


class ServerRoomChangedEvent(Event, frozen=True, kw_only=True):
    """A participant was muted or unmuted, went away or came back.

    Away means that an agent's model or a human's socket is lost. The event carries both current values.
    """

    participant_id: str
    name: str
    kind: str
    muted: bool
    away: bool
    seq: int = 0
    ts_ms: int = 0


class ServerRoomLeftEvent(Event, frozen=True, kw_only=True):
    """A participant left the room."""

    participant_id: str
    name: str
    reason: str = "left"
    seq: int = 0
    ts_ms: int = 0


class ServerRoomFloorEvent(Event, frozen=True, kw_only=True):
    """The participant who may speak now, by which rule. Without one the floor is open."""

    participant_id: str | None = None
    reason: str = ""
    seq: int = 0
    ts_ms: int = 0


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
