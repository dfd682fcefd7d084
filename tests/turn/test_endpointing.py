"""The end of a turn as a decision: what each piece of evidence does to the wait."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.event.config import Expectation
from realtime.turn.endpointing import CAP_MS, FITTED, FLOOR_MS, Endpointing
from realtime.turn.words_so_far import Tail, tail_of

SILENCE_MS = 500
VOICED_MS = 1_500


def waits(
    words: str | None = None,
    completeness: float | None = None,
    expect: Expectation | None = None,
    voiced_ms: int = VOICED_MS,
    silence_ms: int = SILENCE_MS,
) -> int:
    endpointing = Endpointing(silence_ms, expect)
    endpointing.begin_pause()
    endpointing.completeness = completeness
    if words is not None:
        endpointing.take_words(words)
    return endpointing.wait_ms(voiced_ms)


@pytest.mark.parametrize(
    ("words", "tail"),
    [
        ("I would like a table for two and", "hanging"),
        ("I would like a table for two and.", "hanging"),
        ("Could you book it for, um", "hanging"),
        ("Well,", "hanging"),
        ("My name is", "hanging"),
        ("I was thinking...", "hanging"),
        ("What is it for?", "closed"),
        ("Yes, it is.", "open"),
        ("It is.", "open"),
        ("With.", "hanging"),
        ("My number is 041", "digits"),
        ("zero four one", "digits"),
        ("It is 44 207.", "digits"),
        ("My name is M. A Y.", "digits"),
        ("Order number one six.", "digits"),
        ("Wake me at 10:30.", "open"),
        ("When I get home.", "hanging"),
        ("Set a timer for 5.", "open"),
        ("What is twelve times seven.", "open"),
        ("Yes, please.", "short_answer"),
        ("No.", "short_answer"),
        ("That's right.", "open"),
        ("Stop!", "closed"),
        ("Turn on the living room lamp.", "open"),
        ("Yes, thank you.", "short_answer"),
        ("No, that is fine.", "open"),
        ("Tell my sister that", "hanging"),
        ("I know that.", "open"),
        ("I think that.", "open"),
        ("First I would like to know.", "hanging"),
        ("Ask the manager that", "hanging"),
        ("Tell me about that.", "open"),
        ("He already told me that.", "open"),
        ("I think we should do that.", "open"),
        ("I don't know about that.", "open"),
        ("I wanted to ask.", "hanging"),
        ("I don't want to know.", "open"),
        ("Good to know.", "open"),
        ("No need to ask.", "open"),
        ("I was wondering.", "hanging"),
        ("I am wondering.", "hanging"),
        ("I'm wondering.", "hanging"),
        ("She told us that.", "open"),
        ("Ah, I see.", "short_answer"),
        ("Oh, I see.", "short_answer"),
        ("Okay, got it.", "short_answer"),
        ("Thanks, got it.", "short_answer"),
        ("Okay, I see.", "short_answer"),
        ("Wow, yes.", "short_answer"),
        ("Oh.", "open"),
        ("Wow, that's.", "open"),
        ("Oh, you.", "open"),
        ("I see.", "short_answer"),
        ("Got it.", "short_answer"),
        ("I got it.", "open"),
        ("Oh, okay.", "short_answer"),
        ("It costs 44.", "open"),
        ("It costs 441.", "open"),
        ("I was born in 1985.", "open"),
        ("My account is 441.", "digits"),
        ("441 207", "digits"),
        ("That is what I was thinking of.", "open"),
        ("I would like a piece of.", "hanging"),
        ("Of.", "hanging"),
        ("Think of.", "open"),
        ("My account is 44.", "open"),
        ("If it rains tomorrow evening.", "hanging"),
        ("If it rains tomorrow evening here.", "open"),
        ("Well, ", "hanging"),
        ("As for me, I’m", "hanging"),
        ("", "open"),
        ("日本", "open"),
    ],
)
def test_the_last_words_show_whether_more_has_to_come(words: str, tail: Tail) -> None:
    assert tail_of(words) == tail


def test_without_evidence_it_is_the_timer() -> None:
    assert waits() == SILENCE_MS
    assert waits("Turn on the lamp.") == SILENCE_MS


def test_words_that_cannot_end_a_turn_lengthen_the_wait() -> None:
    assert waits("I would like a") == SILENCE_MS * FITTED.hanging
    assert waits("My number is 041") == SILENCE_MS * FITTED.digits


def test_a_voice_lengthens_the_wait_the_less_complete_it_sounds() -> None:
    assert waits("The lamp.", completeness=0.0) == waits(completeness=0.0) == SILENCE_MS * FITTED.incomplete
    halfway = (FITTED.incomplete + 1) / 2
    assert waits("The lamp.", completeness=FITTED.likely / 2) == SILENCE_MS * halfway
    assert waits("The lamp.", completeness=FITTED.likely) == SILENCE_MS
    assert waits("The lamp.", completeness=1.0) == SILENCE_MS


@pytest.mark.parametrize(
    ("words", "completeness", "expect", "wait_ms"),
    [
        ("I would like a", None, None, 1_600),
        ("My number is 041", None, None, 800),
        ("The lamp.", 0.0, None, 1_000),
        ("The lamp.", 0.4, None, 700),
        ("The lamp.", 0.8, None, 400),
        ("The lamp.", None, "spelling", 1_200),
        (None, None, "yes_no", 400),
    ],
)
def test_the_wait_with_the_fitted_weights(
    words: str | None, completeness: float | None, expect: Expectation | None, wait_ms: int
) -> None:
    assert waits(words, completeness, expect, silence_ms=400) == wait_ms


def test_only_words_and_voice_together_shorten_the_wait() -> None:
    assert waits("Yes.") == waits(completeness=0.99) == SILENCE_MS
    assert waits("Yes.", completeness=0.5) > waits("Yes.", completeness=FITTED.likely - 0.01) > SILENCE_MS / 2
    assert waits("Yes.", completeness=FITTED.likely, silence_ms=1_000) == 1_000 * FITTED.short_answer


@pytest.mark.parametrize("words", ["Yes.", "Thanks.", "Okay, right."])
def test_a_short_answer_to_nothing_begins_more(words: str) -> None:
    for is_asked, wait_ms in [(True, 300), (False, 1_000)]:
        endpointing = Endpointing(SILENCE_MS)
        endpointing.is_asked = is_asked
        endpointing.completeness = 1.0
        endpointing.take_words(words)
        assert endpointing.wait_ms(VOICED_MS) == wait_ms


def test_words_and_voice_that_are_both_unfinished_add_up() -> None:
    endpointing = Endpointing(200)
    endpointing.take_words("I would like a")
    endpointing.completeness = FITTED.likely / 2
    assert endpointing.wait_ms(VOICED_MS) == 200 * FITTED.hanging * (FITTED.incomplete + 1) / 2


def test_nothing_waits_longer_than_the_cap_or_shorter_than_the_floor_unless_configured() -> None:
    assert waits("I would like a", completeness=0.0) == CAP_MS == 2_000
    assert waits("Yes.", completeness=1.0, silence_ms=400) == FLOOR_MS == 300
    assert waits("Yes.", completeness=1.0, silence_ms=200) == 200
    assert waits("I would like a", silence_ms=2_500) == 2_500


def test_an_expected_answer_sets_the_wait() -> None:
    assert waits(expect="digits") == waits(expect="spelling") == SILENCE_MS * FITTED.dictated
    assert waits("Yes.", expect="yes_no") == SILENCE_MS * FITTED.short_answer
    assert waits(expect="yes_no", voiced_ms=800) == SILENCE_MS * FITTED.short_answer == 300
    assert waits(expect="yes_no", voiced_ms=801) == SILENCE_MS
    assert waits("Yes, and", expect="yes_no") == SILENCE_MS * FITTED.hanging


def test_evidence_counts_for_its_own_pause() -> None:
    endpointing = Endpointing(SILENCE_MS)
    endpointing.take_words("I would like a")
    endpointing.completeness = 0.0
    endpointing.begin_pause()
    assert endpointing.wait_ms(VOICED_MS) == SILENCE_MS


def test_new_settings_apply_at_once() -> None:
    endpointing = Endpointing(SILENCE_MS)
    endpointing.configure(600, "digits")
    assert endpointing.wait_ms(VOICED_MS) == 600 * FITTED.dictated


@given(
    st.integers(1, 5_000),
    st.none() | st.floats(0, 1),
    st.none() | st.text(max_size=40) | st.sampled_from(["yes", "and", "12345", "no thanks"]),
    st.sampled_from([None, "digits", "spelling", "yes_no"]),
)
def test_the_wait_stays_within_its_bounds(
    silence_ms: int,
    completeness: float | None,
    words: str | None,
    expect: Expectation | None,
) -> None:
    endpointing = Endpointing(silence_ms, expect)
    endpointing.begin_pause()
    endpointing.completeness = completeness
    if words is not None:
        endpointing.take_words(words)
    assert min(FLOOR_MS, silence_ms) <= endpointing.wait_ms(VOICED_MS) <= max(CAP_MS, silence_ms)
