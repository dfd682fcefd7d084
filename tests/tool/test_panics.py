"""What is no `Exception` ends a tool's call all the same, at once: a panic of a Rust library, GeneratorExit."""

import asyncio
import gc
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from typing import Any

import pytest

from realtime.message import ToolCallBlock, ToolResultBlock, ToolResultState
from realtime.permission import PermissionContext, ToolPermissions
from realtime.tool import Toolkit


class PanicException(BaseException):
    """As PyO3 raises for a panic of Rust."""


def plain(error: BaseException) -> Callable[[], Any]:
    def tool() -> str:
        raise error

    return tool


def plain_steps(error: BaseException) -> Callable[[], Any]:
    def tool() -> Iterator[str]:
        yield "one"
        raise error

    return tool


def coroutine(error: BaseException) -> Callable[[], Any]:
    async def tool() -> str:
        raise error

    return tool


def asynchronous_steps(error: BaseException) -> Callable[[], Any]:
    async def tool() -> AsyncIterator[str]:
        yield "one"
        raise error

    return tool


def a_callback_of_a_coroutine(error: BaseException) -> Callable[[], Any]:
    async def tool() -> str:
        return await asyncio.to_thread(plain(error))  # type: ignore[no-any-return]

    return tool


KINDS = [plain, plain_steps, coroutine, asynchronous_steps, a_callback_of_a_coroutine]
ERRORS = [PanicException("index out of bounds"), GeneratorExit("index out of bounds")]


@pytest.mark.virtual_time
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__name__))
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_whatever_ends_the_function_is_the_result_at_once(
    kind: Callable[[BaseException], Callable[[], Any]], error: BaseException
) -> None:
    began_s = asyncio.get_running_loop().time()
    answer = await Toolkit([kind(error)]).run(ToolCallBlock(id="c", name="tool", input="{}"))
    assert answer.state is ToolResultState.ERROR
    assert "tool failed: " in str(answer.output)
    assert f"{type(error).__name__}: index out of bounds" in str(answer.output)
    assert asyncio.get_running_loop().time() - began_s < 1


@pytest.mark.parametrize("kind", [plain, plain_steps])
async def test_a_keyboard_interrupt_in_a_thread_is_no_ctrl_c(
    kind: Callable[[BaseException], Callable[[], Any]],
) -> None:
    answer = await Toolkit([kind(KeyboardInterrupt())]).run(ToolCallBlock(id="c", name="tool", input="{}"))
    assert answer.state is ToolResultState.ERROR
    assert "KeyboardInterrupt" in str(answer.output)


@pytest.mark.parametrize("is_handled", [True, False], ids=["handled", "not handled"])
def test_a_keyboard_interrupt_on_the_loop_is_ctrl_c_only_where_nobody_handles_ctrl_c(is_handled: bool) -> None:
    """A server and `asyncio.run` handle Ctrl-C: what a tool brings from a thread of its own is the tool's."""

    def stop() -> None:
        raise KeyboardInterrupt

    async def tool() -> None:
        """Work."""
        await asyncio.to_thread(stop)

    async def run() -> ToolResultBlock:
        return await Toolkit([tool]).run(ToolCallBlock(id="c", name="tool", input="{}"))

    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, (lambda *_: None) if is_handled else signal.default_int_handler)
    loop = asyncio.new_event_loop()
    try:
        if is_handled:
            answer = loop.run_until_complete(run())
            assert answer.state is ToolResultState.ERROR
            assert "tool failed: KeyboardInterrupt" in str(answer.output)
        else:
            with pytest.raises(KeyboardInterrupt):
                loop.run_until_complete(run())
            loop.run_until_complete(asyncio.sleep(0))
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
        signal.signal(signal.SIGINT, before)


async def waits_with_a_limit(work: Coroutine[Any, Any, Any]) -> None:
    await asyncio.wait_for(work, 5)


async def gathers(work: Coroutine[Any, Any, Any]) -> None:
    await asyncio.gather(asyncio.sleep(0), work)


async def has_a_group(work: Coroutine[Any, Any, Any]) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(work)


async def leaves_it_to_a_task_of_a_task(work: Coroutine[Any, Any, Any]) -> None:
    await asyncio.create_task(waits_with_a_limit(work))


async def awaits_it_when_it_is_over(work: Coroutine[Any, Any, Any]) -> None:
    task = asyncio.ensure_future(work)
    await asyncio.wait([task])
    await task


