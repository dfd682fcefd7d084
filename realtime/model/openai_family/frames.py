"""Frames and fields of all OpenAI-family services, and what a flavour adds.

A frame whose type or fields differ between services has a class in the module of each service, derived from one here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, get_args

import msgspec


class ReadFrame(msgspec.Struct, tag_field="type"):
    """A frame from the service. Fields that are not named are not read."""


class Value(msgspec.Struct):
    """A value inside a frame."""


class WireFunction(Value):
    name: str | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None


class WirePart(Value):
    type: str
    text: str | None = None
    transcript: str | None = None


class WireItem(Value):
    type: str
    id: str = ""
    role: str | None = None
    status: str | None = None
    content: list[WirePart] | None = None
    name: str | None = None
    call_id: str | None = None
    arguments: str | None = None
    output: str | None = None


class WireTokens(Value):
    text_tokens: int | None = None
    audio_tokens: int | None = None
    image_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class WireUsage(Value):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_details: WireTokens | None = None
    output_details: WireTokens | None = None


class WireResponse(Value, kw_only=True):
    id: str | None = None
    status: str | None = None
    status_details: dict[str, Any] | None = None
    modalities: list[str] | None = None
    usage: WireUsage | None = None


class WireError(Value):
    type: str | None = None
    code: str | None = None
    message: str | None = None


class SpeechStarted(ReadFrame, tag="input_audio_buffer.speech_started"):
    item_id: str
    audio_start_ms: int


class SpeechStopped(ReadFrame, tag="input_audio_buffer.speech_stopped"):
    item_id: str
    audio_end_ms: int


class Committed(ReadFrame, tag="input_audio_buffer.committed"):
    item_id: str
    previous_item_id: str | None = None


class Cleared(ReadFrame, tag="input_audio_buffer.cleared"):
    pass


class ItemRetrieved(ReadFrame, tag="conversation.item.retrieved"):
    item: WireItem


class ItemDeleted(ReadFrame, tag="conversation.item.deleted"):
    item_id: str


class TranscriptionFailed(ReadFrame, tag="conversation.item.input_audio_transcription.failed"):
    item_id: str
    error: WireError = msgspec.field(default_factory=WireError)
    content_index: int = 0


class OfResponse(ReadFrame):
    """A frame that belongs to a response."""

    response_id: str


class OutputItemAdded(OfResponse, tag="response.output_item.added"):
    item: WireItem
    output_index: int = 0


class OutputItemDone(OfResponse, tag="response.output_item.done"):
    item: WireItem
    output_index: int = 0


class OfPart(OfResponse):
    """A frame about a part of an item."""

    item_id: str
    output_index: int = 0
    content_index: int = 0


class AudioDelta(OfPart, kw_only=True):
    delta: str


class AudioDone(OfPart):
    pass


class TranscriptDelta(OfPart, kw_only=True):
    delta: str


class TranscriptDone(OfPart, kw_only=True):
    transcript: str = ""


class TextDelta(OfPart, kw_only=True):
    delta: str


class TextDone(OfPart, kw_only=True):
    text: str = ""


class ArgumentsDelta(OfPart, tag="response.function_call_arguments.delta", kw_only=True):
    call_id: str
    delta: str
    name: str | None = None


class Failed(ReadFrame, tag="error"):
    error: WireError = msgspec.field(default_factory=WireError)


OfVoice = SpeechStarted | SpeechStopped | Committed | Cleared | TranscriptionFailed
OfItems = ItemRetrieved | ItemDeleted | OutputItemAdded | OutputItemDone | ArgumentsDelta
Alike = OfVoice | OfItems | Failed
"""What every service sends under the same type."""
Common = Alike | TranscriptDelta | TextDelta | AudioDelta | AudioDone | TranscriptDone | TextDone
"""What every service sends, under its own type where that differs."""

SILENT = frozenset(
    {
        # The deltas and `.done` events say the same.
        "response.content_part.added",
        "response.content_part.done",
        # The vocabulary has no word for quotas and remote MCP tools.
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
"""Types of every service that need no event."""


class Meaning(NamedTuple):
    """What an error of a service means: our code, whose fault it is, whether asking again helps."""

    code: str
    fault: Literal["client_error", "provider_error", "server_error"] = "provider_error"
    retryable: bool = False


class Flavour:
    """What a service of the family sends, and what its errors mean."""

    def __init__(
        self,
        received: Any,
        *,
        audio_delta: type[AudioDelta],
        silent: frozenset[str],
        meaning_of: Callable[[WireError], Meaning],
        no_error: frozenset[str],
        fatal: Mapping[str, str],
        max_id_chars: int = sys.maxsize,
        of_others: frozenset[str] = frozenset(),
    ) -> None:
        """`received` is the union of its frames; `no_error` the codes of errors to ignore.

        `of_others` are those types that only other services with this protocol send.
        """
        self.read: Callable[[bytes], Any] = msgspec.json.Decoder(received).decode
        self.read_audio_delta: Callable[[bytes], AudioDelta] = msgspec.json.Decoder(audio_delta).decode
        self.audio_delta = f'"{audio_delta.__struct_config__.tag}"'.encode()
        """The type of an audio delta, as it stands in the frame."""
        self.by_type: dict[str, type[ReadFrame]] = {
            str(kind.__struct_config__.tag): kind for kind in get_args(received)
        }
        self.silent = SILENT | silent
        """Types that need no event."""
        self.all_types = (self.silent | self.by_type.keys()) - of_others
        """What the service itself sends."""
        self.meaning_of = meaning_of
        self.no_error = no_error
        self.fatal = fatal
        """Errors after which dialling again cannot help, with our own sentence: the service's may quote part of the
        key."""
        self.max_id_chars = max_id_chars
        """The longest id that the service takes."""
