"""What a server says of its tools, made fit for models: names, schemas and whole lists.

Nothing in it is trusted. A schema is written out without references, within limits of size, and keeps only what
providers take; a tool without a usable one is left out. The schemas of results are dropped: to check a result against
one means to run the server's regular expressions here.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from realtime.message.blocks import ELICITATION
from realtime.tool.mcp.words import plain
from realtime.tool.registered import MAX_NAME_CHARS

MAX_TOOLS = 512
"""Tools of one server; the rest is left out."""
MAX_DESCRIPTION_CHARS = 8_000
"""Characters of a description; the rest is dropped."""
MAX_SCHEMA_CHARS = 50_000
"""Characters of one schema, written out."""
_MAX_PARTS = 2_000
"""Schemas within one schema, written out: a few references can stand for millions."""
MAX_LIST_PARTS = 10_000
"""Schemas within all schemas of one list, written out: to write them takes time in which no call is heard."""
_MAX_DEPTH = 32
_MAX_REFERENCE_CHARS = 1_000
"""A longer reference stands for anything: each use of it would be read anew."""
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def model_name(remote: str) -> str:
    """Return the name of a remote tool as providers take it."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", remote)
    if name == ELICITATION or not re.match(r"[a-zA-Z_]", name):
        name = f"_{name}"
    return name if len(name) <= MAX_NAME_CHARS else _with_digest(name, remote)


def model_names(
    remotes: Iterable[str], *, prefix: str, renames: Mapping[str, str], known: Mapping[str, str]
) -> dict[str, str]:
    """Return a name for each remote tool: that in `renames`, else its own behind the prefix, made fit for providers.

    Those in `known` keep their names. Where two would have one name, the later one gets another.
    """
    names: dict[str, str] = {}
    remotes = [*remotes]
    # The names that are fit as they are come first: only the others have to give way.
    for remote in sorted(remotes, key=lambda one: (one not in known, one not in renames, model_name(one) != one)):
        name = known.get(remote) or renames.get(remote) or model_name(prefix + remote)
        if name in names.values() and remote not in renames:
            name = _with_digest(name, remote)
        names[remote] = name
    return {remote: names[remote] for remote in remotes}


def _with_digest(name: str, remote: str) -> str:
    digest = hashlib.sha256(remote.encode("utf-8", "replace")).hexdigest()[:6]
    return f"{name[: MAX_NAME_CHARS - 7]}_{digest}"


def fit_tools(given: Collection[Any]) -> list[dict[str, Any]]:
    """Return the tools of a server's answer as the SDK takes them: one that is none spoils the whole list otherwise."""
    fit: list[dict[str, Any]] = []
    names: set[str] = set()
    for tool in given:
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(name, str) or not name or name in names or len(fit) >= MAX_TOOLS:
            continue
        names.add(name)
        schema = tool.get("inputSchema")
        if isinstance(schema, dict):
            schema = {key: one for key, one in schema.items() if key != _BROKEN}
        if not isinstance(schema, dict):
            schema = {_BROKEN: f"its inputSchema is {_kind(schema)}, not an object"}
        elif schema.get("type", "object") != "object" and "object" not in _listed(schema["type"]):
            schema = {_BROKEN: f"its inputSchema describes {_kind(schema.get('type'))}, not an object"}
        one: dict[str, Any] = {"name": name, "inputSchema": _fit_root(schema)}
        for key in ("title", "description"):
            if isinstance(text := tool.get(key), str):
                one[key] = plain(text[:MAX_DESCRIPTION_CHARS])
        if isinstance(hints := tool.get("annotations"), dict):
            one["annotations"] = {hint: hints[hint] for hint in _HINTS if isinstance(hints.get(hint), bool)}
        fit.append(one)
    return fit


def _listed(kinds: object) -> list[Any]:
    return kinds if isinstance(kinds, list) else []


