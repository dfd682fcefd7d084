"""Words that take no turn: backchannels and fillers, and words that always take the floor, by language.

Texts come from speech recognition, so spelling varies: "Mm-hmm.", "mhm", "M-hm". `tokens_of` folds that. All sets are
data: a caller extends the backchannels by `TurnDetection.backchannels`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_HUM = re.compile(
    r"m[mh]*+[mn]*|h{1,20}m(?:[hm]{0,20}m)?|(?:u{1,20}|a{1,20})h{1,20}[ua][hua]*|m{1,20}a{1,20}m{1,20}a{1,20}"
)
"""Hummed assent in any spelling: mm, hmm, mhm, mmhmm, uhhuh, ahah; Whisper writes some "mm-hmm" as "Mama."."""
_FILLER = re.compile(r"u{1,20}[hm]+|e{1,20}r+m*|a{1,20}h+|o{1,20}h+|eh+m*|ä+h*m*|euh+|h{1,20}u{1,20}h+|ha+|wow+")

_WORDS: dict[str, dict[str, str]] = json.loads(
    Path(__file__).with_name("small_talk_words.json").read_text(encoding="utf-8")
)
BACKCHANNELS = _WORDS["backchannels"]
"""What listeners say without asking for the floor, by language."""
TAKES_FLOOR = _WORDS["takes_floor"]
"""A voice that begins with one of these takes the floor."""
STOPS = _WORDS["stops"]
"""Those of them that order silence: they do so from afar as well."""


def tokens_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation; hyphens join nothing."""
    return _WORD.findall(unicodedata.normalize("NFC", text).lower().replace("’", "'"))


def phrases_of(texts: Iterable[str]) -> frozenset[tuple[str, ...]]:
    """Return the phrases of texts, as they are compared; commas separate phrases."""
    phrases = (_folded(tokens_of(phrase)) for text in texts for phrase in text.split(","))
    return frozenset(phrase for phrase in phrases if phrase)


def _folded(words: Sequence[str]) -> tuple[str, ...]:
    """Return words as they are compared: recognition loses and invents the last s, as in "make sense"."""
    return tuple(words) if len(words) == 1 else tuple(word.rstrip("s").rstrip("'") for word in words)


_LONGEST_PHRASE = 6
_ECHO_WORDS = 40
"""Words of a reply that its echo may repeat."""
LEAST_LETTERS = 8
"""Fewer letters resemble a part of any sentence."""
MISHEARD, FORGIVEN = 0.42, 1.5
"""The share of letters that differ in misheard words, less a few."""
DEFAULT_BACKCHANNELS = phrases_of(BACKCHANNELS.values())
DEFAULT_TAKES_FLOOR = phrases_of(TAKES_FLOOR.values())
DEFAULT_STOPS = phrases_of(STOPS.values())


def commands_stop(words: Sequence[str]) -> bool:
    """Whether the first words order silence, behind hums at most."""
    at = next((place for place, word in enumerate(words) if not is_hum(word)), len(words))
    return phrase_at(words, at, DEFAULT_STOPS) > 0


def is_hum(word: str) -> bool:
    """Whether a word is a hum or a filler: "mhm", "uh", "erm"."""
    return bool(_HUM.fullmatch(word) or _FILLER.fullmatch(word))


def rest_of(words: Sequence[str], phrases: frozenset[tuple[str, ...]]) -> tuple[Sequence[str], bool]:
    """Return the words behind small talk, and whether they take the floor.

    Of two readings the longer wins: "no way" is a backchannel though "no" takes the floor, "um momento" takes it though
    "um" is a hum.
    """
    if len(words) > 1 and len({*words}) == 1 and len(words[0]) == 1:
        return (), False  # "T-t-t": a laugh
    at = 0
    while at < len(words):
        length = phrase_at(words, at, phrases) or is_hum(words[at])
        if phrase_at(words, at, DEFAULT_TAKES_FLOOR) > length:
            return words[at:], True
        if not length:
            break
        at += length
    return words[at:], False


def phrase_at(words: Sequence[str], at: int, phrases: frozenset[tuple[str, ...]]) -> int:
    """Return how many words the longest phrase at this place has; 0 without one."""
    return next((n for n in range(_LONGEST_PHRASE, 0, -1) if _folded(words[at : at + n]) in phrases), 0)


def without_repeated(text: str, played: Sequence[str]) -> str:
    """Return the text without first words that repeat what was played last.

    One word repeats nothing: "yes" occurs everywhere.
    """
    text = unicodedata.normalize("NFC", text)
    ends = [match.end() for match in _WORD.finditer(text)]
    words, newest = tokens_of(text), list(played[-_ECHO_WORDS:])
    for count, end in reversed([*enumerate(ends, start=1)][: len(newest)]):
        if words[count - 1] in newest and repeats(words[:count], newest):
            return text[end:].lstrip(" .,;:!?…-")
    return text


def repeats(words: Sequence[str], played: Sequence[str], *, share: float = 0.8) -> bool:
    """Whether this share of the words repeats what was played, in order.

    Fewer than two words repeat nothing: "yes" occurs everywhere.
    """
    if len(words) < 2:
        return False
    lengths = [0] * (len(played) + 1)
    for word in words:
        before = 0
        for at, other in enumerate(played, 1):
            kept = lengths[at]
            lengths[at] = before + 1 if word == other else max(lengths[at], lengths[at - 1])
            before = kept
    return lengths[-1] >= share * len(words)


def resembles(words: Sequence[str], played: Sequence[str]) -> bool:
    """Whether the words may be misheard words of what was played.

    The letters are compared, by the fewest edits that turn them into a part of the other letters (Myers' algorithm
    with integers as bit vectors: a few operations per letter).
    """
    pattern, text = "".join(words), "".join(played[-_ECHO_WORDS:])
    if len(pattern) < LEAST_LETTERS:
        return False
    places: dict[str, int] = {}
    for at, letter in enumerate(pattern):
        places[letter] = places.get(letter, 0) | 1 << at
    full, top = (1 << len(pattern)) - 1, 1 << (len(pattern) - 1)
    more, less, edits = full, 0, len(pattern)
    fewest = edits
    for letter in text:
        same = places.get(letter, 0)
        vertical = same | less
        horizontal = (((same & more) + more) ^ more) | same
        rises, falls = less | (~(horizontal | more) & full), more & horizontal
        edits += bool(rises & top) - bool(falls & top)
        fewest = min(fewest, edits)
        rises, falls = (rises << 1) & full, (falls << 1) & full
        more, less = falls | (~(vertical | rises) & full), rises & vertical
    return fewest <= MISHEARD * len(pattern) - FORGIVEN
