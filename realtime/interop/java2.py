"""The messages and events of AgentScope Java 2.x.

Names of fields are in camel case, those of events differ: a reply begins with AGENT_START. Also read are the older
names of events, as the first TypeScript package of AgentScope wrote them. Where the documented page and the source
differ, both are read, and `shape` chooses what is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from realtime.interop.java1 import (
    CALL_FIELDS,
    NOTES,
    RESULT_NAMES,
    THINKING,
    media,
    read_output,
    read_raw_input,
    read_reason,
    read_usage,
    written_raw_input,
    written_reason,
)
from realtime.interop.table import (
    ABSENT,
    Dialect,
    EventKind,
    Field,
    Json,
    Kind,
    Options,
    an_id,
    an_object,
    block_in,
    block_out,
    instant,
    local_time,
    lower,
    same_or_absent,
    several,
    source_of,
    text,
    utc_time,
    whole_number,
)
from realtime.message.older import UNKNOWN_TYPE


def _written_source(value: Json, _: Options) -> Json:
    if value["type"] == "base64":
        return value
    return {"type": "url", "url": value["url"], "mime_type": value["media_type"]}


def _written_output(value: Any, _: Options) -> list[Json]:
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    return [
        {"type": "text", "text": part["text"]} if part["type"] == "text" else block_out(DATA, part, _) for part in value
    ]


def _written_usage(value: Any, _: Options) -> Any:
    if value is None:
        return None
    tokens = {"inputTokens": value["input_tokens"], "outputTokens": value["output_tokens"]}
    return {**tokens, "cachedTokens": value["cache_input_tokens"], "totalTokens": sum(tokens.values())}


def _read_hint(value: Any, options: Options) -> Any:
    return value if isinstance(value, str) else read_output(value, options)


def _written_hint(value: Any, _: Options) -> str:
    """Write a hint, which is text alone: of a list its texts."""
    if isinstance(value, str):
        return value
    return "\n".join(part["text"] for part in value if part["type"] == "text")


DATA = Kind(
    "data",
    "data",
    (
        Field("source", "source", source_of("", "mime_type"), _written_source),
        Field("id", "id", an_id, same_or_absent),
        Field("name", "name", text, same_or_absent),
    ),
)
HINT = Kind(
    "hint",
    "hint",
    (Field("id", "id", an_id), Field("hint", "hint", _read_hint, _written_hint), Field("source", "source", text)),
)
CALL = Kind(
    "tool_call",
    "tool_use",
    (*CALL_FIELDS, Field("state", "state", lower)),
    read=read_raw_input,
    write=written_raw_input,
    also=("tool_call",),
)


def _read_result(ours: Json, theirs: Mapping[str, Any], _: Options) -> None:
    ours.setdefault("output", "")


RESULT = Kind(
    "tool_result",
    "tool_result",
    (
        Field("id", "id", an_id, also=RESULT_NAMES),
        Field("name", "name", text),
        Field("output", "output", read_output, _written_output),
        Field("state", "state", lower),
    ),
    read=_read_result,
)

# -- events ------------------------------------------------------------------------------------------------------------

_BLOCK = Field("block_id", "blockId", an_id)
_DELTA = Field("delta", "delta", text)
_CALL_ID = Field("tool_call_id", "toolCallId", an_id)
_CALL_NAME = Field("tool_call_name", "toolCallName", text, same_or_absent)
_READ_CALLS, _WRITTEN_CALLS = several(CALL)
_READ_RESULTS, _WRITTEN_RESULTS = several(RESULT)
_CALLS = Field("tool_calls", "toolCalls", _READ_CALLS, _WRITTEN_CALLS)


def _page_alone(value: Any, options: Options) -> Any:
    return ABSENT if value is None or options.shape == "source" else value


def _read_model_call_end(ours: Json, theirs: Mapping[str, Any], options: Options) -> None:
    if theirs.get("usage") is not None:
        usage = read_usage(theirs["usage"], options)
        ours |= {name: usage[name] for name in ("input_tokens", "output_tokens")}
    ours |= {name: ours.get(name, 0) for name in ("input_tokens", "output_tokens")}


def _written_model_call_end(ours: Json, theirs: Json, options: Options) -> None:
    if options.shape == "source":
        theirs["usage"] = _written_usage({**ours, "cache_input_tokens": 0}, options)


def _read_data_delta(ours: Json, theirs: Mapping[str, Any], options: Options) -> None:
    """Read the output of a tool: a block, as the source has it, or its fields, as the page prints them."""
    if isinstance(theirs.get("data"), dict):
        source = source_of("", "mime_type")(theirs["data"].get("source"), options)
        ours.pop("data", None)
        ours |= {"media_type": source["media_type"], source["type"].replace("base64", "data"): _content_of(source)}
        if isinstance(theirs["data"].get("id"), str):
            ours["block_id"] = theirs["data"]["id"]
    ours.setdefault("block_id", f"{ours.get('id', '')}_data")
    ours.setdefault("media_type", UNKNOWN_TYPE)


def _content_of(source: Json) -> str:
    content: str = source["url"] if source["type"] == "url" else source["data"]
    return content


def _written_data_delta(ours: Json, theirs: Json, options: Options) -> None:
    if options.shape == "source":
        data, url, media_type = ours.get("data"), ours.get("url"), ours["media_type"]
        source = {"type": "base64", "data": data} if url is None else {"type": "url", "url": url}
        block = {"source": {**source, "media_type": media_type}, "id": ours["block_id"]}
        theirs["data"] = block_out(DATA, block, options)


def _read_confirm_results(value: Any, options: Options) -> list[Json]:
    if not isinstance(value, list):
        raise ValueError("is no list")
    made = []
    for one in value:
        entry = an_object(one, options)
        rules = {"rules": entry["rules"]} if entry.get("rules") is not None else {}
        call = block_in(CALL, entry.get("toolCall"), options)
        made.append({"confirmed": entry.get("confirmed"), "tool_call": call, **rules})
    return made


def _written_confirm_results(value: Any, options: Options) -> list[Json]:
    return [
        {"confirmed": one["confirmed"], "toolCall": block_out(CALL, one["tool_call"], options), "rules": one["rules"]}
        for one in value
    ]


def _block_kinds(name: str) -> tuple[EventKind, ...]:
    """Return start, delta and end of blocks that have text."""
    return tuple(
        EventKind(f"{name}_{end}", f"{name}_{end}", fields)
        for end, fields in (("START", (_BLOCK,)), ("DELTA", (_BLOCK, _DELTA)), ("END", (_BLOCK,)))
    )


def _told_alone(theirs: str, *also: str) -> EventKind:
    """Return a kind of event that we have none for: a custom one with its name holds its fields."""
    base = {"type", "id", "createdAt", "replyId", "metadata"}

    def read(ours: Json, raw: Mapping[str, Any], _: Options) -> None:
        ours |= {"name": theirs, "value": {key: value for key, value in raw.items() if key not in base}}

    def write(ours: Json, raw: Json, _: Options) -> None:
        raw |= ours["value"]

    return EventKind(
        "CUSTOM", theirs, also=also, takes=lambda event: bool(event["name"] == theirs), read=read, write=write
    )


def _read_custom(ours: Json, theirs: Mapping[str, Any], _: Options) -> None:
    value = theirs.get("value")
    ours["value"] = value if isinstance(value, dict) else {} if value is None else {"value": value}


EVENTS = (
    EventKind(
        "REPLY_START",
        "AGENT_START",
        (Field("session_id", "sessionId", text), Field("name", "name", text), Field("role", "role", lower)),
        also=("REPLY_START", "RUN_STARTED"),
    ),
    EventKind("REPLY_END", "AGENT_END", also=("REPLY_END", "RUN_FINISHED")),
    _told_alone("AGENT_RESULT"),
    EventKind(
        "MODEL_CALL_START",
        "MODEL_CALL_START",
        (Field("model_name", "modelName", text, _page_alone),),
        also=("MODEL_CALL_STARTED",),
    ),
    EventKind(
        "MODEL_CALL_END",
        "MODEL_CALL_END",
        (
            Field("input_tokens", "inputTokens", whole_number, _page_alone),
            Field("output_tokens", "outputTokens", whole_number, _page_alone),
        ),
        also=("MODEL_CALL_ENDED",),
        read=_read_model_call_end,
        write=_written_model_call_end,
    ),
    *_block_kinds("TEXT_BLOCK"),
    *_block_kinds("THINKING_BLOCK"),
    EventKind(
        "DATA_BLOCK_START",
        "DATA_BLOCK_START",
        (_BLOCK, Field("media_type", "mediaType", text, _page_alone), Field("name", "name", text, same_or_absent)),
        also=("BINARY_BLOCK_START",),
        read=lambda ours, theirs, options: ours.setdefault("media_type", UNKNOWN_TYPE),
    ),
    EventKind(
        "DATA_BLOCK_DELTA",
        "DATA_BLOCK_DELTA",
        (_BLOCK, Field("media_type", "mediaType", text, _page_alone), Field("data", "data", text, also=("delta",))),
        also=("BINARY_BLOCK_DELTA",),
        write=lambda ours, theirs, options: _renamed(theirs, "data", "delta", options),
    ),
    EventKind("DATA_BLOCK_END", "DATA_BLOCK_END", (_BLOCK,), also=("BINARY_BLOCK_END",)),
    EventKind("TOOL_CALL_START", "TOOL_CALL_START", (_CALL_ID, _CALL_NAME)),
    EventKind("TOOL_CALL_DELTA", "TOOL_CALL_DELTA", (_CALL_ID, _DELTA)),
    EventKind("TOOL_CALL_END", "TOOL_CALL_END", (_CALL_ID,)),
    EventKind("TOOL_RESULT_START", "TOOL_RESULT_START", (_CALL_ID, _CALL_NAME)),
    EventKind("TOOL_RESULT_TEXT_DELTA", "TOOL_RESULT_TEXT_DELTA", (_CALL_ID, _DELTA)),
    EventKind(
        "TOOL_RESULT_DATA_DELTA",
        "TOOL_RESULT_DATA_DELTA",
        (
            _CALL_ID,
            Field("block_id", "blockId", text, _page_alone),
            Field("media_type", "mediaType", text, _page_alone),
            Field("data", "data", lambda value, _: value if isinstance(value, str) else ABSENT, _page_alone),
            Field("url", "url", text, _page_alone),
        ),
        also=("TOOL_RESULT_BINARY_DELTA",),
        read=_read_data_delta,
        write=_written_data_delta,
    ),
    EventKind("TOOL_RESULT_END", "TOOL_RESULT_END", (_CALL_ID, Field("state", "state", lower))),
    EventKind("EXCEED_MAX_ITERS", "EXCEED_MAX_ITERS", (Field("name", "name", text, same_or_absent),)),
    EventKind("REQUEST_STOP", "REQUEST_STOP", (Field("reason", "reason", text),)),
    EventKind("REQUIRE_USER_CONFIRM", "REQUIRE_USER_CONFIRM", (_CALLS,)),
    EventKind("REQUIRE_EXTERNAL_EXECUTION", "REQUIRE_EXTERNAL_EXECUTION", (_CALLS,)),
    EventKind(
        "USER_CONFIRM_RESULT",
        "USER_CONFIRM_RESULT",
        (Field("confirm_results", "confirmResults", _read_confirm_results, _written_confirm_results),),
    ),
    EventKind(
        "EXTERNAL_EXECUTION_RESULT",
        "EXTERNAL_EXECUTION_RESULT",
        (Field("execution_results", "toolResults", _READ_RESULTS, _WRITTEN_RESULTS, also=("executionResults",)),),
    ),
    EventKind(
        "HINT_BLOCK",
        "HINT_BLOCK",
        (
            _BLOCK,
            Field("source", "hintSource", text, same_or_absent),
            Field("hint", "hint", _read_hint, _written_hint),
        ),
    ),
    _told_alone("ALL_TOOLS_DENIED"),
    _told_alone("SUBAGENT_EXPOSED", "THREAD_EXPOSED"),
    EventKind("CUSTOM", "CUSTOM", (Field("name", "name", text), Field("value", "value")), read=_read_custom),
)


def _renamed(theirs: Json, page: str, source: str, options: Options) -> None:
    if options.shape == "source":
        theirs[source] = theirs.pop(page)


TABLE = Dialect(
    name="java2",
    roles={"user": "USER", "assistant": "ASSISTANT", "system": "SYSTEM"},
    tool_role="TOOL",
    message=(
        Field("id", "id", an_id),
        Field("name", "name", text),
        Field("role", "role"),
        Field("content", "content"),
        Field("metadata", "metadata"),
        Field("created_at", "timestamp", utc_time, local_time),
        Field("usage", "usage", read_usage, _written_usage),
    ),
    notes=NOTES,
    blocks=(
        Kind("text", "text", (Field("text", "text", text),)),
        THINKING,
        DATA,
        media("image"),
        media("audio"),
        media("video"),
        HINT,
        CALL,
        RESULT,
    ),
    event_fields=(
        Field("id", "id", an_id),
        Field("created_at", "createdAt", utc_time, instant),
        Field("reply_id", "replyId", an_id, lambda value, _: value or ABSENT),
        Field("metadata", "metadata", an_object, lambda value, _: value or ABSENT),
    ),
    events=EVENTS,
    read=read_reason,
    write=written_reason,
)
