"""The bench of calls that are come back to, with few cuts: it counts what differs, and its timed call is whole."""

import pytest

from bench.coming_back import Tally, cut_call, measure_resume, words_that_differ


@pytest.mark.night
async def test_cut_calls_are_the_same_and_are_counted() -> None:
    told: list[str] = []
    section = await measure_resume(100, 2, told.append, processes=2, away_s=0.3)
    values = {check.what: check.value for check in section.checks}
    assert values["words that differ"] == 0
    assert values["calls that failed, or got anything twice or not at all"] == 0
    assert values["anything missing or twice in the timed call"] == 0
    assert values["cuts"] >= 100
    assert values["words compared"] > values["calls"] * 50
    assert len(section.data["events_ms"]) == len(section.data["sounds_ms"]) == 2
    assert section.data["wrong"] == []


def test_a_seed_gives_the_same_call_each_time() -> None:
    assert cut_call(1) == cut_call(1)


def test_a_word_that_is_missing_or_too_much_is_counted() -> None:
    said = [(1, "user", "one"), (1, "user", "two"), (2, "assistant", "three")]
    assert words_that_differ(said, [*said]) == 0
    assert words_that_differ(said, said[:2]) == 1
    assert words_that_differ(said, [*said, (2, "assistant", "four")]) == 1
    assert words_that_differ(said, [(1, "user", "one"), (1, "user", "too"), (2, "assistant", "three")]) == 1
    assert words_that_differ(said, [(1, "user", "one"), (1, "user", "two"), (2, "user", "three")]) == 1


def test_calls_that_are_not_as_they_should_be_are_named_by_their_seed() -> None:
    tally = Tally()
    tally.add(1, 10, 50, 0, None)
    tally.add(2, 20, 50, 3, None)
    tally.add(3, 0, 50, 0, "seed 3: TimeoutError: ")
    assert (tally.calls, tally.cuts, tally.differing, tally.failed) == (3, 30, 3, 1)
    assert tally.wrong == ["seed 2: 3 words differ", "seed 3: TimeoutError: "]
