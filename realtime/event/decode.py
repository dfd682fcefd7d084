"""Decodes events by `type`, with errors that a person can act on."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache, partial
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin, get_type_hints

import msgspec


def classes_by_type(union: Any) -> dict[str, type[Any]]:
    """Return the classes of a union by `type` string."""
    return {str(event.__struct_config__.tag): event for event in get_args(union)}


def read_event(frame: Any, classes: dict[str, type[Any]]) -> Any:
    """Decode `frame`, an object as parsed from JSON, as one of `classes`.

    Raises ValueError with a sentence that names the wrong field, the missing or unknown `type`, or the non-object.
    Every decoded event can be encoded again: text with half a surrogate pair, which `json.loads` accepts, is refused.
    """
    if not isinstance(frame, dict):
        raise ValueError(f"an event is a JSON object, not {type(frame).__name__}")
    name = frame.get("type")
    if not isinstance(name, str):
        raise ValueError("the event has no `type`")
    # One class, not the union: msgspec would analyse the union again at every call, which takes nine times as long.
    event = classes.get(name)
    if event is None:
        raise ValueError(_unknown_type(name))
    try:
        msgspec.json.encode(frame)
        # `str` stands for bytes in JSON: everything that JSON cannot hold is converted from text.
        return msgspec.convert(frame, event, builtin_types=())
    except msgspec.ValidationError as error:
        raise ValueError(explain(error)) from error
    except UnicodeEncodeError as error:
        raise ValueError("the event holds text that is not valid Unicode") from error
    except RecursionError as error:
        raise ValueError("the event is nested too deeply") from error
    except TypeError as error:
        raise ValueError(f"the event is not JSON: {error}") from error


def read_fields(event: Any) -> None:
    """Read the fields of an event that a program makes like JSON.

    A dict is taken for an object.

    Raises TypeError, which names the class and the field, for what is neither.
    """
    for name, kind, classes in _fields_of(cast(Hashable, type(event))):
        value = getattr(event, name)
        if type(value) in classes or (get_origin(kind) is dict and isinstance(value, msgspec.Struct)):
            continue  # settings may be an object already
        try:
            read = msgspec.convert(value, kind)
        except (msgspec.ValidationError, TypeError) as error:
            reason = explained(str(error), partial(_schema_of, kind)).removesuffix(" at `the event`")
            raise TypeError(f"{type(event).__name__}({name}=...): {reason}") from error
        if read != value:  # else it stays the object that the program has
            msgspec.structs.force_setattr(event, name, read)


@cache
def _fields_of(event: Any) -> tuple[tuple[str, Any, frozenset[type]], ...]:
    """Return each field: name, type, classes of values that are right."""
    hints = get_type_hints(event, include_extras=True)
    return tuple((name, hints[name], frozenset(_classes_of(hints[name]))) for name in event.__struct_fields__)


def _classes_of(kind: Any) -> Iterator[type]:
    if get_origin(kind) is Annotated:
        yield from _classes_of(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for one in get_args(kind):
            yield from _classes_of(one)
    elif isinstance(kind, type) and get_origin(kind) is None:
        yield kind


def explain(error: msgspec.ValidationError, kind: Any = None) -> str:
    """Turn a validation error into a sentence with path and event type.

    `kind`, where given, is the type that was read: the sentence lists what it has in place of an invalid value.
    """
    text = str(error)
    if text.startswith("Invalid value '") and text.endswith("' - at `$.type`"):
        return _unknown_type(text[len("Invalid value '") : -len("' - at `$.type`")])
    return explained(text, partial(_schema_of, kind))


@cache
def _schema_of(kind: Any) -> Mapping[str, Any]:
    return {} if kind is None else msgspec.json.schema(kind, schema_hook=lambda _: {})


def explained(text: str, schema: Callable[[], Mapping[str, Any]]) -> str:
    """Return msgspec's sentence about a value; it lists the valid ones."""
    _, found, place = text.partition(" - at `$")
    valid: dict[Any, None] = {}
    if found or text.startswith("Invalid enum value"):
        root = schema()
        steps = re.findall(r"\.([^.\[`]+)|(\[)", re.sub(r"\[[^\[\]]*\]", "[", place))
        valid = dict.fromkeys(_values_at(root, root.get("$defs", {}), steps))
    text = text.replace(" - at `$.", " at `").replace(" - at `$", " at `the event")
    return f"{text}: use one of {', '.join(map(str, valid))}" if valid else text


def _values_at(schema: Any, definitions: Mapping[str, Any], path: Sequence[tuple[str, str]]) -> Iterator[Any]:
    """Yield the values that a schema allows in this place: of names of properties, and brackets for what is inside."""
    if not isinstance(schema, Mapping):
        return
    if "$ref" in schema:
        yield from _values_at(definitions[schema["$ref"].rpartition("/")[2]], definitions, path)
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from _values_at(one, definitions, path)
    if not path:
        yield from (one for one in (*schema.get("enum", ()), schema.get("const")) if one is not None)
        return
    (name, _), rest = path[0], path[1:]
    if name:
        yield from _values_at(schema.get("properties", {}).get(name), definitions, rest)
        return
    for inside in (schema.get("items"), schema.get("additionalProperties"), *schema.get("prefixItems", ())):
        yield from _values_at(inside, definitions, rest)


def _unknown_type(name: str) -> str:
    return f"unknown event type {name[:64]!r}"
