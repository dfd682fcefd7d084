"""Answers of remote agents, mended before the SDK reads them.

The SDK drops a whole answer for one part that it does not know, a role in capitals, a time without a zone or a missing
id. Here all that can be read is written as the protocol has it; only what cannot is dropped, with a sentence that says
where it stood.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pybase64

from realtime.a2a.parts import MAX_QUOTED_CHARS, TOO_DEEP, blocks_of, camel, kind_of, plain
from realtime.message import DataBlock, URLSource

Note = Callable[[str], None]
"""Takes a sentence about what was dropped."""

MAX_DEPTH = 30
"""Lists and objects within each other that the SDK reads as data."""
MAX_NUMBER = sys.float_info.max
_STATES = (
    *("unknown", "submitted", "working", "completed", "failed", "canceled"),
    *("input-required", "rejected", "auth-required"),
)
"""The states of tasks, by their numbers in protocol 1.0."""
_OTHER_STATES = {"unspecified": "unknown", "cancelled": "canceled"}
_ROLES = {"user": "user", "agent": "agent", "assistant": "agent", "1": "user", "2": "agent"}
_FLAGS = {"true": True, "false": False}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")
_ZONELESS = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,9})?")
_NEEDED: dict[str, dict[str, Any]] = {
    "message": {"messageId": "", "role": "agent", "parts": []},
    "task": {"id": "", "contextId": "", "status": {"state": "unknown"}},
    "status-update": {"taskId": "", "contextId": "", "final": False, "status": {"state": "unknown"}},
    "artifact-update": {"taskId": "", "contextId": "", "artifact": {"artifactId": "", "parts": []}},
    "artifact": {"artifactId": "", "parts": []},
    "status": {"state": "unknown"},
}
"""What 0.3 needs of each object, and what stands for it."""
_SHAPES = {"parts": "message", "artifact": "artifact-update", "taskId": "status-update", "status": "task"}
"""The kind of an answer that names none, by its fields."""


def mended(payload: Any, note: Note, *, is_old: bool) -> Any:
    """Return what a remote agent sent with all that can be read.

    `payload` is the JSON of an answer or of one event; `is_old`: in protocol 0.3. `note` gets a sentence for each thing
    that was dropped. What REST of 0.3 sends stays as it is: its shape is a third one.
    """
    if not isinstance(payload, Mapping):
        return payload
    mender = _Mender(note, is_old=is_old)
    if "result" in payload:
        return {**payload, "result": mender.result(payload["result"], "result")}
    if is_old or "jsonrpc" in payload or "error" in payload:
        return payload
    return mender.result(payload, "")


class _Mender:
    """Mends one answer, field by field. Each reader returns None for what it drops."""

    def __init__(self, note: Note, *, is_old: bool) -> None:
        self._note = note
        self._is_old = is_old
        by_reader: dict[Callable[[Any, str], Any], tuple[str, ...]] = {
            self._id: ("messageId", "contextId", "taskId", "id", "artifactId"),
            self._text: ("name", "description"),
            self._flag: ("final", "append", "lastChunk"),
            self._texts: ("extensions", "referenceTaskIds"),
            self._free: ("metadata",),
            self._role: ("role",),
            self._state: ("state",),
            self._time: ("timestamp",),
            self._status: ("status",),
            self._parts: ("parts",),
        }
        self._readers = {name: read for read, names in by_reader.items() for name in names}
        kinds = {"task": "task", "message": "message", "artifact": "artifact", "statusUpdate": "status-update"}
        for name, kind in {**kinds, "artifactUpdate": "artifact-update"}.items():
            self._readers[name] = partial(self._object, kind)
        for name, kind in {"artifacts": "artifact", "history": "message"}.items():
            self._readers[name] = partial(self._objects, kind)

    def result(self, value: Any, path: str) -> Any:
        """Return a task, a message or an event."""
        if not isinstance(value, Mapping):
            return value
        kind = value.get("kind")
        known = kind.lower().replace("_", "-") if isinstance(kind, str) else ""
        if known not in _NEEDED:
            names = {camel(str(name)) for name in value}
            known = next((shape for name, shape in _SHAPES.items() if name in names), "")
        found = self._object(known, value, path)
        if known and self._is_old:
            found["kind"] = known
        return found

    # -- inside --------------------------------------------------------------------------------------------------------

    def _wrong(self, path: str, why: str) -> Any:
        """Note why something is dropped; return None, which stands for it."""
        self._note(f"{path}: {why}")
        return None

    def _object(self, kind: str, value: Any, path: str) -> Any:
        if not isinstance(value, Mapping):
            return self._wrong(path, f"it is an object, not {kind_of(value)}")
        found: dict[str, Any] = {}
        for written, one in value.items():
            name = camel(str(written))
            read = self._readers.get(name)
            if one is None or (name == "kind" and kind):
                continue
            one = one if read is None else read(one, f"{path}.{name}" if path else name)
            if one is not None:
                found[name] = one
        return {**_NEEDED.get(kind, {}), **found} if self._is_old else found

    def _objects(self, kind: str, value: Any, path: str) -> Any:
        if not isinstance(value, list):
            return self._wrong(path, f"it is a list, not {kind_of(value)}")
        found = [self._object(kind, one, f"{path}[{place}]") for place, one in enumerate(value)]
        return [one for one in found if one is not None]

    def _id(self, value: Any, path: str) -> Any:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return str(value) if is_number else self._text(value, path)

    def _text(self, value: Any, path: str) -> Any:
        return value if isinstance(value, str) else self._wrong(path, f"it is text, not {kind_of(value)}")

    def _flag(self, value: Any, path: str) -> Any:
        flag = _FLAGS.get(str(value).lower())
        return flag if flag is not None else self._wrong(path, f"it is true or false, not {_quoted(value)}")

    def _texts(self, value: Any, path: str) -> Any:
        if not isinstance(value, list):
            return self._wrong(path, f"it is a list, not {kind_of(value)}")
        found = [self._id(one, f"{path}[{place}]") for place, one in enumerate(value)]
        return [one for one in found if one is not None]

    def _free(self, value: Any, path: str) -> Any:
        if not isinstance(value, Mapping):
            return self._wrong(path, f"it is an object, not {kind_of(value)}")
        return self._finite(value, path) if _is_flat(value) else self._wrong(path, TOO_DEEP)

    def _finite(self, value: Any, path: str) -> Any:
        """Return data without the numbers that JSON does not have."""
        match value:
            case Mapping():
                return {name: self._finite(one, f"{path}.{name}") for name, one in value.items()}
            case list():
                return [self._finite(one, f"{path}[{place}]") for place, one in enumerate(value)]
            case int() | float() if not -MAX_NUMBER <= value <= MAX_NUMBER:
                return self._wrong(path, "it is no number that JSON has")
        return value

    def _role(self, value: Any, path: str) -> str:
        role = _ROLES.get(str(value).lower().removeprefix("role_"))
        if role is None:
            self._wrong(path, f"the role {_quoted(value)} is not known; it is taken for the agent")
            role = "agent"
        return role if self._is_old else f"ROLE_{role.upper()}"

    def _state(self, value: Any, path: str) -> str:
        known = str(value).lower().removeprefix("task_state_").replace("_", "-")
        known = _STATES[int(known)] if known.isdecimal() and int(known) < len(_STATES) else known
        known = _OTHER_STATES.get(known, known)
        if known not in _STATES:
            self._wrong(path, f"the state {_quoted(value)} is not known")
            known = "unknown"
        if self._is_old:
            return known
        return f"TASK_STATE_{'UNSPECIFIED' if known == 'unknown' else known.upper().replace('-', '_')}"

    def _time(self, value: Any, path: str) -> Any:
        text = value.strip().replace("z", "Z") if isinstance(value, str) else ""
        if _TIME.fullmatch(text):
            return text
        if _ZONELESS.fullmatch(text):
            return f"{text.replace(' ', 'T')}Z"
        return self._wrong(path, "it is no time of RFC 3339")

    def _status(self, value: Any, path: str) -> Any:
        return self._object("status", {"state": value} if isinstance(value, str) else value, path)

    def _parts(self, value: Any, path: str) -> list[Any]:
        if not isinstance(value, list):
            self._wrong(path, f"parts are a list, not {kind_of(value)}")
            return []
        found = [self._part(part, f"{path}[{place}]") for place, part in enumerate(value)]
        return [part for part in found if part is not None]

    def _part(self, given: Any, path: str) -> Any:
        """Return a part in the shape of the wire. It is data, too, where it describes a tool call."""
        read = blocks_of([given], tools=False)
        if read.faults:
            self._note(f"{path}{read.faults[0].removeprefix('parts[0]')}")
            return None
        if not read.blocks:
            return None
        part, (block,) = plain(given), read.blocks
        metadata = None if part.get("metadata") is None else self._free(part["metadata"], f"{path}.metadata")
        described: dict[str, Any] = {} if metadata is None else {"metadata": metadata}
        if not isinstance(block, DataBlock):
            return {**({"kind": "text"} if self._is_old else {}), "text": part["text"], **described}
        if "data" in part:
            if not _is_flat(part["data"]):
                return self._wrong(f"{path}.data", TOO_DEEP)
            return self._data(self._finite(part["data"], f"{path}.data"), block.name, described)
        self._check_description(part, path)
        source = block.source
        is_url = isinstance(source, URLSource)
        content = source.url if isinstance(source, URLSource) else pybase64.b64encode_as_string(source.data)
        if self._is_old:
            named = {} if block.name is None else {"name": block.name}
            file = {"uri" if is_url else "bytes": content, "mimeType": source.media_type, **named}
            return {"kind": "file", "file": file, **described}
        named = {} if block.name is None else {"filename": block.name}
        return {"url" if is_url else "raw": content, "mediaType": source.media_type, **named, **described}

    def _data(self, data: Any, name: str | None, described: dict[str, Any]) -> dict[str, Any]:
        if not self._is_old:
            return {"data": data, **({} if name is None else {"filename": name}), **described}
        if not isinstance(data, Mapping):
            # As the SDK writes it: data is an object in 0.3.
            data = {"value": data}
            described = {"metadata": {**described.get("metadata", {}), "data_part_compat": True}}
        return {"kind": "data", "data": data, **described}

    def _check_description(self, part: Mapping[str, Any], path: str) -> None:
        """Note each description of a file that is no text; it was not read."""
        file = part.get("file")
        for holder, place in ((part, path), (file if isinstance(file, Mapping) else {}, f"{path}.file")):
            for name in ("mediaType", "mimeType", "filename", "name"):
                if holder.get(name) is not None:
                    self._text(holder[name], f"{place}.{name}")


def _quoted(value: Any) -> str:
    return repr(str(value)[:MAX_QUOTED_CHARS])


def _is_flat(value: Any) -> bool:
    """Whether the SDK can read so much depth."""
    layer = [value]
    for _ in range(MAX_DEPTH):
        layer = [one for held in layer for one in _held(held)]
        if not layer:
            return True
    return False


def _held(value: Any) -> list[Any]:
    found = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return [one for one in found if isinstance(one, Mapping | list)]
