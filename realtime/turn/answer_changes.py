"""Which argument of a call an answer changes, where that is certain. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from itertools import groupby, pairwise

from realtime.tool.question import is_identifier
from realtime.tool.question_words import CURRENCIES
from realtime.tool.spoken_numbers import LANGUAGES, numeral, plain
from realtime.tool.spoken_times import NEAR_DAYS, WEEKDAYS, Clock, Day
from realtime.turn.answer_pieces import Asked, Choice, Number, Ordinal, Piece, Value, raw_tokens
from realtime.turn.answer_words import (
    NAMED,
    NO_NAMES,
    PREPOSITIONS,
    REJECTING,
    RELATIVE,
    Kind,
    as_compared,
    word_set,
)

_LIGHT = {
    Kind.YES,
    Kind.WARM,
    Kind.NO,
    Kind.PAD,
    Kind.CHANGE,
    Kind.INSTEAD,
    Kind.EXCEPT,
    Kind.LINK,
    Kind.SORRY,
    Kind.ALWAYS,
}
_MONEY = frozenset(
    token for names in CURRENCIES.values() for four in names.values() for name in four for token in as_compared(name)
) | {"$", "€", "£", "¥"}
_CONTRAST = frozenset({"not", "nicht", "no", "不"})
_SMALL = word_set(
    "the a an my your to for on at with from about der die das den dem auf mit fur el la los las un una 是 要"
)
_MOST_NAMES = 3
"""Words of a name."""


class Changes:
    """What an answer changes."""

    def __init__(
        self,
        pieces: Sequence[Piece],
        words: str,
        arguments: Mapping[str, object],
        schema: Mapping[str, object],
        asked: Asked,
    ) -> None:
        self._pieces = pieces
        self._raw = raw_tokens(words)
        self._arguments = arguments
        properties = schema.get("properties")
        self._properties = properties if isinstance(properties, Mapping) else {}
        self._asked = asked
        self._kinds = {piece.kind for piece in pieces}
        self._new = self._new_values()

    @property
    def has_new(self) -> bool:
        """Whether the answer has a value that the question does not have."""
        return bool(self._new)

    @property
    def is_change(self) -> bool:
        """Whether the answer asks for something else than the question."""
        kinds = self._kinds
        if Kind.DOUBT in kinds:
            return False
        if self._new:
            return (
                self._is_light(with_money=True)
                or self._begins_with_new()
                or bool(kinds & {Kind.CHANGE, Kind.INSTEAD, Kind.EXCEPT, Kind.NO})
            )
        if Kind.INSTEAD in kinds or self._name() is not None:
            return True
        if self._rejects() or self._has_other_digits() or self._contrasts() or self._replaces_object():
            return True
        if kinds & {Kind.CHANGE, Kind.EXCEPT}:
            return self._has_content()
        return Kind.NO in kinds and Kind.YES not in kinds and self._has_object()

    def changed(self) -> dict[str, object] | None:
        """Return all arguments with the new one; None where it is not certain which changes, or to what."""
        if self._new:
            if len(self._new) > 1 or not self._is_light() or any(token in RELATIVE for token in self._words()):
                return None
            found = self._target(self._new[0])
        else:
            found = self._name()
        if found is None:
            return None
        name, value = found
        if value == self._arguments.get(name) or not fits(value, self._properties.get(name)):
            return None
        return {**self._arguments, name: value}

    def _words(self) -> list[str]:
        """Return the words that are no part of a value."""
        return [token for piece in self._pieces if piece.value is None for token in piece.tokens]

    def _new_values(self) -> list[Piece]:
        values = [(at, piece) for at, piece in enumerate(self._pieces) if piece.value is not None]
        new = []
        for at, piece in values:
            assert piece.value is not None
            before = self._pieces[at - 1].tokens if at else ()
            is_rejected = before in REJECTING and (len(values) > 1 or before not in (("no",), ("nein",)))
            if not is_rejected and not self._asked.has(piece.value):
                new.append(piece)
        return new

    def _is_light(self, with_money: bool = False) -> bool:
        """Return whether nothing else was said: only values, marks of a change, words of the question."""
        return all(
            piece.value is not None
            or piece.kind in _LIGHT
            or (piece.kind is None and (self._is_known(piece.tokens[0]) or (with_money and piece.tokens[0] in _MONEY)))
            for piece in self._pieces
        )

    def _is_known(self, word: str) -> bool:
        names = {token for name in self._properties for token in as_compared(name.replace("_", " "))}
        return word in self._asked.tokens or word in names or f"{word}s" in self._asked.tokens

    def _rejects(self) -> bool:
        """Return whether something of the question is not wanted: "yes, but not on Friday"."""
        said = [piece for piece in self._pieces if piece.kind is not Kind.PAD and piece.tokens[-1] not in PREPOSITIONS]
        return any(
            piece.tokens[-1] in ("not", "nicht") and behind.value is not None for piece, behind in pairwise(said)
        )

    def _begins_with_new(self) -> bool:
        """Return whether a new value with a "please" comes first: "three please, we're hungry"."""
        said = [token for piece in self._pieces for token in piece.tokens]
        return self._pieces[0] in self._new and said[len(self._pieces[0].tokens) :][:1] == ["please"]

    def _has_other_digits(self) -> bool:
        """Return whether digits in a row are not those of the question: "the one ending in four four two one"."""
        values = [piece.value for piece in self._pieces]
        runs = [list(run) for is_number, run in groupby(values, lambda value: isinstance(value, Number)) if is_number]
        return any(len(run) > 2 and not self._asked.has_run([one for one in run if one]) for run in runs)

    def _contrasts(self) -> bool:
        """Return whether "not" stands between other words and the question's: "the invoice, not the contract"."""
        marks = [at for at, piece in enumerate(self._pieces) if piece.tokens[0] in _CONTRAST and at > 0]
        if len(marks) != 1:
            return False
        before, behind = self._pieces[: marks[0]], self._pieces[marks[0] :]
        rest = [token for piece in behind for token in piece.tokens if token not in _CONTRAST and token not in _SMALL]
        return (
            any(piece.kind is None and not self._is_known(piece.tokens[0]) for piece in before)
            and bool(rest)
            and all(token in self._asked.tokens for token in rest)
            and not self._kinds & {Kind.ASK, Kind.WAIT}
        )

    def _replaces_object(self) -> bool:
        """Return whether a preposition of the question has other words behind it: "from checking please"."""
        pieces = [piece for piece in self._pieces if piece.kind is not Kind.PAD]
        is_to = [piece.tokens[-1] in PREPOSITIONS and piece.kind is Kind.LINK for piece in pieces]
        at = is_to.index(True) if True in is_to else None
        if at is None or pieces[at].tokens[-1] not in self._asked.tokens or self._kinds & {Kind.ASK, Kind.WAIT}:
            return False
        behind = [piece for piece in pieces[at + 1 :] if piece.kind is not Kind.LINK]
        unknown = [piece for piece in behind if piece.kind is None and not self._is_known(piece.tokens[0])]
        others = [piece for piece in (*pieces[:at], *behind) if piece not in unknown]
        return (
            0 < len(unknown) <= 2
            # "I'm on the phone" names nothing of the question.
            and not any(piece.kind is Kind.LINK for piece in pieces[:at])
            and unknown[0].tokens[0] not in ("her", "him", "them")
            and all(
                piece.kind in _LIGHT or (piece.kind is None and self._is_known(piece.tokens[0])) for piece in others
            )
        )

    def _has_content(self) -> bool:
        """Return whether unknown words follow the mark of a change, none before."""
        at = next(at for at, piece in enumerate(self._pieces) if piece.kind in (Kind.CHANGE, Kind.EXCEPT))
        is_unknown = [piece.kind is None and piece.value is None for piece in self._pieces]
        return any(is_unknown[at:]) and not any(is_unknown[:at])

    def _has_object(self) -> bool:
        """Return whether a preposition with unknown words follows the refusal: "no, for Anna"."""
        rest = [piece for piece in self._pieces if piece.kind not in (Kind.PAD, Kind.SORRY, Kind.NO, Kind.CHANGE)]
        if len(rest) < 2 or rest[0].tokens[-1] not in PREPOSITIONS:
            return False
        return rest[1].kind is None and not self._is_known(rest[1].tokens[0])

    def _target(self, piece: Piece) -> tuple[str, object] | None:
        """Return the only argument that can take the new value, with it."""
        value = piece.value
        assert value is not None
        found = [
            (name, new)
            for name, old in self._arguments.items()
            if (new := self._replaced(name, old, value)) is not None
        ]
        if isinstance(value, Number) and len(found) > 1:
            found = [(name, new) for name, new in found if self._counts(name, piece)]
        return found[0] if len(found) == 1 else None

    def _counts(self, name: str, piece: Piece) -> bool:
        """Return whether the word behind a number is what this argument counts."""
        at = self._pieces.index(piece) + 1
        behind = self._pieces[at].tokens[0] if at < len(self._pieces) else ""
        old = _number_of(self._arguments[name])
        counted = self._asked.behind(Number(old.normalize())) if old is not None else None
        return bool(behind) and (behind == counted or behind in as_compared(name.replace("_", " ")))

    def _replaced(self, name: str, old: object, new: Value) -> object | None:
        schema = self._properties.get(name)
        match new:
            case Choice(value=choice):
                listed = schema.get("enum") if isinstance(schema, Mapping) else None
                return choice if isinstance(listed, list) and choice in listed else None
            case Number(value=number):
                return self._number(name, old, number)
            case Day():
                return _day(old, new)
            case Clock():
                return _clock(old, new)
            case Ordinal(day=day):
                return _day_of_month(old, day)

    def _number(self, name: str, old: object, new: Decimal) -> object | None:
        number = _number_of(old)
        if number is None or is_identifier(name) or not self._asked.has(Number(number.normalize())):
            return None
        if isinstance(old, str):
            return format(new, "f")
        return int(new) if new == int(new) else float(new)

    def _name(self) -> tuple[str, object] | None:
        """Return the argument that holds a name, with the new name.

        Certain only where the recogniser wrote it with a capital letter inside a text that has small ones.
        """
        names = [
            name
            for name, value in self._arguments.items()
            if isinstance(value, str) and name.lower() in NAMED and self._is_asked(value)
        ]
        if len(names) != 1 or not any(token.islower() for token in self._raw):
            return None
        own = as_compared(str(self._arguments[names[0]]))
        unknown = [piece for piece in self._pieces if piece.kind is None and piece.tokens[0] not in own]
        if not 0 < len(unknown) <= _MOST_NAMES or any(piece.value is not None for piece in unknown):
            return None
        first, last = unknown[0].at, unknown[-1].at
        if last - first != len(unknown) - 1 or first == 0 or not self._is_light_but(unknown):
            return None
        said = self._raw[first : last + 1]
        if not all(word[:1].isupper() and word.isalpha() and plain(word.lower()) not in NO_NAMES for word in said):
            return None
        before = as_compared(self._raw[first - 1])
        value = self._arguments[names[0]]
        asked_with = self._before(str(value))
        if before and (before[0] == asked_with or (before in (("fur",), ("for",), ("para",)) and names[0] != "to")):
            return names[0], " ".join(said)
        return None

    def _is_light_but(self, unknown: Sequence[Piece]) -> bool:
        own = {piece.tokens for piece in self._pieces if piece.kind is None and piece not in unknown}
        is_rejected = not own or "not" in self._words() or "nicht" in self._words()
        return is_rejected and all(piece.kind in (None, *_LIGHT) for piece in self._pieces)

    def _is_asked(self, value: str) -> bool:
        return self._before(value) is not None

    def _before(self, value: str) -> str | None:
        """Return the word of the question before a text argument; None where the question does not have the text."""
        words, items = list(as_compared(value)), self._asked.items
        for at in range(1, len(items) - len(words) + 1):
            before = items[at - 1]
            if words and items[at : at + len(words)] == words and isinstance(before, str):
                return before
        return None


