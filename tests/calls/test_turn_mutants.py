"""The situations notice mistakes in the turn table: each row missing, each action missing, each target another state.

What they do not notice is listed in `fixtures/calls/survivors.toml`, with the reasons.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from realtime.turn import TRANSITIONS
from tests.calls.mutants import Row, known_noticers, known_survivors, mutants, noticer_of

ROWS = [pytest.param(row, id=f"{row[0]} {row[1]}") for row in TRANSITIONS]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """A server with a wrong table may log whatever it likes."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("row", ROWS)
def test_mistakes_in_a_row_are_noticed(row: Row) -> None:
    noticed, survivors = known_noticers(), known_survivors()
    wrong = [mutant for mutant in mutants() if mutant.row == row]
    unnoticed = {mutant.name for mutant in wrong if noticer_of(mutant, noticed.get(mutant.name)) is None}
    assert unnoticed == {mutant.name for mutant in wrong} & set(survivors)


def test_lists_are_about_the_table_as_it_is() -> None:
    names = {mutant.name for mutant in mutants()}
    assert set(known_survivors()) | set(known_noticers()) == names
    assert not set(known_survivors()) & set(known_noticers())


def test_table_is_as_it_was_when_a_mutant_is_gone() -> None:
    before = dict(TRANSITIONS)
    for mutant in [*mutants()]:
        with mutant.in_place():
            assert before != TRANSITIONS
    assert before == TRANSITIONS
