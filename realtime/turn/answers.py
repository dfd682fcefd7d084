"""Read what the asked person says to a question for consent: yes, no, a change, a question, or something else. Pure.

A yes is read only where every word belongs to it: agreement, courtesies, fillers, and words that repeat a piece of the
question. Whatever else is said, asked or doubted makes it something else, so that a sentence that merely contains "yes"
consents to nothing. The words are those of a recogniser: case and punctuation show little, except that a question mark
never consents. Words by language: `answer_words.py`; changed arguments: `answer_changes.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from realtime.tool.spoken_numbers import LANGUAGES, Language, folded, matches_of
from realtime.turn.answer_changes import Changes
from realtime.turn.answer_objections import Stance, asks_for_objections, without_stance
from realtime.turn.answer_phrases import Kind, as_compared
from realtime.turn.answer_pieces import Asked, Piece, pieces_of, raw_tokens
from realtime.turn.answer_reasons import reasons_in
from realtime.turn.answer_words import (
    APPROVING,
    CORE_YES,
    HANGING,
    HESITATIONS,
    INVERTED,
    KEEPING,
    LUKEWARM,
    NEGATIONS,
    PLEASE,
    PRAISING,
    PREPOSITIONS,
    STOPS,
    SUBJECTS,
    TELLING,
    WANTING,
    WISHES,
)


class Answer(StrEnum):
    """What an answer means to the open question."""

    YES = "yes"
    NO = "no"
    CHANGE = "change"
    """Agreement to something else than was asked: never consent to it."""
    QUESTION = "question"
    OTHER = "other"
    """No answer, or one that is in doubt."""


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer as it was understood."""

    answer: Answer
    always: bool = False
    """Whether a yes holds for later calls as well."""
    changed: Mapping[str, object] | None = None
    """With CHANGE: all arguments with the new one, where it is certain which; None: only the model can tell."""


_AGREES = {Kind.YES, Kind.WARM, Kind.PAD, Kind.ALWAYS, Kind.SORRY, Kind.DEAR}
_REFUSES = {Kind.NO, Kind.PAD, Kind.WARM, Kind.SORRY, Kind.WAIT, Kind.ALWAYS}
_IF_YOU_WOULD = {("if", "you", *rest) for rest in (("would",), ("could",), ("will",))}
_LONGEST_CHARS = 500
"""A longer text, over half a minute of speech, answers nothing: its words are not even looked at."""
OTHER = Reading(Answer.OTHER)
_HESITATION = re.compile(r"(um+|uh+m?|erm|[aä]hm?|oh|eh|em|hm+|well|pues)(?:[\s,.…]+)(?!h[umh]+\b)", re.IGNORECASE)
"""A sound before an answer; "uh huh" is one itself."""


def read_answer(words: str, arguments: Mapping[str, object], schema: Mapping[str, object], question: str) -> Reading:
    """Return what words mean to an open question.

    It asked for consent to a call with `arguments`, whose JSON Schema is `schema`. English, German, Spanish and Chinese
    are read, whatever language the question has. Doubt is never YES.
    """
    words = folded(words).strip()
    if not words or len(words) > _LONGEST_CHARS:
        return OTHER
    asked = Asked(question, arguments, schema)
    words = _without_hesitation(words, asked.language)
    if asks_for_objections(question):
        return _read_objections(words, asked)
    return _read(words, asked)


def _without_hesitation(words: str, language: Language) -> str:
    """Return words without the sounds before them; "um" is a German preposition."""
    begin = 0
    while (sound := _HESITATION.match(words, begin)) and not (language == "de" and sound[1].lower() == "um"):
        begin = sound.end()
    return words[begin:]


