"""JSON Schema, TypeScript and tables of the realtime vocabulary, generated from its classes.

    python -m realtime.event.schema --json docs/protocol.schema.json --markdown docs/protocol.md \\
        --typescript web/src/protocol.generated.ts

All three are checked in; a test asserts that they are what this module gives. The schema describes what a reader
accepts: a field with a default may be missing. TypeScript knows the direction too: what the server sends is complete,
what a client sends may leave out what has a default. Where a type occurs in both directions and that makes a
difference, the client's form is called `...Input`.
"""

from __future__ import annotations

import argparse
import inspect
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec import inspect as types

from realtime.event.base import Event
from realtime.event.client import ClientEvent, ClientSessionCreateEvent, ClientSessionUpdateEvent
from realtime.event.config import SessionConfig
from realtime.event.model import ModelEvent
from realtime.event.server import ServerEvent

UNIONS: dict[str, Any] = {"ClientEvent": ClientEvent, "ModelEvent": ModelEvent, "ServerEvent": ServerEvent}

TYPED_APART: dict[tuple[type, str], type[msgspec.Struct]] = {
    (ClientSessionCreateEvent, "config"): SessionConfig,
    (ClientSessionUpdateEvent, "config"): SessionConfig,
}
"""Fields that events hold as plain objects, because they are read in a second step, and what they are read as."""


def event_classes(union: Any) -> tuple[type[Event], ...]:
    """The classes of one of the three unions, in order."""
    return get_args(union)


def event_type(event: type[Event]) -> str:
    """The type string of an event class, as on the wire."""
    return str(event.__struct_config__.tag)


def json_schema() -> dict[str, Any]:
    """One JSON Schema (draft 2020-12): in its `$defs` every event, and the three unions by name."""
    unions, components = msgspec.json.schema_components(
        [*UNIONS.values(), SessionConfig], ref_template="#/$defs/{name}"
    )
    for event in (event for union in UNIONS.values() for event in event_classes(union)):
        components[event.__name__]["description"] = inspect.getdoc(event)
    for event, field in TYPED_APART:
        components[event.__name__]["properties"][field] = {
            "$ref": f"#/$defs/{TYPED_APART[event, field].__name__}",
            "default": {},
        }
    for component in components.values():
        component["description"] = inspect.cleandoc(component["description"])
    named = dict(zip(UNIONS, unions, strict=False))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Realtime events",
        "description": "Generated from realtime/event by `python -m realtime.event.schema`.",
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in UNIONS],
        "$defs": named | dict(sorted(components.items())),
    }


def json_schema_text() -> str:
    """The schema as it is checked in."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def typescript() -> str:
    """The TypeScript module: an interface per client and server event, their unions, and `isServerEvent`."""
    return _Writer().module()


def event_tables() -> str:
    """The events as Markdown tables: type, own fields (`?`: a client may leave it out), first paragraph of the docs."""
    return "\n".join(
        [
            "### What a client sends",
            "",
            *_table(ClientEvent, common=("session_id", "event_id"), sent=True),
            "",
            "### What a client gets",
            "",
            *_table(ServerEvent, common=("agent_id", "agent_name", "seq", "ts_ms"), sent=False),
        ]
    )


def with_event_tables(document: str) -> str:
    """The Markdown document with its generated part renewed. Raises ValueError where the two markers are missing."""
    head, begins, rest = document.partition(TABLES_BEGIN)
    _, ends, tail = rest.partition(TABLES_END)
    if not begins or not ends:
        raise ValueError(f"the document has no {TABLES_BEGIN} followed by {TABLES_END}")
    return f"{head}{TABLES_BEGIN}\n\n{event_tables()}\n\n{TABLES_END}{tail}"


TABLES_BEGIN = "<!-- generated: events -->"
TABLES_END = "<!-- end of generated -->"


def _table(union: Any, *, common: tuple[str, ...], sent: bool) -> Iterator[str]:
    yield "| type | fields | meaning |"
    yield "|---|---|---|"
    for node in map(_struct, event_classes(union)):
        own = [field for field in node.fields if field.name not in common]
        marks = ["?" if _may_be_absent(node, field, sent=sent) else "" for field in own]
        names = ", ".join(f"`{field.encode_name}{mark}`" for field, mark in zip(own, marks, strict=True))
        meaning = (inspect.getdoc(node.cls) or "").split("\n\n")[0].replace("\n", " ")
        yield f"| `{node.tag}` | {names} | {meaning} |"


_HEAD = """\
// Generated from realtime/event by `python -m realtime.event.schema`. Never edit by hand.

