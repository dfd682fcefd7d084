"""Converts function signatures to JSON Schema, and model JSON to arguments."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, Protocol

import msgspec

from realtime.errors import BadTool
from realtime.event.decode import explained
from realtime.message.blocks import read_input
from realtime.tool.as_meant import as_meant
from realtime.tool.parameters import EMPTY, Parameters, is_constrained, reads_better

MAX_ELEMENTS = 10_000
"""Elements of an array that is written out; of a larger one, what it prints."""


class Reader(Protocol):
    """What turns the model's JSON text into the arguments of a function."""

    @property
    def contexts(self) -> Mapping[str, type[Any]]:
        """The class of the state, by parameter that takes a `ToolContext`."""

    def read(self, text: str, extra: Collection[str] = ()) -> dict[str, Any]:
        """Return the arguments by name. Raises ValueError with a sentence that the model can act on.

        Names in `extra` are taken as they come.
        """

    def bind(self, arguments: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what the function is called with: positional arguments and those by name."""


class Arguments:
    """The parameters of one function: `schema` for the model, `read` for its input.

    Types are those that msgspec knows (`str`, `int`, `float`, `bool`, `Literal`, `Enum`, `list`, `dict`, `Optional`,
    dataclasses, `TypedDict`, Structs, `Annotated[..., msgspec.Meta(...)]`, ...) and those that pydantic knows (models,
    `Annotated[..., Field(...)]`, dates, paths, any union, ...), which reads them then. A parameter without a type takes
    anything. Schemas are written out in place, since not every provider follows `$ref`.

    Parameters in `hidden` belong to the program: the model neither sees nor changes them. So do those whose type is a
    `ToolContext`: `contexts` has them, with the class of their state. `*args` and `**kwargs` are left out unless
    `variadic` names their kind; then they are an array and an object. Without `variadic` they are refused.

    Raises BadTool for a function whose arguments cannot be described: variadic ones that are refused, positional-only
    parameters, types without a JSON form or that contain themselves.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        descriptions: Mapping[str, str],
        *,
        hidden: Collection[str] = (),
        variadic: Collection[Any] | None = None,
    ) -> None:
        parameters = Parameters(function, name, hidden=hidden, variadic=variadic)
        self.contexts, self.bind = parameters.contexts, parameters.bind
        self.schema: dict[str, Any] = {"type": "object", "properties": {}}
        self._readers: dict[str, Callable[[Any], Any]] = {}
        fields: list[Any] = []
        for one in parameters.given:
            place = f"parameter `{one.name}` of tool {name!r}"
            read, described = _described(one.annotation, one.name, place)
            kind = one.annotation if read is None else Any
            if read is not None:
                self._readers[one.name] = read
            if said := one.description or descriptions.get(one.name):
                described["description"] = said
            if one.default is not EMPTY:
                try:
                    described["default"] = msgspec.to_builtins(one.default, enc_hook=write_foreign)
                except TypeError:
                    pass  # a default without a JSON form still works, but the model does not learn it
            self.schema["properties"][one.name] = described
            fields.append((one.name, kind) if one.is_required else (one.name, kind | msgspec.UnsetType, msgspec.UNSET))
        if required := [one.name for one in parameters.given if one.is_required]:
            self.schema["required"] = required
        try:
            self._decoder = _decoder((*fields,))
        except TypeError:
            self._decoder = _decoder.__wrapped__((*fields,))

    def read(self, text: str, extra: Collection[str] = ()) -> dict[str, Any]:
        """Return the arguments in the model's JSON text; missing ones keep their defaults.

        A model writes none in several ways: see `read_input`. See `Reader.read`.
        """
        values = read_input(text)
        more: dict[str, Any] = {}
        if isinstance(values, dict):
            more = {name: values.pop(name) for name in extra if name in values}
            values = as_meant(values, self.schema)
        try:
            given = self._decoder(values)
            named = {
                name: _with_defaults(value)
                for name in given.__struct_fields__
                if (value := getattr(given, name)) is not msgspec.UNSET
            }
            for name in [name for name in named if name in self._readers]:
                named[name] = self._readers[name](named[name])
        except msgspec.ValidationError as error:
            raise ValueError(explained(str(error), lambda: self.schema)) from error
        except ValueError:
            raise
        except Exception as error:  # the checks of a type are the program's code
            raise ValueError(f"{type(error).__name__}: {error}") from error
        return {**named, **more}


class GivenSchema:
    """Arguments that a given JSON Schema describes: those that the function takes, with the required ones."""

    def __init__(self, function: Callable[..., Any], name: str, schema: Mapping[str, Any]) -> None:
        parameters = Parameters(function, name, is_described=True)
        self.contexts, self.bind = parameters.contexts, parameters.bind
        self._schema = schema
        self._taken = None if parameters.names is None else parameters.names - self.contexts.keys()

    def read(self, text: str, extra: Collection[str] = ()) -> dict[str, Any]:
        """See `Reader.read`. The function checks the types."""
        given = read_input(text)
        if not isinstance(given, dict):
            raise ValueError(f"Expected `object`, got `{type(given).__name__}`")
        given = as_meant(given, self._schema)
        if missing := [name for name in self._schema.get("required", ()) if name not in given]:
            raise ValueError(f"Object missing required field `{missing[0]}`")
        if self._taken is not None and (unknown := given.keys() - self._taken - {*extra}):
            raise ValueError(f"Object contains unknown field `{min(unknown)}`")
        return given


