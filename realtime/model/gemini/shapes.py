"""Settings, items and usage between our words and Gemini Live. Plain functions, no state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pybase64

from realtime.event.base import WEB_SEARCH, Item, UsageDetail
from realtime.event.config import ToolDeclaration, TurnDetection
from realtime.message import ToolResultBlock
from realtime.model.base import Settings
from realtime.model.gemini import frames as wire
from realtime.model.json_objects import json_frame, merged

Json = dict[str, Any]


def write_setup(
    settings: Settings, *, model: str, voice: str | None, transcribes_input: bool, blocking_tools: bool
) -> Json:
    """The whole `setup` but its resumption handle. An unknown field would end the session: `extra` is merged as is.

    Speech models answer in audio only; a text-only response is made of their transcript. With `blocking_tools` a
    declaration asks for blocking calls by name.
    """
    generation: Json = {"responseModalities": ["AUDIO"]}
    if voice is not None:
        generation["speechConfig"] = {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": voice}}}
    if settings.temperature is not None:
        generation["temperature"] = settings.temperature
    if settings.max_output_tokens is not None:
        generation["maxOutputTokens"] = settings.max_output_tokens
    setup: Json = {"model": model if "/" in model else f"models/{model}", "generationConfig": generation}
    if settings.instructions:
        setup["systemInstruction"] = {"parts": [{"text": settings.instructions}], "role": "user"}
    tools: list[Json] = [{"googleSearch": {}}] if WEB_SEARCH in settings.hosted_tools else []
    if settings.tools:
        tools += write_tools(settings.tools, blocking=blocking_tools)
    if tools:
        setup["tools"] = tools
    detection = write_turn_detection(settings.turn_detection)
    if detection:
        setup["realtimeInputConfig"] = {"automaticActivityDetection": detection}
    if not_to_be_interrupted(settings.turn_detection):
        setup.setdefault("realtimeInputConfig", {})["activityHandling"] = "NO_INTERRUPTION"
    if transcribes_input:
        setup["inputAudioTranscription"] = {}
    setup["outputAudioTranscription"] = {}
    setup["sessionResumption"] = {}
    setup["contextWindowCompression"] = {"slidingWindow": {}}
    return merged(setup, settings.extra)


def write_tools(tools: Sequence[ToolDeclaration], *, blocking: bool) -> list[Json]:
    """The function declarations, their parameters as plain JSON Schema."""
    declarations = []
    for tool in tools:
        declaration: Json = {"name": tool.name, "description": tool.description}
        if tool.parameters.get("properties"):
            declaration["parametersJsonSchema"] = tool.parameters
        if blocking:
            declaration["behavior"] = "BLOCKING"
        declarations.append(declaration)
    return [{"functionDeclarations": declarations}]


def write_turn_detection(wanted: TurnDetection | str | None) -> Json:
    """The detector's settings; empty keeps the service's own. A threshold becomes high or low sensitivity."""
    if wanted is None:
        return {}
    if isinstance(wanted, str):
        return {"disabled": True} if wanted == "none" else {}
    if wanted.authority in ("server", "client") or wanted.type == "none":
        return {"disabled": True}
    said: Json = {}
    if wanted.threshold is not None and wanted.threshold != 0.5:
        level = "LOW" if wanted.threshold > 0.5 else "HIGH"
        said["startOfSpeechSensitivity"] = f"START_SENSITIVITY_{level}"
    if wanted.eagerness in ("low", "high"):
        said["endOfSpeechSensitivity"] = f"END_SENSITIVITY_{wanted.eagerness.upper()}"
    if wanted.prefix_padding_ms is not None:
        said["prefixPaddingMs"] = wanted.prefix_padding_ms
    if wanted.silence_duration_ms is not None:
        said["silenceDurationMs"] = wanted.silence_duration_ms
    return said


def not_to_be_interrupted(wanted: TurnDetection | str | None) -> bool:
    """Whether the service's own detector must not stop a response. The service always creates responses."""
    if not isinstance(wanted, TurnDetection) or wanted.interrupt_response is not False:
        return False
    return not write_turn_detection(wanted).get("disabled")


