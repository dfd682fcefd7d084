"""Cut an answer to a question for consent into pieces: known phrases, values, and the rest. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from realtime.tool.spoken_amounts import amount_at
from realtime.tool.spoken_numbers import Language, folded, matches_of
from realtime.tool.spoken_times import Clock, Day, day_at, ordinal_at, time_at
from realtime.turn.answer_words import (
    ALTERNATIVES,
    ARTICLES,
    DEED_CHARS,
    HOMOPHONES,
    JOINTS,
    LEADS,
    LONGEST,
    PHRASES,
    PRONOUNS,
    STOPS,
    Kind,
    as_compared,
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number that was said."""

    value: Decimal


@dataclass(frozen=True, slots=True)
class Ordinal:
    """A day of a month that was said."""

    day: int


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that the schema of an argument lists."""

    value: str


Value = Number | Ordinal | Choice | Day | Clock
Item = Value | str
"""What words are compared by: their value, else the word."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some words of an answer. `kind` is None for values and for words that mean nothing by themselves."""

    tokens: tuple[str, ...]
    at: int
    """Its first token."""
    kind: Kind | None = None
    value: Value | None = None
    begins: bool = False
    """Whether a mark of punctuation stands before it."""


_MOST_OBJECT = 4
"""Words that a pronoun stands for."""
_ENDING = re.compile(r"(?:en|n|e|t|st|o|a|as|ar|er|ir|es|emos|amos|an)$")
_ENCLITIC = re.compile(r"(?:lo|la|los|las|le|les|me|nos)$")
_SWAPPED = {"me": "you", "my": "your", "i": "you", "mir": "dir", "mein": "dein", "meine": "deine"}
"""The words of the person who answers, as the question says them."""


