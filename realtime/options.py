"""Options are checked where they are written: by the annotations of what takes them.

A misspelt word, a text in place of a list, a number that is none: without a check, each of them holds silently until
something else goes wrong because of it.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from realtime.errors import BadOption

_PLAIN = (str, bytes, int, float, bool, list, tuple, dict, set)
"""A value of these never stands for an object of the program."""
_WORDS: dict[Any, tuple[Any, str]] = {
    bool: (bool, "True or False"),
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    str: (str, "a text"),
    bytes: (bytes, "bytes"),
}
_TIMES = {"_s": "seconds", "_ms": "milliseconds"}


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
            shown = f"a {type(value).__name__}" if name == "token" else f"{value!r:.80}"
            raise BadOption(f"{name} is {wanted}, not {shown}")
        unit = next((unit for end, unit in _TIMES.items() if name.endswith(end)), None)
        if unit and isinstance(value, int | float) and not (value > 0 if name in above_0 else value >= 0):
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


@lru_cache(maxsize=256)
def _kinds(taker: Callable[..., Any]) -> tuple[tuple[str, Any], ...]:
    """Return names and types, without those imported for the type checker alone."""
    classes = [*reversed(taker.__mro__)] if isinstance(taker, type) else []
    function = inspect.unwrap(taker)
    sources = [(inspect.get_annotations(one), vars(sys.modules[one.__module__])) for one in classes]
    found: dict[str, Any] = {}
    for written, names in sources or [(inspect.get_annotations(function), function.__globals__)]:
        for name, kind in written.items():
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
        lacks = [_lacking(value, one) for one in inner]
        return "" if "" in lacks else " or ".join(dict.fromkeys(lacks))
    if kind is Any:
        return ""
    if kind in (None, NoneType):
        return "" if value is None else "None"
    if kind in _WORDS:
        cls, word = _WORDS[kind]
        is_number = cls in (Integral, Real)
        fits = isinstance(value, cls) and not (is_number and (isinstance(value, bool) or math.isnan(value)))
        return "" if fits else word
    if origin is not None and isinstance(origin, type):
        return _lacking_in(value, origin, inner)
    is_value = isinstance(kind, type) and (dataclasses.is_dataclass(kind) or issubclass(kind, msgspec.Struct))
    if isinstance(kind, type) and (is_value or type(value) in _PLAIN) and not isinstance(value, kind):
        return f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"
    return ""


def _lacking_in(value: Any, origin: type, inner: tuple[Any, ...]) -> str:
    """Return what a generic type wants: a function, a mapping or a list."""
    if origin.__name__ == "Callable":
        return "" if callable(value) else "a function"
    if issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            return "a mapping"
        return next(
            (f"a mapping with {lack} for each key" for one in value.values() if (lack := _lacking(one, inner[1]))), ""
        )
    if issubclass(origin, Iterable):
        of = (
            "function"
            if getattr(get_origin(inner[0]), "__name__", "") == "Callable"
            else _WORDS.get(inner[0], (None, ""))[1][2:]
        )
        of = of or getattr(inner[0], "__name__", "")
        word = f"a list of {of}s" if of.isalpha() and inner[0] is not Any else "a list"
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            return word
        kinds = inner if origin is not tuple or inner[-1:] == (...,) else ()
        entries = value if kinds and isinstance(value, Collection) else ()
        return word if any(_lacking(one, kinds[0]) for one in entries) else ""
    return ""


def _beyond(value: Any, limits: tuple[Any, ...]) -> str:
    """Return which limit of its annotation a number exceeds."""
    for limit in limits:
        if isinstance(limit, msgspec.Meta) and isinstance(value, int | float):
            if limit.ge is not None and value < limit.ge:
                return f"at least {limit.ge}"
            if limit.le is not None and value > limit.le:
                return f"at most {limit.le}"
    return ""
