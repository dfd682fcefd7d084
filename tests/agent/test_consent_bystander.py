"""A distant voice begins a turn, and the user goes on with it: the words are both's, and no answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from realtime.agent.answer_turns import AnswerTurns
from realtime.turn.consent import AnswerTurn


@pytest.mark.parametrize(
    ("distant", "expected"), [((True, False), True), ((False, False), False), ((False, True), True)]
)
async def test_a_turn_that_a_distant_voice_shares_is_distant(distant: tuple[bool, bool], expected: bool) -> None:
    taken: list[AnswerTurn] = []
    controller: Any = SimpleNamespace(user_turns=SimpleNamespace(current=None))
    turns = AnswerTurns(controller, grows=False, is_echo=lambda words: False, take=taken.append, overdue=lambda: None)
    for far in distant:
        turns.begin("item_1", 0)
        turns.end(800, far=far)
    turns.words("item_1", "Yes, do it. Thank you.")
    turns.forget()
    assert [turn.far for turn in taken] == [expected]
