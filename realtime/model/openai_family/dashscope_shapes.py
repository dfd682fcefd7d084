"""Models, items and settings between our words and DashScope's protocol. Plain functions, no state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pybase64

from realtime.event.base import WEB_SEARCH, Item, ResponseOverrides
from realtime.event.config import ToolDeclaration, TurnDetection
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.model.base import Profile, Settings
from realtime.model.json_objects import merged
from realtime.model.openai_family.dashscope_frames import WireAudio, WireSession
from realtime.model.openai_family.frames import WireFunction
from realtime.model.openai_family.shapes import read_function
from realtime.model.voices import QWEN, QWEN_FIRST, QWEN_NEWER

INPUT_RATE_HZ = 16_000


class Family(NamedTuple):
    """Facts about the models whose names begin alike."""

    prefix: str
    has_tools: bool
    output_rate_hz: int
    history_turns: int
    """How many turns of the user the model keeps in mind."""
    nested_audio: bool
    """Its session nests `audio.input` and `audio.output` like OpenAI's; else its fields are flat."""
    voices: tuple[str, ...]
    transcription_model: str


_ASR = "qwen3-asr-flash-realtime"

_FAMILIES = (
    Family("qwen-omni-turbo", False, 16_000, 8, False, QWEN_FIRST, "gummy-realtime-v1"),
    Family("qwen3-omni", False, 24_000, 8, False, QWEN_FIRST, _ASR),
    Family("qwen3.5-omni-flash", True, 24_000, 80, False, QWEN_NEWER, _ASR),
    Family("qwen3.8-omni", True, 24_000, 100, True, QWEN, _ASR),
)
_NEWER = Family("", True, 24_000, 100, False, QWEN_NEWER, _ASR)
"""Every other name: the flat session is what all of them take."""


def family_of(model_name: str) -> Family:
    """The facts for the model with this name."""
    return next((family for family in _FAMILIES if model_name.startswith(family.prefix)), _NEWER)


# Settings.


def write_session(
    settings: Settings, profile: Profile, *, voice: str | None, transcribe: bool | None, instructions: str, first: bool
) -> dict[str, Any]:
    """The whole `session` of a `session.update`. `transcribe=None` leaves it out. `extra` is merged on top.

    Only the first update says the formats: they are fixed from the first audio on.
    """
    family = family_of(profile.model)
    session: dict[str, Any] = {
        "modalities": ["text", "audio"] if "audio" in settings.output_modalities else ["text"],
        "instructions": instructions,
        "turn_detection": write_turn_detection(settings.turn_detection),
    }
    audio: dict[str, dict[str, Any]] = {}
    if first and family.nested_audio:
        audio["input"] = {"format": {"type": "pcm", "sample_rate": profile.input_rate_hz}}
        audio["output"] = {"format": {"type": "pcm", "sample_rate": profile.output_rate_hz}}
    elif first:
        session |= {"input_audio_format": "pcm", "output_audio_format": "pcm"}
    if voice is not None and family.nested_audio:
        audio["output"] = audio.get("output", {}) | {"voice": voice}
    elif voice is not None:
        session["voice"] = voice
    if audio:
        session["audio"] = audio
    if transcribe is not None:
        session["input_audio_transcription"] = {"model": family.transcription_model} if transcribe else None
    if profile.supports_tools:
        session["tools"] = [write_tool(tool) for tool in settings.tools]
    if WEB_SEARCH in settings.hosted_tools or (WEB_SEARCH in profile.hosted_tools and not first):
        session["enable_search"] = WEB_SEARCH in settings.hosted_tools
    if settings.temperature is not None:
        session["temperature"] = settings.temperature
    if settings.max_output_tokens is not None:
        session["max_tokens"] = settings.max_output_tokens
    return merged(session, settings.extra)


def write_turn_detection(wanted: TurnDetection | str | None) -> dict[str, Any] | None:
    """The detector's settings; `None` is off (manual turns).

    The threshold is always said: the service's default (0.5) is not its SDK's (0.2).
    """
    if isinstance(wanted, str):
        wanted = TurnDetection(type=wanted)
    wanted = wanted or TurnDetection()
    if wanted.authority in ("server", "client") or wanted.type == "none":
        return None
    names = ("prefix_padding_ms", "silence_duration_ms", "create_response", "interrupt_response")
    said = {name: value for name in names if (value := getattr(wanted, name)) is not None}
    threshold = wanted.threshold if wanted.threshold is not None else 0.5
    return {"type": wanted.type or "server_vad", "threshold": threshold} | said


