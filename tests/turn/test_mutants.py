"""The unit tests of the rules of listening notice every small mistake that changes anything."""

import os
from pathlib import Path

import pytest

from tests.mutants import mutants, unnoticed

FOLDER = Path(__file__).parent
TESTS = {
    "realtime.turn.interruption": FOLDER / "test_interruption.py",
    "realtime.turn.small_talk": FOLDER / "test_interruption.py",
    "realtime.turn.endpointing": FOLDER / "test_endpointing.py",
    "realtime.turn.words_so_far": FOLDER / "test_endpointing.py",
}
CHANGES_NOTHING: dict[str, dict[str, str]] = {
    "realtime.turn.interruption": {
        "_is_short_look: SHORT_LOOK_MS.get(n_words, 0) -> SHORT_LOOK_MS.get(n_words, 1)": "words cover a frame",
        "_is_short_look: SHORT_LOOK_MS.get(n_words, 0) -> SHORT_LOOK_MS.get(n_words, -1)": "no length is below 0",
    },
    "realtime.turn.small_talk": {
        "rest_of: False -> True (2)": "a laugh leaves no words that could take the floor",
        "rest_of: words[0] -> words[1]": "the words of a laugh are one",
        "rest_of: words[0] -> words[-1]": "the words of a laugh are one",
        "resembles: 1 << len(pattern) -> 2 << len(pattern)": "what is above the letters' bits is never looked at",
        "resembles: 1 << len(pattern) -> 0 << len(pattern)": "what is above the letters' bits is never looked at",
        "phrase_at: range(_LONGEST_PHRASE, 0, -1) -> range(_LONGEST_PHRASE, -1, -1)": "no phrase is empty",
    },
    "realtime.turn.endpointing": {},
    "realtime.turn.words_so_far": {
        "_is_dictated: token[0] -> token[-1]": "a token that begins with a digit ends with one",
    },
}
"""Mistakes that nothing can notice, with the reason."""


@pytest.mark.night
@pytest.mark.skipif(not hasattr(os, "fork"), reason="mistakes are tried in forks")
@pytest.mark.parametrize("module", TESTS)
def test_every_mistake_is_noticed_or_changes_nothing(module: str) -> None:
    assert {*unnoticed(module, TESTS[module])} == {*CHANGES_NOTHING[module]}


@pytest.mark.night
@pytest.mark.parametrize("module", TESTS)
def test_every_listed_mistake_can_still_be_made(module: str) -> None:
    assert {*CHANGES_NOTHING[module]} <= {one.name for one in mutants(module)}
