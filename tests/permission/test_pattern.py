"""Patterns of rules: conditions on arguments, read the same by people and by the engine."""

import json
from collections import defaultdict
from pathlib import Path
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


def rows_by_rule() -> dict[str, list[list[str]]]:
    """The lines of `patterns.tsv`: a pattern, arguments, and whether they match (null: nobody can tell)."""
    rows: defaultdict[str, list[list[str]]] = defaultdict(list)
    for line in Path(__file__).with_name("patterns.tsv").read_text("utf-8").splitlines()[1:]:
        rule, *row = line.split("\t")
        rows[rule].append(row)
    return rows


ROWS = rows_by_rule()


@pytest.mark.parametrize("rule", ROWS)
def test_a_pattern_is_about_these_calls(rule: str) -> None:
    told = [matches(pattern, json.loads(call)) for pattern, call, _ in ROWS[rule]]
    assert [row for row, got in zip(ROWS[rule], told, strict=True) if got is not json.loads(row[2])] == []


def test_no_pattern_is_about_all_calls_and_one_that_is_too_long_about_none_that_anyone_knows() -> None:
    assert [matches(pattern, ANNA) for pattern in (None, "")] == [True, True]
    assert matches(f"recipient={'x' * MAX_PATTERN_CHARS}", ANNA) is None


def test_a_condition_on_an_argument_that_the_tool_does_not_have_cannot_be_read() -> None:
    assert matches("recipent!=Bob", ANNA, known=ANNA) is None
    assert matches("recipient!=Bob", ANNA, known=ANNA) is True
    assert matches("to.name=Anna", {"to": {"name": "Anna"}}, known=["to"]) is True


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


def test_suggestions_are_few_and_can_be_read() -> None:
    rows: list[tuple[dict[str, Any], list[str | None]]] = [
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
    ]
    assert [(call, want) for call, want in rows if [*ToolPermissions().suggest(call)] != want] == []
