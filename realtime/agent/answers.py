"""Turns as answers to an open question: what `TurnTaking` needs of that."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

from realtime.agent.overlap import Overlap
from realtime.message import ToolCallBlock

OnAsk = Callable[[ToolCallBlock, str], None]
"""Gets a call that asks; the model's call that it serves, or ""."""
OnAnswer = Callable[[str, bool, ToolCallBlock | None, bool], None]
"""Gets an answered call's id; whether it runs, the changed call, whether a rule answers."""


class Answers(Protocol):
    """Takes the user's turns while a question is open (`realtime.agent.consent`)."""

    @property
    def is_asked(self) -> bool:
        """Whether a question was spoken and has no answer: a turn is first an answer."""
        ...

    @property
    def reads_turn(self) -> bool:
        """Whether the turn of this moment is first an answer: to a spoken question, or to a card."""
        ...

    @property
    def holds_response(self) -> bool:
        """Whether the turn that has just ended gets no response yet."""
        ...

    def by_hand(self, call_id: str, confirmed: bool, changed: ToolCallBlock | None, later: Callable[[], None]) -> bool:
        """A card answers; returns whether that counts now: if it is not known yet who may, `later` is called.

        Raises ClientError where only the user's voice may consent.
        """
        ...

    def voice_comes(self) -> None:
        """A voice is about to be a turn of the user."""
        ...

    def voice_began(self, turn_id: str, start_ms: int) -> None:
        """A turn of the user begins, or goes on."""
        ...

    def voice_ended(self, end_ms: int, *, far: bool = False) -> None:
        """The turn is over; its words follow. `far`: it is much quieter than the user."""
        ...

    def words(self, turn_id: str, words: str) -> None:
        """The words of a turn are complete."""
        ...

    def takes_typed(self, words: str) -> bool:
        """Whether a turn that the user types is first an answer."""
        ...

    def typed(self, item_id: str, words: str) -> None:
        """The user has typed an answer, which is in the conversation."""
        ...

    def dismissed(self, overlap: Overlap) -> None:
        """A voice over the question was no turn."""
        ...


class Taken(StrEnum):
    """What a turn was to an open question."""

    ANSWER = "answer"
    """An answer, or one that came too early."""
    NOTHING = "nothing"
    """An echo, a voice from elsewhere, or no word."""
    TURN = "turn"
    """Something else: it is answered like any other."""


class NoQuestions:
    """The answers of a call in which nothing is asked by voice."""

    @property
    def is_asked(self) -> bool:
        """See `Answers`."""
        return False

    @property
    def reads_turn(self) -> bool:
        """See `Answers`."""
        return self.is_asked

    @property
    def holds_response(self) -> bool:
        """See `Answers`."""
        return False

    def by_hand(self, call_id: str, confirmed: bool, changed: ToolCallBlock | None, later: Callable[[], None]) -> bool:
        """See `Answers`."""
        return True

    def voice_comes(self) -> None:
        """See `Answers`."""

    def voice_began(self, turn_id: str, start_ms: int) -> None:
        """See `Answers`."""

    def voice_ended(self, end_ms: int, *, far: bool = False) -> None:
        """See `Answers`."""

    def words(self, turn_id: str, words: str) -> None:
        """See `Answers`."""

    def takes_typed(self, words: str) -> bool:
        """See `Answers`."""
        return False

    def typed(self, item_id: str, words: str) -> None:
        """See `Answers`."""

    def dismissed(self, overlap: Overlap) -> None:
        """See `Answers`."""


class ByHand(NoQuestions):
    """The answers on cards: a room passes on itself what humans say."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    @property
    def is_asked(self) -> bool:
        """See `Answers`."""
        return self._answers.is_asked

    def by_hand(self, call_id: str, confirmed: bool, changed: ToolCallBlock | None, later: Callable[[], None]) -> bool:
        """See `Answers`."""
        return self._answers.by_hand(call_id, confirmed, changed, later)


def nothing() -> None:
    """Do nothing."""


def nothing_asks(call: ToolCallBlock, within: str) -> None:
    """Ask nothing: see `OnAsk`."""


def nothing_answers(call_id: str, runs: bool, changed: ToolCallBlock | None, by_rule: bool) -> None:
    """Take no answer: see `OnAnswer`."""
