"""Units of measure: converting amounts, and how many of one go into another."""

from __future__ import annotations

import re

from realtime.model.local.keyless.arithmetic import find_number, say_number
from realtime.model.local.keyless.situation import Situation

# Kind, size in the kind's own unit, names; the first name is said.
_TABLE = (
    ("length", 0.001, "millimetre millimeter mm"),
    ("length", 0.01, "centimetre centimeter cm"),
    ("length", 1, "metre meter m"),
    ("length", 1000, "kilometre kilometer km k"),
    ("length", 0.0254, "inch inches"),
    ("length", 0.3048, "foot feet ft"),
    ("length", 0.9144, "yard yd"),
    ("length", 1609.344, "mile"),
    ("length", 1852, "nautical_mile"),
    ("mass", 0.001, "gram gramme g"),
    ("mass", 1, "kilogram kilogramme kilo kg"),
    ("mass", 1000, "tonne ton"),
    ("mass", 0.028349523125, "ounce oz"),
    ("mass", 0.45359237, "pound lb lbs"),
    ("mass", 6.35029318, "stone"),
    ("volume", 0.001, "millilitre milliliter ml"),
    ("volume", 1, "litre liter l"),
    ("volume", 0.00492892159375, "teaspoon"),
    ("volume", 0.01478676478125, "tablespoon"),
    ("volume", 0.2365882365, "cup"),
    ("volume", 0.473176473, "pint"),
    ("volume", 0.946352946, "quart"),
    ("volume", 3.785411784, "gallon"),
    ("time", 0.001, "millisecond ms"),
    ("time", 1, "second sec"),
    ("time", 60, "minute min"),
    ("time", 3600, "hour"),
    ("time", 86_400, "day"),
    ("time", 604_800, "week"),
    ("time", 1_209_600, "fortnight"),
    ("data", 1, "byte"),
    ("data", 1e3, "kilobyte kb"),
    ("data", 1e6, "megabyte mb"),
    ("data", 1e9, "gigabyte gb"),
    ("data", 1e12, "terabyte tb"),
    ("speed", 1, "kilometre_per_hour kph kmh km/h"),
    ("speed", 1.609344, "mile_per_hour mph"),
    ("money", 1, "cent"),
    ("money", 100, "dollar"),
    ("count", 1, "thing"),
    ("count", 12, "dozen"),
    ("temperature", 0, "celsius centigrade"),
    ("temperature", 0, "fahrenheit"),
    ("temperature", 0, "kelvin"),
)
_UNITS: dict[str, tuple[str, float, str]] = {}
for _kind, _size, _names in _TABLE:
    for _one in _names.split():
        for _form in (_one, f"{_one}s"):
            _UNITS.setdefault(_form.replace("_", " "), (_kind, _size, _names.split()[0].replace("_", " ")))
_UNITS |= {
    "kilometres per hour": _UNITS["kph"],
    "kilometers per hour": _UNITS["kph"],
    "miles per hour": _UNITS["mph"],
    "degrees celsius": _UNITS["celsius"],
    "degrees fahrenheit": _UNITS["fahrenheit"],
    "degrees centigrade": _UNITS["celsius"],
}
_PLURALS = {
    "inch": "inches",
    "foot": "feet",
    "stone": "stone",
    "celsius": "degrees Celsius",
    "kelvin": "kelvin",
    "fahrenheit": "degrees Fahrenheit",
    "mile per hour": "miles per hour",
    "kilometre per hour": "kilometres per hour",
}
_US = frozenset(["teaspoon", "tablespoon", "cup", "pint", "quart", "gallon"])
_UNIT_WORDS = frozenset(word for unit in _UNITS for word in unit.split())
_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_HOW_MANY = re.compile(
    rf"\bhow many (?P<to>{_UNIT})\b(?: (?:are|is|make|go|fit|there|do|does|in|into|to|of"
    rf"|up)){{0,4}}(?: (?P<count>[\w. ]{{0,40}}?))?? ?\b(?P<from>{_UNIT})\b"
)
_CONVERT = re.compile(
    rf"(?<![\w.])(?P<count>-?[\w.]{{1,20}}(?: [\w.]{{1,20}}){{0,5}}?) ?(?:degrees )?"
    rf"\b(?P<from>{_UNIT})\b(?: (?:is|are|equals|equal|how many|how much|make)){{0,4}} (?:(?:in|to|into|as)\b )?"
    rf"(?:how many )?(?:degrees )?\b(?P<to>{_UNIT})\b"
)


def convert(situation: Situation) -> str | None:
    """Convert units where the user asks for that; None where not."""
    text = re.sub(r"(?<=\d)(?=[a-z])", " ", situation.core)
    if not _UNIT_WORDS.intersection(text.split()):
        return None
    # "a half mile in feet" has no number of its own.
    match = _HOW_MANY.search(text) or (
        _CONVERT.search(text) if re.search(r"\b(?:in|to|into|as|how many)\b", text) else None
    )
    if match is None:
        return None
    (kind, size, name), (other_kind, other_size, other_name) = _UNITS[match["from"]], _UNITS[match["to"]]
    if kind != other_kind or name == other_name:
        return None
    words = match["count"] or ""
    count = find_number(words)
    if re.search(r"\bhalf\b", words):
        count = (count or 0) + 0.5
    if count is None:
        if words and not re.search(r"\b(?:a|an|one|the)$", words) and match.re is _CONVERT:
            return None
        count = 1.0
    if re.search(r"-\d|\bminus\b", words):
        count = -abs(count)
    result = _temperature(count, name, other_name) if kind == "temperature" else count * size / other_size
    if result is None:
        return None
    said = f"{say_number(count)} {_named(name, count)} {'is' if count == 1 or kind == 'temperature' else 'are'} "
    note = " in American measure" if {name, other_name} & _US else ""
    # Two decimals are enough for the ear, where any are left.
    rounded = round(result, 2) if abs(result) >= 1 else float(f"{result:.3g}")
    about = "" if abs(rounded - result) < 1e-9 else "about "
    return f"{said}{about}{say_number(rounded)} {_named(other_name, rounded)}{note}."


def _named(name: str, count: float) -> str:
    if count == 1 and name not in ("celsius", "fahrenheit"):
        return name
    return _PLURALS.get(name, f"{name}s")


def _temperature(count: float, name: str, other: str) -> float | None:
    kelvin = {"celsius": count + 273.15, "fahrenheit": (count - 32) / 1.8 + 273.15, "kelvin": count}[name]
    if kelvin < 0:
        return None
    return {"celsius": kelvin - 273.15, "fahrenheit": (kelvin - 273.15) * 1.8 + 32, "kelvin": kelvin}[other]
