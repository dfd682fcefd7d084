"""What one side of a conversion does not hold of the other: found as a difference, and put back.

A mark is such a difference as JSON: `patch` of the message without its content, `blocks` with a patch for each block
by its key, `homeless` with blocks that have no other side, by their places, and `content` where it is no list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from realtime.interop.patch import diff, patched, same
from realtime.interop.table import ABSENT, Json

OURS = "interop"
"""The key of our metadata for what theirs alone holds, by dialect."""
THEIRS = "realtime"
"""The key of their metadata that holds what only we know."""
_MARKS = {"of", "as", "patch", "blocks", "homeless", "content"}


def keys_of(blocks: Iterable[Json]) -> list[str]:
    """Return a name for each block of a message: its type and id, numbered where two are equal."""
    keys: list[str] = []
    seen: set[str] = set()
    for block in blocks:
        key = f"{block['type']}:{block.get('id')}"
        keys.append(f"{key}#{len(keys)}" if key in seen else key)
        seen.add(keys[-1])
    return keys


def without(data: Mapping[str, Any], name: str) -> Json:
    """Return an object without one of its fields."""
    rest = dict(data)
    rest.pop(name, None)
    return rest


def rest_of(want: Json, have: Json, pairs: Iterable[tuple[str, Json, Json]], homeless: list[list[Any]]) -> Json:
    """Return what has to be known to make `want` of `have`.

    `pairs` are the blocks of both, (key, wanted, made); `homeless` those that have no other side, as [place, block].
    """
    rest: Json = {}
    if patch := diff(without(have, "content"), without(want, "content")):
        rest["patch"] = patch
    if blocks := {key: patch for key, wanted, made in pairs if (patch := _between(made, wanted))}:
        rest["blocks"] = blocks
    if homeless:
        rest["homeless"] = homeless
    match want.get("content", ABSENT):
        case list():
            pass
        case str():
            rest["content"] = {"text": True}
        case {"type": _}:
            rest["content"] = {"one": True}
        case other:
            rest["content"] = {} if other is ABSENT else {"is": other}
    return rest


def _between(made: Json, wanted: Any) -> Any:
    """Return the patch of a block; of one that is bare text, both."""
    return diff(made, wanted) if isinstance(wanted, dict) else [made, wanted]


def _changed(block: Json, patch: Any) -> Any:
    if isinstance(patch, list):
        return patch[1] if len(patch) == 2 and same(block, patch[0]) else block
    return patched(block, patch) if patch else block


def completed(made: Json, keys: Iterable[str], rest: Mapping[str, Any]) -> Json:
    """Return what was made, with the rest that belongs to it."""
    patches = rest.get("blocks")
    content: Any = made["content"]
    if isinstance(patches, Mapping) and patches:
        content = [_changed(block, patches.get(key)) for key, block in zip(keys, content, strict=True)]
    else:
        content = [*content]
    content = placed(content, rest.get("homeless"))
    made = {**patched(made, rest.get("patch")), "content": content}
    match rest.get("content"), content:
        case {"text": True}, [{"type": "text", "text": text, **others}] if not others:
            made["content"] = text
        case {"one": True}, [one]:
            made["content"] = one
        case {"is": value}, []:
            made["content"] = value
        case form, [] if form == {}:
            del made["content"]
    return made


def placed(entries: list[Any], homeless: Any, *, stands_for: Any = ABSENT) -> list[Any]:
    """Put what has no home into a list, at its places; `stands_for` instead of each."""
    for entry in homeless if isinstance(homeless, list) else ():
        match entry:
            case [int(place), block]:
                entries.insert(place, block if stands_for is ABSENT else stands_for)
    return entries


def mark_in(notes: Any) -> Json:
    """Return what we had written under our key of their metadata; empty where that is not ours."""
    mark = notes.get(THEIRS) if isinstance(notes, dict) else None
    return mark if isinstance(mark, dict) and mark.keys() <= _MARKS else {}
