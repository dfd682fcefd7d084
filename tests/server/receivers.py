"""HTTP servers that take webhooks, on real sockets: good ones, and those that answer in every wrong way."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.volumes import HANG_S

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Got:
    """One request. `headers` by lower-case name."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Receiver:
    """A receiver at `url`. Its answers come in order, the last one again and again."""

    answers: list[Answer]
    url: str = ""
    got: list[Got] = field(default_factory=list)
    _news: asyncio.Queue[Got] = field(default_factory=asyncio.Queue)

    async def next(self) -> Got:
        """The next request."""
        async with asyncio.timeout(HANG_S):
            return await self._news.get()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
        line, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in lines)}
        got = Got(line, headers, await reader.readexactly(int(headers["content-length"])))
        answer = self.answers[min(len(self.got), len(self.answers) - 1)]
        self.got.append(got)
        self._news.put_nowait(got)
        try:
            await answer(writer)
        except ConnectionError:
            pass
        finally:
            writer.close()


def says(*frames: bytes, repeated: int = 1) -> Answer:
    """Write these bytes and close."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        for _ in range(repeated):
            for frame in frames:
                writer.write(frame)
                await writer.drain()

    return answer


def then_hangs(*frames: bytes) -> Answer:
    """Write these bytes, and nothing more."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        await says(*frames)(writer)
        await asyncio.Event().wait()

    return answer


def status(code: int, *lines: str) -> Answer:
    """Answer with this status and these headers."""
    head = "\r\n".join([f"HTTP/1.1 {code} Whatever", "content-length: 0", *lines])
    return says(f"{head}\r\n\r\n".encode())


@asynccontextmanager
async def receiving(*answers: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    """A receiver on loopback until the block ends."""
    receiver = Receiver([*answers])
    running: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        running.add(asyncio.ensure_future(receiver.take(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    scheme = "http" if tls is None else "https"
    receiver.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/records?key=k3y"
    try:
        yield receiver
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