def _number_of(value: object) -> Decimal | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return Decimal(str(value))
    return numeral(value.strip(), "en") if isinstance(value, str) and value[:1].isdigit() else None


def _day(old: object, new: Day) -> str | None:
    """Return a new day in the language of the old one."""
    if not isinstance(old, str):
        return None
    for language in LANGUAGES:
        weekdays, near = WEEKDAYS[language], NEAR_DAYS[language]
        if old.strip().lower() in (*weekdays, *near):
            if new.weekday is None:
                return near[new.near or 0]
            name = weekdays[new.weekday]
            is_near = old.strip().lower() in near and language == "en"
            return name.title() if old[:1].isupper() or language == "de" or is_near else name
    return None


_TIME = re.compile(r"(\d{1,2}):(\d{2})(:\d{2})?(?:\s?([AaPp])\.?[Mm]\.?)?")


def _clock(old: object, new: Clock) -> str | None:
    """Return a new time in the form of the old one; without a half of the day, in that of the old one."""
    if not isinstance(old, str) or (match := _TIME.fullmatch(old.strip())) is None:
        return None
    hour = int(match[1])
    if match[4]:
        hour = hour % 12 + (12 if match[4].lower() == "p" else 0)
    at = new.hour if new.is_sure or new.hour == 0 else new.hour % 12 + (12 if hour >= 12 else 0)
    if match[4]:
        half = ("PM" if at >= 12 else "AM") if match[4].isupper() else ("pm" if at >= 12 else "am")
        space = " " if " " in old.strip() else ""
        return f"{at % 12 or 12}:{new.minute:02}{space}{half}"
    written = f"{at:02}" if len(match[1]) == 2 else str(at)
    return f"{written}:{new.minute:02}{':00' if match[3] else ''}"


