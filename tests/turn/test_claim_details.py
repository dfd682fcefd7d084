"""Which details of a claim contradict a call, and which do not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.tool.spoken_numbers import in_words
from realtime.turn.claim_details import details_of, fits, known_of
from realtime.turn.claims import Claims, Deed, DeedState, DeedTool, unbacked

BOOK = DeedTool("book_table", "Book a table.", ("I have booked the table",))
PAY = DeedTool("transfer_money", "Send money.", ("I have transferred the money",))
REMIND = DeedTool("set_reminder", "Set a reminder.", ("I have set the reminder",))
FOUR_ON_FRIDAY: dict[str, object] = {"people": 4, "day": "friday", "time": "20:00"}


def is_backed(tool: DeedTool, sentence: str, *calls: dict[str, object], result: str = "ok") -> bool:
    claims = Claims([tool]).of(sentence)
    assert claims, sentence
    deeds = [Deed(tool.name, DeedState.SUCCESS, result, json.dumps(arguments)) for arguments in calls]
    return not unbacked(claims, deeds)


@pytest.mark.parametrize(
    "sentence",
    [
        "Your table for six is booked.",
        "Your table for six on Saturday is booked.",
        "I've booked a table for two on Friday.",
        "Booked, Friday at nine.",
        "It's booked for half past seven.",
        "Table for two, Friday at eight, booked.",
        "I booked a second table.",
        "I've booked another table for you.",
        "I've booked two tables for you.",
    ],
)
def test_one_booking_does_not_back_another(sentence: str) -> None:
    assert not is_backed(BOOK, sentence, FOUR_ON_FRIDAY)


@pytest.mark.parametrize(
    "sentence",
    [
        "Your table for four is booked.",
        "I've booked the table for four on Friday at 8 pm.",
        "It's booked for eight.",
        "I've booked the table by the window, it took two minutes.",
        "Your table is booked, they hold it for fifteen minutes.",
        "I've booked it under Chen.",
        "Your table is booked, number twelve.",
        "I've booked Friday, not Saturday.",
    ],
)
def test_a_booking_backs_its_own_details_and_those_that_it_does_not_have(sentence: str) -> None:
    assert is_backed(BOOK, sentence, FOUR_ON_FRIDAY)


def test_each_detail_of_a_list_may_be_of_another_call() -> None:
    saturday: dict[str, object] = {"people": 6, "day": "saturday", "time": "20:00"}
    both = "I've booked a table for four on Friday and one for six on Saturday."
    assert is_backed(BOOK, both, FOUR_ON_FRIDAY, saturday)
    assert is_backed(BOOK, "I booked a second table.", FOUR_ON_FRIDAY, saturday)
    assert not is_backed(BOOK, "Your table for six on Friday is booked.", FOUR_ON_FRIDAY, saturday)
    assert not is_backed(BOOK, "I booked a third table.", FOUR_ON_FRIDAY, saturday)


def test_the_result_has_details_too() -> None:
    assert is_backed(BOOK, "It's booked for seven people.", {"people": 4}, result="Now for seven people.")
    assert not is_backed(BOOK, "It's booked for seven people.", {"people": 4}, result="ok")


@pytest.mark.parametrize(
    ("sentence", "backed"),
    [
        ("I've transferred fifty euros to Ann.", True),
        ("I've transferred €50, the fee is two euros.", True),
        ("I've transferred sixty euros to Ann.", False),
        ("€500 has been transferred to Ann.", False),
        ("I've transferred the money to Bob.", False),
        ("I've transferred the money to your sister.", True),
    ],
)
def test_amounts_and_recipients_are_compared(sentence: str, backed: bool) -> None:
    assert is_backed(PAY, sentence, {"recipient": "Ann Miller", "amount": 50, "currency": "EUR"}) is backed


@pytest.mark.parametrize(
    ("sentence", "backed"),
    [
        ("I've set the reminder for nine on Monday.", True),
        ("I've set the reminder for the thirtieth.", True),
        ("I've set the reminder for tomorrow.", True),
        ("I've set the reminder for ten.", False),
        ("I've set the reminder for Tuesday.", False),
        ("I've set the reminder for the twenty-ninth.", False),
    ],
)
def test_days_dates_and_times_are_read_from_a_moment(sentence: str, backed: bool) -> None:
    assert is_backed(REMIND, sentence, {"when": "2026-11-30T09:00"}) is backed


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"day": "friday", "duration_minutes": 90}, "I've booked a table for two."),
        ({"time": "2026-12-04T19:00:00Z"}, "The table's booked for eight o'clock."),
        ({"duration": "01:30"}, "The table's booked for eight o'clock."),
        ({"day": "tomorrow"}, "The table's booked for Friday."),
        ({"restaurant_id": 44}, "I've booked the table for four people."),
        ({"adults": 2, "children": 1}, "Your table for three is booked."),
    ],
)
def test_what_counts_something_else_contradicts_nothing(arguments: dict[str, object], sentence: str) -> None:
    assert is_backed(BOOK, sentence, arguments)


def test_without_known_arguments_no_detail_contradicts() -> None:
    claims = Claims([BOOK]).of("Your table for six is booked.")
    assert not unbacked(claims, [Deed("book_table", DeedState.SUCCESS)])


def test_of_a_result_that_is_too_long_to_be_read_no_detail_contradicts() -> None:
    assert is_backed(BOOK, "Your table for six is booked.", FOUR_ON_FRIDAY, result="word " * 1_000)


@given(st.integers(2, 40), st.integers(2, 40))
def test_a_count_fits_a_call_exactly_where_it_is_its_own(said: int, booked: int) -> None:
    details = details_of(f"I've booked a table for {in_words(said, 'en')} people.", {"table"})
    assert fits(details, [known_of(json.dumps({"people": booked}), "ok")]) is (said == booked)


@given(st.text(max_size=80), st.text(max_size=80))
def test_nothing_that_is_said_or_returned_breaks_it(said: str, returned: str) -> None:
    assert fits(details_of(said, frozenset()), [known_of(returned, returned)]) in (True, False)
