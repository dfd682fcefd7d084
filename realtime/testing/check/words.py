"""Words for comparison: without case, spacing and punctuation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Kana and Han, written without spaces: each character counts as a word."""
_CHARACTERS = rf"[^\W_{_UNSPACED}]+"
_SIGN = r"(?<!\w)-(?=[$\u20ac\u00a3\u00a5]?\d)"
"""A minus sign; between words it is a hyphen."""
_WORD = re.compile(rf"{_SIGN}|[{_UNSPACED}]|{_CHARACTERS}(?:(?<=\d)[.,](?=\d){_CHARACTERS})*")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_INSIDE = re.compile(r"(?<=\w)['\u2019](?=\w)")


def words_of(text: str) -> list[str]:
    """Return the words in lower case, without punctuation: `Don't!` is `dont`.

    Languages without spaces give characters. Numbers keep their distinguishing signs: `-5`, `1.50`. `1,500` is `1500`.
    """
    plain = unicodedata.normalize("NFKC", text).casefold().replace("\u2212", "-")
    plain = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), _INSIDE.sub("", plain))
    words: list[str] = []
    for word in _WORD.findall(plain):
        if words and words[-1] == "-":
            words[-1] += word
        else:
            words.append(word)
    return words


def normalised(text: str) -> str:
    """Return the words with one space between them."""
    return " ".join(words_of(text))


def says(text: str, phrase: str | re.Pattern[str]) -> bool:
    """Whether the text contains the phrase as whole words.

    Case, spacing and punctuation do not count: `A-17` is in `order a17.` Numbers are kept apart: `12 34` is not in `1
    234`, nor `5` in `-5` or `1.5`. A pattern is searched in the unchanged text. Raises ValueError for a phrase without
    words.
    """
    return end_of(text, phrase) is not None


def end_of(text: str, phrase: str | re.Pattern[str], start: int = 0) -> int | None:
    """Return where the phrase ends in the text; None if not said (`says`) after `start`.

    The result is the `start` for the next phrase of its kind.
    """
    if isinstance(phrase, re.Pattern):
        found = phrase.search(text, start)
        return None if found is None else found.end()
    wanted, _ = _joined(words_of(phrase))
    if not wanted:
        raise ValueError(f"the phrase {phrase!r} has no words")
    joined, edges = _joined(words_of(text))
    at = joined.find(wanted, start)
    while at >= 0:
        if at in edges and at + len(wanted) in edges:
            return at + len(wanted)
        at = joined.find(wanted, at + 1)
    return None


def first_missing(texts: Sequence[str], phrases: Sequence[str | re.Pattern[str]]) -> int | None:
    """Return the first phrase's index not said in this order; None if all are.

    In one text, a phrase and a pattern may be in any order.
    """
    at, start = 0, 0
    for number, phrase in enumerate(phrases):
        if number and type(phrase) is not type(phrases[number - 1]):
            start = 0
        end: int | None = None
        while at < len(texts) and (end := end_of(texts[at], phrase, start)) is None:
            at, start = at + 1, 0
        if end is None:
            return number
        start = end
    return None


def _joined(words: list[str]) -> tuple[str, set[int]]:
    """Join the words without spaces, except between two numbers; return the word boundaries too."""
    joined, edges = "", set[int]()
    for word in words:
        if joined[-1:].isdigit() and word.lstrip("-")[:1].isdigit():
            joined += " "
        edges.add(len(joined))
        joined += word
        edges.add(len(joined))
    return joined, edges


def shown(phrase: str | re.Pattern[str]) -> str:
    """Return the phrase as an error names it."""
    return f"/{phrase.pattern}/" if isinstance(phrase, re.Pattern) else f'"{phrase}"'


def shortened(text: str, limit: int = 60) -> str:
    """Return one line; omits its middle if longer than `limit`."""
    text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    if len(text) <= limit:
        return text
    tail = max(0, limit // 3)
    return f"{text[: limit - tail - 3]}...{text[len(text) - tail :]}"
