"""Reads one message of another project by the table of its dialect: its fields, its role and its blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from realtime.interop.foreign import Problems
from realtime.interop.rest import OURS, THEIRS, mark_in, without
from realtime.interop.table import Dialect, Field, Json, Options, fields_in, word
from realtime.message import Block
from realtime.message.blocks import BLOCK_CLASSES
from realtime.message.fold import ALLOWED_BLOCKS
from realtime.runtime import unique_id, wall_clock_iso

TOOL, HINT = "tool", "hint"
"""The role of a message of results; the type of a hint."""
_PLAIN = {"type", "text", "id"}
_APART = ("role", "content", "metadata")


@dataclass(slots=True)
class Part:
    """One message of theirs as it was read.

    `ours` is our JSON without the content, `blocks` our blocks, `raws` theirs with their places, `homeless` what cannot
    be read, as [place, raw]; `mark` is what we had written into its metadata.
    """

    raw: Json
    ours: Json
    mark: Json
    has_id: bool
    blocks: list[Json] = field(default_factory=list)
    raws: list[tuple[int, Any]] = field(default_factory=list)
    homeless: list[list[Any]] = field(default_factory=list)

    @property
    def is_hint(self) -> bool:
        """Whether we had written a hint of ours as this message."""
        return self.mark.get("as") == HINT


class PartReader:
    """Reads messages of theirs, one at a time."""

    def __init__(self, table: Dialect, options: Options, problems: Problems) -> None:
        self._table = table
        self._options = options
        self._problems = problems
        self._fields = tuple(one for one in table.message if one.theirs not in _APART)
        self._roles = {table.tool_role.lower(): TOOL, **{their.lower(): our for our, their in table.roles.items()}}

    def read(self, raw: Json, where: str, known: Json | None = None) -> Part | None:
        """Read one message; `known` has the id and the time of one that has none. None where its role is unknown."""
        table, options = self._table, self._options
        raw, notes, mark = self._unmarked(raw, where)
        ours = self._read_fields(self._fields, raw, where)
        if notes and table.notes:
            noted = self._read_fields(table.notes, notes, f"{where}.metadata")
            for one in table.notes:
                if one.ours in noted:
                    del notes[one.theirs]
            ours |= noted
        role = raw.get("role")
        ours["role"] = table.default_role if role is None else self._roles.get(word(str(role)))
        if ours["role"] is None:
            words = ", ".join(dict.fromkeys([*table.roles.values(), table.tool_role]))
            self._problems.add(f"{where}.role", f"is one of {words}, not {str(role)[:64]!r}")
            return None
        ours["metadata"] = notes
        has_id = "id" in ours
        if not has_id:
            ours["id"] = unique_id() if known is None else known["id"]
        if "created_at" not in ours:
            ours["created_at"] = wall_clock_iso() if known is None else known["created_at"]
        table.read(ours, raw, options)
        part = Part(raw, ours, mark, has_id)
        self._read_content(part, where)
        self._settle_role(part, where)
        ours.setdefault("name", "assistant" if ours["role"] == TOOL else ours["role"])
        return part

    def _unmarked(self, raw: Json, where: str) -> tuple[Json, Json, Json]:
        """Return a message without what we had added to it.

        Also returns its metadata, and what we had added.
        """
        given = raw.get("metadata")
        if given is None:
            return raw, {}, {}
        if not isinstance(given, dict):
            self._problems.add(f"{where}.metadata", "is no object")
            return raw, {}, {}
        notes = dict(given)
        kept = notes.get(OURS)
        if not (kept and isinstance(kept, dict)) or self._table.name in kept:
            # Not what other dialects had: it would be taken for what this one has.
            notes.pop(OURS, None)
        mark = mark_in(notes)
        if not mark:
            return raw, notes, {}
        del notes[THEIRS]
        links = {name: mark[name] for name in ("of", "as") if name in mark}
        bare = without(given, THEIRS)
        return {**raw, "metadata": {**bare, THEIRS: links} if links else bare}, notes, mark

    def _read_fields(self, fields: Iterable[Field], raw: Mapping[str, Any], where: str) -> Json:
        return fields_in(fields, raw, self._options, lambda name, error: self._problems.add(f"{where}.{name}", error))

    def _read_content(self, part: Part, where: str) -> None:
        content = part.raw.get("content")
        if isinstance(content, str | dict):
            content = [content]
        elif not isinstance(content, list):
            if content is not None:
                self._problems.add(f"{where}.content", "is neither text nor a list of blocks")
            return
        for place, raw in enumerate(content):
            # Java's lists may hold None, which is no block.
            here = f"{where}.content[{place}]"
            block = None if raw is None else self._read_block(raw, here, f"{part.ours['id']}_{place}")
            if block is None:
                part.homeless.append([place, raw])
            else:
                part.blocks.append(block)
                part.raws.append((place, raw))

    def _settle_role(self, part: Part, where: str) -> None:
        """Take out the blocks that a message of this role cannot hold."""
        kinds = {block["type"] for block in part.blocks}
        if self._table.results_alone and kinds == {"tool_result"}:
            part.ours["role"] = TOOL
        role = part.ours["role"]
        allowed = ALLOWED_BLOCKS["assistant" if role == TOOL else role]
        if kinds <= {*allowed}:
            return
        held = []
        for block, (place, raw) in zip(part.blocks, part.raws, strict=True):
            if block["type"] in allowed:
                held.append((block, (place, raw)))
                continue
            here = f"{where}.content[{place}]"
            self._problems.add(here, f"is a {block['type']} block, which a {role} message cannot hold")
            part.homeless.append([place, raw])
        part.blocks, part.raws = [block for block, _ in held], [raw for _, raw in held]
        part.homeless.sort(key=lambda one: one[0])

    def _read_block(self, raw: Any, where: str, new_id: str) -> Json | None:
        """Read a block; one without an id gets `new_id`. None where it cannot be read."""
        if isinstance(raw, str):
            raw = {"type": "text", "text": raw}
        if not isinstance(raw, dict):
            self._problems.add(where, "is no block")
            return None
        name = raw.get("type")
        by_type = self._table.by_type
        kind = by_type.get(name) or by_type.get(word(name)) if isinstance(name, str) else None
        if kind is None:
            self._problems.add(f"{where}.type", f"is one of {', '.join(by_type)}, not {str(name)[:64]!r}")
            return None
        before = len(self._problems)
        block = {"type": kind.ours, **self._read_fields(kind.fields, raw, where)}
        try:
            kind.read(block, raw, self._options)
            _give_ids(block, new_id)
            if block.keys() == _PLAIN:
                # Most blocks are text, and are what reading them once more would give.
                return block
            whole: Json = msgspec.to_builtins(block_of(block))
        except (ValueError, msgspec.ValidationError) as error:
            if len(self._problems) == before:
                self._problems.add(where, f"cannot be read: {error}")
            return None
        return whole


def block_of(block: Any) -> Block:
    """Make a block of JSON. Raises KeyError, TypeError or msgspec.ValidationError where it is none."""
    # By its class: to read a union takes three times as long.
    return msgspec.convert(block, BLOCK_CLASSES[block["type"]], builtin_types=())


def _give_ids(block: Json, new_id: str) -> None:
    """Give a block and its parts ids that depend on places alone."""
    if block["type"] in ("text", "thinking", "data", HINT):
        block.setdefault("id", new_id)
    elif block["type"] == "tool_result":
        block.setdefault("name", "")
    for name in ("output", "hint"):
        for place, part in enumerate(block[name] if isinstance(block.get(name), list) else ()):
            part.setdefault("id", f"{block.get('id')}_{place}")
