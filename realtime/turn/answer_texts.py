"""Which text argument an answer changes, and to what words: "the invoice, not the contract". Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from realtime.turn.answer_phrases import LIGHT, Kind, as_compared, word_set
from realtime.turn.answer_pieces import Asked, Piece
from realtime.turn.answer_words import JOINTS, NAMED, NO_NAMES, POSSESSIVES, PREPOSITIONS

CONTRAST = word_set("not nicht no sondern instead statt anstatt rather 不 别")
"""What rejects the words behind it, or begins a phrase that does."""
_BEFORE_VERBS = word_set("like want need have going love prefer")
"""Before "to", they tell that a verb follows."""
INSTEAD = word_set("instead stattdessen mejor cambio lieber")
_TO_PERSON = word_set("to for an fur a para con 给")
_MOST_WORDS = 3
"""Words of a new text."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A text argument whose words are in the question."""

    name: str
    text: str
    words: tuple[str, ...]
    before: str
    """The word before it that is no article; "" at the beginning."""
    is_users: bool
    """Whether it is called the user's: "your mother"."""


@dataclass(frozen=True, slots=True)
class _Said:
    """The words of an answer for a new text: tokens `begin` to `end`."""

    begin: int
    end: int
    before: str
    """The word before them that is no article."""
    has_article: bool
    is_users: bool


def slots_of(arguments: Mapping[str, object], asked: Asked) -> list[Slot]:
    """Return the text arguments whose words are in the question."""
    found = []
    for name, value in arguments.items():
        words = as_compared(value) if isinstance(value, str) else ()
        at = next((at for at in range(len(asked.words)) if words and asked.words[at : at + len(words)] == words), None)
        is_value = len(words) == 1 and bool(asked.values_in(words))
        if at is not None and not is_value and not any(word.isdecimal() for word in words):
            before, _, is_users = _before(asked.words, at, asked)
            found.append(Slot(name, str(value), words, before, is_users))
    return found


def changed_text(
    pieces: Sequence[Piece], raw: Sequence[str], slots: Sequence[Slot], asked: Asked
) -> tuple[str, str] | None:
    """Return the text argument that certainly changes, with its new text; None where it is not certain.

    Beside the new words everything has to be light: marks of a change, and words or values of the question. The
    argument is the one whose words are rejected ("not the contract"), that stands behind the same preposition, or that
    is the only object.
    """
    tokens = [token for piece in pieces for token in piece.tokens]
    unknown = [piece for piece in pieces if _is_unknown(piece, asked)]
    if not unknown or any(piece.kind not in (None, *LIGHT) for piece in pieces):
        return None
    first, last = unknown[0], unknown[-1]
    begin, end = first.at, last.at + len(last.tokens)
    within = [piece for piece in pieces if begin <= piece.at < end]
    if any(piece.kind is not None or piece.value is not None for piece in within):
        return None
    said = _Said(begin, end, *_before(tokens, begin, asked))
    words = tokens[begin:end]
    if end - begin > _MOST_WORDS or NO_NAMES & {*words} or not all(word.isalpha() for word in words):
        return None
    found = _rejected(pieces, tokens, said, slots, asked) or _placed(pieces, tokens, said, slots, asked.language)
    if found is None or (said.is_users and not found[0].is_users):
        return None
    slot, span, old = found
    if old == slot.words:
        span = _whole(tokens, span, slot)
    if span[1] - span[0] == 1 and len(tokens[span[0]]) == 1:
        return None
    new = _styled(raw[span[0] : span[1]], span[0], slot, asked.language)
    if len(old) < len(slot.words):
        kept = slot.text.split()
        at = next(at for at in range(len(slot.words)) if slot.words[at : at + len(old)] == old)
        new = " ".join([*kept[:at], new, *kept[at + len(old) :]]) if len(kept) == len(slot.words) else ""
    return (slot.name, new) if new else None


_Found = tuple[Slot, tuple[int, int], tuple[str, ...]]
"""An argument; where its new words are; which old words they replace."""


