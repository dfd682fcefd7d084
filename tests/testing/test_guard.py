"""The guard of virtual time: what a program must not touch, and what is none of its business."""

import asyncio
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from time import monotonic
from types import ModuleType

import pytest

from realtime.runtime import Runtime, wall_clock_iso
from realtime.testing.clock import EPOCH_S, VirtualLoop, real_work, run
from realtime.testing.guard import CLOCKS, Guard, UndeclaredRealityError

HERE = Path(__file__).name


def in_virtual_time(action: Callable[[], object], guard: Guard | None = None) -> None:
    async def main() -> None:
        action()

    with guard or Guard():
        run(main())


@pytest.mark.parametrize("clock", CLOCKS)
def test_no_clock_of_the_real_world_is_read(clock: str) -> None:
    with pytest.raises(UndeclaredRealityError, match=rf"{HERE}:\d+ in .*: time\.{clock}\(\) .* Remedy: "):
        in_virtual_time(lambda: getattr(time, clock)(*([0] if clock == "sleep" else [])))


REFUSED: list[tuple[Callable[[], object], str]] = [
    # a clock that a module has imported by name
    (lambda: monotonic(), r"time\.monotonic\(\) reads the real clock"),
    # a date, and other clocks
    (lambda: time.localtime(), r"time\.localtime\(\) reads the real clock"),
    (lambda: time.gmtime(None), r"time\.gmtime\(\) reads the real clock"),
    (lambda: time.strftime("%H:%M"), r"time\.strftime\(\) reads the real clock"),
    (lambda: time.ctime(), r"time\.ctime\(\) reads the real clock"),
    (lambda: time.process_time(), r"time\.process_time\(\) reads the real clock"),
    (lambda: threading.Thread(target=int).start(), rf"{HERE}:\d+ in .*: an undeclared thread .*declare_pool"),
    (lambda: subprocess.run([sys.executable, "--version"], check=True), "an undeclared subprocess .*real_work"),
    (lambda: os.system("exit"), "an undeclared subprocess .*real_work"),
]


def test_nothing_of_the_real_world_is_read_or_started() -> None:
    for action, told in REFUSED:
        with pytest.raises(UndeclaredRealityError, match=told):
            in_virtual_time(action)


def test_a_time_that_is_given_may_be_told() -> None:
    in_virtual_time(lambda: time.strftime("%H:%M", time.gmtime(0)))
    in_virtual_time(lambda: (time.localtime(1.0), time.ctime(1.0), time.asctime(time.gmtime(0))))


