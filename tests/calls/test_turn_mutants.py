"""The situations notice mistakes in the turn table: each row missing, each action missing, each target another state.

What they do not notice is listed in `fixtures/calls/survivors.toml`, with the reasons, which are checked.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from realtime.turn.machine import TRANSITIONS
from tests.calls.equivalence import difference
from tests.calls.mutants import Row, known_noticers, known_survivors, mutants, noticer_of

ROWS = [pytest.param(row, id=f"{row[0]} {row[1]}") for row in TRANSITIONS]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """A server with a wrong table may log whatever it likes."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.night
@pytest.mark.parametrize("row", ROWS)
def test_mistakes_in_a_row_are_noticed(row: Row) -> None:
    noticed, survivors = known_noticers(), known_survivors()
    wrong = [mutant for mutant in mutants() if mutant.row == row]
    unnoticed = {mutant.name for mutant in wrong if noticer_of(mutant, noticed.get(mutant.name)) is None}
    assert unnoticed == {mutant.name for mutant in wrong if mutant.name in survivors}


@pytest.mark.night
@pytest.mark.parametrize("row", ROWS)
def test_mistakes_that_are_not_noticed_change_nothing(row: Row) -> None:
    survivors = known_survivors()
    listed = [mutant for mutant in mutants() if mutant.row == row and mutant.name in survivors]
    found = {mutant.name: difference(mutant) for mutant in listed}
    assert {name: way is not None for name, way in found.items()} == {one.name: survivors[one.name] for one in listed}


def test_a_mistake_that_changes_something_is_told_with_a_way_to_it() -> None:
    mutant = next(one for one in mutants() if one.name == "agent_speaking speech_started: no flush")
    way = difference(mutant)
    assert way is not None
    assert "speech_started" in way


def test_lists_are_about_the_table_as_it_is() -> None:
    names = {mutant.name for mutant in mutants()}
    assert set(known_survivors()) | set(known_noticers()) == names
    assert not set(known_survivors()) & set(known_noticers())


def test_table_is_as_it_was_when_a_mutant_is_gone() -> None:
    before = [*TRANSITIONS.items()]
    for mutant in [*mutants()]:
        with mutant.in_place():
            assert before != [*TRANSITIONS.items()]
        assert before == [*TRANSITIONS.items()], "docs/lifecycle.md is drawn in this order"
