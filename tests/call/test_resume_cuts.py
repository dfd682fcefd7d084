"""A call whose socket is cut again and again, at random frames of either direction, in virtual time."""

import pytest

from bench.resume import TALK, Outcome, one_call
from realtime.testing.clock import run
from tests.volumes import SEED, volume

CUTS = volume(300, 10_000)


@pytest.fixture(scope="module")
def undisturbed() -> Outcome:
    return run(one_call(0, 0.0))


def test_the_call_without_cuts_is_a_conversation(undisturbed: Outcome) -> None:
    said = [text for role, text in undisturbed.words if role == "user"]
    assert said == [utterance.text for utterance in TALK]
    answers = [text for role, text in undisturbed.words if role == "assistant"]
    assert len(answers) == len(TALK)
    assert answers[1] == "Your order is on its", "the first interruption cuts after the words that were heard"
    assert undisturbed.cuts == 0


def test_cuts_at_random_frames_change_no_word_that_was_said_or_heard(undisturbed: Outcome) -> None:
    """REC-27: cut the socket at random points, half of the time without the server noticing; the call is the same.

    `one_call` itself checks that the page got each event once and in order, and played each sample once.
    """
    cuts, seed = 0, SEED * 1_000
    while cuts < CUTS:
        seed += 1
        # From one cut every few seconds to one that keeps coming before everything was said again.
        outcome = run(one_call(seed, (0.01, 0.03, 0.06)[seed % 3]))
        assert outcome.words == undisturbed.words, f"seed {seed}"
        assert outcome.cuts > 0
        cuts += outcome.cuts
