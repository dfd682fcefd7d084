"""Frames of DashScope's omni realtime clients: read as leniently as by the service.

Sources: the service's documentation, its SDK (2.0, both styles) and public clients. Undocumented keys are
ignored. Nothing here is shared with the codec that speaks to the service itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

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
    invalid,
    tools_of,
)
from realtime.event.base import WEB_SEARCH, ContentPart, Item, ResponseOverrides
from realtime.model.json_objects import merged as merged_objects
from realtime.model.voices import QWEN

INPUT_RATE_HZ = 16_000
OUTPUT_RATE_HZ = 24_000
RATES_HZ = (8_000, 16_000, 24_000, 48_000)
FORMATS = ("pcm", "pcm16", "pcm24")
"""All three are pcm16 at the direction's own rate: the SDK says `pcm16` for both."""
MODALITIES = ["text", "audio"]
SERVICE_VOICES = frozenset(QWEN)
"""Models that list one of these are the service's: voices are free strings."""
TRANSCRIPTION_MODEL = "qwen3-asr-flash-realtime"
DEFAULT_TURN_DETECTION: Json = {
    "type": "server_vad",
    "threshold": 0.5,
    "prefix_padding_ms": 300,
    "silence_duration_ms": 800,
    "create_response": True,
    "interrupt_response": True,
}
DETECTION_RANGES: dict[str, tuple[float, float]] = {
    "threshold": (0.0, 1.0),
    "silence_duration_ms": (200, 6_000),
    "prefix_padding_ms": (0, 10_000),
}
"""Ranges of detection settings; only the service takes thresholds below 0 (from -1)."""

ACTIVE = "conversation_already_has_active_response"
NONE_ACTIVE = "response_cancel_not_active"
SENTENCES = {
    ACTIVE: "Conversation already has an active response",
    NONE_ACTIVE: "Conversation has none active response",
}
"""Clients know these errors by the sentence: the service leaves their code empty."""
NAMELESS = frozenset({*SENTENCES, "bad_response_create", "unknown_tool_call", "image_before_audio"})
"""Our codes of all errors that have none on the wire."""

# By how the model's name begins: voice, temperature, model of the input transcription.
_DEFAULTS: tuple[tuple[str, str, float, str], ...] = (
    ("qwen3.8-omni", "Tina", 0.6, TRANSCRIPTION_MODEL),
    ("qwen3.5-omni", "Tina", 0.7, TRANSCRIPTION_MODEL),
    ("qwen3-omni", "Cherry", 0.9, TRANSCRIPTION_MODEL),
    ("qwen-omni-turbo", "Chelsie", 1.0, "gummy-realtime-v1"),
    ("qwen-audio", "longanqian", 0.7, TRANSCRIPTION_MODEL),
    ("", "Tina", 0.7, TRANSCRIPTION_MODEL),
)


class _Value(msgspec.Struct, frozen=True, kw_only=True):
    """An object in which unknown keys are ignored."""


class AudioFormat(_Value, frozen=True, kw_only=True):
    """How audio is encoded, in the nested form of the newer models."""

    type: str | UnsetType = UNSET
    sample_rate: int | UnsetType = UNSET
    rate: int | float | str | UnsetType | None = UNSET
    channels: int | UnsetType | None = UNSET


class AudioInput(_Value, frozen=True, kw_only=True):
    format: AudioFormat | UnsetType = UNSET


class AudioOutput(_Value, frozen=True, kw_only=True):
    format: AudioFormat | UnsetType = UNSET
    voice: str | UnsetType | None = UNSET


class Audio(_Value, frozen=True, kw_only=True):
    input: AudioInput | UnsetType = UNSET
    output: AudioOutput | UnsetType = UNSET


class TurnDetection(_Value, frozen=True, kw_only=True):
    """How the end of a turn is found. A range that is left is moved into: what the service does is not known."""

    type: Literal["server_vad", "semantic_vad", "smart_turn"] | UnsetType = UNSET
    threshold: float | UnsetType | None = UNSET
    prefix_padding_ms: int | UnsetType | None = UNSET
    silence_duration_ms: int | UnsetType | None = UNSET
    create_response: bool | UnsetType | None = UNSET
    interrupt_response: bool | UnsetType | None = UNSET
    idle_timeout_ms: int | UnsetType | None = UNSET


