"""The short way between socket and application: nothing is lost, reordered or let through that the library bars."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI, WebSocket
from starlette.websockets import WebSocketDisconnect
from websockets.asyncio.client import ClientConnection

from realtime.server.calls import Calls
from realtime.server.settings import LONGEST_MESSAGE_BYTES, ServerSettings
from realtime.server.sink import EXTENSION
from realtime.server.websocket_protocol import MAX_UNREAD_MESSAGES, VoiceSocketProtocol
from realtime.websocket import BINARY, TEXT, client_frame, server_frame
from tests.real_loop import settled
from tests.server.harness import Place, serving_app, ticking
from tests.server.test_http_guard import UPGRADE
from tests.volumes import HANG_S

LARGE = 100_000


CONTINUATION, CLOSE, PING, PONG = 0, 8, 9, 10


def fragment(kind: int, payload: bytes) -> bytes:
    """A frame with more to come."""
    frame = client_frame(kind, payload)
    return bytes((frame[0] & 0x7F,)) + frame[1:]


@asynccontextmanager
async def wire(place: Place, *, receive_bytes: int = 65_536) -> AsyncIterator[socket.socket]:
    """A bare WebSocket behind its handshake, of which nothing is read unless the test reads it."""
    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        client.setblocking(False)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        await loop.sock_connect(client, ("127.0.0.1", urlsplit(place.url).port))
        await loop.sock_sendall(client, f"GET /ws HTTP/1.1\r\n{UPGRADE}\r\n".encode())
        await loop.sock_recv(client, 4_096)
        yield client


class Application:
    """Takes messages by ASGI, or inside the read callback where `direct`; answers each with the same message."""

    def __init__(self, *, direct: bool = False) -> None:
        self.direct = direct
        self.got: list[str | bytes] = []
        self.closed_with: int | None = None
        self.protocol: VoiceSocketProtocol | None = None
        self.accepting, self.reading = asyncio.Event(), asyncio.Event()
        self.accepting.set()
        self.reading.set()
        self.app = FastAPI()
        self.app.add_api_websocket_route("/ws", self.serve)

    async def serve(self, websocket: WebSocket) -> None:
        self.protocol = websocket.scope["extensions"][EXTENSION]
        await self.accepting.wait()
        await websocket.accept()
        if self.direct:
            self.protocol.on_message = self.take_at_once
        try:
            while True:
                await self.reading.wait()
                message = await websocket.receive()
                if message["type"] == "websocket.disconnect":
                    self.closed_with = message["code"]
                    return
                text = message.get("text")
                self.got.append(text if text is not None else message["bytes"])
                await websocket.send({**message, "type": "websocket.send"})
        except WebSocketDisconnect:
            return

    def take_at_once(self, message: str | bytes) -> bool:
        if message == "by ASGI":
            return False
        if message == "a fault":
            raise ValueError(message)
        self.got.append(message)
        assert self.protocol is not None
        return self.protocol.write_now(message)

    async def opened(self, *, direct: bool = False) -> VoiceSocketProtocol:
        """Its socket, once it has one, or once it takes messages inside the read callback."""
        await settled(lambda: self.protocol is not None and (not direct or self.protocol.on_message is not None))
        assert self.protocol is not None
        return self.protocol


@asynccontextmanager
async def served(application: Application) -> AsyncIterator[Place]:
    # No calls are made here, but a server that stops asks for them.
    application.app.state.calls = Calls(max_per_address=1, max_total=1)
    application.app.state.settings = ServerSettings()
    async with serving_app(application.app) as place:
        yield place


@pytest.mark.parametrize("direct", [False, True])
async def test_messages_of_every_size_and_kind_arrive_in_order_both_ways(direct: bool) -> None:
    application = Application(direct=direct)
    sent: list[str | bytes] = ["", b"", "x" * 125, b"y" * 126, "by ASGI", "z" * 65_535, b"w" * 65_536, "v" * LARGE, "ä"]
    async with served(application) as place, place.client("/ws") as client:
        for message in sent * 5:
            await client.connection.send(message)
        answers = [await client.connection.recv() for _ in sent * 5]
    assert answers == sent * 5
    assert application.got.count("by ASGI") == 5
    if not direct:
        assert application.got == sent * 5


async def test_fragments_pings_and_whole_messages_mix() -> None:
    application = Application()
    async with served(application) as place, place.client("/ws") as client:
        await client.connection.send("before")
        await client.connection.send(["in ", "three ", "parts"])
        await (await client.connection.ping())
        await client.connection.send("behind")
        assert [await client.connection.recv() for _ in range(3)] == ["before", "in three parts", "behind"]


async def test_frames_that_come_before_the_socket_is_accepted_are_read() -> None:
    application = Application()
    application.accepting.clear()
    async with served(application) as place:
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(place.url).port)
        writer.write(f"GET /ws HTTP/1.1\r\n{UPGRADE}\r\n".encode())
        protocol = await application.opened()
        early, late = client_frame(TEXT, b"early"), client_frame(BINARY, b"late")
        writer.write(early + late[:3])
        await settled(lambda: protocol.queue.qsize() == 2)
        application.accepting.set()
        await reader.readuntil(b"\r\n\r\n")
        writer.write(late[3:])
        await settled(lambda: len(application.got) == 2)
        assert application.got == ["early", b"late"]
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("direct", [False, True])
async def test_text_that_is_not_utf8_closes_the_socket(direct: bool) -> None:
    application = Application(direct=direct)
    async with served(application) as place, place.client("/ws") as client:
        await client.connection.send("fine")
        await client.connection.recv()
        client.connection.transport.write(client_frame(TEXT, b"\xff\xfe"))
        client.connection.transport.write(client_frame(TEXT, b"too late"))
        assert (await client.closed())[0] == 1007
    assert application.got == ["fine"]


@pytest.mark.parametrize("at_once", [True, False], ids=["a burst", "one after the other"])
async def test_an_application_that_does_not_read_stops_the_socket_and_gets_everything_later(at_once: bool) -> None:
    if at_once:
        ticking()
    application = Application()
    sent = [str(number) + ("" if at_once else "x" * 2_000) for number in range(400 if at_once else 3_000)]

    async def send(client: ClientConnection) -> None:
        if at_once:
            client.transport.write(b"".join(client_frame(TEXT, message.encode()) for message in sent))
            return
        for message in sent:
            await client.send(message)

    async with served(application) as place, place.client("/ws") as client:
        protocol = await application.opened()
        application.reading.clear()
        sending = asyncio.create_task(send(client.connection))
        await settled(lambda: protocol.read_paused)
        for _ in sent if at_once else ():
            await asyncio.sleep(0)
        n_waiting = protocol.queue.qsize()
        assert n_waiting <= MAX_UNREAD_MESSAGES + 1 if at_once else n_waiting >= MAX_UNREAD_MESSAGES
        application.reading.set()
        answers = [await client.connection.recv() for _ in sent]
        await sending
    assert answers == sent


async def test_nothing_is_written_on_a_closed_socket() -> None:
    application = Application(direct=True)
    async with served(application) as place:
        async with place.client("/ws") as client:
            await client.connection.send("hello")
            await client.connection.recv()
        protocol = await application.opened()
        await settled(protocol.transport.is_closing)
        assert not protocol.write_now("gone")


async def test_a_message_in_ever_more_fragments_takes_no_more_memory_than_its_length() -> None:
    application = Application()
    async with served(application) as place, wire(place) as client:
        send = asyncio.get_running_loop().sock_sendall
        await send(
            client, fragment(TEXT, b"begins") + (fragment(CONTINUATION, b"") + fragment(CONTINUATION, b".")) * 500
        )
        await send(client, client_frame(PING, b"all is read"))
        assert await asyncio.get_running_loop().sock_recv(client, 4_096) == server_frame(PONG, b"all is read")
        assert len((await application.opened()).frames) <= 1
        await send(client, client_frame(CONTINUATION, b"ends"))
        await settled(lambda: bool(application.got))
    assert application.got == ["begins" + "." * 500 + "ends"]


async def test_a_message_in_fragments_that_is_longer_than_any_endpoint_takes_is_not_kept() -> None:
    application = Application()
    application.reading.set()
    half = b"x" * (LONGEST_MESSAGE_BYTES // 2 + 1)
    async with served(application) as place, wire(place) as client:
        for frame in (fragment(TEXT, half), *[fragment(CONTINUATION, half)] * 3, client_frame(CONTINUATION, half)):
            await asyncio.get_running_loop().sock_sendall(client, frame)
        await settled(lambda: bool(application.got), 6 * HANG_S)
    assert application.got == ["\0" * (LONGEST_MESSAGE_BYTES + 1)], "too long all the same"


async def test_pings_of_a_client_that_does_not_read_fill_no_memory_and_the_latest_is_answered() -> None:
    application = Application()
    loop = asyncio.get_running_loop()
    async with served(application) as place, wire(place, receive_bytes=4_096) as client:
        protocol = await application.opened()
        transport = protocol.transport
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
        pings = [b"%0125d" % number for number in range(3_000)]
        await loop.sock_sendall(client, b"".join(client_frame(PING, one) for one in pings))
        await loop.sock_sendall(client, client_frame(TEXT, b"behind"))
        await settled(lambda: application.got == ["behind"])
        assert transport.get_write_buffer_size() < 100_000
        answers = b""
        async with asyncio.timeout(HANG_S):
            while server_frame(PONG, pings[-1]) not in answers:
                answers += await loop.sock_recv(client, 65_536)


async def test_a_client_that_is_gone_without_reading_frees_its_socket_though_more_of_its_burst_waits() -> None:
    ticking()
    application = Application()
    burst = b"".join(client_frame(TEXT, b"x" * 2_000) + client_frame(PING, b"") for _ in range(3_000))
    async with served(application) as place:
        async with wire(place, receive_bytes=4_096) as client:
            sending = asyncio.create_task(asyncio.get_running_loop().sock_sendall(client, burst))
            protocol = await application.opened()
            await settled(lambda: protocol._full)
            sending.cancel()
            await asyncio.wait([sending])
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await settled(lambda: not place.server.server_state.connections)
        await settled(lambda: not place.server.server_state.tasks)


@pytest.mark.parametrize("close", [client_frame(CLOSE, struct.pack("!H", 1000)), b""], ids=["closed", "gone"])
async def test_a_burst_is_heard_to_its_end_and_how_its_client_closed_is_known_though_it_waited_for_nothing(
    close: bytes,
) -> None:
    ticking()
    application = Application(direct=True)
    async with served(application) as place:
        async with wire(place) as client:
            protocol = await application.opened(direct=True)
            protocol.on_message = lambda message: application.got.append(message) is None
            burst = b"".join(client_frame(TEXT, b"%d" % number) for number in range(400))
            await asyncio.get_running_loop().sock_sendall(client, burst + close)
        await settled(lambda: application.closed_with is not None)
    assert application.got == [str(number) for number in range(400)]
    assert (application.closed_with == 1000) is bool(close)


async def test_a_fault_behind_a_burst_closes_its_socket_and_leaves_nothing_of_it() -> None:
    ticking()
    application = Application(direct=True)
    async with served(application) as place, wire(place) as client:
        await application.opened(direct=True)
        burst = [client_frame(TEXT, b"%d" % number) for number in range(20)]
        await asyncio.get_running_loop().sock_sendall(
            client, b"".join([*burst, client_frame(TEXT, b"a fault"), *burst])
        )
        await settled(lambda: not place.server.server_state.connections and not place.server.server_state.tasks)
    assert application.got == [str(number) for number in range(20)]


async def test_a_closed_socket_keeps_no_long_message_that_still_comes_in() -> None:
    application = Application()
    async with served(application) as place, wire(place) as client:
        protocol = await application.opened()
        sent = client_frame(BINARY, bytes(LONGEST_MESSAGE_BYTES))
        await asyncio.get_running_loop().sock_sendall(client, sent[: len(sent) // 2])
        cutter = protocol._cutter
        assert cutter is not None
        await settled(lambda: cutter.kept_long_bytes > 1_000_000)
        await protocol.send({"type": "websocket.close", "code": 1008})
        assert cutter.kept_long_bytes < 100
        await asyncio.get_running_loop().sock_sendall(client, sent[len(sent) // 2 : -1])
        assert cutter.kept_long_bytes < 100
