"""JSON objects of providers: as text, and one on top of another."""

from __future__ import annotations

from typing import Any

import msgspec


def json_frame(frame: dict[str, Any]) -> str:
    """A frame as the text that goes over the wire."""
    return msgspec.json.encode(frame).decode()


def merged(base: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    """`base` with `extra` on top, objects merged level by level."""
    result = dict(base)
    for key, value in extra.items():
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result
