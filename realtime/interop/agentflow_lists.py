"""Agentflow's messages before and after its table: what spans blocks or messages.

`gather` joins the pieces of a stream, brings both shapes of a block into that of the documentation, and puts aside what
has no twin among our blocks; `scatter` does the reverse. What they note for each other in a message begins with
`realtime:`; the frame keeps it as it keeps everything that it does not know.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import pybase64

from realtime.interop.agentflow_media import base64_of, size_bytes_of
from realtime.interop.table import Json, Options, Shape, is_true, word

logger = logging.getLogger(__name__)

SMALL_BYTES = 50_000
"""Agentflow means base64 for payloads below this; larger ones belong into its media store."""
_TEXTS_AND_MEDIA = ("text", "image", "audio", "video", "document", "data")
_TYPES = (*_TEXTS_AND_MEDIA, "reasoning", "tool_call", "remote_tool_call", "tool_result")
_ALLOWED = {"user": _TEXTS_AND_MEDIA, "system": ("text",)}
"""What messages of ours may hold, where that is less than everything."""

# -- the two shapes ----------------------------------------------------------------------------------------------------

_SHAPE = "realtime:shape"
"""The mark of a package's block that is unlike ours."""


@dataclass(frozen=True, slots=True)
class _Package:
    """How the package's shape of a block differs. `names`: its name of a field, by the page's; it needs the `key`."""

    key: str
    names: Mapping[str, str]
    more: Mapping[str, Any]
    """Fields that only the package has."""
    page: Mapping[str, Any] = field(default_factory=dict)
    """Fields that only the page has."""


_PACKAGE = {
    "tool_result": _Package("call_id", {"tool_call_id": "call_id", "content": "output"}, {"status": None}),
    "reasoning": _Package("summary", {"thinking": "summary"}, {"details": None}, {"signature": None}),
    "error": _Package("message", {"error": "message"}, {"data": None}),
}


def _in_page_shape(block: Json) -> Json:
    """Return a block in the page's shape."""
    package = _PACKAGE.get(type_of(block))
    if package is None or package.key not in block or block.keys() & package.names.keys():
        return block
    of_page = {theirs: ours for ours, theirs in package.names.items()}
    renamed = {of_page.get(name, name): value for name, value in block.items()}
    plain = {**package.page, **{name: value for name, value in renamed.items() if name not in package.more}}
    return plain if _in_package_shape(plain) == block else {**renamed, _SHAPE: "source"}


def _in_package_shape(block: Json) -> Json:
    """Return a block in the package's shape. What only the page has stays: the package ignores it."""
    package = _PACKAGE.get(type_of(block))
    if package is None:
        return block
    renamed = {package.names.get(name, name): value for name, value in block.items() if name != _SHAPE}
    if _SHAPE in block:
        return renamed
    renamed = {name: value for name, value in renamed.items() if name not in package.page or value is not None}
    if block["type"] == "tool_result":
        renamed.setdefault("status", "failed" if block.get("is_error") else "completed")
    return {**package.more, **renamed}


def _in_shape(block: Any, options: Options) -> Any:
    """Return a block in the shape that the options name."""
    if not isinstance(block, dict):
        return block
    if type_of(block) == "annotation":
        return _annotation(block, options)
    if options.shape == "source":
        return _in_package_shape(block)
    return {name: value for name, value in _in_page_shape(block).items() if name != _SHAPE}


def _annotation(block: Json, options: Options) -> Json:
    match options.shape, block:
        case "source", {"annotation": reference} if "refs" not in block:
            return {**block, "kind": "citation", "refs": [reference], "spans": None}
        case "page", {"refs": [reference, *_]} if "annotation" not in block:
            return {**block, "annotation": reference}
    return block


# -- what is no field or block of ours ---------------------------------------------------------------------------------

_ASIDE = "realtime:aside"
"""The field of a message with the blocks that were put aside."""
ERROR = "realtime:error"
"""The field with the words of a message's first error block."""
_FROM_FIELD = "realtime:field"
"""The mark of a block that was the field `reasoning`."""
SUBMITTED = "realtime:submitted"
"""The mark of a call that a server sends to the browser."""
_BEFORE, _AFTER = "realtime:before", "realtime:after"
"""The fields with the server's messages around one, see `SUBMITTED`."""
_TEXT = "realtime:text"
"""The mark of a message whose content was text, not a list."""
_HOMELESS = ("annotation", "error")


