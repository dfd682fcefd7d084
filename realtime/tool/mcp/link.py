"""One connection to a server. The SDK wants it opened and closed in one task."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from realtime.errors import RealtimeError, ToolError
from realtime.tool.mcp import sdk
from realtime.tool.mcp.answers import Answers, Permits
from realtime.tool.mcp.gate import Gate
from realtime.tool.mcp.remote_call import RemoteCall
from realtime.tool.mcp.running_calls import RunningCalls
from realtime.tool.mcp.schema import MAX_TOOLS
from realtime.tool.mcp.words import plain
from realtime.version import __version__

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.client._transport import TransportStreams
    from mcp.client.client import Client
    from mcp.shared.exceptions import MCPError
    from mcp_types import CallToolResult, Tool

logger = logging.getLogger(__name__)

SUSPECT_S = 5.0
"""Seconds of silence, then a call given up: the server is suspect."""
CHECK_S = 3.0
"""Seconds that a suspect server has for a sign of life."""
END_S = 1.0
"""Seconds to wait for the reason of a lost connection."""
LISTEN_S = 5.0
"""Seconds to wait for a subscription, and between two attempts."""
MAX_PAGES = 50
"""Pages of one list of tools."""

Open = Callable[[], AbstractAsyncContextManager["TransportStreams"]]


class SessionGone(ToolError):
    """The server does not know the connection any more: it has done nothing."""


class Link:
    """A connection to the server called `name`, opened by `run`.

    `on_change` is called when the server says that its tools have changed. `mode` is how the version of the protocol is
    found: `auto`, `legacy` (the handshake of before 2026) or a version.
    """

    def __init__(
        self, name: str, open_streams: Open, permits: Permits, mode: str, dial_s: float, on_change: Callable[[], None]
    ) -> None:
        self._name = name
        self._open = open_streams
        self._permits = permits
        self._mode = mode
        self._dial_s = dial_s
        self._on_change = on_change
        self._client: Client | None = None
        self._is_run = False
        self._dialling: asyncio.Timeout | None = None
        self._settled = asyncio.Event()
        self._over = asyncio.Event()
        self._ended = asyncio.Event()
        self._calls = RunningCalls()
        self.error: Exception | None = None
        """Why it was not opened, or was lost."""
        self.is_suspect = False
        """Whether the server may hang: a call was given up after a long silence, or in a flood."""
        self._gate: Gate | None = None

    @property
    def is_over(self) -> bool:
        """Whether it serves no further call."""
        return self._over.is_set()

    def close(self) -> None:
        """Have `run` close it; one that was not run yet is never opened."""
        self._over.set()
        if not self._is_run:
            self._settled.set()
        elif self._dialling is not None and not self._dialling.expired():
            self._dialling.reschedule(asyncio.get_running_loop().time())

    async def run(self) -> None:
        """Open it and keep it until `close`, or until it is lost; `error` then says why. Cancelling closes it."""
        if self.is_over:
            return
        self._is_run = True
        try:
            await sdk.load()
            async with AsyncExitStack() as stack:
                try:
                    async with asyncio.timeout(self._dial_s) as self._dialling:
                        client = await stack.enter_async_context(self._new_client())
                finally:
                    self._dialling = None
                self._client = client
                self._settled.set()
                async with asyncio.TaskGroup() as group:
                    listener = group.create_task(self._listen(client), name=f"MCP changes {self._name}")
                    await self._over.wait()
                    listener.cancel()
        except Exception as error:
            # The SDK's and the server's: whatever it is, the connection is over, and its calls say so.
            self.error = _first(error)
        finally:
            self._over.set()
            self._settled.set()
            self._ended.set()

    async def opened(self) -> None:
        """Wait until it is open. Raises ToolError where it cannot be opened."""
        await self._settled.wait()
        if self._client is None:
            raise ToolError(
                f"the MCP server {self._name!r} cannot be reached: {_said(self.error)}",
                code="mcp_unreachable",
                retryable=True,
            ) from self.error

    async def over(self) -> None:
        """Wait until it serves no further call. Of one that was open, the end may take longer."""
        await self._over.wait()
        if self._client is None and self._is_run:
            await self._ended.wait()

    async def check(self) -> bool:
        """Return whether the server still answers; if not, it is closed."""
        from mcp_types import METHOD_NOT_FOUND

        client = self._client
        if client is None or self.is_over:
            return False
        try:
            async with asyncio.timeout(CHECK_S):
                if client.session.discover_result is None:
                    await client.session.send_ping()
                else:
                    await client.session.send_discover(client.protocol_version)
        except Exception as error:
            # One that does not know what it is asked answers all the same.
            if getattr(error, "code", None) != METHOD_NOT_FOUND:
                logger.info("the MCP server %s does not answer any more: %s", self._name, type(error).__name__)
                self.close()
        self.is_suspect = False
        return not self.is_over

    async def call(self, name: str, arguments: dict[str, Any], call: RemoteCall) -> CallToolResult:
        """Call a remote function; cancelling tells the server. Raises ToolError with what went wrong."""
        began = asyncio.get_running_loop().time()
        try:
            with call.in_force():
                result: CallToolResult = await self._asking(
                    call.within_limit(self._answer(name, arguments, call)),
                    f"{name} of the MCP server {self._name!r}",
                    if_lost=". Whether it was done is not known",
                )
                return result
        except asyncio.CancelledError:
            self._given_up(began)
            raise
        except ToolError as error:
            if error.code == "mcp_timeout":
                self._given_up(began)
            raise

    async def _answer(self, name: str, arguments: dict[str, Any], call: RemoteCall) -> CallToolResult:
        async with self._calls.running(name, call):
            try:
                return await self._up.call_tool(name, arguments, progress_callback=call.report)
            except asyncio.CancelledError:
                call.is_given_up = True
                raise

    def _given_up(self, began: float) -> None:
        """Note that a call since `began` was given up. That an interruption ends it soon says nothing of the server."""
        gate = self._gate
        if gate is not None:
            silent_s = asyncio.get_running_loop().time() - max(began, gate.heard_at)
            self.is_suspect = self.is_suspect or gate.is_flooded or silent_s >= SUSPECT_S

    async def list_tools(self) -> list[Tool]:
        """Return the server's tools. Raises ToolError, also where that takes longer than to connect may."""
        what = f"the list of tools of the MCP server {self._name!r}"
        try:
            async with asyncio.timeout(self._dial_s):
                return await self._list_tools(what)
        except TimeoutError:
            self.is_suspect = True
            raise ToolError(
                f"{what} did not come within {self._dial_s:g} s", code="mcp_timeout", retryable=True
            ) from None

    async def _list_tools(self, what: str) -> list[Tool]:
        tools: list[Tool] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await self._asking(self._up.list_tools(cursor=cursor), what)
            tools += page.tools
            if page.next_cursor is None or page.next_cursor == cursor or len(tools) >= MAX_TOOLS:
                break
            cursor = page.next_cursor
        return tools[:MAX_TOOLS]

    @property
    def _up(self) -> Client:
        assert self._client is not None, "the link is not open"
        return self._client

    def _new_client(self) -> Client:
        from mcp.client.client import Client
        from mcp_types import Implementation

        return Client(
            self._streams(),
            mode=self._mode,
            cache=None,
            client_info=Implementation(name="realtime", version=__version__),
            message_handler=self._on_message,
            **Answers(self._permits, self._calls).callbacks(),
        )

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[TransportStreams]:
        async with self._open() as (read, write):
            self._gate = Gate(read, self._over.set)
            yield self._gate, write

    async def _on_message(self, message: object) -> None:
        if getattr(message, "method", None) == "notifications/tools/list_changed":
            self._on_change()

    async def _listen(self, client: Client) -> None:
        """Subscribe to changes, which servers of the newer protocol need."""
        from mcp.client.subscriptions import SubscriptionLost
        from mcp.shared.exceptions import MCPError

        tools = client.server_capabilities.tools
        if client.session.discover_result is None or tools is None or not tools.list_changed:
            return
        while True:
            with suppress(MCPError, SubscriptionLost, TimeoutError):
                async with asyncio.timeout(LISTEN_S) as limit, client.listen(tools_list_changed=True) as changes:
                    limit.reschedule(None)
                    async for _ in changes:
                        self._on_change()
            await asyncio.sleep(LISTEN_S)
            # What has changed in between was not told.
            self._on_change()

    async def _asking(self, work: Any, what: str, *, if_lost: str = "") -> Any:
        """Wait for an answer. Raises ToolError: SessionGone, or with what the server says."""
        from mcp.client._input_required import InputRequiredRoundsExceededError
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED
        from pydantic import ValidationError

        try:
            return await work
        except RealtimeError:
            raise
        except MCPError as error:
            was_over = self.is_over
            is_alive = not was_over and await self.check()
            # Servers use the code of a closed connection for errors of their own.
            if was_over or (error.code == CONNECTION_CLOSED and not is_alive):
                raise await self._lost(what, if_lost) from error
            if not is_alive:
                raise SessionGone(f"{what}: {_words(error)}", code="mcp_lost", retryable=True) from error
            raise ToolError(f"{what} was refused: {_words(error)}", code="mcp_refused") from error
        except InputRequiredRoundsExceededError as error:
            raise ToolError(f"{what} has failed: it does not stop asking", code="mcp_refused") from error
        except ValidationError as error:
            wrong = ".".join(str(part) for part in error.errors(include_input=False)[0]["loc"])
            raise ToolError(f"{what}: the answer is not valid at {wrong[:100]!r}", code="mcp_invalid") from error
        except Exception as error:
            # The SDK's: a call may not end by an error of another kind.
            if self.is_over:
                raise await self._lost(what, if_lost) from error
            raise ToolError(f"{what} has failed: {type(error).__name__}", code="mcp_failed") from error

    async def _lost(self, what: str, then: str) -> ToolError:
        self.close()
        known: Exception | None = self._gate.why if self._gate is not None else None
        if known is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(END_S):
                    await self._ended.wait()
            known = self.error
        why = f": {_said(known)}" if known is not None else ""
        text = f"{what} was lost: the connection broke off{why}{then}"
        return ToolError(text, code="mcp_lost", retryable=True)


