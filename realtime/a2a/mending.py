"""Answers of remote agents, mended before the SDK reads them.

The SDK drops a whole answer for one part that it does not know, a time without a zone, or a missing id. Here only that
is dropped, with a sentence that says where it stood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from realtime.a2a.parts import blocks_of, kind_of

Note = Callable[[str], None]
"""Takes a sentence about what was dropped."""

_INSIDE = ("result", "task", "message", "statusUpdate", "artifactUpdate", "artifact", "status")
_LISTS = ("artifacts", "history")
_STATES = {
    *("submitted", "working", "input-required", "completed", "canceled", "failed", "rejected", "auth-required"),
    "unknown",
}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")
_ZONELESS = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,9})?")
_NEEDED: dict[str, dict[str, Any]] = {
    "message": {"messageId": "", "role": "agent"},
    "task": {"id": "", "contextId": ""},
    "status-update": {"taskId": "", "contextId": "", "final": False},
    "artifact-update": {"taskId": "", "contextId": ""},
}
"""What 0.3 needs of each kind, and what stands for it."""


def mended(payload: Any, note: Note, path: str = "") -> Any:
    """Return what a remote agent sent with all that can be read.

    `payload` is the JSON of an answer or of one event; `note` gets a sentence for each thing that was dropped.
    """
    if not isinstance(payload, Mapping):
        return payload
    found: dict[str, Any] = {}
    for name, value in payload.items():
        place = f"{path}.{name}" if path else name
        if name == "parts":
            found[name] = _parts(value, note, place)
        elif name in _INSIDE and isinstance(value, Mapping):
            found[name] = mended(value, note, place)
        elif name in _LISTS:
            found[name] = _objects(value, note, place)
        elif name == "timestamp":
            found |= _time(value, note, place)
        elif name == "state":
            found[name] = _state(value, note, place)
        else:
            found[name] = value
    for name, instead in _NEEDED.get(str(found.get("kind")), {}).items():
        if found.get(name) is None:
            found[name] = instead
    if "artifactId" in payload or name_of_artifact(path):
        found.setdefault("artifactId", "")
    return found


def name_of_artifact(path: str) -> bool:
    """Whether an artifact stands at a path."""
    return re.search(r"(^|\.)(artifact|artifacts\[\d+\])$", path) is not None


def _parts(value: Any, note: Note, path: str) -> list[Any]:
    if not isinstance(value, list):
        if value is not None:
            note(f"{path}: parts are a list, not {kind_of(value)}")
        return []
    kept = []
    for place, part in enumerate(value):
        read = blocks_of([part])
        if read.faults:
            note(f"{path}[{place}]{read.faults[0].removeprefix('parts[0]')}")
        else:
            kept.append(part)
    return kept


def _objects(value: Any, note: Note, path: str) -> list[Any]:
    if not isinstance(value, list):
        return []
    kept = []
    for place, one in enumerate(value):
        if isinstance(one, Mapping):
            kept.append(mended(one, note, f"{path}[{place}]"))
        else:
            note(f"{path}[{place}]: it is an object, not {kind_of(one)}")
    return kept


def _time(value: Any, note: Note, path: str) -> dict[str, str]:
    if isinstance(value, str):
        text = value.strip().replace("z", "Z")
        text = text if _TIME.fullmatch(text) else f"{text.replace(' ', 'T')}Z" if _ZONELESS.fullmatch(text) else ""
        if text:
            return {"timestamp": text}
    if value is not None:
        note(f"{path}: it is no time of RFC 3339")
    return {}


def _state(value: Any, note: Note, path: str) -> Any:
    known = str(value).lower().removeprefix("task_state_").replace("_", "-")
    if isinstance(value, str) and (known in _STATES or known == "unspecified"):
        return value
    note(f"{path}: the state {str(value)[:40]!r} is not known")
    return "unknown"
