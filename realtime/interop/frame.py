"""Reads and writes other projects' messages, by the table of their dialect.

Nothing is lost on the way there or back. What our message cannot hold stands in `metadata["interop"][dialect]`, what
theirs cannot hold in its `metadata["realtime"]`, each as the difference between the original and what comes back
without it (`patch`); the next conversion puts it in its place again, unless that was changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import Any

import msgspec

from realtime.interop.foreign import Problems, objects_in
from realtime.interop.patch import diff, patched
from realtime.interop.table import ABSENT, Dialect, Field, Json, Options, Shape, block_out, fields_in, written
from realtime.interop.tables import table_of
from realtime.message import Block, Msg, Usage
from realtime.message.blocks import BLOCK_CLASSES
from realtime.message.fold import ALLOWED_BLOCKS
from realtime.runtime import unique_id, wall_clock_iso

OURS = "interop"
"""The key of our metadata for what theirs alone holds, by dialect."""
THEIRS = "realtime"
"""The key of their metadata that holds what only we know."""
_MARKS = {"of", "as", "patch", "blocks", "homeless", "content"}
_TOOL, _HINT, _OWN = "tool", "hint", "own"
_APART = ("role", "content", "metadata")


def load(data: Any, dialect: str, *, zone: tzinfo = UTC, problems: list[str] | None = None) -> list[Msg]:
    """Read messages of another project: JSON as text, bytes or builtins; one message or a list.

    `dialect` is one of `DIALECTS`. `zone` is that of times without one. What cannot be read is one sentence with its
    place in `problems`; everything else is read, and unreadable parts of a message are written again by `dump`. Without
    `problems` raises ValueError with all sentences, as for an unknown dialect and for what is no JSON.
    """
    found = Problems()
    table = table_of(dialect)
    reader = _Frame(table, Options(zone=zone), found)
    messages = reader.read(table.gather(objects_in(data, "messages", found)))
    found.settle(problems)
    return messages


def dump(
    messages: Iterable[Msg], dialect: str, *, zone: tzinfo = UTC, shape: Shape = "page", keep: bool = True
) -> list[Json]:
    """Write messages for another project, as JSON builtins; a message may become several.

    `dialect` is one of `DIALECTS`, `zone` that of times without one; `shape` chooses where the documented page of a
    project and its source differ. `keep`: what theirs cannot hold is in the metadata, and `load` reads it back. Raises
    ValueError for an unknown dialect.
    """
    table, options = table_of(dialect), Options(zone=zone, shape=shape)
    writer = _Frame(table, options, Problems())
    return [*table.scatter((made for message in messages for made in writer.write(_builtins(message), keep)), options)]


def _builtins(message: Msg) -> Json:
    return {
        "id": message.id,
        "name": message.name,
        "role": message.role,
        "content": msgspec.to_builtins(message.content),
        "metadata": msgspec.to_builtins(message.metadata),
        "created_at": message.created_at,
        "finished_at": message.finished_at,
        "usage": msgspec.to_builtins(message.usage),
        "finished_reason": message.finished_reason,
        "structured_output": msgspec.to_builtins(message.structured_output),
        "error": message.error,
    }


def _block(block: Any) -> Block:
    """Make a block of JSON. Raises KeyError, TypeError or msgspec.ValidationError where it is none."""
    # By its class: to read a union takes three times as long.
    return msgspec.convert(block, BLOCK_CLASSES[block["type"]], builtin_types=())


def _message(ours: Json) -> Msg:
    """Make a message of JSON. Raises ValueError or TypeError where a field is wrong."""
    fields = {name: value for name, value in ours.items() if name not in ("name", "content", "role")}
    if fields.get("usage") is not None:
        fields["usage"] = msgspec.convert(fields["usage"], Usage)
    return Msg(
        ours["name"],
        [_block(block) for block in ours["content"]],
        ours["role"],
        **fields,
    )


def _keys(blocks: Iterable[Json]) -> list[str]:
    """Return a name for each block of a message: its type and id, numbered where two are equal."""
    keys: list[str] = []
    for block in blocks:
        key = f"{block['type']}:{block.get('id')}"
        keys.append(f"{key}#{len(keys)}" if key in keys else key)
    return keys


def _without(data: Mapping[str, Any], name: str) -> Json:
    rest = dict(data)
    rest.pop(name, None)
    return rest


# -- what the other side does not hold ---------------------------------------------------------------------------------


def _rest(want: Json, have: Json, pairs: Iterable[tuple[str, Json, Json]], homeless: list[list[Any]]) -> Json:
    """Return what has to be known to make `want` of `have`.

    `pairs` are the blocks of both, (key, wanted, made); `homeless` those that have no other side, as [place, block].
    """
    rest: Json = {}
    if patch := diff(_without(have, "content"), _without(want, "content")):
        rest["patch"] = patch
    if blocks := {key: patch for key, wanted, made in pairs if (patch := diff(made, wanted))}:
        rest["blocks"] = blocks
    if homeless:
        rest["homeless"] = homeless
    match want.get("content", ABSENT):
        case list():
            pass
        case str():
            rest["content"] = {"text": True}
        case other:
            rest["content"] = {} if other is ABSENT else {"is": other}
    return rest


def _completed(made: Json, keys: Iterable[str], rest: Mapping[str, Any]) -> Json:
    """Return what was made, with the rest that belongs to it."""
    patches = rest.get("blocks")
    patches = patches if isinstance(patches, Mapping) else {}
    content: Any = [patched(block, patches.get(key)) for key, block in zip(keys, made["content"], strict=True)]
    content = _placed(content, rest.get("homeless"))
    made = {**patched(_without(made, "content"), rest.get("patch")), "content": content}
    match rest.get("content"), content:
        case {"text": True}, [{"type": "text", "text": text, **others}] if not others:
            made["content"] = text
        case {"is": value}, []:
            made["content"] = value
        case form, [] if form == {}:
            del made["content"]
    return made


# -- both directions ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Part:
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
        return self.mark.get("as") == _HINT


@dataclass(slots=True)
class _Run:
    """Blocks of ours that become one message of theirs, by their places; `rest` is what that message had beside."""

    kind: str
    places: list[int]
    rest: Mapping[str, Any] = field(default_factory=dict)


Origin = tuple[int, int] | None
"""Where a block of ours comes from.