def _with_defaults(value: Any) -> Any:
    """Write the defaults of dataclasses into their objects.

    The decoder leaves them in the class: `vars` would lack them, and so would the text for the model.
    """
    if isinstance(value, list | tuple | set | frozenset):
        for one in value:
            _with_defaults(one)
    elif isinstance(value, dict):
        _with_defaults(list(value.values()))
    elif dataclasses.is_dataclass(value) and hasattr(value, "__dict__"):
        for field in dataclasses.fields(value):
            if field.name not in value.__dict__ and hasattr(value, field.name):
                object.__setattr__(value, field.name, getattr(value, field.name))
            _with_defaults(getattr(value, field.name, None))
    return value


@lru_cache(maxsize=256)
def _decoder(fields: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Return one decoder for all tools with the same parameters.

    Making one takes 0.1 ms, and only the garbage collector frees its class. Raises TypeError for fields that cannot be
    a key.
    """
    struct = msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)
    # Not strict: some models write 3.0 or "3" for 3. `builtin_types`: the values are those of JSON.
    return partial(msgspec.convert, type=struct, strict=False, builtin_types=(), str_keys=True, dec_hook=_read_foreign)


def _described(annotation: Any, name: str, place: str) -> tuple[Callable[[Any], Any] | None, dict[str, Any]]:
    """Return what reads a type, None for msgspec, and its schema. Raises BadTool, which names `place`."""
    why: TypeError | None = None
    if not reads_better(annotation):
        try:
            return None, _by_msgspec(annotation, place)
        except TypeError as error:
            why = error
    from realtime.tool.by_pydantic import adapted

    try:
        read, schema = adapted(annotation, name)
        return read, _written_out(schema, {}, (), place)
    except TypeError as error:
        if why is None and not is_constrained(annotation):
            with suppress(TypeError):
                return None, _by_msgspec(annotation, place)
        is_lacking = why is None or isinstance(error.__cause__, ImportError)
        reason = str(error if is_lacking else why).strip().splitlines()[-1]
        raise BadTool(
            f"{place} cannot be described in JSON Schema: {reason}. Give it a type that JSON has, or hide it from the "
            "model by a preset argument"
        ) from error


def _by_msgspec(annotation: Any, place: str) -> dict[str, Any]:
    msgspec.json.Decoder(annotation, dec_hook=_read_foreign)
    (schema,), definitions = msgspec.json.schema_components(
        [annotation], schema_hook=_describe_foreign, ref_template="#/$defs/{name}"
    )
    written: dict[str, Any] = _written_out(schema, definitions, (), place)
    return written


def write_foreign(value: Any) -> Any:
    """Encode pydantic models, paths and arrays: the `enc_hook` of msgspec. Raises TypeError for other values."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist") and math.prod(getattr(value, "shape", ())) <= MAX_ELEMENTS:
        return value.tolist()  # numpy's scalars and arrays, and those of its kin
    raise TypeError(f"a value of type {type(value).__name__} has no JSON form")


def _read_foreign(wanted: type, value: Any) -> Any:
    if hasattr(wanted, "model_validate"):
        return wanted.model_validate(value)
    raise TypeError(f"type {wanted.__name__} has no JSON form")


def _describe_foreign(wanted: type) -> dict[str, Any]:
    if hasattr(wanted, "model_json_schema"):
        try:
            schema: dict[str, Any] = wanted.model_json_schema()
        except AttributeError as error:  # the base class of all models has none
            raise TypeError(str(error)) from error
        return schema
    raise NotImplementedError


def written_out(schema: dict[str, Any], place: str) -> dict[str, Any]:
    """Return a JSON schema without references, titles and discriminators.

    Raises BadTool, which names `place`, for one that contains itself.
    """
    written: dict[str, Any] = _written_out(schema, {}, (), place)
    return written


def _written_out(schema: Any, definitions: Mapping[str, Any], inside: tuple[str, ...], place: str) -> Any:
    """Return the schema with references resolved, without titles and discriminators."""
    if isinstance(schema, list):
        return [_written_out(entry, definitions, inside, place) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    definitions = {**definitions, **schema.get("$defs", {})}
    result: dict[str, Any] = {}
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in inside:
            raise BadTool(
                f"{place} contains itself ({name}), and not every provider takes such a schema: write out as many "
                "levels as you need, or take a dict"
            )
        result = _written_out(definitions[name], definitions, (*inside, name), place)
    for key, value in schema.items():
        if key in ("$ref", "$defs", "title", "discriminator"):
            continue
        if key == "properties":
            result[key] = {name: _written_out(entry, definitions, inside, place) for name, entry in value.items()}
        elif key in ("default", "enum", "const", "examples"):
            result[key] = value
        else:
            result[key] = _written_out(value, definitions, inside, place)
    if result.get("type") == "array":
        result.setdefault("items", {})  # OpenAI refuses an array without items
    if "enum" in result and "type" not in result:
        kinds = {type(value) for value in result["enum"]}
        if len(kinds) == 1 and (kind := kinds.pop()) in _ENUM_TYPES:
            result["type"] = _ENUM_TYPES[kind]
    return result


_ENUM_TYPES = {str: "string", int: "integer"}
"""Some providers want the type beside the values."""