class Function(_Value, frozen=True, kw_only=True):
    name: str
    description: str | UnsetType | None = UNSET
    parameters: dict[str, Any] | UnsetType | None = UNSET


class FunctionTool(msgspec.Struct, frozen=True, kw_only=True):
    function: Function


class Session(_Value, frozen=True, kw_only=True):
    """The settings that `session.update` changes; a key that is missing keeps its value."""

    modalities: list[str] | UnsetType | None = UNSET
    voice: str | UnsetType | None = UNSET
    instructions: str | UnsetType | None = UNSET
    input_audio_format: str | UnsetType | None = UNSET
    output_audio_format: str | UnsetType | None = UNSET
    sample_rate: int | UnsetType | None = UNSET
    audio: Audio | UnsetType | None = UNSET
    input_audio_transcription: dict[str, Any] | UnsetType | None = UNSET
    turn_detection: TurnDetection | UnsetType | None = UNSET
    tools: list[Json] | UnsetType | None = UNSET
    tool_choice: Literal["auto", "none", "required"] | UnsetType | None = UNSET
    temperature: float | UnsetType | None = UNSET
    max_tokens: int | UnsetType | None = UNSET
    # Known by name, echoed, and without effect here.
    top_p: Any = UNSET
    top_k: Any = UNSET
    repetition_penalty: Any = UNSET
    presence_penalty: Any = UNSET
    seed: Any = UNSET
    enable_search: Any = UNSET
    search_options: Any = UNSET
    smooth_output: Any = UNSET
    video: Any = UNSET
    translation: Any = UNSET


class Content(_Value, frozen=True, kw_only=True):
    """A part of a message."""

    type: str
    text: str | None = None


class WireItem(_Value, frozen=True, kw_only=True):
    """An item as a client writes it."""

    type: str
    id: str | None = None
    role: Literal["user", "assistant", "system"] | None = None
    content: list[Content] | None = None
    call_id: str | None = None
    output: str | None = None


class Response(_Value, frozen=True, kw_only=True):
    """The settings of one response. Other keys have no known effect at the service and none here."""

    instructions: str | None = None
    modalities: list[str] | None = None


class SessionUpdate(Frame, frozen=True, kw_only=True, tag="session.update"):
    session: Session


class SessionFinish(Frame, frozen=True, kw_only=True, tag="session.finish"):
    pass


class ImageAppend(Frame, frozen=True, kw_only=True, tag="input_image_buffer.append"):
    image: str


class ItemCreate(Frame, frozen=True, kw_only=True, tag="conversation.item.create"):
    item: WireItem
    previous_item_id: str | None = None


class ResponseCreate(Frame, frozen=True, kw_only=True, tag="response.create"):
    response: Response | None = None


class ResponseCancel(Frame, frozen=True, kw_only=True, tag="response.cancel"):
    pass


ClientFrame = (
    SessionUpdate
    | SessionFinish
    | BufferAppend
    | BufferCommit
    | BufferClear
    | ImageAppend
    | ItemCreate
    | ItemRetrieve
    | ItemDelete
    | ResponseCreate
    | ResponseCancel
)


def unknown_event(kind: str, event_id: str | None = None) -> EventRefusal:
    """The error for an event that a client may not send."""
    return invalid(f"Invalid event type: {kind[:64]!r}.", "type", event_id=event_id)


def _refusal_of(text: str, path: str, kind: str, event_id: str | None) -> EventRefusal:
    if path == "type":
        return unknown_event(kind, event_id)
    return invalid(f"Invalid '{path or 'event'}': {text}.", path or None, event_id=event_id)


def _media_chars(read: ClientFrame) -> tuple[int, int]:
    sound = len(read.audio) if isinstance(read, BufferAppend) else 0
    return sound, len(read.image) if isinstance(read, ImageAppend) else 0


READER: Reader[ClientFrame] = Reader(
    ClientFrame, malformed="invalid_value", too_long="invalid_value", refusal_of=_refusal_of, media_chars=_media_chars
)


# -- the session -------------------------------------------------------------------------------------------------------


def default_session(model: str) -> Json:
    """The session object of a call that was not configured yet."""
    _, voice, temperature, transcription = next(one for one in _DEFAULTS if model.startswith(one[0]))
    return {
        "object": "realtime.session",
        "id": "",
        "model": model,
        "modalities": MODALITIES,
        "voice": voice,
        "instructions": "",
        "input_audio_format": "pcm",
        "output_audio_format": "pcm",
        "input_audio_transcription": {"model": transcription},
        "turn_detection": DEFAULT_TURN_DETECTION,
        "tools": [],
        "tool_choice": "auto",
        "temperature": temperature,
    }


