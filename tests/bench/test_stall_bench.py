"""The bench of one client's frames, with few calls: every way in is tried, and nobody loses a call. No timing."""

import pytest

from bench import stall
from bench.stall import measure_stall
from bench.stall_frames import WAYS, kinds, samples


def test_each_kind_has_a_name_of_its_own_and_every_way_in_has_some() -> None:
    every = kinds()
    assert len({kind.title for kind in every}) == len(every) > 100
    assert {kind.way.name for kind in every} == {way.name for way in WAYS}
    assert [kind.way for kind in samples()] == [*WAYS]


@pytest.mark.night
async def test_frames_at_their_limits_come_in_beside_talking_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stall, "MAX_REPEATS", 0)
    told: list[str] = []
    wanted = [kind for kind in samples() if kind.way.name in ("binary", "openai")]
    section = await measure_stall(told.append, 2, wanted, 0.0)
    assert [row[0] for row in section.rows] == ["binary: long appends", "openai: a long append"]
    assert len(told) == 2
    worst, memory, lost = section.checks
    assert (worst.limit, memory.limit, lost.limit) == (20.0, 20.0, 0)
    assert worst.value > 0
    assert lost.value == 0