def _fit_root(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose outermost keywords are what the SDK takes; what it does not take says nothing."""
    fit = {**schema, "type": "object"}
    properties, required = fit.pop("properties", None), fit.pop("required", None)
    if isinstance(properties, dict):
        fit["properties"] = {key: one for key, one in properties.items() if isinstance(one, dict | bool)}
    if isinstance(required, list):
        fit["required"] = [key for key in required if isinstance(key, str)]
    return fit


_BROKEN = "realtime-broken"
"""Keyword that `fit_tools` puts into a schema that is none: why it is none."""


def _kind(value: object) -> str:
    return "missing" if value is None else repr(value)[:40]


class Budget:
    """How many parts the schemas of a list may still have."""

    def __init__(self, n_parts: int = MAX_LIST_PARTS) -> None:
        self.n_parts = n_parts


def model_schema(given: Mapping[str, Any], budget: Budget | None = None) -> dict[str, Any]:
    """Return the schema of a tool's arguments for a model. Raises ValueError, with the reason, where there is none."""
    if (why := given.get(_BROKEN)) is not None:
        raise ValueError(str(why))
    writer = _Writer(given, budget or Budget())
    written = writer.write(writer.flat(given), (), 0)
    schema = {"type": "object", "properties": {}, **{key: written[key] for key in _OF_ROOT if key in written}}
    if (n_chars := len(json.dumps(schema))) > MAX_SCHEMA_CHARS:
        raise ValueError(f"its inputSchema has {n_chars:,} characters; {MAX_SCHEMA_CHARS:,} are the most")
    return schema


_OF_ROOT = ("properties", "required", "additionalProperties", "description")
_WORDS = {"description", "format", "pattern"}
_COUNTS = {"minLength", "maxLength", "minItems", "maxItems"}
_NUMBERS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
_VALUES = {"const", "default"}
_TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}