The message of theirs, and its number among the blocks that were read there."""


class _Frame:
    """Converts with one table."""

    def __init__(self, table: Dialect, options: Options, problems: Problems) -> None:
        self._table = table
        self._options = options
        self._problems = problems
        self._fields = tuple(one for one in table.message if one.theirs not in _APART)
        self._roles = {table.tool_role.lower(): _TOOL, **{their.lower(): our for our, their in table.roles.items()}}

    # -- theirs to ours ------------------------------------------------------------------------------------------------

    def read(self, objects: Iterable[tuple[str, Json]]) -> list[Msg]:
        """Return our messages; one may be made of several of theirs."""
        groups: list[tuple[str, list[_Part]]] = []
        for where, raw in objects:
            try:
                part = self._part(raw, where)
            except RecursionError:
                self._problems.add(where, "is nested too deeply")
                continue
            if part is None:
                continue
            if groups and _joins(group := groups[-1][1], part):
                group.append(part if part.has_id else self._again(raw, group) or part)
                continue
            groups.append((where, [_first(part)]))
        return [self._joined(group, where) for where, group in groups]

    def _again(self, raw: Json, group: list[_Part]) -> _Part | None:
        """Read a further message of a group; its id, where it has none, depends on its place in it."""
        first = group[0].ours
        known = {"id": f"{first['id']}_{len(group)}", "created_at": first["created_at"]}
        return _Frame(self._table, self._options, Problems())._part(raw, "", known)

    def _part(self, raw: Json, where: str, known: Json | None = None) -> _Part | None:
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
        ours["role"] = table.default_role if role is None else self._roles.get(str(role).lower())
        if ours["role"] is None:
            words = ", ".join(dict.fromkeys([*table.roles.values(), table.tool_role]))
            self._problems.add(f"{where}.role", f"is one of {words}, not {str(role)[:64]!r}")
            return None
        ours["metadata"] = notes
        has_id = "id" in ours
        ours.setdefault("id", unique_id() if known is None else known["id"])
        ours.setdefault("created_at", wall_clock_iso() if known is None else known["created_at"])
        table.read(ours, raw, options)
        part = _Part(raw, ours, mark, has_id)
        self._read_content(part, where)
        self._settle_role(part, where)
        ours.setdefault("name", "assistant" if ours["role"] == _TOOL else ours["role"])
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
        mark = _mark_in(notes)
        if not mark:
            return raw, notes, {}
        del notes[THEIRS]
        links = {name: mark[name] for name in ("of", "as") if name in mark}
        bare = _without(given, THEIRS)
        return {**raw, "metadata": {**bare, THEIRS: links} if links else bare}, notes, mark

    def _read_fields(self, fields: Iterable[Field], raw: Mapping[str, Any], where: str) -> Json:
        return fields_in(fields, raw, self._options, lambda name, error: self._problems.add(f"{where}.{name}", error))

    def _read_content(self, part: _Part, where: str) -> None:
        content = part.raw.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
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

    def _settle_role(self, part: _Part, where: str) -> None:
        """Take out the blocks that a message of this role cannot hold."""
        kinds = {block["type"] for block in part.blocks}
        if self._table.results_alone and kinds == {"tool_result"}:
            part.ours["role"] = _TOOL
        role = part.ours["role"]
        allowed = ALLOWED_BLOCKS["assistant" if role == _TOOL else role]
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
        if not isinstance(raw, dict):
            self._problems.add(where, "is no block")
            return None
        name = raw.get("type")
        by_type = self._table.by_type
        kind = by_type.get(name) or by_type.get(name.lower()) if isinstance(name, str) else None
        if kind is None:
            self._problems.add(f"{where}.type", f"is one of {', '.join(by_type)}, not {str(name)[:64]!r}")
            return None
        before = len(self._problems)
        block = {"type": kind.ours, **self._read_fields(kind.fields, raw, where)}
        try:
            kind.read(block, raw, self._options)
            _give_ids(block, new_id)
            whole: Json = msgspec.to_builtins(_block(block))
        except (ValueError, msgspec.ValidationError) as error:
            if len(self._problems) == before:
                self._problems.add(where, f"cannot be read: {error}")
            return None
        return whole

    def _joined(self, group: list[_Part], where: str) -> Msg:
        """Make one message of ours of theirs."""
        ours, origins = _ours_of(group)
        mark = group[0].mark
        msg: Msg | None = None
        if mark.keys() - {"of", "as"}:
            restored = _completed(ours, _keys(ours["content"]), mark)
            try:
                msg = _message(restored)
            except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
                self._problems.add(f"{where}.metadata.{THEIRS}", f"does not fit the message: {error}")
            else:
                ours, origins = restored, _placed([*origins], mark.get("homeless"), stands_for=None)
        rest = self._rest_of_parts(ours, origins, group)
        if rest:
            others = ours["metadata"].get(OURS)
            others = others if isinstance(others, dict) else {}
            ours["metadata"] = {**ours["metadata"], OURS: {**others, self._table.name: {"parts": rest}}}
        msg = msg or _message(ours)
        msg.metadata = ours["metadata"]
        return msg

    def _rest_of_parts(self, ours: Json, origins: list[Origin], group: list[_Part]) -> list[Json]:
        """Return, for each message of theirs, what ours does not hold; empty where ours holds it all."""
        runs = self._runs(ours["content"], ())
        split: list[list[int]] = [[] for _ in group]
        for place, origin in enumerate(origins):
            if origin is not None and self._has_home(ours["content"][place]):
                split[origin[0]].append(place)
        as_usual = [run.places for run in runs] == split
        keys = _keys(ours["content"])
        rests: list[Json] = []
        for number, (places, part) in enumerate(zip(split, group, strict=True)):
            run = _Run(_kind_of_run(ours["content"], places, part.is_hint), places)
            made = self._written(ours, number, run)
            if part.is_hint:
                pairs = list(zip(_piece_keys(len(part.raws)), part.raws, made["content"], strict=False))
                placed = {at for at, _ in part.raws}
            else:
                raws = [part.raws[origins[place][1]] for place in places]  # type: ignore[index]
                pairs = list(zip((keys[place] for place in places), raws, made["content"], strict=True))
                placed = {at for at, _ in raws}
            homeless = part.homeless + [[at, raw] for at, raw in part.raws if at not in placed]
            rest = _rest(
                part.raw,
                made,
                ((key, raw, one) for key, (_, raw), one in pairs if isinstance(part.raw["content"], list)),
                sorted(homeless, key=lambda one: one[0]),
            )
            rests.append(rest if as_usual else {**rest, "keys": [keys[place] for place in places]})
        return rests if any(rests) else []

    # -- ours to theirs ------------------------------------------------------------------------------------------------

    def write(self, ours: Json, keep: bool) -> list[Json]:
        """Return the messages of theirs that one of ours becomes."""
        ours, parts = self._without_rest(ours)
        keys = _keys(ours["content"])
        made = []
        for number, run in enumerate(self._runs(ours["content"], parts)):
            one = self._written(ours, number, run)
            names = _piece_keys(len(one["content"])) if run.kind == _HINT else [keys[place] for place in run.places]
            made.append(_completed(one, names, run.rest) if run.rest else one)
        if keep and (rest := self._rest_of_ours(ours, made)):
            notes = made[0].get("metadata")
            mark = {**_mark_in(notes), **rest}
            made[0]["metadata"] = {**(notes if isinstance(notes, dict) else {}), THEIRS: mark}
        return made

    def _without_rest(self, ours: Json) -> tuple[Json, list[Mapping[str, Any]]]:
        """Return our message without what was kept for this dialect, and that.

        The latter by message of theirs.
        """
        kept = ours["metadata"].get(OURS)
        rest = kept.get(self._table.name) if isinstance(kept, dict) else None
        if not isinstance(rest, dict):
            return ours, []
        others = _without(kept, self._table.name)
        notes = _without(ours["metadata"], OURS)
        parts = rest.get("parts")
        parts = [one if isinstance(one, dict) else {} for one in parts] if isinstance(parts, list) else []
        return {**ours, "metadata": {**notes, OURS: others} if others else notes}, parts

    def _has_home(self, block: Json) -> bool:
        return block["type"] == _HINT or self._table.kind_of(block) is not None

    def _runs(self, content: list[Json], parts: Sequence[Mapping[str, Any]]) -> list[_Run]:
        """Split blocks into messages of theirs: as they were, where `parts` says that, else results and hints apart."""
        if not parts and not any(block["type"] in ("tool_result", _HINT) for block in content):
            return [_Run(_OWN, [place for place, block in enumerate(content) if self._has_home(block)])]
        hints_apart = not any(kind.ours == _HINT for kind in self._table.blocks)
        part_of = {key: number for number, part in enumerate(parts, 1) for key in _texts(part.get("keys"))}
        runs: list[_Run] = []
        numbers: list[int | None] = []
        for place, (key, block) in enumerate(zip(_keys(content), content, strict=True)):
            if not self._has_home(block):
                continue
            kind = {"tool_result": _TOOL, _HINT: _HINT if hints_apart else _OWN}.get(block["type"], _OWN)
            number = part_of.get(key)
            last = runs[-1] if runs else None
            if last and _HINT not in (kind, last.kind) and (number == numbers[-1] if number else kind == last.kind):
                last.places.append(place)
                last.kind = kind if last.kind == kind else _OWN
            else:
                runs.append(_Run(kind, [place]))
                numbers.append(number)
        if not runs or (part_of and numbers[0] != 1 and not _texts(parts[0].get("keys"))):
            runs.insert(0, _Run(_OWN, []))
            numbers.insert(0, 1)
        for place, (run, number) in enumerate(zip(runs, numbers, strict=True), 1):
            at = number if part_of else place
            if at is not None and at <= len(parts):
                run.rest = parts[at - 1]
        return runs

    def _written(self, ours: Json, number: int, run: _Run) -> Json:
        """Return the message of theirs of one run; `number` is its place among those of our message."""
        table, options = self._table, self._options
        content, notes, mark = ours["content"], {}, {}
        blocks = [content[place] for place in run.places]
        role = table.tool_role if run.kind == _TOOL else table.roles[ours["role"]]
        if run.kind == _HINT:
            role, blocks, mark = table.roles["user"], _pieces(blocks[0]), {"as": _HINT}
        if number:
            ours = {name: ours[name] for name in ("id", "name", "created_at")}
        else:
            notes = _without(ours["metadata"], THEIRS)
        notes |= written(table.notes, ours, options)
        if number or mark:
            notes[THEIRS] = {"of": ours["id"], **mark}
        kinds = [(table.kind_of(block), block) for block in blocks]
        content = [block_out(kind, block, options) for kind, block in kinds if kind is not None]
        envelope = {**ours, "role": role, "content": content, "metadata": notes}
        envelope["id"] = f"{ours['id']}_{number}" if number else ours["id"]
        theirs = written(table.message, envelope, options)
        table.write(envelope, theirs, options)
        return theirs

    def _rest_of_ours(self, ours: Json, made: list[Json]) -> Json:
        """Return what the messages of theirs do not hold of ours. Marks those that would not be read with the first."""
        reader = _Frame(self._table, self._options, Problems())
        group: list[_Part] = []
        for raw in made:
            number = len(group)
            known = {"id": f"{ours['id']}_{number}" if number else ours["id"], "created_at": ours["created_at"]}
            part = reader._part(raw, "", known)
            if part is None:
                return {}
            if group and not _joins(group, part):
                notes = raw.get("metadata")
                raw["metadata"] = {**(notes if isinstance(notes, dict) else {}), THEIRS: {"of": group[0].ours["id"]}}
            group.append(part if group else _first(part))
        read, _ = _ours_of(group)
        homeless = [[place, block] for place, block in enumerate(ours["content"]) if not self._has_home(block)]
        homes = [block for block in ours["content"] if self._has_home(block)]
        pairs = list(zip(_keys(read["content"]), homes, read["content"], strict=False))
        return _rest(ours, read, pairs if len(homes) == len(read["content"]) else (), homeless)


def _mark_in(notes: Any) -> Json:
    """Return what we had written under our key of their metadata; empty where that is not ours."""
    mark = notes.get(THEIRS) if isinstance(notes, dict) else None
    return mark if isinstance(mark, dict) and mark.keys() <= _MARKS else {}


def _first(part: _Part) -> _Part:
    """Return the first message of a group: what was cut off from the messages before stands for itself."""
    if part.mark.get("of", part.ours["id"]) != part.ours["id"]:
        part.mark = {}
    return part


def _joins(group: list[_Part], part: _Part) -> bool:
    """Whether a message belongs to the one before: as we had written it, or as results of its calls."""
    first = group[0]
    if part.mark.get("of") == first.ours["id"]:
        return True
    if part.ours["role"] != _TOOL or "of" in part.mark or first.ours["role"] != "assistant":
        return False
    results = {block["id"] for block in part.blocks if block["type"] == "tool_result"}
    return any(block["type"] == "tool_call" and block["id"] in results for before in group for block in before.blocks)


def _ours_of(group: list[_Part]) -> tuple[Json, list[Origin]]:
    """Return our message of theirs, and where its blocks come from."""
    ours = dict(group[0].ours)
    if len(group) > 1 or ours["role"] == _TOOL or group[0].is_hint:
        ours["role"] = "assistant"
    content: list[Json] = []
    origins: list[Origin] = []
    names: dict[str, str] = {}
    for number, part in enumerate(group):
        if part.is_hint:
            content.append(_hint_of(part))
            origins.append((number, 0))
            continue
        for place, block in enumerate(part.blocks):
            if block["type"] == "tool_call":
                names[block["id"]] = block["name"]
            elif block["type"] == "tool_result" and not block["name"]:
                block = {**block, "name": names.get(block["id"], "")}
            content.append(block)
            origins.append((number, place))
    ours["content"] = content
    return {**_NONE, **ours}, origins


_NONE: Json = {"finished_at": None, "usage": None, "finished_reason": None, "structured_output": None, "error": None}


def _hint_of(part: _Part) -> Json:
    """Return the hint that we had written as a user's message."""
    match part.blocks:
        case [{"type": "text", "text": hint}]:
            pass
        case blocks:
            hint = blocks
    return {"type": _HINT, "hint": hint, "id": part.ours["id"], "source": None}