class Asked:
    """The question, by its words and values."""

    def __init__(self, question: str, language: Language, schema: Mapping[str, object]) -> None:
        self.choices = _choices(schema)
        tokens = as_compared(folded(question))
        self.tokens = frozenset(tokens)
        self._language = language
        self.items = self._without_articles(_items(tokens, language, self.choices))
        counted = [at for at in range(1, len(self.items)) if isinstance(self.items[at - 1], Number)]
        self._uncounted = [item for at, item in enumerate(self.items) if at not in counted]
        self._has_alternatives = any(item in ALTERNATIVES for item in self.items)
        self._shortest_echo = 4 if language == "zh" else 2
        self._verb = next(
            (
                tokens[at + len(lead)]
                for lead in LEADS
                for at in range(len(tokens) - len(lead))
                if tokens[at : at + len(lead)] == lead
            ),
            None,
        )

    @property
    def values(self) -> list[Value]:
        """The values in the question."""
        return [item for item in self.items if not isinstance(item, str)]

    def has(self, value: Value) -> bool:
        """Whether the question has this value."""
        return any(same(value, own) for own in self.values)

    def behind(self, value: Value) -> str | None:
        """Return the word behind a value of the question: what it counts."""
        for at, item in enumerate(self.items[:-1]):
            behind = self.items[at + 1]
            if not isinstance(item, str) and same(item, value) and isinstance(behind, str):
                return behind
        return None

    def is_piece(self, pieces: Sequence[Piece]) -> bool:
        """Whether these words are a piece of the question: then they may be its echo."""
        said = [piece for piece in pieces if piece.kind is not Kind.PAD or piece.tokens[0] in self.tokens]
        items = self._without_articles([item for piece in said for item in _items_of(piece)])
        return len(items) >= self._shortest_echo and self._has_run(items)

    def _without_articles(self, items: Sequence[Item]) -> list[Item]:
        articles = ARTICLES[self._language]
        return [item for item in items if not (isinstance(item, str) and item in articles)]

    def repeats(self, pieces: Sequence[Piece]) -> bool:
        """Whether these words, in each run, only repeat the question.

        In a question with an "and" or "or" a part is not the whole, and nothing repeats it.
        """
        runs: list[list[Item]] = []
        end = -1
        for piece in pieces:
            if piece.kind not in (None, Kind.LINK):
                return False
            if piece.at != end or piece.begins:
                runs.append([])
            runs[-1] += _items_of(piece)
            end = piece.at + len(piece.tokens)
        if self._has_alternatives and runs:
            return False
        return all(self._says_again(self._without_articles(run)) for run in runs)

    def _says_again(self, run: Sequence[Item]) -> bool:
        items = [_SWAPPED.get(item, item) if isinstance(item, str) else item for item in run]
        if items and self._language == "de" and self._is_verb(items[-1]):
            items.pop()
        elif items and self._is_verb(items[0]):
            # German has the verb at the end of the question: "buch den Tisch".
            items[:1] = [] if self._language == "de" else self.items[:1]
        if not items or items in [[pronoun] for pronoun in PRONOUNS]:
            return len(run) > len(items)
        at = next((at for at, item in enumerate(items) if item in PRONOUNS), 0)
        if at and not self._has_run(items):
            # The pronoun stands for some words of the question: "send it to Anna".
            last = items[at + 1 :]
            return self._has_gap(items[:at], last) if last else self._has_run(items[:at])
        return self._has_run(items) or self._has_parts(items)

    def _has_parts(self, items: Sequence[Item]) -> bool:
        """Whether these are parts of the question in another order. Each is a value or has some words."""
        at = 0
        while at < len(items):
            count = next((n for n in range(len(items) - at, 0, -1) if self._has_run(items[at : at + n])), 0)
            if count == 0 or (count == 1 and isinstance(items[at], str)):
                return False
            at += count
        return True

    def _is_verb(self, item: Item) -> bool:
        """Return whether an item is the verb of the question."""
        if self._language not in ("de", "es") or not isinstance(item, str):
            return False
        verb = self.items[-1 if self._language == "de" else 0] if self.items else None
        stem = _ENDING.sub("", verb) if isinstance(verb, str) else ""
        return len(stem) > 2 and (item == verb or _ENDING.sub("", _ENCLITIC.sub("", item)) == stem)

    def _has_gap(self, first: Sequence[Item], last: Sequence[Item]) -> bool:
        """Whether the question has words that are no values between these items."""
        for at in range(len(self.items) - len(first) + 1):
            if not _are_same(first, self.items[at : at + len(first)]):
                continue
            begin = at + len(first)
            for end in range(begin, min(begin + _MOST_OBJECT, len(self.items)) + 1):
                if end > begin and not isinstance(self.items[end - 1], str):
                    break
                if end > begin and _are_same(last, self.items[end : end + len(last)]):
                    return True
        return False

    def is_imperative(self, pieces: Sequence[Piece]) -> bool:
        """Whether these words are the verb of the question and a pronoun.

        A question that has both in a row may echo.
        """
        tokens = [token for piece in pieces for token in piece.tokens]
        if len(tokens) != 2 or tokens[0] != self._verb or tokens[0] in STOPS or tokens[1] not in PRONOUNS:
            return False
        return not self._has_alternatives and not self._has_run(tokens)

    def _has_run(self, items: Sequence[Item]) -> bool:
        """Return whether the question has these items in a row. What its numbers count may be left out."""
        count = len(items)
        return any(
            _are_same(items, own[at : at + count])
            for own in (self.items, self._uncounted)
            for at in range(len(own) - count + 1)
        )


def same(said: Item, asked: Item) -> bool:
    """Whether two items mean the same; a time without a half of the day is the same in both halves."""
    if isinstance(said, Clock) and isinstance(asked, Clock):
        half = 24 if said.is_sure and asked.is_sure else 12
        return said.minute == asked.minute and said.hour % half == asked.hour % half
    return said == asked


def _are_same(items: Sequence[Item], others: Sequence[Item]) -> bool:
    return len(items) == len(others) and all(map(same, items, others))


def _items_of(piece: Piece) -> list[Item]:
    return [piece.value] if piece.value is not None else list(piece.tokens)


def _choices(schema: Mapping[str, object]) -> dict[tuple[str, ...], str]:
    """Return the listed values of all arguments, by their words."""
    properties = schema.get("properties")
    found: dict[tuple[str, ...], str] = {}
    for one in properties.values() if isinstance(properties, Mapping) else ():
        values = one.get("enum") if isinstance(one, Mapping) else None
        for value in values if isinstance(values, list) else ():
            if isinstance(value, str) and (words := as_compared(folded(value.replace("_", " ").replace("-", " ")))):
                found[words] = value
    return found


def _items(tokens: Sequence[str], language: Language, choices: Mapping[tuple[str, ...], str]) -> list[Item]:
    items: list[Item] = []
    at = 0
    while at < len(tokens):
        value, count = _value_at(tokens, at, language, choices)
        items.append(tokens[at] if value is None else value)
        at += count
    return items


