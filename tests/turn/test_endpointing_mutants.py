"""The unit tests notice small mistakes in the decision about the end of a turn. By day a few mistakes, by night all."""

import os
from pathlib import Path

import pytest

from tests.mutants import mutants, unnoticed
from tests.volumes import sampled

TESTS = Path(__file__).with_name("test_endpointing.py")
NOTICED_SHARE = 0.95
CHANGES_NOTHING: dict[str, dict[str, str]] = {
    "realtime.turn.endpointing": {},
    "realtime.turn.words_so_far": {
        "_is_dictated: token[0] -> token[-1]": "a token that begins with a digit ends with one",
    },
}
"""Mistakes that nothing can notice, with the reason."""
MODULES = [*CHANGES_NOTHING]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="mistakes are tried in forks")


@pytest.mark.long
@pytest.mark.rotates(1 / 4)
@pytest.mark.parametrize("module", MODULES)
def test_nineteen_of_twenty_mistakes_are_noticed(module: str) -> None:
    tried = sampled([one.name for one in mutants(module) if one.name not in CHANGES_NOTHING[module]])
    missed = unnoticed(module, TESTS, tried)
    assert len(missed) <= (1 - NOTICED_SHARE) * len(tried), missed


@pytest.mark.parametrize("module", MODULES)
def test_every_listed_mistake_can_still_be_made(module: str) -> None:
    assert set(CHANGES_NOTHING[module]) <= {one.name for one in mutants(module)}
