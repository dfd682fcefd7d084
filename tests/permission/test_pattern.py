"""Patterns of rules: conditions on arguments, read the same by people and by the engine."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.permission.pattern import MAX_PATTERN_CHARS, canonical, matches, matches_text, pattern_of
from realtime.permission.tools import ToolPermissions

ANNA = {"recipient": "Anna", "amount": 20}

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
tricky = st.sampled_from(["a, b=1", "*", "2 * 3", "20", "true", '"x"', " x", "[1]", "=", "<5"])
scalars = st.none() | st.booleans() | numbers | st.text() | tricky
values = st.recursive(scalars, lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(), one, max_size=3))
names = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
arguments = st.dictionaries(names, values, min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (None, True),
        ("", True),
        ("*", True),
        ("recipient=Anna", True),
        ("recipient=Anna, amount=20", True),
        ("recipient=Anna, amount<=20", True),
        ("recipient = Anna ,  amount <= 20", True),
        ("recipient=A*", True),
        ("recipient=*nn*", True),
        ("recipient=anna", False),
        ("recipient=An", False),
        ("recipient=Bob", False),
        ("recipient!=Bob", True),
        ("recipient!=Anna", False),
        ('recipient="Anna"', True),
        ('recipient="A*"', False),
        ("amount=20.0", True),
        ("amount=2e1", True),
        ("amount<20", False),
        ("amount>=20", True),
        ("amount>19.99, amount<20.01", True),
        ("amount=9", False),
        ("amount>9", True),
        ("missing=Anna", False),
        ("missing!=Anna", True),
        ("missing<=5", False),
    ],
)
def test_a_pattern_is_a_list_of_conditions_that_all_hold(pattern: str | None, expected: bool) -> None:
    assert matches(pattern, ANNA) is expected


@pytest.mark.parametrize(
    "pattern",
    [
        "amount",
        "amount<=",
        "amount<=much",
        'amount<="20"',
        "=20",
        "recipient=Anna,",
        ", recipient=Anna",
        "recipient=",
        'recipient="Anna',
        'recipient="Anna" and more',
        "guests=[1, 2",
        "amount<=1e999",
        f"recipient={'x' * MAX_PATTERN_CHARS}",
        "git:*",
    ],
)
def test_what_is_no_pattern_is_about_no_call_that_anyone_knows(pattern: str) -> None:
    assert matches(pattern, {**ANNA, "guests": [1, 2]}) is None


def test_a_condition_on_an_argument_that_the_tool_does_not_have_cannot_be_read() -> None:
    assert matches("recipent!=Bob", ANNA, known=ANNA) is None
    assert matches("recipient!=Bob", ANNA, known=ANNA) is True
    assert matches("to.name=Anna", {"to": {"name": "Anna"}}, known=["to"]) is True


@pytest.mark.parametrize("pattern", ["to.city=Oslo", "to.city!=Oslo", "to.city=Bergen"])
def test_a_name_that_is_a_field_and_an_argument_cannot_be_read(pattern: str) -> None:
    """An argument that is made up beside the field neither allows nor hides what the field says."""
    assert matches(pattern, {"to": {"city": "Oslo"}, "to.city": "Bergen"}) is None
    assert matches(pattern, {"to": {}, "to.city": "Oslo"}) is (pattern == "to.city=Oslo")


@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        ("x<=20", "15", True),
        ("x<=20", " 15 ", True),
        ("x<=20", "150", False),
        ("x>100", "150 EUR", None),
        ("x>100", True, None),
        ("x>100", float("nan"), None),
        ("x<=20", float("nan"), None),
        ("x>100", float("inf"), True),
        ("x>100", None, False),
        ("x=20", "20", True),
        ("x=true", True, True),
        ("x=1", True, False),
        ("x=null", None, True),
        ("x=[1,2]", [1, 2], True),
        ("x=[1, 2], y=2", [1, 2], True),
        ("x=[2,1]", [1, 2], False),
        ('x={"b":2,"a":1}', {"a": 1, "b": 2}, True),
        ("x.a=1", {"a": 1}, True),
        ("x.a.b=1", {"a": 1}, False),
        ('x="a, b=1"', "a, b=1", True),
        ("x=12345678901234567890123", 12345678901234567890123, True),
        ("x<12345678901234567890124", 12345678901234567890123, True),
    ],
)
def test_a_value_is_compared_as_what_the_argument_is(pattern: str, value: Any, expected: bool | None) -> None:
    assert matches(pattern, {"x": value, "y": 2}) is expected


def test_a_pattern_of_many_wildcards_takes_no_time() -> None:
    text = "a" * 5_000
    assert not matches_text("*a" * 60 + "*b", text)
    assert matches_text("a*" * 60, text)


@given(arguments)
def test_the_pattern_of_a_call_is_about_that_call(given_arguments: dict[str, Any]) -> None:
    pattern = pattern_of(given_arguments)
    assert pattern is None or matches(pattern, given_arguments, known=given_arguments) is True


@given(arguments, arguments)
def test_the_pattern_of_a_call_is_about_no_call_with_other_arguments(one: dict[str, Any], two: dict[str, Any]) -> None:
    """Values are other ones if their text is: 20 and "20" are what a model may write for the same number."""
    pattern = pattern_of(one)
    assert pattern is not None
    if any(name not in two or _text(one[name]) != _text(two[name]) for name in one):
        assert matches(pattern, two) is False


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else canonical(value)


@given(st.text(), st.text())
def test_text_without_a_wildcard_is_only_itself(pattern: str, text: str) -> None:
    if "*" not in pattern:
        assert matches_text(pattern, text) is (pattern == text)
    assert matches_text(text.replace("*", ""), text.replace("*", ""))
    assert matches_text(f"{pattern.replace('*', '')}*", pattern.replace("*", "") + text)


@given(st.text())
def test_any_text_is_read_or_refused_as_a_pattern(pattern: str) -> None:
    assert matches(pattern, ANNA) in (True, False, None)


@given(arguments, numbers.filter(lambda number: number > 0))
def test_a_suggested_rule_is_about_its_own_call_and_the_widest_comes_last(rest: dict[str, Any], amount: float) -> None:
    call = {**rest, "amount": amount}
    suggested = [*ToolPermissions().suggest(call)]
    assert all(matches(pattern, call, known=call) is True for pattern in suggested)
    assert suggested[-1] is None
    assert None not in suggested[:-1]


@given(st.integers(min_value=1), st.integers(min_value=1))
def test_up_to_this_amount_is_about_smaller_ones_and_no_greater_one(amount: int, other: int) -> None:
    exact, up_to, whole = ToolPermissions().suggest({"recipient": "Anna", "amount": amount})
    assert (exact, up_to) == (f"recipient=Anna, amount={amount}", f"recipient=Anna, amount<={amount}")
    assert matches(up_to, {"recipient": "Anna", "amount": other}) is (other <= amount)
    assert matches(exact, {"recipient": "Anna", "amount": other}) is (other == amount)
    assert matches(up_to, {"recipient": "Bob", "amount": other}) is False
    assert whole is None


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({}, [None]),
        ({"day": "Friday"}, ["day=Friday", None]),
        ({"people": 4, "hour": 19}, ["people=4, hour=19", "people<=4, hour=19", None]),
        ({"people": 4, "bottles": 2}, ["people=4, bottles=2", None]),
        ({"order_id": 7}, ["order_id=7", None]),
        ({"amount": -5}, ["amount=-5", None]),
        ({"urgent": True}, ["urgent=true", None]),
        ({"text": "x" * 600}, [None]),
        ({"note": "yes, please"}, ['note="yes, please"', None]),
        ({"zip": "01234"}, ['zip="01234"', None]),
    ],
)
def test_suggestions_are_few_and_can_be_read(call: dict[str, Any], expected: list[str | None]) -> None:
    assert [*ToolPermissions().suggest(call)] == expected
    json.dumps(expected)
