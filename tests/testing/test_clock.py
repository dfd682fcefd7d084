"""The virtual loop: what asyncio promises holds, no real time passes, and every run is the same."""

import asyncio
import math
import random
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.testing.clock import EPOCH_S, DeadlockError, VirtualLoop, run

DAY_S = 86_400.0


def this_loop() -> VirtualLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop


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
