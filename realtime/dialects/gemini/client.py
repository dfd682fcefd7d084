"""What Gemini Live clients send: the five messages, in both name styles, strictly typed where the service is strict.

Source: the official SDK's types and frames (google-genai 3.4), recorded sessions and the reference of the Live API.
Nothing here is shared with the codec that speaks to the service itself.
"""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal

import msgspec
import pybase64

from realtime.dialects.weight import MAX_TEXT_CHARS, too_long
from realtime.errors import ClientError
from realtime.event.base import SAMPLE_RATES_HZ, AudioFormat, ContentPart
from realtime.event.halves import decoded

Json = dict[str, Any]
Frame = str | bytes

DEFAULT_RATE_HZ = 16_000
MAX_TURNS = 1_000
"""Turns in one message: each becomes an item of the conversation."""
MAX_PARTS = 1_000
"""Parts of all turns in one message."""
MAX_MIME_TYPE_CHARS = 64
"""What `audio/pcm` means without a rate."""
INVALID = 1007
UNSUPPORTED = 1008
_PREFIX = {
    INVALID: "Request contains an invalid argument.",
    UNSUPPORTED: "Operation is not implemented, or supported, or enabled.",
}


class MessageRefusal(ClientError):
    """A frame that this protocol refuses: it has no error frames, the session ends with `close_code` and a reason."""

    def __init__(self, message: str, *, close_code: int = INVALID) -> None:
        super().__init__(message, code="not_supported" if close_code == UNSUPPORTED else "invalid_argument")
        self.close_code = close_code


def reason(close_code: int, message: str) -> str:
    """The close reason: the service's own sentence, then ours; at most the 123 bytes that a close frame takes."""
    return f"{_PREFIX[close_code]} {message}".encode()[:123].decode(errors="ignore")


def unsupported(what: str) -> MessageRefusal:
    """The refusal of what the service has and this server does not."""
    return MessageRefusal(f"{what} is not served here.", close_code=UNSUPPORTED)


