"""Sums as people say them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.model.local.keyless.arithmetic import evaluate, find_expression, find_number, say_expression, say_number


@pytest.mark.parametrize(
    ("heard", "expression", "value"),
    [
        ("What is twelve times seven?", "12 * 7", "84"),
        ("What's 12 x 7?", "12 * 7", "84"),
        ("20 percent of 50", "20 % * 50", "10"),
        ("What is 10-3?", "10 - 3", "7"),
        ("1/2 plus 1/4", "1 / 2 + 1 / 4", "0.75"),
        ("one thousand 500 plus 1", "1500 + 1", "1,501"),
        ("1 divided by 100000", "1 / 100000", "0.00001"),
        ("What's 15% of 80, please?", "15 % * 80", "12"),
        ("twenty-three point five minus two", "23.5 - 2", "21.5"),
        ("one hundred and twenty three plus one thousand", "123 + 1000", "1,123"),
        ("two thousand five hundred plus a hundred", "2500 + 100", "2,600"),
        ("What is the square root of 144?", "sqrt 144", "12"),
        ("5 squared", "5 ^ 2", "25"),
        ("2 to the power of 8", "2 ^ 8", "256"),
        ("subtract 3 from 10", "10 - 3", "7"),
        ("Add two and two.", "2 + 2", "4"),
        ("half of 90", "0.5 * 90", "45"),
        ("What is 1,234 times 2?", "1234 * 2", "2,468"),
        ("two plus two times three", "2 + 2 * 3", "8"),
        ("(2 + 3) * 4", "( 2 + 3 ) * 4", "20"),
        ("minus five plus two", "- 5 + 2", "-3"),
        ("10 divided by 4", "10 / 4", "2.5"),
        ("Hello! What is 10 ÷ 4? Thanks.", "10 / 4", "2.5"),
    ],
)
def test_a_sum_is_found_and_worked_out(heard: str, expression: str, value: str) -> None:
    assert find_expression(heard) == expression
    assert say_number(evaluate(expression)) == value


@pytest.mark.parametrize(
    "heard",
    [
        "",
        "That one over there",
        "Turn on the lamp.",
        "8 of spades, 4 of clubs",
        "at 10:30",
        "one two three",
        "minus 5",
        "+",
        "I'm 100% sure",
        "Call 555-1234.",
        "I was born on 12/05/1990.",
        "We are open 24/7.",
    ],
)
def test_other_talk_holds_no_sum(heard: str) -> None:
    assert find_expression(heard) is None


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("7 / 0", "zero"),
        ("9 ^ 9 ^ 9", "power"),
        ("999999999 * 999999999", "too big"),
        ("sqrt -4", "negative"),
        ("import os", "not a sum"),
        ("(2 + 3", "not a sum"),
        ("1 +", "not a sum"),
        ("1 " * 200, "too long"),
        ("-" * 100 + "1", "too long"),
    ],
)
def test_what_cannot_be_worked_out_is_said_in_a_sentence(expression: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        evaluate(expression)


def test_a_sum_may_be_given_in_words() -> None:
    assert evaluate("twelve times seven") == 84


def test_expressions_and_numbers_are_said_as_people_say_them() -> None:
    assert say_expression("12 * 7") == "12 times 7"
    assert say_expression("20 % * 50") == "20 percent of 50"
    assert say_expression("5 ^ 2") == "5 squared"
    assert say_expression("2 ^ 20") == "2 to the power of 20"
    assert say_expression("10.5 * 3") == "10.5 times 3"
    assert say_number(1 / 3) == "0.3333"
    assert say_number(1234567.0) == "1,234,567"


def test_the_first_number_is_found_in_words_and_digits() -> None:
    assert find_number("in five minutes") == 5
    assert find_number("for 2.5 hours") == 2.5
    assert find_number("a lot") is None


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
