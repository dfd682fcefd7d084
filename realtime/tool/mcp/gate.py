"""What comes in from a server: paced, bounded and mended, before the SDK reads it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from realtime.errors import ToolError
from realtime.tool.mcp.schema import fit_tools

if TYPE_CHECKING:
    from contextvars import Context

    from mcp.client._transport import ReadStream
    from mcp.shared.message import SessionMessage

MAX_MESSAGE_BYTES = 4_000_000
"""Bytes of one message of a server."""
MAX_MESSAGE_PARTS = 100_000
"""Lists, objects and lines of one message: to read them takes time in which no call is heard."""
PART_BYTES = 20
"""Bytes that take as long to read as a part."""
LINE_BYTES = 200
"""Bytes that take as long to read as a line."""
BYTES_PER_S = 2_000_000.0
"""Bytes of one server that are read in a second; parts and lines count for so many."""
BURST_BYTES = 8_000_000
"""Bytes that may come at once."""
MESSAGES_PER_S = 200.0
"""Messages of one server that are read in a second; then it has to wait."""
BURST = 500
"""Messages that may come at once."""
REQUESTS_PER_S = 50.0
"""Of these, what the server asks: each is a task here, and an answer."""
BURST_REQUESTS = 100
"""Requests that may come at once."""
MAX_BLOCKS = 1_000
"""Blocks of content of one result, and messages for a language model."""
MAX_ID_CHARS = 200
"""A request with a longer id is dropped: its answer would have it, too."""


class Pace:
    """Lets `burst` pass at once, then `per_s` in each second."""

    def __init__(self, per_s: float, burst: int) -> None:
        self._per_s = per_s
        self._burst = burst
        self._left = float(burst)
        self._at: float | None = None

    def wait_s(self, n: int = 1) -> float:
        """Take `n`; return how many seconds they have to wait."""
        now = asyncio.get_running_loop().time()
        if self._at is not None:
            self._left = min(self._burst, self._left + (now - self._at) * self._per_s)
        self._at = now
        self._left -= n
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


class Scales:
    """Weighs what a server sends, piece by piece, before it is read.

    `separators`: what stands between two messages; without any, all is one.
    """

    def __init__(self, *separators: bytes) -> None:
        self._separators = separators
        self._n_bytes = self._n_parts = 0
        self._pace = Pace(BYTES_PER_S, BURST_BYTES)

    async def take(self, piece: bytes) -> None:
        """Wait until the piece may be read. Raises ToolError where its message is too large."""
        end = max((piece.rfind(one) for one in self._separators), default=-1)
        # The start of the piece is the end of a message that began before it.
        weight = self._check(piece[: end + 1])
        if end >= 0:
            self._n_bytes = self._n_parts = 0
        weight += self._check(piece[end + 1 :])
        if (wait_s := self._pace.wait_s(weight)) > 0:
            await asyncio.sleep(wait_s)

    def _check(self, piece: bytes) -> int:
        """Add to the message, and return the weight."""
        n_parts = piece.count(b"{") + piece.count(b"[")
        n_lines = piece.count(b"\n")
        self._n_bytes += len(piece)
        self._n_parts += n_parts + n_lines
        if self._n_bytes > MAX_MESSAGE_BYTES:
            raise ToolError(f"it has sent a message of more than {MAX_MESSAGE_BYTES:,} bytes", code="mcp_invalid")
        if self._n_parts > MAX_MESSAGE_PARTS:
            raise ToolError(f"it has sent a message of more than {MAX_MESSAGE_PARTS:,} parts", code="mcp_invalid")
        return PART_BYTES * n_parts + LINE_BYTES * n_lines + len(piece)


class Gate:
    """The read stream of a connection.

    A server that floods is read slowly, so that calls go on. Its log messages are not used and end here. `on_end`
    is called when nothing comes any more.
    """

    def __init__(self, stream: ReadStream[SessionMessage | Exception], on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._on_end = on_end
        self._pace = Pace(MESSAGES_PER_S, BURST)
        self._pace_of_requests = Pace(REQUESTS_PER_S, BURST_REQUESTS)
        self._clock = asyncio.get_running_loop().time
        self.heard_at = self._clock()
        """When the server has said something last."""
        self.why: ToolError | None = None
        """Why no more of it is read."""

    @property
    def is_flooded(self) -> bool:
        """Whether the server has sent more than is read: what it says now is heard late."""
        return self._pace.is_behind or self._pace_of_requests.is_behind

    @property
    def last_context(self) -> Context | None:
        """The context of the last message, where the transport knows it."""
        context: Context | None = getattr(self._stream, "last_context", None)
        return context

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message. Raises EndOfStream or ClosedResourceError of anyio after the last."""
        while True:
            # Also without a wait: whatever is there already must not keep the loop from others.
            await asyncio.sleep(self._pace.wait_s())
            try:
                item = await self._stream.receive()
            except BaseException as error:
                self.why = error.__cause__ if isinstance(error.__cause__, ToolError) else None
                self._on_end()
                raise
            self.heard_at = self._clock()
            if not isinstance(item, Exception):
                if (message := _fit(item.message)) is None:
                    continue
                item.message = message
                if hasattr(message, "method") and hasattr(message, "id"):
                    await asyncio.sleep(self._pace_of_requests.wait_s())
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


def _fit(message: Any) -> Any:
    """Return a message as the SDK may read it; None for one that is not used."""
    method, result = getattr(message, "method", None), getattr(message, "result", None)
    number = getattr(message, "id", None)
    if method == "notifications/message" or (isinstance(number, str) and len(number) > MAX_ID_CHARS):
        return None
    if isinstance(result, dict):
        if isinstance(tools := result.get("tools"), list):
            result["tools"] = fit_tools(tools)
        if isinstance(content := result.get("content"), list) and len(content) > MAX_BLOCKS:
            left_out = f"[{len(content) - MAX_BLOCKS:,} more blocks are left out]"
            result["content"] = [*content[:MAX_BLOCKS], {"type": "text", "text": left_out}]
    params = getattr(message, "params", None)
    if isinstance(params, dict) and isinstance(asked := params.get("messages"), list) and len(asked) > MAX_BLOCKS:
        params["messages"] = None  # which the SDK refuses
    return message
