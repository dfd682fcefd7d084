"""A tool that blocks the event loop is named while it does, and the call is told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest

from realtime.errors import ToolError
from realtime.event import client as c
from realtime.event import server as s
from realtime.message import ToolCallBlock
from realtime.tool import Toolkit
from realtime.tool.blocking import BLOCKED_S, code_of
from realtime.tool.context import ToolScope
from tests.agent.fakes import alone, call
from tests.agent.test_run_hooks import ask
from tests.agent.test_tools import ask_tools
from tests.real_loop import settled
from tests.volumes import HANG_S


def block_until(condition: Callable[[], object]) -> None:
    """Keep the loop, as `time.sleep` does, until the condition holds."""
    for _ in range(int(HANG_S / 0.01)):
        if condition():
            return
        time.sleep(0.01)  # noqa: TID251 - this is what blocks
    raise AssertionError("no one noticed")


class Sleeper:
    """The ways in which a tool blocks."""

    def __init__(self, is_noticed: Callable[[], object]) -> None:
        self._is_noticed = is_noticed

    async def directly(self) -> str:
        """Wait."""
        block_until(self._is_noticed)
        return "done"

    async def piecewise(self) -> AsyncIterator[str]:
        """Wait between two pieces."""
        yield "al"
        block_until(self._is_noticed)
        yield "most"

    async def in_a_task(self) -> str:
        """Wait in a task."""

        async def work() -> str:
            block_until(self._is_noticed)
            return "done"

        return await asyncio.create_task(work())


@pytest.mark.parametrize("way", ["directly", "piecewise", "in_a_task"])
async def test_a_tool_that_blocks_the_loop_is_named_at_once_and_told_to_its_call(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[ToolError] = []
    toolkit = Toolkit()
    toolkit.register(getattr(Sleeper(lambda: "blocks the event loop" in caplog.text), way), name="stock")
    with ToolScope(on_blocked=told.append).in_force():
        result = await toolkit.run(ToolCallBlock(id="call_1", name="stock", input="{}"))
    await settled(lambda: told)
    assert result.output_text() in ("done", "almost")
    (error,) = told
    assert error.code == "tool_blocks"
    assert "declare it with def instead of async def" in error.message
    (line,) = [one for one in caplog.messages if "blocks the event loop" in one]
    assert line.startswith("tool stock call_1 blocks the event loop at test_blocking.py:")


async def test_a_call_has_an_error_event_for_its_tool_that_blocks(caplog: pytest.LogCaptureFixture) -> None:
    toolkit = Toolkit()
    toolkit.register(Sleeper(lambda: "blocks the event loop" in caplog.text).directly, name="stock")
    async with call(toolkit=toolkit) as made:
        ask_tools(made, ("call_1", "stock", "{}"))
        await settled(lambda: [one for one in made.seen if isinstance(one, s.AgentErrorEvent)])
        (error,) = [one for one in made.seen if isinstance(one, s.AgentErrorEvent)]
        assert (error.code, error.agent_name) == ("tool_blocks", "Friday")


@pytest.mark.parametrize("way", ["directly", "in_a_task"])
@pytest.mark.parametrize("callback", ["on_enter", "on_turn", "pre_tool_call", "post_tool_call"])
async def test_a_callback_or_an_async_hook_that_blocks_the_loop_is_named_and_told_to_its_call(
    callback: str, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    work = getattr(Sleeper(lambda: "blocks the event loop" in caplog.text), way)
    is_hook = callback not in ("on_enter", "on_turn")

    async def blocks(*_: Any) -> None:
        await work()

    async def stock() -> str:
        """Look."""
        return "12"

    toolkit = Toolkit()
    toolkit.register(stock)
    async with alone(toolkit=toolkit, **({} if is_hook else {callback: blocks})) as made:
        if is_hook:
            made.agent.register_instance_hook(callback, "mine", blocks)
            ask(made, ("call_1", "stock", "{}"))
        elif callback == "on_turn":
            await made.agent.handle_input(c.ClientTextAppendEvent(text="Hello"))

        def told() -> list[s.AgentErrorEvent]:
            errors = [one for one in made.seen if isinstance(one, s.AgentErrorEvent)]
            return [one for one in errors if one.code == "callback_blocks"]

        await settled(told)
        (error,) = told()
    assert "await asyncio.to_thread" in error.message
    assert callback in error.message
    (line,) = [one for one in caplog.messages if "blocks the event loop" in one]
    assert callback in line


async def test_a_tool_that_waits_as_it_should_is_not_blamed(caplog: pytest.LogCaptureFixture) -> None:
    released = asyncio.Event()

    async def waits() -> str:
        """Wait."""
        await released.wait()
        return "done"

    toolkit = Toolkit()
    toolkit.register(waits)
    told: list[ToolError] = []
    asyncio.get_running_loop().call_later(2 * BLOCKED_S, released.set)
    with ToolScope(on_blocked=told.append).in_force():
        await toolkit.run(ToolCallBlock(id="call_1", name="waits", input="{}"))
    assert (told, caplog.messages) == ([], [])


class Shop:
    async def __call__(self) -> None: ...

    async def method(self) -> None: ...


async def function() -> None: ...


@pytest.mark.parametrize(
    ("tool", "code"),
    [
        (function, function.__code__),
        (partial(function), function.__code__),
        (Shop().method, Shop.method.__code__),
        (Shop(), Shop.__call__.__code__),
        (len, None),
    ],
    ids=["function", "partial", "method", "object", "in C"],
)
def test_the_code_of_what_runs_is_found(tool: Any, code: object) -> None:
    assert code_of(tool) is code
