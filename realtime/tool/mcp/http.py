"""A server that is reached by HTTP: streamable HTTP, or the older server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Literal

from realtime.certificates import trusted_certificates
from realtime.errors import ToolError
from realtime.tool.mcp.answers import Grants
from realtime.tool.mcp.gate import MAX_MESSAGE_BYTES, Scales
from realtime.tool.mcp.heads import bound_heads

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

PIECE_BYTES = 4_096
"""Bytes of an answer that are read at once: a stream may be all short lines."""

HttpTransport = Literal["streamable_http", "sse"]


class HttpGrants(Grants, total=False):
    """What clients over HTTP take besides."""

    auth: httpx2.Auth | None
    """Signs the requests: of httpx2, such as the SDK's OAuth providers."""
    httpx_client_factory: Callable[..., httpx2.AsyncClient] | None
    """Makes the HTTP client; called with `headers`, `timeout` and `auth`."""
    terminate_on_close: bool
    """Whether the session at the server ends with the connection."""


@asynccontextmanager
async def http_streams(
    transport: HttpTransport,
    url: str,
    headers: Mapping[str, str],
    timeout_s: float,
    read_timeout_s: float,
    options: HttpGrants,
) -> AsyncIterator[TransportStreams]:
    """Give the streams to and from the server at `url`.

    An answer of more than `MAX_MESSAGE_BYTES` is an error of its request. `timeout_s` is for each step of a request,
    `read_timeout_s` for the silence of a stream.
    """
    import httpx2
    from mcp.client.sse import sse_client
    from mcp.client.streamable_http import streamable_http_client

    def new_client(
        headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
    ) -> httpx2.AsyncClient:
        make = options.get("httpx_client_factory") or partial(httpx2.AsyncClient, verify=trusted_certificates())
        client: httpx2.AsyncClient = make(headers=headers, timeout=timeout, auth=auth)
        # A small answer that unpacks to a large one would pass the limit.
        client.headers["accept-encoding"] = "identity"
        hooks = client.event_hooks
        client.event_hooks = {
            "request": [*hooks["request"], bound_heads],
            "response": [*hooks["response"], check],
        }
        return client

    sent, auth = {**headers}, options.get("auth")
    check = partial(_check, signs_in=auth is not None)
    if transport == "sse":
        async with sse_client(
            url, sent, timeout_s, read_timeout_s, httpx_client_factory=new_client, auth=auth
        ) as streams:
            yield streams
        return
    async with (
        new_client(sent, httpx2.Timeout(timeout_s, read=read_timeout_s), auth) as client,
        streamable_http_client(
            url,
            http_client=client,
            terminate_on_close=options.get("terminate_on_close", True),
            max_sse_event_size=MAX_MESSAGE_BYTES,
        ) as streams,
    ):
        yield streams


async def _check(response: httpx2.Response, *, signs_in: bool) -> None:
    """Bound and pace an answer, or the events of a stream.

    `signs_in`: whether what follows a refusal is the business of `auth`.
    """
    import httpx2

    if response.status_code in (401, 403) and not signs_in:
        raise ToolError(f"the server does not let us in ({response.status_code}): see `headers`", code="mcp_refused")
    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx2.DecodingError("the server has packed its answer, though it was told not to")
    is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    scales = Scales(*_ENDS_OF_EVENTS) if is_stream else Scales()
    stream = response.stream

    class Weighed(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            assert isinstance(stream, httpx2.AsyncByteStream)
            async for chunk in stream:
                try:
                    await scales.take(chunk)
                except ToolError as error:
                    raise httpx2.StreamError(error.message) from None
                for start in range(0, len(chunk), PIECE_BYTES):
                    yield chunk[start : start + PIECE_BYTES]
                    await asyncio.sleep(0)

        async def aclose(self) -> None:
            assert isinstance(stream, httpx2.AsyncByteStream)
            await stream.aclose()

    response.stream = Weighed()


_ENDS_OF_EVENTS = (b"\n\n", b"\r\n\r\n", b"\r\r")
