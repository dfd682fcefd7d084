"""Words that ask for nothing by their form: assents of any wording, and remarks to someone beside.

A list of assents is never complete: people say "spot on", "how very strange", "I can imagine that". Their forms are
few: an appraisal with its frame, a thought of the listener's own, a fixed phrase. So are those of remarks to others: a
name or kinship term that a comma sets off, a phrase of people who are called away, a statement about a third thing that
has nothing of the talk. The words of the forms are data: `remarks.json`. English.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from realtime.turn.small_talk import DEFAULT_BACKCHANNELS, is_hum, phrase_at, phrases_of, rest_of, tokens_of

_DATA: dict[str, str] = json.loads(Path(__file__).with_name("remarks.json").read_text(encoding="utf-8"))
_MOST_WORDS = 9
"""Of a remark: what is longer is a turn."""
_LONGEST_ASSENT = 12
"""Words of the longest form: the rest of a long turn is not searched."""


def _words(name: str) -> frozenset[str]:
    return frozenset(_DATA[name].split())


def _one_of(name: str) -> str:
    """Return a pattern for one of the words."""
    return f"(?:{'|'.join(sorted(map(re.escape, _words(name))))})"


_ADVERBS = f"(?:{_one_of('adverbs')} ){{0,3}}"
_THAT_IS = (
    "(?:(?:that|this|it|he|she)'s |(?:they|those)'re |sounds |looks |seems |"
    "(?:that|this|it|he|she|they|those) (?:is|was|are|were|sounds|looks|seems|feels|must be|must have been) )?"
)
_EXCLAIM = "(?:(?:how|what an?|such an?|an?|the) )?"
_APPRAISAL = f"{_THAT_IS}{_EXCLAIM}{_ADVERBS}{_one_of('good')}(?: {_one_of('nouns')})?"
_EXCLAIMED = f"(?:what an?|such an?) {_ADVERBS}{_one_of('nouns')}"
_THOUGHT = (
    f"(?:i|we) {_ADVERBS}(?:(?:can|do|did|could) )?{_one_of('thinks')}"
    "(?: (?:you|that|it|this|so|as much|too|what you mean|the feeling|your point))?"
)
_ASSENT = re.compile(f"(?:{_APPRAISAL}|{_EXCLAIMED}|{_THOUGHT}|{_one_of('interjections')})(?= |$)")
_WHOLES = phrases_of([_DATA["wholes"]])
_AWAY = tuple(f" {phrase} " for phrase in _DATA["away"].split(", "))
_KIN, _TALK, _VERBS, _SUBJECTS, _TRAILERS = map(_words, ("kin", "talk", "verbs", "subjects", "trailers"))
_HEDGES = _words("hedges")
_TURN_WORDS = _TALK | _words("questions") | _words("inverts") | _words("commands") | _words("greetings")
"""Words that a turn to the agent begins with, or has."""


def rest_of_assent(words: Sequence[str], phrases: frozenset[tuple[str, ...]]) -> tuple[Sequence[str], bool]:
    """Return the words behind assents, and whether they take the floor.

    As `rest_of` does for phrases, here for assents of any form.
    """
    while True:
        words, takes_floor = rest_of(words, phrases)
        length = _assent_at(words)
        # Of "no" and "no kidding" the longer counts; a word that takes the floor alone does.
        if not length or (takes_floor and length == 1):
            return words, takes_floor
        words = words[length:]


def _assent_at(words: Sequence[str]) -> int:
    """Return how many of the first words are an assent; 0 for none."""
    found = _ASSENT.match(" ".join(words[:_LONGEST_ASSENT]))
    return max(min(phrase_at(words, 0, _WHOLES), len(words)), 0 if found is None else found[0].count(" ") + 1)


def is_remark(text: str, talk: Sequence[str], names: Sequence[str] = (), *, is_over: bool = True) -> bool:
    """Whether the words speak to someone beside, by their form.

    `talk` are words of the conversation, `names` those that the agent is called by. Until it `is_over` the beginning of
    a remark counts.
    """
    words, takes_floor = rest_of(tokens_of(text), frozenset())
    if not 1 < len(words) <= _MOST_WORDS or takes_floor:
        return False
    called = {token for name in names for token in tokens_of(name)}
    if called & {*words}:
        return False
    if _calls_other(text, {*talk}, least=3 if is_over else 2):
        return True
    line = f" {' '.join(words)} "
    return any(phrase in line for phrase in _AWAY) or _is_beside(words, text, {*talk}, is_over=is_over)


def _calls_other(text: str, talk: set[str], *, least: int) -> bool:
    """Whether a comma sets off a name, at either end."""
    parts = [tokens_of(part) for part in text.split(",")]
    parts = [part for part in parts if part and not all(map(is_hum, part))]
    while len(parts) > 1 and not {*parts[0]} & _KIN and not rest_of(parts[0], DEFAULT_BACKCHANNELS)[0]:
        parts.pop(0)  # "Yes, darling, ..."
    if len(parts) < 2 or sum(map(len, parts)) < least:
        return False
    first, last = parts[0], parts[-1]
    if not {word for part in parts[1:] for word in part} - _HEDGES:
        return False  # "Oslo, I think."
    return _names_other(first, talk) or (_names_other(last, talk) and not {*last} & _TRAILERS)


def _names_other(words: Sequence[str], talk: set[str]) -> bool:
    if len(words) > 2:
        return False
    if words[-1] in _KIN:
        return True
    is_known = bool({*words} & (_TURN_WORDS | talk)) or not rest_of_assent(words, DEFAULT_BACKCHANNELS)[0]
    return len(words) == 1 and not is_known and words[0].isalpha()


def _is_beside(words: Sequence[str], text: str, talk: set[str], *, is_over: bool) -> bool:
    """Whether it states something of a third thing, beside the talk."""
    if text.rstrip().endswith("?") or words[0] not in _SUBJECTS or (is_over and len(words) < 3):
        return False
    content = {*words[1:]} - _VERBS - _SUBJECTS
    return (
        (not is_over or bool({*words} & _VERBS))
        and not content & (_TURN_WORDS | talk)
        and not any(map(_has_digit, words))
    )


def _has_digit(word: str) -> bool:
    return any(char.isdigit() for char in word)