def gather(objects: Iterable[tuple[str, Json]]) -> list[tuple[str, Json]]:
    """Return what the table reads of messages, or chunks of a stream.

    Pieces (`delta`) are joined, and dropped where the whole message is there as well. Blocks are in the page's shape,
    and what has no twin among ours is put aside.
    """
    found = [_unwrapped(where, one) for where, one in objects]
    if not any(is_true(one.get("delta")) for _, one in found):
        return [(where, _put_aside(one)) for where, one in _submit(found)]
    complete = {_key(one)[0] for _, one in found if not is_true(one.get("delta"))}
    whole: list[tuple[str, list[Json]]] = []
    growing: dict[tuple[str, str], list[Json]] = {}
    for where, one in found:
        key = _key(one)
        if not is_true(one.get("delta")):
            whole.append((where, [one]))
        elif key in growing:
            growing[key].append(one)
        elif key[0] not in complete:
            growing[key] = [one]
            whole.append((where, growing[key]))
    return [(where, _put_aside(one)) for where, one in _submit([(where, _joined(pieces)) for where, pieces in whole])]


def scatter(messages: Iterable[Json], options: Options) -> list[Json]:
    """Return messages in the chosen shape, with what was put aside."""
    made: list[Json] = []
    for one in messages:
        before, after = (held if isinstance(held := one.get(name), list) else [] for name in (_BEFORE, _AFTER))
        made += [*before, _put_back(one, options), *after]
    return made


def _submit(messages: list[tuple[str, Json]]) -> list[tuple[str, Json]]:
    """Mark calls that a server sends to the browser; put its messages aside.

    The call is in the model's message before: once, in the state that says where it runs.
    """
    blocks = [block for _, one in messages for block in _content(one)]
    if "remote_tool_call" not in map(type_of, blocks):
        return messages
    calls = {_id_of(block): block for block in blocks if type_of(block) == "tool_call"}
    answered = {_id_of(block) for block in blocks if type_of(block) == "tool_result"}
    left: list[tuple[str, Json]] = []
    early: list[Json] = []
    for where, one in messages:
        sent = [_id_of(block) for block in _content(one) if type_of(block) == "remote_tool_call"]
        if sent and len(sent) == len(_content(one)) and word(one.get("role")) == "tool" and calls.keys() >= {*sent}:
            for call_id in {*sent} - answered:
                calls[call_id][SUBMITTED] = True
            (left[-1][1].setdefault(_AFTER, []) if left else early).append(one)
        else:
            left.append((where, one))
    if early:
        left[0][1][_BEFORE] = early
    return left


def _id_of(block: Json) -> str:
    names = ("tool_call_id", "call_id") if type_of(block) == "tool_result" else ("id",)
    return repr(next((block[name] for name in names if name in block), None))


def _unwrapped(where: str, one: Json) -> tuple[str, Json]:
    if one.get("event") == "message" and isinstance(message := one.get("message"), dict):
        return f"{where}.message", message
    return where, one


def _key(one: Json) -> tuple[str, str]:
    return repr(one.get("message_id")), repr(one.get("role"))


def _content(one: Json) -> list[Any]:
    match one.get("content"):
        case list() as content:
            return content
        case str() as said:
            return [{"type": "text", "text": said}]
    return []


def type_of(block: Any) -> Any:
    return word(block.get("type")) if isinstance(block, dict) else None


_FIRST = frozenset({"message_id", "role", "timestamp"})
"""What the first piece says for all; of everything else the last word counts."""


def _joined(pieces: list[Json]) -> Json:
    """Return the message that pieces make; one that is whole stays as it is."""
    if not is_true(pieces[0].get("delta")):
        return pieces[0]
    whole = dict(pieces[0])
    notes: Json = {}
    for piece in pieces:
        whole |= {
            name: value for name, value in piece.items() if value is not None and name not in whole.keys() & _FIRST
        }
        notes |= given if isinstance(given := piece.get("metadata"), dict) else {}
    blocks = [block for piece in pieces for block in _content(piece)]
    runs = groupby(enumerate(blocks), key=_growth)
    content = [block for _, run in runs for block in _continued([block for _, block in run])]
    return {**whole, "delta": False, "content": content, **({"metadata": notes} if notes else {})}


