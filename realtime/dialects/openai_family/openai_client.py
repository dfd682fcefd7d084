"""The eleven frames of OpenAI realtime clients: typed as strictly as by the service.

Source: API reference and recorded sessions of the GA protocol. Nothing here is shared with the codec that speaks to the
service itself.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from realtime.dialects.openai_family import g711
from realtime.dialects.openai_family.client import (
    BufferAppend,
    BufferClear,
    BufferCommit,
    EventRefusal,
    Frame,
    ItemDelete,
    ItemRetrieve,
    Json,
    Reader,
    bytes_of,
    invalid,
    split_path,
)
from realtime.event.base import AudioFormat, ContentPart, Item
from realtime.event.halves import decoded
from realtime.message import ToolCallBlock, ToolResultBlock

T = TypeVar("T")

RATE_HZ = 24_000


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An object in which an unknown key is an error."""


class Format(_Strict, frozen=True, kw_only=True):
    """How audio is encoded: pcm16 at 24 kHz, or G.711 at 8 kHz."""

    type: Literal["audio/pcm", "audio/pcmu", "audio/pcma"]
    rate: int | None = None


class NoiseReduction(_Strict, frozen=True, kw_only=True):
    type: Literal["near_field", "far_field"]
    strength: float | UnsetType = UNSET


class Transcription(_Strict, frozen=True, kw_only=True):
    model: str | UnsetType | None = UNSET
    language: str | UnsetType | None = UNSET
    languages: list[str] | UnsetType | None = UNSET
    keywords: list[str] | UnsetType | None = UNSET
    prompt: str | UnsetType | None = UNSET
    delay: str | UnsetType | None = UNSET


class ServerVad(_Strict, frozen=True, kw_only=True, tag_field="type", tag="server_vad"):
    threshold: Annotated[float, msgspec.Meta(ge=0, le=1)] | UnsetType | None = UNSET
    prefix_padding_ms: Annotated[int, msgspec.Meta(ge=0)] | UnsetType | None = UNSET
    silence_duration_ms: Annotated[int, msgspec.Meta(ge=0)] | UnsetType | None = UNSET
    idle_timeout_ms: int | UnsetType | None = UNSET
    create_response: bool | UnsetType | None = UNSET
    interrupt_response: bool | UnsetType | None = UNSET


class SemanticVad(_Strict, frozen=True, kw_only=True, tag_field="type", tag="semantic_vad"):
    eagerness: Literal["low", "medium", "high", "auto"] | UnsetType | None = UNSET
    create_response: bool | UnsetType | None = UNSET
    interrupt_response: bool | UnsetType | None = UNSET


class VoiceId(_Strict, frozen=True, kw_only=True):
    id: str


class AudioInput(_Strict, frozen=True, kw_only=True):
    format: Format | UnsetType | None = UNSET
    noise_reduction: NoiseReduction | UnsetType | None = UNSET
    transcription: Transcription | UnsetType | None = UNSET
    turn_detection: ServerVad | SemanticVad | UnsetType | None = UNSET


class AudioOutput(_Strict, frozen=True, kw_only=True):
    format: Format | UnsetType | None = UNSET
    voice: str | VoiceId | UnsetType | None = UNSET
    speed: Annotated[float, msgspec.Meta(ge=0.25, le=1.5)] | UnsetType | None = UNSET


class Audio(_Strict, frozen=True, kw_only=True):
    input: AudioInput | UnsetType = UNSET
    output: AudioOutput | UnsetType = UNSET


