"""The messages of AgentScope Java 1.x.

Results are read with `id`, as its source writes them, and with `toolUseId`, as its documented page prints them; times
as local text and as an instant. `shape` chooses what is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from realtime.interop.table import (
    ABSENT,
    Dialect,
    Field,
    Json,
    Kind,
    Options,
    a_count,
    an_id,
    an_object,
    arguments_of,
    instant,
    json_object,
    json_text,
    local_time,
    main_type,
    same_or_absent,
    source_of,
    text,
    utc_time,
    word,
)
from realtime.message.outcome import from_generate_reason, to_generate_reason

ERROR = "Error: "
"""What the text of a failed result begins with."""


def written_time(value: Any, options: Options) -> Any:
    """Write a time as the page or the source does."""
    return instant(value, options) if options.shape == "page" else local_time(value, options)


def written_source(value: Json, _: Options) -> Json:
    """Write a source; that of a URL has no media type."""
    return {"type": "url", "url": value["url"]} if value["type"] == "url" else value


def read_usage(value: Any, options: Options) -> Json:
    """Read the usage of a message."""
    usage = an_object(value, options)
    made = {"cache_creation_input_tokens": 0}
    for ours, theirs in (("input_tokens", "inputTokens"), ("output_tokens", "outputTokens"), _CACHED):
        try:
            made[ours] = a_count(usage[theirs] if usage.get(theirs) is not None else 0, options)
        except ValueError as error:
            raise ValueError(f"cannot be read: {theirs} {error}") from None
    return made


_CACHED = ("cache_input_tokens", "cachedTokens")


def written_usage(value: Any, _: Options) -> Any:
    """Write the usage of a message, without what the cache held."""
    if value is None:
        return ABSENT
    return {
        "inputTokens": value["input_tokens"],
        "outputTokens": value["output_tokens"],
        "totalTokens": value["input_tokens"] + value["output_tokens"],
    }


def read_raw_input(ours: Json, theirs: Mapping[str, Any], _: Options) -> None:
    """Take the raw text of arguments that are no object."""
    raw = theirs.get("content")
    if isinstance(raw, str) and raw and not theirs.get("input"):
        ours["input"] = raw
    ours.setdefault("input", "")


def written_raw_input(ours: Json, theirs: Json, options: Options) -> None:
    """Write the raw text of arguments that are no object."""
    if ours["input"].strip() and arguments_of(ours["input"]) is None:
        theirs["content"] = ours["input"]


def read_output(value: Any, options: Options) -> Any:
    """Read the output of a tool: text, or a list of text and media."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise ValueError("is neither text nor a list of blocks")
    return [_read_part(part, place, options) for place, part in enumerate(value)]


def _read_part(part: Any, place: int, options: Options) -> Json:
    match {**part, "type": word(part.get("type"))} if isinstance(part, dict) else part:
        case str(said) | {"type": "text", "text": str(said)}:
            return {"type": "text", "text": said}
        case {"type": "image" | "audio" | "video" | "data" as kind, "source": source}:
            kind = "" if kind == "data" else kind
            return {"type": "data", "source": source_of(kind, "mime_type")(source, options), "name": None}
    raise ValueError(f"has at {place} what is neither text nor media")


