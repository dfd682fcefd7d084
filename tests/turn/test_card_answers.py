"""What a turn means while only a card asks."""

from __future__ import annotations

import pytest

from realtime.turn.answers import Answer, Reading
from realtime.turn.card_answers import May, step_for_card
from realtime.turn.consent import Allow, AnswerTurn, Change, Deny, Ignore, LetAnswer, NotTaken

TURN = AnswerTurn(words="Well then.", start_ms=0)
CHANGED = Reading(Answer.CHANGE, changed={"people": 3})


@pytest.mark.parametrize("may", ["consent", "not_yet", "refuse"])
def test_a_no_refuses_however_it_is_said(may: May) -> None:
    assert step_for_card(Reading(Answer.NO), TURN, may) == Deny("no", "Well then.", TURN)


@pytest.mark.parametrize("reading", [Reading(Answer.YES), CHANGED, Reading(Answer.CHANGE)])
@pytest.mark.parametrize(("may", "why"), [("refuse", NotTaken.CARD_ONLY), ("not_yet", NotTaken.TOO_SOON)])
def test_a_yes_or_a_change_leaves_the_card_open_where_only_it_consents(reading: Reading, may: May, why: str) -> None:
    assert step_for_card(reading, TURN, may) == Ignore(NotTaken(why), TURN)


def test_what_is_typed_under_a_shown_question_is_an_answer() -> None:
    assert step_for_card(Reading(Answer.YES, always=True), TURN, "consent") == Allow(TURN, rule=True)
    assert step_for_card(CHANGED, TURN, "consent") == Change({"people": 3}, TURN)
    assert step_for_card(Reading(Answer.CHANGE), TURN, "consent") == Deny("change", "Well then.", TURN)


@pytest.mark.parametrize("answer", [Answer.QUESTION, Answer.OTHER])
def test_anything_else_is_no_answer(answer: Answer) -> None:
    assert step_for_card(Reading(answer), TURN, "consent") == LetAnswer(TURN)


def test_a_sound_without_words_changes_nothing() -> None:
    silent = AnswerTurn(words=" ", start_ms=0)
    assert step_for_card(Reading(Answer.OTHER), silent, "consent") == Ignore(NotTaken.NO_WORDS, silent)
