"""The labelled turns that the end of a turn is measured on."""

import pytest

from bench.endpointing import wilson
from bench.labelled_turns import LEAD_MS, TAIL_MS, turns_of_fixtures, varied_turns
from realtime.audio.pcm import ms_of
from realtime.model.local.ears import RATE_HZ


def test_turns_with_pauses_are_the_same_each_time_and_enough_without_recordings_of_real_speakers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("REALTIME_RECORDINGS", raising=False)
    varied = varied_turns()
    assert varied == varied_turns()
    assert sum(turn.pauses for turn in [*turns_of_fixtures(), *varied]) >= 200


def test_a_varied_turn_ends_where_its_label_says() -> None:
    for turn in varied_turns():
        assert turn.end_ms > LEAD_MS
        assert abs(ms_of(len(turn.pcm), RATE_HZ) - TAIL_MS - turn.end_ms) <= 1


def test_an_interval_holds_its_share() -> None:
    low, high = wilson(15, 30)
    assert 0.33 < low < 0.5 < high < 0.67
    assert wilson(0, 0) == (0.0, 1.0)
