"""The bench of the fold folds what it says it folds. No timing."""

from itertools import pairwise

import pytest

from bench.fold import Call, fold_seconds, measure_fold
from realtime.event.reply import DataBlockDeltaEvent, ReplyStartEvent, TextBlockDeltaEvent


@pytest.mark.night
async def test_an_hour_and_half_of_it_are_measured() -> None:
    section = await measure_fold(hour_s=40, runs=1)
    assert [row[0] for row in section.rows] == ["in turns", "as one reply"]
    assert [check.limit for check in section.checks] == [2.0, 3.5] * 2


@pytest.mark.parametrize("turn_s", [10, 360])
def test_a_call_has_the_deltas_of_its_length(turn_s: int) -> None:
    events = Call(360, turn_s).events()
    audio = [event.data for event in events if isinstance(event, DataBlockDeltaEvent)]
    assert (len(audio), {len(pcm) for pcm in audio}) == (360 * 25, {1_920})
    assert all(one != other for one, other in pairwise(audio))
    assert sum(isinstance(event, TextBlockDeltaEvent) for event in events) == 2_000
    assert sum(isinstance(event, ReplyStartEvent) for event in events) == 360 // turn_s
    assert len({event.id for event in events}) == len(events)


def test_a_fold_that_loses_audio_is_noticed() -> None:
    with pytest.raises(ValueError, match="hold 480000 bytes of audio, not 480001"):
        fold_seconds(Call(10, 10).events(), 480_001)
