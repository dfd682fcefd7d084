"""Days and times of day as people say and recognisers write them: English, German, Spanish, Chinese. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, time
from functools import cache

from realtime.tool.spoken_numbers import Language, each, in_words, number_at, plain, tokens_of

WEEKDAYS: dict[Language, tuple[str, ...]] = {
    "en": ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    "de": ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"),
    "es": ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
    "zh": ("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"),
}
"""Monday first."""
NEAR_DAYS: dict[Language, tuple[str, ...]] = {
    "en": ("today", "tomorrow", "tonight"),
    "de": ("heute", "morgen", "heute abend"),
    "es": ("hoy", "mañana", "esta noche"),
    "zh": ("今天", "明天", "今晚"),
}
"""Days by their distance."""
MONTHS: dict[Language, tuple[str, ...]] = {
    "en": tuple(each("January February March April May June July August September October November December")),
    "de": tuple(each("Januar Februar März April Mai Juni Juli August September Oktober November Dezember")),
    "es": tuple(each("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre")),
    "zh": tuple(f"{in_words(month, 'zh')}月" for month in range(1, 13)),
}
_OTHER_WEEKDAYS: dict[Language, dict[str, int]] = {
    "en": {f"{day}s": at for at, day in enumerate(WEEKDAYS["en"])},
    "de": {"sonnabend": 5},
    "es": {},
    "zh": {f"{week}{day}": at for week in ("周", "礼拜") for at, day in enumerate("一二三四五六日")}
    | {f"{week}天": 6 for week in ("星期", "周", "礼拜")},
}
_TENS_ORDINALS = {"twentieth": 20, "thirtieth": 30}
_ORDINALS = {
    word: number
    for number, word in enumerate(
        each(
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
            "fifteenth sixteenth seventeenth eighteenth nineteenth"
        ),
        1,
    )
} | _TENS_ORDINALS
_TENS = frozenset(each("twenty thirty forty fifty sixty seventy eighty ninety hundred"))
_CENTURIES = range(11, 22)
_FIRST_CENTURY_OF_CLOCKS = 19
"""From here on, "nineteen thirty" behind a day is a year."""
_ORDINAL_WORDS = {number: word for word, number in _ORDINALS.items()}
_CLOCK = re.compile(r"(\d{1,2})[:.](\d{2})(?::\d{2})?")


@dataclass(frozen=True, slots=True)
class Day:
    """A day that was said: a weekday (0 is Monday) or a near day by its place in `NEAR_DAYS`."""

    weekday: int | None = None
    near: int | None = None


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day that was said."""

    hour: int
    minute: int
    is_sure: bool
    """Whether the half of the day is known."""


def day_at(tokens: Sequence[str], at: int, language: Language) -> tuple[Day, int] | None:
    """Return the day that begins at a token, and its length; None without one."""
    words = [plain(token) for token in tokens[at : at + 3]]
    for name, day in _days(language):
        if words[: len(name)] == name:
            return day, len(name)
    return None


@cache
def _days(language: Language) -> list[tuple[list[str], Day]]:
    names = [(name, Day(weekday=number)) for number, name in enumerate(WEEKDAYS[language])]
    names += [(name, Day(weekday=number)) for name, number in _OTHER_WEEKDAYS[language].items()]
    names += [(name, Day(near=number)) for number, name in enumerate(NEAR_DAYS[language])]
    split = [([plain(token) for token in tokens_of(name)], day) for name, day in names]
    return sorted(split, key=lambda one: -len(one[0]))


def ordinal_at(tokens: Sequence[str], at: int, language: Language) -> tuple[int, int] | None:
    """Return the ordinal that begins at a token ("29th"), and its length."""
    token, following = tokens[at], tokens[at + 1] if at + 1 < len(tokens) else ""
    if language == "en":
        if token.isdecimal() and following in ("st", "nd", "rd", "th"):
            return int(token), 2
        if token in ("twenty", "thirty") and _ORDINALS.get(following, 10) < 10:
            return (20 if token == "twenty" else 30) + _ORDINALS[following], 2
        if _ORDINALS.get(token, 10) < 10 and at and tokens[at - 1] in _TENS:
            return None
        # "second" is a length of time as often as a place.
        return (_ORDINALS[token], 1) if token in _ORDINALS and token != "second" else None
    if language == "zh":
        read = number_at(tokens, at, "zh")
        end = at + read[1] if read else at
        return (int(read[0]), read[1] + 1) if read and tokens[end : end + 1] in (["号"], ["日"]) else None
    if language == "de" and (match := re.fullmatch(r"^(.+?)(?:s?te[nrms]?)", token)):
        stem = {"er": "eins", "drit": "drei", "sieb": "sieben", "ach": "acht"}.get(match[1], match[1])
        read = number_at([stem], 0, "de")
        return (int(read[0]), 1) if read and 0 < read[0] <= 31 else None
    return None


