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


def test_an_hour_of_sleep_moves_only_the_virtual_clock() -> None:
    async def main() -> tuple[float, float]:
        await asyncio.sleep(3600)
        return this_loop().time(), this_loop().wall_now()

    assert run(main()) == (3600.0, EPOCH_S + 3600.0)


def test_computing_takes_no_virtual_time() -> None:
    async def main() -> float:
        for _ in range(1000):
            await asyncio.sleep(0)
        sum(range(100_000))
        return this_loop().time()

    assert run(main()) == 0.0


def test_timeouts_fire_at_their_time() -> None:
    async def main() -> list[float]:
        fired_s = []
        try:
            async with asyncio.timeout(2.5):
                await asyncio.Event().wait()
        except TimeoutError:
            fired_s.append(this_loop().time())
        try:
            await asyncio.wait_for(asyncio.sleep(100), 1.5)
        except TimeoutError:
            fired_s.append(this_loop().time())
        return fired_s

    assert run(main()) == [2.5, 4.0]


def test_a_task_group_and_a_queue_interleave_by_virtual_time() -> None:
    async def main() -> list[tuple[str, float]]:
        queue: asyncio.Queue[str] = asyncio.Queue(maxsize=1)
        got = []

        async def produce(name: str, every_s: float) -> None:
            for number in range(3):
                await asyncio.sleep(every_s)
                await queue.put(f"{name}{number}")

        async with asyncio.TaskGroup() as group:
            group.create_task(produce("a", 0.02))
            group.create_task(produce("b", 0.03))
            for _ in range(6):
                got.append((await queue.get(), this_loop().time()))
        return got

    # At 0.06 both are due; b's timer was set at 0.03, a's at 0.04.
    assert run(main()) == [("a0", 0.02), ("b0", 0.03), ("a1", 0.04), ("b1", 0.06), ("a2", 0.06), ("b2", 0.09)]


@given(delays_ms=st.lists(st.integers(0, 5), max_size=60))
def test_timers_run_by_time_and_then_in_the_order_they_were_set(delays_ms: list[int]) -> None:
    async def main() -> list[int]:
        ran: list[int] = []
        for number, delay_ms in enumerate(delays_ms):
            this_loop().call_later(delay_ms / 1000, ran.append, number)
        await asyncio.sleep(1)
        return ran

    assert run(main()) == sorted(range(len(delays_ms)), key=lambda number: delays_ms[number])


def test_sums_of_fractions_meet_at_the_same_instant() -> None:
    async def main() -> list[str]:
        ran: list[str] = []
        assert 0.1 + 0.2 > 0.3
        this_loop().call_at(0.1 + 0.2, ran.append, "first")
        this_loop().call_at(0.3, ran.append, "second")
        await asyncio.sleep(0.3)
        assert this_loop().time() == 0.3
        return ran

    assert run(main()) == ["first", "second"]


def test_a_cancelled_timer_neither_runs_nor_moves_the_clock() -> None:
    async def main() -> float:
        this_loop().call_later(5, pytest.fail, "ran").cancel()
        await asyncio.sleep(1)
        return this_loop().time()

    assert run(main()) == 1.0


def test_settle_lets_everything_else_run_without_time_passing() -> None:
    async def main() -> list[str]:
        ran: list[str] = []

        async def work() -> None:
            for step in range(20):
                await asyncio.sleep(0)
                ran.append(f"step {step}")
            await asyncio.sleep(0.001)
            ran.append("too late")

        async with asyncio.TaskGroup() as group:
            group.create_task(work())
            await this_loop().settle()
            assert this_loop().time() == 0.0
            return list(ran)

    assert run(main()) == [f"step {step}" for step in range(20)]


def test_a_job_runs_on_the_loops_thread_and_its_result_arrives_after_its_cost(executor: ThreadPoolExecutor) -> None:
    async def main() -> tuple[int, float]:
        this_loop().declare_cost(threading.get_ident, 0.25)
        return await this_loop().run_in_executor(executor, threading.get_ident), this_loop().time()

    assert run(main()) == (threading.get_ident(), 0.25)


def test_an_executor_works_on_one_job_at_a_time_while_others_work_beside_it(executor: ThreadPoolExecutor) -> None:
    async def main() -> list[tuple[str, float]]:
        done: list[tuple[str, float]] = []

        async def job(on: ThreadPoolExecutor | None, text: str) -> None:
            text = await this_loop().run_in_executor(on, str.upper, text)
            done.append((text, this_loop().time()))

        this_loop().declare_cost("upper", lambda text: len(text) / 10)
        async with asyncio.TaskGroup() as group:
            group.create_task(job(executor, "long job"))
            group.create_task(job(executor, "x"))
            group.create_task(job(None, "other"))
        return done

    assert run(main()) == [("OTHER", 0.5), ("LONG JOB", 0.8), ("X", 0.9)]


