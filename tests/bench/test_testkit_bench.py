"""The bench of the test kit replays what it says it replays. No timing."""

import pytest

from bench.testkit import Replays, measure_testkit, minute, sum_of, timed
from realtime.testing.check.run import Run


def test_a_minute_has_two_sides() -> None:
    case = minute(detector=False)
    record, _ = timed(case)
    assert 55_000 <= record.duration_ms <= 65_000
    run = Run(record).barge_ins(0).transcript_equals_heard()
    assert len(run.responses) == len(run.user_turns) == len(case.users[0].steps) // 3
    assert {lane.kind for lane in record.lanes} == {"human", "agent"}


def test_another_call_has_another_sum() -> None:
    short, shorter = (timed(minute(detector=False, call_ms=ms))[0] for ms in (10_000, 5_000))
    assert sum_of(short) != sum_of(shorter)


def test_speed_is_of_the_run_in_the_middle() -> None:
    assert Replays("call", 60_000, 0.2, frozenset()).speed == 300


@pytest.mark.night
async def test_all_numbers_of_the_issue_are_checked() -> None:
    section = await measure_testkit(runs=1, sweep_every_ms=5_000)
    assert [(check.limit, check.at_least) for check in section.checks] == [
        (300, True),
        (100, True),
        (1, False),
        (1, False),
        (15, False),
    ]
    assert [check.value for check in section.checks[2:4]] == [1, 1]
