"""The session of an OpenAI realtime client: its settings as this protocol shows them and as the call knows them.

Passed to the model behind: instructions, modalities, tools, `tool_choice` (with the client's requests),
`max_output_tokens`, voice, detection of turns, whether the user is transcribed. Shown to the client, but without
effect, since other models do not know them: `speed`, `noise_reduction`, `idle_timeout_ms`, the model and the hints
of the transcription, `truncation`, `tracing`, `prompt`, `reasoning`, `parallel_tool_calls`, `include`. Not shown: tools
that are no functions, which the model behind has or the call names as left out. Refused: transcription sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from realtime.dialects.openai_family import g711
from realtime.dialects.openai_family import openai_client as w
from realtime.dialects.openai_family.client import Json, invalid, tools_of
from realtime.event.base import HostedTool, Item, Modality, ResponseOverrides

DEFAULT_VOICE = "marin"
PCM: Json = {"type": "audio/pcm", "rate": w.RATE_HZ}
DEFAULT_TURN_DETECTION: dict[str, Json] = {
    "server_vad": {
        "type": "server_vad",
        "threshold": 0.5,
        "prefix_padding_ms": 300,
        "silence_duration_ms": 500,
        "idle_timeout_ms": None,
        "create_response": True,
        "interrupt_response": True,
    },
    "semantic_vad": {
        "type": "semantic_vad",
        "eagerness": "auto",
        "create_response": True,
        "interrupt_response": True,
    },
}
DETECTION_KEYS = ("threshold", "silence_duration_ms", "prefix_padding_ms", "eagerness")
"""Detection settings that a call knows, besides the two true by default."""
CLEARED: Json = {
    "instructions": "",
    "tools": [],
    "tool_choice": "auto",
    "max_output_tokens": "inf",
    "truncation": "auto",
    "output_modalities": ["audio"],
}
"""The values of keys that a client clears."""


def default_session(model: str, expires_at: int) -> Json:
    """The session object of a call that was not configured yet. `expires_at` in seconds since the epoch."""
    return {
        "type": "realtime",
        "object": "realtime.session",
        "id": "",
        "model": model,
        "output_modalities": ["audio"],
        "instructions": "",
        "tools": [],
        "tool_choice": "auto",
        "max_output_tokens": "inf",
        "tracing": None,
        "truncation": "auto",
        "prompt": None,
        "expires_at": expires_at,
        "audio": {
            "input": {
                "format": PCM,
                "transcription": None,
                "noise_reduction": None,
                "turn_detection": DEFAULT_TURN_DETECTION["server_vad"],
            },
            "output": {"format": PCM, "voice": DEFAULT_VOICE, "speed": 1.0},
        },
        "include": None,
    }


def merged(session: Json, change: w.Session) -> Json:
    """The effective session object after the change; `session` stays as it is. Raises EventRefusal."""
    _check(change)
    said: Json = msgspec.to_builtins(change)
    audio = said.pop("audio", {})
    said.pop("model", None)
    said.pop("type")
    for key, empty in CLEARED.items():
        if key in said and said[key] is None:
            said[key] = empty
    if "tools" in said:
        said["tools"] = [_tool(one) for one in read_tools(said["tools"], "session.tools")[0]]
    return session | said | {"audio": _merged_audio(session["audio"], audio)}


def read_tools(tools: Sequence[Json], param: str) -> tuple[list[w.FunctionTool], list[Json]]:
    """Return the functions, and the others as hosted tools of the call. Raises EventRefusal."""
    return tools_of(tools, param, w.FunctionTool, w.wrong_value)


def _tool(tool: w.FunctionTool) -> Json:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters or {"type": "object", "properties": {}},
    }


def _merged_audio(now: Json, said: Json) -> Json:
    heard, spoken = dict(said.get("input", {})), dict(said.get("output", {}))
    for side in (heard, spoken):
        if "format" in side:
            kind = (side["format"] or PCM)["type"]
            side["format"] = PCM if kind == PCM["type"] else {"type": kind}
    if (detection := heard.get("turn_detection")) is not None:
        before = now["input"]["turn_detection"]
        kind = detection["type"]
        base = before if before is not None and before["type"] == kind else DEFAULT_TURN_DETECTION[kind]
        given = {key: value for key, value in detection.items() if value is not None or key == "idle_timeout_ms"}
        heard["turn_detection"] = base | given
    if (transcription := heard.get("transcription")) is not None:
        base = now["input"]["transcription"] or {"model": None, "language": None, "prompt": None}
        heard["transcription"] = base | transcription
    if spoken.get("speed", 1.0) is None:
        spoken["speed"] = 1.0
    if "voice" in spoken and spoken["voice"] is None:
        del spoken["voice"]
    return {"input": now["input"] | heard, "output": now["output"] | spoken}


def _check(change: w.Session) -> None:
    if change.type == "transcription":
        raise invalid("Transcription sessions are not served here: use type 'realtime'.", "session.type")
    check_modalities(change.output_modalities, "session.output_modalities")
    if change.audio is UNSET:
        return
    for name, side in (("input", change.audio.input), ("output", change.audio.output)):
        if side is not UNSET:
            _check_format(side.format, f"session.audio.{name}.format")


def check_modalities(wanted: list[w.OutputModality] | UnsetType | None, param: str) -> None:
    """Raises EventRefusal unless it is audio or text, one of them."""
    if isinstance(wanted, list) and len(wanted) != 1:
        raise invalid(f"Invalid modalities: {wanted}. Supported combinations are: ['text'] and ['audio'].", param)


def _check_format(wanted: w.Format | UnsetType | None, param: str) -> None:
    if not isinstance(wanted, w.Format):
        return
    rate_hz = w.RATE_HZ if wanted.type == PCM["type"] else g711.RATE_HZ
    if wanted.rate not in (None, rate_hz):
        raise invalid(f"Invalid rate: {wanted.rate}. {wanted.type} has {rate_hz} Hz.", f"{param}.rate")


def _check_same_format(wanted: w.Format | UnsetType | None, session_format: Json) -> None:
    if isinstance(wanted, w.Format) and wanted.type != session_format["type"]:
        raise invalid(
            "The audio format of one response cannot differ from the session's here: change it by session.update.",
            "response.audio.output.format.type",
        )


def config_of(change: w.Session, session: Json) -> Json:
    """The changed session fields that the call knows. `session` is the merged object."""
    said: Json = msgspec.to_builtins(change)
    config: Json = {}
    for key in ("instructions", "output_modalities"):
        if key in said:
            config[key] = session[key]
    if session["max_output_tokens"] is not None and "max_output_tokens" in said:
        config["max_output_tokens"] = session["max_output_tokens"]
    if "tools" in said:
        config["tools"] = [declaration(tool) for tool in session["tools"]]
        config["hosted_tools"] = read_tools(said["tools"] or (), "session.tools")[1]
    audio = said.get("audio", {})
    heard, spoken = audio.get("input", {}), audio.get("output", {})
    if "turn_detection" in heard:
        detection = session["audio"]["input"]["turn_detection"]
        config["turn_detection"] = "none" if detection is None else _known_detection(detection, heard["turn_detection"])
        config["auto_response"] = detection is not None and detection["create_response"]
    if "transcription" in heard:
        config["input_audio_transcription"] = heard["transcription"] is not None
    if spoken.get("voice") is not None:
        config["voice"] = voice_name(spoken["voice"])
    return config


def declaration(tool: Json) -> Json:
    """A tool as the call knows it."""
    return {"name": tool["name"], "description": tool["description"] or "", "parameters": tool["parameters"] or {}}


def voice_name(voice: str | Json) -> str:
    """The name in either form of a voice."""
    return voice if isinstance(voice, str) else str(voice["id"])


def _known_detection(detection: Json, given: Json) -> Json:
    """The client's choices, now (`given`) or before, without this protocol's defaults.

    Other models do not share those.
    """
    defaults = DEFAULT_TURN_DETECTION[detection["type"]]
    chosen = {
        key: detection[key]
        for key in DETECTION_KEYS
        if key in detection and (given.get(key) is not None or detection[key] != defaults[key])
    }
    refused = {key: False for key in ("create_response", "interrupt_response") if not detection[key]}
    return {"type": detection["type"], **chosen, **refused}


# -- one response -----------------------------------------------------------------------------------------------------


def overrides_of(
    wanted: w.Response, session: Json, known: Callable[[str], Item | None], new_id: Callable[[str], str]
) -> ResponseOverrides:
    """The overrides of one response against the `session` object; `known` finds items that are referred to.

    Raises EventRefusal.
    """
    check_modalities(wanted.output_modalities, "response.output_modalities")
    functions, hosted = read_tools(wanted.tools or (), "response.tools")
    voice = None
    if wanted.audio is not None and wanted.audio.output is not UNSET:
        _check_same_format(wanted.audio.output.format, session["audio"]["output"]["format"])
        if wanted.audio.output.voice is not UNSET and wanted.audio.output.voice is not None:
            voice = voice_name(msgspec.to_builtins(wanted.audio.output.voice))
    choice = wanted.tool_choice if wanted.tool_choice is not None else session["tool_choice"]
    modalities: tuple[Modality, ...] | None = tuple(wanted.output_modalities) if wanted.output_modalities else None
    if isinstance(choice, dict) and choice.get("type") != "function":
        choice = "auto"  # of a hosted tool, which no request can force
    tools = tuple(declaration(_tool(tool)) for tool in functions) if wanted.tools is not None else None
    context = None
    if wanted.input is not None:
        context = tuple(_context(one, place, known, new_id) for place, one in enumerate(wanted.input))
    return ResponseOverrides(
        instructions=wanted.instructions,
        output_modalities=modalities,
        voice=voice,
        tools=tools,
        hosted_tools=tuple(HostedTool(**tool) for tool in hosted),
        tool_choice=None if choice == "auto" else choice,
        max_output_tokens=wanted.max_output_tokens,
        conversation=wanted.conversation or "auto",
        input=context,
        metadata=wanted.metadata,
    )


def _context(wire: w.WireItem, place: int, known: Callable[[str], Item | None], new_id: Callable[[str], str]) -> Item:
    if wire.type != "item_reference":
        return w.item_of(wire, wire.id or new_id("item"), param=f"response.input[{place}]")
    found = known(wire.id or "")
    if found is None:
        raise invalid(f"Item with id '{wire.id}' not found.", f"response.input[{place}].id")
    return found