def day_of_month_at(tokens: Sequence[str], at: int) -> tuple[int, int] | None:
    """Return the English day of a month that begins at a token.

    Words with a hyphen are two tokens.
    """
    if at >= len(tokens) or (at and tokens[at - 1] in _TENS and tokens[at] not in _TENS):
        # The end of another number: "thirty-second of May".
        return None
    read = ordinal_at(tokens, at, "en") or ((2, 1) if tokens[at] == "second" else None)
    if read is None and (number := number_at(tokens, at, "en")) is not None and number[0] == int(number[0]):
        read = int(number[0]), number[1]
    return read if read is not None and 1 <= read[0] <= 31 else None


def year_at(tokens: Sequence[str], at: int) -> tuple[int, int] | None:
    """Return the English year that begins at a token, and its length: "1969", "nineteen oh five"."""
    read = number_at(tokens, at, "en")
    if read is None:
        return None
    value, end = read[0], at + read[1]
    if value in _CENTURIES:
        is_first = tokens[end : end + 1] in (["oh"], ["o"])
        behind = number_at(tokens, end + is_first, "en")
        if behind is None or not (1 <= behind[0] < 10 if is_first else 10 <= behind[0] < 100):
            return None
        if value < _FIRST_CENTURY_OF_CLOCKS and behind[0] < 60:
            # "Eighteen twelve" is a time as well.
            return None
        value, end = 100 * value + behind[0], end + is_first + behind[1]
    return (int(value), end - at) if value == int(value) and 1000 <= value < 3000 else None


def time_at(tokens: Sequence[str], at: int, language: Language) -> tuple[Clock, int] | None:
    """Return the time that begins at a token, and its length.

    None without one.
    A bare number is a time only behind "at", "um", "a las", or with minutes or a half of the day.
    """
    reader = {"en": _english, "de": _german, "es": _spanish, "zh": _chinese}[language]
    read = reader(tokens, at)
    return read if read and 0 <= read[0].hour < 24 and 0 <= read[0].minute < 60 else None


def _small(tokens: Sequence[str], at: int, language: Language) -> tuple[int, int] | None:
    """Return a whole number below 60."""
    read = number_at(tokens, at, language)
    return (int(read[0]), read[1]) if read and read[0] == int(read[0]) and 0 <= read[0] < 60 else None


def _digits(token: str) -> tuple[int, int] | None:
    match = _CLOCK.fullmatch(token)
    return (int(match[1]), int(match[2])) if match and ":" in token else None


def _half(tokens: Sequence[str], at: int, halves: dict[str, int]) -> tuple[int | None, int]:
    """Return the half of a day that is said, and its length: 0 or 12."""
    plain_tokens = [plain(token) for token in tokens[at : at + 3]]
    for words, half in halves.items():
        said = words.split()
        if plain_tokens[: len(said)] == said:
            return half, len(said)
    return None, 0


def _clock(hour: int, minute: int, half: int | None) -> Clock:
    if half is not None and hour <= 12:
        hour = hour % 12 + half
    return Clock(hour, minute, half is not None or hour > 12 or hour == 0)


_EN_HALVES = {
    "am": 0, "a m": 0, "pm": 12, "p m": 12, "in the morning": 0, "in the afternoon": 12, "in the evening": 12,
    "at night": 12, "tonight": 12,
}  # fmt: skip
_DE_HALVES = {"morgens": 0, "fruh": 0, "vormittags": 0, "nachmittags": 12, "abends": 12}
_ES_HALVES = {"de la manana": 0, "de la tarde": 12, "de la noche": 12}
_ZH_HALVES = {"早 上": 0, "上 午": 0, "下 午": 12, "晚 上": 12, "傍 晚": 12, "中 午": 12}