class Engine:
    def say(self, text: str) -> str:
        return text


@pytest.mark.parametrize("name", [Engine.say, "Engine.say", "say"])
def test_a_cost_is_found_by_method_and_by_name(name: object) -> None:
    async def main() -> float:
        await this_loop().run_in_executor(None, Engine().say, "hello")
        return this_loop().time()

    assert run(main(), costs={name: 0.5}) == 0.5


def test_an_undeclared_job_takes_no_time_and_still_lets_others_run_first() -> None:
    async def main() -> list[object]:
        ran: list[object] = []
        this_loop().call_soon(ran.append, "other")
        ran.append(await this_loop().run_in_executor(None, str, 1))
        return [*ran, this_loop().time()]

    assert run(main()) == ["other", "1", 0.0]


def test_a_cost_is_found_by_what_is_handed_to_the_job_to_be_called() -> None:
    def slow(text: str) -> str:
        return text

    async def main() -> float:
        began_s = this_loop().time()
        await asyncio.to_thread(slow, "four")
        return this_loop().time() - began_s

    assert run(main(), costs={"slow": 0.5}) == 0.5
    assert run(main(), costs={slow: len}) == 4


def test_a_tool_in_a_thread_costs_what_is_declared_for_it() -> None:
    def look_up(order: str) -> str:
        """Look an order up.

        Args:
            order: Its number.
        """
        return order

    async def main() -> float:
        began_s = this_loop().time()
        await Toolkit([look_up]).run(ToolCallBlock(id="c", name="look_up", input='{"order": "A"}'))
        return this_loop().time() - began_s

    assert run(main(), costs={"look_up": 0.5}) == 0.5


def stop() -> None:
    raise StopIteration


def refuse(*_: object) -> float:
    raise LookupError("no such cost")


def test_a_job_that_no_future_can_carry_and_one_without_a_cost_hold_nobody_up() -> None:
    async def main() -> None:
        this_loop().declare_cost(len, refuse)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await this_loop().run_in_executor(None, stop)
        with pytest.raises(LookupError):
            await this_loop().run_in_executor(None, len, "x")
        assert await this_loop().run_in_executor(None, int, "7") == 7

    run(main())


def test_a_jobs_exception_arrives_after_its_cost() -> None:
    async def main() -> float:
        this_loop().declare_cost(int, 0.1)
        with pytest.raises(ValueError, match="invalid literal"):
            await this_loop().run_in_executor(None, int, "x")
        return this_loop().time()

    assert run(main()) == 0.1


def test_a_job_cancelled_before_it_begins_never_runs_and_costs_nothing() -> None:
    async def main() -> tuple[list[str], float]:
        ran: list[str] = []
        this_loop().declare_cost("append", 1.0)
        jobs = [this_loop().run_in_executor(None, ran.append, name) for name in ("running", "waiting", "last")]
        jobs[0].cancel()
        jobs[1].cancel()
        await jobs[2]
        return ran, this_loop().time()

    assert run(main()) == (["running", "last"], 2.0)


def test_a_negative_cost_is_refused() -> None:
    async def main() -> None:
        this_loop().declare_cost(int, -1.0)

    with pytest.raises(ValueError, match="cannot cost"):
        run(main())


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


def test_a_timer_at_infinity_is_nothing_to_wait_for() -> None:
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
    monkeypatch.setattr(clock, "TURNS_LIMIT", 1_000)

    answered = asyncio.Event()

    def poll() -> None:
        if not answered.is_set():
            this_loop().call_soon(poll)

    async def stuck() -> None:
        poll()
        await asyncio.Event().wait()

    async def at_work() -> str:
        async with real_work():
            poll()
            answer = await answer_of_a_thread("answer")
            answered.set()
        return answer

    with pytest.raises(DeadlockError, match=r"turned 1,000 times at 0 s(.|\n)*stuck"):
        run(stuck())
    assert run(at_work()) == "answer"


