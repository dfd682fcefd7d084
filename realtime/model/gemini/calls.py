"""The function calls of a Gemini connection: growing, running and withdrawn ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from realtime.model.gemini import frames as wire

_STEP = re.compile(r"\.([^.\[\]]+)|\[([0-9]{1,6})\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")
"""A step of a JSON path: `.city`, `[0]`, `['city']`."""


class Call(NamedTuple):
    """A complete call; `arguments` is JSON text."""

    id: str
    name: str
    arguments: str


class _Growing:
    """A call of which more is to come."""

    def __init__(self, call_id: str) -> None:
        self.id = call_id
        self.name = ""
        self.arguments: dict[str, Any] = {}
        self._open: str | None = None

    def add(self, piece: wire.FunctionCall) -> None:
        self.name = self.name or piece.name or ""
        self.arguments |= piece.args or {}
        for one in piece.partial_args or ():
            if one.json_path:
                _put(self.arguments, one.json_path, one.value, continues=one.json_path == self._open)
                self._open = one.json_path if one.will_continue else None


class Calls:
    """The calls by id. Vertex may send the arguments in pieces: nothing runs before a call is complete."""

    def __init__(self, new_id: Callable[[str], str]) -> None:
        self._new_id = new_id
        self._growing: _Growing | None = None
        self._open: set[str] = set()
        self._withdrawn: set[str] = set()

    def __bool__(self) -> bool:
        """Whether a call waits for its result."""
        return bool(self._open)

    @property
    def is_growing(self) -> bool:
        """Whether more of a call is to come."""
        return self._growing is not None

    def take(self, piece: wire.FunctionCall) -> Call | None:
        """The call that this piece completes; `None` while more is to come."""
        growing = self._growing
        if growing is None or (piece.id is not None and piece.id != growing.id):
            growing = _Growing(piece.id or self._new_id("call"))
        growing.add(piece)
        self._growing = growing if piece.will_continue else None
        if piece.will_continue:
            return None
        self._open.add(growing.id)
        return Call(growing.id, growing.name, msgspec.json.encode(growing.arguments).decode())

    def break_off(self) -> None:
        """Drop the call that is still growing."""
        self._growing = None

    def withdraw(self, call_ids: Iterable[str]) -> None:
        """The service no longer waits for these results."""
        for call_id in call_ids:
            if self._growing is not None and self._growing.id == call_id:
                self._growing = None
            if call_id in self._open:
                self._open.discard(call_id)
                self._withdrawn.add(call_id)

    def answered(self, call_id: str) -> bool:
        """Note the result of a call; `False` for a call that this connection does not know."""
        if call_id not in self._open:
            return False
        self._open.discard(call_id)
        return True

    def was_withdrawn(self, call_id: str) -> bool:
        """Whether this result comes too late; `True` once."""
        if call_id not in self._withdrawn:
            return False
        self._withdrawn.discard(call_id)
        return True


def _put(arguments: dict[str, Any], path: str, value: Any, *, continues: bool) -> None:
    """Set the value at the path; with `continues`, append text to it. Other kinds of path set nothing."""
    steps = [int(index) if index else name or one or two for name, index, one, two in _STEP.findall(path)]
    if not steps or "$" + "".join(match.group(0) for match in _STEP.finditer(path)) != path:
        return
    place: Any = arguments
    for step, below in zip(steps, [*steps[1:], None], strict=True):
        if isinstance(step, int) != isinstance(place, list) or (isinstance(step, int) and step > len(place)):
            return
        if isinstance(step, int) and step == len(place):
            place.append(None)
        known = place[step] if isinstance(step, int) else place.get(step)
        if below is None:
            joined = continues and isinstance(known, str) and isinstance(value, str)
            place[step] = known + value if joined else value
        elif not isinstance(known, list | dict):
            place[step] = [] if isinstance(below, int) else {}
        place = place[step]
