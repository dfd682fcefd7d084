"""What is no `Exception` ends a tool's call all the same, at once: a panic of a Rust library, GeneratorExit."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
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
