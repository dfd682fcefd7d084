"""Tools that hang: everything else goes on, and the model and the client hear when no thread is left."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator

import pytest

from realtime.errors import ToolError
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.tool import Toolkit, threads
from realtime.tool.threads import ToolThreads
from tests.volumes import HANG_S

HUNG_S = 0.05
MORE_THAN_THE_LOOP_HAS = 40
"""The event loop's own executor has at most 32 threads."""


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ToolThreads]:
    """Makes the process's tool threads so few."""

    def make(max_threads: int, max_per_tool: int) -> ToolThreads:
        made = ToolThreads(max_threads, max_per_tool)
        monkeypatch.setattr("realtime.tool.toolkit.TOOL_THREADS", made)
        return made

    return make


async def run(toolkit: Toolkit, name: str) -> ToolResultBlock:
    """Only a tool that hangs is given up: how soon another one is done is up to the machine."""
    timeout_s = HUNG_S if name == "stuck" else HANG_S
    return await toolkit.run(ToolCallBlock(id="call_1", name=name, input=""), timeout_s=timeout_s)


def hangs_until(event: threading.Event) -> Callable[[], str]:
    def stuck() -> str:
        event.wait(HANG_S)
        return "late"

    return stuck


def quick() -> str:
    return "done at once"


async def test_names_are_resolved_and_other_tools_answer_while_tools_hang(
    release: threading.Event, few: Callable[..., ToolThreads]
) -> None:
    few(max_threads=MORE_THAN_THE_LOOP_HAS + 1, max_per_tool=MORE_THAN_THE_LOOP_HAS)
    toolkit = Toolkit([hangs_until(release), quick])
    await asyncio.gather(*(run(toolkit, "stuck") for _ in range(MORE_THAN_THE_LOOP_HAS)))
    async with asyncio.timeout(HANG_S):
        assert await asyncio.get_running_loop().getaddrinfo("localhost", 80)
        assert (await run(toolkit, "quick")).output == "done at once"


async def test_a_tool_that_hangs_is_refused_until_its_calls_return_and_the_log_has_one_line(
    release: threading.Event, few: Callable[..., ToolThreads], caplog: pytest.LogCaptureFixture
) -> None:
    few(max_threads=10, max_per_tool=2)
    toolkit = Toolkit([hangs_until(release), quick])
    await asyncio.gather(*(run(toolkit, "stuck") for _ in range(2)))
    for _ in range(3):
        with pytest.raises(ToolError, match="stuck cannot run now: 2 earlier calls of it have not returned") as refused:
            await run(toolkit, "stuck")
    assert (refused.value.code, refused.value.retryable) == ("tools_busy", True)
    assert [line.levelno for line in caplog.records if "tools_busy" in line.message] == [logging.ERROR]
    assert (await run(toolkit, "quick")).output == "done at once"
    release.set()
    async with asyncio.timeout(HANG_S):
        while True:
            try:
                answer = await toolkit.run(ToolCallBlock(id="call_2", name="stuck", input=""), timeout_s=HANG_S)
            except ToolError:
                await asyncio.sleep(0)
            else:
                assert answer.output == "late"
                return


async def test_all_toolkits_with_the_same_function_share_its_threads(
    release: threading.Event, few: Callable[..., ToolThreads]
) -> None:
    few(max_threads=10, max_per_tool=1)
    await run(Toolkit([hangs_until(release)]), "stuck")
    with pytest.raises(ToolError, match="1 earlier calls of it"):
        await run(Toolkit([hangs_until(release)]), "stuck")


async def test_many_hung_tools_together_are_bounded(release: threading.Event, few: Callable[..., ToolThreads]) -> None:
    made = few(max_threads=2, max_per_tool=2)
    await asyncio.gather(*(run(Toolkit([hangs_until(release)]), "stuck") for _ in range(2)))
    assert made.running == 2
    with pytest.raises(ToolError, match="2 earlier calls of tools have not returned"):
        await run(Toolkit([quick]), "quick")


def test_a_program_ends_although_a_tool_hangs(release: threading.Event) -> None:
    asyncio.run(run(Toolkit([hangs_until(release)]), "stuck"))
    left = [thread for thread in threading.enumerate() if thread.name == "tool stuck"]
    assert left
    assert all(thread.daemon for thread in left)


def test_a_machine_that_has_no_thread_left_is_told(
    monkeypatch: pytest.MonkeyPatch, few: Callable[..., ToolThreads]
) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    made = few(max_threads=2, max_per_tool=2)
    executor = made.of(quick, "quick")
    monkeypatch.setattr(threads.threading.Thread, "start", refused)
    with pytest.raises(ToolError, match="quick cannot run now: can't start new thread"):
        executor.submit(quick)
    assert made.running == 0
