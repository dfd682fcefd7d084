"""The parameters of a function as its programmer wrote them: types, defaults, descriptions.

`Annotated[int, Field(ge=1)]`, `= Field(default_factory=list)` and `Doc` mean here what they mean to pydantic.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, time, timedelta
from functools import partial
from types import GenericAlias, SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, NewType, Optional, Union, get_args, get_origin, get_type_hints

import msgspec

from realtime.errors import BadTool
from realtime.tool.context import context_state

EMPTY = inspect.Parameter.empty
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_DESCRIBES = (dataclasses.Field, type(msgspec.field()))
"""What describes a field of a class: as the default of a parameter it would be its value."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter that a model gives."""

    name: str
    annotation: Any
    """The type, `Any` without one; of `*args` and `**kwargs` an array and an object."""
    default: Any
    """`EMPTY` without one that is a value."""
    is_required: bool
    description: str = ""
    """What its type or its default says of it."""


class Parameters:
    """The parameters of one function.

    `given` are those that the model gives, `contexts` those that take a `ToolContext`, with the class of their state.
    `names` are all that the function takes, None for any. Raises BadTool for what cannot be read.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        tool: str,
        *,
        hidden: Collection[str] = (),
        variadic: Collection[Any] | None = None,
        is_described: bool = False,
    ) -> None:
        """Read the signature of a function; `is_described`: a schema says what its types are."""
        try:
            self._signature = inspect.signature(function)
        except (NameError, TypeError, ValueError) as error:
            raise BadTool(f"the signature of tool {tool!r} cannot be read: {error}") from error
        bound = function.keywords if isinstance(function, partial) else {}
        every = self._signature.parameters.values()
        self._fields = {one.name: one.default for one in every if is_field(one.default)}
        self.names = None if any(one.kind is one.VAR_KEYWORD for one in every) else {one.name for one in every}
        self._variadic: dict[Any, str] = {}
        self.contexts: dict[str, type[Any]] = {}
        self.given: list[Parameter] = []
        names = _names_of(function)
        for one in every:
            if one.name in hidden or one.name in bound:
                continue
            if is_described and "ToolContext" not in str(one.annotation):
                continue
            if not is_described and not _is_given(one, tool, variadic):
                continue
            annotation = _resolved(one, tool, names)
            if (state := context_state(annotation)) is not None:
                self.contexts[one.name] = state
                continue
            if one.kind in _VARIADIC:
                self._variadic[one.kind] = one.name
            made = _parameter(one, annotation, tool)
            self.given.append(made)
            if (field := _field_in(annotation)) is not None and not made.is_required:
                self._fields.setdefault(one.name, field)

    def bind(self, arguments: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what the function is called with: positional arguments and those by name."""
        rest = {**arguments}
        for name, field in self._fields.items():
            # The function's own default is the description of one.
            if name not in rest and not field.is_required():
                rest[name] = field.get_default(call_default_factory=True, validated_data=arguments)
        more = rest.pop(self._variadic.get(inspect.Parameter.VAR_KEYWORD, ""), {})
        positional: tuple[Any, ...] = ()
        if listed := rest.pop(self._variadic.get(inspect.Parameter.VAR_POSITIONAL, ""), ()):
            # What stands before `*args` has to be given by place as well.
            before = [one for one in self._signature.parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
            positional = (*(rest.pop(one.name, one.default) for one in before), *listed)
        return positional, {**rest, **more}


def _is_given(parameter: inspect.Parameter, tool: str, variadic: Collection[Any] | None) -> bool:
    """Whether the model gives the parameter. Raises BadTool for one that it cannot give."""
    kind = parameter.kind
    if kind is parameter.POSITIONAL_ONLY or (kind in _VARIADIC and variadic is None):
        raise BadTool(
            f"parameter `{parameter}` of tool {tool!r} is {kind.description}: a model gives arguments by name"
        )
    return kind not in _VARIADIC or kind in (variadic or ())


def _names_of(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the names that annotations of a function are read with: those of its module."""
    body: Any = function
    while not inspect.isfunction(body):
        if isinstance(body, partial):
            body = body.func
        elif inspect.ismethod(body):
            body = body.__func__
        elif hasattr(body, "__wrapped__"):
            body = body.__wrapped__
        elif isinstance(body, type):
            body = body.__init__  # type: ignore[misc]  # that of this very class
        elif inspect.isroutine(body):
            return {}
        else:
            body = type(body).__call__
    names: Mapping[str, Any] = inspect.unwrap(body).__globals__
    return names


def _resolved(parameter: inspect.Parameter, tool: str, names: Mapping[str, Any]) -> Any:
    """Return the type of a parameter; only those that a model sees are read, never that of the result."""
    if parameter.annotation is EMPTY:
        return Any
    asked = SimpleNamespace(__annotations__={"it": parameter.annotation})
    try:
        return get_type_hints(asked, globalns={**names}, include_extras=True)["it"]
    except Exception as error:  # the text of an annotation is code
        raise BadTool(
            f"the signature of tool {tool!r} cannot be read: {error}: import or define what the type of parameter "
            f"`{parameter.name}` names in the function's module, outside of functions and `if TYPE_CHECKING:`"
        ) from error


def _parameter(parameter: inspect.Parameter, annotation: Any, tool: str) -> Parameter:
    place = f"parameter `{parameter.name}` of tool {tool!r}"
    default, field = parameter.default, _field_in(annotation)
    if isinstance(default, _DESCRIBES):
        raise BadTool(f"{place} has a field of a class as its default: give the value, or `= pydantic.Field(...)`")
    described = _description_in(_metadata(annotation))
    is_required = default is EMPTY
    if is_field(default):
        annotation, field = Annotated[annotation, default], default
        described = default.description or described
    if field is not None and default in (EMPTY, field):
        is_required = field.is_required()
        default = EMPTY if is_required or field.default_factory is not None else field.default
    for one in (parameter.default, *_metadata(annotation)):
        if is_field(one) and (one.alias or one.validation_alias) not in (None, parameter.name):
            raise BadTool(f"{place} has an alias: give the parameter the name that the model is to see")
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return Parameter(parameter.name, GenericAlias(list, (annotation,)), EMPTY, False)
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        return Parameter(parameter.name, GenericAlias(dict, (str, annotation)), EMPTY, False)
    return Parameter(
        parameter.name,
        Optional[annotation] if default is None and not _takes_none(annotation) else annotation,  # noqa: UP045
        default,
        is_required,
        described,
    )


def is_field(value: Any) -> bool:
    """Whether a value is a `Field(...)` of pydantic, which is loaded then."""
    fields = sys.modules.get("pydantic.fields")
    return fields is not None and isinstance(value, fields.FieldInfo)


def _takes_none(annotation: Any) -> bool:
    """Whether a type has None among its alternatives; pydantic knows it then behind constraints, too."""
    bare = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    return get_origin(bare) in (Union, UnionType) and type(None) in get_args(bare)


def _metadata(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def _field_in(annotation: Any) -> Any:
    return next((one for one in reversed(_metadata(annotation)) if is_field(one)), None)


def _description_in(metadata: Iterable[Any]) -> str:
    """Return what an annotation says of its parameter: by a `Field`, a `Doc` (PEP 727), or plain text."""
    for one in metadata:
        text = one if isinstance(one, str) else getattr(one, "documentation", None)
        if is_field(one):
            text = one.description
        if isinstance(text, str) and text:
            return inspect.cleandoc(text)
    return ""


def reads_better(annotation: Any) -> bool:
    """Whether a type holds what pydantic reads better than msgspec: dates, and what is constrained."""
    return any(
        _is_constraint(one) or is_field(one) or (isinstance(one, type) and issubclass(one, date | time | timedelta))
        for one in _parts_of(annotation, [])
    )


def is_constrained(annotation: Any) -> bool:
    """Whether a type constrains its values in words of pydantic."""
    return any(_is_constraint(one) for one in _parts_of(annotation, []))


def _is_constraint(part: Any) -> bool:
    if is_field(part):
        return bool(part.metadata)
    if isinstance(part, type):
        return hasattr(part, "__pydantic_validator__") and not hasattr(part, "model_validate")
    return not isinstance(part, str | msgspec.Meta) and not hasattr(part, "documentation")


def _parts_of(annotation: Any, seen: list[Any]) -> Iterator[Any]:
    """Yield the classes in a type, and what `Annotated` says beside them.

    Those of the fields of classes as well.
    """
    if annotation in seen:
        return
    seen.append(annotation)
    if isinstance(annotation, NewType):
        annotation = annotation.__supertype__
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from inner[1:]
        inner = inner[:1]
    elif origin is Literal:
        return
    elif isinstance(annotation, type):
        yield annotation
        if (
            dataclasses.is_dataclass(annotation)
            or hasattr(annotation, "__total__")
            or hasattr(annotation, "_field_defaults")
        ):
            with suppress(Exception):  # a name that cannot be read is an error where the schema is made
                inner = (*get_type_hints(annotation, include_extras=True).values(),)
            yield from (one for one in vars(annotation).values() if is_field(one))
    for one in inner:
        yield from _parts_of(one, seen)