def _value_at(
    tokens: Sequence[str], at: int, language: Language, choices: Mapping[tuple[str, ...], str]
) -> tuple[Value | None, int]:
    """Return the longest value that begins at a token, and its tokens; None and 1 without one."""
    found: list[tuple[Value, int]] = []
    for words, choice in choices.items():
        if tuple(tokens[at : at + len(words)]) == words:
            found.append((Choice(choice), len(words)))
    tokens = list(tokens)
    for read in (time_at, day_at):
        if (one := read(tokens, at, language)) is not None:
            found.append(one)
    if (ordinal := ordinal_at(tokens, at, language)) is not None:
        found.append((Ordinal(ordinal[0]), ordinal[1]))
    if (amount := amount_at(tokens, at, language)) is not None:
        found.append((Number(amount[0].normalize()), amount[1]))
    return max(found, key=lambda one: one[1], default=(None, 1))


def pieces_of(words: str, language: Language, asked: Asked) -> list[Piece]:
    """Return the pieces of an answer; of two readings at a place the longer wins, then the phrase."""
    tokens: Sequence[str] = as_compared(words)
    if language == "en":
        tokens = _with_homophones(tokens, asked)
    pieces = _joined(_cut(tokens, language, asked))
    matches = matches_of(words)
    starts = {at for at in range(1, len(matches)) if words[matches[at - 1].end() : matches[at].start()].strip(" '-")}
    return [replace(piece, begins=True) if piece.at in starts else piece for piece in pieces]


def raw_tokens(words: str) -> list[str]:
    """Return the tokens of an answer as written; `Piece.at` counts them."""
    return [match.group() for match in matches_of(words)]


def _cut(tokens: Sequence[str], language: Language, asked: Asked) -> list[Piece]:
    """Return the pieces, of which long ones weigh most: "please, don't do that" is no "please don't, do that"."""
    best: list[tuple[int, tuple[Piece, ...]]] = [(0, ())]
    for at in range(len(tokens) - 1, -1, -1):
        pieces = [Piece((tokens[at],), at), *_phrases_at(tokens, at, language, asked)]
        value, count = _value_at(tokens, at, language, asked.choices)
        if value is not None:
            pieces.append(Piece(tuple(tokens[at : at + count]), at, value=value))
        cuts = []
        for piece in pieces:
            known = piece.kind is not None or piece.value is not None
            weight, rest = best[len(tokens) - at - len(piece.tokens)]
            cuts.append((weight + (len(piece.tokens) ** 2 if known else 0), (piece, *rest)))
        best.append(max(cuts, key=lambda cut: cut[0]))
    return list(best[-1][1])


def _phrases_at(tokens: Sequence[str], at: int, language: Language, asked: Asked) -> Iterator[Piece]:
    """Yield the phrases that begin at a token."""
    for count in range(1, min(LONGEST[language], len(tokens) - at) + 1):
        said = tuple(tokens[at : at + count])
        kind = PHRASES[language].get(said)
        if kind is Kind.NO and said[0] in STOPS and said[0] in asked.tokens:
            continue
        if kind is Kind.YES and said[-1] == "吧" and said[-2] in DEED_CHARS and said[-2] not in asked.tokens:
            continue
        if kind is not None:
            yield Piece(said, at, kind)


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces; "and" between agreement and agreement says nothing."""
    for at, piece in enumerate(pieces[:-1]):
        behind = pieces[at + 1].kind
        is_behind = at > 0 and pieces[at - 1].kind in (Kind.YES, Kind.PAD)
        if piece.kind is None and piece.tokens[0] in JOINTS and (is_behind or behind in (Kind.YES, Kind.ALWAYS)):
            pieces[at] = Piece(piece.tokens, piece.at, Kind.PAD)
    return pieces


def _with_homophones(tokens: Sequence[str], asked: Asked) -> Sequence[str]:
    """Return the words with "only for" as "only four": the question has a number."""
    counted = {asked.behind(value) for value in asked.values if isinstance(value, Number)}
    if not counted:
        return tokens
    end = len(tokens)
    while end and PHRASES["en"].get((tokens[end - 1],)) is Kind.PAD:
        end -= 1
    changed = list(tokens)
    for at, token in enumerate(tokens):
        if token not in HOMOPHONES:
            continue
        is_counting = at + 1 < len(tokens) and tokens[at + 1] in counted
        before = tuple(tokens[max(0, at - 2) : at])
        is_said_last = at == end - 1 and (
            before[-1:] in (("only",), ("just",)) or before in (("make", "it"), ("make", "that"))
        )
        if is_counting or is_said_last:
            changed[at] = HOMOPHONES[token]
    return tuple(changed)
