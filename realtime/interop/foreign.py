"""Foreign input as JSON objects, and one sentence per unreadable part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from realtime.message.blocks import read_json

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

    The objects are independent of `data`. Raises ValueError for what holds none.
    """
    if isinstance(data, str | bytes | bytearray):
        data = read_json(data.decode("utf-8", "replace") if isinstance(data, bytes | bytearray) else data)
        independent = True
    else:
        independent = False
    if isinstance(data, Mapping) and isinstance(data.get(name), list) and "type" not in data and "role" not in data:
        data = data[name]
    if isinstance(data, Mapping):
        data = [data]
    if not isinstance(data, list | tuple):
        raise ValueError(f"{name} are a JSON object or a list of them, not {type(data).__name__}")
    return _each(data, name, independent, problems)


def _each(data: Any, name: str, independent: bool, problems: Problems) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, one in enumerate(data):
        where = f"{name}[{number}]"
        if not isinstance(one, Mapping):
            problems.add(where, "is no JSON object")
            continue
        if independent:
            yield where, dict(one)
            continue
        try:
            yield where, msgspec.json.decode(msgspec.json.encode(one))
        except (TypeError, ValueError, RecursionError, OverflowError) as error:
            problems.add(*_fault(one, where, error))


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
