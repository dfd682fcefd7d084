"""Blocks of other AgentScope versions, in the shape of ours: only readers accept these.

A call is a `tool_use` whose input is an object; pictures, sound and films have types of their own; a source may lack
its media type.
"""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import pybase64

UNKNOWN_TYPE = "application/octet-stream"
_SIGNATURES = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"%PDF", "application/pdf"),
)
"""Where which bytes stand in files of a type."""
_HEAD_CHARS = 32
"""Enough base64 for every signature."""


def in_our_shape(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON object of a block with our names and types; what is wrong stays wrong."""
    block = dict(data)
    match block.get("type"):
        case "tool_use" | "tool_call":
            block["type"] = "tool_call"
            raw = block.pop("raw_input", None)
            block["input"] = raw if isinstance(raw, str) and raw else _as_text(block.get("input"))
        case "tool_result":
            block["output"] = "" if block.get("output") is None else parts_in_our_shape(block["output"])
        case "hint":
            block |= {"hint": parts_in_our_shape(block["hint"])} if "hint" in block else {}
        case "data" | "image" | "audio" | "video" as kind:
            block["type"] = "data"
            if "source" in block:
                block["source"] = _with_media_type(block["source"], "" if kind == "data" else kind)
    if block.get("id", "") is None:
        del block["id"]
    return block


def parts_in_our_shape(parts: Any) -> Any:
    """Return a text, or a list of blocks in our shape."""
    if not isinstance(parts, list):
        return parts
    return [in_our_shape(part) if isinstance(part, Mapping) else part for part in parts]


def media_type_of(url: str = "", encoded: str = "", kind: str = "") -> str:
    """Guess a media type by a URL's ending or the first bytes.

    `kind` is `image`, `audio` or `video`.
    """
    guess = _by_ending(url) if url else _by_signature(encoded)
    if guess is not None and guess.startswith(kind):
        return guess
    return f"{kind}/*" if kind else UNKNOWN_TYPE


def _as_text(arguments: Any) -> Any:
    if arguments is None:
        return ""
    return json.dumps(arguments, ensure_ascii=False) if isinstance(arguments, Mapping) else arguments


def _with_media_type(source: Any, kind: str) -> Any:
    if not isinstance(source, Mapping) or source.get("media_type"):
        return source
    url, encoded = (one if isinstance(one := source.get(key), str) else "" for key in ("url", "data"))
    return {**source, "media_type": media_type_of(url, encoded, kind)}


def _by_ending(url: str) -> str | None:
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return mimetypes.guess_type(url if parts.scheme == "data" else parts.path)[0]


def _by_signature(encoded: str) -> str | None:
    try:
        head = pybase64.b64decode(encoded[:_HEAD_CHARS], validate=True)
    except ValueError:
        return None
    return next((kind for at, sign, kind in _SIGNATURES if head.startswith(sign, at)), None)
