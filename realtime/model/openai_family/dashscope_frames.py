"""The frames of DashScope's Qwen-Omni service, and the meaning of its errors.

The dialect is OpenAI's beta protocol with changes. Facts: the provider's documentation, its SDK (2.0), public clients.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from realtime.model.openai_family import frames
from realtime.model.openai_family.frames import Meaning


class WireOutput(frames.Value):
    voice: str | None = None


class WireAudio(frames.Value):
    output: WireOutput | None = None


class WireTool(frames.Value):
    function: frames.WireFunction | None = None


class WireSession(frames.Value):
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


class WireUsage(frames.WireUsage):
    """The details are plural (`input_tokens_details`) where OpenAI's are not."""

    input_details: frames.WireTokens | None = msgspec.field(name="input_tokens_details", default=None)
    output_details: frames.WireTokens | None = msgspec.field(name="output_tokens_details", default=None)


class WireResponse(frames.WireResponse, kw_only=True):
    usage: WireUsage | None = None


class SessionCreated(frames.ReadFrame, tag="session.created"):
    session: WireSession = msgspec.field(default_factory=WireSession)


class SessionUpdated(frames.ReadFrame, tag="session.updated"):
    session: WireSession = msgspec.field(default_factory=WireSession)


class ItemCreated(frames.ReadFrame, tag="conversation.item.created"):
    item: frames.WireItem
    previous_item_id: str | None = None


class TranscriptionDelta(frames.ReadFrame, tag="conversation.item.input_audio_transcription.delta"):
    """Cumulative: `text` is all that is certain so far. The `stash`, a guess at the rest, changes and is not read."""

    item_id: str
    text: str | None = None
    content_index: int = 0


class TranscriptionCompleted(frames.ReadFrame, tag="conversation.item.input_audio_transcription.completed"):
    item_id: str
    transcript: str
    content_index: int = 0


class ResponseCreated(frames.ReadFrame, tag="response.created"):
    response: WireResponse


class ResponseDone(frames.ReadFrame, tag="response.done"):
    response: WireResponse


class AudioDelta(frames.AudioDelta, tag="response.audio.delta"):
    pass


class AudioDone(frames.AudioDone, tag="response.audio.done"):
    pass


class TranscriptDelta(frames.TranscriptDelta, tag="response.audio_transcript.delta"):
    pass


class TranscriptDone(frames.TranscriptDone, tag="response.audio_transcript.done"):
    pass


class TextDelta(frames.TextDelta, tag="response.text.delta"):
    pass


class TextDone(frames.TextDone, tag="response.text.done"):
    pass


class ArgumentsDone(frames.OfPart, tag="response.function_call_arguments.done", kw_only=True):
    call_id: str
    name: str | None = None
    arguments: str | None = None


Own = (
    TranscriptionDelta
    | ItemCreated
    | ResponseCreated
    | ResponseDone
    | TranscriptionCompleted
    | SessionCreated
    | SessionUpdated
    | ArgumentsDone
)
"""What this service alone sends, or in its own shape."""

CANCELLED_NOTHING = Meaning("response_cancel_not_active", "client_error")
"""The response ended while our cancel was on its way."""
IDLE = Meaning("response_idle_timeout", retryable=True)
"""The error of a session closed after idle minutes; a new one is opened."""

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


def meaning_of(error: frames.WireError) -> Meaning:
    """What the error means: by code, else by message, else by type."""
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


FLAVOUR = frames.Flavour(
    Own | frames.Alike | AudioDelta | AudioDone | TranscriptDelta | TranscriptDone | TextDelta | TextDone,
    audio_delta=AudioDelta,
    silent=frozenset({"session.finished"}),
    meaning_of=meaning_of,
    no_error=frozenset({CANCELLED_NOTHING.code, IDLE.code}),
    fatal={
        "invalid_api_key": "the provider refused the API key",
        "access_denied": "the provider account may not use this model",
        "model_not_found": "the provider knows no such model",
        "insufficient_quota": "the provider account has an unpaid bill",
    },
)
