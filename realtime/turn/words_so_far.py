"""Classify the end of what a speaker has said so far: does more have to come? English.

A recogniser ends nearly everything with a full stop, so a full stop shows nothing; the last words do.
"""

from __future__ import annotations

import re
from typing import Literal

Tail = Literal["hanging", "digits", "short_answer", "closed", "open"]
"""`hanging`: a word or mark that nothing ends with; `digits`: inside a dictated number or a spelled name;
`short_answer`: an answer that is whole with one or two words; `closed`: a question or exclamation; `open`: the rest."""

_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+(?:[-.:]\d+)*")
_FEW_WORDS = 3
_MANY_DIGITS = 3
"""A single number of fewer digits is a quantity: "five seconds"."""
_MANY_NUMBERS = 2


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FILLERS = _words("um uh er erm hmm")
_HANGING = _FILLERS | _words(
    "a an the my your his our their and or but because if when while although unless until than whether of from into"
    " i we they i'm we're they're i've i'd i'll you're let's very every each some between maybe perhaps including"
)
_HANGING_UNLESS_CLOSED = _words("is are was were with for to at by about in")
"""Words that hang unless the word before closes the sentence: "yes, it is"."""
_CLOSING = _words("it he she they we i you that this there who what where how look looking go")
_BEFORE_OF = _words(
    "think thinks thinking thought hear hears heard know knows knew dream dreams dreaming dreamt speak speaks speaking"
    " spoke talk talking talked afraid ashamed aware capable fond full made proud sick tired course kind sort out most"
    " all some none any rid"
)
"""Words behind which "of" ends a sentence: "what I was thinking of"."""
_DICTATION = _words(
    "number numbers code codes pin phone cell mobile account card extension reference postcode zip serial booking"
    " ticket order digits call dial spelled spelt letters password id passport iban vin tracking"
    " invoice meter room flight"
)
"""Words that announce digits or letters. Else a number in a sentence is a quantity, a price or a year."""
_TELLING = re.compile(r"\b(?:tell|told|remind|ask|asked) (?:my|your|his|her|our|their|the) \S+ that$")
""""Tell my sister that": a clause follows, while "tell me that" may be all."""
_WISHES = re.compile(r"(?<!n't )(?<!not )\b(?:like|want|wanted|love) to (?:know|ask)$|\b(?:was|am|i'm) wondering$")
"""Ends that only announce a question."""
_CONDITION = _words("if when after before while unless although")
"""A few words behind one of these are half a sentence."""
_CONDITION_WORDS = 5
_ANSWER_HEADS = _words("yes no yeah yep nope yup sure okay ok right correct wrong exactly absolutely never thanks")
_ANSWERS = _ANSWER_HEADS | _words(
    "maybe definitely certainly please thank you of course not that's that is fine good great"
)
_EXCLAMATIONS = _words("oh ah wow okay thanks")
"""Words before a whole answer."""
_WHOLE = ("i see", "got it")
_NUMBERS = _words("zero oh one two three four five six seven eight nine double triple")


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