@pytest.mark.parametrize("error", [SystemExit(2), SystemExit("no such file"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize(
    "way",
    [waits_with_a_limit, gathers, has_a_group, leaves_it_to_a_task_of_a_task, awaits_it_when_it_is_over],
    ids=lambda way: str(way.__name__),
)
@pytest.mark.parametrize("in_pieces", [False, True], ids=["whole", "in pieces"])
def test_an_exit_in_a_task_of_a_tool_ends_its_call_alone(
    way: Callable[[Coroutine[Any, Any, Any]], Coroutine[Any, Any, None]], error: BaseException, in_pieces: bool
) -> None:
    """asyncio lets SystemExit and KeyboardInterrupt out of a task's step, and out of the loop."""

    async def whole() -> None:
        await way(asyncio.to_thread(plain(error)))

    async def pieces() -> AsyncIterator[str]:
        yield "one"
        await way(asyncio.to_thread(plain(error)))

    async def other() -> str:
        await asyncio.sleep(0.05)
        return "done"

    async def run() -> list[ToolResultBlock]:
        toolkits = Toolkit([pieces if in_pieces else whole]), Toolkit([other])
        calls = [ToolCallBlock(id="c", name=next(iter(toolkit.tools)), input="{}") for toolkit in toolkits]
        return await asyncio.gather(*(one.run(call) for one, call in zip(toolkits, calls, strict=True)))

    failed, done = asyncio.run(run())
    assert failed.state is ToolResultState.ERROR
    if way is not has_a_group:
        assert f"failed: RuntimeError: {type(error).__name__}" in str(failed.output)
    assert done.output_text() == "done"


def test_an_exit_in_a_task_beside_the_tools_still_ends_the_program() -> None:
    async def tool() -> None:
        """Work."""
        await asyncio.gather(asyncio.to_thread(plain(SystemExit(1))))

    async def main() -> None:
        await Toolkit([tool]).run(ToolCallBlock(id="c", name="tool", input="{}"))
        await asyncio.create_task(coroutine(SystemExit(7))())

    with pytest.raises(SystemExit) as ended:
        asyncio.run(main())
    assert ended.value.code == 7


async def test_the_tasks_of_a_tool_are_made_by_the_factory_of_the_loop() -> None:
    made: list[str] = []

    def factory(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        made.append(work.cr_code.co_name)
        return asyncio.Task(work, loop=loop, **options)

    async def look_up() -> str:
        return "found"

    async def tool() -> str:
        """Work."""
        return await asyncio.create_task(look_up())

    asyncio.get_running_loop().set_task_factory(factory)  # type: ignore[arg-type]
    try:
        answer = await Toolkit([tool]).run(ToolCallBlock(id="c", name="tool", input="{}"))
    finally:
        asyncio.get_running_loop().set_task_factory(None)
    assert answer.output_text() == "found"
    assert "look_up" in made


@pytest.mark.filterwarnings("error")
async def test_a_task_of_a_tool_that_is_cancelled_before_its_first_step_leaves_nothing() -> None:
    async def tool() -> str:
        """Work."""
        task = asyncio.create_task(coroutine(ValueError())())
        task.cancel()
        await asyncio.wait([task])
        return "cancelled" if task.cancelled() else "not"

    answer = await Toolkit([tool]).run(ToolCallBlock(id="c", name="tool", input="{}"))
    gc.collect()
    assert answer.output_text() == "cancelled"


async def test_a_middleware_that_panics_fails_the_call() -> None:
    async def middleware(kwargs: Any, handler: Any) -> AsyncIterator[Any]:
        raise PanicException("broken")
        yield

    toolkit = Toolkit([plain(ValueError())])
    toolkit.register_middleware(middleware)
    answer = await toolkit.run(ToolCallBlock(id="c", name="tool", input="{}"))
    assert str(answer.output).startswith("a middleware failed: ")
    assert str(answer.output).endswith("PanicException: broken")


async def test_permissions_that_panic_deny_the_call() -> None:
    class Broken(ToolPermissions):
        def check_permissions(self, tool_input: Mapping[str, Any], context: PermissionContext) -> None:
            raise PanicException("broken")

    toolkit = Toolkit()
    toolkit.register_tool_function(plain(ValueError()), permissions=Broken())
    assert toolkit.decide(ToolCallBlock(id="c", name="tool", input="{}")).denies
