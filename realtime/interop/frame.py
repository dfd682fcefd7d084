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
from realtime.interop.part import HINT, TOOL, Part, PartReader, block_of
from realtime.interop.patch import same
from realtime.interop.rest import OURS, THEIRS, completed, keys_of, mark_in, placed, rest_of, without
from realtime.interop.table import Dialect, Json, Options, Shape, block_out, written
from realtime.interop.tables import table_of
from realtime.message import Msg, Usage

_OWN = "own"


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


def _message(ours: Json) -> Msg:
    """Make a message of JSON. Raises ValueError or TypeError where a field is wrong."""
    fields = {name: value for name, value in ours.items() if name not in ("name", "content", "role")}
    if fields.get("usage") is not None:
        fields["usage"] = msgspec.convert(fields["usage"], Usage)
    return Msg(
        ours["name"],
        [block_of(block) for block in ours["content"]],
        ours["role"],
        **fields,
    )


# -- both directions ---------------------------------------------------------------------------------------------------


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
        self._reader = PartReader(table, options, problems)
        self._again = PartReader(table, options, Problems())

    # -- theirs to ours ------------------------------------------------------------------------------------------------

    def read(self, objects: Iterable[tuple[str, Json]]) -> list[Msg]:
        """Return our messages; one may be made of several of theirs."""
        groups: list[tuple[str, list[Part]]] = []
        for where, raw in objects:
            try:
                part = self._reader.read(raw, where)
            except RecursionError:
                self._problems.add(where, "is nested too deeply")
                continue
            if part is None:
                continue
            if groups and _joins(group := groups[-1][1], part):
                group.append(part if part.has_id else self._reread(raw, group) or part)
                continue
            groups.append((where, [_first(part)]))
        return [self._joined(group, where) for where, group in groups]

    def _reread(self, raw: Json, group: list[Part]) -> Part | None:
        """Read a further message of a group; its id, where it has none, depends on its place in it."""
        first = group[0].ours
        known = {"id": f"{first['id']}_{len(group)}", "created_at": first["created_at"]}
        return self._again.read(raw, "", known)

    def _joined(self, group: list[Part], where: str) -> Msg:
        """Make one message of ours of theirs."""
        ours, origins = _ours_of(group)
        mark = group[0].mark
        msg: Msg | None = None
        if mark.keys() - {"of", "as"}:
            restored = completed(ours, keys_of(ours["content"]), mark)
            try:
                msg = _message(restored)
            except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
                self._problems.add(f"{where}.metadata.{THEIRS}", f"does not fit the message: {error}")
            else:
                ours, origins = restored, placed([*origins], mark.get("homeless"), stands_for=None)
        rest = self._rest_of_parts(ours, origins, group)
        if rest:
            others = ours["metadata"].get(OURS)
            others = others if isinstance(others, dict) else {}
            ours["metadata"] = {**ours["metadata"], OURS: {**others, self._table.name: {"parts": rest}}}
        msg = msg or _message(ours)
        msg.metadata = ours["metadata"]
        return msg

    def _rest_of_parts(self, ours: Json, origins: list[Origin], group: list[Part]) -> list[Json]:
        """Return, for each message of theirs, what ours does not hold; empty where ours holds it all."""
        runs = self._runs(ours["content"], ())
        usual = [self._written(ours, number, run) for number, run in enumerate(runs)] if len(runs) == len(group) else []
        if usual and all(same(made, part.raw) for made, part in zip(usual, group, strict=True)):
            return []
        split: list[list[int]] = [[] for _ in group]
        for place, origin in enumerate(origins):
            if origin is not None and self._has_home(ours["content"][place]):
                split[origin[0]].append(place)
        as_usual = [run.places for run in runs] == split
        keys = keys_of(ours["content"])
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
            rest = rest_of(
                part.raw,
                made,
                ((key, raw, one) for key, (_, raw), one in pairs if not isinstance(part.raw["content"], str)),
                sorted(homeless, key=lambda one: one[0]),
            )
            rests.append(rest if as_usual else {**rest, "keys": [keys[place] for place in places]})
        return rests if any(rests) else []

    # -- ours to theirs ------------------------------------------------------------------------------------------------

    def write(self, ours: Json, keep: bool) -> list[Json]:
        """Return the messages of theirs that one of ours becomes."""
        ours, parts = self._without_rest(ours)
        keys = keys_of(ours["content"])
        made = []
        for number, run in enumerate(self._runs(ours["content"], parts)):
            one = self._written(ours, number, run)
            names = _piece_keys(len(one["content"])) if run.kind == HINT else [keys[place] for place in run.places]
            made.append(completed(one, names, run.rest) if run.rest else one)
        if keep and (rest := self._rest_of_ours(ours, made)):
            notes = made[0].get("metadata")
            mark = {**mark_in(notes), **rest}
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
        others = without(kept, self._table.name)
        notes = without(ours["metadata"], OURS)
        parts = rest.get("parts")
        parts = [one if isinstance(one, dict) else {} for one in parts] if isinstance(parts, list) else []
        return {**ours, "metadata": {**notes, OURS: others} if others else notes}, parts

    def _has_home(self, block: Json) -> bool:
        return block["type"] == HINT or self._table.kind_of(block) is not None

    def _runs(self, content: list[Json], parts: Sequence[Mapping[str, Any]]) -> list[_Run]:
        """Split blocks into messages of theirs: as they were, where `parts` says that, else results and hints apart."""
        types = [block["type"] for block in content]
        if not parts and "tool_result" not in types and HINT not in types:
            return [_Run(_OWN, [place for place, block in enumerate(content) if self._has_home(block)])]
        hints_apart = not any(kind.ours == HINT for kind in self._table.blocks)
        part_of = {key: number for number, part in enumerate(parts, 1) for key in _texts(part.get("keys"))}
        runs: list[_Run] = []
        numbers: list[int | None] = []
        for place, (key, block) in enumerate(zip(keys_of(content), content, strict=True)):
            if not self._has_home(block):
                continue
            kind = {"tool_result": TOOL, HINT: HINT if hints_apart else _OWN}.get(block["type"], _OWN)
            number = part_of.get(key)
            last = runs[-1] if runs else None
            if last and HINT not in (kind, last.kind) and (number == numbers[-1] if number else kind == last.kind):
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
        role = table.tool_role if run.kind == TOOL else table.roles[ours["role"]]
        if run.kind == HINT:
            role, blocks, mark = table.roles["user"], _pieces(blocks[0]), {"as": HINT}
        if number:
            ours = {name: ours[name] for name in ("id", "name", "created_at")}
        else:
            notes = without(ours["metadata"], THEIRS)
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
        group: list[Part] = []
        for raw in made:
            number = len(group)
            known = {"id": f"{ours['id']}_{number}" if number else ours["id"], "created_at": ours["created_at"]}
            part = self._again.read(raw, "", known)
            if part is None:
                return {}
            if group and not _joins(group, part):
                notes = raw.get("metadata")
                raw["metadata"] = {**(notes if isinstance(notes, dict) else {}), THEIRS: {"of": group[0].ours["id"]}}
            group.append(part if group else _first(part))
        read, _ = _ours_of(group)
        homeless = [[place, block] for place, block in enumerate(ours["content"]) if not self._has_home(block)]
        homes = [block for block in ours["content"] if self._has_home(block)]
        pairs = list(zip(keys_of(read["content"]), homes, read["content"], strict=False))
        return rest_of(ours, read, pairs if len(homes) == len(read["content"]) else (), homeless)


