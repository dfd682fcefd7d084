"""Canonical JSON (RFC 8785): one byte string per value, the same in Python and in a browser."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from json.encoder import encode_basestring
from typing import Any

_EXACT = 2**53


def canonical_json(value: Any) -> bytes:
    """Return `value` (JSON builtins) as RFC 8785 JSON in UTF-8.

    Keys are ordered by UTF-16 code units, numbers printed as in JavaScript. Integers beyond 2**53 lose precision, as
    they do in JavaScript. Raises ValueError for values without such a form: NaN and infinity, half a surrogate pair,
    keys that are not text, values that are not JSON, endless nesting.
    """
    try:
        return "".join(_write(value)).encode()
    except RecursionError:
        raise ValueError("nested too deeply for JSON") from None


def _write(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield encode_basestring(value)
    elif value is None:
        yield "null"
    elif value is True or value is False:
        yield "true" if value else "false"
    elif isinstance(value, int | float):
        yield _number(value)
    elif isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise ValueError("the keys of a JSON object are text")
        for position, key in enumerate(sorted(value, key=_utf16)):
            yield f"{',' if position else '{'}{encode_basestring(key)}:"
            yield from _write(value[key])
        yield "}" if value else "{}"
    elif isinstance(value, list | tuple):
        for position, entry in enumerate(value):
            yield "," if position else "["
            yield from _write(entry)
        yield "]" if value else "[]"
    else:
        raise ValueError(f"{type(value).__name__} is not JSON")


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be")


def _number(value: float) -> str:
    """ECMAScript's Number::toString: like Python, it prints the shortest digits that read back."""
    if isinstance(value, int):
        if -_EXACT <= value <= _EXACT:
            return str(value)
        try:
            value = float(value)
        except OverflowError as error:
            raise ValueError("the integer is too large for JSON") from error
    if not math.isfinite(value):
        raise ValueError(f"{value} is not JSON")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # The value is 0.DIGITS times ten to the power of `point`.
    point = int(exponent or 0) + (len(whole) if whole != "0" else len(digits) - len(fraction))
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    power = f"{'+' if point > 0 else '-'}{abs(point - 1)}"
    return f"{sign}{digits[0]}{'.' if len(digits) > 1 else ''}{digits[1:]}e{power}"
