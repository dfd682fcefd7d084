"""Pictures and sound in a payload: counters ignore their length. Functions, no state."""

from __future__ import annotations

from typing import Any

_SHORT = 256
"""Data that is shorter is counted as text: a field `data` may hold words."""


def without_media(value: Any, key: str = "") -> tuple[Any, int]:
    """Return a copy of a payload without media; and how many there were.

    Media are bytes, data URLs, and long texts in fields that are called `data`.
    """
    if isinstance(value, bytes):
        return "", 1
    if isinstance(value, str):
        is_medium = value.startswith("data:") or (key == "data" and len(value) > _SHORT)
        return ("", 1) if is_medium else (value, 0)
    if isinstance(value, dict):
        found = {name: without_media(entry, str(name)) for name, entry in value.items()}
        return {name: entry for name, (entry, _) in found.items()}, sum(count for _, count in found.values())
    if isinstance(value, list):
        entries = [without_media(entry, key) for entry in value]
        return [entry for entry, _ in entries], sum(count for _, count in entries)
    return value, 0
