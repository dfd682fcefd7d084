"""Sums as people say them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.model.local.keyless import arithmetic
from realtime.model.local.keyless.arithmetic import evaluate, find_expression, find_number, say_expression, say_number
from tests.model.local.rows import assert_none, rows


def test_sums_are_found_and_worked_out_and_other_talk_holds_none() -> None:
    assert find_expression("") is None
    assert evaluate("twelve times seven") == 84
    wrong = []
    for heard, expression, value in rows("sums"):
        found = find_expression(heard)
        worked_out = "-" if found is None else say_number(evaluate(found))
        if (found or "-", worked_out) != (expression, value):
            wrong.append((heard, found, worked_out))
    assert_none(wrong)


def test_what_cannot_be_worked_out_is_said_in_a_sentence() -> None:
    for expression, complaint in (
        ("7 / 0", "zero"),
        ("9 ^ 9 ^ 9", "power"),
        ("999999999 * 999999999", "too big"),
        ("sqrt -4", "negative"),
        ("import os", "not a sum"),
        ("(2 + 3", "not a sum"),
        ("1 +", "not a sum"),
        ("1 " * 200, "too long"),
        ("-" * 100 + "1", "too long"),
    ):
        with pytest.raises(ValueError, match=complaint):
            evaluate(expression)


def test_expressions_and_numbers_are_said_as_people_say_them_and_found_in_words_and_digits() -> None:
    said = {
        "12 * 7": "12 times 7",
        "20 % * 50": "20 percent of 50",
        "5 ^ 2": "5 squared",
        "2 ^ 20": "2 to the power of 20",
        "10.5 * 3": "10.5 times 3",
    }
    assert {expression: say_expression(expression) for expression in said} == said
    assert (say_number(1 / 3), say_number(1234567.0)) == ("0.3333", "1,234,567")
    numbers = {"in five minutes": 5, "for 2.5 hours": 2.5, "a lot": None}
    assert {words: find_number(words) for words in numbers} == numbers


def outcome(expression: str) -> str:
    """What a user would be told: the value or the complaint. Any other error is a failure."""
    try:
        return say_number(evaluate(expression))
    except ValueError as complaint:
        return str(complaint)


@given(st.text(alphabet="0123456789.+-*/^%() abeinortuwxyz,:'", max_size=80))
def test_no_text_does_harm(text: str) -> None:
    expression = find_expression(text)
    assert expression is None or outcome(expression)
    assert outcome(text)


@pytest.mark.parametrize("text", ["(" * 200, "(" * 90 + "1" + "(" * 90, "1" + "(" * 190, "- " * 100, "and (" * 40])
def test_brackets_and_signs_without_a_sum_are_not_tried_in_every_way(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    monkeypatch.setattr(arithmetic, "_parses", lambda expression: tried.append(expression) or False)
    assert find_expression(f"book {text}") is None
    assert len(tried) <= len(text)
