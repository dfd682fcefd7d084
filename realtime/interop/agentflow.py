"""The table of Agentflow's messages (10xGraph).

Both shapes are read. `shape="page"` writes the documented one, which is also that of `agentflow_message`,
`shape="source"` what the package and its TypeScript client load: the two differ in tool results, reasoning, annotations
and errors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from realtime.interop.agentflow_lists import ERROR, SUBMITTED, gather, scatter, type_of
from realtime.interop.agentflow_media import (
    is_document,
    media_of,
    read_data,
    read_name,
    write_audio,
    write_data,
    write_name,
    written_media,
)
from realtime.interop.table import (
    Dialect,
    Field,
    Json,
    Kind,
    Options,
    a_count,
    an_id,
    an_object,
    epoch_seconds,
    is_true,
    json_object,
    json_text,
    main_type,
    same_or_absent,
    text,
    utc_time,
    word,
)

# -- tools -------------------------------------------------------------------------------------------------------------


def _submitted(block: Json) -> bool:
    return bool(block["state"] == "submitted")


def _read_call(ours: Json, theirs: Mapping[str, Any], _: Options) -> None:
    if type_of(theirs) == "remote_tool_call" or theirs.get(SUBMITTED) is True:
        ours["state"] = "submitted"


def _output(value: Any, options: Options) -> Any:
    """Read a result: text; a list of blocks as ours; everything else as JSON text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(map(_is_part, value)):
        with_ids = [_part(one, options) for one in value]
        if None not in with_ids:
            return with_ids
    return json.dumps(value, ensure_ascii=False)


