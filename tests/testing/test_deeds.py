"""Consents, permissions and claims in the story of a call and in its text."""

import pytest

from realtime.event.server import ServerCustomEvent
from realtime.testing.check.deeds import deed_of

RECEIPT = {"tool": "book_table", "question": "Shall I book?", "answer": "yes", "done": "success"}
RULE = {"tool_name": "pay", "rule_content": "amount<=20", "behavior": "allow"}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        (
            "consent_receipt",
            RECEIPT | {"answered_by": "voice", "words": "Yes.", "heard_whole": True},
            'consent: book_table: "Shall I book?" yes by voice: "Yes.", then success',
        ),
        (
            "consent_receipt",
            RECEIPT | {"answered_by": "card"},
            'consent: book_table: "Shall I book?" yes by card, then success',
        ),
        (
            "consent_receipt",
            RECEIPT | {"answer": "no", "answered_by": "voice", "words": "No.", "done": "denied"},
            'consent: book_table: "Shall I book?" no by voice: "No.", question not heard to its end, then denied',
        ),
        (
            "permission_updated",
            {"mode": "default", "added": [RULE], "removed": [], "by": "user"},
            "permissions: added allow pay (amount<=20), mode default, by user",
        ),
        ("permission_updated", {"mode": "explore", "by": "program"}, "permissions: changed, mode explore, by program"),
        (
            "claim_withheld",
            {"sentence": "I booked it.", "heard": False},
            'claim corrected: "I booked it.", before it was heard',
        ),
    ],
)
def test_a_deed_is_told_in_words(name: str, value: dict[str, object], words: str) -> None:
    deed = deed_of(ServerCustomEvent(name=name, value=value))
    assert deed is not None
    assert f"{deed.what}: {deed.words}" == words


def test_a_program_s_own_event_is_no_deed_and_breaks_nothing() -> None:
    assert deed_of(ServerCustomEvent(name="weather", value={})) is None
    for name in ("consent_receipt", "permission_updated", "claim_withheld"):
        assert deed_of(ServerCustomEvent(name=name, value={"added": ["x", 1], "words": None})) is not None
