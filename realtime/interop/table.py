"""The form of a dialect's table, and values of several tables.

A table says which field of theirs is which of ours and how its value is read and written; `frame` does everything else.
Ours is JSON as `Msg.model_dump` gives it, but the extra fields of a thinking block stand in `extra`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any, Literal

from realtime.message.blocks import read_input
from realtime.message.older import media_type_of
from realtime.runtime import iso

Json = dict[str, Any]
Shape = Literal["page", "source"]


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Any = _Absent()
"""What a field gives that is to be left out."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a caller chooses: the zone of times without one; `shape`, where a project's page and source differ."""

    zone: tzinfo = UTC
    shape: Shape = "page"


Read = Callable[[Any, Options], Any]
"""Turns their value into ours. It never gets None. Raises ValueError with the end of a sentence: "is no text"."""
Write = Callable[[Any, Options], Any]
"""Turns our value, or None, into theirs, or ABSENT."""


def same(value: Any, _: Options) -> Any:
    """Keep a value as it is."""
    return value


def same_or_absent(value: Any, _: Options) -> Any:
    """Keep a value; leave out None."""
    return ABSENT if value is None else value


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its name in our JSON and in theirs; `also` are further names that are read."""

    ours: str
    theirs: str
    read: Read = same
    write: Write = same
    also: tuple[str, ...] = ()


def _nothing(*_: Any) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of block. The first kind of a table that `takes` one of our blocks writes it.

    `read` completes our block, `write` theirs; both get (ours, theirs, options). `also` are further types of theirs
    that are read as this kind.
    """

    ours: str
    theirs: str
    fields: tuple[Field, ...]
    takes: Callable[[Json], bool] = lambda block: True
    read: Callable[[Json, Mapping[str, Any], Options], None] = _nothing
    write: Callable[[Json, Json, Options], None] = _nothing
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EventKind:
    """A kind of event: our type, theirs, and its own fields; `also` are further types of theirs that are read.

    The first kind of a table that `takes` one of our events writes it. `read` completes ours, `write` theirs; both get
    (ours, theirs, options).
    """

    ours: str
    theirs: str
    fields: tuple[Field, ...] = ()
    also: tuple[str, ...] = ()
    takes: Callable[[Json], bool] = lambda event: True
    read: Callable[[Json, Mapping[str, Any], Options], None] = _nothing
    write: Callable[[Json, Json, Options], None] = _nothing