class _Read(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An object whose unknown keys are ignored."""


class _Strict(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """An object that rejects unknown keys: they end the session, as at the service."""


class Blob(_Read, frozen=True, kw_only=True):
    """Bytes, as base64 in either alphabet."""

    data: str = ""
    mime_type: str = ""


class Part(_Read, frozen=True, kw_only=True):
    """A piece of a turn. Of its many kinds, text and images are served."""

    text: str | None = None
    inline_data: Blob | None = None
    thought: bool = False


class Content(_Strict, frozen=True, kw_only=True):
    """A turn: its role and its parts."""

    parts: list[Part] = []
    role: Literal["user", "model", ""] = "user"


class PrebuiltVoice(_Strict, frozen=True, kw_only=True):
    voice_name: str | None = None


class VoiceConfig(_Strict, frozen=True, kw_only=True):
    prebuilt_voice_config: PrebuiltVoice | None = None
    voice: str | None = None
    replicated_voice_config: Any = None


class SpeechConfig(_Strict, frozen=True, kw_only=True):
    """The language is the model's choice."""

    voice_config: VoiceConfig | None = None
    language_code: str | None = None
    multi_speaker_voice_config: Any = None


class GenerationConfig(_Strict, frozen=True, kw_only=True):
    """From `top_p` on: read, and without effect."""

    response_modalities: list[Literal["MODALITY_UNSPECIFIED", "AUDIO", "TEXT"]] = []
    temperature: float | None = None
    max_output_tokens: int | None = None
    speech_config: SpeechConfig | None = None
    translation_config: Any = None
    top_p: float | None = None
    top_k: float | None = None
    seed: int | None = None
    candidate_count: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    media_resolution: str | None = None
    thinking_config: Json | None = None
    enable_affective_dialog: bool | None = None


class Declaration(_Strict, frozen=True, kw_only=True):
    """A function that runs at the client. The model gets no description of its result."""

    name: str
    description: str = ""
    parameters: Json | None = None
    parameters_json_schema: Json | None = None
    response: Any = None
    response_json_schema: Any = None
    behavior: Literal["UNSPECIFIED", "BLOCKING", "NON_BLOCKING"] | None = None


Sensitivity = Literal["UNSPECIFIED", "LOW", "HIGH"]
Duration = Annotated[int, msgspec.Meta(ge=0, le=600_000)]


class Detection(_Strict, frozen=True, kw_only=True):
    """How the service finds turns. Times in ms."""

    disabled: bool = False
    start_of_speech_sensitivity: str | None = None
    end_of_speech_sensitivity: str | None = None
    prefix_padding_ms: Duration | None = None
    silence_duration_ms: Duration | None = None


class RealtimeInputConfig(_Strict, frozen=True, kw_only=True):
    automatic_activity_detection: Detection = Detection()
    activity_handling: Literal["ACTIVITY_HANDLING_UNSPECIFIED", "START_OF_ACTIVITY_INTERRUPTS", "NO_INTERRUPTION"] = (
        "START_OF_ACTIVITY_INTERRUPTS"
    )
    turn_coverage: Literal[
        "TURN_COVERAGE_UNSPECIFIED",
        "TURN_INCLUDES_ONLY_ACTIVITY",
        "TURN_INCLUDES_ALL_INPUT",
        "TURN_INCLUDES_AUDIO_ACTIVITY_AND_ALL_VIDEO",
    ] = "TURN_COVERAGE_UNSPECIFIED"
    interim_transcript_timestamp_enabled: bool = False


class SessionResumption(_Strict, frozen=True, kw_only=True):
    handle: str | None = None


class HistoryConfig(_Strict, frozen=True, kw_only=True):
    initial_history_in_client_content: bool = False


class Setup(_Strict, frozen=True, kw_only=True):
    """The first message. From `context_window_compression` on: read, and without effect."""

    model: str
    generation_config: GenerationConfig = GenerationConfig()
    system_instruction: Content | None = None
    tools: list[Json] = []
    realtime_input_config: RealtimeInputConfig = RealtimeInputConfig()
    input_audio_transcription: Json | None = None
    output_audio_transcription: Json | None = None
    session_resumption: SessionResumption | None = None
    history_config: HistoryConfig = HistoryConfig()
    avatar_config: Any = None
    context_window_compression: Json | None = None
    proactivity: Json | None = None
    safety_settings: list[Json] | None = None
    labels: Json | None = None


class ClientContent(_Strict, frozen=True, kw_only=True):
    """Turns in order; `turn_complete` asks for a response."""

    turns: Annotated[list[Content], msgspec.Meta(max_length=MAX_TURNS)] = []
    turn_complete: bool = False

    def __post_init__(self) -> None:
        if sum(len(turn.parts) for turn in self.turns) > MAX_PARTS:
            raise ValueError(f"Expected at most {MAX_PARTS} parts in all turns")


class RealtimeInput(_Strict, frozen=True, kw_only=True):
    """Streamed input: one kind of data per frame."""

    audio: Blob | None = None
    video: Blob | None = None
    text: str | None = None
    audio_stream_end: bool = False
    activity_start: Json | None = None
    activity_end: Json | None = None
    media_chunks: list[Blob] = []


class FunctionResponse(_Strict, frozen=True, kw_only=True):
    """The result of a call. `will_continue`: more of it follows."""

    id: str | None = None
    name: str = ""
    response: Json = {}
    will_continue: bool = False
    scheduling: Literal["SCHEDULING_UNSPECIFIED", "INTERRUPT", "WHEN_IDLE", "SILENT"] | None = None
    parts: list[Json] = []


class ToolResponse(_Strict, frozen=True, kw_only=True):
    function_responses: list[FunctionResponse] = []


class ToolsUpdate(_Strict, frozen=True, kw_only=True):
    tools: list[Json] = []


class ContextUpdate(_Strict, frozen=True, kw_only=True):
    system_instruction: Content | None = None
    tools: ToolsUpdate | None = None


class _Message(_Strict, frozen=True, kw_only=True):
    setup: Setup | None = None
    client_content: ClientContent | None = None
    realtime_input: RealtimeInput | None = None
    tool_response: ToolResponse | None = None
    context_update: ContextUpdate | None = None


ClientMessage = Setup | ClientContent | RealtimeInput | ToolResponse | ContextUpdate

# -- reading -----------------------------------------------------------------------------------------------------------


class _Speech(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Either name style may stand in a frame."""

    data: str
    mime_type: str = ""
    mimeType: str = ""


class _SpeechInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    audio: _Speech


class _SpeechFrame(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    realtime_input: _SpeechInput | None = None
    realtimeInput: _SpeechInput | None = None


_speech = msgspec.json.Decoder(_SpeechFrame)
_OPAQUE = frozenset({"response", "parameters", "parametersJsonSchema", "responseJsonSchema", "labels"})
"""Keys whose values have names of the client's own."""


def read_speech(frame: Frame) -> tuple[bytes, AudioFormat] | None:
    """Return the speech in a speech-only frame, the usual kind; `None` for others.

    Raises MessageRefusal where it is no pcm or no base64.
    """
    try:
        said = _speech.decode(frame)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if (said.realtime_input is None) == (said.realtimeInput is None):
        return None
    given = said.realtime_input or said.realtimeInput
    assert given is not None
    return read_base64(given.audio.data), format_of(given.audio.mime_type or given.audio.mimeType)


def read(frame: Frame) -> ClientMessage:
    """The one message in the frame, typed. Raises MessageRefusal."""
    try:
        loose = decoded(msgspec.json.decode, frame)
        if not isinstance(loose, dict):
            raise MessageRefusal("A frame is one JSON object.")
        message = msgspec.convert(_camel(loose), _Message, strict=False)
    except msgspec.ValidationError as error:
        raise MessageRefusal(f"{error}.") from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise MessageRefusal("The frame is not JSON that can be read.") from error
    given = [one for name in message.__struct_fields__ if (one := getattr(message, name)) is not None]
    if len(given) != 1:
        raise MessageRefusal(f"A frame holds exactly one message, this one {len(given)}.")
    found: ClientMessage = given[0]
    if len(frame) > MAX_TEXT_CHARS:
        _check_length(found, len(frame))
    return found


def _check_length(read: ClientMessage, n_chars: int) -> None:
    sound = pictures = 0
    if isinstance(read, RealtimeInput):
        pictures = len(read.video.data) if read.video is not None else 0
        sound = len(read.audio.data) if read.audio is not None else 0
        sound += sum(len(blob.data) for blob in read.media_chunks)
    elif isinstance(read, ClientContent):
        parts = [part for turn in read.turns for part in turn.parts]
        pictures = sum(len(part.inline_data.data) for part in parts if part.inline_data is not None)
    refusal = too_long(n_chars, sound_chars=sound, picture_chars=pictures)
    if refusal is not None:
        raise MessageRefusal(f"{refusal}.")


def _camel(value: Any) -> Any:
    """Return the value with its keys in camelCase; drops keys without a value."""
    if isinstance(value, list):
        return [_camel(one) for one in value]
    if not isinstance(value, dict):
        return value
    named = ((camel_case(key), one) for key, one in value.items() if one is not None)
    return {name: one if name in _OPAQUE else _camel(one) for name, one in named}


def camel_case(name: str) -> str:
    """The name in camelCase: `turn_complete` and `turnComplete` are one name."""
    if "_" not in name:
        return name
    head, *rest = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest)


def read_base64(text: str) -> bytes:
    """Decode either alphabet, padded or not: the SDK sends the URL-safe one. Raises MessageRefusal."""
    try:
        return pybase64.b64decode(text, validate=True)
    except ValueError:
        standard = text.replace("-", "+").replace("_", "/")
    try:
        return pybase64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except ValueError as error:
        raise MessageRefusal("Base64 decoding failed.") from error


def format_of(mime_type: str) -> AudioFormat:
    """The format that `audio/pcm;rate=16000` names. Raises MessageRefusal for others and impossible rates."""
    if len(mime_type) > MAX_MIME_TYPE_CHARS:
        raise MessageRefusal(f"Audio is audio/pcm;rate=16000, not {mime_type[:32]!r}.")
    return _format_of(mime_type)


@functools.lru_cache(maxsize=64)
def _format_of(mime_type: str) -> AudioFormat:
    kind, *parameters = [part.strip().lower() for part in mime_type.split(";")]
    rate_hz = DEFAULT_RATE_HZ
    if kind not in ("audio/pcm", "audio/l16"):
        raise MessageRefusal(f"Audio is audio/pcm;rate=16000, not {mime_type[:32]!r}.")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "rate":
            if not value.strip().isdecimal() or int(value) not in SAMPLE_RATES_HZ:
                raise MessageRefusal(f"The rate of audio/pcm is not {value[:16]!r}, but one of {SAMPLE_RATES_HZ}.")
            rate_hz = int(value)
        elif name.strip() == "channels" and value.strip() != "1":
            raise MessageRefusal(f"Audio has one channel, not {value[:16]!r}.")
    return AudioFormat.pcm16(rate_hz)


# -- turns and results -------------------------------------------------------------------------------------------------


def parts_of(content: Content) -> tuple[ContentPart, ...]:
    """The parts of the turn, without thoughts. Raises MessageRefusal for a part that an item cannot hold."""
    return tuple(_part(part) for part in content.parts if not part.thought)


def _part(part: Part) -> ContentPart:
    if part.text is not None:
        return ContentPart(type="text", text=part.text)
    if part.inline_data is None:
        raise unsupported("A part that is neither text nor an image")
    return image(part.inline_data)


def image(blob: Blob) -> ContentPart:
    """An image. Raises MessageRefusal for other media."""
    if not blob.mime_type.startswith("image/"):
        raise unsupported(f"{blob.mime_type[:32] or 'Media without a type'} in this place")
    return ContentPart(type="image", image=read_base64(blob.data), media_type=blob.mime_type)


def output_of(response: Json) -> str:
    """The result of a tool as text: the words under `output`, else the whole object as JSON."""
    output = response.get("output")
    if isinstance(output, str) and len(response) == 1:
        return output
    return msgspec.json.encode(response).decode() if response else ""
