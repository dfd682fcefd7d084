"""The frames of a call as rows for a page."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from realtime.state.store import encode_entry
from realtime.testing.record import CallRecord, WireFrame

MAX_ROWS = 5_000
MAX_TEXT_CHARS = 8_000
MAX_PAUSE_MS = 1_000
"""Maximum pause between frames of one row."""

_VARYING = re.compile(r"\b[^\W\d]*+\d\w*")
"""A word with a digit in it. It begins where a word does, so that a long word is scanned once."""
_TYPE = re.compile(r'"type"\s*:\s*"([^"]*)"')
_FIRST_KEY = re.compile(r'^\s*\{\s*"([^"]*)"')


class Row(msgspec.Struct):
    """A frame, with the number of similar ones up to `until_ms`.

    Similar frames differ in numbers and ids only.
    """

    ts_ms: float
    leg: str
    """`client`, `model`, or `log` where only the log is known."""
    direction: str
    who: str
    kind: str
    text: str
    more: int
    until_ms: float


def rows(record: CallRecord) -> tuple[list[Row], int]:
    """Return grouped frames and the number omitted. Without frames, uses the call's log."""
    made: list[Row] = []
    latest: dict[tuple[str, ...], Row] = {}
    left_out = 0
    for frame, leg in _frames(record):
        key = (leg, frame.direction, frame.who, _VARYING.sub("0", frame.text))
        row = latest.get(key)
        if row is not None and frame.ts_ms - row.until_ms <= MAX_PAUSE_MS:
            row.more += 1
            row.until_ms = frame.ts_ms
            continue
        if len(made) == MAX_ROWS:
            left_out += 1
            latest.pop(key, None)
            continue
        text = _bounded(frame.text)
        row = Row(frame.ts_ms, leg, frame.direction, frame.who, _kind(frame.text), text, 0, frame.ts_ms)
        latest[key] = row
        made.append(row)
    return made, left_out


def _frames(record: CallRecord) -> Iterable[tuple[WireFrame, str]]:
    if record.frames:
        for frame in sorted(record.frames, key=lambda one: one.ts_ms):
            yield frame, frame.leg
        return
    for entry in record.entries:
        who = str(getattr(entry, "agent_name", "")) or "call"
        text = encode_entry(entry).decode()
        yield WireFrame(entry.ts_ms, "client", "sent", who, text), "log"


def _kind(text: str) -> str:
    """Return a frame's type; without one, its first key."""
    found = _TYPE.search(text) or _FIRST_KEY.match(text)
    return found[1] if found is not None else "binary"


def _bounded(text: str) -> str:
    left_out = len(text) - MAX_TEXT_CHARS
    return text if left_out <= 0 else f"{text[:MAX_TEXT_CHARS]} ... {left_out} more characters"