def test_polling_does_not_hide_real_work_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "TURNS_LIMIT", 1_000)

    def poll() -> None:
        this_loop().call_soon(poll)

    async def stuck() -> None:
        async with real_work(name="asking the weather", limit_s=0.0):
            poll()
            await wait_for_ever(asyncio.Event())

    with pytest.raises(StuckWorkError, match=r"asking the weather has not ended"):
        run(stuck())


def test_a_job_that_waits_for_its_own_loop_is_an_error_with_the_remedy(executor: ThreadPoolExecutor) -> None:
    async def answer() -> int:
        return 42

    async def main(*, declared: bool) -> int:
        loop = this_loop()
        if declared:
            loop.declare_pool(executor)
        return await loop.run_in_executor(
            executor, lambda: asyncio.run_coroutine_threadsafe(answer(), loop).result(timeout=10)
        )

    with pytest.raises(DeadlockError, match=r"waits for the loop .* `loop\.declare_pool\(executor\)`"):
        run(main(declared=False))
    assert run(main(declared=True)) == 42


def test_a_job_may_give_the_loop_something_to_do_for_which_it_does_not_wait() -> None:
    async def answer() -> None:
        done.append("coroutine")

    async def main() -> None:
        loop = this_loop()

        def job() -> None:
            loop.call_soon_threadsafe(done.append, "callback")
            given.append(asyncio.run_coroutine_threadsafe(answer(), loop))
            done.append("job")

        await loop.run_in_executor(None, job)
        await loop.settle()

    done: list[str] = []
    given: list[Future[None]] = []
    run(main())
    assert done == ["job", "callback", "coroutine"]
    assert given[0].result() is None


def test_the_loop_may_be_used_for_a_day() -> None:
    async def main() -> float:
        await asyncio.sleep(DAY_S)
        return this_loop().time()

    assert run(main()) == DAY_S


def test_loopback_sockets_work() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        writer.close()
        await writer.wait_closed()

    async def main() -> bytes:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"hello\n")
            line = await reader.readline()
            writer.close()
            await writer.wait_closed()
        await asyncio.sleep(3600)
        return line

    assert run(main()) == b"hello\n"


def test_an_answer_from_outside_is_waited_for_before_a_later_timer() -> None:
    async def main() -> bytes:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.setblocking(False)
            answer = threading.Timer(0.05, theirs.send, (b"answer",))
            answer.start()
            got = await asyncio.wait_for(this_loop().sock_recv(ours, 100), 3600)
            answer.join()
        return got

    assert run(main()) == b"answer"


def test_beside_an_open_socket_timers_still_fire() -> None:
    async def main() -> float:
        server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        async with server:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(asyncio.Event().wait(), 0.05)
        return this_loop().time()

    assert run(main()) == 0.05


def test_a_callback_from_another_thread_is_run() -> None:
    async def main() -> str:
        future: asyncio.Future[str] = this_loop().create_future()
        thread = threading.Thread(target=this_loop().call_soon_threadsafe, args=(future.set_result, "called"))
        thread.start()
        thread.join()
        return await future

    assert run(main()) == "called"


def later(then: Callable[[], object], really_s: float = 0.05) -> threading.Timer:
    """Calls `then` from a thread after so much real time."""
    timer = threading.Timer(really_s, then)
    timer.start()
    return timer


async def answer_of_a_thread(answer: str, really_s: float = 0.05) -> str:
    loop = this_loop()
    future: asyncio.Future[str] = loop.create_future()
    thread = later(lambda: loop.call_soon_threadsafe(future.set_result, answer), really_s)
    try:
        return await future
    finally:
        thread.join()


def test_while_real_work_is_in_flight_the_clock_stands_still_and_then_its_cost_passes() -> None:
    async def main() -> list[tuple[str, float]]:
        ran: list[tuple[str, float]] = []
        for delay_s in (0.0, 0.1, 0.3):
            this_loop().call_later(delay_s, lambda: ran.append(("timer", this_loop().time())))
        async with real_work(0.2):
            ran.append((await answer_of_a_thread("answer"), this_loop().time()))
        ran.append(("charged", this_loop().time()))
        await asyncio.sleep(1)
        return ran

    assert run(main()) == [("timer", 0.0), ("answer", 0.0), ("timer", 0.1), ("charged", 0.2), ("timer", 0.3)]


