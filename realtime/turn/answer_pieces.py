"""Cut an answer to a question for consent into pieces: known phrases, values, and the rest. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby, pairwise

from realtime.tool.question import language_of
from realtime.tool.spoken_amounts import amount_at
from realtime.tool.spoken_numbers import Language, folded, matches_of
from realtime.tool.spoken_times import Clock, Day, day_at, ordinal_at, time_at
from realtime.turn.answer_deeds import Deed
from realtime.turn.answer_phrases import LONGEST, PHRASES, Kind, as_compared, word_set
from realtime.turn.answer_words import (
    ADDRESSES,
    ALTERNATIVES,
    ARTICLES,
    AS_ASKED,
    DEED_CHARS,
    HOMOPHONES,
    JOINTS,
    PLEASE,
    PREPOSITIONS,
    PRONOUNS,
    REFUSING,
    STOPS,
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


_BEFORE_TIMES = frozenset({"at", "on", "for", "um", "am", "fur"})
_BOUNDS = word_set("from until till before after von bis vor nach desde hasta antes despues")
"""Beside these another word before a time means something else."""
_POINTING = word_set("this that these those diese dieser diesen dieses ese esa este esta esos esas estos estas")
"""What may stand for an article before a word of the question."""
_CONTRASTING = word_set("instead rather statt anstatt")
_ORDERING = word_set(
    "from to von nach zu an auf de a desde hasta before after until than over under instead rather not first last vor "
    "statt antes despues mejor"
)
"""Beside these the order of words tells which is which."""
_OF_ASKING = word_set("shall should may can could would you want like okay soll darf kann ich quieres quiere que")
_TO_USER = re.compile(r"(?:me|nos)(?:lo|la|los|las)?$")
_AWAY = (("weg", "damit"), ("fort", "damit"), ("deme", "de", "baja"), ("dame", "de", "baja"))
"""What agrees to take something away, and to nothing else."""
_WHOLE = (("中",), ("成",))
"""What agrees only as a whole answer: "中号的" is a size."""
_TOLD = re.compile(r"\w{3}(?:lo|la|los|las|selo|sela)$")
"""A Spanish order with the object behind it: "resérvala"."""
_MOST_OBJECT = 4
"""Words that a pronoun stands for."""
_ENDING = re.compile(r"(?:en|n|e|t|st|o|a|as|ar|er|ir|es|emos|amos|an)$")
_ENCLITIC = re.compile(r"(?:se|me|te|nos)?(?:lo|la|los|las|le|les)$|(?:me|nos)$")

_SWAPPED = {"me": "you", "my": "your", "i": "you", "mir": "dir", "mein": "dein", "meine": "deine"}
_SWAPPED |= {"mich": "dich", "us": "you", "uns": "euch", "我": "你", "你": "我"}
"""The words of the person who answers, as the question says them."""


class Asked:
    """A question for consent to a call, by its words and values."""

    def __init__(self, question: str, arguments: Mapping[str, object], schema: Mapping[str, object]) -> None:
        language = language_of(question)
        self.choices = _choices(schema)
        self.words = tokens = as_compared(folded(question).replace("您", "你"))
        self.tokens = frozenset(tokens)
        self.language = language
        self.articles = ARTICLES[language]
        self.arguments = arguments
        properties = schema.get("properties")
        self.properties = properties if isinstance(properties, Mapping) else {}
        self._names = {token for name in self.properties for token in as_compared(name.replace("_", " "))}
        self._pairs = frozenset(pairwise(tokens))
        self.items = self._without_articles(_items(tokens, language, self.choices))
        counted = [at for at in range(1, len(self.items)) if isinstance(self.items[at - 1], Number)]
        self._uncounted = [item for at, item in enumerate(self.items) if at not in counted]
        self._has_alternatives = any(item in (*ALTERNATIVES[language], *_CONTRASTING) for item in self.items)
        self._shortest_echo = 4 if language == "zh" else 2
        self._oneless = [item for item in self.items if item != Number(Decimal(1))]
        self.deed = Deed(tokens, language)

    @property
    def values(self) -> list[Value]:
        """The values in the question."""
        return [item for item in self.items if not isinstance(item, str)]

    def values_in(self, words: Sequence[str]) -> list[Item]:
        """Return the values of a text."""
        return [item for item in _items(words, self.language, self.choices) if not isinstance(item, str)]

    def knows(self, word: str) -> bool:
        """Whether a word is of the question or of an argument's name."""
        return word in self.tokens or word in self._names or f"{word}s" in self.tokens

    def has(self, value: Value) -> bool:
        """Whether the question has this value."""
        return any(same(value, own) for own in self.values)

    def as_time(self, value: Value | None) -> Value | None:
        """Return a number as an hour where the question has only times: "yes, at nine"."""
        kinds = {type(own) for own in self.values}
        if not isinstance(value, Number) or Clock not in kinds or Number in kinds:
            return value
        hour = value.value
        return Clock(int(hour), 0, hour > 12) if hour == int(hour) and 1 < hour < 24 else value

    def has_in_row(self, tokens: Sequence[str]) -> bool:
        """Whether the question has these two words in a row."""
        return len(tokens) == 2 and tuple(tokens) in self._pairs

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
        return len(items) >= self._shortest_echo and self.has_run(items)

    def _without_articles(self, items: Sequence[Item]) -> list[Item]:
        articles = ARTICLES[self.language]
        said = [*items, ""]
        kept = [
            item
            for at, item in enumerate(items)
            if not (isinstance(item, str) and (item in articles or (item in _POINTING and said[at + 1] in self.tokens)))
        ]
        # "schalt es ein" ends with a part of its verb.
        return [*kept, "ein"] if self.language == "de" and len(items) > 1 and items[-1] == "ein" else kept

    def repeats(self, pieces: Sequence[Piece]) -> bool:
        """Whether these words, in each run, only repeat the question.

        In a question with an "and" or "or" a part is not the whole, and nothing repeats it.
        """
        runs = self._runs(pieces)
        if runs is None or (self._has_alternatives and runs):
            return False
        if any(all(item in PREPOSITIONS and not self.deed.is_particle(item) for item in run) for run in runs):
            # "yes, to ..."
            return False
        if len(runs) == 2 and self._is_order(self._without_articles([*runs[0], *runs[1]])):
            # "schalt sie bitte ein"
            return True
        return all(self._has_digits(run) and self._says_again(self._without_articles(run)) for run in runs)

    @staticmethod
    def _runs(pieces: Sequence[Piece]) -> list[list[Item]] | None:
        """Return the words that stand together; None with a phrase among them."""
        runs: list[list[Item]] = []
        end = -1
        for piece in pieces:
            if piece.kind not in (None, Kind.LINK):
                return None
            if piece.at != end or piece.begins:
                runs.append([])
            runs[-1] += _items_of(piece)
            end = piece.at + len(piece.tokens)
        return runs

    def _has_digits(self, run: Sequence[Item]) -> bool:
        """Return whether numbers in a row are so in the question: digits of a card."""
        numbers = [[*some] for is_one, some in groupby(run, lambda item: isinstance(item, Number)) if is_one]
        return all(len(some) == 1 or self.has_run(some) for some in numbers)

    def _says_again(self, run: Sequence[Item]) -> bool:
        items = [_SWAPPED.get(item, item) if isinstance(item, str) else item for item in run]
        if self._is_order(items) or (len(items) > 1 and self.has_run(items)):
            return True
        if items and self.language == "de" and self.is_verb(items[-1]):
            items.pop()
        elif items and self.is_verb(items[0]):
            # German has the verb at the end of the question: "buch den Tisch".
            items[:1] = [] if self.language == "de" else self.items[:1]
        if not items or items in [[pronoun] for pronoun in PRONOUNS]:
            return len(run) > len(items)
        at = next((at for at, item in enumerate(items) if item in PRONOUNS), 0)
        if at and self.language == "en" and not self.deed.behind_order(items, with_synonyms=True):
            return False
        if at and not self.has_run(items):
            # The pronoun stands for some words of the question: "send it to Anna".
            last = items[at + 1 :]
            return self._has_gap(items[:at], last) if last else self.has_run(items[:at])
        return self.has_run(items) or self._has_parts(items)

    def is_named(self, said: Sequence[str], before: str) -> bool:
        """Whether a word that may call the agent names someone here: "to my friend", "call honey"."""
        is_behind = before in ARTICLES[self.language] or before in PREPOSITIONS or before == self.deed.verb
        return is_behind or said[-1] in self.tokens

    def is_split(self, words: Sequence[str]) -> bool:
        """Whether words begin with a German verb whose last part stands apart: "mach sie an"."""
        parts = [word for word in words[1:] if self.deed.is_separable(word)] if self.language == "de" else []
        return any(self.is_verb(f"{part}{words[0]}") for part in parts)

    def is_deed(self, said: Sequence[str]) -> bool:
        """Whether a phrase is the verb of the question with a pronoun: "change it"."""
        if self.language == "zh":
            return len(said) == 1 and said[0] in DEED_CHARS and said[0] in self.tokens
        is_verb = said[0] == self.deed.verb or self.is_verb(said[0])
        if len(said) == 1 and self.language == "es":
            return is_verb and _TOLD.search(said[0]) is not None
        return is_verb and len(said) > 1 and all(word in PRONOUNS for word in said[1:])

    def is_wished(self, pieces: Sequence[Piece]) -> bool:
        """Whether "I want" and these words wish for the deed."""
        items = self._without_articles([item for piece in pieces for item in _items_of(piece)])
        if items and self.deed.is_participle(items[-1]):
            thing = items[:-1]
            return thing == [] or thing[0] in PRONOUNS or self._is_object(thing) or self.has_run(thing)
        is_thing = len(items) == 1 and items[0] in PRONOUNS
        return (
            not self.deed.removes and not self._has_alternatives and bool(items) and (is_thing or self.has_run(items))
        )

    def is_order(self, pieces: Sequence[Piece]) -> bool:
        """Whether these words tell to do what was asked."""
        return self._is_order(self._without_articles([item for piece in pieces for item in _items_of(piece)]))

    def _is_order(self, items: Sequence[Item]) -> bool:
        """Return whether these items order what was asked.

        It is the verb of the question with pronouns, its object, or pieces of the question. "买了" tells it is done.
        """
        is_done = [*items[1:]] == ["了"] and not self.deed.removes
        if self.language == "zh" and items and not is_done:
            items = self._without_particles(items)
        if not items:
            return False
        if self.language == "zh":
            count = 1 if items[0] in DEED_CHARS and items[0] in self.tokens else 0
            if count and (self.has_run(items) or self.has_run(items[1:])):
                return True
            if items[1:2] == ["给"] and count and items[2:3] and items[2] in tuple("他她它"):
                count = 3
        elif self.language == "en":
            count = self.deed.behind_order(items, with_synonyms=True)
        else:
            whole = f"{items[-1]}{items[0]}"
            verb: Item = items[0]
            if len(items) > 1 and self.deed.is_separable(items[-1]) and self.is_verb(whole):
                items, verb = items[:-1], whole
            count = 1 + self.deed.behind_verb(items[1:]) if self.is_verb(verb) else 0
        if self.language == "en" and items[0] in ("get", "have") and self.deed.is_participle(items[-1]):
            return [*items[1:-1]] in [[pronoun] for pronoun in PRONOUNS] or self._is_object(items[1:-1])
        if (
            count == 1
            and [*items[1:]] in ([Number(Decimal(1))], ["one"])
            and not any(isinstance(own, Number) for own in self.values)
        ):
            return True
        rest = items[count:]
        if self.language == "en" and count == 1 and rest and self.deed.behind_verb(rest[-1:]):
            rest = rest[:-1]
        is_known = self._is_object(rest) or self.deed.is_recipient(rest) or self._has_parts(rest)
        return count > 0 and (not rest or is_known)

    @staticmethod
    def _without_particles(items: Sequence[Item]) -> Sequence[Item]:
        """Return a Chinese order without what says nothing in it: "转过去吧", "删了它", "你发吧", "买买买"."""
        items = [item for item in items if item not in ("吧", "啊", "呗")] or items
        items = items[1:] if items[0] in ("你", "我") and len(items) > 1 else items
        while len(items) > 1 and items[-1] in tuple("掉去它了过出"):
            items = items[:-1]
        half = len(items) // 2
        if items[:half] == items[half:]:
            return items[:half]
        return items[:1] if len({*items}) == 1 else items

    def _has_parts(self, items: Sequence[Item]) -> bool:
        """Whether these are parts of the question in another order.

        Each is a value, has some words, or is a word that no preposition places.
        """
        at = 0
        is_placed = self.language == "zh" or bool(_ORDERING & self.tokens)
        while at < len(items):
            if at and self._is_order(items[at:]):
                return True
            count = next((n for n in range(len(items) - at, 0, -1) if self.has_run(items[at : at + n])), 0)
            if count < 2 and isinstance(items[at], str):
                is_object = len(items) > 1 and self.deed.is_object([items[at]])
                behind = [*items, ""][at + 1]
                is_before_time = items[at] in _BEFORE_TIMES and isinstance(behind, Clock | Day | Ordinal)
                is_before_value = is_before_time or (items[at] in ("for", "fur") and isinstance(behind, Number))
                is_free = count == 1 and len(items) > 1 and not is_placed and self._is_free(items[at])
                is_said = count == 1 or not _BOUNDS & self.tokens
                count = 1 if is_object or (is_before_value and is_said) or is_free else 0
            if count == 0:
                return False
            at += count
        return True

    def _is_free(self, item: Item) -> bool:
        """Return whether a word of the question may stand anywhere."""
        is_small = (
            item in PREPOSITIONS or item in ALTERNATIVES[self.language] or item in _OF_ASKING or len(str(item)) < 3
        )
        return self.deed.is_particle(item) or not (is_small or item == self.deed.verb or self.is_verb(item))

    def is_verb(self, item: Item) -> bool:
        """Whether an item is a form of the German or Spanish verb."""
        if self.language not in ("de", "es") or not isinstance(item, str) or not self.items:
            return False
        verbs = [self.deed.german_verb()] if self.language == "de" else self.deed.spanish_verbs()
        # "cancelas" is no order: "si cancelas" is a condition.
        forms = [item] if self.language == "de" or not item.endswith("s") else []
        names_user = "te" in self.tokens or ("le" in self.tokens and "a" not in self.tokens)
        if self.language == "es" and (names_user or not _TO_USER.search(item)):
            forms.append(_ENCLITIC.sub("", item))
        said = {part for form in forms for part in (form, _ENDING.sub("", form))}
        stems = {verb: _ENDING.sub("", verb) for verb in verbs}
        return any(len(stem) > 2 and (item == verb or self.deed.kin(stem) & said) for verb, stem in stems.items())

    def is_proclitic(self, word: str) -> bool:
        """Whether a word is a Spanish verb without pronoun, or its pronoun."""
        return word in ("la", "lo", "las", "los", "le", "les", "te", "se") or (
            self.is_verb(word) and not _ENCLITIC.search(word)
        )

    def _is_object(self, items: Sequence[Item]) -> bool:
        """Return whether these words name the object of the question."""
        if self.language == "en":
            return self.deed.is_object(items)
        if self.language == "de" and items and items == self.items[2:-1]:
            return True
        if len(items) != 1 or not isinstance(items[0], str):
            return False
        if any(isinstance(number, Number) and items[0] == noun for number, noun in pairwise(self.items)):
            return True
        return any((article, items[0]) in self._pairs for article in ARTICLES[self.language]) and not any(
            (before, article) in self._pairs and (article, items[0]) in self._pairs
            for before in PREPOSITIONS
            for article in ARTICLES[self.language]
        )

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

    def is_imperative(self, pieces: Sequence[Piece], has_please: bool) -> bool:
        """Whether these words alone order what was asked; what stands apart from the order repeats the question.

        The order is the verb of the question and a pronoun, or any order with a "please". A question that has both in
        a row may echo.
        """
        runs = self._runs(pieces)
        if self._has_alternatives or runs is None:
            return False
        orders = [run for run in runs if self._is_told(run, has_please)]
        is_whole = len(orders) == 1 and all(
            run is orders[0] or self._says_again(self._without_articles(run)) for run in runs
        )
        return is_whole or (len(runs) > 1 and self._is_told([item for run in runs for item in run], has_please))

    def _is_told(self, items: list[Item], has_please: bool) -> bool:
        if any(isinstance(item, str) and item.startswith(REFUSING) for item in items):
            return False
        if has_please and not self.tokens & PLEASE and (len(items) > 1 or self.language != "en"):
            return self._is_order(self._without_articles([_SWAPPED.get(str(item), item) for item in items]))
        if self.language == "zh":
            is_told = items[-1] in ("吧", "它") or (len(items) > 2 and len({*items}) == 1)
            return is_told and self._is_order(items)
        if self.language in ("de", "es"):
            is_told = len(items) > 1 if self.language == "de" else _TOLD.search(str(items[0])) is not None
            return is_told and self._is_order(items) and not self.has_run(items)
        count = self.deed.behind_order(items, with_synonyms=False)
        return 1 < len(items) == count and not self.has_run(items)

    def has_run(self, items: Sequence[Item]) -> bool:
        """Whether the question has these items in a row. What its numbers count may be left out."""
        count = len(items)
        return any(
            _are_same(items, own[at : at + count])
            for own in (self.items, self._uncounted, self._oneless)
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
        value, count = value_at(tokens, at, language, choices)
        items.append(tokens[at] if value is None else value)
        at += count
    return items


def value_at(
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
        tokens = _as_asked(tokens, asked)
    matches = matches_of(words)
    starts = {at for at in range(1, len(matches)) if words[matches[at - 1].end() : matches[at].start()].strip(" '-")}
    pieces = _joined(_cut(tokens, language, asked, starts), asked)
    pieces = [replace(piece, begins=True) if piece.at in starts else piece for piece in pieces]
    return [replace(piece, value=asked.as_time(piece.value)) for piece in pieces]


def raw_tokens(words: str) -> list[str]:
    """Return the tokens of an answer as written; `Piece.at` counts them."""
    return [match.group() for match in matches_of(words)]


def _cut(tokens: Sequence[str], language: Language, asked: Asked, starts: Set[int]) -> list[Piece]:
    """Return the pieces, of which long ones weigh most: "please, don't do that" is no "please don't, do that".

    A value does not go on behind a mark, where a token of `starts` begins: "not nine, ten" is no time.
    """
    best: list[tuple[int, tuple[Piece, ...]]] = [(0, ())]
    end = len(tokens)
    for at in range(len(tokens) - 1, -1, -1):
        pieces = [Piece((tokens[at],), at), *_phrases_at(tokens, at, language, asked)]
        value, count = value_at(tokens[:end], at, language, asked.choices)
        end = at if at in starts else end
        if value is not None:
            pieces.append(Piece(tuple(tokens[at : at + count]), at, value=value))
        cuts = []
        for piece in pieces:
            known = piece.kind is not None or piece.value is not None
            # "周五 八点" is Friday at eight, no "五八点".
            bonus = 2 if language == "zh" and isinstance(piece.value, Day) else 0
            weight, rest = best[len(tokens) - at - len(piece.tokens)]
            cuts.append((weight + (len(piece.tokens) ** 2 if known else 0) + bonus, (piece, *rest)))
        best.append(max(cuts, key=lambda cut: cut[0]))
    return list(best[-1][1])


def _phrases_at(tokens: Sequence[str], at: int, language: Language, asked: Asked) -> Iterator[Piece]:
    """Yield the phrases that begin at a token."""
    for count in range(1, min(LONGEST[language], len(tokens) - at) + 1):
        said = tuple(tokens[at : at + count])
        kind = PHRASES[language].get(said)
        if kind is Kind.NO and (said[0] in STOPS or said[:2] == ("取", "消")) and said[0] in asked.tokens:
            continue
        if kind is Kind.NO and said[0] != "no" and asked.is_verb(said[0]):
            continue
        if (kind is Kind.DEAR or said[-1] in ADDRESSES) and asked.is_named(said, tokens[at - 1] if at else ""):
            continue
        if said in _AWAY and not asked.deed.removes:
            continue
        if said in _WHOLE and len(tokens) > 1:
            continue
        if kind is not None:
            if asked.is_split(tokens[at + count - 1 :]) or (
                kind in (Kind.INSTEAD, Kind.CHANGE) and asked.is_deed(said)
            ):
                continue
            yield Piece(said, at, kind)


def _joined(pieces: list[Piece], asked: Asked) -> list[Piece]:
    """Return the pieces; "and" between agreement and agreement says nothing."""
    for at in range(1, len(pieces)):
        # "the red one" names no number.
        if pieces[at].tokens in (("one",), ("ones",)) and _is_name_of_one(pieces[at - 1], asked):
            pieces[at] = Piece(pieces[at].tokens, pieces[at].at, Kind.LINK)
    for at, piece in enumerate(pieces[:-1]):
        behind = pieces[at + 1].kind
        is_behind = at > 0 and pieces[at - 1].kind in (Kind.YES, Kind.PAD)
        if piece.kind is None and piece.tokens[0] in JOINTS and (is_behind or behind in (Kind.YES, Kind.ALWAYS)):
            pieces[at] = Piece(piece.tokens, piece.at, Kind.PAD)
    return pieces


def _is_name_of_one(before: Piece, asked: Asked) -> bool:
    is_word = before.kind is None and before.value is None and before.tokens[0] not in (*PREPOSITIONS, asked.deed.verb)
    return is_word or before.tokens in (("the",), ("that",), ("this",), ("not", "the"))


def _as_asked(tokens: Sequence[str], asked: Asked) -> Sequence[str]:
    """Return the words as the question has them: "a cab" as its taxi, "only for" as "only four" if it has a number."""
    counted = {asked.behind(value) for value in asked.values if isinstance(value, Number)}
    meant = [HOMOPHONES.get(token, token) for token in tokens]
    end = len(tokens)
    while end and PHRASES["en"].get((tokens[end - 1],)) is Kind.PAD:
        end -= 1
    changed = list(tokens)
    for at, token in enumerate(tokens):
        if AS_ASKED.get(token) in asked.tokens and token not in asked.tokens:
            changed[at] = AS_ASKED[token]
        if token not in HOMOPHONES:
            continue
        is_counting = at + 1 < len(tokens) and tokens[at + 1] in counted
        before = tuple(tokens[max(0, at - 2) : at])
        is_said_last = at == end - 1 and (
            before[-1:] in (("only",), ("just",)) or before in (("make", "it"), ("make", "that"))
        )
        is_repeated = asked.has_in_row(meant[at : at + 2]) and not asked.has_in_row(tokens[at : at + 2])
        is_repeated |= at > 0 and asked.has_in_row(meant[at - 1 : at + 1]) and token != "to"
        is_clock = tokens[at + 1 : at + 2] in (("oclock",), ("pm",), ("am",)) or before[-1:] == ("past",)
        is_clock = is_clock or (before[-1:] == ("at",) and token not in ("to", "for"))
        if (counted and (is_counting or is_said_last)) or is_repeated or is_clock:
            changed[at] = HOMOPHONES[token]
    return tuple(changed)