def _english(tokens: Sequence[str], at: int) -> tuple[Clock, int] | None:
    begin, is_marked = at, False
    if tokens[at] in ("at", "by") and at + 1 < len(tokens):
        at, is_marked = at + 1, True
    if tokens[at] in ("noon", "midnight"):
        return Clock(12 if tokens[at] == "noon" else 0, 0, True), at + 1 - begin
    shift = None
    for words, minutes in {"half past": 30, "quarter past": 15, "quarter to": -15, "a quarter past": 15}.items():
        if list(tokens[at : at + len(words.split())]) == words.split():
            shift, at = minutes, at + len(words.split())
            break
    if at >= len(tokens):
        return None
    if (clock := _digits(tokens[at])) is not None:
        hour, minute, end = *clock, at + 1
        is_marked = True
    elif (read := _small(tokens, at, "en")) is not None:
        hour, minute, end = read[0], 0, at + read[1]
        if shift is not None:
            hour, minute = (hour, shift) if shift > 0 else (hour - 1, 60 + shift)
            is_marked = True
        elif hour <= 12 and (behind := _small(tokens, end, "en")) is not None and behind[0] >= 10:
            minute, end, is_marked = behind[0], end + behind[1], True
        elif tokens[end : end + 1] == ["oh"] and (behind := _small(tokens, end + 1, "en")) is not None:
            minute, end, is_marked = behind[0], end + 1 + behind[1], True
    else:
        return None
    if end < len(tokens) and tokens[end] in ("o'clock", "oclock"):
        end, is_marked = end + 1, True
    half, count = _half(tokens, end, _EN_HALVES)
    if not is_marked and half is None:
        return None
    return _clock(hour, minute, half), end + count - begin


def _german(tokens: Sequence[str], at: int) -> tuple[Clock, int] | None:
    begin, is_marked = at, False
    if tokens[at] in ("um", "gegen") and at + 1 < len(tokens):
        at, is_marked = at + 1, True
    shift = 0
    for words, minutes in {"halb": -30, "viertel nach": 15, "viertel vor": -15, "dreiviertel": -15}.items():
        if list(tokens[at : at + len(words.split())]) == words.split():
            shift, at = minutes, at + len(words.split())
            break
    if at >= len(tokens):
        return None
    if (clock := _digits(tokens[at])) is not None:
        hour, minute, end, is_marked = *clock, at + 1, True
    else:
        read = (1, 1) if tokens[at] == "ein" else _small(tokens, at, "de")
        if read is None:
            return None
        hour, minute, end = read[0], 0, at + read[1]
    if shift:
        hour, minute, is_marked = (hour, shift, True) if shift > 0 else (hour - 1, 60 + shift, True)
    if tokens[end : end + 1] == ["uhr"]:
        end, is_marked = end + 1, True
        if (behind := _small(tokens, end, "de")) is not None:
            minute, end = behind[0], end + behind[1]
    half, count = _half(tokens, end, _DE_HALVES)
    if not is_marked and half is None:
        return None
    return _clock(hour, minute, half), end + count - begin


def _spanish(tokens: Sequence[str], at: int) -> tuple[Clock, int] | None:
    begin, is_marked = at, False
    if tokens[at] == "a" and tokens[at + 1 : at + 2] in (["las"], ["la"]):
        at, is_marked = at + 2, True
    elif tokens[at] == "las":
        at, is_marked = at + 1, True
    if at >= len(tokens):
        return None
    if (clock := _digits(tokens[at])) is not None:
        hour, minute, end, is_marked = *clock, at + 1, True
    else:
        read = (1, 1) if tokens[at] == "una" and is_marked else _small(tokens, at, "es")
        if read is None:
            return None
        hour, minute, end = read[0], 0, at + read[1]
        for words, minutes in {"y media": 30, "y cuarto": 15, "menos cuarto": -15}.items():
            if list(tokens[end : end + 2]) == words.split():
                hour, minute = (hour, minutes) if minutes > 0 else (hour - 1, 60 + minutes)
                end, is_marked = end + 2, True
                break
        else:
            if tokens[end : end + 1] == ["y"] and (behind := _small(tokens, end + 1, "es")) is not None:
                minute, end = behind[0], end + 1 + behind[1]
    half, count = _half(tokens, end, _ES_HALVES)
    if not is_marked and half is None:
        return None
    return _clock(hour, minute, half), end + count - begin