def is_manual(setup: Json) -> bool:
    """Whether we mark the turns."""
    detection = setup.get("realtimeInputConfig", {}).get("automaticActivityDetection", {})
    return bool(detection.get("disabled"))


def read_settings(settings: Settings, voice: str | None) -> Json:
    """The effective settings in our words. The service does not echo them."""
    told: Json = msgspec.to_builtins(msgspec.structs.replace(settings, voice=voice, extra={}))
    del told["extra"]
    return told


def write_content(item: Item, signature: str | None = None) -> Json | None:
    """The item as a turn of the conversation; `None` where nothing of it can be said. `signature` is the service's
    signature of the thoughts behind it, which it wants back.

    Speech becomes its transcript. Function parts are refused here, so calls and results of the past become sentences.
    """
    signed: Json = {"thoughtSignature": signature} if signature is not None else {}
    if item.tool_call is not None:
        call = item.tool_call
        return _content("model", [{"text": f"[I called {call.name}({call.input or '{}'})]"} | signed])
    if item.tool_result is not None:
        return write_late_result(item.tool_result)
    parts: list[Json] = []
    for part in item.content:
        if part.type == "image":
            if part.image is not None and item.role != "assistant":
                parts.append({"inlineData": write_blob(part.image, part.media_type or "image/jpeg")})
        elif text := part.text if part.text is not None else part.transcript:
            parts.append({"text": text})
    if not parts:
        return None
    parts[-1] |= signed
    return _content("model" if item.role == "assistant" else "user", parts)


def write_late_result(result: ToolResultBlock) -> Json:
    """Write, as a turn, the result of a call this connection lacks."""
    return _content(
        "user", [{"text": f"[{result.name or 'the tool'} returned: {result.output_text(names_media=True)}]"}]
    )


def write_text(text: str) -> Json:
    """A typed turn of the user."""
    return _content("user", [{"text": text}])


def _content(role: str, parts: list[Json]) -> Json:
    return {"parts": parts, "role": role}


def write_blob(data: bytes, mime_type: str) -> Json:
    """Bytes inside a frame."""
    return {"mimeType": mime_type, "data": pybase64.b64encode_as_string(data)}


def write_response(result: ToolResultBlock) -> Json:
    """The result of a call: its `response` must be an object. Media in it does not reach the model."""
    key = "output" if result.state in ("success", "running") else "error"
    return {"id": result.id, "name": result.name, "response": {key: result.output_text(names_media=True)}}


def token_counts(usage: wire.Usage | None) -> tuple[int, int]:
    """Tokens in and out of a turn. The second number excludes thoughts, like the service's own total."""
    if usage is None:
        return 0, 0
    made = usage.response_token_count if usage.response_token_count is not None else usage.candidates_token_count
    return (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0), made or 0


def usage_detail(usage: wire.Usage | None) -> UsageDetail | None:
    """Tokens by kind, `None` where the service names no number. Video counts as image."""
    if usage is None:
        return None
    given = [*(usage.prompt_tokens_details or ()), *(usage.tool_use_prompt_tokens_details or ())]
    made = usage.response_tokens_details or usage.candidates_tokens_details or []
    return UsageDetail(
        input_text_tokens=_sum(given, "TEXT"),
        input_audio_tokens=_sum(given, "AUDIO"),
        input_image_tokens=_sum(given, "IMAGE", "VIDEO"),
        input_cached_tokens=usage.cached_content_token_count,
        output_text_tokens=_sum(made, "TEXT"),
        output_audio_tokens=_sum(made, "AUDIO"),
        output_reasoning_tokens=usage.thoughts_token_count,
    )


def _sum(counts: list[wire.TokenCount], *modalities: str) -> int | None:
    told = [count.token_count or 0 for count in counts if count.modality in modalities]
    return sum(told) if told else None


def client_content(turns: list[Json], *, complete: bool) -> str:
    """The frame that says the turns; a `complete` one asks for a response."""
    return json_frame({"clientContent": {"turns": turns, "turnComplete": complete}})
