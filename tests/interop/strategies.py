"""Messages of ours and of others, drawn at random."""

from __future__ import annotations

import base64
import json
from typing import Any

from hypothesis import strategies as st

from realtime.message import (
    Base64Source,
    DataBlock,
    HintBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    URLSource,
    Usage,
)

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ids = st.text("abcdef0123456789_", min_size=1, max_size=8)
counts = st.integers(0, 10**6)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=4,
)
objects = st.dictionaries(words, json_values, max_size=3)
times = st.sampled_from(["2026-01-02T03:04:05.678Z", "2024-02-29T23:59:59.000Z", "1999-12-31T00:00:00.001Z"])
media_types = st.sampled_from(
    ["image/png", "audio/wav", "video/mp4", "image/*", "application/pdf", "audio/pcm;rate=24000"]
)
urls = st.sampled_from(["https://example.com/photo.jpg", "file:///a/b.wav", "http://example.com/x", "data:image/png,x"])
sources = st.builds(lambda data, kind: Base64Source(data=data, media_type=kind), st.binary(max_size=8), media_types) | (
    st.builds(lambda url, kind: URLSource(url=url, media_type=kind), urls, media_types)
)
texts = st.builds(lambda text, id: TextBlock(text=text, id=id), words, ids)
data = st.builds(lambda source, id, name: DataBlock(source=source, id=id, name=name), sources, ids, st.none() | words)
inputs = objects.map(json.dumps) | words | st.just("")


@st.composite
def messages(draw: st.DrawFn) -> Msg:
    """A message of ours: any role, any blocks that it may hold, any fields."""
    role: Any = draw(st.sampled_from(["user", "assistant", "assistant", "system"]))
    optional: dict[str, Any] = {}
    match role:
        case "user":
            blocks: Any = st.lists(texts | data, max_size=4)
        case "system":
            blocks = st.lists(texts, max_size=2)
        case _:
            blocks = st.lists(texts | data | _thoughts | _hints | _calls | _results, max_size=6)
            optional = {
                "usage": draw(st.none() | _usages),
                "finished_reason": draw(
                    st.sampled_from([None, "completed", "interrupted", "exceed_max_iters", "error"])
                ),
                "finished_at": draw(st.none() | times),
                "error": draw(st.none() | words),
                "structured_output": draw(st.none() | objects),
            }
    metadata: dict[str, Any] = draw(
        objects | st.sampled_from([{"realtime": {"of": 1}}, {"realtime": 5}, {"interop": {"java1": 3}}])
    )
    return Msg(draw(words), draw(blocks), role, id=draw(ids), metadata=metadata, created_at=draw(times), **optional)


_thoughts = st.builds(
    lambda thinking, id, signature: ThinkingBlock(thinking=thinking, id=id, extra=signature),
    words,
    ids,
    st.just({}) | st.fixed_dictionaries({"signature": words}),
)
_hints = st.builds(
    lambda hint, id, source, at: HintBlock(hint=hint, id=id, source=source, created_at=at),
    words | st.lists(texts | data, max_size=3),
    ids,
    st.none() | words,
    st.none() | times,
)
_calls = st.builds(
    lambda id, name, text, state: ToolCallBlock(id=id, name=name, input=text, state=state),
    ids,
    words,
    inputs,
    st.sampled_from([*ToolCallState]),
)
_results = st.builds(
    lambda id, name, output, state: ToolResultBlock(id=id, name=name, output=output, state=state),
    ids,
    words,
    words | st.lists(texts | data, max_size=3),
    st.sampled_from([*ToolResultState]),
)
_usages = st.builds(
    lambda a, b, c, d: Usage(input_tokens=a, output_tokens=b, cache_input_tokens=c, cache_creation_input_tokens=d),
    counts,
    counts,
    counts,
    counts,
)


# -- theirs ------------------------------------------------------------------------------------------------------------


def _object(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """An object with these fields, each perhaps absent or null, and perhaps one that no one knows."""
    optional = {name: one | st.none() for name, one in fields.items()}
    unknown: st.SearchStrategy[dict[str, Any]] = st.just({}) | st.fixed_dictionaries({"minPixels": json_values})
    return st.tuples(st.fixed_dictionaries({}, optional=optional), unknown).map(lambda two: {**two[1], **two[0]})


def _typed(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return _object(**fields).map(lambda one: {"type": kind, **one})


_foreign_sources = _typed("URL", url=urls, media_type=media_types, mime_type=media_types) | _typed(
    "base64", media_type=media_types, data=st.binary(max_size=6).map(lambda raw: base64.b64encode(raw).decode())
)
_media = st.sampled_from(["image", "audio", "video"]).flatmap(lambda kind: _typed(kind, source=_foreign_sources))
_foreign_texts = _typed("text", text=words) | _typed(" TEXT", text=words)
_foreign_results = _typed(
    "tool_result",
    id=ids,
    toolUseId=ids,
    name=words,
    output=words | st.lists(_foreign_texts | _media | words, max_size=2),
    metadata=objects | st.just({"agentscope_suspended": True}),
    state=st.sampled_from(["success", "ERROR", "denied", "odd"]),
)
_foreign_calls = _typed(
    "tool_use", id=ids, name=words, input=objects | words, content=words, raw_input=words, metadata=objects
)
_foreign_blocks = st.one_of(
    _foreign_texts,
    _typed("thinking", thinking=words, metadata=objects),
    _media,
    _typed("data", source=_foreign_sources, id=ids, name=words),
    _typed("hint", id=ids, hint=words, source=words),
    _foreign_calls,
    _foreign_results,
    _typed("hologram", depth=counts),
    json_values,
)
_notes = _object(
    _chat_usage=_object(
        inputTokens=counts, outputTokens=counts | words | st.just("3.0") | st.just(-1), time=st.floats(0, 9)
    ),
    agentscope_generate_reason=st.sampled_from(["MODEL_STOP", "INTERRUPTED", "PERMISSION_ASKING", "ODD"]),
    _structured_output=objects,
    realtime=json_values | st.fixed_dictionaries({"of": words}),
    interop=json_values,
)
_foreign_times = st.sampled_from(
    [
        "2024-01-15T10:30:00Z",
        "2024-01-15 10:30:00.123",
        "2024-01-15T10:30:00.123456789Z",
        "yesterday",
        "",
        1_705_314_600,
        "1705314600123",
        "2024-01-15T11:30:00+01:00[Europe/Paris]",
    ]
)


def _message(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    roles = st.sampled_from(["USER", "ASSISTANT", "SYSTEM", "user", " Assistant", "system", None])
    return _object(
        id=ids | counts,
        name=words,
        role=roles,
        content=words | st.lists(_foreign_blocks, max_size=4) | _foreign_blocks,
        metadata=_notes | words,
        timestamp=_foreign_times,
        **fields,
    )


_usage = _object(inputTokens=counts, outputTokens=counts, cachedTokens=counts, time=st.floats(0, 9), totalTokens=counts)


@st.composite
def threads(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A thread as another project may write it, with much that is wrong, and calls with their results in pairs."""
    thread: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            thread.append(draw(_message(usage=_usage)))
            continue
        call, result = draw(_foreign_calls), draw(_foreign_results)
        call_id = draw(ids)
        call |= {"id": call_id, "name": "find"}
        result |= {draw(st.sampled_from(["id", "toolUseId"])): call_id}
        asking, told = draw(_message()), draw(_message())
        thread += [{**asking, "role": "ASSISTANT", "content": [call]}, {**told, "role": "TOOL", "content": [result]}]
    return thread
