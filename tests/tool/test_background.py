"""Background tools without a voice call: started at once, listed, waited for, stopped."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from realtime.message import ToolCallBlock
from realtime.tool import ToolContext, Toolkit, ToolResponse
from realtime.tool.background import BACKGROUND_TIMEOUT_S, MAX_RESULTS, MAX_RUNNING

pytestmark = pytest.mark.virtual_time()


async def dig(metres: int, context: ToolContext[Any]) -> AsyncGenerator[str, None]:
    """Dig a hole."""
    context.progress("fetching the spade")
    for metre in range(metres):
        await asyncio.sleep(1)
        yield f"{metre + 1} m "


async def start(toolkit: Toolkit, text: str = '{"metres": 3}') -> ToolResponse:
    call = ToolCallBlock(id="call_1", name="dig", input=text)
    (response,) = [one async for one in toolkit.call_tool_function(call)]
    return response


def digging() -> Toolkit:
    toolkit = Toolkit()
    toolkit.register_tool_function(dig, async_execution=True)
    return toolkit


async def test_the_model_hears_at_once_that_it_has_started_and_asks_for_the_result() -> None:
    toolkit = digging()
    response = await start(toolkit)
    assert (response.state, asyncio.get_running_loop().time()) == ("running", 0)
    assert "Task ID: dig_1." in response.text
    assert (await toolkit.view_task("dig_1")).text == "Task dig_1 is still running."
    assert (await toolkit.wait_task("dig_1", timeout=1.5)).text == (
        "Task dig_1 is still running after waiting for 1.5 seconds."
    )
    assert toolkit.list_background_tools() == [{"id": "dig_1", "tool": "dig", "state": "running", "latest": "1 m "}]
    assert (await toolkit.wait_task("dig_1")).text == "1 m 2 m 3 m "
    assert asyncio.get_running_loop().time() == 3
    assert "InvalidTaskIdError" in (await toolkit.view_task("dig_1")).text
    assert toolkit.list_background_tools() == []


async def test_the_model_gets_tools_that_list_and_stop_what_runs() -> None:
    toolkit = digging()
    toolkit.register(dig, name="dig_again", background=True)
    assert [*toolkit.tools] == ["dig", "list_background_tools", "cancel_background_tool", "dig_again"]
    await start(toolkit)
    await asyncio.sleep(1.5)

    async def ask(name: str, text: str = "{}") -> str:
        return (await toolkit.run(ToolCallBlock(id="call_2", name=name, input=text))).output_text()

    assert '"id":"dig_1"' in await ask("list_background_tools")
    assert await ask("cancel_background_tool", '{"task_id": "dig_1"}') == "Task dig_1 has been cancelled."
    assert await ask("list_background_tools") == "[]"
    assert "InvalidTaskIdError" in await ask("cancel_background_tool", '{"task_id": "dig_1"}')


async def test_what_has_ended_cannot_be_stopped_and_wrong_arguments_start_nothing() -> None:
    toolkit = digging()
    await start(toolkit)
    await asyncio.sleep(4)
    assert "already completed" in (await toolkit.cancel_task("dig_1")).text
    response = await start(toolkit, '{"metres": "many"}')
    assert response.state == "error"
    assert "The arguments of dig are wrong" in response.text
    assert [one["state"] for one in toolkit.list_background_tools() if one["state"] == "running"] == []


async def test_failures_are_results_too() -> None:
    async def fails() -> str:
        """Fail."""
        await asyncio.sleep(1)
        raise ValueError("broken")

    async def hangs() -> None:
        """Hang."""
        await asyncio.sleep(2 * BACKGROUND_TIMEOUT_S)

    toolkit = Toolkit()
    for function in (fails, hangs):
        toolkit.register(function, background=True)
        async for _ in toolkit.call_tool_function(ToolCallBlock(id="call_1", name=function.__name__)):
            pass
    assert (await toolkit.wait_task("fails_1")).text == "fails failed: ValueError: broken"
    assert (await toolkit.wait_task("hangs_2", timeout=2 * BACKGROUND_TIMEOUT_S)).text == (
        "hangs gave no result within 3600 s"
    )


async def test_only_so_many_run_at_once_and_only_so_many_results_are_kept() -> None:
    toolkit = digging()
    for _ in range(MAX_RUNNING):
        await start(toolkit)
    assert (await start(toolkit)).text == "dig was not started: 16 tools run in the background already"
    for _ in range(MAX_RESULTS):
        await asyncio.sleep(4)
        await start(toolkit)
    await asyncio.sleep(4)
    assert len(toolkit.background.results) == MAX_RESULTS
    assert "dig_1" not in toolkit.background.results


async def test_closing_stops_all_and_leaves_no_task() -> None:
    ended: list[str] = []

    async def wait() -> None:
        """Wait."""
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("closed")

    toolkit = Toolkit()
    toolkit.register(wait, background=True)
    async for _ in toolkit.call_tool_function(ToolCallBlock(id="call_1", name="wait")):
        pass
    await asyncio.sleep(1)
    await toolkit.background.close()
    assert ended == ["closed"]
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert toolkit.list_background_tools() == []


async def test_each_copy_has_background_tools_of_its_own() -> None:
    toolkit = digging()
    one, other = toolkit.for_call(), toolkit.for_call()
    await start(one)
    call = ToolCallBlock(id="call_2", name="list_background_tools")
    assert '"dig_1"' in (await one.run(call)).output_text()
    assert (await other.run(call)).output_text() == "[]"
    await one.background.close()
