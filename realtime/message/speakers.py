"""How a model tells the participants of a conversation apart: `[Name]: words`."""

from __future__ import annotations

import re

SPEAKS = "(speaks)"
"""The text that precedes a speaker's voice."""

_ANOTHERS_LINE = re.compile(r"^(?:\d{1,3}[.)]|[^\w\[［【〔])*+[\[［【〔].{0,200}?[\]］】〕][^:：]{0,24}[:：]")
"""A line that begins as another speaker's could, to a model.

After a list mark, in other brackets, or with a word before the colon.
"""
_ROUND = str.maketrans("[［【〔]］】〕", "(((())))")


def speaker_and_words(text: str) -> tuple[str | None, str]:
    """Split the output of `spoken_by`; the name is None where the text has no speaker."""
    match = re.match(r"\[([^\[\]\n]+)\]: ", text)
    return (None, text) if match is None else (match[1], text[match.end() :])


def spoken_by(name: str, text: str) -> str:
    """Format another participant's words for a model: `[Name]: ...`.

    Where a line of the text looks like another speaker's, its brackets become round, and so do those of the name, which
    becomes one line: no participant can put words into another's mouth.
    """
    speaker = " ".join(name.split()).translate(_ROUND)
    return f"[{speaker}]: {own_words(text)}"


def own_words(text: str) -> str:
    """Return the text, changed so that no line looks like another speaker's."""
    return "".join(map(_as_own_words, text.splitlines(keepends=True)))


def _as_own_words(line: str) -> str:
    match = _ANOTHERS_LINE.match(line)
    return line if match is None else match[0].translate(_ROUND) + line[match.end() :]