def _is_part(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") in ("text", "image", "audio", "video", "document")


def _part(value: Json, options: Options) -> Json | None:
    if value["type"] == "text":
        return {"type": "text", "text": value["text"]} if isinstance(value.get("text"), str) else None
    try:
        return {"type": "data", "source": media_of(_MAIN_TYPES.get(value["type"], ""))(value.get("media"), options)}
    except ValueError:
        return None


_MAIN_TYPES = {"image": "image", "audio": "audio", "video": "video"}


def _written_output(value: Any, options: Options) -> Any:
    if not isinstance(value, list):
        return value
    return [
        {"type": "text", "text": part["text"], "annotations": []}
        if part["type"] == "text"
        else {"type": _kind_of(part), "media": {**written_media(part["source"], options), "filename": part.get("name")}}
        for part in value
    ]


def _kind_of(block: Json) -> str:
    main = str(block["source"]["media_type"]).partition("/")[0]
    return _MAIN_TYPES.get(main, "document")


def _read_result(ours: Json, theirs: Mapping[str, Any], _: Options) -> None:
    ours.setdefault("output", "")
    failed = is_true(theirs.get("is_error")) or word(theirs.get("status")) == "failed"
    ours["state"] = "error" if failed else "success"


def _write_result(ours: Json, theirs: Json, _: Options) -> None:
    theirs["is_error"] = ours["state"] != "success"


def _write_call(tool_type: str | None) -> Any:
    def write(_: Json, theirs: Json, __: Options) -> None:
        theirs["tool_type"] = tool_type

    return write


# -- thinking, errors, usage -------------------------------------------------------------------------------------------


def _read_thinking(ours: Json, theirs: Mapping[str, Any], _: Options) -> None:
    details = theirs.get("details")
    if not ours.get("thinking") and isinstance(details, list):
        ours["thinking"] = "\n".join(one for one in details if isinstance(one, str))
    if isinstance(signature := theirs.get("signature"), str):
        ours["extra"] = {"signature": signature}


def _write_thinking(ours: Json, theirs: Json, _: Options) -> None:
    signature = ours.get("extra", {}).get("signature")
    theirs["signature"] = signature if isinstance(signature, str) else None


def _write_text(_: Json, theirs: Json, __: Options) -> None:
    theirs["annotations"] = []


_COUNTS = {
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "cache_read_input_tokens": "cache_input_tokens",
    "cache_creation_input_tokens": "cache_creation_input_tokens",
}
_REQUIRED = ("completion_tokens", "prompt_tokens", "total_tokens")


def _usage(value: Any, options: Options) -> Json:
    usages = an_object(value, options)
    for name in _REQUIRED:
        if usages.get(name) is None:
            raise ValueError(f"has no {name}")
    counts = {}
    for name in (*_COUNTS, "total_tokens", "reasoning_tokens", "image_tokens", "audio_tokens"):
        try:
            counts[name] = a_count(usages.get(name) or 0, options)
        except ValueError as error:
            raise ValueError(f"has a field {name} that {error}") from None
    return {ours: counts[theirs] for theirs, ours in _COUNTS.items()}


def _usages(value: Any, _: Options) -> Any:
    if value is None:
        return None
    counts = {theirs: value[ours] for theirs, ours in _COUNTS.items()}
    return {
        "completion_tokens": counts["completion_tokens"],
        "prompt_tokens": counts["prompt_tokens"],
        "total_tokens": counts["prompt_tokens"] + counts["completion_tokens"],
        "reasoning_tokens": 0,
        "cache_creation_input_tokens": counts["cache_creation_input_tokens"],
        "cache_read_input_tokens": counts["cache_read_input_tokens"],
        "image_tokens": 0,
        "audio_tokens": 0,
    }


# -- messages ----------------------------------------------------------------------------------------------------------


def _read_message(ours: Json, theirs: Mapping[str, Any], _: Options) -> None:
    if ours["role"] != "assistant":
        ours.pop("usage", None)
    elif ours.get("error") is not None:
        ours["finished_reason"] = "error"


def _write_message(_: Json, theirs: Json, __: Options) -> None:
    for name, value in {"delta": False, "tools_calls": None, "reasoning": None, "raw": None}.items():
        theirs.setdefault(name, value)


_MEDIA_KINDS = tuple(
    Kind(
        "data",
        name,
        (Field("source", "media", media_of(main), written_media),),
        takes=takes,
        read=read_name,
        write=write_audio if name == "audio" else write_name,
    )
    for name, main, takes in (
        ("image", "image", main_type("image")),
        ("audio", "audio", main_type("audio")),
        ("video", "video", main_type("video")),
        ("document", "", is_document),
    )
)
_CALL = (Field("id", "id", an_id), Field("name", "name", text), Field("input", "args", json_text, json_object))

TABLE = Dialect(
    name="agentflow",
    roles={"user": "user", "assistant": "assistant", "system": "system"},
    tool_role="tool",
    message=(
        Field("id", "message_id", an_id),
        Field("role", "role"),
        Field("content", "content"),
        Field("created_at", "timestamp", utc_time, epoch_seconds),
        Field("metadata", "metadata"),
        Field("usage", "usages", _usage, _usages),
        Field("structured_output", "parsed_content", an_object, same_or_absent),
        Field("error", ERROR, text, same_or_absent),
    ),
    blocks=(
        Kind("text", "text", (Field("text", "text", text),), write=_write_text),
        Kind(
            "thinking",
            "reasoning",
            (Field("thinking", "thinking", text),),
            read=_read_thinking,
            write=_write_thinking,
        ),
        *_MEDIA_KINDS,
        Kind("data", "data", (), read=read_data, write=write_data),
        Kind("tool_call", "remote_tool_call", _CALL, takes=_submitted, read=_read_call, write=_write_call("remote")),
        Kind("tool_call", "tool_call", _CALL, read=_read_call, write=_write_call(None)),
        Kind(
            "tool_result",
            "tool_result",
            (
                Field("id", "tool_call_id", an_id, also=("call_id",)),
                Field("output", "content", _output, _written_output),
            ),
            read=_read_result,
            write=_write_result,
        ),
    ),
    read=_read_message,
    write=_write_message,
    gather=gather,
    scatter=scatter,
)