def write_tool(tool: ToolDeclaration) -> dict[str, Any]:
    """A function declaration: nested under `function`, its schema without what the service refuses."""
    parameters = plain_schema(tool.parameters) or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def plain_schema(schema: Any) -> Any:
    """A JSON Schema without optional types, `None` in an `enum` and `additionalProperties`."""
    if isinstance(schema, list):
        return [plain_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    plain: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "additionalProperties":
            continue
        if key == "type" and isinstance(value, list):
            plain[key] = next((kind for kind in value if kind != "null"), "null")
        elif key == "enum" and isinstance(value, list):
            plain[key] = [one for one in value if one is not None]
        elif key in ("anyOf", "oneOf") and isinstance(value, list):
            others = [plain_schema(part) for part in value if part != {"type": "null"}]
            plain |= others[0] if len(others) == 1 and isinstance(others[0], dict) else {key: others}
        elif key in ("properties", "$defs", "definitions") and isinstance(value, dict):
            plain[key] = {name: plain_schema(part) for name, part in value.items()}
        elif key in ("default", "const", "examples"):
            plain[key] = value
        else:
            plain[key] = plain_schema(value)
    return plain


def write_overrides(overrides: ResponseOverrides) -> dict[str, Any]:
    """The `response` of a `response.create`: the two fields that the service documents."""
    response: dict[str, Any] = {}
    if overrides.instructions is not None:
        response["instructions"] = overrides.instructions
    if overrides.output_modalities is not None:
        response["modalities"] = ["text", "audio"] if "audio" in overrides.output_modalities else ["text"]
    return response


def read_settings(session: WireSession) -> dict[str, Any]:
    """The effective settings in our words. The service never echoes a key."""
    output = (session.audio or WireAudio()).output
    functions = [tool.function or WireFunction() for tool in session.tools or ()]
    return {
        "model": session.model,
        "instructions": session.instructions or "",
        "output_modalities": session.modalities,
        "voice": (output.voice if output is not None else None) or session.voice,
        "tools": [read_function(function) for function in functions if function.name],
        "turn_detection": session.turn_detection or "none",
        "input_audio_transcription": session.input_audio_transcription is not None,
        "temperature": session.temperature,
        "max_output_tokens": session.max_tokens,
    }


# Items.


def write_message(item: Item) -> dict[str, Any] | None:
    """The words of a message as the service takes them; `None` where there are none. Speech becomes its transcript."""
    kind = "text" if item.role == "assistant" else "input_text"
    texts = [part.text if part.text is not None else part.transcript for part in item.content if part.type != "image"]
    content = [{"type": kind, "text": text} for text in texts if text]
    if not content:
        return None
    shape = {"id": item.id} if item.id else {}
    return shape | {"type": "message", "role": item.role or "user", "content": content}


def write_images(item: Item) -> list[str]:
    """The pictures of a message as frames. They have no item: the service ties them to the speech around them."""
    return [
        f'{{"type":"input_image_buffer.append","image":"{pybase64.b64encode_as_string(part.image)}"}}'
        for part in item.content
        if part.image is not None and item.role != "assistant"
    ]


def tell_result(call: ToolCallBlock | None, result: ToolResultBlock) -> str:
    """A call and its result in a sentence: for sessions without the call."""
    name = call.name if call is not None else result.name
    arguments = f" with {call.input}" if call is not None and call.input not in ("", "{}") else ""
    return f"The tool {name or result.id} was called{arguments} and returned: {result.output_text(names_media=True)}"


def recent(history: Sequence[Item], turns: int) -> Sequence[Item]:
    """The history from the user's last `turns` messages on: a model that keeps no more needs no more."""
    for index in range(len(history) - 1, -1, -1):
        if history[index].type == "message" and history[index].role == "user":
            turns -= 1
            if turns == 0:
                return history[index:]
    return history