def merged(session: Json, change: Session) -> Json:
    """The effective session object after the change; `session` stays as it is. Raises EventRefusal."""
    _check(change)
    said: Json = msgspec.to_builtins(change)
    defaults = default_session(session["model"])
    for key in ("modalities", "instructions", "tools", "tool_choice", "temperature"):
        if key in said and said[key] is None:
            said[key] = defaults[key]
    for key in ("voice", "input_audio_format", "output_audio_format", "sample_rate", "audio", "max_tokens"):
        if key in said and said[key] is None:
            del said[key]
    if (transcription := said.get("input_audio_transcription")) is not None:
        given = {key: value for key, value in transcription.items() if value is not None}
        said["input_audio_transcription"] = defaults["input_audio_transcription"] | given
    if (detection := said.get("turn_detection")) is not None:
        given = {key: value for key, value in detection.items() if value is not None}
        said["turn_detection"] = (session["turn_detection"] or DEFAULT_TURN_DETECTION) | given
    if "audio" in said:
        voice = said["audio"].get("output", {}).get("voice")
        said |= {"audio": merged_objects(session.get("audio", {}), said["audio"])}
        said |= {"voice": voice} if voice is not None else {}
    if "tools" in said:
        functions = _tools(said["tools"])[0]
        said["tools"] = [{"type": "function", "function": msgspec.to_builtins(one.function)} for one in functions]
    return session | said


def _tools(tools: Sequence[Json]) -> tuple[list[FunctionTool], list[Json]]:
    """Return the functions, and the others as hosted tools of the call. Raises EventRefusal."""
    return tools_of(
        tools, "session.tools", FunctionTool, lambda text, path: invalid(f"Invalid '{path}': {text}.", path)
    )


def input_rate_hz(session: Json) -> int:
    """The rate of the client's audio."""
    nested = session.get("audio", {}).get("input", {}).get("format", {})
    return int(nested.get("sample_rate") or session.get("sample_rate") or INPUT_RATE_HZ)


def output_rate_hz(session: Json) -> int:
    """The rate of the audio that the client plays."""
    return int(session.get("audio", {}).get("output", {}).get("format", {}).get("sample_rate") or OUTPUT_RATE_HZ)


def check_modalities(wanted: list[str] | UnsetType | None, param: str) -> None:
    """Raises EventRefusal unless it is text, or text and audio."""
    if isinstance(wanted, list) and (len(wanted) > 2 or {*wanted} not in ({"text"}, {"text", "audio"})):
        raise invalid(f"Invalid modalities: {wanted}.", param)


def _check(change: Session) -> None:
    check_modalities(change.modalities, "session.modalities")
    for param, flat in (
        ("input_audio_format", change.input_audio_format),
        ("output_audio_format", change.output_audio_format),
    ):
        if isinstance(flat, str) and flat not in FORMATS:
            raise invalid(f"Audio format {flat!r} is not served here: use pcm.", f"session.{param}")
    if change.input_audio_format == "pcm24":
        heard = f"Input is pcm16 at {INPUT_RATE_HZ} Hz: for 24000 Hz set 'audio.input.format.sample_rate'."
        raise invalid(heard, "session.input_audio_format")
    if isinstance(change.sample_rate, int):
        _check_rate(change.sample_rate, "session.sample_rate")
    if isinstance(change.audio, Audio):
        for name, side in (("input", change.audio.input), ("output", change.audio.output)):
            if side is not UNSET and side.format is not UNSET:
                _check_format(side.format, f"session.audio.{name}.format")


def _check_format(wanted: AudioFormat, param: str) -> None:
    if wanted.type is not UNSET and wanted.type not in FORMATS:
        raise invalid(f"Audio format {wanted.type!r} is not served here: use pcm.", f"{param}.type")
    if wanted.rate is not UNSET:
        raise invalid("Unknown parameter 'rate': the rate is 'sample_rate'.", f"{param}.rate")
    if wanted.sample_rate is not UNSET:
        _check_rate(wanted.sample_rate, f"{param}.sample_rate")
    if wanted.channels not in (UNSET, None, 1):
        raise invalid(f"Audio of {wanted.channels} channels is not served here: use one.", f"{param}.channels")


