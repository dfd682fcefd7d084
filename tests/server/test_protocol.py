"""The short way between socket and application: nothing is lost, reordered or let through that the library bars."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI, WebSocket
from starlette.websockets import WebSocketDisconnect

from realtime.server.calls import Calls
from realtime.server.protocol import MAX_UNREAD_MESSAGES, VoiceSocketProtocol
from realtime.server.settings import ServerSettings
from realtime.server.sink import EXTENSION
from realtime.websocket import BINARY, TEXT, client_frame
from tests.server.harness import Place, serving_app, settled

LARGE = 100_000


class Application:
    """Takes messages by ASGI, or inside the read callback where `direct`; answers each with the same message."""

    def __init__(self, *, direct: bool = False) -> None:
        self.direct = direct
        self.got: list[str | bytes] = []
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
                    return
                text = message.get("text")
                self.got.append(text if text is not None else message["bytes"])
                await websocket.send({**message, "type": "websocket.send"})
        except WebSocketDisconnect:
            return

    def take_at_once(self, message: str | bytes) -> bool:
        if message == "by ASGI":
            return False
        self.got.append(message)
        assert self.protocol is not None
        return self.protocol.write_now(message)


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
        head = (
            "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        writer.write(head.encode())
        await settled(lambda: application.protocol is not None)
        early, late = client_frame(TEXT, b"early"), client_frame(BINARY, b"late")
        writer.write(early + late[:3])
        await settled(lambda: application.protocol is not None and application.protocol.queue.qsize() == 2)
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


async def test_an_application_that_does_not_read_stops_the_socket_and_gets_everything_later() -> None:
    application = Application()
    sent = [f"{number}" + "x" * 2_000 for number in range(3_000)]
    async with served(application) as place, place.client("/ws") as client:
        await settled(lambda: application.protocol is not None)
        assert application.protocol is not None
        application.reading.clear()
        sending = asyncio.create_task(_send_all(client.connection.send, sent))
        await settled(lambda: application.protocol is not None and application.protocol.read_paused)
        assert application.protocol.queue.qsize() >= MAX_UNREAD_MESSAGES
        application.reading.set()
        answers = [await client.connection.recv() for _ in sent]
        await sending
    assert answers == sent


async def _send_all(send: object, messages: list[str]) -> None:
    assert callable(send)
    for message in messages:
        await send(message)


async def test_nothing_is_written_on_a_closed_socket() -> None:
    application = Application(direct=True)
    async with served(application) as place:
        async with place.client("/ws") as client:
            await client.connection.send("hello")
            await client.connection.recv()
        assert application.protocol is not None
        await settled(lambda: application.protocol is not None and application.protocol.transport.is_closing())
        assert not application.protocol.write_now("gone")
