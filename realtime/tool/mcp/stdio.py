"""A server that runs as a process: messages are lines.

The SDK's transport keeps a line of any length; this one ends the connection.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from realtime.errors import ToolError
from realtime.tool.mcp.gate import MAX_MESSAGE_BYTES, Scales

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

logger = logging.getLogger(__name__)

EXIT_S = 2.0
"""Seconds that a server has for its exit: after its input is closed, and after the signal to end."""
MAX_UNREAD = 500
"""Messages that may wait for a server to read."""
_POLL_S = 0.01


@asynccontextmanager
async def stdio_streams(
    command: str, args: Sequence[str], env: dict[str, str], cwd: str | None, encoding: str, errors: str
) -> AsyncIterator[TransportStreams]:
    """Run the server; give the streams to and from it. On exit it is ended.

    It gets `env` and the few variables that every program needs, not those of this process. What it writes to its
    standard error appears in that of this process. Raises OSError where it cannot be started, ToolError
    on exit where it has ended by itself.
    """
    import anyio
    from mcp.client.stdio import get_default_environment

    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            command,
            *args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=get_default_environment() | env,
            cwd=cwd,
            start_new_session=True,
            limit=MAX_MESSAGE_BYTES,
        )
    )
    try:
        process = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # A start that is cancelled half-way leaves its process behind.
        starting.add_done_callback(_end_at_once)
        raise
    lines, cause = _Lines(process, encoding, errors), None
    try:
        yield lines, _Writer(process, encoding, errors)
    except Exception as error:
        if not lines.has_ended:
            raise
        cause = error
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
    if lines.has_ended:
        raise lines.why or ToolError(_how_it_ended(process.returncode), code="mcp_lost", retryable=True) from cause


def _how_it_ended(code: int | None) -> str:
    """Describe the end of a server that was not told to end."""
    if code is None:
        return "it has closed its output"
    if code >= 0:
        return f"its process has ended with exit code {code}"
    names = {one.value: one.name for one in signal.Signals}
    return f"its process was ended by {names.get(-code, f'signal {-code}')}"


class _Lines:
    """Messages from the server, one a line."""

    def __init__(self, process: asyncio.subprocess.Process, encoding: str, errors: str) -> None:
        assert process.stdout is not None
        self._stdout = process.stdout
        self._encoding = encoding
        self._errors = errors
        self._scales = Scales(b"\n")
        self.has_ended = False
        """Whether the server has closed its output, or sent too much."""
        self.why: ToolError | None = None
        """What was too much."""

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message, or the error of another line. Raises EndOfStream after the last."""
        from anyio import EndOfStream
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        try:
            line = await self._stdout.readuntil(b"\n")
            await self._scales.take(line)
        except asyncio.LimitOverrunError:
            raise EndOfStream from self._too_much(f"it has sent a message of more than {MAX_MESSAGE_BYTES:,} bytes")
        except ToolError as error:
            raise EndOfStream from self._too_much(error.message)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.has_ended = True
            raise EndOfStream from None
        try:
            return SessionMessage(
                jsonrpc_message_adapter.validate_json(line.decode(self._encoding, self._errors), by_name=False)
            )
        except ValueError as error:
            return _answer_to(line) or error

    def _too_much(self, why: str) -> ToolError:
        logger.warning("a message of an MCP server is not read: %s", why)
        self.has_ended, self.why = True, ToolError(why, code="mcp_lost", retryable=True)
        return self.why

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return await self.receive()

    async def aclose(self) -> None:
        """Nothing is kept: the process has an end of its own."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _answer_to(line: bytes) -> SessionMessage | None:
    """Return an error for a call whose answer is not valid.

    It would wait for another one. None for lines that are no answer.
    """
    from mcp.shared.message import SessionMessage
    from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError

    try:
        given = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(given, dict) or "method" in given or type(number := given.get("id")) is not int:
        return None
    data = ErrorData(code=INTERNAL_ERROR, message="its answer is not valid")
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=number, error=data))


class _Writer:
    """Messages to the server."""

    def __init__(self, process: asyncio.subprocess.Process, encoding: str, errors: str) -> None:
        assert process.stdin is not None
        self._process = process
        self._stdin = process.stdin
        self._encoding = encoding
        self._errors = errors
        self._n_waiting = 0

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message. Raises BrokenResourceError where the server is gone; one that reads nothing is killed."""
        from anyio import BrokenResourceError

        if self._n_waiting >= MAX_UNREAD:
            logger.warning("the MCP server %d reads nothing: it is killed", self._process.pid)
            _signal(self._process, self._process.kill, "SIGKILL")
            raise BrokenResourceError
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        self._n_waiting += 1
        try:
            self._stdin.write(f"{text}\n".encode(self._encoding, self._errors))
            await self._stdin.drain()
        except (OSError, RuntimeError):
            raise BrokenResourceError from None
        finally:
            self._n_waiting -= 1

    async def aclose(self) -> None:
        """Tell the server that nothing more comes."""
        with suppress(OSError, RuntimeError):
            self._stdin.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _end_at_once(starting: asyncio.Future[asyncio.subprocess.Process]) -> None:
    """Kill a server that has started after it was given up."""
    if not starting.cancelled() and starting.exception() is None:
        process = starting.result()
        _signal(process, process.kill, "SIGKILL")
        _close_transport(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the server as the protocol says: close its input, wait, tell it to end, wait, kill it."""
    assert process.stdin is not None
    with suppress(OSError, RuntimeError):
        process.stdin.close()
    if not await _has_ended(process):
        _signal(process, process.terminate, "SIGTERM")
        if not await _has_ended(process):
            logger.warning("the MCP server %d does not end: it is killed", process.pid)
            _signal(process, process.kill, "SIGKILL")
            await _has_ended(process)
    # What it has started, and left behind.
    _signal(process, lambda: None, "SIGKILL")
    _close_transport(process)


def _close_transport(process: asyncio.subprocess.Process) -> None:
    # A descendant that holds the pipe would keep it open.
    transport: Any = getattr(process, "_transport", None)
    if transport is not None:
        with suppress(PermissionError):
            transport.close()


async def _has_ended(process: asyncio.subprocess.Process) -> bool:
    # Not `wait`: that also waits for whatever has inherited the pipes.
    with suppress(TimeoutError):
        async with asyncio.timeout(EXIT_S):
            while process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(_POLL_S)
    return process.returncode is not None


def _signal(process: asyncio.subprocess.Process, alone: Callable[[], None], name: str) -> None:
    """Send a signal to the server and what it has started."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            alone()
        else:
            os.killpg(process.pid, signal.Signals[name])
