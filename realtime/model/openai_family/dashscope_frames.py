"""What DashScope's Qwen-Omni service says on the wire: the frames and the fields we read, and what its errors mean.

The dialect is OpenAI's beta protocol with changes. Facts: the provider's documentation, its SDK (2.0), public clients.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple, get_args

import msgspec


class _Read(msgspec.Struct, tag_field="type"):
    """A frame from the service. Fields that are not named are not read."""


class _Value(msgspec.Struct):
    """A value inside a frame."""


class WireOutput(_Value):
    voice: str | None = None


class WireAudio(_Value):
    output: WireOutput | None = None


class WireFunction(_Value):
    name: str | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None


class WireTool(_Value):
    function: WireFunction | None = None


class WireSession(_Value):
    id: str = ""
    model: str | None = None
    modalities: list[str] | None = None
    voice: str | None = None
    audio: WireAudio | None = None
    instructions: str | None = None
    input_audio_transcription: dict[str, Any] | None = None
    turn_detection: dict[str, Any] | None = None
    tools: list[WireTool] | None = None
    temperature: float | None = None
    max_tokens: int | None = None


class WirePart(_Value):
    type: str
    text: str | None = None
    transcript: str | None = None


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


class WireUsage(_Value):
    """The details are plural (`input_tokens_details`) where OpenAI's are not."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: WireTokens | None = None
    output_tokens_details: WireTokens | None = None


class WireResponse(_Value):
    id: str | None = None
    status: str | None = None
    status_details: dict[str, Any] | None = None
    modalities: list[str] | None = None
    usage: WireUsage | None = None


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


class ItemCreated(_Read, tag="conversation.item.created"):
    item: WireItem
    previous_item_id: str | None = None


class ItemRetrieved(_Read, tag="conversation.item.retrieved"):
    item: WireItem


class ItemDeleted(_Read, tag="conversation.item.deleted"):
    item_id: str


class TranscriptionDelta(_Read, tag="conversation.item.input_audio_transcription.delta"):
    """Cumulative: `text` is all that is certain so far. The `stash`, a guess at the rest, changes and is not read."""

    item_id: str
    text: str | None = None
    content_index: int = 0


class TranscriptionCompleted(_Read, tag="conversation.item.input_audio_transcription.completed"):
    item_id: str
    transcript: str
    content_index: int = 0


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


class AudioDelta(_Part, tag="response.audio.delta", kw_only=True):
    delta: str


class AudioDone(_Part, tag="response.audio.done", kw_only=True):
    pass


class TranscriptDelta(_Part, tag="response.audio_transcript.delta", kw_only=True):
    delta: str


class TranscriptDone(_Part, tag="response.audio_transcript.done", kw_only=True):
    transcript: str = ""


class TextDelta(_Part, tag="response.text.delta", kw_only=True):
    delta: str


class TextDone(_Part, tag="response.text.done", kw_only=True):
    text: str = ""


class ArgumentsDelta(_Part, tag="response.function_call_arguments.delta", kw_only=True):
    call_id: str
    delta: str
    name: str | None = None


class ArgumentsDone(_Part, tag="response.function_call_arguments.done", kw_only=True):
    call_id: str
    name: str | None = None
    arguments: str | None = None


class Failed(_Read, tag="error"):
    error: WireError = msgspec.field(default_factory=WireError)


OfResponse = (
    AudioDelta
    | TranscriptDelta
    | TextDelta
    | ArgumentsDelta
    | ArgumentsDone
    | AudioDone
    | TranscriptDone
    | TextDone
    | OutputItemAdded
    | OutputItemDone
)
"""What belongs to a response."""

