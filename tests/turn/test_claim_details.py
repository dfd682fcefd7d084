"""Which details of a claim contradict a call, and which do not."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from realtime.tool.spoken_numbers import in_words
from realtime.turn.claim_details import details_of, fits, known_of
from realtime.turn.claims import Claims, Deed, DeedState, DeedTool, unbacked

BOOK = DeedTool("book_table", "Book a table.", ("I have booked the table",))
PAY = DeedTool("transfer_money", "Send money.", ("I have transferred the money",))
REMIND = DeedTool("set_reminder", "Set a reminder.", ("I have set the reminder",))
TOOLS = {tool.name: tool for tool in (BOOK, PAY, REMIND)}
FOUR_ON_FRIDAY: dict[str, object] = {"people": 4, "day": "friday", "time": "20:00"}


def is_backed(tool: DeedTool, sentence: str, *calls: dict[str, object], result: str = "ok") -> bool:
    claims = Claims([tool]).of(sentence)
    assert claims, sentence
    deeds = [Deed(tool.name, DeedState.SUCCESS, result, json.dumps(arguments)) for arguments in calls]
    return not unbacked(claims, deeds)


def test_a_call_backs_the_claims_that_have_its_details() -> None:
    """Another booking, amount, recipient or moment is another deed; what counts something else contradicts nothing."""
    lines = Path(__file__).with_name("claim_details.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines[1:]]
    backed = ["yes" if is_backed(TOOLS[tool], claim, json.loads(call)) else "no" for tool, call, _, claim in rows]
    assert [row for row, got in zip(rows, backed, strict=True) if got != row[2]] == []


def test_each_detail_of_a_list_may_be_of_another_call() -> None:
    saturday: dict[str, object] = {"people": 6, "day": "saturday", "time": "20:00"}
    both = "I've booked a table for four on Friday and one for six on Saturday."
    assert is_backed(BOOK, both, FOUR_ON_FRIDAY, saturday)
    assert is_backed(BOOK, "I booked a second table.", FOUR_ON_FRIDAY, saturday)
    assert not is_backed(BOOK, "Your table for six on Friday is booked.", FOUR_ON_FRIDAY, saturday)
    assert not is_backed(BOOK, "I booked a third table.", FOUR_ON_FRIDAY, saturday)


def test_the_result_has_details_too() -> None:
    assert is_backed(BOOK, "It's booked for seven people.", {"people": 4}, result="Now for seven people.")
    assert not is_backed(BOOK, "It's booked for seven people.", {"people": 4}, result="ok")


def test_without_known_arguments_no_detail_contradicts() -> None:
    claims = Claims([BOOK]).of("Your table for six is booked.")
    assert not unbacked(claims, [Deed("book_table", DeedState.SUCCESS)])


def test_of_a_result_that_is_too_long_to_be_read_no_detail_contradicts() -> None:
    assert is_backed(BOOK, "Your table for six is booked.", FOUR_ON_FRIDAY, result="word " * 1_000)


@given(st.integers(2, 40), st.integers(2, 40))
def test_a_count_fits_a_call_exactly_where_it_is_its_own(said: int, booked: int) -> None:
    details = details_of(f"I've booked a table for {in_words(said, 'en')} people.", {"table"})
    assert fits(details, [known_of(json.dumps({"people": booked}), "ok")]) is (said == booked)


@given(st.text(max_size=80), st.text(max_size=80))
def test_nothing_that_is_said_or_returned_breaks_it(said: str, returned: str) -> None:
    assert fits(details_of(said, frozenset()), [known_of(returned, returned)]) in (True, False)