@dataclass(frozen=True, slots=True)
class Dialect:
    """The table of a dialect.

    `roles`: theirs by ours; `tool_role`: that of messages of tool results; `default_role`: ours where a message names
    none. `message`: fields of a message but its role and content. `notes`: fields in the `metadata` of theirs.
    `read` completes our message, `write` theirs; both get (ours, theirs, options). `event_fields` are those that every
    event has; a dialect without `events` has messages alone.
    """

    name: str
    roles: Mapping[str, str]
    tool_role: str
    message: tuple[Field, ...]
    blocks: tuple[Kind, ...]
    notes: tuple[Field, ...] = ()
    event_fields: tuple[Field, ...] = ()
    events: tuple[EventKind, ...] = ()
    default_role: str = "user"
    results_alone: bool = False
    """Whether a message of results alone has the `tool_role`, whatever it says."""
    read: Callable[[Json, Mapping[str, Any], Options], None] = _nothing
    write: Callable[[Json, Json, Options], None] = _nothing
    gather: Callable[[Iterable[tuple[str, Json]]], Iterable[tuple[str, Json]]] = iter
    scatter: Callable[[Iterable[Json], Options], Iterable[Json]] = lambda messages, _: messages
    by_type: Mapping[str, Kind] = field(init=False, repr=False)
    by_event: Mapping[str, EventKind] = field(init=False, repr=False)
    _writers: Mapping[str, tuple[Kind, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        types = {name: kind for kind in self.blocks for name in (kind.theirs, *kind.also)}
        object.__setattr__(self, "by_type", types)
        events = {name: kind for kind in self.events for name in (kind.theirs, *kind.also)}
        object.__setattr__(self, "by_event", events)
        ours = {kind.ours: tuple(one for one in self.blocks if one.ours == kind.ours) for kind in self.blocks}
        object.__setattr__(self, "_writers", ours)

    def kind_of(self, block: Json) -> Kind | None:
        """Return the kind that writes one of our blocks; None where this dialect has none."""
        for kind in self._writers.get(block["type"], ()):
            if kind.takes(block):
                return kind
        return None


def written(fields: Iterable[Field], ours: Mapping[str, Any], options: Options) -> Json:
    """Return the fields of theirs that hold ours."""
    theirs: Json = {}
    for one in fields:
        value = ours.get(one.ours)
        # This loop is most of the time that a message takes: what stays as it is costs no call.
        if one.write is same or (value := one.write(value, options)) is not ABSENT:
            theirs[one.theirs] = value
    return theirs


def fields_in(fields: Iterable[Field], raw: Mapping[str, Any], options: Options, unreadable: Unreadable) -> Json:
    """Return the fields of ours that theirs hold; `unreadable` gets the name of each that cannot be read, and why."""
    ours: Json = {}
    for one in fields:
        name = one.theirs
        value = raw.get(name)
        if value is None:
            name = next((name for name in one.also if raw.get(name) is not None), "")
            if not name:
                continue
            value = raw[name]
        if one.read is text and type(value) is str:
            ours[one.ours] = value
            continue
        try:
            value = one.read(value, options)
        except ValueError as error:
            unreadable(name, error)
        else:
            if value is not ABSENT:
                ours[one.ours] = value
    return ours


Unreadable = Callable[[str, ValueError], None]


def block_in(kind: Kind, raw: Any, options: Options) -> Json:
    """Return our block of one of theirs within a field. Raises ValueError at the first thing that cannot be read."""

    def refuse(name: str, error: ValueError) -> None:
        raise ValueError(f"cannot be read: its {name} {error}")

    block = {"type": kind.ours, **fields_in(kind.fields, an_object(raw, options), options, refuse)}
    kind.read(block, raw, options)
    return block


def block_out(kind: Kind, block: Json, options: Options) -> Json:
    """Return their block of one of ours."""
    theirs = {"type": kind.theirs, **written(kind.fields, block, options)}
    kind.write(block, theirs, options)
    return theirs


def several(kind: Kind) -> tuple[Read, Write]:
    """Return what reads and writes a list of blocks of one kind."""

    def read(value: Any, options: Options) -> list[Json]:
        if not isinstance(value, list):
            raise ValueError(f"is {_named(value)}, not a list")
        return [block_in(kind, raw, options) for raw in value]

    return read, lambda value, options: [block_out(kind, block, options) for block in value or ()]


_OURS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
"""A time as we write it, which needs no conversion."""
_UTC = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{3})?Z?", re.ASCII)
"""A time of others that holds ours, where the zone is UTC."""
_NAMED_ZONE = re.compile(r"(?<=Z|\d)\[[\w/+\-]+\]$", re.ASCII)
_NUMBER = re.compile(r"-?\d{9,13}(\.\d+)?", re.ASCII)
"""Seconds or milliseconds since the epoch as text. Fewer digits are a date in ISO 8601's basic form."""
_WHOLE = re.compile(r"(-?\d{1,18})(?:\.0+)?", re.ASCII)

# -- values ------------------------------------------------------------------------------------------------------------


def text(value: Any, _: Options) -> str:
    """Read a text."""
    if not isinstance(value, str):
        raise ValueError(f"is {_named(value)}, not text")
    return value


def an_id(value: Any, options: Options) -> str:
    """Read an id: text, or a whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text(value, options)


def word(value: Any) -> Any:
    """Return a word in lower case, without blanks around it; keep what is no text."""
    return value.strip().lower() if isinstance(value, str) else value


def is_true(value: Any) -> bool:
    """Return whether a flag is set; some write it as text or as a number."""
    return word(value) in (True, "true", "1")


def a_count(value: Any, options: Options) -> int:
    """Read a whole number that is not negative."""
    count = value if type(value) is int else whole_number(value, options)
    if count < 0:
        raise ValueError(f"is {count}, which is less than nothing")
    return count


def whole_number(value: Any, _: Options) -> int:
    """Read a whole number, also written as text."""
    if isinstance(value, str) and (digits := _WHOLE.fullmatch(value.strip())):
        return int(digits[1])
    if isinstance(value, bool) or not isinstance(value, int | float) or not float(value).is_integer():
        raise ValueError(f"is {_named(value)}, not a whole number")
    return int(value)


def an_object(value: Any, _: Options) -> Json:
    """Read a JSON object."""
    if not isinstance(value, dict):
        raise ValueError(f"is {_named(value)}, not an object")
    return value


def lower(value: Any, options: Options) -> str:
    """Read a word in either case."""
    return text(value, options).strip().lower()


def utc_time(value: Any, options: Options) -> str:
    """Read a time: ISO 8601, a local time without a zone, or seconds or milliseconds since the epoch, also as text.

    Java writes the name of a zone behind its offset, in brackets.
    """
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        # Milliseconds of 1973 are seconds of the year 5138.
        seconds = value / 1_000 if abs(value) >= 1e11 else float(value)
        try:
            return iso(seconds)
        except (ValueError, OverflowError, OSError):
            raise ValueError(f"is no time: {value!r}") from None
    try:
        value = text(value, options).strip()
        moment = datetime.fromisoformat(_NAMED_ZONE.sub("", value))
        if options.zone is UTC and _UTC.fullmatch(value):
            return f"{value[:10]}T{value[11:19]}{value[19:23] if value[19:20] == '.' else '.000'}Z"
        if _OURS.fullmatch(value):
            return str(value)
        return iso((moment if moment.tzinfo is not None else moment.replace(tzinfo=options.zone)).timestamp())
    except (ValueError, OverflowError):
        raise ValueError(f"is no time: {str(value)[:64]!r}") from None


def local_time(value: Any, options: Options) -> Any:
    """Write a time as `2026-01-01 00:00:00.000`, in the zone of the options. Other text stays."""
    if options.zone is UTC and isinstance(value, str) and _OURS.fullmatch(value):
        return f"{value[:10]} {value[11:23]}"
    moment = _moment(value)
    if moment is None:
        return value
    return moment.astimezone(options.zone).replace(tzinfo=None).isoformat(" ", timespec="milliseconds")


def instant(value: Any, _: Options) -> Any:
    """Write a time as Java's `Instant`: `2026-01-01T00:00:00Z`, milliseconds only where there are some."""
    if isinstance(value, str) and _OURS.fullmatch(value):
        return f"{value[:19]}Z" if value.endswith(".000Z") else value
    moment = _moment(value)
    if moment is None:
        return value
    precision = "milliseconds" if moment.microsecond else "seconds"
    return moment.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")


def epoch_seconds(value: Any, _: Options) -> Any:
    """Write a time as seconds since the epoch."""
    moment = _moment(value)
    return value if moment is None else moment.timestamp()


def _moment(value: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def json_text(value: Any, _: Options) -> str:
    """Read the arguments of a call: an object, or JSON as text."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise ValueError(f"is {_named(value)}, not an object")
    return json.dumps(value, ensure_ascii=False)


def json_object(value: Any, _: Options) -> Json:
    """Write the arguments of a call as an object; empty where they are none."""
    return arguments_of(value) or {}


def arguments_of(value: str | None) -> Json | None:
    """Return the object that the input of a call holds; None where it holds none."""
    try:
        arguments = read_input(value or "")
    except ValueError:
        return None
    return arguments if isinstance(arguments, dict) else None


def source_of(kind: str = "", type_key: str = "media_type") -> Read:
    """Return the reader of a source of this `kind` (`image`, `audio`, `video`); its media type is guessed if missing.

    `type_key` is a further name of the media type of a URL.
    """

    def read(value: Any, options: Options) -> Json:
        source = an_object(value, options)
        match {**source, "type": word(source.get("type"))}:
            case {"type": "url", "url": str(url)}:
                given = source.get("media_type") or source.get(type_key)
                media_type = given if isinstance(given, str) else media_type_of(url=url, kind=kind)
                return {"type": "url", "url": url, "media_type": media_type}
            case {"type": "base64", "data": str(data)}:
                given = source.get("media_type") or source.get(type_key)
                # As browsers write it, and in lines.
                head, _, data = data.rpartition(",") if data.startswith("data:") else ("", "", data)
                data = "".join(data.split())
                given = given or head.removeprefix("data:").removesuffix(";base64") or None
                media_type = given if isinstance(given, str) else media_type_of(encoded=data, kind=kind)
                return {"type": "base64", "data": data, "media_type": media_type}
        raise ValueError("is neither a url nor base64 data")

    return read


def main_type(*kinds: str) -> Callable[[Json], bool]:
    """Return a check of the kind of a data block.

    A kind is the main media type, such as `image`.
    """

    def takes(block: Json) -> bool:
        return str(block["source"]["media_type"]).partition("/")[0] in kinds

    return takes


def _named(value: Any) -> str:
    match value:
        case bool():
            return "true or false"
        case str():
            return f"the text {value[:40]!r}"
        case int() | float():
            return f"the number {value!r}"
        case list():
            return "a list"
        case dict():
            return "an object"
        case None:
            return "null"
    return f"a {type(value).__name__}"