def _growth(numbered: tuple[int, Any]) -> tuple[Any, ...]:
    """Return what is equal for blocks that continue each other: text, thinking, and inline sound of one type."""
    match numbered[1]:
        case {"type": "text", "text": str()}:
            return ("text",)
        case {"type": "reasoning", "thinking": str()}:
            return ("thinking",)
        case {"type": "reasoning", "summary": str()}:
            return ("summary",)
        case {"type": "audio", "media": {"data_base64": str(), "mime_type": mime_type}}:
            return "audio", repr(mime_type)
    return (numbered[0],)


def _continued(blocks: list[Any]) -> list[Any]:
    """Join blocks that continue each other, see `_growth`."""
    if len(blocks) == 1:
        return blocks
    first = blocks[0]
    for name in ("text", "thinking", "summary"):
        if isinstance(first.get(name), str):
            return [{**first, name: "".join(block[name] for block in blocks)}]
    media = [block["media"] for block in blocks]
    try:
        sound = b"".join(pybase64.b64decode(base64_of(one["data_base64"])) for one in media)
    except ValueError:
        return blocks
    lengths_ms = [length for one in media if isinstance(length := one.get("duration_ms"), int)]
    joined = {
        **media[0],
        "data_base64": pybase64.b64encode(sound).decode(),
        "size_bytes": len(sound),
        "duration_ms": sum(lengths_ms) if len(lengths_ms) == len(media) else None,
    }
    return [{**first, "media": joined}]


def _put_aside(one: Json) -> Json:
    if isinstance(one.get("content"), str):
        one = {**one, "content": _content(one), _TEXT: True}
    content = one.get("content")
    if not isinstance(content, list):
        return one
    allowed = _ALLOWED.get(word(one.get("role")), _TYPES)
    kept: list[Any] = []
    aside: list[Any] = []
    kinds: list[Any] = []
    for given in content:
        block = _in_page_shape(given) if isinstance(given, dict) else given
        kind = type_of(block)
        kinds.append(kind)
        is_aside = block is None or kind in _HOMELESS or (kind in _TYPES and kind not in allowed)
        kept.append(None if is_aside else block)
        aside += [block] if is_aside else []
    errors = (block.get("error") for block in aside if type_of(block) == "error") if aside else ()
    error = next((words for words in errors if isinstance(words, str)), None)
    if error is not None and content[-1] in (_error(error, "page"), _error(error, "source")):
        # As `scatter` writes it.
        del kept[-1], aside[-1]
    one = {**one, "content": kept}
    if aside:
        one[_ASIDE] = aside
    if error is not None:
        one[ERROR] = error
    thought = one.get("reasoning")
    thinks = isinstance(thought, str) and bool(thought.strip()) and word(one.get("role")) == "assistant"
    if thinks and "reasoning" not in kinds:
        block = {"type": "reasoning", "thinking": thought, "signature": None, _FROM_FIELD: True}
        one |= {"reasoning": None, "content": [block, *kept]}
    return one


def _error(words: str, shape: Shape) -> Json:
    """Return the block that says an error of ours."""
    if shape == "source":
        return {"type": "error", "message": words, "code": None, "data": None}
    return {"type": "error", "error": words, "code": None}


def _inline_bytes(block: Any) -> int:
    match block:
        case {"data_base64": str(encoded)} | {"media": {"data_base64": str(encoded)}}:
            return size_bytes_of(encoded)
    return 0


def _put_back(one: Json, options: Options) -> Json:
    one = {name: value for name, value in one.items() if name not in (_BEFORE, _AFTER)}
    aside, error, was_text = one.pop(_ASIDE, []), one.pop(ERROR, None), one.pop(_TEXT, False)
    if not isinstance(one.get("content"), list):
        return one
    waiting = iter(aside if isinstance(aside, list) else [])
    content = [next(waiting, None) if block is None else block for block in one["content"]]
    content = [_in_shape(block, options) for block in [*content, *waiting]]
    for size_bytes in map(_inline_bytes, content):
        if size_bytes > SMALL_BYTES:
            logger.warning(
                "%d bytes are written as base64, which Agentflow means for less than %d", size_bytes, SMALL_BYTES
            )
    if error is not None and "error" not in map(type_of, content):
        content.append(_error(error, options.shape))
    for block in content:
        if not isinstance(block, dict):
            continue
        block.pop(SUBMITTED, None)
        if block.pop(_FROM_FIELD, None) is True:
            one["reasoning"] = block.get("summary" if options.shape == "source" else "thinking")
            content = [other for other in content if other is not block]
    match was_text, content:
        case True, [{"type": "text", "text": str(said), **others}] if not others:
            return {**one, "content": said}
    return {**one, "content": content}
