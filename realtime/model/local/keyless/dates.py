"""Reads dates and feasts, with the year that was said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from realtime.model.local.keyless.words import each
from realtime.tool.spoken_amounts import amount_at
from realtime.tool.spoken_times import day_of_month_at, year_at

MONTHS = each("january february march april may june july august september october november december")
FEASTS = {
    "christmas": (12, 25),
    "christmas eve": (12, 24),
    "new year": (1, 1),
    "new years": (1, 1),
    "halloween": (10, 31),
    "valentine": (2, 14),
    "valentines": (2, 14),
    "new year's": (1, 1),
    "new year's eve": (12, 31),
    "valentine's": (2, 14),
    "valentine's day": (2, 14),
}
_FEAST_WORDS = sorted(((tuple(each(name)), day) for name, day in FEASTS.items()), key=lambda one: -len(one[0]))
_IN_FIGURES = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
_ORDINAL = re.compile(r"(?<=\d)(?=(?:st|nd|rd|th)\b)")
_HYPHEN = re.compile(r"(?<=[a-z])-(?=[a-z])")
_YEAR = re.compile(r"[12]\d{3}")
_RELATIVE: dict[tuple[str, ...], int] = {("last", "year"): -1, ("this", "year"): 0, ("next", "year"): 1}


@dataclass(frozen=True, slots=True)
class SaidDate:
    """A day as it was said; `year` is None where none was. `may_be` is False where it can be read in two ways."""

    month: int
    day: int
    year: int | None = None
    is_sure: bool = True

    def on_or_after(self, today: date) -> date | None:
        """Return the day that is meant, else the next of its name. None: there is no such day, or it is in doubt."""
        return self._day(today, 1)

    def on_or_before(self, today: date) -> date | None:
        """Return the day that is meant, else the last of its name. None: there is no such day, or it is in doubt."""
        return self._day(today, -1)

    def _day(self, today: date, step: int) -> date | None:
        if not self.is_sure:
            return None
        years = [self.year] if self.year is not None else [today.year + step * count for count in range(9)]
        for year in years:
            try:
                day = date(year, self.month, self.day)
            except ValueError:
                continue
            if self.year is not None or (day >= today if step > 0 else day <= today):
                return day
        return None


@dataclass(frozen=True, slots=True)
class NamedDay:
    """A day that words name, and the words before it."""

    said: SaidDate
    before: str


def date_said(words: str, today: date) -> SaidDate | None:
    """Return the first day that plain words name; None: they name none. `today` is for "next year"."""
    return next((one.said for one in dates_said(words, today)), None)


def dates_said(words: str, today: date) -> list[NamedDay]:
    """Return the days that plain words name; a year that stands apart is that of a day without one."""
    tokens = tokens_of_dates(words)
    days: list[NamedDay] = []
    years: list[int] = []
    at = begin = 0
    while at < len(tokens):
        found = _date_at(tokens, at, today)
        if found is not None:
            days.append(NamedDay(found[0], " ".join(tokens[begin:at])))
            at = begin = found[1]
            continue
        if _YEAR.fullmatch(tokens[at]):
            years.append(int(tokens[at]))
        at += 1
    if len(days) == len(years) == 1 and days[0].said.year is None:
        days = [replace(days[0], said=replace(days[0].said, year=years[0]))]
    return days


def tokens_of_dates(words: str) -> list[str]:
    """Return the words of which days are read: "twenty-first" and "21st" are two each."""
    apart = _ORDINAL.sub(" ", _HYPHEN.sub(" ", words.lower().replace(",", " ")))
    return [token.strip(".?!") for token in apart.split()]


def _date_at(tokens: Sequence[str], at: int, today: date) -> tuple[SaidDate, int] | None:
    """Return the day that begins here, and the token behind it."""
    if _IN_FIGURES.fullmatch(tokens[at]):
        said = _in_figures([int(part) for part in re.split("[-/.]", tokens[at])], tokens[at])
        return said, at + 1
    for words, (month, day) in _FEAST_WORDS:
        if tuple(tokens[at : at + len(words)]) == words:
            return _with_year(month, day, tokens, at + len(words), today)
    if tokens[at] in MONTHS:
        begin = at + 1 + (tokens[at + 1 : at + 2] == ["the"])
        read = day_of_month_at(tokens, begin)
        month, end = MONTHS.index(tokens[at]) + 1, begin + (read[1] if read else 0)
    else:
        read = day_of_month_at(tokens, at)
        place = at + (read[1] if read else 0)
        place += tokens[place : place + 1] == ["of"]
        if read is None or tokens[place : place + 1] == [] or tokens[place] not in MONTHS:
            return None
        month, end = MONTHS.index(tokens[place]) + 1, place + 1
    return _with_year(month, read[0], tokens, end, today) if read is not None else None


def _in_figures(parts: Sequence[int], written: str) -> SaidDate:
    first, second, third = parts
    if first > 31:
        return SaidDate(second, third, first)
    if third < 100:
        third += 2000
    if "." in written or first > 12:
        return SaidDate(second, first, third)
    # 3/5 is in March to some and in May to others.
    return SaidDate(first, second, third, is_sure=second > 12 or first == second)


def _with_year(month: int, day: int, tokens: Sequence[str], at: int, today: date) -> tuple[SaidDate, int]:
    """Return the day with the year behind it: "1969", "of nineteen sixty nine", "next year"."""
    end = at
    while tokens[at : at + 1] in (["of"], ["in"], ["the"], ["year"]):
        at += 1
    if (step := _RELATIVE.get(tuple(tokens[at : at + 2]))) is not None:
        return SaidDate(month, day, today.year + step), at + 2
    if (year := year_at(tokens, at)) is not None:
        return SaidDate(month, day, year[0]), at + year[1]
    number = amount_at(tokens, at, "en") if at < len(tokens) else None
    if number is None:
        return SaidDate(month, day), end
    return SaidDate(month, day, is_sure=False), at + number[1]
