"""Read what the asked person says to a question for consent: yes, no, a change, a question, or something else. Pure.

A yes is read only where every word belongs to it: agreement, courtesies, fillers, and words that repeat a piece of the
question. Whatever else is said, asked or doubted makes it something else, so that a sentence that merely contains "yes"
consents to nothing. The words are those of a recogniser: case and punctuation show little, except that a question mark
never consents. Words by language: `answer_words.py`; changed arguments: `answer_changes.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from realtime.tool.question import language_of
from realtime.tool.spoken_numbers import LANGUAGES, Language, folded
from realtime.turn.answer_changes import Changes
from realtime.turn.answer_pieces import Asked, pieces_of
from realtime.turn.answer_words import CORE_YES, HANGING, NEGATIONS, Kind


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


_AGREES = {Kind.YES, Kind.WARM, Kind.PAD, Kind.ALWAYS, Kind.SORRY}
_REFUSES = {Kind.NO, Kind.PAD, Kind.WARM, Kind.SORRY, Kind.WAIT, Kind.ALWAYS}
_LONGEST_CHARS = 2_000
"""A longer text answers nothing: its words are not even looked at."""
OTHER = Reading(Answer.OTHER)


def read_answer(words: str, arguments: Mapping[str, object], schema: Mapping[str, object], question: str) -> Reading:
    """Return what words mean to an open question.

    It asked for consent to a call with `arguments`, whose JSON Schema is `schema`. English, German, Spanish and Chinese
    are read, whatever language the question has. Doubt is never YES.
    """
    words = folded(words)
    if not words.strip() or len(words) > _LONGEST_CHARS:
        return OTHER
    own = language_of(question)
    readers = [
        _Reader(words, arguments, schema, question, language)
        for language in (own, *(one for one in LANGUAGES if one != own))
    ]
    best = max(readers, key=lambda reader: reader.known)
    reading = best.read()
    if reading.answer is Answer.YES and any(
        reader.read().answer not in (Answer.YES, Answer.OTHER) for reader in readers
    ):
        return OTHER
    return reading


class _Reader:
    """Reads one answer in one language."""

    def __init__(
        self,
        words: str,
        arguments: Mapping[str, object],
        schema: Mapping[str, object],
        question: str,
        language: Language,
    ) -> None:
        self._language = language
        self._has_mark = "?" in words
        self._asked = Asked(question, language_of(question), schema)
        self._is_own = language == language_of(question)
        self._pieces = pieces_of(words, language, self._asked)
        self._kinds = {piece.kind for piece in self._pieces}
        self._changes = Changes(self._pieces, words, arguments, schema, self._asked)

    @property
    def known(self) -> int:
        """How many words the language knows; the question's own wins where none knows more."""
        return sum(len(piece.tokens) for piece in self._pieces if piece.kind is not None or piece.value is not None)

    def read(self) -> Reading:
        """Return the reading."""
        kinds = self._kinds
        if not kinds - {Kind.PAD, Kind.WARM} or self._asked.is_piece(self._pieces):
            return OTHER
        if not kinds - {Kind.PAD, Kind.SORRY}:
            return Reading(Answer.QUESTION)
        if self._is_refusal():
            return Reading(Answer.NO)
        if self._agrees():
            return Reading(Answer.YES, always=Kind.ALWAYS in kinds)
        asks = self._has_mark or Kind.ASK in kinds
        if asks and not (Kind.CHANGE in kinds and self._changes.has_new and Kind.ASK not in kinds):
            return Reading(Answer.QUESTION)
        if self._changes.is_change and (self._is_own or kinds - {None, Kind.LINK, Kind.PAD}):
            return Reading(Answer.CHANGE, changed=self._changes.changed())
        said_nothing = (Kind.PAD, Kind.SORRY, Kind.WAIT)
        first = next((piece.kind for piece in self._pieces if piece.kind not in said_nothing), None)
        if first is Kind.NO and Kind.YES not in kinds:
            return Reading(Answer.NO)
        return OTHER

    def _is_refusal(self) -> bool:
        if Kind.NO not in self._kinds or Kind.YES in self._kinds:
            return False
        others = [piece for piece in self._pieces if piece.kind not in _REFUSES]
        return not others or self._asked.repeats(others)

    def _agrees(self) -> bool:
        """Return whether every word agrees, or repeats a piece of the question."""
        last = self._pieces[-1]
        if self._has_mark or self._has_negation() or (last.kind is not Kind.YES and last.tokens[-1] in HANGING):
            return False
        others = [piece for piece in self._pieces if piece.kind not in _AGREES]
        if Kind.YES in self._kinds:
            if not self._is_own and not CORE_YES[self._language] & {*self._tokens()}:
                return False
            return not others or self._asked.repeats(others)
        return bool(others) and self._kinds <= {Kind.PAD, Kind.LINK, None} and self._asked.is_imperative(others)

    def _tokens(self) -> list[str]:
        return [token for piece in self._pieces for token in piece.tokens]

    def _has_negation(self) -> bool:
        words = [token for piece in self._pieces if piece.kind is not Kind.ALWAYS for token in piece.tokens]
        return any(token in NEGATIONS[language] for token in words for language in LANGUAGES)
