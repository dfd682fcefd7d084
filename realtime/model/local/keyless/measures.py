"""Units of measure: converting amounts, and how many of one go into another."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from realtime.model.local.keyless.arithmetic import find_number, say_number
from realtime.model.local.keyless.situation import Situation
from realtime.tool.spoken_numbers import number_at

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
    ("time", 31_622_400, "leap_year"),
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
_PARTS = {"half": 0.5, "quarter": 0.25, "third": 1 / 3, "quarters": 0.25, "thirds": 1 / 3}
_JOINS = {"and": 1, "plus": 1, "minus": -1, "less": -1}
_HOW_MANY_ARE = re.compile(rf"\bhow many ({_UNIT}) (?:(?:are|is|make|go|fit|there|do|does|in|into|to|of) ){{0,4}}")
_AS = re.compile(rf" (?:in|to|into|as) (?:how many )?({_UNIT})$")
_TOGETHER = re.compile(r" (?:(?:al)?together|in total|in all|have|has|make)$")
_CANNOT_ADD = "I can't add those amounts: ask me for one of them at a time."
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
    if (answer := _added(text)) is not None:
        return answer
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
    behind = text[match.end() :].split()
    if re.search(r"\bin\b", words):  # "How many days are in February in a leap year?"
        return None
    if _goes_on(behind) or number_at(behind, 0, "en") or (match.re is _CONVERT and _names_more(words.split())):
        return _CANNOT_ADD
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
    said = f"{say_number(count)} {_named(name, count)} {'is' if count == 1 or kind == 'temperature' else 'are'}"
    return _equation(said, result, other_name, {name, other_name})


def _equation(said: str, result: float, name: str, names: Set[str]) -> str:
    """Write a result with two decimals where any are left: they are enough for the ear."""
    note = " in American measure" if names & _US else ""
    rounded = round(result, 2) if abs(result) >= 1 else float(f"{result:.3g}")
    about = "" if abs(rounded - result) < 1e-9 else "about "
    return f"{said} {about}{say_number(rounded)} {_named(name, rounded)}{note}."


@dataclass(frozen=True, slots=True)
class _Amount:
    """An amount of a unit, negative where it is taken away."""

    count: float
    kind: str
    size: float
    name: str

    @property
    def said(self) -> str:
        return f"{say_number(abs(self.count))} {_named(self.name, abs(self.count))}"


def _added(text: str) -> str | None:
    """Answer for several amounts, or one and a half; None: there is one that is whole, or none."""
    text = _TOGETHER.sub("", re.sub(r"(?<=[a-z])-(?=[a-z])", " ", text))
    asked = _HOW_MANY_ARE.search(text) or _AS.search(text)
    rest = text if asked is None else text[: asked.start()] if asked.re is _AS else text[asked.end() :]
    words = rest.split()
    amounts = _amounts_of(words)
    if amounts is None or (len(amounts) == 1 and not _goes_on(words)):
        return None
    if asked is None and not {"plus", "minus", "less", "add"} & {*words}:
        return None
    kind = amounts[0].kind
    wanted = _UNITS[asked[1]] if asked is not None else None
    if {one.kind for one in amounts} != {kind} or (wanted is not None and wanted[0] != kind) or kind == "temperature":
        return _CANNOT_ADD
    _, size, name = wanted or min(((kind, one.size, one.name) for one in amounts), key=lambda unit: unit[1])
    result = sum(one.count * one.size for one in amounts) / size
    said = amounts[0].said + "".join(f" {'plus' if one.count >= 0 else 'minus'} {one.said}" for one in amounts[1:])
    return _equation(f"{said} are", result, name, {name, *(one.name for one in amounts)})


def _amounts_of(words: Sequence[str]) -> list[_Amount] | None:
    """Read all amounts at the end of a question: "five feet seven inches"; None where not all is read."""
    begin = next((at for at in range(len(words)) if _amount_at(words, at) is not None), len(words))
    if find_number(" ".join(words[:begin])) is not None or {*words[:begin]} & ({*_JOINS, "times"} | {*_PARTS}):
        return None
    amounts: list[_Amount] = []
    at = begin
    while at < len(words):
        sign = _JOINS.get(words[at], 0) if amounts else 1
        read = _amount_at(words, at + bool(amounts and sign))
        if read is None:
            return None
        amounts.append(replace(read[0], count=(sign or 1) * read[0].count))
        at = read[1]
    return amounts or None


def _amount_at(words: Sequence[str], at: int) -> tuple[_Amount, int] | None:
    """Return the amount that begins at a word, and its end."""
    read = _count_at(words, at)
    if read is None:
        return None
    count, end = read
    lengths = range(min(3, len(words) - end), 0, -1)
    length = next((one for one in lengths if " ".join(words[end : end + one]) in _UNITS), 0)
    if not length:
        return None
    unit = _UNITS[" ".join(words[end : end + length])]
    end += length
    part = _part_at(words, end)
    if part is not None and _amount_at(words, end + 1) is None:
        count, end = count + part, end + 3
    return _Amount(count, *unit), end


def _count_at(words: Sequence[str], at: int) -> tuple[float, int] | None:
    """Return the count that begins at a word: "two and a half", "three quarters of an"."""
    number = number_at(words, at, "en")
    if number is not None:
        count, end = float(number[0]), at + number[1]
        if (part := _part_at(words, end)) is not None:
            return count + part, end + 3
    else:
        count, end = 1.0, at + (words[at : at + 1] in (["a"], ["an"]))
    if words[end : end + 1] and words[end] in _PARTS:
        count, end = count * _PARTS[words[end]], end + 1
        end += words[end : end + 1] == ["of"]
        end += words[end : end + 1] in (["a"], ["an"])
    return (count, end) if end > at else None


def _part_at(words: Sequence[str], at: int) -> float | None:
    """Return the part of "and a half"."""
    is_part = [*words[at : at + 2]] == ["and", "a"] and at + 2 < len(words)
    return _PARTS.get(words[at + 2]) if is_part else None


def _goes_on(words: Sequence[str]) -> bool:
    """Whether another amount is joined: "and a half", "plus twelve minutes"."""
    return any(
        word in _JOINS and (_part_at(words, at) is not None or _count_at(words, at + 1) is not None)
        for at, word in enumerate(words)
    )


def _names_more(words: Sequence[str]) -> bool:
    """Whether the count of a unit holds another amount: "five feet seven" inches."""
    return any(
        word in _UNITS and (words[at + 1] in _JOINS or number_at(words, at + 1, "en") is not None)
        for at, word in enumerate(words[:-1])
    )


def _named(name: str, count: float) -> str:
    if count == 1 and name not in ("celsius", "fahrenheit"):
        return name
    return _PLURALS.get(name, f"{name}s")


def _temperature(count: float, name: str, other: str) -> float | None:
    kelvin = {"celsius": count + 273.15, "fahrenheit": (count - 32) / 1.8 + 273.15, "kelvin": count}[name]
    if kelvin < 0:
        return None
    return {"celsius": kelvin - 273.15, "fahrenheit": (kelvin - 273.15) * 1.8 + 32, "kelvin": kelvin}[other]