@pytest.mark.parametrize("really_s", [(0.0, 0.1), (0.1, 0.0)])
@pytest.mark.parametrize("cost_s", [0.0, 0.5])
def test_real_work_ends_in_the_order_in_which_it_began_whichever_is_faster(
    really_s: tuple[float, float], cost_s: float
) -> None:
    async def main() -> list[tuple[str, float]]:
        ended: list[tuple[str, float]] = []

        async def work(name: str, really_s: float) -> None:
            await in_real_time(answer_of_a_thread("", really_s), cost_s)
            ended.append((name, this_loop().time()))

        async with asyncio.TaskGroup() as group:
            group.create_task(work("first", really_s[0]))
            group.create_task(work("second", really_s[1]))
        return ended

    assert run(main()) == [("first", cost_s), ("second", cost_s)]


def test_the_cost_may_be_learned_while_the_work_is_in_flight() -> None:
    async def main() -> float:
        async with this_loop().real_work() as work:
            await answer_of_a_thread("")
            work.cost_s = 1.5
        return this_loop().time()

    assert run(main()) == 1.5


def test_real_work_inside_real_work_belongs_to_it() -> None:
    async def main() -> float:
        async with real_work(0.5), real_work(0.25):
            assert await asyncio.to_thread(str, 1) == "1"
            await asyncio.create_task(in_real_time(answer_of_a_thread(""), 3))
        return this_loop().time()

    assert run(main()) == 0.5


def test_an_error_leaves_real_work_after_its_cost() -> None:
    async def main() -> float:
        with pytest.raises(ConnectionError):
            async with real_work(0.5):
                raise ConnectionError
        return this_loop().time()

    assert run(main()) == 0.5


def test_cancelling_leaves_real_work_at_once_and_for_nothing() -> None:
    async def main() -> float:
        task = asyncio.create_task(in_real_time(asyncio.Event().wait(), 0.5))
        await this_loop().settle()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return this_loop().time()

    assert run(main()) == 0.0


def test_settling_does_not_wait_for_real_work() -> None:
    async def main() -> list[str]:
        ran: list[str] = []

        async def work() -> None:
            async with real_work(0.0):
                await answer_of_a_thread("")
            ran.append("work")

        async with asyncio.TaskGroup() as group:
            group.create_task(work())
            await this_loop().settle()
            ran.append("settled")
        return ran

    assert run(main()) == ["settled", "work"]


def test_real_work_that_does_not_end_is_an_error_that_names_it() -> None:
    async def main() -> None:
        async with real_work(name="asking the weather", limit_s=0.05):
            await asyncio.sleep(1)

    with pytest.raises(
        StuckWorkError, match=r"asking the weather has not ended after 0\.05 s(.|\n)*limit_s(.|\n)*pending"
    ):
        run(main())


def test_a_negative_cost_of_real_work_is_refused() -> None:
    async def main() -> None:
        async with real_work(-1.0):
            pass

    with pytest.raises(ValueError, match="cannot cost"):
        run(main())


def test_a_subprocess_and_a_socket_are_real_work() -> None:
    async def main() -> tuple[bytes, bytes, float]:
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
        return printed.strip(), line, this_loop().time()

    assert run(main()) == (b"hi", b"hello\n", 7200.75)


def test_real_work_needs_no_declaration_on_a_real_loop() -> None:
    async def main() -> str:
        async with real_work(3600):
            return await asyncio.to_thread(str, 1)

    assert asyncio.run(main()) == "1"


def test_a_declared_pool_works_in_its_threads_and_is_charged_the_declared_cost(executor: ThreadPoolExecutor) -> None:
    async def main() -> list[tuple[str, float]]:
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
        return done

    assert run(main()) == [("first", 0.25), ("second", 0.5)]


def test_a_job_of_a_pool_that_does_not_end_is_an_error_that_names_it(executor: ThreadPoolExecutor) -> None:
    stop = threading.Event()

    async def main() -> None:
        this_loop().declare_pool(executor, limit_s=0.05)
        await this_loop().run_in_executor(executor, stop.wait)

    try:
        with pytest.raises(StuckWorkError, match=r"the job Event\.wait of a pool has not ended after 0\.05 s"):
            run(main())
    finally:
        stop.set()


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


@pytest.mark.virtual_time
async def test_a_marked_test_runs_on_the_virtual_loop() -> None:
    await asyncio.sleep(3600)
    assert this_loop().time() == 3600.0


@pytest.mark.virtual_time(costs={"say": 0.5})
async def test_the_mark_takes_the_arguments_of_the_loop() -> None:
    await this_loop().run_in_executor(None, Engine().say, "hello")
    assert this_loop().time() == 0.5


async def test_an_unmarked_test_runs_on_a_real_loop() -> None:
    assert not isinstance(asyncio.get_running_loop(), VirtualLoop)
