"""Model events: what a realtime model sends, for all providers alike.

The model's "session" is its connection, never the user's call: `session_id` here is the provider's.
"""

from __future__ import annotations

from typing import Any

from realtime.event import meaning
from realtime.event.base import Event
from realtime.event.decode import classes_by_type, read_event


class ModelSessionCreatedEvent(Event, frozen=True, kw_only=True):
    """The model's session is open."""

    session_id: str


class ModelSessionEndedEvent(Event, frozen=True, kw_only=True):
    """The model's session has ended; `reason` says why in a word or a short sentence."""

    session_id: str
    reason: str


class ModelResponseCreatedEvent(meaning.ResponseCreated, frozen=True, kw_only=True):
    pass


class ModelResponseDoneEvent(meaning.ResponseDone, frozen=True, kw_only=True):
    pass


class ModelResponseAudioDeltaEvent(meaning.ResponseAudioDelta, frozen=True, kw_only=True):
    pass


class ModelResponseAudioDoneEvent(meaning.ResponseAudioDone, frozen=True, kw_only=True):
    pass


class ModelResponseAudioTranscriptDeltaEvent(meaning.ResponseAudioTranscriptDelta, frozen=True, kw_only=True):
    pass


class ModelResponseAudioTranscriptDoneEvent(meaning.ResponseAudioTranscriptDone, frozen=True, kw_only=True):
    pass


class ModelResponseTextDeltaEvent(meaning.ResponseTextDelta, frozen=True, kw_only=True):
    pass


class ModelResponseTextDoneEvent(meaning.ResponseTextDone, frozen=True, kw_only=True):
    pass


class ModelResponseThinkingDeltaEvent(meaning.ResponseThinkingDelta, frozen=True, kw_only=True):
    pass


class ModelResponseThinkingDoneEvent(meaning.ResponseThinkingDone, frozen=True, kw_only=True):
    pass


class ModelResponseReportEvent(meaning.ResponseReport, frozen=True, kw_only=True):
    pass


class ModelResponseToolUseDeltaEvent(meaning.ResponseToolUseDelta, frozen=True, kw_only=True):
    pass


class ModelResponseToolUseDoneEvent(meaning.ResponseToolUseDone, frozen=True, kw_only=True):
    pass


class ModelInputTranscriptionDeltaEvent(meaning.InputTranscriptionDelta, frozen=True, kw_only=True):
    pass


class ModelInputTranscriptionDoneEvent(meaning.InputTranscriptionDone, frozen=True, kw_only=True):
    pass


class ModelInputTranscriptionFailedEvent(meaning.InputTranscriptionFailed, frozen=True, kw_only=True):
    pass


class ModelInputStartedEvent(meaning.InputStarted, frozen=True, kw_only=True):
    pass


class ModelInputDoneEvent(meaning.InputDone, frozen=True, kw_only=True):
    pass


class ModelInputCommittedEvent(meaning.InputCommitted, frozen=True, kw_only=True):
    pass


class ModelInputClearedEvent(meaning.InputCleared, frozen=True, kw_only=True):
    pass


class ModelItemAddedEvent(meaning.ItemAdded, frozen=True, kw_only=True):
    pass


class ModelItemDoneEvent(meaning.ItemDone, frozen=True, kw_only=True):
    pass


class ModelItemDeletedEvent(meaning.ItemDeleted, frozen=True, kw_only=True):
    pass


class ModelItemTruncatedEvent(meaning.ItemTruncated, frozen=True, kw_only=True):
    pass


class ModelItemRetrievedEvent(meaning.ItemRetrieved, frozen=True, kw_only=True):
    pass


class ModelSessionUpdatedEvent(meaning.SessionUpdated, frozen=True, kw_only=True):
    pass


class ModelReconnectingEvent(meaning.Reconnecting, frozen=True, kw_only=True):
    pass


class ModelReconnectedEvent(meaning.Reconnected, frozen=True, kw_only=True):
    pass


class ModelErrorEvent(meaning.Error, frozen=True, kw_only=True):
    pass


ModelEvent = (
    ModelSessionCreatedEvent
    | ModelSessionEndedEvent
    | ModelResponseCreatedEvent
    | ModelResponseDoneEvent
    | ModelResponseAudioDeltaEvent
    | ModelResponseAudioDoneEvent
    | ModelResponseAudioTranscriptDeltaEvent
    | ModelResponseAudioTranscriptDoneEvent
    | ModelResponseTextDeltaEvent
    | ModelResponseTextDoneEvent
    | ModelResponseThinkingDeltaEvent
    | ModelResponseThinkingDoneEvent
    | ModelResponseReportEvent
    | ModelResponseToolUseDeltaEvent
    | ModelResponseToolUseDoneEvent
    | ModelInputTranscriptionDeltaEvent
    | ModelInputTranscriptionDoneEvent
    | ModelInputTranscriptionFailedEvent
    | ModelInputStartedEvent
    | ModelInputDoneEvent
    | ModelInputCommittedEvent
    | ModelInputClearedEvent
    | ModelItemAddedEvent
    | ModelItemDoneEvent
    | ModelItemDeletedEvent
    | ModelItemTruncatedEvent
    | ModelItemRetrievedEvent
    | ModelSessionUpdatedEvent
    | ModelReconnectingEvent
    | ModelReconnectedEvent
    | ModelErrorEvent
)

_CLASSES = classes_by_type(ModelEvent)


def from_json(frame: dict[str, Any]) -> ModelEvent:
    """Return the event of a JSON object. Raises ValueError for any other object."""
    event: ModelEvent = read_event(frame, _CLASSES)
    return event
