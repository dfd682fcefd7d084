"""Items, settings and overrides between our words and OpenAI's realtime protocol (GA). Plain functions, no state.

Two naming worlds meet there: items say `output_text` and `output_audio`, `response.content_part.*` says `text` and
`audio`. We read items only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pybase64

from realtime.event.base import ContentPart, Item, ResponseOverrides
from realtime.event.config import ToolDeclaration, TurnDetection
from realtime.message import Base64Source, TextBlock, ToolResultBlock
from realtime.model.base import Settings
from realtime.model.json_objects import merged
from realtime.model.openai_family.openai_frames import WireAudio, WireInput, WireOutput, WireSession
from realtime.model.openai_family.shapes import Rename, read_function


def write_item(item: Item, id_of: Rename) -> dict[str, Any] | None:
    """The item as the service takes it; `None` where nothing of it can be said.

    Speech becomes the text of its transcript: what was said into the input audio, or by the assistant, cannot be given
    back. An item that brought its own sound is given with it.
    """
    shape: dict[str, Any] = {"id": id_of(item.id)} if item.id else {}
    if item.tool_call is not None:
        call = item.tool_call
        return shape | {
            "type": "function_call",
            "call_id": id_of(call.id),
            "name": call.name,
            "arguments": call.input or "{}",
        }
    if item.tool_result is not None:
        result = item.tool_result
        return shape | {
            "type": "function_call_output",
            "call_id": id_of(result.id),
            "output": result.output_text(names_media=True),
        }
    kind = "output_text" if item.role == "assistant" else "input_text"
    content = [wire for part in item.content if (wire := _write_part(part, kind)) is not None]
    if not content:
        return None
    return shape | {"type": "message", "role": item.role or "user", "content": content}


def write_result(result: ToolResultBlock, item_id: str, id_of: Rename, *, shows_pictures: bool) -> list[dict[str, Any]]:
    """The items for a result; the first takes this id, if not empty.

    Results are text only: a model that sees gets pictures as items of the user.
    """
    pictures: list[Base64Source] = []
    told = result
    if shows_pictures and not isinstance(result.output, str):
        sources = [block.source for block in result.media]
        pictures = [one for one in sources if isinstance(one, Base64Source) and one.media_type.startswith("image/")]
        rest = [block for block in result.output if isinstance(block, TextBlock) or block.source not in pictures]
        told = msgspec.structs.replace(result, output=rest)
    output = told.output_text(names_media=True) or ("The picture follows." if pictures else "")
    named = {"id": id_of(item_id)} if item_id else {}
    items: list[dict[str, Any]] = [
        named | {"type": "function_call_output", "call_id": id_of(result.id), "output": output}
    ]
    for source in pictures:
        part = ContentPart(type="image", image=source.data, media_type=source.media_type)
        items.append({"type": "message", "role": "user", "content": [_write_part(part, "input_text")]})
    return items


def _write_part(part: ContentPart, text_kind: str) -> dict[str, Any] | None:
    if part.type == "image":
        if part.image is None or text_kind == "output_text":
            return None
        data = pybase64.b64encode_as_string(part.image)
        return {"type": "input_image", "image_url": f"data:{part.media_type or 'image/jpeg'};base64,{data}"}
    if part.audio is not None:
        return {"type": "input_audio", "audio": pybase64.b64encode_as_string(part.audio)}
    text = part.text if part.text is not None else part.transcript
    return {"type": text_kind, "text": text} if text else None


def write_tool(tool: ToolDeclaration) -> dict[str, Any]:
    """A function declaration: flat, not nested under `function` as in the chat API."""
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters or {"type": "object", "properties": {}},
    }


def write_turn_detection(wanted: TurnDetection | str | None) -> dict[str, Any] | None:
    """The detector's settings; `None` is off (manual turns). Nothing said is the service's own default, by name: a
    session whose detector had been switched off needs it."""
    if wanted is None:
        return {"type": "server_vad"}
    if isinstance(wanted, str):
        return None if wanted == "none" else {"type": wanted}
    if wanted.authority in ("server", "client") or wanted.type == "none":
        return None
    kind = wanted.type or "server_vad"
    names = ["eagerness"] if kind == "semantic_vad" else ["threshold", "prefix_padding_ms", "silence_duration_ms"]
    names += ["create_response", "interrupt_response"]
    said = {name: value for name in names if (value := getattr(wanted, name)) is not None}
    return {"type": kind} | said


def write_voice(voice: str) -> str | dict[str, str]:
    """A voice by name, or a custom voice by its id."""
    return {"id": voice} if voice.startswith("voice_") else voice


def write_session(
    settings: Settings, *, voice: str | None, transcription: Mapping[str, Any] | None, first: bool
) -> dict[str, Any]:
    """The whole `session` of a `session.update`: the connection's `first`, or a later one.

    A later one has to take back what an earlier one said. There is no temperature in GA. `extra` is merged on top.
    """
    pcm = {"type": "audio/pcm", "rate": 24_000}
    given: dict[str, Any] = {"format": pcm, "turn_detection": write_turn_detection(settings.turn_detection)}
    if transcription is not None:
        given["transcription"] = dict(transcription) or None
    made: dict[str, Any] = {"format": pcm}
    if voice is not None:
        made["voice"] = write_voice(voice)
    session: dict[str, Any] = {
        "type": "realtime",
        "instructions": settings.instructions,
        "output_modalities": ["audio"] if "audio" in settings.output_modalities else ["text"],
        "audio": {"input": given, "output": made},
        "tools": [write_tool(tool) for tool in settings.tools],
    }
    if settings.max_output_tokens is not None or not first:
        session["max_output_tokens"] = settings.max_output_tokens or "inf"
    return merged(session, settings.extra)


def read_settings(session: WireSession) -> dict[str, Any]:
    """The effective settings in our words. The service never echoes a key."""
    audio = session.audio or WireAudio()
    given, made = audio.input or WireInput(), audio.output or WireOutput()
    detection = given.turn_detection
    return {
        "model": session.model,
        "instructions": session.instructions or "",
        "output_modalities": session.output_modalities,
        "voice": made.voice if not isinstance(made.voice, dict) else made.voice.get("id"),
        "tools": [read_function(tool) for tool in session.tools or ()],
        "turn_detection": "none" if detection is None else msgspec.to_builtins(detection),
        "input_audio_transcription": given.transcription is not None,
        "max_output_tokens": session.max_output_tokens if isinstance(session.max_output_tokens, int) else None,
        "expires_at": session.expires_at,
    }


def write_overrides(overrides: ResponseOverrides, id_of: Rename) -> dict[str, Any]:
    """The `response` of a `response.create`: what is said overrides the session for this response."""
    response: dict[str, Any] = {}
    if overrides.instructions is not None:
        response["instructions"] = overrides.instructions
    if overrides.output_modalities is not None:
        response["output_modalities"] = ["audio"] if "audio" in overrides.output_modalities else ["text"]
    if overrides.voice is not None:
        response["audio"] = {"output": {"voice": write_voice(overrides.voice)}}
    if overrides.tools is not None:
        response["tools"] = [{"type": "function"} | tool for tool in overrides.tools]
    if overrides.tool_choice is not None:
        response["tool_choice"] = overrides.tool_choice
    if overrides.max_output_tokens is not None:
        response["max_output_tokens"] = overrides.max_output_tokens
    if overrides.conversation != "auto":
        response["conversation"] = overrides.conversation
    if overrides.input is not None:
        response["input"] = [wire for item in overrides.input if (wire := write_item(item, id_of)) is not None]
    if overrides.metadata is not None:
        response["metadata"] = overrides.metadata
    return response
