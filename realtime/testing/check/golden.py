"""Compares a call's log with an accepted one and describes the differences."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

from realtime.testing.check.words import shortened

MAX_DIFFERENCES = 12
"""Number of differing stretches that are shown; the rest is counted."""
_CONTEXT = 2
_PLACES = ("seq", "last_seq", "ts_ms", "last_ts_ms")
"""Fields that change in every later entry when one is added: compared separately."""


def difference(accepted: bytes, now: bytes) -> tuple[str, float | None] | None:
    """Return the logs' differences and the call's ms where they begin; None if bytes are equal.

    Fields with the value None count as missing: a log that was accepted before an event gained a field lacks it.

    Raises ValueError for an invalid accepted log; its text names the line.
    """
    if accepted == now:
        return None
    before, after = _entries(accepted), _entries(now)
    if [[*one.items()] for one in before] == [[*one.items()] for one in after]:
        return None
    keys_before, keys_after = [_key(one) for one in before], [_key(one) for one in after]
    matcher = difflib.SequenceMatcher(None, keys_before, keys_after, autojunk=False)
    changes = [one for one in matcher.get_opcodes() if one[0] != "equal"]
    lines: list[str] = []
    first_ms: float | None = None
    for tag, a_from, a_to, b_from, b_to in changes[:MAX_DIFFERENCES]:
        place = before[a_from] if a_from < len(before) else before[-1] if before else {}
        if first_ms is None:
            first_ms = _ms(after[b_from] if b_from < len(after) else place)
        lines += [f"  {_described(one)}" for one in before[max(0, a_from - _CONTEXT) : a_from]]
        lines += [f"- {_described(one)}" for one in before[a_from:a_to]]
        lines += [f"+ {_described(one)}" for one in after[b_from:b_to]]
        if tag == "replace" and a_to - a_from == b_to - b_from:
            for old, new in zip(before[a_from:a_to], after[b_from:b_to], strict=True):
                lines += _fields(old, new)
    if len(changes) > MAX_DIFFERENCES:
        lines.append(f"  ... and {len(changes) - MAX_DIFFERENCES} more")
    moved = [
        (old, new)
        for a_from, b_from, n in matcher.get_matching_blocks()
        for old, new in zip(before[a_from : a_from + n], after[b_from : b_from + n], strict=True)
        if _ms(old) != _ms(new) or old.get("last_ts_ms") != new.get("last_ts_ms")
    ]
    if moved:
        old, new = moved[0]
        by_ms = max((_ms(one) - _ms(other) for other, one in moved), key=abs)
        lines.append(f"  {len(moved)} entries come at another time, at most {by_ms:+.0f} ms; the first:")
        lines += [f"- {_described(old)}", f"+ {_described(new)}"]
        first_ms = _ms(new) if first_ms is None else min(first_ms, _ms(new))
    if not lines:
        lines.append("  The entries mean the same but are written differently: accept the log again.")
    return "\n".join(lines), first_ms


def read_accepted(path: Path) -> bytes:
    """Read the accepted log. Raises ValueError, with the remedy, where there is none."""
    if not path.is_file():
        raise ValueError(f"There is no accepted log {path}; look at the call and keep it with accept=True")
    return path.read_bytes()


def _entries(log: bytes) -> list[dict[str, Any]]:
    entries = []
    for number, line in enumerate(log.splitlines(), 1):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"line {number} is no JSON ({error}); accept the log again with accept=True") from error
        if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
            raise ValueError(f"line {number} is no entry of a log; accept the log again with accept=True")
        entries.append({name: value for name, value in entry.items() if value is not None})
    return entries


def _key(entry: dict[str, Any]) -> str:
    return json.dumps({name: value for name, value in entry.items() if name not in _PLACES}, sort_keys=True)


def _ms(entry: dict[str, Any]) -> float:
    ms = entry.get("ts_ms")
    return float(ms) if isinstance(ms, int | float) else 0.0


def _described(entry: dict[str, Any]) -> str:
    """Format one line: `  12.340 s agent_input_started item_id=item_3 audio_start_ms=11200`."""
    fields = [
        f"{name}={value if isinstance(value, str | int | float) else json.dumps(value, ensure_ascii=False)}"
        for name, value in entry.items()
        if name not in _PLACES and name not in ("type", "agent_id") and value not in (None, "", {}, [])
    ]
    return shortened(f"{_ms(entry) / 1000:.3f} s {entry['type']} {' '.join(fields)}", 108)


def _fields(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return each differing field as a whole."""
    if old["type"] != new["type"]:
        return []
    names = [name for name in {**old, **new} if name not in _PLACES and old.get(name) != new.get(name)]
    return [
        f"  {name}: {json.dumps(old.get(name), ensure_ascii=False)} -> {json.dumps(new.get(name), ensure_ascii=False)}"
        for name in names
    ]
