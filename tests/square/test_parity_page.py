"""docs/parity.md says what the tests of the square run, and names no fact without what it rests on."""

import re

from tests.square import page, table
from tests.square.unproven import SOURCES, UNPROVEN


def test_the_page_says_what_the_table_says() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), "run: python -m tests.square.page"


def test_every_cell_stands_on_the_page_and_has_its_reason() -> None:
    text = page.page()
    cells = [*table.cells(), *table.older_cells()]
    assert len(re.findall(r"(?<=\| )equal(?= \|)", text)) == sum(cell.cannot is None for cell in cells)
    marks = [int(number) for number in re.findall(r"cannot \((\d+)\)", text)]
    assert len(marks) == sum(cell.cannot is not None for cell in cells)
    notes = dict(re.findall(r"^(\d+)\. (.+)$", text, re.MULTILINE))
    assert {str(mark) for mark in marks} == {*notes}
    reasons = {cell.cannot.why for cell in cells if cell.cannot}
    assert all(any(why[1:] in note for note in notes.values()) for why in reasons)


def test_every_unproven_fact_names_a_provider_and_what_it_rests_on() -> None:
    assert {one.provider for one in UNPROVEN} == {*table.MODELS}
    assert {one.source for one in UNPROVEN} == {*SOURCES}
    assert len({(one.provider, one.fact) for one in UNPROVEN}) == len(UNPROVEN)
