"""Classify the end of what a speaker has said so far: does more have to come? English.

A recogniser ends nearly everything with a full stop, so a full stop shows nothing; the last words do.
"""

from __future__ import annotations

import re
from typing import Literal

Tail = Literal["hanging", "digits", "short_answer", "closed", "open"]
"""`hanging`: a word or mark that nothing ends with; `digits`: inside a dictated number; `short_answer`: an answer that
is whole with one or two words; `closed`: a question or exclamation; `open`: anything else."""

_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+(?:[-.:]\d+)*")
_FEW_WORDS = 3
_MANY_DIGITS = 3
"""A number of fewer digits is a quantity: "five seconds"."""

_HANGING = frozenset(
    [
        "a",
        "an",
        "the",
        "my",
        "your",
        "his",
        "our",
        "their",
        "and",
        "or",
        "but",
        "because",
        "if",
        "when",
        "while",
        "although",
        "unless",
        "until",
        "than",
        "of",
        "from",
        "into",
        "i",
        "we",
        "they",
        "i'm",
        "we're",
        "they're",
        "i've",
        "i'd",
        "i'll",
        "you're",
        "let's",
        "um",
        "uh",
        "er",
        "erm",
        "very",
        "every",
        "each",
        "some",
        "between",
        "maybe",
        "perhaps",
        "including",
    ]
)
_AFTER_NAME = frozenset(["is", "are", "was", "were", "with", "for", "to", "at", "by", "about", "in"])
"""Words that hang unless a question or a pronoun before them closes the sentence: "What is it for?", "yes, it is"."""
_CLOSING = frozenset(
    [
        "it",
        "he",
        "she",
        "they",
        "we",
        "i",
        "you",
        "that",
        "this",
        "there",
        "who",
        "what",
        "where",
        "how",
        "look",
        "looking",
        "go",
    ]
)
_FILLERS = frozenset(["um", "uh", "er", "erm", "hmm"])
_ANSWERS = frozenset(
    [
        "yes",
        "no",
        "yeah",
        "yep",
        "nope",
        "yup",
        "sure",
        "okay",
        "ok",
        "right",
        "correct",
        "wrong",
        "exactly",
        "absolutely",
        "never",
        "maybe",
        "definitely",
        "certainly",
        "please",
        "thanks",
        "thank",
        "you",
        "of",
        "course",
        "not",
        "course",
        "that's",
        "that",
        "is",
        "fine",
        "good",
        "great",
        "stop",
        "cancel",
    ]
)
_ANSWER_HEADS = frozenset(
    [
        "yes",
        "no",
        "yeah",
        "yep",
        "nope",
        "yup",
        "sure",
        "okay",
        "ok",
        "right",
        "correct",
        "wrong",
        "exactly",
        "absolutely",
        "never",
    ]
)
_NUMBERS = frozenset(
    [
        "zero",
        "oh",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "double",
        "triple",
        "hundred",
    ]
)


def tail_of(words: str) -> Tail:
    """Return the class of the end of `words`, which a recogniser wrote."""
    text = words.strip().lower().replace("’", "'")
    tokens = _TOKEN.findall(text)
    if not tokens:
        return "open"
    last = tokens[-1]
    if text.endswith((",", "...", "…", "-", "—", ":")) or last in _FILLERS:
        return "hanging"
    if text.endswith(("?", "!")):
        return "closed"
    if _digits_at_end(tokens) >= _MANY_DIGITS:
        return "digits"
    if last in _HANGING:
        return "hanging"
    if last in _AFTER_NAME and (len(tokens) < 2 or tokens[-2] not in _CLOSING):
        return "hanging"
    if len(tokens) <= _FEW_WORDS and tokens[0] in _ANSWER_HEADS and all(token in _ANSWERS for token in tokens):
        return "short_answer"
    return "open"


def _digits_at_end(tokens: list[str]) -> int:
    """Count the digits of the numbers that `tokens` ends with."""
    count = 0
    for token in reversed(tokens):
        if token in _NUMBERS:
            count += 1
        elif token[0].isdigit():
            count += sum(one.isdigit() for one in token)
        else:
            break
    return count
