"""The calls that wait for a server, and for which it asks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from realtime.tool.mcp.remote_call import MAX_QUESTIONS, RemoteCall, current_call

logger = logging.getLogger(__name__)

HOLD_S = 10.0
"""Seconds that a question waits until it is clear whose it is."""
LATE_S = 5.0
"""Seconds in which a server may ask for a given-up call."""


class RunningCalls:
    """The calls that wait for a server.

    Over HTTP a question comes in the stream of its call, and in the protocol of 2026 by each way in the call's answer.
    Before, by stdio, nothing in it tells: so a question waits until calls of one conversation only can have asked it,
    and functions that have asked take turns from then on.
    """

    def __init__(self) -> None:
        self._calls: dict[RemoteCall, str] = {}
        """The function of each."""
        self._given_up: dict[RemoteCall, float] = {}
        """When, of those that the server may still ask for."""
        self._asking: set[str] = set()
        """Functions that have asked, or may have."""
        self._turn = asyncio.Lock()
        self._end = asyncio.Event()
        self._n_held = 0

    @property
    def latest(self) -> RemoteCall | None:
        """The call that has begun last."""
        return next(reversed(self._calls), None)

    @asynccontextmanager
    async def running(self, function: str, call: RemoteCall) -> AsyncIterator[None]:
        """Make it a running call within the block; it may have to wait for its turn."""
        async with AsyncExitStack() as stack:
            if function in self._asking:
                if self._turn.locked():
                    call.note(f"the MCP server {call.server!r} asks one after the other: it waits")
                await stack.enter_async_context(self._turn)
            self._calls[call] = function
            try:
                yield
            finally:
                del self._calls[call]
                if call.is_given_up:
                    self._given_up[call] = asyncio.get_running_loop().time()
                self._end.set()
                self._end = asyncio.Event()

    async def asking(self) -> RemoteCall | None:
        """Return the call that the server asks for now; None where there is none, or it does not become clear.

        No user is asked what concerns another one.
        """
        if (call := current_call()) is not None:
            return call
        may_ask, late = [*self._calls], self._late()
        is_clear = await self._becomes_clear(may_ask, late)
        still = [call for call in may_ask if call in self._calls]
        functions = {self._calls[call] for call in still}
        if len(functions) == 1 or not is_clear:
            self._asking |= functions
        if is_clear:
            return still[-1] if still else None
        for call in still:
            call.note(f"the MCP server {call.server!r} has asked something, not saying for whom: no one was asked")
        logger.warning("an MCP server asks while it works for several conversations: no one was asked")
        return None

    def _late(self) -> list[RemoteCall]:
        now = asyncio.get_running_loop().time()
        self._given_up = {call: at for call, at in self._given_up.items() if now - at < LATE_S}
        return [*self._given_up]

    async def _becomes_clear(self, may_ask: Sequence[RemoteCall], late: Sequence[RemoteCall]) -> bool:
        """Wait until calls of one conversation only can have asked; whether that comes to pass.

        A call that ends with its answer has not asked. One that is given up may have.
        """
        if len({call.call_id for call in (*may_ask, *late)}) <= 1:
            return True
        if self._n_held >= MAX_QUESTIONS:
            return False
        self._n_held += 1
        try:
            async with asyncio.timeout(HOLD_S):
                while True:
                    left = [call for call in (*may_ask, *late) if call in self._calls or call.is_given_up]
                    if len({call.call_id for call in left}) <= 1:
                        return True
                    if any(call.is_given_up for call in left):
                        return False
                    await self._end.wait()
        except TimeoutError:
            return False
        finally:
            self._n_held -= 1
