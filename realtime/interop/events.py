"""Reads and writes other projects' events, by the table of their dialect.

As with messages, what one side cannot hold stands in the metadata of the event and comes back.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, tzinfo
from typing import Any

from realtime.event.reply import AgentEvent, read_reply_event
from realtime.interop.foreign import Problems, objects_in
from realtime.interop.patch import diff, patched
from realtime.interop.rest import OURS, THEIRS
from realtime.interop.table import Dialect, EventKind, Json, Options, Shape, fields_in, written
from realtime.interop.tables import table_of

_PATCH = "patch"


def load_events(data: Any, dialect: str, *, zone: tzinfo = UTC, problems: list[str] | None = None) -> list[AgentEvent]:
    """Read reply events of another project: JSON as text, bytes or builtins; one event or a list.

    Arguments and errors are those of `load`; also raises ValueError for a dialect that has no events.
    """
    table = _with_events(dialect)
    found = Problems()
    reader = _Events(table, Options(zone=zone), found)
    events = []
    for where, raw in objects_in(data, "events", found):
        try:
            event = reader.read(raw, where)
        except RecursionError:
            found.add(where, "is nested too deeply")
            continue
        events += [] if event is None else [event]
    found.settle(problems)
    return events


def dump_events(
    events: Iterable[AgentEvent], dialect: str, *, zone: tzinfo = UTC, shape: Shape = "page", keep: bool = True
) -> list[Json]:
    """Write reply events for another project, as JSON builtins; one that it has no kind for is a custom one.

    Arguments and errors are those of `dump`; also raises ValueError for a dialect that has no events.
    """
    writer = _Events(_with_events(dialect), Options(zone=zone, shape=shape), Problems())
    return [writer.write(event.model_dump(), keep) for event in events]


def _with_events(dialect: str) -> Dialect:
    table = table_of(dialect)
    if not table.events:
        raise ValueError(f"{dialect} has no events")
    return table


class _Events:
    """Converts with one table; remembers the sessions of replies, whose ends do not name them."""

    def __init__(self, table: Dialect, options: Options, problems: Problems) -> None:
        self._table = table
        self._options = options
        self._problems = problems
        self._sessions: dict[str, str] = {}

    def read(self, raw: Json, where: str) -> AgentEvent | None:
        """Return our event; None where it cannot be read."""
        kind = self._kind_in(raw, where)
        if kind is None:
            return None
        raw, mark = _unmarked(raw)
        ours = self._ours(raw, kind, where, mark)
        if ours is None:
            return None
        try:
            whole = patched(read_reply_event(ours).model_dump(), mark.get(_PATCH))
            event = read_reply_event(whole)
        except ValueError as error:
            self._problems.add(where, f"cannot be read: {error}")
            return None
        if patch := diff(self._theirs(whole), raw):
            others = whole["metadata"].get(OURS)
            kept = {**(others if isinstance(others, dict) else {}), self._table.name: {_PATCH: patch}}
            event = read_reply_event({**whole, "metadata": {**whole["metadata"], OURS: kept}})
        return event

    def _kind_in(self, raw: Json, where: str) -> EventKind | None:
        name = raw.get("type")
        by_event = self._table.by_event
        kind = by_event.get(name) or by_event.get(name.upper()) if isinstance(name, str) else None
        if kind is None:
            self._problems.add(f"{where}.type", f"is no type of event of {self._table.name}: {str(name)[:64]!r}")
        return kind

    def _ours(self, raw: Json, kind: EventKind, where: str, mark: Json) -> Json | None:
        before = len(self._problems)

        def unreadable(name: str, error: ValueError) -> None:
            self._problems.add(f"{where}.{name}", error)

        table, options = self._table, self._options
        ours: Json = {"type": kind.ours, "reply_id": "", **fields_in(table.event_fields, raw, options, unreadable)}
        ours |= fields_in(kind.fields, raw, options, unreadable)
        try:
            kind.read(ours, raw, options)
        except ValueError as error:
            self._problems.add(where, error)
        if len(self._problems) > before:
            return None
        match ours["type"]:
            case "REPLY_START":
                self._sessions[ours["reply_id"]] = ours.setdefault("session_id", "")
                ours.setdefault("name", ours.get("role", "assistant"))
            case "REPLY_END":
                ours.setdefault("session_id", self._sessions.pop(ours["reply_id"], ""))
            case "MODEL_CALL_START":
                ours.setdefault("model_name", "")
            case "EXCEED_MAX_ITERS":
                ours.setdefault("name", "")
            case "TOOL_CALL_START" | "TOOL_RESULT_START":
                ours.setdefault("tool_call_name", "")
            case "CUSTOM" if isinstance(mark.get("type"), str):
                ours = {**ours, "type": mark["type"], **ours.pop("value")}
                del ours["name"]
        return ours

    def write(self, ours: Json, keep: bool) -> Json:
        """Return their event of one of ours."""
        kept = ours["metadata"].get(OURS)
        rest = kept.get(self._table.name) if isinstance(kept, dict) else None
        if isinstance(rest, dict):
            notes = {key: value for key, value in ours["metadata"].items() if key != OURS}
            others = {key: value for key, value in kept.items() if key != self._table.name}
            ours = {**ours, "metadata": {**notes, OURS: others} if others else notes}
        made = self._theirs(ours)
        made = patched(made, rest.get(_PATCH)) if isinstance(rest, dict) else made
        if not keep:
            return made
        if patch := diff(self._read_back(made), ours):
            given = made.get("metadata")
            given = given if isinstance(given, dict) else {}
            made["metadata"] = {**given, THEIRS: {**_unmarked(made)[1], _PATCH: patch}}
        return made

    def _read_back(self, made: Json) -> Json:
        """Return our event as it is read from theirs alone.

        Empty where it cannot be read.
        """
        reader = _Events(self._table, self._options, Problems())
        reader._sessions = self._sessions
        bare, mark = _unmarked(made)
        kind = reader._kind_in(bare, "")
        ours = None if kind is None else reader._ours(bare, kind, "", mark)
        try:
            return {} if ours is None else read_reply_event(ours).model_dump()
        except ValueError:
            return {}

    def _theirs(self, ours: Json) -> Json:
        table, options = self._table, self._options
        kind = next((kind for kind in table.events if kind.ours == ours["type"] and kind.takes(ours)), None)
        if kind is None:
            base = {"id", "type", "created_at", "reply_id", "metadata"}
            value = {key: one for key, one in ours.items() if key not in base}
            metadata = {**ours["metadata"], THEIRS: {"type": ours["type"]}}
            custom = {**ours, "type": "CUSTOM", "name": ours["type"], "value": value, "metadata": metadata}
            return self._theirs(custom)
        theirs = {"type": kind.theirs, **written(table.event_fields, ours, options)}
        theirs |= written(kind.fields, ours, options)
        kind.write(ours, theirs, options)
        return theirs


def _unmarked(raw: Json) -> tuple[Json, Json]:
    """Return an event without what we had added to it, and that."""
    match raw.get("metadata"):
        case {"realtime": dict() as mark, **notes} if mark and mark.keys() <= {"type", _PATCH}:
            links = {name: mark[name] for name in ("type",) if name in mark}
            metadata = {**notes, THEIRS: links} if links else notes
            bare = {key: value for key, value in raw.items() if key != "metadata"}
            return {**bare, "metadata": metadata} if metadata else bare, mark
    return raw, {}