def _first(part: Part) -> Part:
    """Return the first message of a group: what was cut off from the messages before stands for itself."""
    if part.mark.get("of", part.ours["id"]) != part.ours["id"]:
        part.mark = {}
    return part


def _joins(group: list[Part], part: Part) -> bool:
    """Whether a message belongs to the one before: as we had written it, or as results of its calls."""
    first = group[0]
    if part.mark.get("of") == first.ours["id"]:
        return True
    if part.ours["role"] != TOOL or "of" in part.mark or first.ours["role"] != "assistant":
        return False
    results = {block["id"] for block in part.blocks if block["type"] == "tool_result"}
    return any(block["type"] == "tool_call" and block["id"] in results for before in group for block in before.blocks)


def _ours_of(group: list[Part]) -> tuple[Json, list[Origin]]:
    """Return our message of theirs, and where its blocks come from."""
    ours = dict(group[0].ours)
    if len(group) > 1 or ours["role"] == TOOL or group[0].is_hint:
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


def _hint_of(part: Part) -> Json:
    """Return the hint that we had written as a user's message."""
    match part.blocks:
        case [{"type": "text", "text": hint}]:
            pass
        case blocks:
            hint = blocks
    return {"type": HINT, "hint": hint, "id": part.ours["id"], "source": None}


def _pieces(hint: Json) -> list[Json]:
    """Return the blocks that a hint consists of."""
    return [{"type": "text", "text": hint["hint"]}] if isinstance(hint["hint"], str) else hint["hint"]


def _piece_keys(n_pieces: int) -> list[str]:
    return [f"{HINT}/{place}" for place in range(n_pieces)]


def _kind_of_run(content: list[Json], places: list[int], is_hint: bool) -> str:
    if is_hint:
        return HINT
    return TOOL if places and all(content[place]["type"] == "tool_result" for place in places) else _OWN


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