def written_output(value: Any, options: Options) -> list[Json]:
    """Write the output of a tool as a list of blocks."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    return [written for part in value if (written := _written_part(part, options)) is not None]


def _written_part(part: Json, options: Options) -> Json | None:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    kind = part["source"]["media_type"].partition("/")[0]
    if kind not in ("image", "audio", "video"):
        return None
    return {"type": kind, "source": written_source(part["source"], options)}


def read_result(ours: Json, theirs: Mapping[str, Any], _: Options) -> None:
    """Read the state of a result from its text and its metadata."""
    match ours.setdefault("output", ""):
        case str(said) if said.startswith(ERROR):
            ours |= {"state": "error", "output": said.removeprefix(ERROR)}
        case [{"type": "text", "text": str(said)} as first, *_] if said.startswith(ERROR):
            ours["state"] = "error"
            first["text"] = said.removeprefix(ERROR)
    match theirs.get("metadata"):
        case {"agentscope_suspended": True}:
            ours["state"] = "running"


def written_result(ours: Json, theirs: Json, options: Options) -> None:
    """Write the state of a result; in the source's shape also its name."""
    match ours.get("state"), theirs["output"]:
        case "error", [{"type": "text"} as first, *_]:
            first["text"] = ERROR + first["text"]
        case "error", others:
            theirs["output"] = [{"type": "text", "text": ERROR}, *others]
        case "running", _:
            theirs["metadata"] = {"agentscope_suspended": True}
    if options.shape == "source":
        theirs["id"] = theirs.pop("toolUseId")
        theirs["name"] = ours["name"]
        theirs.setdefault("metadata", {})


def read_reason(ours: Json, theirs: Mapping[str, Any], _: Options) -> None:
    """Read why a reply ended, of assistants alone; only they have usage."""
    reason = ours["metadata"].get(REASON)
    if ours["role"] != "assistant":
        ours.pop("usage", None)
    elif isinstance(reason, str):
        ours["finished_reason"], notes = from_generate_reason(reason)
        ours["metadata"] = {key: value for key, value in ours["metadata"].items() if key != REASON} | notes


def written_reason(ours: Json, theirs: Json, _: Options) -> None:
    """Write why a reply ended, or that it waits for a tool."""
    waits = any(block.get("state") == "submitted" for block in ours["content"])
    if ours.get("finished_reason") is not None or waits:
        notes = theirs["metadata"]
        notes[REASON] = to_generate_reason(ours.get("finished_reason"), notes)
        notes.pop("stop_requested", None)


REASON = "agentscope_generate_reason"


def media(kind: str) -> Kind:
    """Return the kind of image, audio or video blocks."""
    source = Field("source", "source", source_of(kind, "mime_type"), written_source)
    return Kind("data", kind, (source,), main_type(kind))


NOTES = (Field("structured_output", "_structured_output", an_object, same_or_absent),)
"""What both versions write into the metadata."""

THINKING = Kind(
    "thinking",
    "thinking",
    (Field("thinking", "thinking", text), Field("extra", "metadata", an_object, lambda value, _: value or ABSENT)),
)
CALL_FIELDS = (
    Field("id", "id", an_id),
    Field("name", "name", text),
    Field("input", "input", json_text, json_object),
)
RESULT_NAMES = ("id", "toolUseId", "tool_use_id")
"""How a result names its call."""

TABLE = Dialect(
    name="java1",
    roles={"user": "USER", "assistant": "ASSISTANT", "system": "SYSTEM"},
    tool_role="TOOL",
    message=(
        Field("name", "name", text),
        Field("role", "role"),
        Field("content", "content"),
        Field("metadata", "metadata"),
        Field("id", "id", an_id),
        Field("created_at", "timestamp", utc_time, written_time),
    ),
    notes=(*NOTES, Field("usage", "_chat_usage", read_usage, written_usage)),
    blocks=(
        Kind("text", "text", (Field("text", "text", text),)),
        THINKING,
        media("image"),
        media("audio"),
        media("video"),
        Kind(
            "tool_call",
            "tool_use",
            CALL_FIELDS,
            read=read_raw_input,
            write=written_raw_input,
            also=("tool_call",),
        ),
        Kind(
            "tool_result",
            "tool_result",
            (
                Field("id", "toolUseId", an_id, also=RESULT_NAMES),
                Field("name", "name", text, lambda value, _: ABSENT),
                Field("output", "output", read_output, written_output),
            ),
            read=read_result,
            write=written_result,
        ),
    ),
    read=read_reason,
    write=written_reason,
)
