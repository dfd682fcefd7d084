"""Which argument of a call an answer changes, where that is certain. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import groupby, pairwise

from realtime.tool.question import is_identifier
from realtime.tool.question_words import CURRENCIES
from realtime.tool.spoken_times import Clock, Day
from realtime.turn.answer_phrases import LIGHT, Kind, as_compared, word_set
from realtime.turn.answer_pieces import Asked, Choice, Number, Ordinal, Piece, Value, raw_tokens
from realtime.turn.answer_texts import CONTRAST, INSTEAD, changed_text, slots_of
from realtime.turn.answer_values import ONES, clock_like, date_like, day_like, number_of, replaced_in, shift_in
from realtime.turn.answer_words import PREPOSITIONS, REJECTING, RELATIVE, STOPS

_MONEY = frozenset(
    token for names in CURRENCIES.values() for four in names.values() for name in four for token in as_compared(name)
) | {"$", "€", "£", "¥"}
_SMALL = word_set(
    "the a an my your to for on at with from about der die das den dem auf mit fur el la los las un una 是 要"
)
_OR = word_set("or oder o u 或 者 还 是")
_COUNTING = word_set("only just for nur bloss fur solo solamente para 只 就")
"""Words before a number that counts, and is no time of day."""
_PEOPLE = word_set("people persons person guests guest of leute personen person gaste personas persona gente 人 个 位")
"""What may be counted whatever the question calls it."""


class Changes:
    """What an answer changes."""

    def __init__(self, pieces: Sequence[Piece], words: str, asked: Asked) -> None:
        self._pieces = pieces
        self._raw = raw_tokens(words)
        self._arguments = asked.arguments
        self._properties = asked.properties
        self._asked = asked
        self._kinds = {piece.kind for piece in pieces}
        self._new = self._new_values()
        self._slots = slots_of(asked.arguments, asked)
        self._certain = self._certain_changes()

    @property
    def has_new(self) -> bool:
        """Whether the answer has a value that the question does not have."""
        return bool(self._new)

    @property
    def is_certain(self) -> bool:
        """Whether it is certain which arguments change, and to what."""
        return self._certain is not None

    @property
    def is_change(self) -> bool:
        """Whether the answer asks for something else than the question."""
        kinds = self._kinds
        if Kind.DOUBT in kinds:
            return False
        if self._certain is not None:
            return True
        if self._new:
            is_light = self._is_light(with_money=True) or self._begins_with_new()
            return is_light or self._has_choice() or bool(kinds & {Kind.CHANGE, Kind.INSTEAD, Kind.EXCEPT})
        if Kind.INSTEAD in kinds and (Kind.NO not in kinds or self._is_light() or INSTEAD & {*self._words()}):
            return True
        if (
            self._names_other_one()
            or self._rejects()
            or self._has_other_digits()
            or self._contrasts()
            or self._replaces_object()
        ):
            return True
        if kinds & {Kind.CHANGE, Kind.EXCEPT}:
            return self._has_content()
        return Kind.NO in kinds and Kind.YES not in kinds and self._has_object()

    def changed(self) -> dict[str, object] | None:
        """Return all arguments with the new ones; None where it is not certain which change, or to what."""
        return None if self._certain is None else {**self._arguments, **self._certain}

    def _certain_changes(self) -> dict[str, object] | None:
        """Return the new arguments; None where one of them is not certain, does not fit, or is the old one."""
        found = self._shifted() or self._replacements()
        for name, value in (found or {}).items():
            if value == self._arguments.get(name) or not fits(value, self._properties.get(name)):
                return None
        return found or None

    def _shifted(self) -> dict[str, object] | None:
        """Return the argument that is to be more or less: "one more person", "ten minutes earlier"."""
        said = self._light_tokens()
        shift = None if said is None else shift_in(said, self._asked.language, self._asked.knows)
        if shift is None:
            return None
        found = [
            (name, new)
            for name, old in self._arguments.items()
            if self._is_countable(name) and (new := shift.applied(old)) is not None
        ]
        if shift.noun:
            found = [(name, new) for name, new in found if self._counts(name, shift.noun)]
        return dict(found) if len(found) == 1 else None

    def _light_tokens(self) -> list[str] | None:
        """Return the words that may be an amount or what it counts; None beside words that may be anything."""
        if self._kinds - {None, Kind.WAIT, *LIGHT}:
            return None
        light = LIGHT - {Kind.INSTEAD}
        kept = [piece for piece in self._pieces if piece.kind not in light or piece.tokens[0] in ONES]
        return [token for piece in kept for token in piece.tokens]

    def _is_countable(self, name: str) -> bool:
        number = number_of(self._arguments[name])
        is_asked = number is None or self._asked.has(Number(number.normalize()))
        return is_asked and not is_identifier(name)

    def _replacements(self) -> dict[str, object] | None:
        """Return the arguments that have new values or words."""
        if any(token in RELATIVE for token in self._words()):
            return None
        if (digits := self._digits()) and self._is_light():
            names = [name for name, old in self._arguments.items() if self._holds_digits(name, old, len(digits))]
            return {names[0]: digits} if len(names) == 1 else None
        if not self._new:
            text = changed_text(self._pieces, self._raw, self._slots, self._asked)
            return None if text is None else dict([text])
        found: dict[str, object] = {}
        if not self._is_light():
            text = changed_text(self._pieces, self._raw, self._slots, self._asked)
            if text is None:
                return None
            found = dict([text])
        for piece in self._new:
            one = self._target(piece)
            if one is None or one[0] in found:
                return None
            found[one[0]] = one[1]
        return found

    def _digits(self) -> str:
        """Return digits said one by one, unless the question has them; "" for fewer than three."""
        digits = [piece.value.value for piece in self._pieces if isinstance(piece.value, Number)]
        is_one_by_one = len(digits) > 2 and all(digit in range(10) for digit in digits)
        return "".join(str(digit) for digit in digits) if is_one_by_one and self._has_other_digits() else ""

    def _holds_digits(self, name: str, old: object, count: int) -> bool:
        """Return whether the question says so many digits of an argument."""
        is_digits = isinstance(old, str) and old.isdecimal() and len(old) == count
        return is_digits and self._asked.has_run([Number(Decimal(digit)) for digit in str(old)])

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
            or piece.kind in LIGHT
            or (piece.kind is None and self._asked.knows(piece.tokens[0]))
            or (piece.kind is None and with_money and piece.tokens[0] in _MONEY)
            for piece in self._pieces
        )

    def _names_other_one(self) -> bool:
        """Return whether it names another kind: "small ones please"."""
        others = [piece for piece in self._pieces if piece.kind not in LIGHT and not self._asked.knows(piece.tokens[0])]
        return len(others) == 1 and any(
            piece in others and behind.tokens in (("one",), ("ones",)) for piece, behind in pairwise(self._pieces)
        )

    def _rejects(self) -> bool:
        """Return whether something of the question is not wanted: "yes, but not on Friday"."""
        said = [piece for piece in self._pieces if piece.kind is not Kind.PAD and piece.tokens[-1] not in PREPOSITIONS]
        return any(
            piece.tokens[-1] in ("not", "nicht") and behind.value is not None and self._asked.has(behind.value)
            for piece, behind in pairwise(said)
        )

    def _has_choice(self) -> bool:
        """Return whether several values are left open: "no, three or four"."""
        others = [piece for piece in self._pieces if piece.value is None and piece.kind not in LIGHT]
        return all(piece.tokens[0] in _OR for piece in others)

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
        marks = [at for at, piece in enumerate(self._pieces) if piece.tokens[0] in CONTRAST and at > 0]
        if len(marks) != 1:
            return False
        before, behind = self._pieces[: marks[0]], self._pieces[marks[0] :]
        rest = [token for piece in behind for token in piece.tokens if token not in CONTRAST and token not in _SMALL]
        return (
            any(piece.kind is None and not self._asked.knows(piece.tokens[0]) for piece in before)
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
        if at and pieces[at - 1].kind is Kind.NO and pieces[at - 1].tokens[0] in STOPS:
            return False
        behind = [piece for piece in pieces[at + 1 :] if piece.kind is not Kind.LINK]
        unknown = [piece for piece in behind if piece.kind is None and not self._asked.knows(piece.tokens[0])]
        others = [piece for piece in (*pieces[:at], *behind) if piece not in unknown]
        return (
            0 < len(unknown) <= 2
            # "I'm on the phone" names nothing of the question.
            and not any(piece.kind is Kind.LINK for piece in pieces[:at])
            and unknown[0].tokens[0] not in ("her", "him", "them")
            and all(
                piece.kind in LIGHT or (piece.kind is None and self._asked.knows(piece.tokens[0])) for piece in others
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
        return rest[1].kind is None and not self._asked.knows(rest[1].tokens[0])

    def _target(self, piece: Piece) -> tuple[str, object] | None:
        """Return the only argument that can take the new value, with it."""
        value = piece.value
        assert value is not None
        found = self._takers(value, piece)
        if isinstance(value, Number) and (noun := self._noun(piece)):
            found = [(name, new) for name, new in found if self._counts(name, noun) or self._tells(name, noun)]
        elif isinstance(value, Number) and (hour := _hour(value)) is not None and not self._is_counting(piece):
            found += self._takers(hour, piece)
        return found[0] if len(found) == 1 else None

    def _takers(self, value: Value, piece: Piece) -> list[tuple[str, object]]:
        found = [
            (name, new)
            for name, old in self._arguments.items()
            if (new := self._replaced(name, old, value)) is not None
        ]
        if found:
            return found
        between = "" if self._asked.language == "zh" else " "
        written = between.join(self._raw[piece.at : piece.at + len(piece.tokens)])
        texts = [
            (name, old) for name, old in self._arguments.items() if isinstance(old, str) and not is_identifier(name)
        ]
        return [
            (name, new)
            for name, old in texts
            if (new := replaced_in(old, value, written, self._asked.language, self._asked.has)) is not None
        ]

    def _noun(self, piece: Piece) -> str:
        """Return the word behind a number that may be what it counts."""
        at = self._pieces.index(piece) + 1
        behind = self._pieces[at] if at < len(self._pieces) else None
        if behind is None or behind.begins or behind.value is not None:
            return ""
        return behind.tokens[0] if behind.kind is None or behind.tokens[0] in _PEOPLE else ""

    def _is_counting(self, piece: Piece) -> bool:
        at = self._pieces.index(piece)
        return at > 0 and self._pieces[at - 1].tokens[-1] in _COUNTING

    def _tells(self, name: str, noun: str) -> bool:
        """Return whether an argument is a text with this word."""
        text = self._arguments[name]
        return isinstance(text, str) and number_of(text) is None and noun in as_compared(text)

    def _counts(self, name: str, noun: str) -> bool:
        """Return whether a number of this argument counts such things."""
        old = number_of(self._arguments[name])
        counted = self._asked.behind(Number(old.normalize())) if old is not None else None
        own = [*as_compared(name.replace("_", " ")), *([counted] if counted else [])]
        return any({noun, word} <= _PEOPLE or _stem(noun) == _stem(word) for word in own)

    def _replaced(self, name: str, old: object, new: Value) -> object | None:
        schema = self._properties.get(name)
        match new:
            case Choice(value=choice):
                listed = schema.get("enum") if isinstance(schema, Mapping) else None
                return choice if isinstance(listed, list) and choice in listed else None
            case Number(value=number):
                return self._number(name, old, number)
            case Day():
                return day_like(old, new)
            case Clock():
                return clock_like(old, new)
            case Ordinal(day=day):
                return date_like(old, day)

    def _number(self, name: str, old: object, new: Decimal) -> object | None:
        number = number_of(old)
        if number is None or is_identifier(name) or not self._asked.has(Number(number.normalize())):
            return None
        if isinstance(old, str):
            return format(new, "f")
        return int(new) if new == int(new) else float(new)


def _stem(word: str) -> str:
    """Return a word without its ending: one night, two nights."""
    return re.sub(r"(?:es|en|s|n|e)$", "", word) if len(word) > 3 else word


def _hour(number: Number) -> Clock | None:
    """Return a number as a time of day; None where it is no hour."""
    hour = number.value
    return Clock(int(hour), 0, hour > 12) if hour == int(hour) and 1 < hour < 24 else None


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
