"""Tools that give their result in pieces, that are large, slow or do not end when they are cancelled."""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.message import Base64Source, DataBlock, TextBlock, ToolCallBlock, ToolResultBlock, ToolResultState
from realtime.testing.clock import VirtualLoop
from realtime.tool import Toolkit, ToolResponse
from realtime.tool.context import ToolScope
from realtime.tool.output import MAX_RESULT_BYTES, MAX_RESULT_CHARS
from tests.volumes import HANG_S

pytestmark = pytest.mark.virtual_time()


def call_of(name: str, text: str = "{}") -> ToolCallBlock:
    return ToolCallBlock(id="call_1", name=name, input=text)


async def responses(function: Any, **options: Any) -> list[ToolResponse]:
    toolkit = Toolkit()
    toolkit.register(function, name="tool")
    return [response async for response in await toolkit.call_tool_function(call_of("tool"), **options)]


async def run(function: Any, **options: Any) -> ToolResultBlock:
    toolkit = Toolkit()
    toolkit.register(function, name="tool")
    return await toolkit.run(call_of("tool"), **options)


def counted() -> Iterator[str]:
    yield "one "
    yield "two "
    yield "three"


async def counted_slowly() -> AsyncIterator[str]:
    for word in counted():
        await asyncio.sleep(1)
        yield word


async def gives_a_generator() -> AsyncIterator[str]:
    return counted_slowly()


async def gives_a_plain_generator() -> Iterator[str]:
    return counted()


ALL_KINDS = [counted, counted_slowly, gives_a_generator, gives_a_plain_generator]


async def test_each_response_holds_everything_so_far_and_the_pieces_go_to_the_scope() -> None:
    for function in ALL_KINDS:
        given = await responses(function)
        texts = [("one ", False), ("one two ", False), ("one two three", False), ("one two three", True)]
        assert [(one.text, one.is_last) for one in given] == texts
        assert len({(one.id, one.content[0].id) for one in given}) == 1
        pieces: list[tuple[str, str]] = []
        with ToolScope(progress=lambda text, kind, pieces=pieces: pieces.append((text, kind))).in_force():  # type: ignore[misc]
            result = await run(function)
        assert (result.output, result.state) == ("one two three", "success")
        assert pieces == [("one ", "result"), ("two ", "result"), ("three", "result")]


@given(st.lists(st.text(max_size=5), max_size=8))
def test_pieces_together_are_the_result_whatever_they_are(words: list[str]) -> None:
    """Also empty pieces, and text that no event can carry, which is replaced."""

    async def tool() -> AsyncGenerator[str, None]:
        for word in words:
            yield word

    async def check() -> None:
        told: list[str] = []
        with ToolScope(progress=lambda text, _: told.append(text)).in_force():
            result = await run(tool)
        texts = [one.text for one in await responses(tool)]
        assert result.output == texts[-1] == ("".join(told) or "done")
        assert all(later.startswith(earlier) for earlier, later in pairwise(texts[:-1]))

    asyncio.run(check())


async def test_values_and_blocks_are_collected_in_order() -> None:
    picture = DataBlock(source=Base64Source(data=b"png", media_type="image/png"))

    def giving(*values: Any) -> Any:
        async def tool() -> AsyncGenerator[Any, None]:
            for value in values:
                yield value

        return tool

    assert (await run(giving({"n": 1}, None, [2]))).output == '{"n":1}\n[2]'
    assert (await run(giving())).output == "done"
    output = (await run(giving("see: ", picture, "that", " is all", [TextBlock(text="end")]))).output
    collected = [one.text if isinstance(one, TextBlock) else one for one in output]
    assert collected == ["see: ", picture, "that is all", "end"]


async def test_tool_responses_are_passed_on_as_they_are() -> None:
    """AgentScope's generators give the whole result so far, each time."""
    given = [ToolResponse([TextBlock(text=text)]) for text in ("1", "12", "123")]

    async def generator() -> AsyncGenerator[ToolResponse, None]:
        for one in given:
            yield one

    assert all(one is other for one, other in zip(await responses(generator), given, strict=True))
    pieces: list[str] = []
    with ToolScope(progress=lambda text, _: pieces.append(text)).in_force():
        result = await run(generator)
    assert result.output_text() == "123"
    assert pieces == ["1", "2", "3"]


