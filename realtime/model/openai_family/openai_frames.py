"""Frames of OpenAI's realtime service (GA protocol), and its error codes' meanings.

Facts: the official SDK's types (3.54) and recordings of the service.
"""

from __future__ import annotations

from typing import Any

import msgspec

from realtime.model.openai_family import frames


class WireTurnDetection(frames.Value):
    type: str | None = None
    prefix_padding_ms: int | None = None
    silence_duration_ms: int | None = None


class WireInput(frames.Value):
    transcription: dict[str, Any] | None = None
    turn_detection: WireTurnDetection | None = None


class WireOutput(frames.Value):
    voice: str | dict[str, Any] | None = None


class WireAudio(frames.Value):
    input: WireInput | None = None
    output: WireOutput | None = None


class WireSession(frames.Value):
    id: str = ""
    model: str | None = None
    instructions: str | None = None
    output_modalities: list[str] | None = None
    audio: WireAudio | None = None
    tools: list[frames.WireFunction] | None = None
    max_output_tokens: int | str | None = None
    expires_at: int | None = None


class WireUsage(frames.WireUsage):
    input_details: frames.WireTokens | None = msgspec.field(name="input_token_details", default=None)
    output_details: frames.WireTokens | None = msgspec.field(name="output_token_details", default=None)


class WireResponse(frames.WireResponse, kw_only=True):
    id: str
    modalities: list[str] | None = msgspec.field(name="output_modalities", default=None)
    usage: WireUsage | None = None
    conversation_id: str | msgspec.UnsetType | None = msgspec.UNSET
    """None beside the conversation; compatible services leave it out."""
    metadata: dict[str, Any] | None = None


class SessionCreated(frames.ReadFrame, tag="session.created"):
    session: WireSession = msgspec.field(default_factory=WireSession)


class SessionUpdated(frames.ReadFrame, tag="session.updated"):
    session: WireSession = msgspec.field(default_factory=WireSession)


class ItemAdded(frames.ReadFrame, tag="conversation.item.added"):
    item: frames.WireItem
    previous_item_id: str | None = None


class ItemDone(frames.ReadFrame, tag="conversation.item.done"):
    item: frames.WireItem
    previous_item_id: str | None = None


class ItemTruncated(frames.ReadFrame, tag="conversation.item.truncated"):
    item_id: str
    content_index: int = 0
    audio_end_ms: int = 0


class TranscriptionDelta(frames.ReadFrame, tag="conversation.item.input_audio_transcription.delta"):
    item_id: str
    delta: str | None = None
    content_index: int | None = None


class TranscriptionUpdated(frames.ReadFrame, tag="conversation.item.input_audio_transcription.updated"):
    """xAI's: all words so far, which may correct those before."""

    item_id: str
    transcript: str = ""
    content_index: int | None = None


class TranscriptionCompleted(frames.ReadFrame, tag="conversation.item.input_audio_transcription.completed"):
    item_id: str
    transcript: str
    content_index: int = 0
    usage: WireUsage | None = None


class ResponseCreated(frames.ReadFrame, tag="response.created"):
    response: WireResponse


class ResponseDone(frames.ReadFrame, tag="response.done"):
    response: WireResponse


class AudioDelta(frames.AudioDelta, tag="response.output_audio.delta"):
    pass


class AudioDone(frames.AudioDone, tag="response.output_audio.done"):
    pass


class TranscriptDelta(frames.TranscriptDelta, tag="response.output_audio_transcript.delta"):
    pass


class TranscriptDone(frames.TranscriptDone, tag="response.output_audio_transcript.done"):
    pass


class TextDelta(frames.TextDelta, tag="response.output_text.delta"):
    pass


class TextDone(frames.TextDone, tag="response.output_text.done"):
    pass


Own = (
    TranscriptionDelta
    | TranscriptionUpdated
    | ItemAdded
    | ItemDone
    | ResponseCreated
    | ResponseDone
    | TranscriptionCompleted
    | ItemTruncated
    | SessionCreated
    | SessionUpdated
)
"""What this service alone sends, or in its own shape."""

VOICE_STAYS = (
    "OpenAI keeps the voice of a session once it has spoken: the other settings hold now, the voice from the next "
    "connection on."
)

# A client's request caused these.
_CLIENT_FAULTS = (
    "input_audio_buffer_commit_empty",
    "conversation_already_has_active_response",
    "item_truncate_invalid_item_id",
    "item_retrieve_invalid_item_id",
    "item_delete_invalid_item_id",
    "cannot_update_voice",
    "invalid_value",
    "unsupported_content_type",
    "bad_response_create",
)
# The key, the model and the frames are ours.
_SERVER_FAULTS = (
    "invalid_api_key",
    "beta_api_shape_disabled",
    "model_not_found",
    "unknown_parameter",
    "invalid_type",
    "missing_required_parameter",
    "invalid_event",
)
_RETRYABLE = (
    "rate_limit_exceeded",
    "inference_rate_limit_exceeded",
    "server_error",
    "overloaded",
    "conversation_already_has_active_response",
)


def meaning_of(error: frames.WireError) -> frames.Meaning:
    """What the error means, by its code, else by its type."""
    code = error.code or error.type or "provider_error"
    if code in _CLIENT_FAULTS:
        return frames.Meaning(code, "client_error", code in _RETRYABLE)
    return frames.Meaning(code, "server_error" if code in _SERVER_FAULTS else "provider_error", code in _RETRYABLE)


FLAVOUR = frames.Flavour(
    Own | frames.Alike | AudioDelta | AudioDone | TranscriptDelta | TranscriptDone | TextDelta | TextDone,
    audio_delta=AudioDelta,
    silent=frozenset(
        {
            # Items are read from `added` and `done`, a call from `response.output_item.done`.
            "conversation.created",
            "conversation.item.created",
            "response.function_call_arguments.done",
            # The vocabulary has no word for WebRTC and SIP playback, keypad tones and speaker labels.
            "output_audio_buffer.started",
            "output_audio_buffer.stopped",
            "output_audio_buffer.cleared",
            "input_audio_buffer.timeout_triggered",
            "input_audio_buffer.dtmf_event_received",
            "conversation.item.input_audio_transcription.segment",
            # xAI's sign of life.
            "ping",
        }
    ),
    meaning_of=meaning_of,
    # The response ended while our cancel was on its way; the service closes after an hour, and the call continues over
    # another connection.
    no_error=frozenset({"response_cancel_not_active", "session_expired"}),
    fatal={
        "invalid_api_key": "the provider refused the API key",
        "beta_api_shape_disabled": "the provider no longer takes the beta protocol",
        "model_not_found": "the provider knows no such model",
        "insufficient_quota": "the provider account has no quota left",
        "account_deactivated": "the provider account is deactivated",
        "billing_hard_limit_reached": "the provider account has reached its billing limit",
    },
    max_id_chars=32,
    of_others=frozenset({"ping", "conversation.item.input_audio_transcription.updated"}),
)
