"""What makes one JSON object of another, as JSON.

A patch has an entry for each key that differs: `was` is the value before, `is` the value after; one that lacks `was`
adds the key, one that lacks `is` removes it, so that an empty value and an absent one stay apart. `in` has the patch of
an object or a list of the same length. An entry whose `was` is no longer there does nothing: what was changed since
then stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

Patch = dict[str, Any]
_ABSENT: Any = object()
_encode = msgspec.json.Encoder(order="deterministic").encode


def diff(have: Mapping[str, Any], want: Mapping[str, Any]) -> Patch:
    """Return the patch that makes `want` of `have`; empty where they are equal."""
    if have == want and not _mixes(have, want):
        return {}
    found: Patch = {}
    for key, before in have.items():
        after = want.get(key, _ABSENT)
        if after is _ABSENT:
            found[key] = {"was": before}
        elif entry := _between(before, after):
            found[key] = entry
    found.update({key: {"is": after} for key, after in want.items() if key not in have})
    return found


def patched(value: Mapping[str, Any], patch: object) -> dict[str, Any]:
    """Return `value` with every entry of the patch that still fits. What is no patch changes nothing."""
    made = dict(value)
    if not isinstance(patch, dict):
        return made
    for key, entry in patch.items():
        if not isinstance(entry, dict):
            continue
        now = made.get(key, _ABSENT)
        if "in" in entry:
            if now is not _ABSENT:
                made[key] = _inside(now, entry["in"])
        elif same(now, entry.get("was", _ABSENT)):
            if "is" in entry:
                made[key] = entry["is"]
            else:
                made.pop(key, None)
    return made


def _between(before: Any, after: Any) -> Patch:
    match before, after:
        case dict(), dict():
            inner = diff(before, after)
        case list(), list() if len(before) == len(after):
            inner = diff(_numbered(before), _numbered(after))
        case _:
            return {} if same(before, after) else {"was": before, "is": after}
    return {"in": inner} if inner else {}


def _inside(value: Any, patch: object) -> Any:
    match value:
        case dict():
            return patched(value, patch)
        case list():
            return [*patched(_numbered(value), patch).values()]
    return value


def _numbered(values: list[Any]) -> dict[str, Any]:
    return {str(place): value for place, value in enumerate(values)}


def same(one: Any, other: Any) -> bool:
    """Return whether two values are the same JSON."""
    return one is other or (one == other and not _mixes(one, other))


def _mixes(one: Any, other: Any) -> bool:
    """Whether equal values are different JSON: Python takes true for 1 and 1.0 for 1."""
    if isinstance(one, str):
        return False
    return _encode(one) != _encode(other)
