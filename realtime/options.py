"""Options are checked where they are written: by the annotations of what takes them.

A misspelt word, a text in place of a list, a number that is none: without a check, each of them holds silently until
something else goes wrong because of it.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum
from functools import lru_cache, wraps
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, ForwardRef, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, is_typeddict

import msgspec

from realtime.errors import BadOption, UsageError

P = ParamSpec("P")
T = TypeVar("T")

Count = Annotated[int, msgspec.Meta(ge=0)]
"""A whole number, 0 or more."""
PositiveInt = Annotated[int, msgspec.Meta(ge=1)]
"""A whole number, 1 or more."""

_PLAIN = (str, bytes, int, float, bool, list, tuple, dict, set)
"""A value of these never stands for an object of the program."""
_WORDS: dict[Any, tuple[Any, str]] = {
    bool: (bool, "True or False"),
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    str: (str, "a text"),
    bytes: (bytes, "bytes"),
}
_TIMES = {"_s": "seconds", "_ms": "milliseconds", "timeout": "seconds"}
_MAY_HOLD_SECRETS = ("token", "key", "headers", "env", "secrets", "_kwargs")
"""Ends of names whose values no error repeats."""
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


_INVISIBLE = "".join(map(chr, (0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF)))


def usable_headers(headers: Mapping[str, str], source: str) -> dict[str, str]:
    """Return HTTP headers without what copying put around their values.

    Raises UsageError for what no header can hold: a library would refuse it with its value, which may be a key, in
    its sentence. `source` names the argument.
    """
    settled = {}
    for name, given in headers.items():
        value = str(given).strip().strip(_INVISIBLE).strip()
        if not (value.isascii() and value.isprintable()) or not (name.isascii() and name.isprintable()):
            raise UsageError(
                f"the header {name[:64]!r} in {source} holds a line end or a character other than ASCII: copy it again",
                code="bad_header",
            )
        settled[name] = value
    return settled


def checked(*, above_0: Collection[str] = ()) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Check the arguments of a function or constructor (`check_options`)."""

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)
        variadic = [one.name for one in signature.parameters.values() if one.kind in _VARIADIC]

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                given = signature.bind(*args, **kwargs).arguments
            except TypeError:
                return function(*args, **kwargs)  # Python itself says which argument is missing or unknown
            for name in variadic:
                given.pop(name, None)
            check_options(function, given, above_0=above_0)
            return function(*args, **kwargs)

        return call

    return decorated


def check_options(taker: Callable[..., Any], given: Mapping[str, Any], *, above_0: Collection[str] = ()) -> None:
    """Raise BadOption for a value that does not fit its annotation.

    `taker` has the annotations: a function or a class. Times, by the ends of their names, are 0 or more; those in
    `above_0` more. Annotations that are not understood fit.
    """
    for name, kind in _kinds(taker):
        if name not in given:
            continue
        value = given[name]
        if wanted := _lacking(value, kind):
            raise BadOption(f"{name} is {wanted}, not {_shown(name, value, kind)}")
        unit = next((unit for end, unit in _TIMES.items() if name.endswith(end)), None)
        if unit and _is_number(value) and not (value > 0 if name in above_0 else value >= 0):
            raise BadOption(
                f"{name} is a number of {unit}, {'above 0' if name in above_0 else '0 or more'}, not {value!r}"
            )


def check_fields(value: Any) -> None:
    """Raise BadOption for a field that does not fit its annotation."""
    cls = type(value)
    names = (
        value.__struct_fields__
        if isinstance(value, msgspec.Struct)
        else [one.name for one in dataclasses.fields(value)]
    )
    check_options(cls, {name: getattr(value, name) for name in names})


def _shown(name: str, value: Any, kind: Any) -> str:
    """Return what was given; of a class, what to write in its place."""
    if isinstance(value, type):
        is_of_it = any(one in value.__mro__ for one in (kind, *get_args(kind)))
        remedy = f": write {value.__name__}(...)" if is_of_it else ""
        return f"the class {value.__name__}{remedy}"
    return f"a {type(value).__name__}" if name.endswith(_MAY_HOLD_SECRETS) and value is not None else f"{value!r:.80}"


@lru_cache(maxsize=1024)
def _kinds(taker: Callable[..., Any]) -> tuple[tuple[str, Any], ...]:
    """Return names and types, without those imported for the type checker alone."""
    classes = [*reversed(taker.__mro__)] if isinstance(taker, type) else []
    function = inspect.unwrap(taker)
    sources = [(inspect.get_annotations(one), vars(sys.modules[one.__module__])) for one in classes]
    found: dict[str, Any] = {}
    for written, names in sources or [(inspect.get_annotations(function), function.__globals__)]:
        for name, kind in written.items():
            if isinstance(kind, ForwardRef):  # a field that a TypedDict has of another
                names = vars(sys.modules[kind.__forward_module__ or taker.__module__])
                kind = kind.__forward_arg__
            try:
                found[name] = eval(kind, names) if isinstance(kind, str) else kind
            except (NameError, TypeError, AttributeError):
                continue
    return tuple(found.items())