def _read_objections(words: str, asked: Asked) -> Reading:
    """Return the reading of an answer to a question for objections.

    A yes needs a phrase that allows it ("not at all") or an order to do it ("no, go ahead", "no, cancel it"), and every
    other word has to agree as well. A yes or no alone is in doubt.
    """
    stance, rest, has_order = without_stance(words, asked.language)
    if "?" in words:
        reading = _read(words, asked)
        return OTHER if reading.answer in (Answer.YES, Answer.NO) else reading
    yes = {"en": "yes", "de": "ja", "es": "si", "zh": "是的"}[asked.language]
    agreed = _read(f"{yes} {rest}", asked).answer is Answer.YES
    if stance is Stance.OBJECTS:
        return Reading(Answer.NO) if agreed or _read(rest, asked).answer is Answer.NO else OTHER
    if agreed or not rest:
        is_told = has_order or (bool(rest) and _orders(rest, asked))
        return Reading(Answer.YES) if agreed and (stance is Stance.ALLOWS or is_told) else OTHER
    reading = _read(words, asked)
    is_refusal_left = reading.answer is not Answer.NO or _read(rest, asked).answer is Answer.NO
    return OTHER if reading.answer is Answer.YES or not is_refusal_left else reading


def _orders(words: str, asked: Asked) -> bool:
    """Return whether words tell to do what was asked."""
    return _Reader(words, asked, asked.language).orders


def _read(words: str, asked: Asked) -> Reading:
    """Return the reading of words; a reason beside an agreement says nothing."""
    reading = _read_whole(words, asked)
    if reading.answer in (Answer.YES, Answer.NO) or "?" in words:
        return reading
    tokens, spans = as_compared(words), matches_of(words)
    for language in dict.fromkeys((asked.language, *LANGUAGES)):
        for begin, end, needs_order in reasons_in(tokens, language, asked.deed.removes):
            rest = f"{words[: spans[begin].start()]} {words[spans[end - 1].end() :]}"
            told = _Reader(rest, asked, language)
            if (told.is_told or not needs_order) and _read_whole(rest, asked).answer is Answer.YES:
                return Reading(Answer.YES)
    return reading


def _read_whole(words: str, asked: Asked) -> Reading:
    own = asked.language
    readers = [_Reader(words, asked, language) for language in (own, *(one for one in LANGUAGES if one != own))]
    best = max(readers, key=lambda reader: reader.known)
    reading = best.read()
    if reading.answer is Answer.YES and any(
        reader.read().answer not in (Answer.YES, Answer.OTHER) for reader in readers
    ):
        return OTHER
    return reading


