"""Upstream's block shapes on our blocks: dicts there, frozen Structs here.

`settle` gives the block classes of `realtime` the protocol of a dict, for the process of one judge: `block["text"]`,
`block.get("type")`, `block["text"] += "..."`, and equality by upstream's keys, which have no ids and no times. The
functions make blocks from upstream's arguments. Nothing here decides anything: it only says the same in other words.
"""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec
import pybase64

from realtime import message
from realtime.message import (
    Base64Source,
    Block,
    DataBlock,
    HintBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)

_FILE = "file://"


class Arguments(dict[str, Any]):
    """The arguments of a call, which upstream changes in place: here they are written back as JSON text."""

    def __init__(self, call: ToolCallBlock) -> None:
        super().__init__(call.arguments or {})
        self._call = call

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        _set(self._call, "input", self)


def shape_of(block: Any) -> dict[str, Any]:
    """Return a block or a source as upstream's dict. The raw input of a call is left out: here it is the input."""
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text}
        case ThinkingBlock():
            return {"type": "thinking", "thinking": block.thinking, **block.extra}
        case ToolCallBlock():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": Arguments(block)}
        case ToolResultBlock():
            return {"type": "tool_result", "id": block.id, "name": block.name, "output": block.output}
        case DataBlock():
            return {"type": block.source.media_type.partition("/")[0], "source": block.source}
        case HintBlock():
            return {"type": "hint", "hint": block.hint}
        case Base64Source():
            data = pybase64.b64encode_as_string(block.data)
            return {"type": "base64", "media_type": block.media_type, "data": data}
        case message.URLSource():
            return {"type": "url", "url": block.url.removeprefix(_FILE)}
    raise TypeError(f"upstream has no shape for a {type(block).__name__}")


_SHAPED = (*get_args(Block), Base64Source, message.URLSource)


def _set(self: Any, key: str, value: Any) -> None:
    if isinstance(self, ThinkingBlock) and key not in self.__struct_fields__:
        self.extra[key] = value
    elif isinstance(self, ToolCallBlock) and key == "input":
        msgspec.structs.force_setattr(self, key, json.dumps(value, ensure_ascii=False))
    else:
        msgspec.structs.force_setattr(self, key, value)


def _equal(self: Any, other: object) -> bool:
    shape = shape_of(other) if isinstance(other, _SHAPED) else other
    if not isinstance(shape, Mapping):
        return False
    return shape_of(self) == {key: value for key, value in shape.items() if key != "raw_input"}


def _keys(self: Any) -> Iterator[str]:
    return iter(shape_of(self))


def settle() -> None:
    """Give our blocks the protocol of upstream's dicts. Only for a process that runs upstream's tests."""
    protocol = {
        "__getitem__": lambda self, key: shape_of(self)[key],
        "__setitem__": _set,
        "__contains__": lambda self, key: key in shape_of(self),
        "__iter__": _keys,
        "__eq__": _equal,
        "__ne__": lambda self, other: not _equal(self, other),
        "get": lambda self, key, default=None: shape_of(self).get(key, default),
        "keys": _keys,
    }
    for block_class in _SHAPED:
        for name, method in protocol.items():
            setattr(block_class, name, method)


def ToolUseBlock(
    *, type: str = "tool_use", id: str, name: str, input: Mapping[str, Any], raw_input: str | None = None
) -> ToolCallBlock:
    """Make a tool call; its input is the raw text, or the arguments as JSON."""
    return ToolCallBlock(id=id, name=name, input=raw_input or json.dumps(input, ensure_ascii=False))


def URLSource(*, type: str = "url", url: str) -> message.URLSource:
    """Make a source; upstream names local files by their path, and no media type."""
    media_type = mimetypes.guess_type(url)[0] or ""
    return message.URLSource(url=url if ":" in url else Path(url).absolute().as_uri(), media_type=media_type)


def _media_block(kind: str, source: Base64Source | message.URLSource) -> DataBlock:
    if not source.media_type:
        source = msgspec.structs.replace(source, media_type=f"{kind}/*")
    return DataBlock(source=source)


def ImageBlock(*, type: str = "image", source: Base64Source | message.URLSource) -> DataBlock:
    """Make a block that holds a picture."""
    return _media_block("image", source)


def AudioBlock(*, type: str = "audio", source: Base64Source | message.URLSource) -> DataBlock:
    """Make a block that holds sound."""
    return _media_block("audio", source)


def VideoBlock(*, type: str = "video", source: Base64Source | message.URLSource) -> DataBlock:
    """Make a block that holds a film."""
    return _media_block("video", source)


class _AnyMsg(type):
    """Upstream's tests ask whether our messages are theirs."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, message.Msg)


class Msg(message.Msg, metaclass=_AnyMsg):
    """A message with upstream's constructor. Results of tools stand in system messages there, in the agent's here."""

    __slots__ = ()

    def __init__(
        self,
        name: str,
        content: Any,
        role: Any,
        metadata: dict[str, Any] | None = None,
        timestamp: str | None = None,
    ) -> None:
        if role == "system" and any(isinstance(block, ToolResultBlock) for block in content):
            role = "assistant"
        super().__init__(name, content, role, metadata=metadata, created_at=timestamp)