def test_what_only_says_that_it_is_a_module_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the library objects of cffi do, which are among the modules once `cryptography` is loaded."""

    class Library:
        __slots__ = ()

        @property  # type: ignore[misc]
        def __class__(self) -> type[ModuleType]:
            return ModuleType

    monkeypatch.setitem(sys.modules, "_library.lib", Library())  # type: ignore[arg-type]
    assert isinstance(sys.modules["_library.lib"], ModuleType)
    in_virtual_time(lambda: None)


def test_a_runtime_of_the_loop_and_a_message_without_a_date_take_the_time_of_day_from_the_loop() -> None:
    async def main() -> tuple[float, str]:
        await asyncio.sleep(5)
        runtime = Runtime.of_loop(asyncio.get_running_loop())
        await asyncio.sleep(60)
        return runtime.wall_now(), wall_clock_iso()

    with Guard():
        assert run(main()) == (EPOCH_S + 65, "2026-01-01T00:01:05.000Z")


def test_a_coroutine_is_blamed_for_the_thread_process_or_socket_that_it_uses() -> None:
    async def submit() -> None:
        executor.submit(int)

    async def start() -> None:
        await asyncio.create_subprocess_exec(sys.executable, "--version")

    async def listen() -> None:
        await asyncio.get_running_loop().sock_recv(ours, 1)

    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs, ThreadPoolExecutor() as executor, Guard():
        for main, told in (
            (submit, r"in submit: .*thread"),
            (start, r"in start: an undeclared subprocess"),
            (listen, r"in listen: a socket or pipe .*real_work"),
        ):
            with pytest.raises(UndeclaredRealityError, match=told):
                run(main())


def test_declared_real_work_may_do_all_of_it() -> None:
    def work() -> None:
        time.monotonic()
        subprocess.run([sys.executable, "--version"], check=True, capture_output=True)

    async def main() -> float:
        async with real_work(0.5):
            work()
            await asyncio.to_thread(work)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.declare_pool(executor)
        await loop.run_in_executor(executor, time.monotonic)
        return loop.time()

    with ThreadPoolExecutor() as executor, Guard() as guard:
        assert run(main()) == 0.5
    assert guard.refused == []


def test_what_a_task_does_after_its_real_work_is_refused() -> None:
    async def main() -> None:
        async with real_work():
            task = asyncio.create_task(asyncio.sleep(0.5, 0))
        task.add_done_callback(lambda _: time.time())
        await task

    with Guard() as guard:
        run(main())
    assert len(guard.refused) == 1


def test_log_records_have_their_time_and_a_module_that_is_being_imported_may_read_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    in_virtual_time(lambda: logging.getLogger(__name__).warning("hello"))
    assert caplog.messages == ["hello"]
    (tmp_path / "stamped_module.py").write_text("import time\nAT = (lambda: time.time())()\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    in_virtual_time(lambda: __import__("stamped_module"))
    del sys.modules["stamped_module"]


def test_the_real_loop_and_other_threads_are_not_looked_at() -> None:
    async def on_a_real_loop() -> None:
        await asyncio.to_thread(time.time)
        time.time()

    with Guard() as guard:
        asyncio.run(on_a_real_loop())
        time.time()
    assert guard.refused == []


def module(name: str) -> ModuleType:
    made = ModuleType(name)
    exec("import time\ndef now(): return time.time()", made.__dict__)
    return made


@pytest.mark.parametrize("allowed", ["shop", "shop.metrics"])
def test_a_module_may_be_allowed_by_its_name_or_its_package(allowed: str) -> None:
    in_virtual_time(module("shop.metrics").now, Guard(allow=[allowed]))
    for other in ("shopping", "other.shop.metrics"):
        with pytest.raises(UndeclaredRealityError):
            in_virtual_time(module(other).now, Guard(allow=[allowed]))


def test_a_refusal_that_the_program_survives_is_kept() -> None:
    def survive() -> None:
        for _ in range(3):
            with suppress(Exception):
                time.time()

    guard = Guard()
    in_virtual_time(survive, guard)
    with pytest.raises(UndeclaredRealityError, match=r"in survive: time\.time\(\)(.|\n)*2 more times"):
        guard.check()


def test_all_is_as_it_was_when_the_guard_is_left() -> None:
    def seen() -> list[object]:
        return [*(getattr(time, name) for name in CLOCKS), monotonic, threading.Thread.start, subprocess.Popen.__init__]

    before = seen()
    with Guard():
        with Guard():
            pass
        assert seen()[0] is not before[0]
    assert seen() == before
    Guard().check()


def test_a_clock_that_a_test_has_replaced_stays_replaced_and_is_put_back() -> None:
    def fake() -> float:
        return 5.0

    seen: list[float] = []
    shop = module("shop")
    exec("from time import monotonic\ndef up(): return monotonic()", shop.__dict__)
    sys.modules["shop"] = shop
    real = time.time
    try:
        with pytest.MonkeyPatch.context() as before:
            before.setattr(shop, "monotonic", fake)
            with Guard():
                pass  # the module is known from now on
            in_virtual_time(lambda: seen.append(shop.up()))
        for _ in range(2):
            with pytest.MonkeyPatch.context() as during:
                with Guard():
                    during.setattr(time, "time", fake)
                    during.setattr(shop, "monotonic", fake)
                    run(asyncio.sleep(0))
                    seen.append(time.time())
                assert time.time is fake, "as long as the test wants it"
            with Guard(), pytest.raises(UndeclaredRealityError, match=r"time\.time\(\)"):
                run(reading())
            assert time.time is real
    finally:
        del sys.modules["shop"]
    assert shop.monotonic is monotonic
    assert seen == [5.0] * 3


async def reading() -> float:
    return time.time()
