"""Compares sent frames with recorded ones: ids, amounts of audio, differences."""

from __future__ import annotations

import copy
import difflib
import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from realtime.testing.cassettes.format import SCRUBBED, Cassette, FrameLine, audio_places, kind_of, ref_of

AS_RECORDED = "If this is meant, record the session again; to let it pass, replay with strict=False"
_OPAQUE = {"args", "arguments", "parameters", "metadata", "output"}
"""Objects that users fill: an `id` inside is no id of the protocol."""


class Names:
    """Maps our ids to those of the recording. Ids made by the provider are the same in both."""

    def __init__(self, cassette: Cassette) -> None:
        self._ours: dict[str, str] = {}
        self._recorded: dict[str, str] = {}
        self._made_by_us: set[str] = set()
        seen: set[str] = set()
        for line in cassette.lines:
            if isinstance(line, FrameLine) and line.frame is not msgspec.UNSET:
                found = set(_ids(line.frame))
                if line.dir == "sent":
                    self._made_by_us |= found - seen
                seen |= found

    def bind(self, recorded: Any, ours: Any) -> Any:
        """Learn our ids from a frame that matches a recorded one; return it in recorded ids."""
        self._learn(recorded, ours)
        return _rename(ours, self._recorded)

    def as_ours(self, frame: Any) -> Any:
        """Return a frame of the provider in our ids."""
        return _rename(frame, self._ours) if self._ours else frame

    def _learn(self, recorded: Any, ours: Any, key: str = "") -> None:
        if isinstance(recorded, dict) and isinstance(ours, dict):
            for name, value in recorded.items():
                if name in ours and not _is_opaque(name, recorded):
                    self._learn(value, ours[name], name)
        elif isinstance(recorded, list) and isinstance(ours, list):
            for one, other in zip(recorded, ours, strict=False):
                self._learn(one, other)
        elif isinstance(recorded, str) and isinstance(ours, str) and _is_id(key) and recorded != ours:
            fresh = recorded not in self._ours and ours not in self._recorded
            if fresh and recorded in self._made_by_us:
                self._ours[recorded], self._recorded[ours] = ours, recorded


def decoded_bytes(text: str) -> int:
    """Return the number of bytes that base64 text holds."""
    return len(text) // 4 * 3 - text[-2:].count("=")


def lift(frame: Any) -> Any:
    """Replace speech by its amount, for comparing and printing frames."""
    lifted = copy.deepcopy(frame)
    for holder, key in audio_places(lifted):
        value = holder[key]
        ref = ref_of(value)
        if ref is not None:
            n_bytes = ref.length * ref.width
        elif isinstance(value, str):
            n_bytes = decoded_bytes(value)
        else:
            continue
        holder[key] = f"<{n_bytes} bytes of audio>"
    return lifted


def scrub_alike(expected: Any, actual: Any) -> Any:
    """Return our frame with recorded texts where only scrubbing caused the difference."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return {name: scrub_alike(expected.get(name), value) for name, value in actual.items()}
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return [scrub_alike(one, other) for one, other in zip(expected, actual, strict=True)]
    if isinstance(expected, str) and isinstance(actual, str) and SCRUBBED in expected:
        shape = ".+?".join(map(re.escape, expected.split(SCRUBBED)))
        return expected if re.fullmatch(shape, actual, re.DOTALL) else actual
    return actual


def difference(place: str, expected: Any, actual: Any) -> str:
    """Describe the difference of two frames, with both as indented JSON."""
    lines = difflib.unified_diff(
        pretty(expected).splitlines(), pretty(actual).splitlines(), f"{place} (recorded)", "sent now", lineterm=""
    )
    text = "\n".join(lines)
    return f"{place}: {kind_of(actual)} is not what was recorded here ({kind_of(expected)}). {AS_RECORDED}\n{text}"


def pretty(frame: Any) -> str:
    """Return indented JSON with sorted keys."""
    return json.dumps(frame, indent=2, ensure_ascii=False, sort_keys=True)


def _is_id(key: str) -> bool:
    return key == "id" or key.endswith(("_id", "Id"))


def _is_opaque(key: str, holder: dict[str, Any]) -> bool:
    return key in _OPAQUE or (key == "response" and "name" in holder)


def _ids(node: Any, key: str = "") -> Iterator[str]:
    if isinstance(node, dict):
        for name, value in node.items():
            if not _is_opaque(name, node):
                yield from _ids(value, name)
    elif isinstance(node, list):
        for value in node:
            yield from _ids(value)
    elif isinstance(node, str) and _is_id(key):
        yield node


def _rename(node: Any, names: dict[str, str], key: str = "") -> Any:
    """Return a copy with the ids replaced."""
    if not names:
        return node
    if isinstance(node, dict):
        return {name: value if _is_opaque(name, node) else _rename(value, names, name) for name, value in node.items()}
    if isinstance(node, list):
        return [_rename(value, names) for value in node]
    return names.get(node, node) if isinstance(node, str) and _is_id(key) else node
