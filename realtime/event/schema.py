"""Generates JSON Schema, TypeScript and tables of the realtime vocabulary.

    python -m realtime.event.schema --json docs/protocol.schema.json --markdown docs/protocol.md \\
        --typescript web/packages/client/src/protocol.generated.ts --messages-json docs/messages.schema.json \\
        --messages-typescript web/packages/messages/src/types.generated.ts

All of these files are checked in; a test compares them with the output of this module. Those of messages and reply
events come from `reply_schema`. The schema describes what a reader accepts: a field with a default may be missing.
TypeScript distinguishes the direction too (`typescript`).
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
from realtime.event.client import ClientEvent
from realtime.event.config import SessionConfig
from realtime.event.model import ModelEvent
from realtime.event.reply_schema import messages_schema, messages_typescript
from realtime.event.server import ServerEvent
from realtime.event.typescript import (
    TYPED_APART,
    TypeWriter,
    field_type,
    may_be_absent,
    quoted,
    struct_of,
    type_list,
    union_type,
    unique,
    walk,
)

UNIONS: dict[str, Any] = {"ClientEvent": ClientEvent, "ModelEvent": ModelEvent, "ServerEvent": ServerEvent}


def event_classes(union: Any) -> tuple[type[Event], ...]:
    """Return the classes of one of the three unions, in order."""
    return get_args(union)


def json_schema() -> dict[str, Any]:
    """Return a JSON Schema of every event and the three unions.

    It is draft 2020-12; all of them are in its `$defs`.
    """
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
    """Return the text of docs/protocol.schema.json."""
    return _json_text(json_schema())


def messages_schema_text() -> str:
    """Return the text of docs/messages.schema.json."""
    return _json_text(messages_schema())


def _json_text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def typescript() -> str:
    """Return the TypeScript module: client and server events, their unions, and `isServerEvent`."""
    return _Writer().module()


def event_tables() -> str:
    """Return Markdown tables of the events: type, own fields, meaning.

    `?` marks a field that a client may omit; the meaning is the first paragraph of the docstring.
    """
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
    """Renew the generated part of a Markdown document. Raises ValueError where its two markers are missing."""
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
    for node in map(struct_of, event_classes(union)):
        own = [field for field in node.fields if field.name not in common]
        marks = ["?" if may_be_absent(node, field, sent=sent) else "" for field in own]
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
const event = (fields: Record<string, Check>): Check => struct({ ...fields, ts_ms: isInteger }, { seq: isInteger });
const agentEvent = (fields: Record<string, Check>): Check =>
  event({ ...fields, agent_id: isString, agent_name: isString });
"""

_OF_EVENTS = frozenset({"ts_ms", "seq"})
_OF_AGENT_EVENTS = _OF_EVENTS | {"agent_id", "agent_name"}
"""Fields that the checks `event` and `agentEvent` add."""

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


