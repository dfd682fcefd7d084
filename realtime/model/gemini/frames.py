"""What Gemini Live (BidiGenerateContent) says on the wire: the keys and fields we read, and what its closes mean.

Every field is optional and several keys may share one frame. Facts: the official SDK's types (google-genai 3.4),
recordings of the service, and the close reasons that frameworks report.
"""

from __future__ import annotations

from typing import Any

import msgspec

from realtime.model.base import CloseVerdict


class _Read(msgspec.Struct, rename="camel"):
    """A part of a frame. Fields that are not named are not read."""


class Blob(_Read):
    data: str = ""
    mime_type: str = ""


class Part(_Read):
    """`thought` may have any type: a thought must not be taken for speech."""

    text: str | None = None
    thought: Any = None
    thought_signature: str | None = None
    inline_data: Blob | None = None


class Content(_Read):
    parts: list[Part] | None = None


class Transcription(_Read):
    text: str | None = None
    finished: bool | None = None
    language_code: str | None = None


class ServerContent(_Read, forbid_unknown_fields=True):
    """`url_context_metadata` and `waiting_for_input` are known and need no event."""

    model_turn: Content | None = None
    input_transcription: Transcription | None = None
    interim_input_transcription: Transcription | None = None
    output_transcription: Transcription | None = None
    generation_complete: bool | None = None
    turn_complete: bool | None = None
    turn_complete_reason: str | None = None
    interrupted: bool | None = None
    interaction_status: str | None = None
    grounding_metadata: dict[str, Any] | None = None
    url_context_metadata: Any = None
    waiting_for_input: Any = None


class SetupComplete(_Read):
    session_id: str | None = None


class PartialArg(_Read):
    """A piece of the arguments, at the place of a JSON path.

    Vertex only, as the SDK's types say.
    """

    json_path: str | None = None
    string_value: str | None = None
    number_value: float | None = None
    bool_value: bool | None = None
    will_continue: bool | None = None

    @property
    def value(self) -> str | float | bool | None:
        """The value; `None` if the frame has none."""
        if self.number_value is not None:
            return int(self.number_value) if self.number_value.is_integer() else self.number_value
        return self.string_value if self.string_value is not None else self.bool_value


class FunctionCall(_Read):
    """`will_continue`: more pieces of the same call follow."""

    id: str | None = None
    name: str | None = None
    args: dict[str, Any] | None = None
    partial_args: list[PartialArg] | None = None
    will_continue: bool | None = None


class ToolCall(_Read):
    function_calls: list[FunctionCall] | None = None


class ToolCallCancellation(_Read):
    ids: list[str] | None = None


class TokenCount(_Read):
    modality: str | None = None
    token_count: int | None = None


class Usage(_Read):
    """`candidates_token_count` is what Vertex calls `response_token_count`."""

    prompt_token_count: int | None = None
    cached_content_token_count: int | None = None
    response_token_count: int | None = None
    candidates_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    thoughts_token_count: int | None = None
    prompt_tokens_details: list[TokenCount] | None = None
    tool_use_prompt_tokens_details: list[TokenCount] | None = None
    response_tokens_details: list[TokenCount] | None = None
    candidates_tokens_details: list[TokenCount] | None = None


class GoAway(_Read):
    time_left: str | None = None


class ResumptionUpdate(_Read):
    new_handle: str | None = None
    resumable: bool | None = None
    last_consumed_client_message_index: int | str | None = None

    @property
    def last_index(self) -> int | None:
        """Of the last client message that the handle covers; None where that is not told. 64-bit numbers are text."""
        told = self.last_consumed_client_message_index
        if isinstance(told, str):
            return int(told) if told.isascii() and told.isdecimal() and len(told) < 20 else None
        return told


class VoiceActivity(_Read):
    voice_activity_type: str | None = None
    audio_offset: str | None = None


class VadSignal(_Read):
    vad_signal_type: str | None = None


class Failure(_Read):
    """Not part of the protocol: what proxies in between send."""

    code: int | str | None = None
    status: str | None = None


class Message(_Read, forbid_unknown_fields=True):
    """A frame from the service."""

    setup_complete: SetupComplete | None = None
    server_content: ServerContent | None = None
    tool_call: ToolCall | None = None
    tool_call_cancellation: ToolCallCancellation | None = None
    usage_metadata: Usage | None = None
    go_away: GoAway | None = None
    session_resumption_update: ResumptionUpdate | None = None
    voice_activity: VoiceActivity | None = None
    voice_activity_detection_signal: VadSignal | None = None
    error: Failure | None = None


FAILURES = {
    "UNAUTHENTICATED": ("invalid_api_key", "the provider refused the API key", False),
    "PERMISSION_DENIED": ("invalid_api_key", "the provider refused the API key", False),
    "NOT_FOUND": ("model_not_found", "the provider knows no such model", False),
    "INVALID_ARGUMENT": ("invalid_request", "the provider refused a message or a setting", False),
    "RESOURCE_EXHAUSTED": ("rate_limit_exceeded", "the provider account has no quota left for now", True),
    "UNAVAILABLE": ("provider_unavailable", "the provider is not available", True),
}
"""Code, sentence and whether a retry may help, by error status.

A retry may help after unlisted ones, too.
"""

_PHRASES = (
    ("api key", "UNAUTHENTICATED"),
    ("is not found for api version", "NOT_FOUND"),
    ("not supported for bidigeneratecontent", "NOT_FOUND"),
    ("quota", "RESOURCE_EXHAUSTED"),
    ("unavailable", "UNAVAILABLE"),
)
"""Parts of close reasons, at any close code: the same error has come with 1007, 1008, 1011 and 1013."""

_LINK_CODES = (1001, 1005, 1006, 1012, 1013, 1014, 1015)


def close_verdict(code: int | None, reason: str, *, was_open: bool) -> CloseVerdict:
    """What a close means. Its reason is not repeated: it may quote what was sent.

    A session that stood is always worth another dial, unless key, model or account are refused: what the service did
    not like was in a message that is not sent again.
    """
    said = reason.lower()
    for phrase, status in _PHRASES:
        if phrase in said:
            name, sentence, reconnect = FAILURES[status]
            return CloseVerdict(name, sentence, reconnect=reconnect)
    match code:
        case 1007:
            sentence = "the provider refused a message or a setting (close code 1007)"
            return CloseVerdict("invalid_request", sentence, reconnect=was_open)
        case 1008:
            return CloseVerdict("provider_closed", "the provider broke off (close code 1008)", reconnect=was_open)
        case 1011 if "deadline" in said:
            return CloseVerdict("session_expired", "the connection reached its maximum duration", reconnect=True)
        case 1011:
            return CloseVerdict("provider_failed", "the provider had an internal error", reconnect=True)
        case 1000:
            return CloseVerdict("closed", "the provider closed the session", reconnect=was_open)
        case _ if code is None or code in _LINK_CODES:
            return CloseVerdict("link_lost", f"the link to the model was lost (close code {code})", reconnect=True)
        case _:
            return CloseVerdict("provider_closed", f"the provider broke off (close code {code})", reconnect=False)
