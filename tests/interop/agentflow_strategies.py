"""Agentflow's messages, drawn at random in both shapes."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import strategies as st

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ids = st.text("abcdef0123456789_", min_size=1, max_size=8)
counts = st.integers(0, 10**6)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=4,
)
objects = st.dictionaries(words, json_values, max_size=3)
inline = st.binary(max_size=6).map(lambda raw: base64.b64encode(raw).decode())
mime_types = st.sampled_from(["image/png", "audio/wav", "audio/pcm;rate=24000", "video/mp4", "application/pdf", "x/y"])

Made = st.SearchStrategy[dict[str, Any]]


def _made(kind: str | None = None, needs: dict[str, Any] | None = None, **may: st.SearchStrategy[Any]) -> Made:
    """An object with the fields that it needs, and others that may be absent or null; now and then an unknown one."""
    optional = {name: one | st.none() for name, one in may.items()} | {"x_unknown": json_values}
    typed = {} if kind is None else {"type": st.just(kind)}
    return st.fixed_dictionaries({**typed, **(needs or {})}, optional=optional)


_hints: dict[str, st.SearchStrategy[Any]] = {
    "mime_type": mime_types,
    "size_bytes": counts,
    "sha256": words,
    "filename": words,
    "width": counts,
    "height": counts,
    "duration_ms": counts,
    "page": counts,
}
_at = {
    "kind": st.just("url"),
    "url": st.sampled_from(["https://a.b/c d.png", "agentflow://media/k", "graph://media/k"]),
}
_media = (
    _made(None, _at, **_hints)
    | _made(None, {"kind": st.just("file_id"), "file_id": words}, **_hints)
    | _made(None, {"kind": st.just("data"), "data_base64": inline}, **_hints)
)
_references = _made(None, None, url=words, file_id=words, page=counts, index=counts, title=words)
_shared = [
    _made("text", {"text": words}, annotations=st.lists(_references, max_size=2)),
    _made("image", {"media": _media}, alt_text=words, bbox=st.lists(st.floats(0, 9), min_size=4, max_size=4)),
    _made("audio", {"media": _media}, transcript=words, sample_rate=counts, channels=counts),
    _made("video", {"media": _media}, thumbnail=_media),
    _made("document", {"media": _media}, text=words, pages=st.lists(counts, max_size=2), excerpt=words),
    _made("data", {"mime_type": mime_types, "data_base64": inline}, media=_media),
    _made("data", {"mime_type": mime_types, "media": _media}),
    _made("tool_call", {"id": ids, "name": words, "args": objects}, tool_type=words),
    _made("remote_tool_call", {"id": ids, "name": words, "args": objects, "tool_type": st.just("remote")}),
]
_outputs = words | objects | st.lists(_made("text", {"text": words}) | _made("image", {"media": _media}), max_size=2)
_page = [
    _made("tool_result", {"tool_call_id": ids, "content": _outputs}, is_error=st.booleans()),
    _made("reasoning", {"thinking": words}, signature=words),
    _made("annotation", {"annotation": _references}),
    _made("error", {"error": words}, code=words),
]
_source = [
    _made(
        "tool_result",
        {"call_id": ids, "output": _outputs | st.none()},
        is_error=st.booleans(),
        status=st.sampled_from(["completed", "failed"]),
    ),
    _made("reasoning", {"summary": words}, details=st.lists(words, max_size=2)),
    _made(
        "annotation",
        {"kind": st.sampled_from(["citation", "note"]), "refs": st.lists(_references, max_size=2)},
        spans=st.lists(st.lists(counts, min_size=2, max_size=2), max_size=2),
    ),
    _made("error", {"message": words}, code=words, data=objects),
]
_usages = _made(
    None,
    {"completion_tokens": counts, "prompt_tokens": counts, "total_tokens": counts},
    **dict.fromkeys(("reasoning_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"), counts),
    image_tokens=counts,
    audio_tokens=counts,
)


def _messages(blocks: list[Made], **more: st.SearchStrategy[Any]) -> Made:
    needs = {
        "message_id": ids | counts,
        "role": st.sampled_from(["user", "assistant", "assistant", "system", "tool"]),
        "content": st.lists(st.one_of(*_shared, *blocks), max_size=5),
    }
    return _made(
        None,
        needs,
        delta=st.just(False),
        tools_calls=st.lists(objects, max_size=1),
        reasoning=words,
        timestamp=st.floats(0, 4e9) | st.integers(0, 4 * 10**9) | st.just(1_700_000_000_123),
        metadata=objects,
        usages=_usages,
        raw=objects,
        **more,
    )


@st.composite
def _thread(draw: st.DrawFn, shape: str) -> list[dict[str, Any]]:
    """Messages, and among them calls whose results follow in messages of their own."""
    blocks, more = (_page, {}) if shape == "page" else (_source, {"parsed_content": objects})
    messages, result = _messages(blocks, **more), blocks[0]
    thread: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, 3))):
        asking = draw(messages)
        thread.append(asking)
        calls = [block for block in asking["content"] if block["type"] in ("tool_call", "remote_tool_call")]
        for call in calls:
            if draw(st.booleans()):
                sent = {**call, "type": "remote_tool_call", "tool_type": "remote"}
                thread.append(draw(messages) | {"role": "tool", "content": [sent]})
            if draw(st.booleans()):
                answer = draw(result) | {"tool_call_id" if shape == "page" else "call_id": call["id"]}
                thread.append(draw(messages) | {"role": "tool", "content": [answer]})
    return thread


page_threads = _thread("page")
source_threads = _thread("source")
