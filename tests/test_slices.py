"""Bursts are worked off a slice per turn of the event loop, in order, and share what a turn has for them."""

import asyncio
import gc
import itertools
import weakref
from collections.abc import Iterator

import pytest

from realtime.slices import SLICE_S, Slices, slices_of

STEP_S = 0.001
A_TURN = round(SLICE_S / STEP_S)


class Stopwatch:
    """Each step takes a millisecond."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def stopwatch() -> Stopwatch:
    return Stopwatch()


@pytest.fixture
async def slices(stopwatch: Stopwatch) -> Slices:
    return Slices(asyncio.get_running_loop(), stopwatch)


def burst(name: str, count: int, done: list[str], stopwatch: Stopwatch) -> Iterator[None]:
    for number in range(count):
        done.append(f"{name}{number}")
        stopwatch.now_s += STEP_S
        yield


async def test_others_are_served_before_a_burst_is_over(slices: Slices, stopwatch: Stopwatch) -> None:
    done: list[str] = []
    rest = slices.run(burst("a", 10, done, stopwatch))
    assert rest is not None
    assert len(done) == A_TURN
    seen = []
    while not rest.done():
        await asyncio.sleep(0)
        seen.append(len(done))
    assert all(later - earlier <= A_TURN for earlier, later in itertools.pairwise(seen))
    assert done == [f"a{number}" for number in range(10)]


async def test_what_a_turn_has_time_for_is_done_at_once(slices: Slices, stopwatch: Stopwatch) -> None:
    done: list[str] = []
    assert slices.run(burst("a", A_TURN - 1, done, stopwatch)) is None
    assert len(done) == A_TURN - 1


async def test_several_bursts_share_a_turn_and_each_keeps_its_order(slices: Slices, stopwatch: Stopwatch) -> None:
    done: list[str] = []
    rests = [slices.run(burst(name, 6, done, stopwatch)) for name in "abc"]
    before = stopwatch.now_s
    await asyncio.sleep(0)
    assert stopwatch.now_s - before <= SLICE_S + STEP_S / 2
    await asyncio.gather(*(rest for rest in rests if rest is not None))
    for name in "abc":
        assert [one for one in done if one[0] == name] == [f"{name}{number}" for number in range(6)]
    assert done.index("c0") < done.index("a5")


async def test_a_fault_ends_its_own_burst_only(slices: Slices, stopwatch: Stopwatch) -> None:
    done: list[str] = []

    def faulty() -> Iterator[None]:
        yield from burst("a", 5, done, stopwatch)
        raise ValueError("a fault")

    rest, other = slices.run(faulty()), slices.run(burst("b", 5, done, stopwatch))
    assert rest is not None
    assert other is not None
    with pytest.raises(ValueError, match="a fault"):
        await rest
    await other
    assert done.count("b4") == 1
    with pytest.raises(ValueError, match="at once"):
        slices.run(_raises_at_once())


def _raises_at_once() -> Iterator[None]:
    raise ValueError("at once")
    yield


async def test_nothing_more_is_done_for_a_client_that_is_gone(slices: Slices, stopwatch: Stopwatch) -> None:
    done: list[str] = []
    rest = slices.run(burst("a", 10, done, stopwatch))
    assert rest is not None
    rest.cancel()
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(done) == A_TURN


def test_a_loop_that_is_over_is_freed_with_its_bursts() -> None:
    loop = asyncio.new_event_loop()
    slices_of(loop, loop.time)
    loop.close()
    known = weakref.ref(loop)
    del loop
    gc.collect()
    assert known() is None