class FunctionTool(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


ToolChoice = Literal["auto", "none", "required"] | dict[str, Any]
OutputModality = Literal["audio", "text"]
MaxTokens = Annotated[int, msgspec.Meta(ge=1)] | Literal["inf"]


class Session(_Strict, frozen=True, kw_only=True):
    """The settings that `session.update` changes; a key that is missing keeps its value."""

    type: Literal["realtime", "transcription"]
    model: str | UnsetType | None = UNSET
    instructions: str | UnsetType | None = UNSET
    output_modalities: list[OutputModality] | UnsetType | None = UNSET
    audio: Audio | UnsetType = UNSET
    tools: list[Json] | UnsetType | None = UNSET
    tool_choice: ToolChoice | UnsetType | None = UNSET
    parallel_tool_calls: bool | UnsetType | None = UNSET
    reasoning: dict[str, Any] | UnsetType | None = UNSET
    max_output_tokens: MaxTokens | UnsetType | None = UNSET
    truncation: Literal["auto", "disabled"] | dict[str, Any] | UnsetType | None = UNSET
    tracing: Literal["auto"] | dict[str, Any] | UnsetType | None = UNSET
    prompt: dict[str, Any] | UnsetType | None = UNSET
    include: list[str] | UnsetType | None = UNSET


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a message."""

    type: Literal["input_text", "input_audio", "input_image", "output_text", "output_audio", "text", "audio"]
    text: str | None = None
    transcript: str | None = None
    image_url: str | None = None
    audio: str | None = None


class WireItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item as a client writes it."""

    type: Literal["message", "function_call", "function_call_output", "item_reference"] = "message"
    id: str | None = None
    role: Literal["user", "assistant", "system"] | None = None
    content: list[Content] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    output: str | None = None


class ResponseAudio(msgspec.Struct, frozen=True, kw_only=True):
    output: AudioOutput | UnsetType = UNSET


class Response(_Strict, frozen=True, kw_only=True):
    """The settings of one response."""

    instructions: str | None = None
    output_modalities: list[OutputModality] | None = None
    audio: ResponseAudio | None = None
    tools: list[Json] | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    reasoning: dict[str, Any] | None = None
    max_output_tokens: MaxTokens | None = None
    prompt: dict[str, Any] | None = None
    conversation: Literal["auto", "none"] | None = None
    input: list[WireItem] | None = None
    metadata: dict[str, str] | None = None


class SessionUpdate(Frame, frozen=True, kw_only=True, tag="session.update"):
    session: Session


class OutputBufferClear(Frame, frozen=True, kw_only=True, tag="output_audio_buffer.clear"):
    pass


class ItemCreate(Frame, frozen=True, kw_only=True, tag="conversation.item.create"):
    item: WireItem
    previous_item_id: str | None = None


class ItemTruncate(Frame, frozen=True, kw_only=True, tag="conversation.item.truncate"):
    item_id: str
    audio_end_ms: Annotated[int, msgspec.Meta(ge=0, le=2**53)]
    content_index: int = 0


class ResponseCreate(Frame, frozen=True, kw_only=True, tag="response.create"):
    response: Response | None = None


class ResponseCancel(Frame, frozen=True, kw_only=True, tag="response.cancel"):
    response_id: str | None = None


ClientFrame = (
    SessionUpdate
    | BufferAppend
    | BufferCommit
    | BufferClear
    | OutputBufferClear
    | ItemCreate
    | ItemRetrieve
    | ItemTruncate
    | ItemDelete
    | ResponseCreate
    | ResponseCancel
)


def read_as(kind: type[T], body: bytes) -> T:
    """The body of a request, typed. Raises EventRefusal as a `Reader` does."""
    try:
        return decoded(msgspec.json.Decoder(kind).decode, body)
    except msgspec.ValidationError as error:
        raise wrong_value(*split_path(str(error))) from error
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise invalid("The body is not valid JSON.") from error


def _media_chars(read: ClientFrame) -> tuple[int, int]:
    sound = len(read.audio) if isinstance(read, BufferAppend) else 0
    parts = (read.item.content or ()) if isinstance(read, ItemCreate) else ()
    sound += sum(len(part.audio or "") for part in parts)
    return sound, sum(len(part.image_url or "") for part in parts)


def _refusal_of(text: str, path: str, kind: str, event_id: str | None) -> EventRefusal:
    if path == "type":
        message = f"Invalid value: {kind[:64]!r}. It is not an event that a client may send."
        return EventRefusal(message, code="invalid_event", param="type", event_id=event_id)
    return wrong_value(text, path, event_id)


def wrong_value(text: str, path: str, event_id: str | None = None) -> EventRefusal:
    code = "invalid_type" if text.startswith("Expected `") and ", got `" in text else "invalid_value"
    if named := re.match(r"^Object (contains unknown|missing required) field `(.*)`", text):
        path = f"{path}.{named[2]}" if path else named[2]
        if named[1] == "contains unknown":
            return EventRefusal(
                f"Unknown parameter: '{path}'.", code="unknown_parameter", param=path, event_id=event_id
            )
        message = f"Missing required parameter: '{path}'."
        return EventRefusal(message, code="missing_required_parameter", param=path, event_id=event_id)
    return EventRefusal(f"Invalid '{path}': {text}.", code=code, param=path or None, event_id=event_id)


READER: Reader[ClientFrame] = Reader(
    ClientFrame,
    malformed="invalid_event",
    too_long="string_above_max_length",
    refusal_of=_refusal_of,
    media_chars=_media_chars,
)


# -- items -------------------------------------------------------------------------------------------------------------


def item_of(
    wire: WireItem, item_id: str, tool_name: str = "", param: str = "item", encoding: str | None = None
) -> Item:
    """The item of the call.

    `tool_name` is that of the call which a result settles, `encoding` that of sound; `None` refuses sound. Raises
    EventRefusal.
    """
    match wire.type:
        case "message":
            if wire.role is None:
                raise _missing(f"{param}.role")
            parts = tuple(
                _part(part, f"{param}.content[{place}]", encoding) for place, part in enumerate(wire.content or ())
            )
            return Item(id=item_id, role=wire.role, content=parts)
        case "function_call":
            if wire.name is None:
                raise _missing(f"{param}.name")
            call = ToolCallBlock(id=wire.call_id or item_id, name=wire.name, input=wire.arguments or "{}")
            return Item(id=item_id, type="tool_call", tool_call=call)
        case "function_call_output":
            if wire.call_id is None:
                raise _missing(f"{param}.call_id")
            result = ToolResultBlock(id=wire.call_id, name=tool_name, output=wire.output or "")
            return Item(id=item_id, type="tool_result", tool_result=result)
        case _:
            raise invalid("An item reference belongs into the input of a response.", f"{param}.type")


def _missing(param: str) -> EventRefusal:
    return EventRefusal(f"Missing required parameter: '{param}'.", code="missing_required_parameter", param=param)


def _part(part: Content, param: str, encoding: str | None) -> ContentPart:
    if part.type == "input_audio" and part.audio is not None and encoding is not None:
        audio, audio_format = _sound(part.audio, encoding, f"{param}.audio")
        return ContentPart(type="audio", transcript=part.transcript, audio=audio, format=audio_format)
    if part.type == "input_image":
        return _image(part.image_url or "", f"{param}.image_url")
    if part.text is not None:
        return ContentPart(type="text", text=part.text)
    if part.transcript is not None:
        if part.type == "input_audio":
            return ContentPart(type="audio", transcript=part.transcript)
        return ContentPart(type="text", text=part.transcript)
    if part.type == "input_audio":
        raise EventRefusal(
            "There is neither audio nor a transcript that can be taken here.",
            code="unsupported_content_type",
            param=f"{param}.type",
        )
    raise _missing(f"{param}.text")


def _sound(data: str, encoding: str, param: str) -> tuple[bytes, AudioFormat]:
    audio = bytes_of(data, param, "The audio is not valid base64.")
    if encoding in g711.SUBTYPES:
        return g711.decode(audio, encoding), AudioFormat.pcm16(g711.RATE_HZ)
    return audio, AudioFormat.pcm16(RATE_HZ)


def _image(url: str, param: str) -> ContentPart:
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:image/") or not head.endswith(";base64"):
        raise invalid("An image is a data URI: data:image/jpeg;base64,...", param)
    image = bytes_of(data, param, "The image is not valid base64.")
    return ContentPart(type="image", image=image, media_type=head[len("data:") : -len(";base64")])
