"""Which calls are let in: as many as the core can serve, however many ask, and more again once there is room."""

import asyncio
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest

from realtime.errors import Overloaded
from realtime.server.admission import (
    ALWAYS_ADMITTED,
    MAX_RETRY_AFTER_MS,
    QUEUE_S,
    RETRY_AFTER_MS,
    SAMPLE_S,
    Admission,
    Load,
    Verdict,
)
from realtime.testing.clock import DeadlockError, run

MAX_BUSY = 0.8


@dataclass
class Core:
    """A core on which each call needs `cost` of it from `delay_s` after its begin; `share` of it is ours."""

    cost: float
    share: float = 1.0
    delay_s: float = 0.4
    load: Load = field(default_factory=lambda: Load(25, MAX_BUSY))
    now_s: float = 0.0
    cpu_s: float = 0.0
    backlog_s: float = 0.0
    begun: list[float] = field(default_factory=list)
    most_wanted: float = 0.0

    @property
    def running(self) -> int:
        return len(self.begun)

    def work(self, seconds: float = SAMPLE_S) -> None:
        """Let time pass: the loop does what it can of what the calls need, and is late by what is left."""
        wanted = self.cost * sum(at_s + self.delay_s <= self.now_s for at_s in self.begun)
        self.most_wanted = max(self.most_wanted, wanted)
        self.now_s += seconds
        due_s = self.backlog_s + wanted * seconds
        done_s = min(due_s, self.share * seconds)
        self.cpu_s += done_s
        self.backlog_s = due_s - done_s
        self.load.sample(self.now_s, self.backlog_s, self.cpu_s, self.running)

    def rest(self, seconds: float) -> None:
        for _ in range(round(seconds / SAMPLE_S)):
            self.work()

    def ask(self) -> Verdict:
        verdict = self.load.verdict(self.running)
        if verdict is Verdict.ADMIT:
            self.load.admitted(len(self.begun), self.now_s)
            self.begun.append(self.now_s)
        return verdict

    def crowd(self, asks_per_s: int, seconds: float) -> None:
        for _ in range(round(seconds / SAMPLE_S)):
            for _ in range(round(asks_per_s * SAMPLE_S)):
                self.ask()
            self.work()


def test_at_many_times_the_capacity_as_many_calls_are_let_in_as_fit() -> None:
    for cost, asks_per_s in product((0.002, 0.005, 0.013, 0.025), (20, 100, 2_000)):
        core = Core(cost)
        core.rest(1)
        capacity = MAX_BUSY / cost
        core.crowd(asks_per_s, max(20, 4 * capacity / asks_per_s))
        assert 0.7 * capacity <= core.running <= 1.0 * capacity + 1, (cost, asks_per_s)
        assert core.most_wanted <= MAX_BUSY + cost, (cost, asks_per_s)
        assert core.backlog_s == 0, (cost, asks_per_s)


def test_on_a_core_that_other_programs_use_calls_seem_cheap_and_are_not_let_in_for_that() -> None:
    """The processor time of a starved thread falls; only its lag tells that nothing is left."""
    core = Core(0.013)
    core.rest(1)
    core.crowd(50, 2)
    before = core.running
    core.share = 0.3
    core.crowd(50, 10)
    assert core.running <= before + 5
    assert core.load.overloaded


def test_a_burst_is_let_in_step_by_step_as_its_calls_turn_out_to_be_cheap() -> None:
    core = Core(0.002)
    core.rest(1)
    core.crowd(2_000, 0.1)
    at_once = core.running
    assert at_once < 40
    assert core.ask() is Verdict.WAIT
    core.crowd(2_000, 3)
    assert core.running > 100


def test_a_few_calls_are_let_in_however_late_the_machine_is() -> None:
    load = Load(25, MAX_BUSY)
    for number in range(30):
        load.sample(number * 0.5, 0.4, 0.0, ALWAYS_ADMITTED - 1)
    assert load.verdict(ALWAYS_ADMITTED - 1) is Verdict.ADMIT
    assert not load.overloaded


def test_one_stall_of_the_machine_is_no_overload() -> None:
    core = Core(0.005)
    core.crowd(50, 3)
    core.load.sample(core.now_s + 0.9, 0.8, core.cpu_s, core.running)
    assert not core.load.overloaded


