"""What OpenAI's realtime protocol and the dialects derived from it have in common."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from realtime.event.base import Modality, ResponseStatus


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


def read_modalities(named: list[str] | None) -> tuple[Modality, ...] | None:
    """The modalities we know, in our order."""
    known: tuple[Modality, ...] = ("text", "audio")
    return None if named is None else tuple(kind for kind in known if kind in named)


def read_status(status: str | None) -> ResponseStatus:
    """How a response ended; what we do not know counts as completed."""
    match status:
        case "cancelled" | "incomplete" | "failed":
            return status
        case _:
            return "completed"


def without_keys(text: str | None, api_key: str) -> str:
    """A service's sentence without this key and without anything that looks like one."""
    return re.sub(r"\b[se]k[-_][\w*.-]+", "[key]", (text or "").replace(api_key, "[key]"))


class Ids:
    """Our ids as the service takes them: at most 32 characters; its own pass unchanged, both ways."""

    _LIMIT = 32

    def __init__(self) -> None:
        self._long: dict[str, str] = {}

    def out(self, ours: str) -> str:
        """What the service is told."""
        if len(ours) <= self._LIMIT:
            return ours
        short = ours[: self._LIMIT]
        self._long[short] = ours
        return short

    def back(self, theirs: str) -> str:
        """What the service means."""
        return self._long.get(theirs, theirs)