/** Bytes as base64 text. */
export type Base64 = string;
"""

_PRIMITIVE_CHECKS = {
    "isString": '(value) => typeof value === "string"',
    "isNumber": '(value) => typeof value === "number"',
    "isInteger": "(value) => Number.isInteger(value)",
    "isBoolean": '(value) => typeof value === "boolean"',
    "isNull": "(value) => value === null",
    "isAnything": "() => true",
}

_COMPOSED_CHECKS = """\
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const oneOf = (...literals: unknown[]): Check => (value) => literals.includes(value);
const either = (...checks: Check[]): Check => (value) => checks.some((check) => check(value));
const listOf = (check: Check): Check => (value) => Array.isArray(value) && value.every((entry) => check(entry));
const recordOf = (check: Check): Check => (value) =>
  isRecord(value) && Object.values(value).every((entry) => check(entry));
const struct = (always: Record<string, Check>, maybe: Record<string, Check> = {}): Check => (value) =>
  isRecord(value) &&
  Object.entries(always).every(([name, check]) => check(value[name])) &&
  Object.entries(maybe).every(([name, check]) => value[name] === undefined || check(value[name]));
"""

_IS_SERVER_EVENT = """\
/**
 * Whether `value` (as parsed from JSON) is a server event with all its fields. Fields that are not known here are
 * ignored, so a newer server may send more.
 */