def _first(error: BaseException) -> Exception:
    """Return the error in the groups that the SDK puts around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, Exception) else ToolError("it was cancelled", code="mcp_lost")


def _words(error: MCPError) -> str:
    """Return what the server says; of what the SDK says itself, the first line: the rest quotes the answer."""
    from mcp_types import PARSE_ERROR

    words = error.message
    if error.code == PARSE_ERROR:
        first, _, why = words.partition("\n")[0].partition(": ")
        words = first if "validation error" in why else f"{first}: {why}"
    return plain(words)[:500]


def _said(error: Exception | None) -> str:
    """Describe why there is no connection: kinds and numbers, no addresses, which may hold keys."""
    match error:
        case None:
            return "it has ended"
        case TimeoutError():
            return "no answer in time"
        case RealtimeError():
            return error.message
        case FileNotFoundError():
            return "there is no such command"
        case OSError():
            return error.strerror or type(error).__name__
        case _:
            words = plain(str(getattr(error, "message", "")).partition("\n")[0])[:200]
            return _of_system(error) or words or type(error).__name__


def _of_system(error: BaseException | None) -> str:
    """Return the cause in the system's words, such as "Connection refused"; "" for none."""
    while error is not None:
        if isinstance(error, socket.gaierror):
            return "its address is not known"
        if isinstance(error, OSError) and error.errno is not None:
            return os.strerror(error.errno)
        error = error.__cause__ or error.__context__
    return ""
