"""Consents, permissions and claims in the story of a call and in its text."""

import json
from pathlib import Path

from realtime.event.server import ServerCustomEvent
from realtime.testing.check.deeds import deed_of


def test_a_deed_is_told_in_words() -> None:
    """Each line of the file: an event's name, its value, and the words."""
    lines = Path(__file__).with_name("deeds.jsonl").read_text(encoding="utf-8").splitlines()
    for name, value, words in map(json.loads, lines):
        deed = deed_of(ServerCustomEvent(name=name, value=value))
        assert deed is not None
        assert f"{deed.what}: {deed.words}" == words


def test_a_program_s_own_event_is_no_deed_and_breaks_nothing() -> None:
    assert deed_of(ServerCustomEvent(name="weather", value={})) is None
    for name in ("consent_receipt", "permission_updated", "claim_withheld"):
        assert deed_of(ServerCustomEvent(name=name, value={"added": ["x", 1], "words": None})) is not None
