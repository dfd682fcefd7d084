"""Handshakes over real sockets: every one gets an answer in time, however it is sent, and the log stays short."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from urllib.parse import urlsplit

import pytest

from realtime.server.runner import TlsFiles
from realtime.server.settings import ServerSettings
from tests.real_loop import settled
from tests.server.gemini_sdk import trusting
from tests.server.harness import Place, serving
from tests.server.steps import in_call, passed
from tests.volumes import HANG_S

UPGRADE = (
    "Host: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
)
QUICK = ServerSettings(handshake_s=0.2, drain_s=0)


class Wire:
    """A bare connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, text: str) -> None:
        self.writer.write(text.encode())

    async def status(self) -> int:
        """The status of the next answer."""
        async with asyncio.timeout(HANG_S):
            return int((await self.reader.readline()).split()[1])

    async def closed(self) -> bytes:
        """Everything up to the end of the connection."""
        async with asyncio.timeout(HANG_S):
            try:
                return await self.reader.read()
            except ConnectionResetError:
                return b""


HEALTH = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n"


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Who warned."""
    return [line.name for line in caplog.records if line.levelno >= logging.WARNING]


GUARD = ["realtime.server.http_guard"]


@asynccontextmanager
async def wire(place: Place) -> AsyncIterator[Wire]:
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(place.url).port)
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()


LATE = {
    "nothing": "",
    "half a line": "GET /ws/user1/session1 HT",
    "all but the end": f"GET /ws/user1/session1 HTTP/1.1\r\n{UPGRADE}",
    "a body": "POST /v1/realtime/client_secrets HTTP/1.1\r\nhost: localhost\r\ncontent-length: 500\r\n\r\n",
    "chunks": "POST /v1/realtime/client_secrets HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n",
}


async def test_what_does_not_come_is_answered_and_closed() -> None:
    async with serving(settings=QUICK) as place:
        for name, sent in LATE.items():
            async with wire(place) as client:
                client.send(sent)
                assert b" 408 " in await client.closed(), name
        async with wire(place) as client:
            client.send(f"{HEALTH}\r\n")
            assert await client.status() == 200
            await client.reader.readuntil(b'{"status":"ok"}')
            client.send("GET /healthz HTTP/1.1\r\nhost: loc")
            assert b" 408 " in await client.closed(), "the second request of a connection has a time limit too"
        await settled(lambda: not place.app.state.connections)


async def test_the_second_request_of_a_connection_may_take_as_long_as_the_first() -> None:
    async with serving(settings=ServerSettings(drain_s=0)) as place:
        place.server.config.timeout_keep_alive = 0.05
        async with wire(place) as client:
            client.send(f"{HEALTH}\r\n")
            assert await client.status() == 200
            await client.reader.readuntil(b'{"status":"ok"}')
            client.send("GET /healthz HTTP/1.1\r\nhost: loc")
            await passed(0.1)
            client.send("alhost\r\n\r\n")
            assert await client.status() == 200


async def test_headers_without_an_end_behind_a_request_whose_answer_takes_long_are_closed() -> None:
    answering = asyncio.Event()
    async with serving(settings=ServerSettings(drain_s=0)) as place:

        @place.app.get("/slow")
        async def slow() -> str:
            await answering.wait()
            return "done"

        place.app.router.routes.insert(0, place.app.router.routes.pop())
        async with wire(place) as client:
            client.send("GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n")
            await settled(lambda: bool(place.server.server_state.tasks))
            client.send("GET /healthz HTTP/1.1\r\n" + "x-more: and more\r\n" * 5_000)
            assert await client.closed() == b""
        answering.set()


async def test_an_answer_and_a_call_may_take_longer_than_a_handshake() -> None:
    async with in_call(settings=ServerSettings(handshake_s=0.05, drain_s=0)) as (place, client):

        @place.app.get("/slow")
        async def slow() -> str:
            await passed(0.2)
            return "done"

        place.app.router.routes.insert(0, place.app.router.routes.pop())
        async with wire(place) as other:
            other.send("GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert await other.status() == 200
        await client.send({"type": "client_text_append", "text": "hello"})
        await client.until("agent_response_done")


CALL = "GET /ws/user1/session1 HTTP/1.1"
TOO_LARGE = {
    "address": ("GET /" + "x" * 9_000 + " HTTP/1.1", UPGRADE, 414),
    "address of a page": ("GET /healthz?" + "x" * 9_000 + " HTTP/1.1", "host: localhost\r\n", 414),
    "one header": (CALL, UPGRADE + "x-large: " + "x" * 9_000 + "\r\n", 431),
    "number of headers": (CALL, UPGRADE + "x: y\r\n" * 200, 431),
    "all headers": (CALL, UPGRADE + ("x-part: " + "x" * 4_000 + "\r\n") * 10, 431),
    "nonsense": ("nonsense", "", 400),
}


@pytest.mark.parametrize(("request_line", "headers", "status"), TOO_LARGE.values(), ids=TOO_LARGE)
async def test_what_is_too_large_for_a_handshake_is_answered_and_told_once(
    request_line: str, headers: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(settings=ServerSettings(drain_s=0)) as place:
        for _ in range(3):
            async with wire(place) as client:
                client.send(f"{request_line}\r\n{headers}\r\n")
                assert await client.status() == status
                assert status == 400 or b"too l" in await client.closed()
    assert len(warnings(caplog)) == 1
    assert status == 400 or warnings(caplog) == GUARD


async def test_an_upgrade_that_is_no_handshake_gets_an_answer(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(settings=ServerSettings(drain_s=0)) as place:
        for request_line, headers in (
            (CALL.replace("GET", "POST"), UPGRADE),
            (CALL, UPGRADE + "content-length: 5\r\n"),
            (CALL, UPGRADE.replace("Version: 13", "Version: 1")),
        ):
            async with wire(place) as client:
                client.send(f"{request_line}\r\n{headers}\r\n")
                assert 400 <= await client.status() < 500
                await client.closed()
        await settled(lambda: not place.app.state.connections)
    assert not [line for line in caplog.records if line.exc_info]


async def test_one_address_has_so_many_connections_and_others_still_come_in(caplog: pytest.LogCaptureFixture) -> None:
    settings = ServerSettings(
        max_calls_per_address=1, max_connections_per_address=2, trust_forwarded=True, handshake_s=5, drain_s=0
    )
    head = HEALTH + "x-forwarded-for: {}\r\n\r\n"
    async with serving(settings=settings) as place, AsyncExitStack() as stack:
        ann = [await stack.enter_async_context(wire(place)) for _ in range(6)]
        for one in ann:
            one.send(head.format("10.0.0.1"))
        answers = [await one.status() for one in ann]
        assert sorted(answers) == [200, 200, 200, 429, 429, 429]
        ben = await stack.enter_async_context(wire(place))
        ben.send(head.format("10.0.0.2"))
        assert await ben.status() == 200
        for one in ann:
            one.writer.close()
        await settled(lambda: len(place.app.state.connections) == 1)
        again = await stack.enter_async_context(wire(place))
        again.send(head.format("10.0.0.1"))
        assert await again.status() == 200
    assert warnings(caplog) == GUARD


async def test_a_proxy_that_keeps_its_connections_open_shuts_no_client_out() -> None:
    settings = ServerSettings(max_calls_per_address=1, max_connections_per_address=1, trust_forwarded=True, drain_s=0)
    async with serving(settings=settings) as place, wire(place) as proxy:
        for _ in range(5):
            proxy.send(f"{HEALTH}x-forwarded-for: 10.0.0.1\r\n\r\n")
            assert await proxy.status() == 200
            await proxy.reader.readuntil(b'{"status":"ok"}')
        proxy.writer.close()
        await settled(lambda: not place.app.state.connections)
        assert place.app.state.connections.enter("a later client", "10.0.0.1") is None


async def test_when_files_run_out_new_clients_are_told_and_the_running_call_can_still_open_some(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with in_call(settings=ServerSettings(drain_s=0)) as (place, client):
        probe = os.open(os.devnull, os.O_RDONLY)
        os.close(probe)
        place.app.state.connections._max_descriptor = probe + 1
        async with AsyncExitStack() as stack:
            crowd = [await stack.enter_async_context(wire(place)) for _ in range(5)]
            assert b" 503 " in await crowd[-1].closed()
            await client.send({"type": "client_text_append", "text": "hello"})
            await client.until("agent_response_done")
    assert warnings(caplog) == GUARD


async def test_without_a_single_free_file_each_new_client_is_told(caplog: pytest.LogCaptureFixture) -> None:
    resource = pytest.importorskip("resource")
    async with serving(settings=ServerSettings(drain_s=0)) as place:
        port = int(place.url.rpartition(":")[2])
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        with ExitStack() as stack:
            crowd = [stack.enter_context(socket.create_connection(("127.0.0.1", port), HANG_S)) for _ in range(3)]
            for one in crowd:
                one.sendall(f"{HEALTH}\r\n".encode())
            probe = os.open(os.devnull, os.O_RDONLY)
            os.close(probe)
            resource.setrlimit(resource.RLIMIT_NOFILE, (probe, before[1]))
            try:
                told = [await asyncio.to_thread(one.recv, 1_000) for one in crowd]
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, before)
        assert [answer.split(b"\r\n")[0] for answer in told] == [b"HTTP/1.1 503 Service Unavailable"] * 3
        assert (await place.get("/healthz")).status == 200
    assert warnings(caplog) == GUARD


async def test_a_burst_at_the_limit_of_files_gets_an_answer_each(caplog: pytest.LogCaptureFixture) -> None:
    """The loop's own listener took all files for those that it refused, and closed the rest without a word."""
    async with serving(settings=ServerSettings(drain_s=0)) as place:
        probe = os.open(os.devnull, os.O_RDONLY)
        os.close(probe)
        place.app.state.connections._max_descriptor = probe - 1
        async with AsyncExitStack() as stack:
            crowd = [await stack.enter_async_context(wire(place)) for _ in range(60)]
            for one in crowd:
                one.send(f"{HEALTH}\r\n")
            told = await asyncio.gather(*(one.closed() for one in crowd))
        assert [answer.split(b"\r\n")[0] for answer in told] == [b"HTTP/1.1 503 Service Unavailable"] * 60
        place.app.state.connections._max_descriptor = None
        assert (await place.get("/healthz")).status == 200
    assert warnings(caplog) == GUARD