def _pieces(hint: Json) -> list[Json]:
    """Return the blocks that a hint consists of."""
    return [{"type": "text", "text": hint["hint"]}] if isinstance(hint["hint"], str) else hint["hint"]


def _piece_keys(n_pieces: int) -> list[str]:
    return [f"{_HINT}/{place}" for place in range(n_pieces)]


def _kind_of_run(content: list[Json], places: list[int], is_hint: bool) -> str:
    if is_hint:
        return _HINT
    return _TOOL if places and all(content[place]["type"] == "tool_result" for place in places) else _OWN


def _give_ids(block: Json, new_id: str) -> None:
    """Give a block and its parts ids that depend on places alone."""
    if block["type"] in ("text", "thinking", "data", _HINT):
        block.setdefault("id", new_id)
    elif block["type"] == "tool_result":
        block.setdefault("name", "")
    for name in ("output", "hint"):
        for place, part in enumerate(block[name] if isinstance(block.get(name), list) else ()):
            part.setdefault("id", f"{block.get('id')}_{place}")


def _placed(entries: list[Any], homeless: Any, *, stands_for: Any = ABSENT) -> list[Any]:
    """Put what has no home into a list, at its places; `stands_for` instead of each."""
    for entry in homeless if isinstance(homeless, list) else ():
        match entry:
            case [int(place), block]:
                entries.insert(place, block if stands_for is ABSENT else stands_for)
    return entries


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