def _lacking(value: Any, kind: Any) -> str:
    """Return what an annotation wants where the value does not fit."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _lacking(value, inner[0]) or _beyond(value, inner[1:])
    if origin is Literal:
        fits = any(
            isinstance(value, type(one)) and value == one and (value is one or not isinstance(one, bool))
            for one in inner
        )
        return "" if fits else f"one of {', '.join(map(repr, inner))}"
    if origin in (Union, UnionType):
        if value is None and NoneType in inner:  # most options are not given
            return ""
        lacks = [_lacking(value, one) for one in inner]
        return "" if "" in lacks else " or ".join(dict.fromkeys(lacks))
    if kind is Any:
        return ""
    if kind in (None, NoneType):
        return "" if value is None else "None"
    if isinstance(kind, type) and kind in _WORDS:
        cls, word = _WORDS[kind]
        is_number = cls in (Integral, Real)
        fits = isinstance(value, cls) and not (is_number and (isinstance(value, bool) or value != value))
        return "" if fits else word
    if isinstance(origin, type):
        return _lacking_in(value, origin, inner)
    return _lacking_of_class(value, kind) if isinstance(kind, type) else ""


def _lacking_of_class(value: Any, kind: type) -> str:
    """Return what a class wants. Objects of other packages may stand for one of it, as mocks do."""
    word = f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"
    is_other = value is None or type(value) in _PLAIN or isinstance(value, type)
    if is_typeddict(kind):
        return "" if isinstance(value, Mapping) else "a mapping"
    if getattr(kind, "_is_protocol", False):
        if "__call__" in vars(kind):
            return "" if callable(value) else "a function"
        return word if is_other else ""
    if isinstance(value, kind):
        return ""
    if issubclass(kind, Enum):
        words = [one.value for one in kind]
        return "" if value in words else f"one of {', '.join(map(repr, words))}"
    is_value = dataclasses.is_dataclass(kind) or issubclass(kind, msgspec.Struct)
    is_ours = type(value).__module__.partition(".")[0] == __name__.partition(".")[0]
    return word if is_value or is_other or is_ours else ""


def _lacking_in(value: Any, origin: type, inner: tuple[Any, ...]) -> str:
    """Return what a generic type wants: a function, a class, a mapping or a list."""
    if origin.__name__ == "Callable":
        return "" if callable(value) else "a function"
    if origin is type:
        return "" if isinstance(value, type | UnionType) else "a class"
    if issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            return "a mapping"
        of_keys = (f"a mapping with {lack} as each key" for one in value if (lack := _lacking(one, inner[0])))
        of_values = (
            f"a mapping with {lack} for each key" for one in value.values() if (lack := _lacking(one, inner[1]))
        )
        return next(of_keys, "") or next(of_values, "")
    if issubclass(origin, Iterator):
        return "" if isinstance(value, Iterator) else "an iterator"
    if issubclass(origin, Iterable) and inner:
        word = _word_of_list(inner[0])
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            return word
        entries = value if isinstance(value, Collection) else ()
        if origin is tuple and inner[-1] is not ...:
            fits = len(entries) == len(inner) and not any(map(_lacking, entries, inner))
            return "" if fits else f"{len(inner)} values"
        lack = next(filter(None, (_lacking(one, inner[0]) for one in entries)), "")
        return f"a list with {lack} as each entry" if lack and word == "a list" else word if lack else ""
    return _lacking_of_class(value, origin)


def _word_of_list(kind: Any) -> str:
    """Return what a list of this kind is called."""
    if getattr(get_origin(kind), "__name__", "") == "Callable":
        return "a list of functions"
    word = _WORDS[kind][1][2:] if isinstance(kind, type) and kind in _WORDS else getattr(kind, "__name__", "")
    return f"a list of {word}s" if word.isalpha() and kind is not Any else "a list"


def _is_number(value: Any) -> bool:
    """Whether it is a number of Python or numpy."""
    return isinstance(value, Real)


def _beyond(value: Any, limits: tuple[Any, ...]) -> str:
    """Return which limit of its annotation a number exceeds."""
    for limit in limits:
        if isinstance(limit, msgspec.Meta) and _is_number(value):
            if limit.gt is not None and not value > limit.gt:
                return f"above {limit.gt}"
            if limit.ge is not None and value < limit.ge:
                return f"at least {limit.ge}"
            if limit.le is not None and value > limit.le:
                return f"at most {limit.le}"
    return ""
