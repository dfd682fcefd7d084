"""HTTP to remote agents: where it may lead, how much may come back, and what is mended of it.

A card that was fetched is a stranger's word. It may lead to public addresses, to the host that it came from, and to
hosts that the program names; to an address of a private network only where that host was named. No redirect is
followed and no proxy is used, and what is dialled is the address that was checked.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from realtime.a2a.mending import Note, mended
from realtime.certificates import trusted_certificates
from realtime.errors import ProviderError
from realtime.tool.mcp.hosts import is_public, place_of, send_to

if TYPE_CHECKING:
    import ssl

    import httpx

MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""What one request may bring."""
MAX_EVENT_BYTES = 16 * 1024 * 1024
"""What one event of a stream may hold."""
MAX_DIGITS = 400
"""Whole numbers with more are infinite."""
CONNECT_S = 10.0
"""Seconds for a connection."""


Mend = Callable[[Any], Any]
"""Returns what can be read of the JSON of an answer."""


class Hosts:
    """Where requests may lead: to public addresses, and to those named, each as `HOST[:PORT]`.

    `anywhere`: the program itself has named the addresses. Raises UsageError for a name that is none.
    """

    def __init__(self, named: Iterable[str], *, anywhere: bool = False) -> None:
        self._places = {place_of(one) for one in named}
        self._anywhere = anywhere

    async def addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses of a host. Raises ProviderError for one that is unknown, or not allowed."""
        host = host.strip("[]").rstrip(".").lower()
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise ProviderError(
                f"the host {host[:100]!r} is not known ({type(error).__name__})", code="a2a_unreachable", retryable=True
            ) from None
        addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
        is_named = self._anywhere or bool({(host, None), (host, port)} & self._places)
        if not is_named and not all(map(is_public, addresses)):
            raise ProviderError(
                f"the card leads to {host[:100]!r}, a private address: name it in `allowed_hosts` to allow it",
                code="a2a_host",
            )
        return addresses


def new_client(
    hosts: Hosts,
    *,
    headers: Mapping[str, str],
    timeout_s: float,
    note: Note | None = None,
    verify: ssl.SSLContext | bool = True,
) -> httpx.AsyncClient:
    """Return a client that reaches allowed hosts only.

    With `note`, answers are mended, and it gets a sentence for what is dropped of them.
    """
    import httpx

    class Guarded(httpx.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            url = request.url
            port = url.port or (443 if url.scheme == "https" else 80)
            addresses = await hosts.addresses(url.host, port)
            mend = None if note is None else partial(mended, note=note, is_old=is_old(request.headers))
            request.headers["accept-encoding"] = "identity"
            lost = httpx.ConnectError, httpx.ConnectTimeout
            try:
                return _checked(await send_to(addresses, request, super().handle_async_request, lost), mend)
            except httpx.ConnectError as error:
                raise _unreachable(error) from None
            except httpx.ConnectTimeout:
                raise ProviderError(
                    f"it cannot be reached within {CONNECT_S:g} s", code="a2a_unreachable", retryable=True
                ) from None

    return httpx.AsyncClient(
        transport=Guarded(verify=trusted_certificates() if verify is True else verify),
        headers=dict(headers),
        timeout=httpx.Timeout(timeout_s, connect=CONNECT_S),
        follow_redirects=False,
    )


def is_old(headers: Mapping[str, str]) -> bool:
    """Return whether a request is made in protocol 0.3, by its headers."""
    return headers.get("a2a-version", "").startswith("0.")


def _unreachable(error: Exception) -> ProviderError:
    if "CERTIFICATE" in str(error).upper():
        return ProviderError("its certificate is not trusted, such as one signed by itself", code="a2a_certificate")
    return ProviderError("it cannot be reached", code="a2a_unreachable", retryable=True)


def _checked(response: httpx.Response, mend: Mend | None) -> httpx.Response:
    """Refuse what is no answer; bound and mend the rest."""
    import httpx

    status = response.status_code
    if 300 <= status < 400 and status != 304:
        raise ProviderError("it redirects, and no redirect is followed: give the address itself", code="a2a_redirect")
    if status in (401, 403):
        raise ProviderError(f"it does not let us in ({status}): see `headers`", code="a2a_refused")
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ProviderError("it has packed its answer, though it was told not to", code="a2a_bad_answer")
    inner = response.stream
    assert isinstance(inner, httpx.AsyncByteStream), "an asynchronous transport gives one"
    is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")

    class Mended(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            pieces = mended_events(inner, mend) if is_stream else _mended_whole(inner, mend)
            async for piece in pieces:
                yield piece

        async def aclose(self) -> None:
            assert isinstance(inner, httpx.AsyncByteStream)
            await inner.aclose()

    response.stream = Mended()
    # What is mended may be longer or shorter.
    response.headers.pop("content-length", None)
    return response


async def _mended_whole(chunks: AsyncIterator[bytes] | Any, mend: Mend | None) -> AsyncIterator[bytes]:
    data = bytearray()
    async for chunk in chunks:
        data += chunk
        if len(data) > MAX_ANSWER_BYTES:
            raise ProviderError(f"its answer has more than {MAX_ANSWER_BYTES} bytes", code="a2a_too_large")
    yield _mended_json(bytes(data), mend)


async def mended_events(chunks: AsyncIterator[bytes] | Any, mend: Mend | None) -> AsyncIterator[bytes]:
    """Yield the events of a stream, each mended. Raises ProviderError for more than fits."""
    buffer, total, searched = bytearray(), 0, 0
    async for chunk in chunks:
        total += len(chunk)
        buffer += chunk.replace(b"\r", b"")
        if total > MAX_ANSWER_BYTES or len(buffer) > MAX_EVENT_BYTES:
            raise ProviderError(f"its answer has more than {MAX_ANSWER_BYTES} bytes", code="a2a_too_large")
        while (end := buffer.find(b"\n\n", searched)) >= 0:
            event, searched = bytes(buffer[:end]), 0
            del buffer[: end + 2]
            yield _mended_event(event, mend)
        searched = max(len(buffer) - 1, 0)
    if buffer.strip():
        yield _mended_event(bytes(buffer), mend)


def _mended_event(event: bytes, mend: Mend | None) -> bytes:
    lines = event.split(b"\n")
    data = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
    if not data:
        return event + b"\n\n"
    others = [line for line in lines if not line.startswith(b"data:")]
    return b"\n".join([*others, b"data: " + _mended_json(b"\n".join(data), mend).replace(b"\n", b" ")]) + b"\n\n"


_ESCAPES = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u[dD][89a-fA-F]..|.)", re.S)
"""Escapes in JSON: pairs that are one letter, halves of one, all others."""


def _whole_letter(escape: re.Match[str]) -> str:
    # Half a letter, where a sender has cut its text: the SDK would drop all of it.
    is_half = len(escape[0]) == len("\\ud83d")
    return "\\ufffd" if is_half else escape[0]


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) < MAX_DIGITS else float(digits)


def _mended_json(data: bytes, mend: Mend | None) -> bytes:
    """Return an answer with all that can be read of it; what is no JSON stays as it is."""
    if mend is None:
        return data
    try:
        text = _ESCAPES.sub(_whole_letter, data.decode("utf-8-sig", "replace"))
        found = mend(json.loads(text, parse_int=_number))
    except (ValueError, RecursionError):
        return data
    return json.dumps(found).encode()