def _check_rate(rate_hz: int, param: str) -> None:
    if rate_hz not in RATES_HZ:
        raise invalid(f"Invalid sample rate: {rate_hz}. Supported are {', '.join(map(str, RATES_HZ))}.", param)


def config_of(change: Session, session: Json, voices: frozenset[str]) -> Json:
    """The changed session fields that the call knows. `session` is the merged object.

    `voices` are those of the model behind. A client of this service always names a voice; a model that has no such
    voice keeps its own.
    """
    said: Json = msgspec.to_builtins(change)
    config: Json = {}
    if "instructions" in said:
        config["instructions"] = session["instructions"]
    if "modalities" in said:
        # Where a model speaks, the words are those of the voice.
        config["output_modalities"] = ["audio"] if "audio" in session["modalities"] else ["text"]
    if "tools" in said:
        config["tools"] = [_declaration(tool["function"]) for tool in session["tools"]]
    if "tools" in said or "enable_search" in said:
        search = [{"kind": WEB_SEARCH, "name": "enable_search"}] if session.get("enable_search") is True else []
        config["hosted_tools"] = search + _tools(said.get("tools") or ())[1]
    if said.get("temperature") is not None:
        config["temperature"] = session["temperature"]
    if said.get("max_tokens") is not None:
        config["max_output_tokens"] = session["max_tokens"]
    if "turn_detection" in said:
        detection = session["turn_detection"]
        config["turn_detection"] = "none" if detection is None else _known_detection(said["turn_detection"], detection)
        config["auto_response"] = detection is not None and detection["create_response"]
    if "input_audio_transcription" in said:
        config["input_audio_transcription"] = said["input_audio_transcription"] is not None
    named = said.get("voice") or ((said.get("audio") or {}).get("output") or {}).get("voice")
    if named and (not voices or session["voice"] in voices or voices & SERVICE_VOICES):
        config["voice"] = session["voice"]
    return config


def _declaration(function: Json) -> Json:
    return {
        "name": function["name"],
        "description": function.get("description") or "",
        "parameters": function.get("parameters") or {"type": "object", "properties": {}},
    }


def _known_detection(said: Json, effective: Json) -> Json:
    """The client's choices, now (`said`) or before, without this protocol's defaults.

    Other models do not share those.
    """
    known: Json = {"type": "server_vad" if effective["type"] == "server_vad" else "semantic_vad"}
    chosen = {
        key: effective[key]
        for key in DETECTION_RANGES
        if said.get(key) is not None or effective[key] != DEFAULT_TURN_DETECTION[key]
    }
    for key, value in chosen.items():
        least, most = DETECTION_RANGES[key]
        known[key] = min(most, max(least, value))
    return known | {key: False for key in ("create_response", "interrupt_response") if not effective[key]}


# -- items and responses -----------------------------------------------------------------------------------------------


def message_of(wire: WireItem, item_id: str) -> Item:
    """The message. Raises EventRefusal."""
    if wire.type != "message":
        raise invalid(f"Items of type {wire.type[:64]!r} are not served here.", "item.type")
    if wire.role is None:
        raise invalid("A message has a role.", "item.role")
    parts = tuple(_part(part, f"item.content[{place}]") for place, part in enumerate(wire.content or ()))
    return Item(id=item_id, role=wire.role, content=parts)


def _part(part: Content, param: str) -> ContentPart:
    if part.type not in ("input_text", "text"):
        raise invalid(f"Content of type {part.type[:64]!r} is not served here: use text.", f"{param}.type")
    if part.text is None:
        raise invalid("A part of type text has a text.", f"{param}.text")
    return ContentPart(type="text", text=part.text)


def overrides_of(wanted: Response | None, tool_choice: str) -> ResponseOverrides | None:
    """The overrides of one response, `None` without any. `tool_choice` is the session's. Raises EventRefusal."""
    wanted = wanted or Response()
    check_modalities(wanted.modalities, "response.modalities")
    overrides = ResponseOverrides(
        instructions=wanted.instructions,
        output_modalities=None if not wanted.modalities else ("audio",) if "audio" in wanted.modalities else ("text",),
        tool_choice=None if tool_choice == "auto" else tool_choice,
    )
    return None if overrides == ResponseOverrides() else overrides
