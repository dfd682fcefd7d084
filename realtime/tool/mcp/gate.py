"""What comes in from a server: paced, bounded and mended, before the SDK reads it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from realtime.tool.mcp.schema import fit_tools

if TYPE_CHECKING:
    from contextvars import Context

    from mcp.client._transport import ReadStream
    from mcp.shared.message import SessionMessage

MAX_MESSAGE_BYTES = 4_000_000
"""Bytes of one message of a server."""
MESSAGES_PER_S = 200.0
"""Messages of one server that are read in a second; then it has to wait."""
BURST = 1_000
"""Messages that may come at once."""


class Pace:
    """Lets `burst` pass at once, then `per_s` in each second."""

    def __init__(self, per_s: float, burst: int) -> None:
        self._per_s = per_s
        self._burst = burst
        self._left = float(burst)
        self._at: float | None = None

    def wait_s(self) -> float:
        """Take one; return how many seconds it has to wait."""
        now = asyncio.get_running_loop().time()
        if self._at is not None:
            self._left = min(self._burst, self._left + (now - self._at) * self._per_s)
        self._at = now
        self._left -= 1
        return max(0.0, -self._left / self._per_s)

    @property
    def is_behind(self) -> bool:
        """Whether more has come than may pass."""
        return self._left < 0

    def takes(self) -> bool:
        """Take one if there is one."""
        if self.wait_s() > 0:
            self._left += 1
            return False
        return True


class Gate:
    """The read stream of a connection.

    A server that floods is read slowly, so that calls go on. Its log messages are not used and end here. `on_end`
    is called when nothing comes any more.
    """

    def __init__(self, stream: ReadStream[SessionMessage | Exception], on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._on_end = on_end
        self._pace = Pace(MESSAGES_PER_S, BURST)
        self._clock = asyncio.get_running_loop().time
        self.heard_at = self._clock()
        """When the server has said something last."""

    @property
    def is_flooded(self) -> bool:
        """Whether the server has sent more than is read: what it says now is heard late."""
        return self._pace.is_behind

    @property
    def last_context(self) -> Context | None:
        """The context of the last message, where the transport knows it."""
        context: Context | None = getattr(self._stream, "last_context", None)
        return context

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message. Raises EndOfStream or ClosedResourceError of anyio after the last."""
        while True:
            if (wait_s := self._pace.wait_s()) > 0:
                await asyncio.sleep(wait_s)
            try:
                item = await self._stream.receive()
            except BaseException:
                self._on_end()
                raise
            self.heard_at = self._clock()
            if not isinstance(item, Exception):
                message: Any = item.message
                if getattr(message, "method", None) == "notifications/message":
                    continue
                result = getattr(message, "result", None)
                if isinstance(result, dict) and isinstance(tools := result.get("tools"), list):
                    result["tools"] = fit_tools(tools)
            return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        from anyio import EndOfStream

        try:
            return await self.receive()
        except EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Read no more."""
        self._on_end()
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
