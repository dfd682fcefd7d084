"""Fields that model and agent events share, written once per meaning.

`realtime.event.model` and `realtime.event.server` derive their classes from these; agent events add who said it and
its place in the log. A field that the provider does not have stays empty.
"""

from __future__ import annotations

from typing import Any

from realtime.event.base import (
    AudioFormat,
    ConversationMode,
    Event,
    Item,
    Modality,
    ResponseStatus,
    UsageDetail,
)
from realtime.event.reply import CustomEvent, ExceedMaxItersEvent, HintBlockEvent, ReplyEndEvent, RequestStopEvent
from realtime.message import ToolCallBlock

Report = HintBlockEvent | CustomEvent | ExceedMaxItersEvent | RequestStopEvent | ReplyEndEvent
"""What a thinking agent tells of a reply beside words and tools."""


class ResponseCreated(Event, frozen=True, kw_only=True):
    """A response begins. `status` is `in_progress`."""

    response_id: str
    status: ResponseStatus = "in_progress"
    status_details: dict[str, Any] | None = None
    output_modalities: tuple[Modality, ...] | None = None
    conversation: ConversationMode = "auto"
    metadata: dict[str, Any] | None = None
    usage_detail: UsageDetail | None = None


class ResponseDone(Event, frozen=True, kw_only=True):
    """A response has ended. Sent exactly once, also when cancelled or failed (see `status`).

    `grounding` holds the searches behind the response, in the provider's own format.
    """

    response_id: str
    input_tokens: int = 0
    output_tokens: int = 0
    metadata: dict[str, Any] | None = None
    status: ResponseStatus = "completed"
    status_details: dict[str, Any] | None = None
    output_modalities: tuple[Modality, ...] | None = None
    conversation: ConversationMode = "auto"
    usage_detail: UsageDetail | None = None
    grounding: dict[str, Any] | None = None


class ResponsePart(Event, frozen=True, kw_only=True):
    """A place in a response. Several responses can run at once: key all state by these ids."""

    response_id: str
    item_id: str
    output_index: int = 0
    content_index: int = 0


class ResponseAudioDelta(ResponsePart, frozen=True, kw_only=True):
    """A chunk of speech: `delta` is pcm16 bytes (base64 in JSON) of any even length, at the rate of `format`."""

    delta: bytes
    format: AudioFormat


class ResponseAudioDone(ResponsePart, frozen=True, kw_only=True):
    """The speech of this part is complete."""


class ResponseAudioTranscriptDelta(ResponsePart, frozen=True, kw_only=True):
    """The next piece of the spoken words.

    At the first words of a response, `ready_ms` says how long before this its `first_token` and its `first_sentence`
    were there, where they waited for their sound.
    """

    delta: str
    ready_ms: dict[str, int] | None = None


class ResponseAudioTranscriptDone(ResponsePart, frozen=True, kw_only=True):
    """The transcript is complete: `transcript` is the full text (after a barge-in: what was heard).

    `language` is its BCP-47 code, where the provider reports it.
    """

    transcript: str = ""
    language: str | None = None


class ResponseTextDelta(ResponsePart, frozen=True, kw_only=True):
    """The next piece of a text-only response."""

    delta: str


class ResponseTextDone(ResponsePart, frozen=True, kw_only=True):
    """The text-only response is complete."""

    text: str = ""


class ResponseThinkingDelta(ResponsePart, frozen=True, kw_only=True):
    """The next piece of the model's thinking: never spoken, and in no transcript. Has an `item_id` of its own."""

    delta: str


class ResponseThinkingDone(ResponsePart, frozen=True, kw_only=True):
    """The thinking of this item is complete: `thinking` is all of it."""

    thinking: str = ""


class ResponseReport(Event, frozen=True, kw_only=True):
    """A thinking agent behind the voice tells more than words: `report` is its reply event.

    That is a hint that it has read, a signal of its program, its limit of rounds, a request to stop, or its end where
    that is not `completed`. It may come after the response, while a tool runs.
    """

    response_id: str
    report: Report


