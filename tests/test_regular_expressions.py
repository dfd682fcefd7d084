"""No regular expression of the package takes more than a constant time for each character."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.regular_expressions import faults


def patterns() -> list[tuple[str, str, int]]:
    """In a process of their own, where no module is imported yet."""
    made = subprocess.run(
        [sys.executable, "-m", "tests.regular_expressions"], capture_output=True, text=True, check=True
    )
    return [tuple(json.loads(line)) for line in made.stdout.splitlines()]


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s+$",
        r"\w+@",
        r"\bask\b.*\bthe\b",
        r"(?:a+)+$",
        r"(?:m+h*)+(?:m+|n+)*$",
        r"^\w+\s*(?:\(.*?\))?\s*:$",
        r"^(?:\W*please\W+)*say",
        r"^say\s*:?\s+(.+?)\s*$",
        r"^:param(?:\s+[^:]+)?:$",
        r"(?:^|(?<!to) )(?:\d[\d,.]* ?)*(?:\d[\d,.]*) to",
        r"(?:(?:das|es) )*nicht",
        r"(?=.*\bnow\b)",
        r"\n\s*\n\s*say",
        r"[„“\"][^“”\"]*[“”\"]",
        r"(?m)^\s*[-*]\s+",
    ],
)
def test_what_is_worse_than_linear_is_found(pattern: str) -> None:
    assert faults(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s+",
        r"(?<!\s)\s+$",
        r"^\w+@",
        r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+\.[\w.]+",
        r"\b\w+ing\b",
        r"\bask\b.{0,80}\bthe\b",
        r"[^\W_]+(?:['’][^\W_]+)*",
        r"^(?P<names>\w+(?:\s*,\s*\w+)*)\s*(?::.*)?$",
        r"(?<!\d)\d+(?:[:.]\d+)+",
        r"[\"“„][^\"”“„]*[\"”“]",
        r"\btell\b(?: me| us){0,3} more",
        r"m[mh]*+[mn]*",
    ],
)
def test_what_is_linear_is_not_accused(pattern: str) -> None:
    assert faults(pattern) == []


def test_no_pattern_of_the_package_is_worse_than_linear() -> None:
    found = patterns()
    assert len(found) > 500
    assert not [(place, pattern, said) for place, pattern, flags in found if (said := faults(pattern, flags))]
