"""One running call of a remote function: what its server may report and ask meanwhile, and how long it may take."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from realtime.errors import ToolError
from realtime.tool.context import ToolContext
from realtime.tool.mcp.gate import Pace
from realtime.tool.mcp.words import plain
from realtime.tool.running import TimeLimit, standing_still

MAX_QUESTIONS = 10
"""Questions to the user in one call, and to a language model; with the next one the call has failed."""
REPORTS_PER_S = 10.0
"""Reports of progress that are passed on in a second."""
BURST = 20
"""Reports that may come at once."""

OnElicit = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any] | None]]
"""Answers a server's question where no user can be asked: message and schema in, the content or None (declined) out."""


class RemoteCall:
    """A call that waits for its server. `fail` ends it from outside."""

    def __init__(self, server: str, context: ToolContext[Any] | None, timeout_s: float | None) -> None:
        self.server = server
        self.context = context
        self._timeout_s = timeout_s
        self._limit: TimeLimit | None = None
        self._failure: str | None = None
        self._asked: Counter[str] = Counter()
        self._pace = Pace(REPORTS_PER_S, BURST)
        self._asking: set[asyncio.Future[dict[str, Any] | None]] = set()
        self._is_over = False
        self.is_given_up = False
        """Whether it has ended while the server still works for it."""

    @property
    def call_id(self) -> str:
        """Id of the voice call that it belongs to; "" outside of one."""
        return "" if self.context is None else self.context.call_id

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Make it the call that the SDK sends within the block: what the server asks in its stream comes back to it."""
        token = _CALL.set(self)
        try:
            yield
        finally:
            _CALL.reset(token)
            self._is_over = True
            for asking in self._asking:
                asking.cancel()

    async def within_limit(self, work: Awaitable[Any]) -> Any:
        """Wait for `work`, at most as long as the call may take. Raises ToolError when the time is up."""
        self._limit = limit = TimeLimit(self._timeout_s)
        try:
            async with limit.running():
                result = await work
            if self._failure is None:
                return result
            raise TimeoutError
        except TimeoutError:
            if self._failure is not None:
                raise ToolError(self._failure, code="mcp_refused") from None
            if not limit.is_up:
                raise
            text = f"the MCP server {self.server!r} gave no result within {self._timeout_s or 0:g} s"
            raise ToolError(text, code="mcp_timeout", retryable=True) from None

    def fail(self, why: str) -> None:
        """End the call with an error."""
        self._failure = why
        if self._limit is not None:
            self._limit.end()

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Pass on what the server says of its progress; a flood is thinned out."""
        done = f"{progress:g} of {total:g}" if total else f"{progress:g}"
        self.note(f"{message} ({done})" if message else done)

    def note(self, text: str) -> None:
        """Tell the listeners of the call; a flood is thinned out."""
        if self.context is not None and not self._is_over and self._pace.takes():
            self.context.progress(plain(text))

    async def ask(self, message: str, schema: Mapping[str, Any], otherwise: OnElicit | None) -> dict[str, Any] | None:
        """Ask the user of the call, else `otherwise`; return the answers, None if they are refused.

        The call's time stands still meanwhile. Raises TimeoutError where no answer comes or the call ends meanwhile,
        ToolError where the server has asked too often.
        """
        self.count("questions")
        # The SDK waits here in a task of its own, which does not end with the call.
        asking = asyncio.ensure_future(self._ask(message, schema, otherwise))
        self._asking.add(asking)
        try:
            with standing_still(self._limit):
                await asyncio.wait({asking})
        finally:
            self._asking.discard(asking)
            asking.cancel()
        if asking.cancelled():
            raise TimeoutError
        return asking.result()

    def count(self, what: str) -> None:
        """Count a question of the server. Raises ToolError, and ends the call, where there are too many."""
        self._asked[what] += 1
        if self._asked[what] > MAX_QUESTIONS:
            why = f"the MCP server {self.server!r} has asked more than {MAX_QUESTIONS} {what} in one call"
            self.fail(why)
            raise ToolError(why, code="mcp_refused")

    async def _ask(self, message: str, schema: Mapping[str, Any], otherwise: OnElicit | None) -> dict[str, Any] | None:
        if self.context is not None and self.context.may_elicit:
            return await self.context.elicit(message, schema, source=self.server)
        return None if otherwise is None else await otherwise(message, {**schema})


_CALL: ContextVar[RemoteCall | None] = ContextVar("mcp_call", default=None)


def current_call() -> RemoteCall | None:
    """Return the call whose stream this belongs to; None where the transport does not tell."""
    return _CALL.get()