def _chinese(tokens: Sequence[str], at: int) -> tuple[Clock, int] | None:
    half, count = _half(tokens, at, _ZH_HALVES)
    end = at + count
    if end >= len(tokens):
        return None
    if (clock := _digits(tokens[end])) is not None:
        return _clock(*clock, half), end + 1 - at
    digits = end
    while digits < len(tokens) and tokens[digits] in "零一二两三四五六七八九十":
        digits += 1
    read = _small(tokens[:digits], end, "zh") if digits > end else _small(tokens, end, "zh")
    if read is None or tokens[end + read[1] : end + read[1] + 1] not in (["点"], ["时"]):
        return None
    end += read[1] + 1
    minute = 0
    if tokens[end : end + 1] == ["半"]:
        minute, end = 30, end + 1
    elif list(tokens[end : end + 2]) == ["一", "刻"]:
        minute, end = 15, end + 2
    elif (behind := _small(tokens, end, "zh")) is not None and (
        # "八点六个人" are six people at eight.
        behind[0] >= 10
        or tokens[end : end + 1] in (["零"], ["〇"])
        or tokens[end + behind[1] : end + behind[1] + 1] == ["分"]
    ):
        minute, end = behind[0], end + behind[1] + (tokens[end + behind[1] : end + behind[1] + 1] == ["分"])
    elif tokens[end : end + 1] == ["钟"]:
        end += 1
    return _clock(read[0], minute, half), end - at


def say_date(day: date, language: Language) -> str:
    """Return a date with its weekday, in words."""
    weekday, month = WEEKDAYS[language][day.weekday()], MONTHS[language][day.month - 1]
    match language:
        case "en":
            return f"{weekday.title()}, {month} {_say_ordinal(day.day)}, {_say_year(day.year)}"
        case "de":
            ordinal = {1: "erste", 3: "dritte", 7: "siebte", 8: "achte"}.get(day.day)
            ordinal = ordinal or in_words(day.day, "de") + ("te" if day.day < 20 else "ste")
            return f"{weekday.title()}, {ordinal}r {month} {in_words(day.year, 'de')}"
        case "es":
            return f"{weekday} {in_words(day.day, 'es')} de {month} de {in_words(day.year, 'es')}"
        case "zh":
            year = "".join(in_words(int(digit), "zh") for digit in str(day.year))
            return f"{year}年{month}{in_words(day.day, 'zh')}日{weekday}"


def _say_ordinal(number: int) -> str:
    if number in _ORDINAL_WORDS:
        return _ORDINAL_WORDS[number]
    return f"{in_words(number - number % 10, 'en')}-{_ORDINAL_WORDS[number % 10]}"


def _say_year(year: int) -> str:
    first, rest = divmod(year, 100)
    if not 1100 <= year < 2100 or not rest or (first % 10 == 0 and rest < 10):
        return in_words(year, "en")
    return f"{in_words(first, 'en')} {'oh ' if rest < 10 else ''}{in_words(rest, 'en')}"


def say_time(at: time, language: Language) -> str:
    """Return a time of day in words."""
    hour, minute = at.hour, at.minute
    match language:
        case "en":
            if minute == 0 and hour in (0, 12):
                return "noon" if hour else "midnight"
            said = f" {'oh ' if minute < 10 else ''}{in_words(minute, 'en')}" if minute else ""
            return f"{in_words(hour % 12 or 12, 'en')}{said} {'PM' if hour >= 12 else 'AM'}"
        case "de":
            first = "ein" if hour == 1 else in_words(hour, "de")
            return f"{first} Uhr{' ' + in_words(minute, 'de') if minute else ''}"
        case "es":
            first = "una" if hour % 12 == 1 else in_words(hour % 12 or 12, "es")
            half = "de la mañana" if hour < 12 else "de la tarde" if hour < 20 else "de la noche"
            return f"{first}{' y ' + in_words(minute, 'es') if minute else ''} {half}"
        case "zh":
            return f"{in_words(hour, 'zh')}点{in_words(minute, 'zh') + '分' if minute else ''}"