def _is_unknown(piece: Piece, asked: Asked) -> bool:
    word = piece.tokens[0]
    is_small = word in POSSESSIVES or word in JOINTS
    return piece.kind is None and piece.value is None and not is_small and not asked.knows(word)


def _before(tokens: Sequence[str], at: int, asked: Asked) -> tuple[str, bool, bool]:
    """Return the word before a place.

    And whether articles are between, and whether one is the user's.
    """
    has_article = is_users = False
    while at and (tokens[at - 1] in asked.articles or tokens[at - 1] in POSSESSIVES):
        at -= 1
        has_article, is_users = True, is_users or tokens[at] in POSSESSIVES
    return (tokens[at - 1] if at else ""), has_article, is_users


def _rejected(
    pieces: Sequence[Piece], tokens: Sequence[str], said: _Said, slots: Sequence[Slot], asked: Asked
) -> _Found | None:
    """Return the argument whose words the answer rejects."""
    marks = [at for at, token in enumerate(tokens) if token in CONTRAST]
    # "no tomorrow I sleep" refuses; "no, the contract" may reject.
    marks = [at for at in marks if at or tokens[at] != "no" or tokens[1] in asked.articles]
    for mark in marks:
        end = said.begin if mark < said.begin else len(tokens)
        inside = [piece for piece in pieces if mark < piece.at < end]
        told = [token for piece in inside for token in piece.tokens]
        words = tuple(token for token in told if any(token in slot.words for slot in slots))
        found = [slot for slot in slots if words and _has_run(slot.words, words)]
        if len(found) == 1 and not (mark < said.begin and any(later > mark for later in marks)):
            return found[0], (said.begin, said.end), words
    return None


def _placed(
    pieces: Sequence[Piece], tokens: Sequence[str], said: _Said, slots: Sequence[Slot], language: str
) -> _Found | None:
    """Return the argument in whose place the new words are."""
    kinds = {piece.kind for piece in pieces}
    if said.begin > 1 and tokens[said.begin - 2] in _BEFORE_VERBS:
        return None
    is_beside_verb = bool(said.before) and any(slot.before == said.before for slot in slots)
    named = tokens[said.begin : said.end + 1]
    if said.before in PREPOSITIONS or (is_beside_verb and (language != "zh" or Kind.NO not in kinds)):
        inner = [(slot, at) for slot in slots for at, word in enumerate(slot.words[:-1]) if at and word == said.before]
        if len(inner) == 1:
            slot, at = inner[0]
            return slot, (said.begin, said.end), slot.words[at + 1 :]
        found = [slot for slot in slots if slot.before == said.before]
        if not found and said.before in _TO_PERSON:
            found = [slot for slot in slots if slot.name.lower() in NAMED]
    elif INSTEAD & {*tokens} or (Kind.NO in kinds and said.has_article):
        found = [slot for slot in slots if slot.before not in PREPOSITIONS]
        found = found or [*slots]
    else:
        # "The red van" is another silver van.
        found = [slot for slot in slots if len(slot.words) > 1 and len(named) == 2 and named[1] == slot.words[-1]]
    if len(found) != 1:
        return None
    return found[0], (said.begin, said.end), found[0].words


def _whole(tokens: Sequence[str], span: tuple[int, int], slot: Slot) -> tuple[int, int]:
    """Return where new words are with the old ones beside them: "Pedro Méndez" for "Ana Méndez"."""
    begin, end = span
    while end < len(tokens) and tokens[end] in slot.words:
        end += 1
    while begin and tokens[begin - 1] in slot.words:
        begin -= 1
    return begin, end


def _has_run(words: Sequence[str], run: Sequence[str]) -> bool:
    return any(tuple(words[at : at + len(run)]) == tuple(run) for at in range(len(words)))


def _styled(words: Sequence[str], at: int, slot: Slot, language: str) -> str:
    """Return new words in the case of the old ones."""
    if language == "zh":
        return "".join(words)
    if slot.text[:1].isupper():
        return " ".join(word[:1].upper() + word[1:] for word in words)
    return " ".join([words[0].lower() if at == 0 or words[0].isupper() else words[0], *words[1:]])
