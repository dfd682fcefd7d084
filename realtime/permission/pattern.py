"""The patterns of permission rules: conditions on the arguments of a call.

`recipient=Anna, amount<=20` is a list of conditions that must all hold. A condition is the name of an argument, one of
`= != <= >= < >` and a value:

- A bare value is text in which `*` stands for any characters. If the argument is a number, a boolean or None, the value
  is compared as such: `amount=20` holds for 20.0.
- A value in JSON (text in quotes, a list, an object) is that value exactly: `title="2 * 3, please"`.
- `<= >= < >` compare numbers; text that is nothing but a number counts as one.
- A bare value begins with none of `= < > ~` (but `~/`): `==`, `=>` or `=~` are no operators. In quotes it may.

`address.city=Oslo` is about a field of an object; where an argument has that name as well, it cannot be read. An
argument that is missing has its default; without one it equals nothing. `*` alone, "" and None are about every call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any

from realtime.errors import UsageError

MAX_PATTERN_CHARS = 4_000
"""The longest pattern: a longer one cannot be read."""

_CONDITION = re.compile(r"\s{0,20}([^\s=!<>,\"]{1,200})\s{0,20}(<=|>=|!=|=|<|>)\s*")
_NO_OPERATOR = re.compile(r"(?><=|>=|!=|=|<|>)\s{0,20}(?:[=<>]+|~(?![/\\]|$))")
"""An operator of other languages, such as `==`, `=>`, `=<`, `<>`, `=~`."""
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_MISSING = object()
_AMBIGUOUS = object()
_PLAIN = re.compile(r"^[^\s,*\"\[{=<>~](?:[^,*]*[^\s,*])?")
"""Text that means itself as a bare value."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on one argument; `exact` is the canonical JSON of a value in JSON."""

    name: str
    operator: str
    text: str
    exact: str | None = None

    def holds(self, value: Any) -> bool | None:
        """Whether it holds for the argument's value; None where that cannot be said."""
        if value is _AMBIGUOUS:
            return None
        if self.operator in ("=", "!="):
            return self._equals(value) is (self.operator == "=")
        if value is _MISSING or value is None:
            return False
        number = number_of(value)
        limit = _number_in(self.text)
        if number is None or limit is None:
            return None
        match self.operator:
            case "<=":
                return number <= limit
            case ">=":
                return number >= limit
            case "<":
                return number < limit
            case _:
                return number > limit

    def _equals(self, value: Any) -> bool:
        if value is _MISSING:
            return False
        if self.exact is not None:
            return canonical(value) == self.exact
        if isinstance(value, int | float) and not isinstance(value, bool):
            number = _number_in(self.text)
            if number is not None:
                return value == number
        return matches_text(self.text, value if isinstance(value, str) else canonical(value))


def matches(pattern: str | None, arguments: Mapping[str, Any], known: Collection[str] | None = None) -> bool | None:
    """Whether a pattern is about a call with these arguments.

    None: it cannot be read, names an argument that is not in `known`, or compares what is no number.
    """
    if is_whole(pattern):
        return True
    conditions = conditions_of(pattern or "")
    if conditions is None:
        return None
    if known is not None and any(not _is_known(one.name, known) for one in conditions):
        return None
    held = [one.holds(_value(arguments, one.name)) for one in conditions]
    if False in held:
        return False
    return None if None in held else True


def is_whole(pattern: str | None) -> bool:
    """Whether a pattern is about every call of its tool."""
    return pattern is None or pattern.strip() in ("", "*")


@lru_cache(maxsize=1024)
def conditions_of(pattern: str) -> tuple[Condition, ...] | None:
    """Return the conditions of a pattern; None where it cannot be read."""
    if len(pattern) > MAX_PATTERN_CHARS:
        return None
    found: list[Condition] = []
    place = 0
    while True:
        begin = _CONDITION.match(pattern, place)
        if begin is None:
            return None
        name, operator = begin.groups()
        if _NO_OPERATOR.match(pattern, begin.start(2)):
            return None
        read = _read_value(pattern, begin.end())
        if read is None:
            return None
        text, exact, place = read
        if operator not in ("=", "!=") and (exact is not None or _number_in(text) is None):
            return None
        found.append(Condition(name, operator, text, exact))
        if place >= len(pattern):
            return tuple(found)
        place += 1  # behind the comma


