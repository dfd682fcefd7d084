"""Injected time, ids and chance."""

import asyncio

import pytest

from realtime.runtime import Runtime


def test_ids_carry_their_kind_and_are_unguessable() -> None:
    runtime = Runtime()
    ids = {runtime.new_id("call") for _ in range(1000)}
    assert len(ids) == 1000
    assert all(one.startswith("call_") and len(one) == len("call_") + 32 for one in ids)


def test_runtimes_share_one_source_of_chance_but_for_those_that_bring_their_own() -> None:
    assert Runtime().random is Runtime().random
    seeded = Runtime.deterministic(lambda: 0.0)
    assert seeded.random is not Runtime().random
    assert seeded.random is not Runtime.deterministic(lambda: 0.0).random


def test_a_deterministic_runtime_repeats_itself() -> None:
    def life(seed: int) -> tuple[list[str], float, float]:
        runtime = Runtime.deterministic(lambda: 5.0, seed=seed)
        return [runtime.new_id("item"), runtime.new_id("call")], runtime.wall_now(), runtime.random.random()

    assert life(1) == life(1)
    assert life(1) != life(2)
    assert life(1)[0] == ["item_1", "call_2"]


def test_deterministic_wall_time_runs_with_the_given_clock() -> None:
    now = 0.0
    runtime = Runtime.deterministic(lambda: now)
    began = runtime.wall_now()
    now = 90.0
    assert (runtime.now(), runtime.wall_now() - began) == (90.0, 90.0)


@pytest.mark.virtual_time
async def test_the_runtime_of_a_loop_lives_in_the_loops_time() -> None:
    runtime = Runtime.of_loop(asyncio.get_running_loop())
    began, wall_began = runtime.now(), runtime.wall_now()
    await asyncio.sleep(3600)
    assert runtime.now() - began == pytest.approx(3600)
    assert runtime.wall_now() - wall_began == pytest.approx(3600)