def _day_of_month(old: object, day: int) -> str | None:
    """Return an ISO date with another day of its month."""
    try:
        return date.fromisoformat(old).replace(day=day).isoformat() if isinstance(old, str) else None
    except ValueError:
        return None


def fits(value: object, schema: object) -> bool:
    """Whether a value fits the schema of an argument. Types other than numbers and texts fit nothing."""
    if not isinstance(schema, Mapping):
        return True
    for several in ("anyOf", "oneOf"):
        if isinstance(options := schema.get(several), list) and not any(fits(value, option) for option in options):
            return False
    kinds = schema.get("type")
    if kinds is not None and not any(_is_a(value, kind) for kind in (kinds if isinstance(kinds, list) else [kinds])):
        return False
    if "const" in schema and value != schema["const"]:
        return False
    if isinstance(listed := schema.get("enum"), list) and value not in listed:
        return False
    return _is_within(value, schema)


def _is_a(value: object, kind: object) -> bool:
    match kind:
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "string":
            return isinstance(value, str)
    return False


def _is_within(value: object, schema: Mapping[str, object]) -> bool:
    """Return whether a number or the length of a text is allowed."""

    def limit(name: str) -> Decimal | None:
        one = schema.get(name)
        return Decimal(str(one)) if isinstance(one, int | float) and not isinstance(one, bool) else None

    if isinstance(value, str):
        pattern = schema.get("pattern")
        least, most = limit("minLength"), limit("maxLength")
        if isinstance(pattern, str) or (least is not None and len(value) < least):
            return False
        return most is None or len(value) <= most
    if not isinstance(value, int | float):
        return True
    number = Decimal(str(value))
    least, most, step = limit("minimum"), limit("maximum"), limit("multipleOf")
    above, below = limit("exclusiveMinimum"), limit("exclusiveMaximum")
    return not (
        (least is not None and number < least)
        or (most is not None and number > most)
        or (above is not None and number <= above)
        or (below is not None and number >= below)
        or (step is not None and step > 0 and number % step != 0)
    )
