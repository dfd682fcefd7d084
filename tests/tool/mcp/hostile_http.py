"""MCP servers that misbehave over HTTP, in the process of the test: `async with hostile(behaviour) as url`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.tool.mcp.hostile import ACT, ECHO, Json, text

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


class HostileHttp:
    """Answers requests over HTTP/1.1; `act` shows the behaviour."""

    def __init__(self, behaviour: str) -> None:
        self.behaviour = behaviour
        self.methods: list[str] = []
        """What was asked, in order."""
        self.fetched_elsewhere = False
        """Whether the client has followed a redirection to another place."""
        self.n_sessions = 0
        self._sessions: set[str] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take the requests of one connection."""
        try:
            while (request := await self._read(reader)) is not None:
                if not await self._answer(*request, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str], bytes] | None:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode().strip().split("\r\n")
        verb, path, _ = first.split(" ")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return verb, path, headers, await reader.readexactly(int(headers.get("content-length", "0")))

    async def _answer(
        self, verb: str, path: str, headers: dict[str, str], body: bytes, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer a request; False: the connection ends."""
        if path == "/elsewhere":
            self.fetched_elsewhere = True
        if verb != "POST":
            return await self._send(writer, 405 if verb == "GET" else 200, b"")
        request = json.loads(body)
        method = request.get("method", "answer")
        self.methods.append(method)
        if "id" not in request or method == "answer":
            return await self._send(writer, 202, b"")
        session = headers.get("mcp-session-id")
        if session is not None and session not in self._sessions:
            return await self._send(writer, 404, b"")
        match method:
            case "initialize":
                self.n_sessions += 1
                self._sessions.add(f"session-{self.n_sessions}")
                version = request["params"]["protocolVersion"]
                info = {"name": "h", "version": "1"}
                result: Json = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
                return await self._result(writer, request, result, session=f"session-{self.n_sessions}")
            case "tools/list":
                return await self._result(writer, request, {"tools": [ECHO, ACT]})
            case "tools/call" if request["params"]["name"] == "act":
                return await self._act(request, writer)
            case "tools/call":
                return await self._result(writer, request, text(str(request["params"]["arguments"].get("text"))))
            case _:
                error = {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no method"}}
                return await self._send(writer, 200, json.dumps(error).encode(), "application/json")

    async def _act(self, request: Json, writer: asyncio.StreamWriter) -> bool:
        match self.behaviour:
            case "fails":
                return await self._send(writer, 500, b"a long page" * 10_000, "text/html")
            case "wants_login":
                return await self._send(writer, 401, b"")
            case "loses_sessions":
                self._sessions.clear()
                return await self._send(writer, 404, b"")
            case "redirects":
                # Another name of this host is another place.
                port = writer.get_extra_info("sockname")[1]
                place = f"http://localhost:{port}/elsewhere"
                head = f"HTTP/1.1 307 Elsewhere\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n"
                return await self._write(writer, head.encode())
            case "cuts":
                head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"
                return await self._write(writer, head, goes_on=False)
            case "ends_streams":
                # A stream of events that ends without the answer, again and again.
                return await self._write(writer, STREAM + b": nothing\n\n", goes_on=False)
            case "streams_for_ever":
                writer.write(STREAM)
                note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
                while True:
                    await self._write(writer, f"event: message\ndata: {json.dumps(note)}\n\n".encode())
                    await asyncio.sleep(0)
            case "interim_answers":
                # An HTTP client reads on until there is an answer.
                while True:
                    await self._write(writer, b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" * 100)
            case "short_lines":
                writer.write(STREAM)
                while True:
                    await self._write(writer, b"data: x\n" * 1_000)
            case "huge":
                return await self._result(writer, request, text("x" * 10_000_000))
            case "half_json":
                return await self._send(writer, 200, b'{"jsonrpc": "2.0", "id":', "application/json")
            case "never_answers":
                await asyncio.Event().wait()
                return False
            case other:
                raise ValueError(f"there is no behaviour {other}")

    async def _result(
        self, writer: asyncio.StreamWriter, request: Json, result: Any, *, session: str | None = None
    ) -> bool:
        body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()
        return await self._send(writer, 200, body, "application/json", session)

    async def _send(
        self, writer: asyncio.StreamWriter, status: int, body: bytes, kind: str = "", session: str | None = None
    ) -> bool:
        head = f"HTTP/1.1 {status} Whatever\r\ncontent-length: {len(body)}\r\n"
        if kind:
            head += f"content-type: {kind}\r\n"
        if session is not None:
            head += f"mcp-session-id: {session}\r\n"
        return await self._write(writer, head.encode() + b"\r\n" + body)

    async def _write(self, writer: asyncio.StreamWriter, sent: bytes, *, goes_on: bool = True) -> bool:
        writer.write(sent)
        await writer.drain()
        return goes_on


@asynccontextmanager
async def hostile(behaviour: str) -> AsyncIterator[tuple[HostileHttp, str]]:
    """Serve on a free port of loopback; the server and its address."""
    made = HostileHttp(behaviour)
    connections: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        try:
            await made.serve(reader, writer)
        except asyncio.CancelledError:
            writer.close()
        finally:
            connections.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield made, f"http://127.0.0.1:{port}/mcp"
    finally:
        server.close()
        for task in [*connections]:
            task.cancel()
        if connections:
            await asyncio.wait([*connections])
