"""The virtual loop: what asyncio promises holds, no real time passes, and every run is the same."""

import asyncio
import math
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.message import ToolCallBlock
from realtime.testing import clock
from realtime.testing.clock import EPOCH_S, DeadlockError, StuckWorkError, VirtualLoop, real_work, run
from realtime.tool import Toolkit
from tests.volumes import HANG_S

pytestmark = pytest.mark.virtual_time

DAY_S = 86_400.0


def this_loop() -> VirtualLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop


async def in_real_time(work: Awaitable[object], cost_s: float) -> object:
    async with this_loop().real_work(cost_s):
        return await work


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(max_workers=4) as executor:
        yield executor


async def test_a_day_of_sleep_moves_only_the_virtual_clock_and_computing_does_not() -> None:
    for _ in range(1000):
        await asyncio.sleep(0)
    sum(range(100_000))
    assert this_loop().time() == 0.0
    await asyncio.sleep(DAY_S)
    assert (this_loop().time(), this_loop().wall_now()) == (DAY_S, EPOCH_S + DAY_S)


async def test_timeouts_fire_at_their_time() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2.5):
            await asyncio.Event().wait()
    assert this_loop().time() == 2.5
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.sleep(100), 1.5)
    assert this_loop().time() == 4.0


async def test_a_task_group_and_a_queue_interleave_by_virtual_time() -> None:
    queue: asyncio.Queue[str] = asyncio.Queue(maxsize=1)

    async def produce(name: str, every_s: float) -> None:
        for number in range(3):
            await asyncio.sleep(every_s)
            await queue.put(f"{name}{number}")

    async with asyncio.TaskGroup() as group:
        group.create_task(produce("a", 0.02))
        group.create_task(produce("b", 0.03))
        got = [(await queue.get(), this_loop().time()) for _ in range(6)]
    # At 0.06 both are due; b's timer was set at 0.03, a's at 0.04.
    assert got == [("a0", 0.02), ("b0", 0.03), ("a1", 0.04), ("b1", 0.06), ("a2", 0.06), ("b2", 0.09)]


@given(delays_ms=st.lists(st.integers(0, 5), max_size=60))
def test_timers_run_by_time_and_then_in_the_order_they_were_set(delays_ms: list[int]) -> None:
    async def main() -> list[int]:
        ran: list[int] = []
        for number, delay_ms in enumerate(delays_ms):
            this_loop().call_later(delay_ms / 1000, ran.append, number)
        await asyncio.sleep(1)
        return ran

    assert run(main()) == sorted(range(len(delays_ms)), key=lambda number: delays_ms[number])


async def test_sums_of_fractions_meet_at_the_same_instant() -> None:
    ran: list[str] = []
    assert 0.1 + 0.2 > 0.3
    this_loop().call_at(0.1 + 0.2, ran.append, "first")
    this_loop().call_at(0.3, ran.append, "second")
    await asyncio.sleep(0.3)
    assert (this_loop().time(), ran) == (0.3, ["first", "second"])


async def test_a_cancelled_timer_neither_runs_nor_moves_the_clock() -> None:
    this_loop().call_later(5, pytest.fail, "ran").cancel()
    await asyncio.sleep(1)
    assert this_loop().time() == 1.0


async def test_settle_lets_everything_else_run_without_time_passing() -> None:
    """It does not wait for real work either."""
    ran: list[str] = []

    async def work() -> None:
        for step in range(20):
            await asyncio.sleep(0)
            ran.append(f"step {step}")
        await asyncio.sleep(0.001)
        ran.append("later")

    async def real() -> None:
        await in_real_time(answer_of_a_thread(""), 0.01)
        ran.append("real work")

    async with asyncio.TaskGroup() as group:
        group.create_task(work())
        group.create_task(real())
        await this_loop().settle()
        assert this_loop().time() == 0.0
        assert ran == [f"step {step}" for step in range(20)]
    assert ran[20:] == ["later", "real work"]


async def test_a_job_runs_on_the_loops_thread_and_its_result_arrives_after_its_cost(
    executor: ThreadPoolExecutor,
) -> None:
    this_loop().declare_cost(threading.get_ident, 0.25)
    assert await this_loop().run_in_executor(executor, threading.get_ident) == threading.get_ident()
    this_loop().declare_cost(int, 0.5)
    with pytest.raises(ValueError, match="invalid literal"):
        await this_loop().run_in_executor(None, int, "x")
    assert this_loop().time() == 0.75


