"""What a model means by arguments that do not fit their schema.

Models write None where they leave something out, arrays, objects and numbers as text, one entry in place of a list,
and words of a list in capitals or with blanks; text that a schema asks for stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from realtime.message.blocks import read_json

_KINDS = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", list: "array"}
_EVERY = frozenset((*_KINDS.values(), "null"))
_MAX_DEPTH = 32
_TRUTHS = {"yes": True, "y": True, "on": True, "t": True, "no": False, "n": False, "off": False, "f": False}
"""Further words that pydantic reads as True or False."""


def as_meant(arguments: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as they are meant; the schema has no references."""
    meant: dict[str, Any] = _object(arguments, schema, 0)
    return meant


def _meant(value: Any, schema: Mapping[str, Any], depth: int) -> Any:
    kinds = _kinds_of(schema)
    if isinstance(value, str) and "string" not in kinds:
        value = _in_text(value, kinds)
    elif isinstance(value, str):
        value = _listed(value, schema)
    if value is not None and kinds - {"null"} == {"array"}:
        value = _as_list(value, schema, depth)
    if depth < _MAX_DEPTH and isinstance(value, dict | list):
        fits = [one for one in _branches(schema) if _kind_of(value) in _kinds_of(one)]
        if len(fits) == 1:
            if isinstance(value, dict):
                return _object(value, fits[0], depth + 1)
            entries = fits[0].get("items")
            if isinstance(entries, Mapping):
                return [_meant(one, entries, depth + 1) for one in value]
    return value


def _object(given: dict[str, Any], schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
    known, required = schema.get("properties", {}), schema.get("required", ())
    others = schema.get("additionalProperties")
    meant = {}
    for name, value in given.items():
        of = known.get(name, others)
        if isinstance(of, Mapping):
            value = _meant(value, of, depth)
            if name in known and name not in required and _is_none(value, of):
                continue
        meant[name] = value
    return meant


def _listed(text: str, schema: Mapping[str, Any]) -> Any:
    """Return the one of the listed words that is meant; any text where the schema takes others, too."""
    branches = [one for one in _branches(schema) if "string" in _kinds_of(one)]
    words = [word for one in branches for word in one.get("enum", ()) if isinstance(word, str)]
    if text in words or not all("enum" in one for one in branches):
        return text
    alike = [word for word in words if _plain(word) == _plain(text)]
    return alike[0] if len(alike) == 1 else text


def _plain(word: str) -> str:
    return "_".join(word.casefold().replace("-", " ").replace("_", " ").split())


def _as_list(value: Any, schema: Mapping[str, Any], depth: int) -> Any:
    """Return a list of one entry for that entry."""
    entries, *others = [one.get("items") for one in _branches(schema) if "array" in _kinds_of(one)]
    if isinstance(value, list) or others or not isinstance(entries, Mapping):
        return value
    if isinstance(value, str) and (value.lstrip().startswith(("[", "{")) or "\n" in value.strip()):
        return value  # a list that is written wrong, or one of lines: what its entries are is for the model to say
    one = _meant(value, entries, depth + 1) if depth < _MAX_DEPTH else value
    return [one] if _kind_of(one) in _kinds_of(entries) else value


def _is_none(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value stands for none where it may be absent."""
    kinds = _kinds_of(schema)
    if value is None:
        # What has no type takes anything: it is its default that says what is meant.
        return "null" not in kinds or (kinds == _EVERY and schema.get("default") is not None)
    if value != "":
        return False
    texts = [one for one in _branches(schema) if "string" in _kinds_of(one)]
    return all("format" in one or ("enum" in one and "" not in one["enum"]) for one in texts)


def _branches(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the alternatives that a schema has, itself without any."""
    for key in ("anyOf", "oneOf"):
        if isinstance(every := schema.get(key), list):
            return [deeper for one in every if isinstance(one, Mapping) for deeper in _branches(one)]
    return [schema]


def _kinds_of(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the types that a schema takes."""
    given = schema.get("type")
    if isinstance(given, str):
        return frozenset((given,))
    if isinstance(given, list):
        return frozenset(given)
    branches = _branches(schema)
    if branches != [schema]:
        return frozenset().union(*map(_kinds_of, branches))
    if "enum" in schema or "const" in schema:
        return frozenset(map(_kind_of, schema.get("enum", [schema.get("const")])))
    if "properties" in schema:
        return frozenset(("object",))
    return _EVERY


def _kind_of(value: Any) -> str:
    return _KINDS.get(type(value), "null")


def _in_text(text: str, kinds: frozenset[str]) -> Any:
    """Return a text's value if it has one of these types."""
    try:
        value = read_json(text)
    except ValueError:
        return _TRUTHS.get(text.strip().lower(), text) if "boolean" in kinds else text
    if isinstance(value, float) and value.is_integer() and "number" not in kinds:
        value = int(value)
    kind = _kind_of(value)
    return value if kind in kinds | {"null"} or (kind == "integer" and "number" in kinds) else text
