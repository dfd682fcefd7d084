"""Generates JSON Schema and TypeScript of messages, blocks and reply events.

The TypeScript module holds the types, the words and tables that both languages use, and a reader per type, which
checks and completes input as decoding does in Python. The readers are composed of the ones in
`web/packages/messages/src/read.ts`. `python -m realtime.event.schema` writes both files.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, get_args

import msgspec
from msgspec import inspect as types

from realtime.event.reply import INPUT_EVENTS, AgentEvent, DataBlockStartEvent, ToolResultDataDeltaEvent
from realtime.event.typescript import (
    FLATTENED,
    TypeWriter,
    comment,
    may_be_absent,
    quoted,
    struct_of,
    type_list,
    union_type,
    unique,
    walk,
)
from realtime.message import (
    BlockType,
    ContentBlock,
    FinishedReason,
    PermissionBehavior,
    Role,
    ToolCallState,
    ToolResultState,
    URLSource,
    Usage,
)
from realtime.message.fold import ALLOWED_BLOCKS, TOOL_CALL_ARROWS
from realtime.runtime import unique_id, wall_clock_iso


class MsgData(msgspec.Struct, kw_only=True):
    """A message in JSON. Times are ISO 8601 in UTC with milliseconds."""

    id: str = msgspec.field(default_factory=unique_id)
    name: str
    role: Role
    content: list[ContentBlock]
    metadata: dict[str, Any] = {}
    created_at: str = msgspec.field(default_factory=wall_clock_iso)
    finished_at: str | None = None
    usage: Usage | None = None
    finished_reason: FinishedReason | None = None
    structured_output: dict[str, Any] | None = None
    error: str | None = None


def messages_schema() -> dict[str, Any]:
    """Return a JSON Schema: the message, every block and every reply event.

    It is draft 2020-12; all of them are in its `$defs`.
    """
    named: dict[str, Any] = {"AgentEvent": AgentEvent, "ContentBlock": ContentBlock}
    roots, components = msgspec.json.schema_components([*named.values(), MsgData], ref_template="#/$defs/{name}")
    for cls in (MsgData, *get_args(ContentBlock), *get_args(AgentEvent)):
        components[cls.__name__]["description"] = inspect.getdoc(cls)
    for flattened, field in FLATTENED.items():
        del components[flattened.__name__]["properties"][field]
    for component in components.values():
        if "description" in component:
            component["description"] = inspect.cleandoc(component["description"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Messages and reply events",
        "description": "Generated from realtime/message and realtime/event by `python -m realtime.event.schema`.",
        "anyOf": [{"$ref": "#/$defs/MsgData"}, {"$ref": "#/$defs/AgentEvent"}],
        "$defs": dict(zip(named, roots, strict=False)) | dict(sorted(components.items())),
    }


def messages_typescript() -> str:
    """Return the TypeScript module of messages and reply events."""
    return _Writer().module()


_HEAD = """\
// Generated from realtime/message and realtime/event by `python -m realtime.event.schema`. Never edit by hand.

import {
%s} from "./read.ts";

