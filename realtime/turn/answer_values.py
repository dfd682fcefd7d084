"""New values in the form of the old ones: a time as "7:30 PM", a day inside a text, one more than before. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from realtime.tool.spoken_numbers import LANGUAGES, Language, matches_of, number_at, numeral
from realtime.tool.spoken_times import NEAR_DAYS, WEEKDAYS, Clock, Day
from realtime.turn.answer_phrases import as_compared, word_set
from realtime.turn.answer_pieces import Choice, Number, Ordinal, Value, value_at

_MORE = word_set("more mehr mas extra additional another noch weitere weiterer weiteren zusatzlich otra otro 多 再")
_LESS = word_set("less fewer weniger menos 少")
_LATER = word_set("later spater tarde despues 晚")
_EARLIER = word_set("earlier sooner fruher antes 早")
_HOURS = word_set("hour hours stunde stunden hora horas 时")
_MINUTES = word_set("minute minutes mins minuten minuto minutos 分")
_HALVES = word_set("half halbe halben media 半")
ONES = word_set("a an ein eine einen un una one eins")
_SAYS_NOTHING = word_set("than that als das que eso add only just now of it nur jetzt solo ahora 钟 个 小 加 点")
_FACTORS = {
    ("half",): Decimal("0.5"),
    ("die", "halfte"): Decimal("0.5"),
    ("halfte",): Decimal("0.5"),
    ("la", "mitad"): Decimal("0.5"),
    ("mitad",): Decimal("0.5"),
    ("一", "半"): Decimal("0.5"),
    ("double",): Decimal(2),
    ("twice",): Decimal(2),
    ("doppelt",): Decimal(2),
    ("doble",): Decimal(2),
}


@dataclass(frozen=True, slots=True)
class Shift:
    """How a value is to differ from the old one."""

    by: Decimal
    """What is added: a number, or minutes of a time of day."""
    is_time: bool
    factor: Decimal = Decimal(1)
    noun: str = ""
    """What the number counts; "" where that is not said."""

    def applied(self, old: object) -> object | None:
        """Return the new value; None where the old one is of another kind."""
        if self.is_time:
            return _later(old, int(self.by)) if self.by == int(self.by) else None
        number = number_of(old)
        if number is None:
            return None
        new = number * self.factor + self.by
        if isinstance(old, str):
            return format(new.normalize(), "f")
        return int(new) if new == int(new) else float(new)


def shift_in(tokens: Sequence[str], language: Language, knows: Callable[[str], bool]) -> Shift | None:
    """Return how words ask for more or less; None where they do not, or say anything else.

    `knows` says whether a word is of the question.
    """
    words = [token for token in tokens if token != "mas" or "tarde" not in tokens]
    told = [token for token in words if not knows(token) and token not in _SAYS_NOTHING]
    if (factor := _FACTORS.get(tuple(told))) is not None:
        return Shift(Decimal(0), is_time=False, factor=factor)
    ways = [token for token in words if token in _MORE | _LESS | _LATER | _EARLIER]
    if len(ways) != 1:
        return None
    sign = -1 if ways[0] in _LESS | _EARLIER else 1
    rest = [token for token in words if token != ways[0]]
    amount, noun = _amount_in(rest, language)
    if amount is None:
        # "another day" is a different one: what is added has to be counted.
        is_single = ways[0] in ("another", "otra", "otro") and len(rest) == 1
        return Shift(Decimal(1), is_time=False, noun=rest[0]) if is_single else None
    value = amount[0]
    taken = rest[amount[1] :]
    is_time = ways[0] in _LATER | _EARLIER
    unit = 60 if _HOURS & {*taken} else 1 if _MINUTES & {*taken} else 0
    left = [token for token in taken if token not in _HOURS | _MINUTES | _SAYS_NOTHING and token != noun]
    if any(not knows(token) and token not in _SAYS_NOTHING for token in [*left, *rest[: amount[2]]]):
        return None
    if is_time != bool(unit) or (is_time and noun not in (*_HOURS, *_MINUTES, "个", "小", "")):
        return None
    return Shift(sign * value * (unit or 1), is_time, noun="" if is_time else noun)


def _amount_in(words: Sequence[str], language: Language) -> tuple[tuple[Decimal, int, int] | None, str]:
    """Return a number, its end and begin, and the word behind it."""
    for at, word in enumerate(words):
        end, value = at, None
        if word in _HALVES:
            value, end = Decimal("0.5"), at + 1
            end += words[end : end + 1] in (["an"], ["a"])
        elif word in ONES and words[at + 1 : at + 2] and words[at + 1] in _HALVES:
            value, end = Decimal("0.5"), at + 2
        elif (read := number_at(words, at, language)) is not None:
            value, end = read[0], at + read[1]
        elif word in ONES:
            value, end = Decimal(1), at + 1
        if value is not None:
            behind = [one for one in words[end:] if one not in ("个", "than")]
            return (value, end, at), (behind[0] if behind else "")
    return None, ""


def _later(old: object, minutes: int) -> str | None:
    """Return a time so many minutes later on the same day."""
    if not isinstance(old, str) or (match := _TIME.fullmatch(old.strip())) is None:
        return None
    hour = int(match[1])
    if match[4]:
        hour = hour % 12 + (12 if match[4].lower() == "p" else 0)
    at = hour * 60 + int(match[2]) + minutes
    return clock_like(old, Clock(at // 60, at % 60, True)) if 0 <= at < 24 * 60 else None


def replaced_in(text: str, new: Value, written: str, language: Language, has: Callable[[Value], bool]) -> str | None:
    """Return a text with another value for its only such one; None without one.

    `written` is the new one as said; `has` says whether the question has the old one.
    """
    if isinstance(new, Choice):
        return None
    tokens, spans, at = as_compared(text), matches_of(text), 0
    places: list[tuple[int, int]] = []
    while at < len(tokens):
        value, count = value_at(tokens, at, language, {})
        if value is not None and type(value) is type(new) and has(value):
            places.append((spans[at].start(), spans[at + count - 1].end()))
        at += count
    if len(places) != 1 or len(tokens) != len(spans):
        return None
    begin, end = places[0]
    old = text[begin:end]
    if old[:1].isdigit():
        written = _in_digits(new)
    elif old[:1].isupper():
        written = written[:1].upper() + written[1:]
    return text[:begin] + written + text[end:] if written else None


def _in_digits(new: Value) -> str:
    if isinstance(new, Number):
        return format(new.value, "f")
    if isinstance(new, Ordinal):
        tail = "th" if 10 <= new.day <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(new.day % 10, "th")
        return f"{new.day}{tail}"
    return ""


def number_of(value: object) -> Decimal | None:
    """Return the value of a number or of a text of digits; None for others."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return Decimal(str(value))
    return numeral(value.strip(), "en") if isinstance(value, str) and value[:1].isdigit() else None


