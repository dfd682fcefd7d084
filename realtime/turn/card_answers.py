"""What a turn means while only a card asks. Pure; the rules are in docs/consent.md.

A no refuses, however it is said. A yes consents only where it is typed and the tool did not ask for a card: then it is
the user's own act, and the question is before their eyes.
"""

from __future__ import annotations

from typing import Literal

from realtime.turn.answers import Answer, Reading
from realtime.turn.consent import Allow, AnswerTurn, Change, Deny, Ignore, LetAnswer, NotTaken

READ_S = 1.0
"""How long a card is shown before a typed yes counts."""

CardStep = Allow | Change | Deny | Ignore | LetAnswer
"""What to do; LetAnswer: it is no answer."""
May = Literal["consent", "not_yet", "refuse"]
"""What a turn may do: all; all once the card has been shown for `READ_S`; only refuse."""


def step_for_card(reading: Reading, turn: AnswerTurn, may: May) -> CardStep:
    """Return what a turn means to a card's question, by its reading."""
    if not turn.words.strip():
        return Ignore(NotTaken.NO_WORDS, turn)
    match reading.answer:
        case Answer.NO:
            return Deny("no", turn.words, turn)
        case Answer.YES | Answer.CHANGE if may != "consent":
            return Ignore(NotTaken.CARD_ONLY if may == "refuse" else NotTaken.TOO_SOON, turn)
        case Answer.YES:
            return Allow(turn, reading.always)
        case Answer.CHANGE if reading.changed is not None:
            return Change(reading.changed, turn)
        case Answer.CHANGE:
            return Deny("change", turn.words, turn)
        case _:
            return LetAnswer(turn)
