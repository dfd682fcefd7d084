"""Converts function signatures to JSON Schema, and model JSON to arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache, partial
from types import GenericAlias
from typing import Any, Protocol

import msgspec

from realtime.errors import BadTool
from realtime.event.decode import explain
from realtime.tool.context import context_state


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
    dataclasses, `TypedDict`, Structs, `Annotated[..., msgspec.Meta(...)]`, dates, ...) and pydantic models. A parameter
    without a type takes anything. Schemas are written out in place, since not every provider follows `$ref`.

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
        self._signature = _signature(function, name)
        bound = function.keywords if isinstance(function, partial) else {}
        parameters = [
            parameter
            for parameter in _parameters(self._signature, name, variadic)
            if parameter.name not in hidden and parameter.name not in bound
        ]
        self.contexts = _contexts(parameters)
        parameters = [parameter for parameter in parameters if parameter.name not in self.contexts]
        self._variadic = {parameter.kind: parameter.name for parameter in parameters if parameter.kind in _VARIADIC}
        self.schema: dict[str, Any] = {"type": "object", "properties": {}}
        for parameter in parameters:
            self.schema["properties"][parameter.name] = _property(
                parameter, f"parameter `{parameter.name}` of tool {name!r}", descriptions.get(parameter.name)
            )
        required = [parameter.name for parameter in parameters if _is_required(parameter)]
        if required:
            self.schema["required"] = required
        fields = tuple(
            (parameter.name, _annotation(parameter))
            if _is_required(parameter)
            else (parameter.name, _annotation(parameter) | msgspec.UnsetType, msgspec.UNSET)
            for parameter in parameters
        )
        try:
            self._decoder = _decoder(fields)
        except TypeError:
            self._decoder = _decoder.__wrapped__(fields)

    def read(self, text: str, extra: Collection[str] = ()) -> dict[str, Any]:
        """Return the arguments in the model's JSON text; missing ones keep their defaults.

        An empty text means no arguments. See `Reader.read`.
        """
        text = text.strip() or "{}"
        try:
            more: dict[str, Any] = {}
            if extra and isinstance(values := msgspec.json.decode(text), dict):
                more = {name: values.pop(name) for name in extra if name in values}
                text = msgspec.json.encode(values).decode()
            given = self._decoder.decode(text)
        except msgspec.ValidationError as error:
            raise ValueError(explain(error)) from error
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
            raise ValueError(f"not valid JSON: {error}") from error
        named = {
            name: value for name in given.__struct_fields__ if (value := getattr(given, name)) is not msgspec.UNSET
        }
        return {**named, **more}

    def bind(self, arguments: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """See `Reader.bind`."""
        rest = {**arguments}
        more = rest.pop(self._variadic.get(inspect.Parameter.VAR_KEYWORD, ""), {})
        positional: tuple[Any, ...] = ()
        if listed := rest.pop(self._variadic.get(inspect.Parameter.VAR_POSITIONAL, ""), ()):
            # What stands before `*args` has to be given by place as well.
            before = [one for one in self._signature.parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
            positional = (*(rest.pop(one.name, one.default) for one in before), *listed)
        return positional, {**rest, **more}


class GivenSchema:
    """Arguments that a given JSON Schema describes: those that the function takes, with the required ones."""

    def __init__(self, function: Callable[..., Any], name: str, schema: Mapping[str, Any]) -> None:
        parameters = _signature(function, name).parameters.values()
        self.contexts = _contexts(parameters)
        self._required = [*schema.get("required", ())]
        takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        self._taken = None if takes_any else {parameter.name for parameter in parameters} - self.contexts.keys()

    def read(self, text: str, extra: Collection[str] = ()) -> dict[str, Any]:
        """See `Reader.read`. The function checks the types."""
        try:
            given = msgspec.json.decode(text.strip() or "{}")
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
            raise ValueError(f"not valid JSON: {error}") from error
        if not isinstance(given, dict):
            raise ValueError(f"Expected `object`, got `{type(given).__name__}`")
        if missing := [name for name in self._required if name not in given]:
            raise ValueError(f"Object missing required field `{missing[0]}`")
        if self._taken is not None and (unknown := given.keys() - self._taken - {*extra}):
            raise ValueError(f"Object contains unknown field `{min(unknown)}`")
        return given

    def bind(self, arguments: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """See `Reader.bind`."""
        return (), arguments


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


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _signature(function: Callable[..., Any], name: str) -> inspect.Signature:
    try:
        return inspect.signature(function, eval_str=True)
    except (NameError, TypeError, ValueError) as error:
        raise BadTool(f"the signature of tool {name!r} cannot be read: {error}") from error


def _parameters(signature: inspect.Signature, name: str, variadic: Collection[Any] | None) -> list[inspect.Parameter]:
    taken = []
    for parameter in signature.parameters.values():
        kind = parameter.kind
        if kind is parameter.POSITIONAL_ONLY or (kind in _VARIADIC and variadic is None):
            raise BadTool(
                f"parameter `{parameter}` of tool {name!r} is {kind.description}: a model gives arguments by name"
            )
        if kind not in _VARIADIC or kind in (variadic or ()):
            taken.append(parameter)
    return taken


def _contexts(parameters: Iterable[inspect.Parameter]) -> dict[str, type[Any]]:
    states = {parameter.name: context_state(parameter.annotation) for parameter in parameters}
    return {name: state for name, state in states.items() if state is not None}


def _is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is inspect.Parameter.empty and parameter.kind not in _VARIADIC


def _annotation(parameter: inspect.Parameter) -> Any:
    annotation = Any if parameter.annotation is inspect.Parameter.empty else parameter.annotation
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return GenericAlias(list, (annotation,))
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        return GenericAlias(dict, (str, annotation))
    return annotation | None if parameter.default is None else annotation


def _property(parameter: inspect.Parameter, place: str, description: str | None) -> dict[str, Any]:
    try:
        (schema,), definitions = msgspec.json.schema_components(
            [_annotation(parameter)], schema_hook=_describe_foreign, ref_template="#/$defs/{name}"
        )
    except TypeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise BadTool(f"{place} cannot be described in JSON Schema: {reason}") from error
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
            raise BadTool(f"{place} contains itself ({name}), which no provider accepts")
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