def day_like(old: object, new: Day) -> str | None:
    """Return a new day in the language of the old one."""
    if not isinstance(old, str):
        return None
    for language in LANGUAGES:
        weekdays, near = WEEKDAYS[language], NEAR_DAYS[language]
        if old.strip().lower() in (*weekdays, *near):
            if new.weekday is None:
                return near[new.near or 0]
            name = weekdays[new.weekday]
            is_near = old.strip().lower() in near and language == "en"
            return name.title() if old[:1].isupper() or language == "de" or is_near else name
    return None


_TIME = re.compile(r"(\d{1,2}):(\d{2})(:\d{2})?(?:\s?([AaPp])\.?[Mm]\.?)?")


def clock_like(old: object, new: Clock) -> str | None:
    """Return a new time in the form of the old one; without a half of the day, in that of the old one."""
    if not isinstance(old, str) or (match := _TIME.fullmatch(old.strip())) is None:
        return None
    hour = int(match[1])
    if match[4]:
        hour = hour % 12 + (12 if match[4].lower() == "p" else 0)
    at = new.hour if new.is_sure or new.hour == 0 else new.hour % 12 + (12 if hour >= 12 else 0)
    if match[4]:
        half = ("PM" if at >= 12 else "AM") if match[4].isupper() else ("pm" if at >= 12 else "am")
        space = " " if " " in old.strip() else ""
        return f"{at % 12 or 12}:{new.minute:02}{space}{half}"
    written = f"{at:02}" if len(match[1]) == 2 else str(at)
    return f"{written}:{new.minute:02}{':00' if match[3] else ''}"


def date_like(old: object, day: int) -> str | None:
    """Return an ISO date, also one without a year, with another day."""
    if not isinstance(old, str):
        return None
    try:
        whole = date.fromisoformat(old if len(old) > len("MM-DD") else f"2000-{old}")
        return whole.replace(day=day).isoformat()[-len(old) :]
    except ValueError:
        return None
