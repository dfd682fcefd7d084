"""Numbers, days and times as people say them: written for a voice, and read from a recogniser."""

from datetime import date, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from realtime.tool.spoken_numbers import LANGUAGES, MOST, digit_by_digit, folded, in_words, number_at, tokens_of
from realtime.tool.spoken_times import Clock, Day, day_at, ordinal_at, say_date, say_time, time_at
from tests.tables import rows

languages = st.sampled_from(LANGUAGES)


@example(31_000, "es")
@example(201_667, "es")
@example(710_010, "zh")
@given(st.integers(0, 999_999), languages)
def test_a_number_in_words_is_read_as_that_number(value: int, language: Any) -> None:
    tokens = tokens_of(folded(in_words(value, language)))
    assert number_at(tokens, 0, language) == (Decimal(value), len(tokens))


def clock(text: str) -> Clock:
    hour_and_minute, _, certainty = text.partition(" ")
    hour, minute = hour_and_minute.split(":")
    return Clock(int(hour), int(minute), certainty == "sure")


def day(text: str) -> Day:
    field, value = text.split()
    return Day(**{field: int(value)})


READERS: dict[str, tuple[Any, Any]] = {
    "number": (number_at, Decimal),
    "time": (time_at, clock),
    "day": (day_at, day),
    "ordinal": (ordinal_at, int),
}
"""By the kind of a row: what reads the words, and what the last cell stands for; `-` stands for nothing."""


@pytest.mark.parametrize("kind", READERS)
def test_numbers_times_and_days_are_read_as_recognisers_write_them(kind: str) -> None:
    read, meaning = READERS[kind]
    wrong = {}
    for language, said, value in rows("spoken_numbers.tsv", kind):
        tokens = tokens_of(folded(said))
        found = read(tokens, 0, language)
        if found != (None if value == "-" else (meaning(value), len(tokens))):
            wrong[language, said] = found
    assert wrong == {}


def test_two_numbers_in_a_row_are_two() -> None:
    assert number_at(["one", "two", "three"], 0, "en") == (Decimal(1), 1)


def test_a_number_that_no_voice_says_well_is_refused() -> None:
    with pytest.raises(ValueError, match="not written as words"):
        in_words(MOST, "en")


def test_digits_are_said_one_by_one_in_groups() -> None:
    assert digit_by_digit("4471", "en") == "four four seven one"
    assert digit_by_digit("170-1234567", "en") == "one seven zero, one two three, four five six seven"


@given(st.times().map(lambda at: at.replace(second=0, microsecond=0)), languages)
def test_a_time_that_is_said_is_read_as_that_time(at: time, language: Any) -> None:
    said = say_time(at, language)
    tokens = tokens_of(folded(f"a las {said}" if language == "es" else said))
    read = time_at(tokens, 0, language)
    assert read is not None
    assert (read[0].minute, read[0].hour % 12) == (at.minute, at.hour % 12)
    assert read[0].hour == at.hour or not read[0].is_sure


def test_dates_are_said_with_their_weekday() -> None:
    assert [say_date(date(2026, 11, 28), language) for language in LANGUAGES] == [
        "Saturday, November twenty-eighth, twenty twenty-six",
        "Samstag, achtundzwanzigster November zweitausendsechsundzwanzig",
        "sábado veintiocho de noviembre de dos mil veintiséis",
        "二零二六年十一月二十八日星期六",
    ]