/** Bytes as base64 text. */
export type Base64 = string;
"""

_WORDS: dict[str, Iterable[str]] = {
    "Role": get_args(Role),
    "BlockType": get_args(BlockType),
    "ToolCallState": ToolCallState,
    "ToolResultState": ToolResultState,
    "FinishedReason": get_args(FinishedReason),
    "PermissionBehavior": PermissionBehavior,
}

_URI_FIELDS = {(URLSource, "url"), (DataBlockStartEvent, "url"), (ToolResultDataDeltaEvent, "url")}

_PLAIN_READERS: dict[type[types.Type], str] = {
    types.StrType: "string",
    types.IntType: "integer",
    types.BoolType: "boolean",
    types.BytesType: "base64",
    types.AnyType: "json",
}

_MADE = {unique_id: "newId", wall_clock_iso: "now"}
"""Functions that fill missing fields, in Python and in TypeScript."""


class _Writer(TypeWriter):
    def __init__(self) -> None:
        self._events = [struct_of(event) for event in get_args(AgentEvent)]
        self._blocks = [struct_of(block) for block in get_args(ContentBlock)]
        self._inputs = [struct_of(event) for event in INPUT_EVENTS]
        self._parts = unique(node for root in (struct_of(MsgData), *self._events) for node in walk(root))
        super().__init__({node.cls for node in self._parts})
        self._used: set[str] = set()

    def module(self) -> str:
        sent = unique(node for root in (*self._blocks, *self._inputs) for node in walk(root))
        inputs = [node for node in sent if self.name(node, sent=True) != self.name(node, sent=False)]
        readers = [
            f"export const {_reader_name(node)}: Reader<{node.cls.__name__}> = {self._struct_reader(node)};\n"
            for node in self._parts
        ]
        by_type = "".join(f"  {node.tag}: {_reader_name(node)},\n" for node in self._events)
        blocks = "".join(f"  {node.tag}: {_reader_name(node)},\n" for node in self._blocks)
        imports = sorted({*self._used, "type Reader"}, key=lambda name: name.removeprefix("type ").lower())
        parts = [
            _HEAD % "".join(f"  {name},\n" for name in imports),
            *(self.interface(node, sent=False) for node in self._parts),
            *(self.interface(node, sent=True) for node in inputs),
            union_type("ContentBlock", "A part of a message.", self._blocks),
            self._input_union("ContentBlockInput", "A block as it may be written by hand.", self._blocks),
            union_type("AgentEvent", "What one reply is made of.", self._events),
            self._input_union("AgentInput", "An event that goes to the agent, written by hand.", self._inputs),
            "/** The reply event with this `type`. */\n"
            'export type AgentEventOf<Type extends AgentEvent["type"]> = Extract<AgentEvent, { type: Type }>;\n',
            *(f"export type {name} = {' | '.join(map(quoted, words))};\n" for name, words in _WORDS.items()),
            _table(
                "ALLOWED_BLOCKS",
                "The block types that a message of each role may hold.",
                ALLOWED_BLOCKS,
                "Role",
                "BlockType",
            ),
            _table(
                "TOOL_CALL_ARROWS",
                "Where the state of a call may go from each state; it never goes back.",
                TOOL_CALL_ARROWS,
                "ToolCallState",
                "ToolCallState",
            ),
            type_list("AGENT_EVENT_TYPES", "AgentEvent", self._events),
            *readers,
            comment("The readers of the blocks, by their `type`.")
            + f"export const BLOCK_READERS = {{\n{blocks}}} as const;\n",
            comment("The readers of the events, by their `type`.")
            + f"export const EVENT_READERS = {{\n{by_type}}} as const;\n",
        ]
        return "\n".join(parts)

    def _input_union(self, name: str, says: str, nodes: Iterable[types.StructType]) -> str:
        options = "\n".join(f"  | {self.name(node, sent=True)}" for node in nodes)
        return comment(says) + f"export type {name} =\n{options};\n"

    def _struct_reader(self, node: types.StructType) -> str:
        fields = {}
        if node.tag is not None:
            fields["type"] = self._call("word", quoted(node.tag))
        flattened = FLATTENED.get(node.cls)
        for field in node.fields:
            if field.name != flattened:
                fields[field.encode_name] = self._field_reader(node, field)
        lines = "".join(f"  {name}: {reader},\n" for name, reader in fields.items())
        return self._call("open" if flattened else "struct", f"{quoted(node.cls.__name__)}, {{\n{lines}}}")

    def _field_reader(self, node: types.StructType, field: types.Field) -> str:
        reader = self._reader(field.type)
        if (node.cls, field.name) in _URI_FIELDS:
            reader = reader.replace("string", self._plain("uri"))
        if field.required:
            return reader
        if may_be_absent(node, field, sent=False):
            return self._call("omitted", reader)
        if field.default_factory in _MADE:
            return self._call("made", f"{reader}, {self._plain(_MADE[field.default_factory])}")
        default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
        value = f"({quoted(default)})" if isinstance(default, dict) else quoted(default)
        return self._call("made", f"{reader}, () => {value}")

    def _reader(self, node: types.Type) -> str:
        """Return a TypeScript `Reader` expression for the JSON form of `node`."""
        match node:
            case types.StructType():
                return _reader_name(node)
            case types.UnionType():
                return self._union_reader(node)
            case types.ListType():
                return self._call("listOf", self._reader(node.item_type))
            case types.DictType():
                return self._call("recordOf", self._reader(node.value_type))
            case types.LiteralType():
                return self._call("word", ", ".join(quoted(value) for value in node.values))
            case types.EnumType():
                # States are read in either case: existing tables print them in upper case.
                return self._call("caseless", ", ".join(quoted(one.value) for one in node.cls))
            case _:
                return self._plain(_PLAIN_READERS[type(node)])

    def _union_reader(self, node: types.UnionType) -> str:
        options = [option for option in node.types if not isinstance(option, types.NoneType)]
        structs = [option for option in options if isinstance(option, types.StructType)]
        others = [self._reader(option) for option in options if not isinstance(option, types.StructType)]
        if len(structs) == 1:
            others.insert(0, _reader_name(structs[0]))
        elif structs:
            entries = ", ".join(f"{option.tag}: {_reader_name(option)}" for option in structs)
            others.insert(0, self._call("byType", f"{{ {entries} }}"))
        # Text or a list: the only union of kinds that differ by their JSON type.
        reader = self._call("textOr", others[1]) if others[0] == "string" and len(others) > 1 else others[0]
        return self._call("nullable", reader) if len(options) < len(node.types) else reader

    def _plain(self, name: str) -> str:
        self._used.add(name)
        return name

    def _call(self, name: str, arguments: str) -> str:
        return f"{self._plain(name)}({arguments})"


def _reader_name(node: types.StructType) -> str:
    return f"read{node.cls.__name__}"


def _table(name: str, says: str, table: Mapping[Any, Iterable[str]], key: str, value: str) -> str:
    entries = "".join(f"  {entry}: [{', '.join(map(quoted, values))}],\n" for entry, values in table.items())
    return comment(says) + f"export const {name}: Readonly<Record<{key}, readonly {value}[]>> = {{\n{entries}}};\n"
