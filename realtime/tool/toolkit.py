"""Functions as tools: declared to the model, called with its input, always answered."""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextvars import Context, copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import msgspec

from realtime.errors import ToolError, UsageError
from realtime.event import ToolDeclaration
from realtime.message import DataBlock, TextBlock, ToolCallBlock, ToolOutput, ToolResultBlock, ToolResultState
from realtime.tool.arguments import Arguments, write_foreign
from realtime.tool.docstring import parse_docstring
from realtime.tool.threads import TOOL_THREADS

logger = logging.getLogger(__name__)

DEFAULT_TIMEOUT_S = 30.0

ERROR_TEXT_CHARS = 1_000
"""Characters of an exception's message that the model gets."""

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class _Tool:
    declaration: ToolDeclaration
    function: Callable[..., Any]
    arguments: Arguments
    executor: Executor | None
    """The executor of a plain function; None for an `async` one."""
    confirm: bool


class Toolkit:
    """The tools of an agent.

    A tool is a plain or `async` function that its signature and docstring (Google, numpy or reST) fully describe. Plain
    functions run in `executor`, so they may block; without one, each call runs in a thread of its own, of which there
    is a bounded number (`realtime.tool.threads`). The return value becomes the result: text and content blocks
    unchanged, None as "done", anything else as JSON text. An agent runs the tools in `confirm` only with the user's
    consent to the call.
    """

    def __init__(
        self,
        functions: Iterable[Callable[..., Any]] = (),
        *,
        confirm: Iterable[Callable[..., Any]] = (),
        executor: Executor | None = None,
    ) -> None:
        self._executor = executor
        self._tools: dict[str, _Tool] = {}
        for function in functions:
            self.register(function)
        for function in confirm:
            self.register(function, confirm=True)

    def register(
        self, function: Function, *, name: str | None = None, description: str | None = None, confirm: bool = False
    ) -> Function:
        """Add a function, by default with its own name and docstring.

        `confirm`: an agent asks the user before each call. Returns the function, so it serves as a decorator. Raises
        UsageError (`bad_tool`) for a name that is taken or that providers refuse, and for a function whose arguments
        cannot be described.
        """
        plain = _unbound(function)
        name = name or str(getattr(plain, "__name__", type(plain).__name__))
        if not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", name):
            raise UsageError(
                f"{name!r} cannot name a tool: use 1 to 64 letters, digits, `_` and `-`; give a lambda a `name`",
                code="bad_tool",
            )
        if name in self._tools:
            raise UsageError(f"there is a tool named {name!r} already", code="bad_tool")
        body = plain if inspect.isroutine(plain) else type(plain).__call__
        if inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body):
            raise UsageError(f"tool {name!r} is a generator: a tool returns its result once", code="bad_tool")
        said, descriptions = parse_docstring(plain.__doc__ or "")
        arguments = Arguments(function, name, descriptions)
        declaration = ToolDeclaration(
            name=name, description=said if description is None else description, parameters=arguments.schema
        )
        runs_in = None
        if not inspect.iscoroutinefunction(body):
            runs_in = self._executor or TOOL_THREADS.of(plain, name)
        self._tools[name] = _Tool(declaration, function, arguments, runs_in, confirm)
        return function

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __len__(self) -> int:
        return len(self._tools)

    def declarations(self) -> tuple[ToolDeclaration, ...]:
        """Return the tools' declarations for the model, in order of registration."""
        return tuple(tool.declaration for tool in self._tools.values())

    def asks(self, call: ToolCallBlock) -> bool:
        """Return whether `call` needs the user's consent; False for invalid arguments, which fail anyway."""
        tool = self._tools.get(call.name)
        if tool is None or not tool.confirm:
            return False
        try:
            tool.arguments.read(call.input)
        except ValueError:
            return False
        return True

    async def run(self, call: ToolCallBlock, *, timeout_s: float | None = DEFAULT_TIMEOUT_S) -> ToolResultBlock:
        """Run one call, whether or not it `asks`; calls may run at the same time. `timeout_s=None`: no timeout.

        Every failure (no such tool, wrong arguments, an exception, a timeout) is a result with state `error` that tells
        the model what happened. Cancelling ends an `async` function; a plain one continues in its thread and its result
        is dropped, as after a timeout. Raises ToolError (`tools_busy`) where so many of those run that no thread is
        left.
        """
        tool = self._tools.get(call.name)
        if tool is None:
            return _failed(
                call, f"There is no tool named {call.name!r}. There are: {', '.join(self._tools) or 'none'}."
            )
        try:
            arguments = tool.arguments.read(call.input)
        except ValueError as wrong:
            logger.info("tool %s (call %s): wrong arguments", call.name, call.id)
            return _failed(call, f"The arguments of {call.name} are wrong: {wrong}")
        time_limit = asyncio.timeout(timeout_s)
        try:
            async with time_limit:
                returned, error = await self._call(tool, arguments)
            if error is None:
                return ToolResultBlock(id=call.id, name=call.name, output=_output(returned))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return _failed(call, f"{call.name} was cancelled from within")
        except ToolError:
            raise
        except (Exception, SystemExit) as raised:
            if time_limit.expired() and isinstance(raised, TimeoutError):
                logger.warning("tool %s (call %s): no result within %g s", call.name, call.id, timeout_s)
                return _failed(call, f"{call.name} gave no result within {timeout_s:g} s")
            error = raised
        # Log the place of the failure, not the message: that may quote the arguments.
        place = "".join(traceback.format_tb(error.__traceback__))
        logger.warning("tool %s (call %s): %s\n%s", call.name, call.id, type(error).__name__, place)
        return _failed(call, f"{call.name} failed: {_said(error)}"[:ERROR_TEXT_CHARS])

    async def _call(self, tool: _Tool, arguments: dict[str, Any]) -> _Outcome:
        if tool.executor is None:
            return await tool.function(**arguments), None
        loop = asyncio.get_running_loop()
        call = partial(tool.function, **arguments)
        returned, error = await loop.run_in_executor(tool.executor, _outcome, copy_context(), call)
        return (await returned if inspect.isawaitable(returned) else returned), error


