"""The messages of AgentScope Python 1.x: what `Msg.to_dict()` gives.

Results of tools stand in messages of their own, with the role `system`. There are no events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from realtime.interop.java1 import CALL_FIELDS, media, read_output, written_output
from realtime.interop.table import (
    Dialect,
    Field,
    Json,
    Kind,
    Options,
    an_id,
    arguments_of,
    local_time,
    text,
    utc_time,
)


def _read_input(ours: Json, theirs: Mapping[str, Any], _: Options) -> None:
    """Prefer the text that the model wrote to the parsed object."""
    raw = theirs.get("raw_input")
    if isinstance(raw, str) and raw:
        ours["input"] = raw
    ours.setdefault("input", "")


def _written_input(ours: Json, theirs: Json, _: Options) -> None:
    """Write arguments that are no object as the model wrote them."""
    if ours["input"].strip() and arguments_of(ours["input"]) is None:
        theirs["raw_input"] = ours["input"]


def _written_output(value: Any, options: Options) -> Any:
    return value if isinstance(value, str) else written_output(value, options)


TABLE = Dialect(
    name="agentscope1",
    roles={"user": "user", "assistant": "assistant", "system": "system"},
    tool_role="system",
    results_alone=True,
    message=(
        Field("id", "id", an_id),
        Field("name", "name", text),
        Field("role", "role"),
        Field("content", "content"),
        Field("metadata", "metadata"),
        Field("created_at", "timestamp", utc_time, local_time),
    ),
    blocks=(
        Kind("text", "text", (Field("text", "text", text),)),
        Kind("thinking", "thinking", (Field("thinking", "thinking", text),)),
        media("image"),
        media("audio"),
        media("video"),
        Kind("tool_call", "tool_use", CALL_FIELDS, read=_read_input, write=_written_input, also=("tool_call",)),
        Kind(
            "tool_result",
            "tool_result",
            (
                Field("id", "id", an_id, also=("tool_use_id",)),
                Field("name", "name", text),
                Field("output", "output", read_output, _written_output),
            ),
        ),
    ),
)