def check_operators(pattern: str | None) -> None:
    """Check the operators of a pattern. Raises UsageError for one that is none.

    Nothing else of it is read: the patterns of tools with rules of their own look otherwise.
    """
    place: int | None = 0
    while pattern and place is not None and len(pattern) <= MAX_PATTERN_CHARS:
        begin = _CONDITION.match(pattern, place)
        if begin is None:
            return
        wrong = _NO_OPERATOR.match(pattern, begin.start(2))
        if wrong is not None:
            name, operator = begin.group(1), "".join(wrong.group().split())
            raise UsageError(
                f"a rule says {name}{operator}, and {operator} is no operator: there are = != <= >= < >"
                f' (a value that begins with such a sign is in quotes: {name}="...")',
                code="bad_permissions",
            )
        read = _read_value(pattern, begin.end())
        place = None if read is None or read[2] >= len(pattern) else read[2] + 1


def _read_value(pattern: str, place: int) -> tuple[str, str | None, int] | None:
    """Return a value's text, its canonical JSON, and the place behind it.

    The JSON is None for a bare value; all is None for what cannot be read.
    """
    if pattern[place : place + 1] in ('"', "[", "{"):
        try:
            value, end = json.JSONDecoder().raw_decode(pattern, place)
        except (ValueError, RecursionError):
            return None
        rest = pattern[end:].lstrip()
        return ("", canonical(value), len(pattern) - len(rest)) if rest[:1] in ("", ",") else None
    end = pattern.find(",", place)
    end = len(pattern) if end < 0 else end
    text = pattern[place:end].strip()
    return (text, None, end) if text else None


def pattern_of(arguments: Mapping[str, Any], *, up_to: str | None = None) -> str | None:
    """Return the pattern that holds for exactly these arguments.

    With `up_to`, it also holds for smaller values of that one. None where there is no such pattern: without arguments,
    with names that no pattern can hold, or a very long one.
    """
    parts = []
    for name, value in arguments.items():
        condition = _CONDITION.fullmatch(f"{name}=")
        if condition is None or condition.group(1) != name:
            return None
        parts.append(f"{name}{'<=' if name == up_to else '='}{_value_text(value)}")
    pattern = ", ".join(parts)
    if not parts or len(pattern) > MAX_PATTERN_CHARS or matches(pattern, arguments) is not True:
        return None
    return pattern


def _value_text(value: Any) -> str:
    """Return a value as a pattern holds it: text as it is, where it can only mean itself."""
    is_plain = isinstance(value, str) and _PLAIN.fullmatch(value) and value not in ("true", "false", "null")
    return value if is_plain and not _NUMBER.fullmatch(value) else canonical(value)


def canonical(value: Any) -> str:
    """Return a value as JSON text, the same for equal values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def number_of(value: Any) -> int | float | None:
    """Return a number, or the one that a text is; None for anything else, also for NaN."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return None if value != value else value
    return _number_in(value.strip()) if isinstance(value, str) else None


def _number_in(text: str) -> int | float | None:
    if not _NUMBER.fullmatch(text):
        return None
    try:
        return int(text)
    except ValueError:
        pass
    number = float(text)
    return number if isfinite(number) else None


def matches_text(pattern: str, text: str) -> bool:
    """Whether a text is the pattern; `*` stands for any characters."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == first
    *middle, last = rest
    if not text.startswith(first):
        return False
    place = len(first)
    for part in middle:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return len(text) - len(last) >= place and text.endswith(last)


def _is_known(name: str, known: Collection[str]) -> bool:
    return name in known or name.partition(".")[0] in known


def _value(arguments: Mapping[str, Any], name: str) -> Any:
    """Return an argument, or a field of one; `_AMBIGUOUS` where the name stands for both."""
    value: Any = arguments
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return arguments.get(name, _MISSING)
        value = value[part]
    return _AMBIGUOUS if "." in name and name in arguments else value
