"""What OpenAI's realtime service (GA protocol) says on the wire: the frames and the fields we read, the error codes.

Facts: the official SDK's types (3.54) and recordings of the service.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec


class _Read(msgspec.Struct, tag_field="type"):
    """A frame from the service. Fields that are not named are not read."""


class _Value(msgspec.Struct):
    """A value inside a frame."""


class WireTurnDetection(_Value):
    type: str | None = None
    prefix_padding_ms: int | None = None
    silence_duration_ms: int | None = None


class WireInput(_Value):
    transcription: dict[str, Any] | None = None
    turn_detection: WireTurnDetection | None = None


class WireOutput(_Value):
    voice: str | dict[str, Any] | None = None


class WireAudio(_Value):
    input: WireInput | None = None
    output: WireOutput | None = None


class WireTool(_Value):
    name: str | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None


class WireSession(_Value):
    id: str = ""
    model: str | None = None
    instructions: str | None = None
    output_modalities: list[str] | None = None
    audio: WireAudio | None = None
    tools: list[WireTool] | None = None
    max_output_tokens: int | str | None = None
    expires_at: int | None = None


class WirePart(_Value):
    type: str
    text: str | None = None
    transcript: str | None = None
    image_url: str | None = None


class WireItem(_Value):
    type: str
    id: str = ""
    role: str | None = None
    status: str | None = None
    content: list[WirePart] | None = None
    name: str | None = None
    call_id: str | None = None
    arguments: str | None = None
    output: str | None = None


class WireTokens(_Value):
    text_tokens: int | None = None
    audio_tokens: int | None = None
    image_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class WireUsage(_Value):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_token_details: WireTokens | None = None
    output_token_details: WireTokens | None = None


class WireResponse(_Value):
    id: str
    status: str | None = None
    status_details: dict[str, Any] | None = None
    output_modalities: list[str] | None = None
    conversation_id: str | None = None
    usage: WireUsage | None = None
    metadata: dict[str, Any] | None = None


class WireError(_Value):
    type: str | None = None
    code: str | None = None
    message: str | None = None


class SessionCreated(_Read, tag="session.created"):
    session: WireSession = msgspec.field(default_factory=WireSession)


class SessionUpdated(_Read, tag="session.updated"):
    session: WireSession = msgspec.field(default_factory=WireSession)


class SpeechStarted(_Read, tag="input_audio_buffer.speech_started"):
    item_id: str
    audio_start_ms: int


class SpeechStopped(_Read, tag="input_audio_buffer.speech_stopped"):
    item_id: str
    audio_end_ms: int


class Committed(_Read, tag="input_audio_buffer.committed"):
    item_id: str
    previous_item_id: str | None = None


class Cleared(_Read, tag="input_audio_buffer.cleared"):
    pass


class ItemAdded(_Read, tag="conversation.item.added"):
    item: WireItem
    previous_item_id: str | None = None


class ItemDone(_Read, tag="conversation.item.done"):
    item: WireItem
    previous_item_id: str | None = None


class ItemRetrieved(_Read, tag="conversation.item.retrieved"):
    item: WireItem


class ItemTruncated(_Read, tag="conversation.item.truncated"):
    item_id: str
    content_index: int = 0
    audio_end_ms: int = 0


class ItemDeleted(_Read, tag="conversation.item.deleted"):
    item_id: str


class TranscriptionDelta(_Read, tag="conversation.item.input_audio_transcription.delta"):
    item_id: str
    delta: str | None = None
    content_index: int | None = None


class TranscriptionCompleted(_Read, tag="conversation.item.input_audio_transcription.completed"):
    item_id: str
    transcript: str
    content_index: int = 0
    usage: WireUsage | None = None


class TranscriptionFailed(_Read, tag="conversation.item.input_audio_transcription.failed"):
    item_id: str
    error: WireError = msgspec.field(default_factory=WireError)
    content_index: int = 0


class ResponseCreated(_Read, tag="response.created"):
    response: WireResponse


class ResponseDone(_Read, tag="response.done"):
    response: WireResponse


class OutputItemAdded(_Read, tag="response.output_item.added"):
    response_id: str
    item: WireItem
    output_index: int = 0


class OutputItemDone(_Read, tag="response.output_item.done"):
    response_id: str
    item: WireItem
    output_index: int = 0


class _Part(_Read):
    response_id: str
    item_id: str
    output_index: int = 0
    content_index: int = 0


class AudioDelta(_Part, tag="response.output_audio.delta", kw_only=True):
    delta: str


class AudioDone(_Part, tag="response.output_audio.done", kw_only=True):
    pass


class TranscriptDelta(_Part, tag="response.output_audio_transcript.delta", kw_only=True):
    delta: str


class TranscriptDone(_Part, tag="response.output_audio_transcript.done", kw_only=True):
    transcript: str = ""


class TextDelta(_Part, tag="response.output_text.delta", kw_only=True):
    delta: str


class TextDone(_Part, tag="response.output_text.done", kw_only=True):
    text: str = ""


class ArgumentsDelta(_Part, tag="response.function_call_arguments.delta", kw_only=True):
    call_id: str
    delta: str


class Failed(_Read, tag="error"):
    error: WireError = msgspec.field(default_factory=WireError)


Received = (
    TranscriptDelta
    | TextDelta
    | ArgumentsDelta
    | TranscriptionDelta
    | AudioDelta
    | AudioDone
    | TranscriptDone
    | TextDone
    | ItemAdded
    | ItemDone
    | OutputItemAdded
    | OutputItemDone
    | ResponseCreated
    | ResponseDone
    | SpeechStarted
    | SpeechStopped
    | Committed
    | Cleared
    | TranscriptionCompleted
    | TranscriptionFailed
    | ItemTruncated
    | ItemDeleted
    | ItemRetrieved
    | SessionCreated
    | SessionUpdated
    | Failed
)

READ = msgspec.json.Decoder(Received)
READ_AUDIO_DELTA = msgspec.json.Decoder(AudioDelta)

SILENT = frozenset(
    {
        # Said twice: the parts by the deltas and `.done` events, the call by `response.output_item.done`.
        "conversation.created",
        "conversation.item.created",
        "response.content_part.added",
        "response.content_part.done",
        "response.function_call_arguments.done",
        # Nothing in the vocabulary: quotas, WebRTC and SIP playback, keypad tones, speaker labels, remote MCP tools.
        "rate_limits.updated",
        "output_audio_buffer.started",
        "output_audio_buffer.stopped",
        "output_audio_buffer.cleared",
        "input_audio_buffer.timeout_triggered",
        "input_audio_buffer.dtmf_event_received",
        "conversation.item.input_audio_transcription.segment",
        "mcp_list_tools.in_progress",
        "mcp_list_tools.completed",
        "mcp_list_tools.failed",
        "response.mcp_call_arguments.delta",
        "response.mcp_call_arguments.done",
        "response.mcp_call.in_progress",
        "response.mcp_call.completed",
        "response.mcp_call.failed",
    }
)
"""Types that are known and need no event."""

BY_TYPE: dict[str, type[Received]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Received)}
ALL_TYPES = SILENT | BY_TYPE.keys()

Fault = Literal["client_error", "provider_error", "server_error"]

NO_ERROR = frozenset({"response_cancel_not_active", "session_expired"})
"""The response ended while our cancel was on its way; the service closes after an hour, and the call goes on over
another connection: both are as they should be."""

VOICE_STAYS = (
    "OpenAI keeps the voice of a session once it has spoken: the other settings hold now, the voice from the next "
    "connection on."
)

_CLIENT_FAULTS = frozenset(
    {
        "input_audio_buffer_commit_empty",
        "conversation_already_has_active_response",
        "item_truncate_invalid_item_id",
        "item_retrieve_invalid_item_id",
        "item_delete_invalid_item_id",
        "cannot_update_voice",
        "invalid_value",
        "unsupported_content_type",
        "bad_response_create",
    }
)
"""They answer something a client asked for."""

_SERVER_FAULTS = frozenset(
    {
        "invalid_api_key",
        "beta_api_shape_disabled",
        "model_not_found",
        "unknown_parameter",
        "invalid_type",
        "missing_required_parameter",
        "invalid_event",
    }
)
"""The key, the model or the frames are ours."""

RETRYABLE = frozenset(
    {
        "rate_limit_exceeded",
        "inference_rate_limit_exceeded",
        "server_error",
        "overloaded",
        "conversation_already_has_active_response",
    }
)

FATAL = {
    "invalid_api_key": "the provider refused the API key",
    "beta_api_shape_disabled": "the provider no longer takes the beta protocol",
    "model_not_found": "the provider knows no such model",
    "insufficient_quota": "the provider account has no quota left",
    "account_deactivated": "the provider account is deactivated",
    "billing_hard_limit_reached": "the provider account has reached its billing limit",
}
"""Errors after which dialling again cannot help, with our own sentence: the service's may quote part of the key."""


def fault_of(code: str) -> Fault:
    """Whose fault an error with this code is."""
    if code in _CLIENT_FAULTS:
        return "client_error"
    return "server_error" if code in _SERVER_FAULTS else "provider_error"