class _Reader:
    """Reads one answer in one language."""

    def __init__(self, words: str, asked: Asked, language: Language) -> None:
        self._language = language
        self._has_mark = "?" in words
        self._asked = asked
        self._is_own = language == asked.language
        self._pieces = pieces_of(words, language, self._asked)
        self._raw = raw_tokens(words)
        self._kinds = {piece.kind for piece in self._pieces}
        self._changes = Changes(self._pieces, words, asked)

    @property
    def known(self) -> int:
        """How many words the language knows; the question's own wins where none knows more."""
        return sum(len(piece.tokens) for piece in self._pieces if piece.kind is not None or piece.value is not None)

    @property
    def orders(self) -> bool:
        """Whether the words tell to do what was asked."""
        others = [piece for piece in self._pieces if piece.kind not in (Kind.PAD, Kind.YES, Kind.WARM)]
        is_verb_only = self._language == "en" and sum(len(piece.tokens) for piece in others) == 1
        return bool(others) and not is_verb_only and self._asked.is_order(others)

    @property
    def is_told(self) -> bool:
        """Whether the words tell to do it, or say please."""
        has_order = any(piece.kind is Kind.YES and TELLING & {*piece.tokens} for piece in self._pieces)
        return has_order or self._names_deed() or bool(PLEASE & {*self._tokens()})

    def _names_deed(self) -> bool:
        """Return whether the other words tell to do what was asked."""
        others = [piece for piece in self._pieces if piece.kind not in _AGREES]
        return bool(others) and self._asked.is_order(others)

    def read(self) -> Reading:
        """Return the reading."""
        kinds = self._kinds
        if self._is_short_yes():
            return Reading(Answer.YES)
        if not kinds - {Kind.PAD, Kind.WARM} or self._is_echo():
            return OTHER
        if not kinds - {Kind.PAD, Kind.SORRY}:
            return Reading(Answer.QUESTION)
        if self._is_refusal():
            return Reading(Answer.NO)
        if self._agrees():
            return Reading(Answer.YES, always=Kind.ALWAYS in kinds)
        if not self._changes.is_certain and self._keeps():
            return Reading(Answer.NO)
        asks = self._has_mark or Kind.ASK in kinds or self._is_inverted()
        if asks and not (Kind.CHANGE in kinds and self._changes.has_new and Kind.ASK not in kinds):
            return Reading(Answer.QUESTION)
        if self._changes.is_change and (self._is_own or kinds - {None, Kind.LINK, Kind.PAD}):
            return Reading(Answer.CHANGE, changed=self._changes.changed())
        return Reading(Answer.NO) if self._begins_with_no() else OTHER

    def _is_short_yes(self) -> bool:
        """Return whether "I do" answers "do you want me to". With thanks it may decline."""
        tokens = self._tokens()
        if self._has_mark or {"thanks", "thank", "danke", "gracias"} & {*tokens} or HESITATIONS & {*tokens[-1:]}:
            return False
        said = [token for piece in self._pieces if piece.kind is not Kind.PAD for token in piece.tokens]
        return self._asked.deed.is_short_yes(" ".join(said))

    def _is_echo(self) -> bool:
        """Return whether it may be an echo: a piece of the question without "please"."""
        has_please = PLEASE & {*self._tokens()} and not PLEASE & self._asked.tokens
        return not has_please and self._asked.is_piece(self._pieces)

    def _is_refusal(self) -> bool:
        if Kind.NO not in self._kinds or Kind.YES in self._kinds:
            return False
        others = [piece for piece in self._pieces if piece.kind not in _REFUSES]
        if any(_stops(piece) and behind.tokens[0] in PREPOSITIONS for piece, behind in pairwise(self._pieces)):
            # "Leave it on the table" is said to another person.
            return False
        return not others or self._asked.repeats(others)

    def _refusal(self) -> int | None:
        """Return the place of the "no" that comes first; None without one, or beside a yes."""
        said_nothing = (Kind.PAD, Kind.SORRY, Kind.WAIT)
        at = next((at for at, piece in enumerate(self._pieces) if piece.kind not in said_nothing), None)
        is_no = at is not None and self._pieces[at].kind is Kind.NO and not _stops(self._pieces[at])
        return at if is_no and Kind.YES not in self._kinds else None

    def _begins_with_no(self) -> bool:
        """Return whether a "no" comes first, with a reason behind it: "no, we'll cook at home".

        English "no" before an unknown word may be of that: "no sugar for me".
        """
        at = self._refusal()
        if at is None or self._pieces[at] is self._pieces[-1]:
            return at is not None
        first, behind = self._pieces[at : at + 2]
        is_told = len(behind.tokens) == 1 and self._tokens()[behind.at + 1 : behind.at + 2] in (
            ["it"],
            ["that"],
            ["them"],
        )
        is_known = is_told or behind.kind is not None or behind.value is not None or self._asked.knows(behind.tokens[0])
        may_be_article = first.tokens == ("no",) and self._language == "en" and not behind.begins
        return is_known or not may_be_article or behind.tokens[0] in SUBJECTS

    def _keeps(self) -> bool:
        """Return whether it refuses by what is to stay: "no, Tuesday is bad, leave it where it is"."""
        at = self._refusal()
        if at is None or self._has_mark:
            return False
        last = next(piece for piece in reversed(self._pieces) if piece.kind is not Kind.PAD)
        is_phrase = len(self._pieces[at].tokens) > 1 and not self._kinds & {Kind.CHANGE, Kind.EXCEPT}
        return is_phrase or last.kind is Kind.NO or bool(KEEPING & {*self._tokens()})

    def _agrees(self) -> bool:
        """Return whether every word agrees, or repeats a piece of the question."""
        last = self._pieces[-1]
        if last.tokens[-1] in HESITATIONS and len(self._pieces) > 1:
            return False
        is_phrase = last.kind is Kind.YES or (last.kind is Kind.WARM and len(last.tokens) > 1)
        if self._has_mark or self._has_negation() or (not is_phrase and last.tokens[-1] in HANGING):
            return False
        if self._language == "es" and self._is_conditional():
            return False
        if self._goes_on():
            return False
        others = self._without_wish([piece for piece in self._pieces if piece.kind not in _AGREES])
        if (
            Kind.DEAR in self._kinds
            and not self._names_deed()
            and not _IF_YOU_WOULD & {one.tokens for one in self._pieces}
        ):
            # "Yes, honey" is said to another person.
            return False
        if Kind.YES in self._kinds:
            if not self._is_own and not CORE_YES[self._language] & {*self._tokens()}:
                return False
            return not others or (self._asked.repeats(others) and not self._narrows(others))
        if not others or not self._kinds <= {Kind.PAD, Kind.WARM, Kind.LINK, None}:
            return False
        if self._approves(others):
            return True
        return self._asked.is_imperative(others, has_please=bool(PLEASE & {*self._tokens()}))

    def _without_wish(self, others: list[Piece]) -> list[Piece]:
        """Return no words where they wish for what was asked: "I want it cancelled"."""
        is_wish = len(others) > 1 and others[0].kind is Kind.CHANGE and " ".join(others[0].tokens) in WISHES
        return [] if is_wish and self._is_own and self._asked.is_wished(others[1:]) else others

    def _narrows(self, others: list[Piece]) -> bool:
        """Return whether it is about a thing: "yes, my dentist is great", "yes, just the flowers"."""
        if any(piece.value is not None for piece in others) or self._asked.is_order(others):
            return False
        is_praised = any(piece.kind is Kind.WARM and piece.tokens[-1] in PRAISING for piece in self._pieces)
        return is_praised or "just" in self._tokens()

    def _approves(self, others: list[Piece]) -> bool:
        """Return whether days or times of the question are praised: "Tuesday at two is great"."""
        warm = [piece.tokens for piece in self._pieces if piece.kind is Kind.WARM]
        is_named = any(piece.value is not None for piece in others) and self._asked.repeats(others)
        return is_named and self._is_own and any(tokens[0] in APPROVING and tokens not in LUKEWARM for tokens in warm)

    def _is_conditional(self) -> bool:
        """Return whether a "si" without accent stands right before the verb: "si cancela el pedido"."""
        return any(
            piece.tokens == ("si",)
            and self._raw[piece.at].lower() == "si"
            and not behind.begins
            and self._asked.is_proclitic(behind.tokens[0])
            for piece, behind in pairwise(self._pieces)
        )

    def _goes_on(self) -> bool:
        """Return whether agreement goes on to something else.

        "我是会员"; "quiero los videos" where they are to be deleted; "pídele perdón"; "confírmela si puede".
        """
        removes = self._asked.deed.removes
        for piece, behind in pairwise(self._pieces):
            is_wanted = (
                piece.kind is Kind.YES
                and piece.tokens[-1] in WANTING
                and behind.kind not in (Kind.YES, Kind.PAD)
                and not behind.begins
            )
            is_verb = piece.kind is None and behind.tokens == ("是",)
            is_given = piece.kind is None and behind.kind is Kind.SORRY
            if_able = behind.tokens[0] == "si" and len(behind.tokens) > 1 and behind.tokens[1] in ("puede", "puedes")
            is_condition = if_able and self._raw[behind.at].lower() == "si"
            if (removes and is_wanted) or (not behind.begins and (is_verb or is_given or is_condition)):
                return True
        return False

    def _is_inverted(self) -> bool:
        """Return whether it begins as a question does: "is breakfast included"."""
        said = [token for piece in self._pieces if piece.kind is not Kind.PAD for token in piece.tokens]
        return len(said) > 2 and said[0] in INVERTED[self._language] and Kind.YES not in self._kinds

    def _tokens(self) -> list[str]:
        return [token for piece in self._pieces for token in piece.tokens]

    def _has_negation(self) -> bool:
        words = [
            token
            for piece in self._pieces
            if piece.kind not in (Kind.ALWAYS, Kind.YES, Kind.WARM)
            for token in piece.tokens
        ]
        return any(token in NEGATIONS[language] for token in words for language in LANGUAGES)


def _stops(piece: Piece) -> bool:
    """Return whether a phrase tells to stop something, perhaps another thing."""
    return piece.kind is Kind.NO and piece.tokens[0] in STOPS