async def test_a_response_with_other_content_is_an_error() -> None:
    def tool() -> ToolResponse:
        return ToolResponse(["text"])  # type: ignore[list-item]

    result = await run(tool)
    assert result.state == "error"
    assert "a list of text and data blocks" in result.output_text()


async def test_what_was_given_before_a_failure_or_the_end_of_the_time_is_kept_and_the_generator_closed() -> None:
    ended: list[float] = []

    async def broken() -> AsyncGenerator[Any, None]:
        yield "half of it"
        raise ValueError("broken")

    async def slow() -> AsyncGenerator[str, None]:
        try:
            while True:
                yield "tick "
                await asyncio.sleep(1)
        finally:
            ended.append(asyncio.get_running_loop().time())

    result = await run(broken)
    assert (result.output, result.state) == ("half of it\ntool failed: ValueError: broken", "error")
    result = await run(slow, timeout_s=2.5)
    assert (result.output, result.state) == ("tick tick tick \ntool gave no result within 2.5 s", "error")
    assert ended == [2.5]
    assert (await responses(slow, timeout_s=2.5))[-1].state == "error"


async def test_a_slow_reader_holds_a_generator_back() -> None:
    made: list[int] = []

    async def tool() -> AsyncGenerator[str, None]:
        for number in range(100):
            made.append(number)
            yield str(number)

    toolkit = Toolkit([tool])
    async for response in toolkit.call_tool_function(call_of("tool")):
        await asyncio.sleep(1)
        if response.text == "012":
            break
    assert made == [0, 1, 2]


async def test_a_cancelled_reader_gets_what_there_is_and_then_its_cancellation() -> None:
    seen: list[ToolResponse] = []
    ended: list[str] = []

    async def tool() -> AsyncGenerator[str, None]:
        try:
            yield "so far"
            await asyncio.sleep(60)
        finally:
            ended.append("closed")

    async def read() -> None:
        async for response in Toolkit([tool]).call_tool_function(call_of("tool")):
            seen.append(response)

    reader = asyncio.create_task(read())
    await asyncio.sleep(1)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert ended == ["closed"]
    told = "so far\n<system-info>The tool call has been interrupted by the user.</system-info>"
    texts = [(one.text, one.is_interrupted, str(one.state)) for one in seen]
    assert texts == [("so far", False, "success"), (told, True, "interrupted")]


async def test_a_function_that_cancels_itself_is_an_interrupted_response() -> None:
    async def tool() -> None:
        raise asyncio.CancelledError

    (response,) = await responses(tool)
    assert (response.is_interrupted, response.is_last, response.stream) == (True, True, True)
    assert response.state is ToolResultState.INTERRUPTED