def test_overload_is_over_when_the_loop_has_room_again_and_not_at_the_first_calm_moment() -> None:
    core = Core(0.013)
    core.rest(1)
    core.crowd(50, 10)
    assert core.load.overloaded
    core.begun.pop()
    core.rest(3)
    assert core.load.overloaded
    del core.begun[: core.running // 2]
    core.rest(10)
    assert not core.load.overloaded
    assert core.ask() is Verdict.ADMIT


def test_readiness_follows_a_refusal_until_there_is_room_again() -> None:
    core = Core(0.002)
    core.crowd(50, 3)
    core.load.refuse(core.now_s)
    assert core.load.overloaded
    core.rest(1)
    assert not core.load.overloaded


def test_refused_clients_are_told_to_return_one_after_the_other() -> None:
    load = Load(25, MAX_BUSY)
    told = [load.refuse(1.0).retry_after_ms for _ in range(1_000)]
    assert told[0] == RETRY_AFTER_MS
    assert told[:50] == sorted(set(told[:50]))
    assert told[-1] == MAX_RETRY_AFTER_MS
    assert load.refuse(60.0).retry_after_ms == RETRY_AFTER_MS


class Desk:
    """An `Admission` whose calls, those that wait included, cost 0.2 % each."""

    def __init__(self) -> None:
        self.running = 0
        self._cpu_s = self._at_s = 0.0
        self.admission = Admission(Load(25, 0.3), lambda: self.running)
        loop: Any = asyncio.get_running_loop()
        loop.cpu_s = self.cpu_s

    def cpu_s(self) -> float:
        now_s = asyncio.get_running_loop().time()
        self._cpu_s += 0.002 * self.running * (now_s - self._at_s)
        self._at_s = now_s
        return self._cpu_s

    def ask(self, *, returns: bool = False) -> asyncio.Future[None] | None:
        self.running += 1
        try:
            return self.admission.enter(self.running, returns=returns)
        except Overloaded:
            self.running -= 1
            raise


@pytest.mark.virtual_time
async def test_calls_of_a_burst_wait_for_those_before_them_in_their_order() -> None:
    desk = Desk()
    waiting = [one for one in (desk.ask() for _ in range(30)) if one is not None]
    assert 0 < len(waiting) < 30
    order: list[int] = []
    for number, one in enumerate(waiting):
        one.add_done_callback(lambda _, number=number: order.append(number))  # type: ignore[misc]
    await asyncio.gather(*waiting[:8])
    assert order == sorted(order)


@pytest.mark.virtual_time
async def test_all_calls_of_a_killed_server_are_let_in_at_once_and_new_ones_wait_behind_them() -> None:
    desk = Desk()
    assert [desk.ask(returns=True) for _ in range(200)] == [None] * 200
    with pytest.raises(Overloaded):
        await (desk.ask() or asyncio.sleep(0))


@pytest.mark.virtual_time
async def test_a_call_that_waits_too_long_is_refused_with_the_time_to_return() -> None:
    desk = Desk()
    waiting = [one for one in (desk.ask() for _ in range(60)) if one is not None]
    began = asyncio.get_running_loop().time()
    with pytest.raises(Overloaded) as refused:
        await waiting[-1]
    assert asyncio.get_running_loop().time() - began <= QUEUE_S + 2 * SAMPLE_S
    assert refused.value.retry_after_ms >= RETRY_AFTER_MS
    for one in waiting[:-1]:
        assert one.done()
        one.exception()


def test_a_few_calls_cost_the_loop_no_timer() -> None:
    async def ask_and_wait() -> None:
        desk = Desk()
        for _ in range(ALWAYS_ADMITTED):
            assert desk.ask() is None
        await asyncio.get_running_loop().create_future()

    with pytest.raises(DeadlockError):
        run(ask_and_wait())


@pytest.mark.virtual_time
async def test_a_client_that_leaves_while_it_waits_keeps_nobody_behind_it_waiting() -> None:
    desk = Desk()
    waiting = [one for one in (desk.ask() for _ in range(14)) if one is not None]
    waiting[0].cancel()
    desk.running -= 1
    await waiting[1]