Received = (
    OfResponse
    | TranscriptionDelta
    | ItemCreated
    | ResponseCreated
    | ResponseDone
    | SpeechStarted
    | SpeechStopped
    | Committed
    | Cleared
    | TranscriptionCompleted
    | TranscriptionFailed
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
        # Said twice: the parts by the deltas and `.done` events, the end by the close.
        "response.content_part.added",
        "response.content_part.done",
        "session.finished",
        # Nothing in the vocabulary: quotas, remote MCP tools.
        "rate_limits.updated",
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


class Meaning(NamedTuple):
    """What an error of the service means: our code, whose fault, whether asking again helps."""

    code: str
    fault: Fault = "provider_error"
    retryable: bool = False


CANCELLED_NOTHING = Meaning("response_cancel_not_active", "client_error")
"""The response ended while our cancel was on its way: no error for anybody."""
IDLE = Meaning("response_idle_timeout", retryable=True)
"""The service closes a session in which nothing was answered for some minutes; a new one is opened."""

# `code` is often empty: the message says which error it is. Fragments in lower case.
_BY_MESSAGE = (
    ("none active response", CANCELLED_NOTHING),
    ("already has an active response", Meaning("conversation_already_has_active_response", "client_error", True)),
    ("cannot create response while user is speaking", Meaning("bad_response_create", "client_error", True)),
    ("not accepted by semantic turn detection", Meaning("bad_response_create", "client_error")),
    ("unknown function call id", Meaning("unknown_tool_call", "client_error")),
    ("append image before append audio", Meaning("image_before_audio", "client_error")),
    ("no response was generated for", IDLE),
    ("response timeout", Meaning("response_timeout", retryable=True)),
    ("response stream timeout", Meaning("response_timeout", retryable=True)),
    ("modelservingerror", Meaning("server_error", retryable=True)),
    ("internal service error", Meaning("server_error", retryable=True)),
)

# Those with a dot behind mean the same (`Throttling.RateQuota`, `AccessDenied.Unpurchased`).
_BY_CODE = {
    "response_idle_timeout": IDLE,
    "invalid_value": Meaning("invalid_value", "client_error"),
    "InvalidApiKey": Meaning("invalid_api_key", "server_error"),
    "AccessDenied": Meaning("access_denied", "server_error"),
    "InvalidParameter": Meaning("invalid_value", "client_error"),
    "Model": Meaning("model_not_found", "server_error"),
    "ModelNotFound": Meaning("model_not_found", "server_error"),
    "DataInspectionFailed": Meaning("content_refused", "client_error"),
    "Throttling": Meaning("rate_limit_exceeded", retryable=True),
    "Arrearage": Meaning("insufficient_quota"),
    "InternalError": Meaning("server_error", retryable=True),
    "ServiceUnavailable": Meaning("provider_unavailable", retryable=True),
    "GatewayTimeout": Meaning("provider_timeout", retryable=True),
}

FATAL = {
    "invalid_api_key": "the provider refused the API key",
    "access_denied": "the provider account may not use this model",
    "model_not_found": "the provider knows no such model",
    "insufficient_quota": "the provider account has an unpaid bill",
}
"""Errors after which dialling again cannot help, with our own sentence: the service's may quote part of the key."""


def meaning_of(error: WireError) -> Meaning:
    """What the error means, by code where there is one, else by message, else by its type."""
    known = _BY_CODE.get((error.code or "").partition(".")[0])
    if known is not None:
        return known
    message = (error.message or "").lower()
    for fragment, meaning in _BY_MESSAGE:
        if fragment in message:
            return meaning
    # `invalid_request_error` leaves the session standing, `server_error` ends it.
    return Meaning(_snake(error.code or error.type or "provider_error"), retryable=error.type == "server_error")


def meaning_of_close(reason: str) -> Meaning | None:
    """What a close reason means that names one of the gateway's codes."""
    names = re.findall(r"[A-Za-z]{5,}", reason)
    return next((_BY_CODE[name] for name in names if name in _BY_CODE and name != "Model"), None)


def _snake(name: str) -> str:
    return re.sub(r"\W+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)).strip("_").lower() or "provider_error"