export function isServerEvent(value: unknown): value is ServerEvent {
  if (!isRecord(value) || typeof value["type"] !== "string") return false;
  return SERVER_EVENT_CHECKS.get(value["type"])?.(value) ?? false;
}
"""


class _Writer:
    """Collects what the two unions need, dependencies first, and writes the module."""

    def __init__(self) -> None:
        self._server = [_struct(event) for event in event_classes(ServerEvent)]
        self._client = [_struct(event) for event in event_classes(ClientEvent)]
        self._received = {node.cls for root in self._server for node in _walk(root)}

    def module(self) -> str:
        received = _unique(node for root in self._server for node in _walk(root) if node is not root)
        sent = _unique(node for root in self._client for node in _walk(root) if node is not root)
        helpers = {self._name(node, sent=False): self._interface(node, sent=False) for node in received}
        helpers |= {self._name(node, sent=True): self._interface(node, sent=True) for node in sent}
        checks = self._checks(received)
        parts = [
            _HEAD,
            *helpers.values(),
            *(self._interface(event, sent=True) for event in self._client),
            *(self._interface(event, sent=False) for event in self._server),
            _union("ClientEvent", "What a client sends.", self._client),
            _union("ServerEvent", "What a client gets.", self._server),
            "/** The server event with this `type`. */\n"
            'export type ServerEventOf<Type extends ServerEvent["type"]> = Extract<ServerEvent, { type: Type }>;\n',
            _type_list("CLIENT_EVENT_TYPES", "ClientEvent", self._client),
            _type_list("SERVER_EVENT_TYPES", "ServerEvent", self._server),
            "type Check = (value: unknown) => boolean;\n",
            "".join(f"const {name}: Check = {body};\n" for name, body in _PRIMITIVE_CHECKS.items() if name in checks),
            _COMPOSED_CHECKS,
            checks,
            _IS_SERVER_EVENT,
        ]
        return "\n".join(parts)

    def _checks(self, received: Sequence[types.StructType]) -> str:
        """A check per received type and the table of those of the server events."""
        helpers = "".join(f"const is{node.cls.__name__}: Check = {self._struct_check(node)};\n" for node in received)
        events = "".join(f"  [{_quoted(event.tag)}, {self._struct_check(event)}],\n" for event in self._server)
        return f"{helpers}\nconst SERVER_EVENT_CHECKS = new Map<string, Check>([\n{events}]);\n"

    def _interface(self, node: types.StructType, *, sent: bool) -> str:
        lines = [_comment(inspect.getdoc(node.cls) or ""), f"export interface {self._name(node, sent=sent)} {{\n"]
        if node.tag is not None:
            lines.append(f"  {node.tag_field}: {_quoted(node.tag)};\n")
        for field in node.fields:
            mark = "?" if _may_be_absent(node, field, sent=sent) else ""
            lines.append(f"  {field.encode_name}{mark}: {self._type(_field_type(node, field), sent=sent)};\n")
        return "".join([*lines, "}\n"])

    def _name(self, node: types.StructType, *, sent: bool) -> str:
        name = node.cls.__name__
        return f"{name}Input" if sent and node.cls in self._received and _differs_by_direction(node) else name

    def _type(self, node: types.Type, *, sent: bool) -> str:
        """The TypeScript type of what `node` is in JSON."""
        match node:
            case types.StructType():
                return self._name(node, sent=sent)
            case types.UnionType():
                return " | ".join(self._type(option, sent=sent) for option in node.types)
            case types.ListType() | types.VarTupleType():
                entry = self._type(node.item_type, sent=sent)
                return f"({entry})[]" if " | " in entry else f"{entry}[]"
            case types.DictType():
                return f"Record<string, {self._type(node.value_type, sent=sent)}>"
            case types.LiteralType():
                return " | ".join(_quoted(value) for value in node.values)
            case _:
                return _PLAIN[type(node)][0]

    def _check(self, node: types.Type) -> str:
        """A TypeScript expression that is a `Check` of what `node` is in JSON."""
        match node:
            case types.StructType():
                return f"is{node.cls.__name__}"
            case types.UnionType():
                return f"either({', '.join(self._check(option) for option in node.types)})"
            case types.ListType() | types.VarTupleType():
                return f"listOf({self._check(node.item_type)})"
            case types.DictType():
                return f"recordOf({self._check(node.value_type)})"
            case types.LiteralType():
                return f"oneOf({', '.join(_quoted(value) for value in node.values)})"
            case _:
                return _PLAIN[type(node)][1]

    def _struct_check(self, node: types.StructType) -> str:
        always = [f"{node.tag_field}: oneOf({_quoted(node.tag)})"] if node.tag is not None else []
        maybe: list[str] = []
        for field in node.fields:
            fields = maybe if _may_be_absent(node, field, sent=False) else always
            fields.append(f"{field.encode_name}: {self._check(_field_type(node, field))}")
        return f"struct({', '.join('{ ' + ', '.join(fields) + ' }' for fields in (always, maybe) if fields)})"


_PLAIN: dict[type[types.Type], tuple[str, str]] = {
    types.StrType: ("string", "isString"),
    types.IntType: ("number", "isInteger"),
    types.FloatType: ("number", "isNumber"),
    types.BoolType: ("boolean", "isBoolean"),
    types.NoneType: ("null", "isNull"),
    types.BytesType: ("Base64", "isString"),
    types.AnyType: ("unknown", "isAnything"),
}
"""Types without parts: their TypeScript name and the check for them."""


def _struct(cls: type[msgspec.Struct]) -> types.StructType:
    node = types.type_info(cls)
    assert isinstance(node, types.StructType)
    return node


def _field_type(node: types.StructType, field: types.Field) -> types.Type:
    apart = TYPED_APART.get((node.cls, field.name))
    return field.type if apart is None else _struct(apart)


def _may_be_absent(node: types.StructType, field: types.Field, *, sent: bool) -> bool:
    """Whether the field has a default that its sender leaves out: a client any, we those that the class omits.

    A default made by a function of its own is never omitted.
    """
    is_omitted = field.default is not msgspec.NODEFAULT or field.default_factory in (list, dict, set)
    return not field.required and (sent or (node.cls.__struct_config__.omit_defaults and is_omitted))


def _differs_by_direction(node: types.StructType) -> bool:
    return any(
        _may_be_absent(struct, field, sent=True) != _may_be_absent(struct, field, sent=False)
        for struct in _walk(node)
        for field in struct.fields
    )


def _walk(node: types.Type) -> Iterator[types.StructType]:
    """The structs that `node` is made of, dependencies first, itself last where it is one."""
    match node:
        case types.StructType():
            for field in node.fields:
                yield from _walk(_field_type(node, field))
            yield node
        case types.UnionType():
            for option in node.types:
                yield from _walk(option)
        case types.ListType() | types.VarTupleType():
            yield from _walk(node.item_type)
        case types.DictType():
            yield from _walk(node.value_type)


def _unique(nodes: Iterator[types.StructType]) -> list[types.StructType]:
    return list({node.cls: node for node in nodes}.values())


def _quoted(value: object) -> str:
    return json.dumps(value)


def _comment(text: str) -> str:
    lines = text.splitlines()
    if len(lines) == 1:
        return f"/** {lines[0]} */\n"
    return "".join(["/**\n", *(f" * {line}".rstrip() + "\n" for line in lines), " */\n"])


def _union(name: str, says: str, events: Sequence[types.StructType]) -> str:
    return _comment(says) + f"export type {name} =\n" + "\n".join(f"  | {node.cls.__name__}" for node in events) + ";\n"


def _type_list(name: str, union: str, events: Sequence[types.StructType]) -> str:
    entries = "".join(f"  {_quoted(node.tag)},\n" for node in events)
    return f'export const {name} = [\n{entries}] as const satisfies readonly {union}["type"][];\n'


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the files that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m realtime.event.schema", description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the JSON Schema here")
    parser.add_argument("--typescript", type=Path, metavar="FILE", help="write the TypeScript module here")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="renew the event tables in this document")
    options = parser.parse_args(arguments)
    if options.json is None and options.typescript is None and options.markdown is None:
        parser.error("nothing to do: name a file with --json, --typescript or --markdown")
    if options.markdown is not None:
        document = with_event_tables(options.markdown.read_text(encoding="utf-8"))
        options.markdown.write_text(document, encoding="utf-8", newline="\n")
    for path, text in ((options.json, json_schema_text), (options.typescript, typescript)):
        if path is not None:
            path.write_text(text(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