class _Writer(TypeWriter):
    """Collects the two unions' types, dependencies first, and writes the module."""

    def __init__(self) -> None:
        self._server = [struct_of(event) for event in event_classes(ServerEvent)]
        self._client = [struct_of(event) for event in event_classes(ClientEvent)]
        super().__init__({node.cls for root in self._server for node in walk(root)})

    def module(self) -> str:
        received = unique(node for root in self._server for node in walk(root) if node is not root)
        sent = unique(node for root in self._client for node in walk(root) if node is not root)
        helpers = {self.name(node, sent=False): self.interface(node, sent=False) for node in received}
        helpers |= {self.name(node, sent=True): self.interface(node, sent=True) for node in sent}
        checks = self._checks(received)
        parts = [
            _HEAD,
            *helpers.values(),
            *(self.interface(event, sent=True) for event in self._client),
            *(self.interface(event, sent=False) for event in self._server),
            union_type("ClientEvent", "What a client sends.", self._client),
            union_type("ServerEvent", "What a client gets.", self._server),
            "/** The server event with this `type`. */\n"
            'export type ServerEventOf<Type extends ServerEvent["type"]> = Extract<ServerEvent, { type: Type }>;\n',
            type_list("CLIENT_EVENT_TYPES", "ClientEvent", self._client),
            type_list("SERVER_EVENT_TYPES", "ServerEvent", self._server),
            "type Check = (value: unknown) => boolean;\n",
            "".join(f"const {name}: Check = {body};\n" for name, body in _PRIMITIVE_CHECKS.items() if name in checks),
            _COMPOSED_CHECKS,
            checks,
            _IS_SERVER_EVENT,
        ]
        return "\n".join(parts)

    def _checks(self, received: Sequence[types.StructType]) -> str:
        """Return a check per received type and the server events' table."""
        helpers = "".join(f"const is{node.cls.__name__}: Check = {self._struct_check(node)};\n" for node in received)
        events = "".join(f"  [{quoted(event.tag)}, {self._event_check(event)}],\n" for event in self._server)
        return f"{helpers}\nconst SERVER_EVENT_CHECKS = new Map<string, Check>([\n{events}]);\n"

    def _check(self, node: types.Type) -> str:
        """Return a TypeScript `Check` expression for the JSON form of `node`."""
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
                return f"oneOf({', '.join(quoted(value) for value in node.values)})"
            case types.EnumType():
                return f"oneOf({', '.join(quoted(one.value) for one in node.cls)})"
            case _:
                return _PLAIN_CHECKS[type(node)]

    def _event_check(self, node: types.StructType) -> str:
        """Return a check of the fields; the table selects it by the type."""
        is_of_agent = {field.name for field in node.fields} >= _OF_AGENT_EVENTS
        added = _OF_AGENT_EVENTS if is_of_agent else _OF_EVENTS
        own = [f"{field.encode_name}: {self._check(field.type)}" for field in node.fields if field.name not in added]
        return f"{'agentEvent' if is_of_agent else 'event'}({{ {', '.join(own)} }})"

    def _struct_check(self, node: types.StructType) -> str:
        always = [f"{node.tag_field}: oneOf({quoted(node.tag)})"] if node.tag is not None else []
        maybe: list[str] = []
        for field in node.fields:
            fields = maybe if may_be_absent(node, field, sent=False) else always
            fields.append(f"{field.encode_name}: {self._check(field_type(node, field))}")
        return f"struct({', '.join('{ ' + ', '.join(fields) + ' }' for fields in (always, maybe) if fields)})"


_PLAIN_CHECKS: dict[type[types.Type], str] = {
    types.StrType: "isString",
    types.IntType: "isInteger",
    types.FloatType: "isNumber",
    types.BoolType: "isBoolean",
    types.NoneType: "isNull",
    types.BytesType: "isString",
    types.AnyType: "isAnything",
}
"""Types without parts and the check for them."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the files that the arguments name."""
    parser = argparse.ArgumentParser(prog="python -m realtime.event.schema", description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the JSON Schema here")
    parser.add_argument("--typescript", type=Path, metavar="FILE", help="write the TypeScript module here")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="renew the event tables in this document")
    parser.add_argument("--messages-json", type=Path, metavar="FILE", help="write the JSON Schema of messages here")
    parser.add_argument("--messages-typescript", type=Path, metavar="FILE", help="write their TypeScript module here")
    options = parser.parse_args(arguments)
    if not any(vars(options).values()):
        parser.error(
            "nothing to do: name a file with " + ", ".join(f"--{name.replace('_', '-')}" for name in vars(options))
        )
    if options.markdown is not None:
        document = with_event_tables(options.markdown.read_text(encoding="utf-8"))
        options.markdown.write_text(document, encoding="utf-8", newline="\n")
    for path, text in (
        (options.json, json_schema_text),
        (options.typescript, typescript),
        (options.messages_json, messages_schema_text),
        (options.messages_typescript, messages_typescript),
    ):
        if path is not None:
            path.write_text(text(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
