"""Classify the end of what a speaker has said so far: does more have to come? English.

A recogniser ends nearly everything with a full stop, so a full stop shows nothing; the last words do. They are data:
`words_so_far.json`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Literal

Tail = Literal["hanging", "digits", "short_answer", "closed", "open"]
"""`hanging`: a word or mark that nothing ends with; `digits`: inside a dictated number or a spelled name;
`short_answer`: an answer that is whole with one or two words; `closed`: a question or exclamation; `open`: the rest."""

_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+(?:[-.:]\d+)*")
_FEW_WORDS = 3
_MANY_DIGITS = 3
"""A single number of fewer digits is a quantity: "five seconds"."""
_MANY_NUMBERS = 2


_DATA: dict[str, str] = json.loads(Path(__file__).with_name("words_so_far.json").read_text(encoding="utf-8"))


def _words(name: str) -> frozenset[str]:
    return frozenset(_DATA[name].split())


_FILLERS = _words("fillers")
_HANGING = _FILLERS | _words("hanging")
_HANGING_UNLESS_CLOSED = _words("hanging_unless_closed")
"""Words that hang unless the word before closes the sentence: "yes, it is"."""
_CLOSING = _words("closing")
_BEFORE_OF = _words("before_of")
"""Words behind which "of" ends a sentence: "what I was thinking of"."""
_DICTATION = _words("dictation")
"""Words that announce digits or letters. Else a number in a sentence is a quantity, a price or a year."""
_TELLING = re.compile(r"\b(?:tell|told|remind|ask|asked) (?:my|your|his|her|our|their|the) \S+ that$")
""""Tell my sister that": a clause follows, while "tell me that" may be all."""
_WISHES = re.compile(r"(?<!n't )(?<!not )\b(?:like|want|wanted|love) to (?:know|ask)$|\b(?:was|am|i'm) wondering$")
"""Ends that only announce a question."""
_CONDITION = _words("condition")
"""A few words behind one of these are half a sentence."""
_CONDITION_WORDS = 5
_ANSWER_HEADS = _words("answer_heads")
_ANSWERS = _ANSWER_HEADS | _words("answers")
_EXCLAMATIONS = _words("exclamations")
"""Words before a whole answer."""
_WHOLE = ("i see", "got it")
_NUMBERS = _words("numbers")


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
    if _is_dictated(tokens):
        return "digits"
    if last == "of" and len(tokens) > 1 and tokens[-2] in _BEFORE_OF:
        return "open"
    if last in _HANGING or (tokens[0] in _CONDITION and len(tokens) <= _CONDITION_WORDS):
        return "hanging"
    if last in _HANGING_UNLESS_CLOSED and (len(tokens) < 2 or tokens[-2] not in _CLOSING):
        return "hanging"
    line = " ".join(tokens)
    if _TELLING.search(line) or _WISHES.search(line):
        return "hanging"
    answer = tokens[1:] if tokens[0] in _EXCLAMATIONS and len(tokens) > 1 else tokens
    if " ".join(answer) in _WHOLE:
        return "short_answer"
    if len(answer) <= _FEW_WORDS and answer[0] in _ANSWER_HEADS and all(token in _ANSWERS for token in answer):
        return "short_answer"
    return "open"


def _is_dictated(tokens: list[str]) -> bool:
    """Return whether `tokens` ends with several numbers or letters that are dictated.

    One long number counts, too, unless it is a time of day. In a sentence they are so where it announces them, or where
    they are at least half of it.
    """
    numbers = digits = 0
    for token in reversed(tokens):
        if ":" in token or not (token in _NUMBERS or token[0].isdigit() or len(token) == 1):
            break
        numbers += 1
        digits += sum(one.isdigit() for one in token)
    is_announced = 2 * numbers >= len(tokens) or any(token in _DICTATION for token in tokens)
    return is_announced and (numbers >= _MANY_NUMBERS or digits >= _MANY_DIGITS)