async def test_a_socket_on_which_nothing_is_asked_for_is_closed() -> None:
    settings = ServerSettings(first_event_s=0.1, drain_s=0)
    async with serving(settings=settings) as place, place.client() as client:
        assert await client.closed() == (1008, "no call was made on this socket")


async def test_a_tls_handshake_that_does_not_come_is_closed(tls: TlsFiles) -> None:
    async with serving(settings=QUICK, tls=tls) as place:
        async with wire(place) as client:
            assert await client.closed() == b""
        assert (await place.get("/healthz", trusting=trusting(tls))).status == 200


@pytest.mark.parametrize("encrypted", [True, False])
async def test_one_address_has_so_many_connections_before_they_say_anything(
    encrypted: bool, tls: TlsFiles, caplog: pytest.LogCaptureFixture
) -> None:
    settings = ServerSettings(max_calls_per_address=1, max_connections_per_address=2, handshake_s=5, drain_s=0)
    files, trusted = (tls, trusting(tls)) if encrypted else (None, None)
    async with serving(settings=settings, tls=files) as place:
        connections = place.app.state.connections
        async with wire(place), wire(place) as second:
            await settled(lambda: len(connections) == 2)
            assert (await place.get("/healthz", trusting=trusted)).status == 200, "one more has its place"
            await settled(lambda: len(connections) == 2)
            async with wire(place):
                await settled(lambda: len(connections) == 3)
                async with wire(place) as late:
                    told = await late.closed()
                    assert told == b"" if encrypted else b" 429 " in told
            second.send("no TLS at all\r\n\r\n")
            await second.closed()
            await settled(lambda: len(connections) == 1)
        await settled(lambda: not connections)
        assert (await place.get("/healthz", trusting=trusted)).status == 200
    # What is no TLS is no HTTP either.
    assert warnings(caplog) == (GUARD if encrypted else GUARD * 2)
