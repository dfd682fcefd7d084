"""Sentences as people say them, and what becomes of each: data of the tests, one row a line."""

from collections.abc import Iterable
from pathlib import Path

WORDS = Path(__file__).parent / "words"


def rows(name: str) -> list[list[str]]:
    """The rows of `words/NAME.tsv`, each split at its tabs. A line that begins with `#` is a remark."""
    lines = (WORDS / f"{name}.tsv").read_text(encoding="utf-8").split("\n")
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def assert_none(wrong: Iterable[object]) -> None:
    """Fail with all rows that are wrong, one a line."""
    lines = [str(row) for row in wrong]
    assert not lines, "\n".join(["these rows are wrong:", *lines])