@pytest.mark.parametrize("cause", ["cancelled", "too-slow"])
async def test_a_tool_that_swallows_its_cancellation_is_left_behind_after_a_second(
    cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    release = asyncio.Event()

    async def stubborn() -> str:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                pass
        return "late"

    loop = asyncio.get_running_loop()
    running = asyncio.create_task(run(stubborn, timeout_s=10 if cause == "too-slow" else None))
    await asyncio.sleep(5)
    if cause == "cancelled":
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert loop.time() == pytest.approx(6)
    else:
        assert (await running).output == "tool gave no result within 10 s"
        assert loop.time() == pytest.approx(11)
    assert "is left behind" in caplog.text
    release.set()
    await asyncio.sleep(1)


async def test_cancelling_at_any_moment_ends_the_tool_and_leaves_no_task() -> None:
    """Every tenth of a second of a call: no task is left, and the generator is closed."""
    for tenths in range(45):
        ended: list[str] = []

        async def tool(ended: list[str] = ended) -> AsyncGenerator[str, None]:
            try:
                for _ in range(4):
                    await asyncio.sleep(1)
                    yield "piece"
            finally:
                await asyncio.sleep(0.05)
                ended.append("closed")

        toolkit = Toolkit()
        toolkit.register_tool_function(tool, preset_kwargs={"ended": ended})
        reader = asyncio.create_task(toolkit.run(call_of("tool")))
        await asyncio.sleep(tenths / 10)
        before = reader.done()
        reader.cancel()
        await asyncio.wait([reader])
        assert before or reader.cancelled()
        assert ended == ["closed"] or tenths == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_tool_without_a_thread_is_an_error_response(monkeypatch: pytest.MonkeyPatch) -> None:
    from realtime.tool.threads import ToolThreads

    monkeypatch.setattr("realtime.tool.toolkit.TOOL_THREADS", ToolThreads(max_threads=0))

    def tool() -> str:
        return "never"

    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    async with loop.real_work():
        (response,) = await responses(tool)
    assert response.state == "error"
    assert "cannot run now" in response.text


async def test_what_is_too_large_is_cut_or_left_out_and_says_so() -> None:
    small = DataBlock(source=Base64Source(data=b"x" * 1_000, media_type="image/png"))
    large = DataBlock(source=Base64Source(data=b"x" * 10_000_000, media_type="audio/wav"))

    def long() -> str:
        return "x" * 10_000_000

    def heavy() -> list[Any]:
        return [TextBlock(text="See."), large, small]

    text = (await run(long)).output_text()
    assert len(text) < MAX_RESULT_CHARS + 200
    assert text.endswith("[The result is cut: of its 10,000,000 characters, the first 100,000 are here.]")
    output = (await run(heavy)).output
    assert output[2] == small
    left_out = f"[audio/wav of 10,000,000 bytes is left out: a result holds at most {MAX_RESULT_BYTES:,} bytes.]"
    assert output[1].text == left_out


async def test_a_generator_without_end_is_closed_when_its_result_is_full() -> None:
    ended: list[str] = []

    async def tool() -> AsyncGenerator[str, None]:
        try:
            while True:
                yield "x" * 1_000
        finally:
            ended.append("closed")

    given = await responses(tool)
    assert ended == ["closed"]
    assert given[-1].is_last
    assert "The result is cut" in given[-1].text


class TestInThreads:
    """Plain generators on a real loop with real threads."""

    def test_each_step_runs_in_a_thread_with_the_callers_context(self) -> None:
        def tool() -> Iterator[str]:
            for _ in range(2):
                yield threading.current_thread().name

        with ThreadPoolExecutor(1, thread_name_prefix="steps") as executor:
            toolkit = Toolkit([tool], executor=executor)
            assert asyncio.run(toolkit.run(call_of("tool"))).output == "steps_0steps_0"

    def test_a_generator_is_closed_when_the_step_that_runs_has_returned(self) -> None:
        runs, release, closed = threading.Event(), threading.Event(), threading.Event()

        def tool() -> Iterator[str]:
            try:
                yield "first"
                runs.set()
                release.wait(HANG_S)
                yield "second"
            finally:
                closed.set()

        async def stop_the_second() -> bool:
            running = asyncio.create_task(toolkit.run(call_of("tool")))
            await asyncio.to_thread(runs.wait, HANG_S)
            running.cancel()
            await asyncio.wait([running])
            return closed.is_set()

        with ThreadPoolExecutor(1) as executor:
            toolkit = Toolkit([tool], executor=executor)
            assert not asyncio.run(stop_the_second())
            release.set()
            assert closed.wait(HANG_S)

    def test_a_generator_that_waits_is_closed_at_once(self) -> None:
        closed: list[str] = []

        def tool() -> Iterator[str]:
            try:
                yield "first"
                yield "second"
            finally:
                closed.append("closed")

        async def read_one() -> None:
            responses = toolkit.call_tool_function(call_of("tool"))
            async for _ in responses:
                break
            await responses.aclose()

        with ThreadPoolExecutor(1) as executor:
            toolkit = Toolkit([tool], executor=executor)
            asyncio.run(read_one())
        assert closed == ["closed"]