class ResponseToolUseDelta(ResponsePart, frozen=True, kw_only=True):
    """A fragment of a tool call's arguments: `delta` is new, `tool_use.input` all of it so far."""

    tool_use: ToolCallBlock
    delta: str = ""


class ResponseToolUseDone(ResponsePart, frozen=True, kw_only=True):
    """The tool call is complete; `tool_use.input` is the whole JSON text."""

    tool_use: ToolCallBlock


class InputTranscriptionDelta(Event, frozen=True, kw_only=True):
    """The next piece of the user's words.

    `interim` is a guess at the words after all deltas so far: each event replaces the guess of the one before, and an
    event without it withdraws the guess. An event that only guesses has an empty `delta`.
    """

    item_id: str
    delta: str
    content_index: int = 0
    interim: str | None = None


class InputTranscriptionDone(Event, frozen=True, kw_only=True):
    """The complete words of the user in this item. `language` is their BCP-47 code, where the provider reports it."""

    item_id: str
    transcript: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    content_index: int = 0
    language: str | None = None


class InputTranscriptionFailed(Event, frozen=True, kw_only=True):
    """The user's speech could not be transcribed; the model may still have understood it."""

    item_id: str
    code: str
    message: str
    content_index: int = 0


class InputStarted(Event, frozen=True, kw_only=True):
    """The user began to speak: `audio_start_ms` of the client's audio stream (start of voice, no padding)."""

    item_id: str
    audio_start_ms: int


class InputDone(Event, frozen=True, kw_only=True):
    """The user stopped speaking: `audio_end_ms` of the client's audio stream (end of voice, without the silence)."""

    item_id: str
    audio_end_ms: int


class InputCommitted(Event, frozen=True, kw_only=True):
    """The input audio so far became the user item `item_id`."""

    item_id: str
    previous_item_id: str | None = None


class InputCleared(Event, frozen=True, kw_only=True):
    """The input audio not yet committed was dropped."""


class ItemAdded(Event, frozen=True, kw_only=True):
    """An item entered the conversation after `previous_item_id` (empty: first, or unknown)."""

    item: Item
    previous_item_id: str | None = None


class ItemDone(Event, frozen=True, kw_only=True):
    """The item is final."""

    item: Item
    previous_item_id: str | None = None


class ItemDeleted(Event, frozen=True, kw_only=True):
    """The item was deleted from the conversation."""

    item_id: str


class ItemTruncated(Event, frozen=True, kw_only=True):
    """The item was cut after `audio_end_ms` of its audio; `transcript` is what was heard, where known."""

    item_id: str
    content_index: int = 0
    audio_end_ms: int = 0
    transcript: str | None = None


class ItemRetrieved(Event, frozen=True, kw_only=True):
    """The answer to a request for one item."""

    item: Item


class SessionUpdated(Event, frozen=True, kw_only=True):
    """The effective settings of the model's session after a change. Holds no secrets."""

    settings: dict[str, Any]


class Reconnecting(Event, frozen=True, kw_only=True):
    """The link to the model was lost; try number `attempt` starts in `retry_after_ms`."""

    attempt: int
    retry_after_ms: int
    reason: str


class Reconnected(Event, frozen=True, kw_only=True):
    """The link to the model and its context are restored, after `gap_ms`."""

    gap_ms: int


class Error(Event, frozen=True, kw_only=True):
    """Something went wrong; the call continues unless an ended event follows.

    `error_type` says whose fault it is (`client_error`, `provider_error`, `server_error`, `tool_error`), `code` is a
    stable word for programs, `message` a sentence for people. `client_event_id` is the `event_id` of the client event
    it answers. `retry_after_ms`: when the same request may work, where that is known.
    """

    error_type: str
    code: str
    message: str
    retryable: bool = False
    client_event_id: str | None = None
    retry_after_ms: int | None = None
