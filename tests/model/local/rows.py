"""Sentences as people say and write them, and what becomes of each: data of the tests, one row a line."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

WORDS = Path(__file__).parent / "words"


def rows(name: str) -> list[list[str]]:
    """The rows of `words/NAME.tsv`, each split at its tabs. A line that begins with `#` is a remark."""
    lines = (WORDS / f"{name}.tsv").read_text(encoding="utf-8").split("\n")
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def labelled(name: str) -> dict[str, Any]:
    """What becomes of each text of `words/NAME.json`, for texts with line breaks."""
    texts: dict[str, Any] = json.loads((WORDS / f"{name}.json").read_text(encoding="utf-8"))
    return texts


def assert_none(wrong: Iterable[object]) -> None:
    """Fail with all rows that are wrong, one a line."""
    lines = [str(row) for row in wrong]
    assert not lines, "\n".join(["these rows are wrong:", *lines])
