"""Generates TypeScript interfaces, unions and lists from the event classes, for `schema`.

What the server sends is complete, but for the fields that a class omits at their default; a client may omit all fields
with a default. Where a type occurs in both directions and that makes a difference, the client's form is called
`...Input`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Collection, Iterator, Sequence

import msgspec
from msgspec import inspect as types

from realtime.event.client import ClientSessionCreateEvent, ClientSessionUpdateEvent
from realtime.event.config import SessionConfig
from realtime.message import ThinkingBlock

TYPED_APART: dict[tuple[type, str], type[msgspec.Struct]] = {
    (ClientSessionCreateEvent, "config"): SessionConfig,
    (ClientSessionUpdateEvent, "config"): SessionConfig,
}
"""Plain-object fields that a second step reads, and the classes for it."""

FLATTENED: dict[type, str] = {ThinkingBlock: "extra"}
"""Fields whose entries stand beside the others in JSON, by their class."""

PLAIN_TYPES: dict[type[types.Type], str] = {
    types.StrType: "string",
    types.IntType: "number",
    types.FloatType: "number",
    types.BoolType: "boolean",
    types.NoneType: "null",
    types.BytesType: "Base64",
    types.AnyType: "unknown",
}
"""Types without parts and their TypeScript names."""


class TypeWriter:
    """Writes types. `received`: classes that the server sends too; their client form needs its own name."""

    def __init__(self, received: Collection[type[msgspec.Struct]]) -> None:
        self._received = received

    def interface(self, node: types.StructType, *, sent: bool) -> str:
        """Return the interface of `node`: as sent by clients (`sent`) or by the server."""
        lines = [comment(inspect.getdoc(node.cls) or ""), f"export interface {self.name(node, sent=sent)} {{\n"]
        if node.tag is not None:
            lines.append(f"  {node.tag_field}: {quoted(node.tag)};\n")
        for field in node.fields:
            if FLATTENED.get(node.cls) == field.name:
                lines.append(f"  [{field.encode_name}: string]: unknown;\n")
                continue
            mark = "?" if may_be_absent(node, field, sent=sent) else ""
            lines.append(f"  {field.encode_name}{mark}: {self.type(field_type(node, field), sent=sent)};\n")
        return "".join([*lines, "}\n"])

    def name(self, node: types.StructType, *, sent: bool) -> str:
        """Return the name of that interface."""
        name = node.cls.__name__
        return f"{name}Input" if sent and node.cls in self._received and _differs_by_direction(node) else name

    def type(self, node: types.Type, *, sent: bool) -> str:
        """Return the TypeScript type of `node` in JSON."""
        match node:
            case types.StructType():
                return self.name(node, sent=sent)
            case types.UnionType():
                return " | ".join(self.type(option, sent=sent) for option in node.types)
            case types.ListType() | types.VarTupleType():
                entry = self.type(node.item_type, sent=sent)
                return f"({entry})[]" if " | " in entry else f"{entry}[]"
            case types.DictType():
                return f"Record<string, {self.type(node.value_type, sent=sent)}>"
            case types.LiteralType():
                return " | ".join(quoted(value) for value in node.values)
            case types.EnumType():
                return " | ".join(quoted(one.value) for one in node.cls)
            case _:
                return PLAIN_TYPES[type(node)]


def struct_of(cls: type[msgspec.Struct]) -> types.StructType:
    """Return msgspec's description of a class."""
    node = types.type_info(cls)
    assert isinstance(node, types.StructType)
    return node


def field_type(node: types.StructType, field: types.Field) -> types.Type:
    """Return the type of a field as its reader sees it."""
    apart = TYPED_APART.get((node.cls, field.name))
    return field.type if apart is None else struct_of(apart)


def may_be_absent(node: types.StructType, field: types.Field, *, sent: bool) -> bool:
    """Return whether the sender omits this field at its default.

    A client may omit any default; the server those that the class omits, what is unset, and the `seq` of an event
    outside the log. A default made by a function of its own is never omitted.
    """
    is_omitted = field.default is not msgspec.NODEFAULT or field.default_factory in (list, dict, set)
    is_unset = field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT
    is_left_out = field.name == "seq" or is_unset or (node.cls.__struct_config__.omit_defaults and is_omitted)
    return not field.required and (sent or is_left_out)


def _differs_by_direction(node: types.StructType) -> bool:
    return any(
        may_be_absent(struct, field, sent=True) != may_be_absent(struct, field, sent=False)
        for struct in walk(node)
        for field in struct.fields
    )


def walk(node: types.Type) -> Iterator[types.StructType]:
    """Yield the structs in `node`, dependencies first, `node` itself last."""
    match node:
        case types.StructType():
            for field in node.fields:
                yield from walk(field_type(node, field))
            yield node
        case types.UnionType():
            for option in node.types:
                yield from walk(option)
        case types.ListType() | types.VarTupleType():
            yield from walk(node.item_type)
        case types.DictType():
            yield from walk(node.value_type)


def unique(nodes: Iterator[types.StructType]) -> list[types.StructType]:
    """Return each class once, in the order of first mention."""
    return list({node.cls: node for node in nodes}.values())


def quoted(value: object) -> str:
    """Return the value as a literal."""
    return json.dumps(value)


def comment(text: str) -> str:
    """Return the text as a documentation comment."""
    lines = text.splitlines()
    if len(lines) == 1:
        return f"/** {lines[0]} */\n"
    return "".join(["/**\n", *(f" * {line}".rstrip() + "\n" for line in lines), " */\n"])


def union_type(name: str, says: str, events: Sequence[types.StructType]) -> str:
    """Return a union of classes."""
    return comment(says) + f"export type {name} =\n" + "\n".join(f"  | {node.cls.__name__}" for node in events) + ";\n"


def type_list(name: str, union: str, events: Sequence[types.StructType]) -> str:
    """Return a constant list of the type strings of a union's classes."""
    entries = "".join(f"  {quoted(node.tag)},\n" for node in events)
    return f'export const {name} = [\n{entries}] as const satisfies readonly {union}["type"][];\n'
