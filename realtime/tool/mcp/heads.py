"""The heads of HTTP answers, within limits: there may be any number of interim ones before an answer.

To read them takes long, and the HTTP client lets nothing else happen meanwhile.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from realtime.errors import ToolError

if TYPE_CHECKING:
    import httpx2

MAX_HEAD_BYTES = 128_000
"""Bytes before the body of an answer."""
_PIECE_BYTES = 4_096
"""Bytes of it that are read at once."""


@dataclass(slots=True)
class _Head:
    n_bytes: int = 0


_HEAD: ContextVar[_Head | None] = ContextVar("mcp_head", default=None)
"""The head that this task reads."""


async def bound_heads(request: httpx2.Request) -> None:
    """Bound the head of the answer to a request: a hook of an HTTP client."""
    request.extensions = {"trace": _note, **request.extensions}


async def _note(name: str, info: dict[str, Any]) -> None:
    """Follow what the HTTP client does for the request."""
    match name.rpartition(".")[0].rpartition(".")[2], name.rpartition(".")[2]:
        case "receive_response_headers", "started":
            _HEAD.set(_Head())
        case "receive_response_headers", _:
            _HEAD.set(None)
        case (("connect_tcp" | "connect_unix_socket" | "start_tls"), "complete"):
            _bound(info["return_value"])


def _bound(stream: Any) -> None:
    """Have a connection read heads in small pieces, and not without end."""
    read = stream.read

    async def read_bounded(max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        head = _HEAD.get()
        if head is None:
            return bytes(await read(max_bytes, timeout))
        piece = bytes(await read(min(max_bytes, _PIECE_BYTES), timeout))
        head.n_bytes += len(piece)
        if head.n_bytes > MAX_HEAD_BYTES:
            raise ToolError(f"more than {MAX_HEAD_BYTES:,} bytes before an answer", code="mcp_lost", retryable=True)
        await asyncio.sleep(0)
        return piece

    stream.read = read_bounded
