"""A real server on loopback, real clients, and a socket made of two queues for the tests in virtual time."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pybase64
from fastapi import FastAPI
from starlette.websockets import WebSocket
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from realtime.agent import RealtimeAgent
from realtime.call.limits import Limits
from realtime.dialects import choose
from realtime.model.scripted import PROFILE, ScriptedModel, echo_bot
from realtime.server.app import create_app
from realtime.server.calls import Calls
from realtime.server.client_socket import ClientSocket
from realtime.server.make_agent import MakeAgent
from realtime.server.runner import Server, TlsFiles, open_socket, uvicorn_config
from realtime.server.settings import ServerSettings
from realtime.server.sink import EXTENSION
from realtime.server.socket_calls import SocketClient
from realtime.server.warming import Warming
from realtime.slices import SLICE_S, slices_of
from tests.volumes import HANG_S

Json = dict[str, Any]
PATIENCE_S = HANG_S
NATIVE = "realtime.v1"
A_TURN = 5
"""Steps that a turn of the loop has time for, by `ticking`."""


def echo_agent() -> RealtimeAgent:
    """Answers every text turn with the same spoken sentence."""
    return RealtimeAgent("Friday", "You are Friday.", ScriptedModel(echo_bot(), profile=PROFILE))


def audio_append(pcm: bytes, **more: Any) -> Json:
    """An audio frame as the documentation prints it."""
    audio = pybase64.b64encode_as_string(pcm)
    return {"type": "client_audio_append", "audio": audio, "format": {"encoding": "pcm16", "sample_rate": 16000}} | more


def create(**config: Any) -> Json:
    """The first frame of a call."""
    return {"type": "client_session_create", "config": config}


# -- over real sockets -------------------------------------------------------------------------------------------------


class Client:
    """One WebSocket client: sends events, notes what it gets."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.events: list[Json] = []

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    async def send(self, *frames: Json | str | bytes) -> None:
        for frame in frames:
            await self.connection.send(json.dumps(frame) if isinstance(frame, dict) else frame)

    async def next(self) -> Json:
        """The next event. Binary frames are noted as the type `binary`."""
        async with asyncio.timeout(PATIENCE_S):
            frame = await self.connection.recv()
        event = json.loads(frame) if isinstance(frame, str) else {"type": "binary", "frame": frame}
        self.events.append(event)
        return event

    async def until(self, kind: str) -> Json:
        """The next event of this type."""
        while True:
            event = await self.next()
            if event["type"] == kind:
                return event

    async def closed(self) -> tuple[int, str]:
        """Read on until the server closes; with which code and reason."""
        try:
            while True:
                await self.next()
        except ConnectionClosed:
            return self.connection.close_code or 0, self.connection.close_reason or ""

    async def make_call(self, **config: Any) -> Json:
        """Make a call; the answer `server_session_created`."""
        await self.send(create(**config))
        created = await self.until("server_session_created")
        await self.until("agent_ready")
        return created


@dataclass(slots=True)
class Answer:
    """An HTTP answer. `headers` by lower-case name."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def _get(url: str, headers: dict[str, str], trusting: ssl.SSLContext | None, method: str = "GET") -> Answer:
    request = urllib.request.Request(url, headers=headers, method=method)
    try:
        got = urllib.request.urlopen(request, timeout=PATIENCE_S, context=trusting)
    except urllib.error.HTTPError as refused:
        got = refused
    with got:
        return Answer(got.status, {name.lower(): value for name, value in got.headers.items()}, got.read())


def begun_calls(calls: Calls) -> list[str]:
    """The ids of the calls that begin from now on."""
    begun: list[str] = []
    calls.on_call.append(lambda session: begun.append(session.call_id))
    return begun


@dataclass(slots=True)
class Place:
    """A running server."""

    app: FastAPI
    server: Server
    url: str

    @property
    def calls(self) -> Calls:
        calls: Calls = self.app.state.calls
        return calls

    async def get(self, path: str, *, trusting: ssl.SSLContext | None = None, **headers: str) -> Answer:
        """What the server answers to GET; `_` in a header's name stands for `-`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await asyncio.to_thread(_get, self.url + path, named, trusting)

    async def delete(self, path: str) -> int:
        """The status of the answer to DELETE."""
        return (await self.answer_to_delete(path)).status

    async def answer_to_delete(self, path: str) -> Answer:
        """What the server answers to DELETE."""
        return await asyncio.to_thread(_get, self.url + path, {}, None, "DELETE")

    @asynccontextmanager
    async def client(
        self, path: str = "/ws/user1/session1", *, subprotocols: Iterable[str] = (NATIVE,), **more: Any
    ) -> AsyncIterator[Client]:
        address = self.url.replace("http", "ws", 1) + path
        offered: Any = list(subprotocols) or None
        # A client that leaves with messages unread would wait ten seconds for the other side's farewell behind them.
        more = {"compression": None, "max_size": None, "max_queue": None, **more}
        async with connect(address, subprotocols=offered, **more) as connection:
            yield Client(connection)


@asynccontextmanager
async def serving_app(app: FastAPI, *, tls: TlsFiles | None = None) -> AsyncIterator[Place]:
    """This application on a free port of loopback, until the block ends."""
    bound = open_socket("127.0.0.1", 0, strict=True, say=lambda _: None)
    started = asyncio.Event()
    server = Server(uvicorn_config(app, tls=tls), on_started=started.set)
    with bound:
        running = asyncio.create_task(server.serve([bound]))
        waiting = asyncio.create_task(started.wait())
        await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            waiting.cancel()
            await running
        try:
            scheme = "http" if tls is None else "https"
            yield Place(app, server, f"{scheme}://127.0.0.1:{bound.getsockname()[1]}")
        finally:
            server.should_exit = True
            await running


