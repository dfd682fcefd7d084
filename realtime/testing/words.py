"""Words as a check compares them: without case, spacing and punctuation."""

from __future__ import annotations

import re
import unicodedata

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Kana and Han, written without spaces: each character is taken as a word."""
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_INSIDE = re.compile(r"(?<=\w)['\u2019](?=\w)")


def words_of(text: str) -> list[str]:
    """The words in lower case, without punctuation: `Don't!` is `dont`. Languages without spaces give characters."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return _WORD.findall(_INSIDE.sub("", plain))


def normalised(text: str) -> str:
    """The words with one space between them."""
    return " ".join(words_of(text))


def says(text: str, phrase: str | re.Pattern[str]) -> bool:
    """Whether the phrase is in the text, from the beginning of a word to the end of one.

    Case, spacing and punctuation do not count: `A-17` is in `order a17.` A pattern is searched in the text as it is.
    Raises ValueError for a phrase without words.
    """
    if isinstance(phrase, re.Pattern):
        return phrase.search(text) is not None
    wanted = "".join(words_of(phrase))
    if not wanted:
        raise ValueError(f"the phrase {phrase!r} has no words")
    words = words_of(text)
    ends, end = {0}, 0
    for word in words:
        end += len(word)
        ends.add(end)
    joined = "".join(words)
    at = joined.find(wanted)
    while at >= 0:
        if at in ends and at + len(wanted) in ends:
            return True
        at = joined.find(wanted, at + 1)
    return False


def shown(phrase: str | re.Pattern[str]) -> str:
    """The phrase as an error names it."""
    return f"/{phrase.pattern}/" if isinstance(phrase, re.Pattern) else f'"{phrase}"'


def shortened(text: str, limit: int = 60) -> str:
    """On one line, with its middle left out where it is longer than `limit`."""
    text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    if len(text) <= limit:
        return text
    tail = max(0, limit // 3)
    return f"{text[: limit - tail - 3]}...{text[len(text) - tail :]}"