def _unbound(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a partial's function, which has the name and the docstring."""
    while isinstance(function, partial):
        function = function.func
    return function


_Outcome = tuple[Any, Exception | SystemExit | None]


def _outcome(context: Context, call: Callable[[], Any]) -> _Outcome:
    """Return the call's result or exception as a value: a future cannot carry StopIteration."""
    try:
        return context.run(call), None
    except (Exception, SystemExit) as error:
        return None, error


def _output(returned: Any) -> ToolOutput:
    """Convert a tool's return value to an output. Raises TypeError where it has no JSON form."""
    if returned is None:
        return "done"
    if isinstance(returned, str):
        return _printable(returned)
    if isinstance(returned, TextBlock | DataBlock):
        return [returned]
    if isinstance(returned, list | tuple) and returned and all(isinstance(b, TextBlock | DataBlock) for b in returned):
        return [*returned]
    return msgspec.json.encode(returned, enc_hook=write_foreign).decode()


def _said(error: BaseException) -> str:
    """Describe the exception without names of this machine's files: the client sees it too."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{type(error).__name__}: {error.strerror}"
    if isinstance(error, ImportError) and error.path is not None:
        return f"{type(error).__name__}: {error.name}"
    return "".join(traceback.format_exception_only(error)).strip()


def _failed(call: ToolCallBlock, text: str) -> ToolResultBlock:
    return ToolResultBlock(id=call.id, name=call.name, output=_printable(text), state=ToolResultState.ERROR)


def _printable(text: str) -> str:
    """Remove half surrogate pairs: no event can carry them (undecodable file names have them)."""
    return text.encode("utf-8", "replace").decode()