class _Writer:
    """Writes a schema out: references in place, one that leads back into itself as anything."""

    def __init__(self, root: Mapping[str, Any], budget: Budget) -> None:
        self._root = root
        self._budget = budget
        self._n_parts = 0

    def flat(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return a schema whose outermost properties include those of its parts.

        Providers refuse alternatives as the schema of arguments. What each of them requires is required; which
        properties go together, the server knows. Raises ValueError where it becomes too large.
        """
        properties, required = self._gathered(schema, (), 0)
        return {**schema, "properties": properties, "required": [*required]}

    def _gathered(self, schema: object, inside: tuple[str, ...], depth: int) -> tuple[dict[str, Any], dict[str, None]]:
        """Return the properties of a schema with its parts; the required ones."""
        self._count(depth)
        properties: dict[str, Any] = {}
        required: dict[str, None] = {}
        if not isinstance(schema, dict):
            return properties, required
        if isinstance(own := schema.get("properties"), dict):
            properties |= own
        if isinstance(names := schema.get("required"), list):
            required |= {name: None for name in names if isinstance(name, str)}
        reference = schema.get("$ref")
        every = [*_list(schema.get("allOf"))]
        if isinstance(reference, str) and reference not in inside:
            inside = (*inside, reference)
            every.append(self._find(reference))
        for part in every:
            found, names = self._gathered(part, inside, depth + 1)
            for name, one in found.items():
                both = isinstance(one, dict) and isinstance(properties.get(name, {}), dict)
                properties[name] = {**one, **properties.get(name, {})} if both else properties.get(name, one)
            required |= names
        branches = [schema[key] for key in ("then", "else") if key in schema]
        dependent = schema.get("dependentSchemas")
        perhaps = [*dependent.values()] if isinstance(dependent, dict) else []
        if len(branches) < 2:
            branches, perhaps = [], [*perhaps, *branches]
        for choice in (_list(schema.get("anyOf")), _list(schema.get("oneOf")), branches, perhaps):
            gathered = [self._gathered(part, inside, depth + 1) for part in choice]
            for name in dict.fromkeys(name for found, _ in gathered for name in found):
                if properties.get(name) in (None, {}, True):
                    properties[name] = _either([found[name] for found, _ in gathered if name in found])
            if gathered and choice is not perhaps:
                required |= {name: None for name in gathered[0][1] if all(name in names for _, names in gathered)}
        return properties, required

    def _count(self, depth: int) -> None:
        self._n_parts += 1
        self._budget.n_parts -= 1
        if self._n_parts > _MAX_PARTS or depth > _MAX_DEPTH:
            raise ValueError("its inputSchema is too large")
        if self._budget.n_parts < 0:
            raise ValueError(f"the inputSchemas before it have {MAX_LIST_PARTS:,} parts, which are the most")

    def write(self, schema: object, inside: tuple[str, ...], depth: int) -> dict[str, Any]:
        """Return the schema as models take it. Raises ValueError where it becomes too large."""
        self._count(depth)
        if not isinstance(schema, dict):
            return {}
        written: dict[str, Any] = {}
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in inside:
            written = self.write(self._find(reference), (*inside, reference), depth + 1)
        written |= {key: value for key, value in schema.items() if _is_plain(key, value)}
        if "description" in written:
            written["description"] = plain(written["description"])
        if (kinds := _types_of(schema.get("type"))) is not None:
            written["type"] = kinds
        for key in ("items", "additionalProperties", "not"):
            if key in schema:
                one = schema[key]
                written[key] = one if isinstance(one, bool) and key != "items" else self.write(one, inside, depth + 1)
        for key in ("anyOf", "oneOf", "allOf"):
            if isinstance(every := schema.get(key), list) and every:
                written[key] = [self.write(one, inside, depth + 1) for one in every]
        if isinstance(properties := schema.get("properties"), dict):
            written["properties"] = {key: self.write(one, inside, depth + 1) for key, one in properties.items()}
        known = written.get("properties", {})
        if isinstance(required := schema.get("required"), list):
            written["required"] = [key for key in required if isinstance(key, str) and key in known]
        if not written.get("required", True):
            del written["required"]
        if written.get("type") == "array":
            written.setdefault("items", {})
        return written

    def _find(self, reference: str) -> object:
        """Return what a reference within the schema stands for; None where that is nothing."""
        found: Any = self._root
        if not reference.startswith("#") or len(reference) > _MAX_REFERENCE_CHARS:
            return None
        for part in reference.removeprefix("#").split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, dict) else None
        return found


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _either(schemas: list[Any]) -> Any:
    """Return what a property is that alternatives describe, each in its way."""
    different = [one for number, one in enumerate(schemas) if one not in schemas[:number]]
    values: list[Any] = []
    for one in different:
        of = one if isinstance(one, dict) else {}
        given = [of["const"]] if "const" in of else _list(of.get("enum"))
        if not given:
            return different[0] if len(different) == 1 else {"anyOf": different}
        values += [value for value in given if value not in values]
    return {**{key: value for key, value in different[0].items() if key != "const"}, "enum": values}


def _is_plain(key: str, value: object) -> bool:
    """Whether a keyword holds no schemas, and a value of its kind.

    Providers refuse another one with the whole session.
    """
    if key in _WORDS:
        return isinstance(value, str)
    if key in _COUNTS:
        return type(value) is int and value >= 0
    if key in _NUMBERS:
        return type(value) in (int, float)
    if key == "enum":
        return isinstance(value, list) and bool(value) and all(_is_scalar(one) for one in value)
    if key == "examples":
        return isinstance(value, list)
    return key in _VALUES or (key == "uniqueItems" and isinstance(value, bool))


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def _types_of(given: object) -> str | list[str] | None:
    if isinstance(given, str):
        return given if given in _TYPES else None
    if isinstance(given, list):
        kinds = [one for one in given if isinstance(one, str) and one in _TYPES]
        return kinds[0] if len(kinds) == 1 else kinds or None
    return None
