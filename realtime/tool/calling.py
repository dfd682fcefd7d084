"""One call of a tool: from the model's input to responses, through the middlewares."""

from __future__ import annotations

import asyncio
import inspect
import logging
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any, assert_never

from realtime.errors import ENDS_OF_TASKS, ToolError
from realtime.message import ToolCallBlock
from realtime.tool.context import ToolContext, ToolScope
from realtime.tool.output import ERROR_TEXT_CHARS, Output, failed, said
from realtime.tool.registered import RegisteredToolFunction
from realtime.tool.response import ToolResponse
from realtime.tool.running import Ended, Piece, Raised, Step, TimeUp, Whole, steps_of

logger = logging.getLogger(__name__)

Middleware = Callable[..., AsyncGenerator[ToolResponse, None]]
Handler = Callable[..., Awaitable[AsyncGenerator[ToolResponse, None]]]


class ToolResponses:
    """The responses of one tool call: iterate over them, with or without `await`."""

    def __init__(self, responses: AsyncGenerator[ToolResponse, None]) -> None:
        self._responses = responses

    def __aiter__(self) -> AsyncGenerator[ToolResponse, None]:
        return self._responses

    def __await__(self) -> Generator[None, None, AsyncGenerator[ToolResponse, None]]:
        yield from ()
        return self._responses

    async def aclose(self) -> None:
        """Stop the tool."""
        await self._responses.aclose()


async def through(
    middlewares: Sequence[Middleware], run_tool: Handler, call: ToolCallBlock
) -> AsyncGenerator[ToolResponse, None]:
    """Yield the responses to a call through the middlewares.

    The first middleware is the outermost. An exception of a middleware is a response with state `error`. Raises
    ToolError where the tool has no thread.
    """
    handler = run_tool
    for middleware in reversed(middlewares):
        handler = partial(_wrapped, middleware, handler)
    try:
        async with aclosing(await handler(tool_call=call)) as responses:
            async for response in responses:
                yield response
    except (ToolError, *ENDS_OF_TASKS):
        raise
    except BaseException as error:
        yield failed(_describe(call, "a middleware", error))


def _wrapped(middleware: Middleware, handler: Handler, **kwargs: Any) -> ToolResponses:
    return ToolResponses(middleware(kwargs, handler))


async def responses_of(
    tool: RegisteredToolFunction,
    function: Callable[..., Any],
    call: ToolCallBlock,
    extra: Collection[str],
    scope: ToolScope,
    timeout_s: float | None,
) -> AsyncGenerator[ToolResponse, None]:
    """Call `function` for a tool; yield the responses, each after the tool's postprocessing.

    `extra` names arguments that are not in its signature. Cancelling yields what there is, then goes on. Raises
    ToolError where no thread is left.
    """
    try:
        arguments = tool.reader.read(call.input, extra)
    except ValueError:
        logger.info("tool %s (call %s): wrong arguments", call.name, call.id)
        yield failed(tool.fault_in(call, extra))
        return
    loop = asyncio.get_running_loop()
    contexts = {name: ToolContext(scope, call.id, state, loop) for name, state in tool.reader.contexts.items()}
    positional, by_name = tool.bind({**arguments, **contexts})
    steps = steps_of(
        partial(function, *positional, **by_name),
        name=f"tool {call.name} {call.id}",
        executor=tool.executor,
        in_thread=tool.in_thread,
        timeout_s=timeout_s,
        on_blocked=scope.on_blocked,
    )
    output = Output()
    try:
        async with aclosing(steps):
            async for step in steps:
                response = _response_to(step, output, call, timeout_s)
                if response is not None:
                    yield await _finished(response, tool, call, contexts.values())
                if output.is_full and isinstance(step, Piece):
                    if (last := output.end()) is not None:
                        yield await _finished(last, tool, call, contexts.values())
                    break
    except asyncio.CancelledError:
        yield output.interrupted()
        raise
    except (ToolError, *ENDS_OF_TASKS):
        raise
    except BaseException as error:
        yield output.failed(_describe(call, call.name, error))


def _response_to(step: Step, output: Output, call: ToolCallBlock, timeout_s: float | None) -> ToolResponse | None:
    """Return the response to what a tool did. Raises ToolError where it has no thread."""
    match step:
        case Piece(value):
            response = output.piece(value)
            if response is not None:
                response.is_piece = True
            return response
        case Whole(value):
            return output.whole(value)
        case Ended():
            return output.end()
        case TimeUp():
            logger.warning("tool %s (call %s): no result within %g s", call.name, call.id, timeout_s or 0)
            return output.failed(f"{call.name} gave no result within {timeout_s or 0:g} s")
        case Raised(asyncio.CancelledError()):
            return output.interrupted()
        case Raised(ToolError() as error):
            raise error
        case Raised(error):
            return output.failed(_describe(call, call.name, error))
        case _:
            assert_never(step)


async def _finished(
    response: ToolResponse, tool: RegisteredToolFunction, call: ToolCallBlock, contexts: Collection[ToolContext[Any]]
) -> ToolResponse:
    """Return the response with the notes of the tool, after its postprocessing."""
    if notes := [note for context in contexts for note in context.notes]:
        response = replace(response, metadata={**(response.metadata or {}), "progress": notes})
    if tool.postprocess_func is None:
        return response
    other = tool.postprocess_func(call, response)
    if inspect.isawaitable(other):
        other = await other
    return response if other is None else other


def _describe(call: ToolCallBlock, what: str, error: BaseException) -> str:
    """Log a failure; return what the model reads of it."""
    # The place, not the message: that may quote the arguments.
    place = "".join(traceback.format_tb(error.__traceback__))
    logger.warning("tool %s (call %s): %s\n%s", call.name, call.id, type(error).__name__, place)
    return f"{what} failed: {said(error)}"[:ERROR_TEXT_CHARS]