async def test_an_executor_works_on_one_job_at_a_time_while_others_work_beside_it(executor: ThreadPoolExecutor) -> None:
    done: list[tuple[str, float]] = []

    async def job(on: ThreadPoolExecutor | None, text: str) -> None:
        text = await this_loop().run_in_executor(on, str.upper, text)
        done.append((text, this_loop().time()))

    this_loop().declare_cost("upper", lambda text: len(text) / 10)
    async with asyncio.TaskGroup() as group:
        group.create_task(job(executor, "long job"))
        group.create_task(job(executor, "x"))
        group.create_task(job(None, "other"))
    assert done == [("OTHER", 0.5), ("LONG JOB", 0.8), ("X", 0.9)]


class Engine:
    def say(self, text: str) -> str:
        return text


def look_up(order: str) -> str:
    """Look an order up.

    Args:
        order: Its number.
    """
    return order


async def _use_the_engine() -> None:
    await this_loop().run_in_executor(None, Engine().say, "hello")


async def _use_a_thread() -> None:
    await asyncio.to_thread(look_up, "four")


async def _use_a_tool() -> None:
    await Toolkit([look_up]).run(ToolCallBlock(id="c", name="look_up", input='{"order": "A"}'))


@pytest.mark.parametrize(
    ("use", "name", "cost", "cost_s"),
    [
        (_use_the_engine, Engine.say, 0.5, 0.5),
        (_use_the_engine, "Engine.say", 0.5, 0.5),
        (_use_the_engine, "say", 0.5, 0.5),
        (_use_a_thread, "look_up", 0.5, 0.5),
        (_use_a_thread, look_up, len, 4.0),
        (_use_a_tool, "look_up", 0.5, 0.5),
    ],
)
async def test_a_cost_is_found_by_method_by_name_and_by_what_is_handed_to_the_job(
    use: Callable[[], Awaitable[None]], name: object, cost: object, cost_s: float
) -> None:
    this_loop().declare_cost(name, cost)  # type: ignore[arg-type]
    await use()
    assert this_loop().time() == cost_s


async def test_an_undeclared_job_takes_no_time_and_still_lets_others_run_first() -> None:
    ran: list[object] = []
    this_loop().call_soon(ran.append, "other")
    ran.append(await this_loop().run_in_executor(None, str, 1))
    assert [*ran, this_loop().time()] == ["other", "1", 0.0]


def stop() -> None:
    raise StopIteration


def refuse(*_: object) -> float:
    raise LookupError("no such cost")


async def test_a_job_that_no_future_can_carry_and_one_without_a_cost_hold_nobody_up() -> None:
    this_loop().declare_cost(len, refuse)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await this_loop().run_in_executor(None, stop)
    with pytest.raises(LookupError):
        await this_loop().run_in_executor(None, len, "x")
    assert await this_loop().run_in_executor(None, int, "7") == 7


async def test_a_job_cancelled_before_it_begins_never_runs_and_costs_nothing() -> None:
    ran: list[str] = []
    this_loop().declare_cost("append", 1.0)
    jobs = [this_loop().run_in_executor(None, ran.append, name) for name in ("running", "waiting", "last")]
    jobs[0].cancel()
    jobs[1].cancel()
    await jobs[2]
    assert (ran, this_loop().time()) == (["running", "last"], 2.0)


async def test_a_negative_cost_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot cost"):
        this_loop().declare_cost(int, -1.0)
    with pytest.raises(ValueError, match="cost_s is a number of seconds, 0 or more"):
        async with real_work(-1.0):
            pass


async def wait_for_ever(event: asyncio.Event) -> None:
    await event.wait()


def test_a_wait_that_cannot_end_is_an_error_that_names_who_waits_where() -> None:
    async def main() -> None:
        event = asyncio.Event()
        reader = asyncio.create_task(wait_for_ever(event), name="reader")
        await reader

    with pytest.raises(DeadlockError, match="will never happen") as caught:
        run(main())
    assert "reader (wait_for_ever)" in str(caught.value)
    assert f"{__file__}:" in str(caught.value)
    assert "in wait_for_ever" in str(caught.value)
    with pytest.raises(DeadlockError, match="will never happen"):
        run(asyncio.sleep(math.inf))


def test_a_heartbeat_does_not_keep_a_stuck_test_alive() -> None:
    async def main() -> None:
        def beat() -> None:
            this_loop().call_later(60, beat)

        beat()
        await wait_for_ever(asyncio.Event())

    with pytest.raises(DeadlockError, match=r"86400 s of virtual time have passed(.|\n)*wait_for_ever"):
        run(main())


