"""The setup of a Gemini Live client as the call knows it: instructions, voice, tools, detection of turns."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from realtime.dialects.gemini import client as w
from realtime.dialects.gemini.client import Json, MessageRefusal, unsupported
from realtime.event.base import REMOTE_MCP, WEB_SEARCH, check_tool_count


def config_of(setup: w.Setup) -> Json:
    """The setup as the call knows it. Raises MessageRefusal for what is not served."""
    generation = setup.generation_config
    if setup.avatar_config is not None:
        raise unsupported("avatarConfig")
    if generation.translation_config is not None:
        raise unsupported("translationConfig")
    config: Json = {"model": setup.model.removeprefix("models/")}
    if setup.system_instruction is not None:
        config["instructions"] = text_of(setup.system_instruction)
    if "TEXT" in generation.response_modalities and "AUDIO" not in generation.response_modalities:
        config["output_modalities"] = ["text"]
    config["temperature"] = generation.temperature
    config["max_output_tokens"] = generation.max_output_tokens
    config["voice"] = _voice(generation.speech_config)
    if setup.tools:
        config |= tools_of(setup.tools)
    detection = turn_detection(setup.realtime_input_config)
    if detection:
        config["turn_detection"] = detection
    return {key: value for key, value in config.items() if value is not None}


def text_of(content: w.Content) -> str:
    """The instructions in a content."""
    return "\n".join(part.text for part in content.parts if part.text)


def _voice(speech: w.SpeechConfig | None) -> str | None:
    if speech is None:
        return None
    if speech.multi_speaker_voice_config is not None:
        raise unsupported("multiSpeakerVoiceConfig")
    voice = speech.voice_config
    if voice is None:
        return None
    if voice.replicated_voice_config is not None:
        raise unsupported("replicatedVoiceConfig")
    prebuilt = voice.prebuilt_voice_config
    return (prebuilt.voice_name if prebuilt is not None else None) or voice.voice


def turn_detection(config: w.RealtimeInputConfig) -> Json | Literal["none"]:
    """The detection of turns; empty keeps the call's own. The two sensitivities become a threshold.

    Raises MessageRefusal for turns that the client marks and that shall not interrupt: the end of a turn always does.
    """
    wanted, interrupts = config.automatic_activity_detection, config.activity_handling != "NO_INTERRUPTION"
    if wanted.disabled:
        if not interrupts:
            raise unsupported("NO_INTERRUPTION without automatic activity detection")
        return "none"
    start = _level(wanted.start_of_speech_sensitivity, "START_SENSITIVITY_")
    end = _level(wanted.end_of_speech_sensitivity, "END_SENSITIVITY_")
    said = {
        "threshold": {"HIGH": 0.4, "LOW": 0.7}.get(start),
        "eagerness": end.lower() if end != "UNSPECIFIED" else None,
        "prefix_padding_ms": wanted.prefix_padding_ms,
        "silence_duration_ms": wanted.silence_duration_ms,
        "interrupt_response": None if interrupts else False,
    }
    return {key: value for key, value in said.items() if value is not None}


def _level(said: str | None, prefix: str) -> w.Sensitivity:
    match (said or f"{prefix}UNSPECIFIED").removeprefix(prefix):
        case "UNSPECIFIED":
            return "UNSPECIFIED"
        case "LOW":
            return "LOW"
        case "HIGH":
            return "HIGH"
        case _:
            raise MessageRefusal(f"There is no sensitivity {(said or '')[:40]!r}.")


_HOSTED_KINDS = {"googleSearch": WEB_SEARCH, "googleSearchRetrieval": WEB_SEARCH, "mcpServers": REMOTE_MCP}


def tools_of(tools: list[Json]) -> Json:
    """The tools as the call knows them: `tools` that run in the client, `hosted_tools` that run elsewhere.

    Options of hosted tools count for nothing: other models do not know them. Raises MessageRefusal.
    """
    kinds = [kind for tool in tools for kind in tool if kind != "functionDeclarations"]
    hosted = [{"kind": _HOSTED_KINDS.get(kind, kind), "name": kind} for kind in dict.fromkeys(kinds)]
    return {"tools": _declarations(tools), "hosted_tools": hosted}


def _declarations(tools: list[Json]) -> list[Json]:
    made: list[Json] = []
    for tool in tools:
        declared = tool.get("functionDeclarations", [])
        try:
            if isinstance(declared, list):
                check_tool_count(len(made) + len(declared))
            given = msgspec.convert(declared, list[w.Declaration], strict=False)
        except ValueError as error:
            raise MessageRefusal(f"{error}.") from error
        for one in given:
            try:
                schema = one.parameters_json_schema or json_schema(one.parameters or {})
            except RecursionError as error:
                raise MessageRefusal("A schema is nested too deeply.") from error
            made.append({"name": one.name, "description": one.description, "parameters": schema})
    return made


_SCHEMA_INTEGERS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
_SCHEMA_DROPPED = frozenset({"nullable", "example", "propertyOrdering", "type"})


def json_schema(schema: Json) -> Json:
    """The service's own kind of schema as JSON Schema: types in lower case, `nullable` as a second type.

    Raises MessageRefusal for what is no schema.
    """
    said = {w.camel_case(key): value for key, value in schema.items() if value is not None}
    made: Json = {}
    kind = str(said.get("type", "")).lower()
    if kind and kind != "type_unspecified":
        made["type"] = [kind, "null"] if said.get("nullable") and kind != "null" else kind
    for key, value in said.items():
        match key, value:
            case _ if key in _SCHEMA_DROPPED:
                pass
            case "properties" | "defs", dict():
                made["$defs" if key == "defs" else key] = {name: _below(one) for name, one in value.items()}
            case "items", _:
                made[key] = _below(value)
            case "anyOf", list():
                made[key] = [_below(one) for one in value]
            case "ref", _:
                made["$ref"] = value
            case _ if key in _SCHEMA_INTEGERS and isinstance(value, str) and value.isdecimal():
                made[key] = int(value)
            case _:
                made[key] = value
    return made


def _below(schema: Any) -> Json:
    if not isinstance(schema, dict):
        raise MessageRefusal("A schema is an object.")
    return json_schema(schema)
