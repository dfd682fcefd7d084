"""Foreign input as JSON objects, and one sentence per unreadable part."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from realtime.message.blocks import read_json, whole

MAX_PROBLEMS = 100
"""Sentences that one input gets; more are only counted."""
MAX_DEPTH = 200
"""Objects and lists within each other that a message may have."""
_BUILTINS = (str, int, float, bool, type(None))


class Problems:
    """Collects one sentence per unreadable part, with its place."""

    def __init__(self) -> None:
        self._sentences: list[str] = []
        self._more = 0

    def add(self, where: str, what: object) -> None:
        """Note that what stands at `where` is wrong; `what` completes the sentence."""
        if len(self._sentences) < MAX_PROBLEMS:
            self._sentences.append(f"{where} {what}")
        else:
            self._more += 1

    def __len__(self) -> int:
        return len(self._sentences) + self._more

    def settle(self, into: list[str] | None) -> None:
        """Add the sentences to `into`. Raises ValueError with all of them where there is no list."""
        more = [f"and {self._more} more"] if self._more else []
        if into is not None:
            into += [*self._sentences, *more]
        elif self._sentences:
            raise ValueError("; ".join([*self._sentences, *more]))


def objects_in(data: Any, name: str, problems: Problems) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (place, object) for each object of an input: one, a list, or a list under this name; as text or builtins.

    Text may also hold one object after the other, as JSON lines and streams of server-sent events do. The objects are
    independent of `data`. Raises ValueError for what holds none.
    """
    if isinstance(data, bytes | bytearray):
        data = _decoded(bytes(data), name, problems)
    independent = isinstance(data, str)
    if isinstance(data, str):
        data = _read(data, name, problems)
    if isinstance(data, Mapping) and isinstance(data.get(name), list) and "type" not in data and "role" not in data:
        data = data[name]
    if isinstance(data, Mapping):
        if data and not data.keys() & _SIGNS:
            raise ValueError(f"{name} are a JSON object or a list of them, not an object with {', '.join(data)[:64]}")
        data = [data]
    if not isinstance(data, list | tuple):
        raise ValueError(f"{name} are a JSON object or a list of them, not {type(data).__name__}")
    return _each(data, name, independent, problems)


def _decoded(data: bytes, name: str, problems: Problems) -> str:
    """Return the text of bytes: UTF-8, or UTF-16 and UTF-32 where they look like that."""
    encoding = json.detect_encoding(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        problems.add(name, f"are no {encoding.upper()} at byte {error.start}: what cannot be read there is replaced")
        return data.decode(encoding, "replace")


def _read(text: str, name: str, problems: Problems) -> Any:
    """Return what text holds: JSON, or a list of what stands in its lines. Raises ValueError where it holds none."""
    try:
        return read_json(text)
    except ValueError:
        found = _in_lines(text, name, problems) or _in_a_row(text)
        if not found:
            raise
        return found


def _in_lines(text: str, name: str, problems: Problems) -> list[Any]:
    """Return one value for each line; empty where the first is none. A line that cannot be read is a problem."""
    lines = [bare.removeprefix("data:").strip(" ,") for line in text.split("\n") if (bare := line.strip(" \t\r\ufeff"))]
    lines = [line for line in lines if line and not line.startswith(_OF_STREAMS)]
    found: list[Any] = []
    for line in lines:
        try:
            found.append(read_json(line) if line.startswith("{") else None)
        except ValueError as error:
            if not found:
                return []
            problems.add(f"{name}[{len(found)}]", f"is {error}")
            found.append(_UNREADABLE)
        else:
            if found == [None]:
                return []
    return found


def _in_a_row(text: str) -> list[Any]:
    """Return the objects that follow each other, with or without a comma; empty where something else is there."""
    found: list[Any] = []
    place = _GAP.match(text).end()  # type: ignore[union-attr]
    try:
        while place < len(text):
            value, place = _one_json.raw_decode(text, place)
            if not isinstance(value, dict):
                return []
            found.append(_copied(value))
            place = _GAP.match(text, place).end()  # type: ignore[union-attr]
    except (ValueError, RecursionError):
        return []
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


_one_json = json.JSONDecoder(strict=False, parse_constant=_refuse)
_GAP = re.compile("[,\\s\ufeff]*")
_SIGNS = {"role", "content", "type", "event"}
"""Fields of which a single message or event has one; all others are those of an envelope that no one knows."""
_OF_STREAMS = ("event:", "id:", "retry:", ":", "[DONE]")
"""What begins lines of server-sent events that have no data."""
_UNREADABLE: Any = object()


def _each(data: Any, name: str, independent: bool, problems: Problems) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, one in enumerate(data):
        where = f"{name}[{number}]"
        if one is _UNREADABLE:
            continue
        if not isinstance(one, Mapping):
            problems.add(where, "is no JSON object")
            continue
        if independent:
            yield where, dict(one)
            continue
        try:
            yield where, _copied(one)
        except (TypeError, ValueError, RecursionError, OverflowError) as error:
            problems.add(*_fault(one, where, error))


def _copied(one: Any) -> Any:
    try:
        encoded = msgspec.json.encode(one)
    except UnicodeEncodeError:
        encoded = msgspec.json.encode(whole(one))
    return msgspec.json.decode(encoded)


def _fault(value: Any, where: str, error: Exception) -> tuple[str, str]:
    """Return the place of what is no JSON, and what it is."""
    seen: list[tuple[Any, str, tuple[int, ...]]] = [(value, where, ())]
    while seen:
        one, place, above = seen.pop()
        if id(one) in above:
            return place, "holds itself"
        if len(above) > MAX_DEPTH:
            return where, "is nested too deeply"
        inside = (*above, id(one))
        if isinstance(one, Mapping):
            if odd := [key for key in one if not isinstance(key, str)]:
                return place, f"has a key that is no text: {odd[0]!r}"
            seen += [(value, f"{place}.{key}", inside) for key, value in reversed([*one.items()])]
        elif isinstance(one, list | tuple):
            seen += [(entry, f"{place}[{n}]", inside) for n, entry in reversed([*enumerate(one)])]
        elif not isinstance(one, _BUILTINS):
            return place, f"is no JSON but {type(one).__name__}"
    return where, f"is no JSON: {str(error)[:200]}"
