"""Numbers, days and times as people say them: written for a voice, and read from a recogniser."""

from datetime import date, time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.tool.spoken_numbers import LANGUAGES, MOST, digit_by_digit, folded, in_words, number_at, tokens_of
from realtime.tool.spoken_times import Clock, Day, day_at, ordinal_at, say_date, say_time, time_at

languages = st.sampled_from(LANGUAGES)


@given(st.integers(0, 999_999), languages)
def test_a_number_in_words_is_read_as_that_number(value: int, language: str) -> None:
    tokens = tokens_of(folded(in_words(value, language)))  # type: ignore[arg-type]
    assert number_at(tokens, 0, language) == (Decimal(value), len(tokens))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("language", "said", "value"),
    [
        ("en", "a hundred and twenty", "120"),
        ("en", "two thousand five hundred", "2500"),
        ("en", "three point five", "3.5"),
        ("en", "1,250", "1250"),
        ("en", "1,250.75", "1250.75"),
        ("en", "45.50", "45.50"),
        ("en", "2 thousand", "2000"),
        ("en", "twenty-five", "25"),
        ("de", "fünfundzwanzig", "25"),
        ("de", "zwei tausend", "2000"),
        ("de", "dreitausendzweihundertfünfundvierzig", "3245"),
        ("de", "1.250,50", "1250.50"),
        ("de", "drei komma fünf", "3.5"),
        ("es", "treinta y cinco", "35"),
        ("es", "doscientas cincuenta", "250"),
        ("es", "mil quinientos", "1500"),
        ("zh", "两百五", "250"),
        ("zh", "三点五", "3.5"),
        ("zh", "一万二千", "12000"),
    ],
)
def test_numbers_are_read_as_recognisers_write_them(language: str, said: str, value: str) -> None:
    tokens = tokens_of(folded(said))
    assert number_at(tokens, 0, language) == (Decimal(value), len(tokens))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "a table"), ("en", "and five"), ("en", "10:30"), ("de", "ein"), ("es", "una"), ("zh", "好")],
)
def test_articles_times_and_other_words_are_no_numbers(language: str, said: str) -> None:
    assert number_at(tokens_of(said), 0, language) is None  # type: ignore[arg-type]


def test_two_numbers_in_a_row_are_two() -> None:
    assert number_at(["one", "two", "three"], 0, "en") == (Decimal(1), 1)


def test_a_number_that_no_voice_says_well_is_refused() -> None:
    with pytest.raises(ValueError, match="not written as words"):
        in_words(MOST, "en")


@pytest.mark.parametrize(
    ("digits", "said"),
    [
        ("4471", "four four seven one"),
        ("170-1234567", "one seven zero, one two three, four five six seven"),
    ],
)
def test_digits_are_said_one_by_one_in_groups(digits: str, said: str) -> None:
    assert digit_by_digit(digits, "en") == said


@given(st.times().map(lambda at: at.replace(second=0, microsecond=0)), languages)
def test_a_time_that_is_said_is_read_as_that_time(at: time, language: str) -> None:
    said = say_time(at, language)  # type: ignore[arg-type]
    tokens = tokens_of(folded(f"a las {said}" if language == "es" else said))
    read = time_at(tokens, 0, language)  # type: ignore[arg-type]
    assert read is not None
    assert (read[0].minute, read[0].hour % 12) == (at.minute, at.hour % 12)
    assert read[0].hour == at.hour or not read[0].is_sure


@pytest.mark.parametrize(
    ("language", "said", "clock"),
    [
        ("en", "at eight", Clock(8, 0, False)),
        ("en", "7:30 pm", Clock(19, 30, True)),
        ("en", "7 p.m.", Clock(19, 0, True)),
        ("en", "half past seven", Clock(7, 30, False)),
        ("en", "quarter to eight in the evening", Clock(19, 45, True)),
        ("en", "noon", Clock(12, 0, True)),
        ("de", "halb acht", Clock(7, 30, False)),
        ("de", "um 19 uhr 30", Clock(19, 30, True)),
        ("es", "a las ocho y media de la tarde", Clock(20, 30, True)),
        ("zh", "下午三点半", Clock(15, 30, True)),
    ],
)
def test_times_are_read_as_people_say_them(language: str, said: str, clock: Clock) -> None:
    tokens = tokens_of(folded(said))
    assert time_at(tokens, 0, language) == (clock, len(tokens))  # type: ignore[arg-type]


@pytest.mark.parametrize("said", ["eight", "25:99", "at", "the"])
def test_a_bare_number_is_no_time(said: str) -> None:
    assert time_at([said], 0, "en") is None


@pytest.mark.parametrize(
    ("language", "said", "day"),
    [
        ("en", "friday", Day(weekday=4)),
        ("en", "tomorrow", Day(near=1)),
        ("de", "heute abend", Day(near=2)),
        ("es", "miercoles", Day(weekday=2)),
        ("zh", "周日", Day(weekday=6)),
    ],
)
def test_days_are_read(language: str, said: str, day: Day) -> None:
    tokens = tokens_of(said)
    assert day_at(tokens, 0, language) == (day, len(tokens))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("language", "said", "day"),
    [("en", "29th", 29), ("en", "twenty ninth", 29), ("en", "third", 3), ("de", "dritten", 3), ("zh", "二十九号", 29)],
)
def test_days_of_a_month_are_read(language: str, said: str, day: int) -> None:
    tokens = tokens_of(said)
    assert ordinal_at(tokens, 0, language) == (day, len(tokens))  # type: ignore[arg-type]


def test_dates_are_said_with_their_weekday() -> None:
    day = date(2026, 11, 28)
    assert [say_date(day, language) for language in LANGUAGES] == [
        "Saturday, November twenty-eighth, twenty twenty-six",
        "Samstag, achtundzwanzigster November zweitausendsechsundzwanzig",
        "sábado veintiocho de noviembre de dos mil veintiséis",
        "二零二六年十一月二十八日星期六",
    ]