def test_a_test_that_polls_without_waiting_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polling beside real work is not, and does not hide that the work never ends."""
    monkeypatch.setattr(clock, "TURNS_LIMIT", 1_000)
    answered = asyncio.Event()

    def poll() -> None:
        if not answered.is_set():
            this_loop().call_soon(poll)

    async def stuck() -> None:
        poll()
        await asyncio.Event().wait()

    async def stuck_at_work() -> None:
        async with real_work(name="asking the weather", limit_s=0.0):
            await stuck()

    async def at_work() -> str:
        async with real_work():
            poll()
            answer = await answer_of_a_thread("answer")
            answered.set()
        return answer

    with pytest.raises(DeadlockError, match=r"turned 1,000 times at 0 s(.|\n)*stuck"):
        run(stuck())
    with pytest.raises(StuckWorkError, match=r"asking the weather has not ended"):
        run(stuck_at_work())
    assert run(at_work()) == "answer"


def test_a_job_that_waits_for_its_own_loop_is_an_error_with_the_remedy(executor: ThreadPoolExecutor) -> None:
    async def answer() -> int:
        return 42

    async def main(*, declared: bool) -> int:
        loop = this_loop()
        if declared:
            loop.declare_pool(executor)
        return await loop.run_in_executor(
            executor, lambda: asyncio.run_coroutine_threadsafe(answer(), loop).result(timeout=HANG_S)
        )

    with pytest.raises(DeadlockError, match=r"waits for the loop .* `loop\.declare_pool\(executor\)`"):
        run(main(declared=False))
    assert run(main(declared=True)) == 42


async def test_a_job_may_give_the_loop_something_to_do_for_which_it_does_not_wait() -> None:
    loop = this_loop()
    done: list[str] = []
    given: list[Future[None]] = []

    async def answer() -> None:
        done.append("coroutine")

    def job() -> None:
        loop.call_soon_threadsafe(done.append, "callback")
        given.append(asyncio.run_coroutine_threadsafe(answer(), loop))
        done.append("job")

    await loop.run_in_executor(None, job)
    await loop.settle()
    assert done == ["job", "callback", "coroutine"]
    assert given[0].result() is None


@pytest.mark.virtual_time(guard=False)
async def test_loopback_sockets_work_and_timers_fire_beside_them() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"hello\n")
        assert await reader.readline() == b"hello\n"
        writer.close()
        await writer.wait_closed()
        began_s = this_loop().time()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 0.05)
        assert this_loop().time() == began_s + 0.05


@pytest.mark.virtual_time(guard=False)
async def test_an_answer_from_outside_is_waited_for_before_a_later_timer() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        answer = later(lambda: theirs.send(b"answer"))
        assert await asyncio.wait_for(this_loop().sock_recv(ours, 100), 3600) == b"answer"
        answer.join()


@pytest.mark.virtual_time(guard=False)
async def test_a_callback_from_another_thread_is_run() -> None:
    future: asyncio.Future[str] = this_loop().create_future()
    thread = threading.Thread(target=this_loop().call_soon_threadsafe, args=(future.set_result, "called"))
    thread.start()
    thread.join()
    assert await future == "called"


def later(then: Callable[[], object], *, after: threading.Event | None = None) -> threading.Thread:
    """Calls `then` from a thread, when that has happened."""

    def act() -> None:
        if after is not None:
            after.wait(HANG_S)
        then()

    thread = threading.Thread(target=act)
    thread.start()
    return thread


async def answer_of_a_thread(answer: str, *, after: threading.Event | None = None) -> str:
    loop = this_loop()
    future: asyncio.Future[str] = loop.create_future()
    thread = later(lambda: loop.call_soon_threadsafe(future.set_result, answer), after=after)
    try:
        return await future
    finally:
        thread.join()


async def test_while_real_work_is_in_flight_the_clock_stands_still_and_then_its_cost_passes() -> None:
    ran: list[tuple[str, float]] = []
    for delay_s in (0.0, 0.1, 0.3):
        this_loop().call_later(delay_s, lambda: ran.append(("timer", this_loop().time())))
    async with real_work(0.2):
        await asyncio.sleep(0)
        ran.append((await answer_of_a_thread("answer"), this_loop().time()))
    ran.append(("charged", this_loop().time()))
    await asyncio.sleep(1)
    assert ran == [("timer", 0.0), ("answer", 0.0), ("timer", 0.1), ("charged", 0.2), ("timer", 0.3)]


@pytest.mark.parametrize("faster", ["first", "second"])
@pytest.mark.parametrize("cost_s", [0.0, 0.5])
async def test_real_work_ends_in_the_order_in_which_it_began_whichever_is_faster(faster: str, cost_s: float) -> None:
    ended: list[tuple[str, float]] = []
    over = threading.Event()

    async def work(name: str) -> None:
        async with real_work(cost_s):
            await answer_of_a_thread("", after=None if name == faster else over)
            over.set()
        ended.append((name, this_loop().time()))

    async with asyncio.TaskGroup() as group:
        group.create_task(work("first"))
        group.create_task(work("second"))
    assert ended == [("first", cost_s), ("second", cost_s)]


async def test_the_cost_may_be_learned_while_the_work_is_in_flight() -> None:
    async with this_loop().real_work() as work:
        await answer_of_a_thread("")
        work.cost_s = 1.5
    assert this_loop().time() == 1.5


async def test_real_work_inside_real_work_belongs_to_it() -> None:
    async with real_work(0.5), real_work(0.25):
        assert await asyncio.to_thread(str, 1) == "1"
        await asyncio.create_task(in_real_time(answer_of_a_thread(""), 3))
    assert this_loop().time() == 0.5


async def test_an_error_leaves_real_work_after_its_cost_and_cancelling_at_once_and_for_nothing() -> None:
    with pytest.raises(ConnectionError):
        async with real_work(0.5):
            raise ConnectionError
    assert this_loop().time() == 0.5
    task = asyncio.create_task(in_real_time(asyncio.Event().wait(), 0.5))
    await this_loop().settle()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert this_loop().time() == 0.5


def test_real_work_that_does_not_end_is_an_error_that_names_it(executor: ThreadPoolExecutor) -> None:
    stop = threading.Event()

    async def ask() -> None:
        async with real_work(name="asking the weather", limit_s=0.05):
            await asyncio.sleep(1)

    async def use_a_pool() -> None:
        this_loop().declare_pool(executor, limit_s=0.05)
        await this_loop().run_in_executor(executor, stop.wait)

    with pytest.raises(
        StuckWorkError, match=r"asking the weather has not ended after 0\.05 s(.|\n)*limit_s(.|\n)*pending"
    ):
        run(ask())
    try:
        with pytest.raises(StuckWorkError, match=r"the job Event\.wait of a pool has not ended after 0\.05 s"):
            run(use_a_pool())
    finally:
        stop.set()


async def test_a_subprocess_and_a_socket_are_real_work() -> None:
    async with real_work(0.5):
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print('hi')", stdout=subprocess.PIPE)
        printed, _ = await process.communicate()
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        async with real_work(0.25):
            reader, writer = await asyncio.open_connection(*server.getsockname())
            with closing(server.accept()[0]) as peer:
                answer = later(lambda: peer.sendall(b"hello\n"))
                line = await reader.readline()
                answer.join()
                # The open connection does not set the pace once the work has ended.
                this_loop().call_later(3600, writer.close)
        await asyncio.sleep(7200)
    assert (printed.strip(), line, this_loop().time()) == (b"hi", b"hello\n", 7200.75)


def test_real_work_needs_no_declaration_on_a_real_loop() -> None:
    async def main() -> str:
        async with real_work(3600):
            return await asyncio.to_thread(str, 1)

    assert asyncio.run(main()) == "1"


async def test_a_declared_pool_works_in_its_threads_and_is_charged_the_declared_cost(
    executor: ThreadPoolExecutor,
) -> None:
    done: list[tuple[str, float]] = []

    def work(name: str) -> str:
        assert threading.current_thread() is not threading.main_thread()
        return name

    async def job(name: str) -> None:
        done.append((await this_loop().run_in_executor(executor, work, name), this_loop().time()))

    this_loop().declare_pool(executor)
    this_loop().declare_cost(work, 0.25)
    async with asyncio.TaskGroup() as group:
        group.create_task(job("first"))
        group.create_task(job("second"))
    with pytest.raises(ValueError, match="invalid literal"):
        await this_loop().run_in_executor(executor, int, "x")
    assert done == [("first", 0.25), ("second", 0.5)]


@given(seed=st.integers(0, 2**32))
def test_the_same_work_gives_the_same_trace(seed: int) -> None:
    def trace() -> list[tuple[int, float]]:
        chance = random.Random(seed)
        seen: list[tuple[int, float]] = []

        async def work(number: int) -> None:
            for _ in range(3):
                await asyncio.sleep(chance.randrange(4) / 100)
                await this_loop().run_in_executor(None, seen.append, (number, this_loop().time()))

        async def main() -> None:
            async with asyncio.TaskGroup() as group:
                for number in range(5):
                    group.create_task(work(number))

        run(main(), costs={"append": 0.01})
        return seen

    assert trace() == trace()


@pytest.mark.virtual_time(costs={"say": 0.5})
async def test_the_mark_takes_the_arguments_of_the_loop() -> None:
    await _use_the_engine()
    assert this_loop().time() == 0.5