WITHOUT_GRACE = ServerSettings(drain_s=0, limits=Limits(grace_s=0))
"""Calls end with their sockets, those of Gemini clients too, which may come back by a handle after they closed."""


@asynccontextmanager
async def serving(
    make_agent: MakeAgent = echo_agent, settings: ServerSettings | None = None, *, tls: TlsFiles | None = None
) -> AsyncIterator[Place]:
    """Our application with these agents. Calls that still run at the end get no time."""
    # Without loading at start: when the parts are ready would decide what a test's voices are recognised as.
    unloaded = Warming(lambda: None, print)
    app = create_app(make_agent, settings or ServerSettings(drain_s=0), warming=unloaded)
    async with serving_app(app, tls=tls) as place:
        yield place


def ticking() -> None:
    """Each look at the stopwatch takes as long as a step does, so that a turn has time for `A_TURN`."""
    ticks = itertools.count()
    slices_of(asyncio.get_running_loop(), lambda: next(ticks) * SLICE_S / A_TURN)


def small_buffers(connection: ClientConnection) -> None:
    """Let the kernel keep little of what this client does not read."""
    connection.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)


# -- in one process, without sockets -----------------------------------------------------------------------------------


class FakeSocket:
    """Both ends of a WebSocket in one process: the server's through ASGI, the client's through its methods."""

    def __init__(
        self,
        make_agent: MakeAgent = echo_agent,
        settings: ServerSettings | None = None,
        *,
        calls: Calls | None = None,
        native: bool = True,
        direct: bool = False,
        user: str = "user1",
        session_id: str = "session1",
        is_developer: bool = False,
    ) -> None:
        self._user, self._session_id, self._is_developer = user, session_id, is_developer
        self.sent: list[Json] = []
        self.closed_with: tuple[int, str] | None = None
        self.writable = asyncio.Event()
        self.writable.set()
        self.unread: asyncio.Queue[Json] = asyncio.Queue()
        self._got = asyncio.Event()
        settings = settings or ServerSettings()
        self.calls = calls or Calls(max_per_address=settings.max_calls_per_address, max_total=settings.max_calls)
        self.on_message: Callable[[str | bytes], bool] | None = None
        scope: Json = {"type": "websocket", "headers": [], "path": "/", "query_string": b"", "subprotocols": []}
        if direct:
            scope["extensions"] = {EXTENSION: self}
        websocket = WebSocket(scope, self.unread.get, self._send)
        self._client_socket = (websocket, make_agent, settings, native)
        self.serving: asyncio.Task[None] | None = None

    async def __aenter__(self) -> FakeSocket:
        websocket, make_agent, settings, native = self._client_socket
        self.unread.put_nowait({"type": "websocket.connect"})
        await websocket.accept()
        handler = ClientSocket(
            websocket,
            choose([NATIVE] if native else [], None, now=asyncio.get_running_loop().time),
            SocketClient(
                user=self._user,
                session_id=self._session_id,
                address="10.0.0.1",
                make_agent=make_agent,
                calls=self.calls,
                settings=settings,
                is_developer=self._is_developer,
            ),
        )
        self.serving = asyncio.create_task(handler.serve())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.hang_up()
        assert self.serving is not None
        await self.serving

    def write_now(self, frame: str | bytes) -> bool:
        """The server's direct way (`realtime.server.sink.DirectSocket`)."""
        if not self.writable.is_set():
            return False
        self._note(frame)
        return True

    def _note(self, frame: str | bytes) -> None:
        self.sent.append(json.loads(frame) if isinstance(frame, str) else {"type": "binary", "frame": frame})
        self._got.set()

    async def _send(self, message: Any) -> None:
        await self.writable.wait()
        if message["type"] == "websocket.send":
            self._note(message["text"] if message.get("text") is not None else message["bytes"])
        elif message["type"] == "websocket.close":
            self.closed_with = (message["code"], message["reason"])
            self.hang_up()

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.sent]

    @property
    def codes(self) -> list[str]:
        """The codes of all errors that the client got."""
        return [event["code"] for event in self.sent if event["type"] == "agent_error"]

    def say(self, *frames: Json | str | bytes) -> None:
        """Frames from the client."""
        for given in frames:
            frame = json.dumps(given) if isinstance(given, dict) else given
            if self.on_message is not None and self.unread.empty() and self.on_message(frame):
                continue
            kind = "bytes" if isinstance(frame, bytes) else "text"
            self.unread.put_nowait({"type": "websocket.receive", kind: frame})

    def hang_up(self) -> None:
        """The client closes."""
        self.unread.put_nowait({"type": "websocket.disconnect", "code": 1000})

    def lose(self) -> None:
        """The socket is lost: no close frame."""
        self.unread.put_nowait({"type": "websocket.disconnect", "code": 1006})

    async def read_on(self) -> None:
        """Wait until the server has read everything."""
        async with asyncio.timeout(600):
            while self.unread.qsize():  # noqa: ASYNC110  (a queue does not tell when it gets empty)
                await asyncio.sleep(0.1)

    async def until(self, kind: str, count: int = 1) -> Json:
        """Wait until the client has got `count` events of this type; the last of them."""
        async with asyncio.timeout(600):
            while self.types.count(kind) < count:
                self._got.clear()
                await self._got.wait()
        return [event for event in self.sent if event["type"] == kind][count - 1]
