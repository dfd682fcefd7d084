"""The bench of the call log measures what it says, in little."""

import pytest

from bench.log import STORES, append_us, measure_spill
from realtime.event.server import AgentInputClearedEvent


def test_an_append_costs_something() -> None:
    assert append_us(AgentInputClearedEvent(), runs=10, rounds=2) > 0


@pytest.mark.parametrize("url", STORES)
async def test_calls_are_written_to_each_store_while_the_loop_is_watched(url: str | None) -> None:
    load = await measure_spill(url, calls=3, audio_per_s=25, seconds=0.2)
    assert load.cpu_ms_per_s > 0
    assert load.held_ms
    assert bool(load.writing_ms) == (url is not None)
