"""Converts function signatures to JSON Schema, and model JSON to arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import msgspec

from realtime.errors import UsageError
from realtime.event.decode import explain


class Arguments:
    """The parameters of one function: `schema` for the model, `read` for its input.

    Types are those that msgspec knows (`str`, `int`, `float`, `bool`, `Literal`, `Enum`, `list`, `dict`, `Optional`,
    dataclasses, `TypedDict`, Structs, `Annotated[..., msgspec.Meta(...)]`, dates, ...) and pydantic models. A parameter
    without a type takes anything. Schemas are written out in place, since not every provider follows `$ref`.

    Raises UsageError for a function whose arguments cannot be described: `*args`, `**kwargs`, positional-only
    parameters, types without a JSON form or that contain themselves.
    """

    def __init__(self, function: Callable[..., Any], name: str, descriptions: Mapping[str, str]) -> None:
        parameters = _parameters(function, name)
        self.schema: dict[str, Any] = {"type": "object", "properties": {}}
        for parameter in parameters:
            self.schema["properties"][parameter.name] = _property(
                parameter, f"parameter `{parameter.name}` of tool {name!r}", descriptions.get(parameter.name)
            )
        required = [parameter.name for parameter in parameters if parameter.default is inspect.Parameter.empty]
        if required:
            self.schema["required"] = required
        fields = tuple(
            (parameter.name, _annotation(parameter))
            if parameter.default is inspect.Parameter.empty
            else (parameter.name, _annotation(parameter) | msgspec.UnsetType, msgspec.UNSET)
            for parameter in parameters
        )
        try:
            self._decoder = _decoder(fields)
        except TypeError:
            self._decoder = _decoder.__wrapped__(fields)

    def read(self, text: str) -> dict[str, Any]:
        """Return the keyword arguments in the model's JSON text; missing ones keep their defaults.

        An empty text means no arguments. Raises ValueError with a sentence that the model can act on.
        """
        try:
            given = self._decoder.decode(text.strip() or "{}")
        except msgspec.ValidationError as error:
            raise ValueError(explain(error)) from error
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
            raise ValueError(f"not valid JSON: {error}") from error
        return {name: value for name in given.__struct_fields__ if (value := getattr(given, name)) is not msgspec.UNSET}


@lru_cache(maxsize=256)
def _decoder(fields: tuple[Any, ...]) -> msgspec.json.Decoder[Any]:
    """Return one decoder for all tools with the same parameters.

    Making one takes 0.1 ms, and only the garbage collector frees its class. Raises TypeError for fields that cannot be
    a key.
    """
    struct = msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)
    # Not strict: some models write 3.0 or "3" for 3.
    return msgspec.json.Decoder(struct, strict=False, dec_hook=_read_foreign)


def write_foreign(value: Any) -> Any:
    """Encode pydantic models: the `enc_hook` of msgspec. Raises TypeError for other unknown values."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise TypeError(f"a value of type {type(value).__name__} has no JSON form")


def _read_foreign(wanted: type, value: Any) -> Any:
    if hasattr(wanted, "model_validate"):
        return wanted.model_validate(value)
    raise TypeError(f"type {wanted.__name__} has no JSON form")


def _describe_foreign(wanted: type) -> dict[str, Any]:
    if hasattr(wanted, "model_json_schema"):
        schema: dict[str, Any] = wanted.model_json_schema()
        return schema
    raise NotImplementedError


def _parameters(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    try:
        signature = inspect.signature(function, eval_str=True)
    except (NameError, TypeError, ValueError) as error:
        raise UsageError(f"the signature of tool {name!r} cannot be read: {error}", code="bad_tool") from error
    # Arguments that a partial has bound belong to the program: the model neither sees nor changes them.
    bound = function.keywords if isinstance(function, partial) else {}
    parameters = [parameter for parameter in signature.parameters.values() if parameter.name not in bound]
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            kind = parameter.kind.description
            raise UsageError(
                f"parameter `{parameter}` of tool {name!r} is {kind}: a model gives arguments by name", code="bad_tool"
            )
    return parameters


def _annotation(parameter: inspect.Parameter) -> Any:
    if parameter.annotation is inspect.Parameter.empty:
        return Any
    return parameter.annotation | None if parameter.default is None else parameter.annotation


def _property(parameter: inspect.Parameter, place: str, description: str | None) -> dict[str, Any]:
    try:
        (schema,), definitions = msgspec.json.schema_components(
            [_annotation(parameter)], schema_hook=_describe_foreign, ref_template="#/$defs/{name}"
        )
    except TypeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise UsageError(f"{place} cannot be described in JSON Schema: {reason}", code="bad_tool") from error
    described: dict[str, Any] = _written_out(schema, definitions, (), place)
    if description:
        described["description"] = description
    if parameter.default is not inspect.Parameter.empty:
        try:
            described["default"] = msgspec.to_builtins(parameter.default, enc_hook=write_foreign)
        except TypeError:
            pass  # a default without a JSON form still works, but the model does not learn it
    return described


def written_out(schema: dict[str, Any], place: str) -> dict[str, Any]:
    """Return a JSON schema without references, titles and discriminators.

    Raises UsageError, which names `place`, for one that contains itself.
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
            raise UsageError(f"{place} contains itself ({name}), which no provider accepts", code="bad_tool")
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
