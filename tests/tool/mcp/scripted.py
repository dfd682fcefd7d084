"""A server of raw messages in this process: it says what a test has it say, right or wrong."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Unpack

import anyio

from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.tool import Toolkit
from realtime.tool.mcp import MCPClientBase, StatefulClientBase
from realtime.tool.mcp.answers import Grants

Json = dict[str, Any]
OnCall = Callable[["ScriptedServer", Json], Awaitable[Json | None]]
"""Gets a `tools/call` request; returns the result, or None for no answer."""


def text(words: str) -> Json:
    """A result of one text."""
    return {"content": [{"type": "text", "text": words}]}


def tool(name: str, schema: Any = None, **more: Any) -> Json:
    """A tool as the list has it."""
    return {"name": name, "inputSchema": {"type": "object", "properties": {}} if schema is None else schema, **more}


async def echo(server: "ScriptedServer", request: Json) -> Json:
    return text(str(request["params"].get("arguments")))


class ScriptedServer:
    """Its `tools` are listed as they are; `on_call` answers calls. `received` has all messages of clients."""

    def __init__(self, tools: list[Any], on_call: OnCall = echo) -> None:
        self.tools = tools
        self.on_call = on_call
        self.received: list[Json] = []
        self.times: list[float] = []
        """When each of them came."""
        self.n_dialled = 0
        self.is_down = False
        self.is_silent = False
        """Whether it answers nothing, as one that hangs."""
        self._outbox: Any = None
        self._waiting: dict[Any, asyncio.Future[Json]] = {}

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Any]:
        """What a client dials."""
        self.n_dialled += 1
        if self.is_down:
            raise ConnectionRefusedError(111, "Connection refused")
        outbox, inbox = anyio.create_memory_object_stream[Any](0)
        theirs, mine = anyio.create_memory_object_stream[Any](0)
        self._outbox = outbox
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(self._serve(mine, group))
            try:
                yield inbox, theirs
            finally:
                serving.cancel()
                for stream in (outbox, inbox, theirs, mine):
                    stream.close()

    async def say(self, method: str, **params: Any) -> None:
        """Send a notification."""
        await self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, **params: Any) -> Json:
        """Send a request; return what the client answers, whole."""
        request_id = f"of-server-{len(self._waiting)}"
        self._waiting[request_id] = answer = asyncio.get_running_loop().create_future()
        await self._send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return await answer

    async def elicit(self, message: str, properties: Json) -> Json:
        """Ask the user; return the result."""
        schema = {"type": "object", "properties": properties}
        return (await self.ask("elicitation/create", message=message, requestedSchema=schema)).get("result", {})

    def die(self) -> None:
        """Break the connection off, as when the process is killed."""
        self._outbox.close()

    def sent(self, method: str) -> list[Json]:
        """What clients have sent of a kind."""
        return [message for message in self.received if message.get("method") == method]

    async def _send(self, message: Json) -> None:
        # It takes a second to import, which only runs with these tests need.
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        await self._outbox.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))

    async def _serve(self, mine: Any, group: asyncio.TaskGroup) -> None:
        async for item in mine:
            message = item.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
            self.received.append(message)
            self.times.append(asyncio.get_running_loop().time())
            if "method" not in message:
                self._waiting[message["id"]].set_result(message)
            elif "id" in message and not self.is_silent:
                task = group.create_task(self._answer(message))
                task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _answer(self, request: Json) -> None:
        match request["method"]:
            case "initialize":
                result: Json | None = {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": "scripted", "version": "1"},
                }
            case "tools/list":
                result = {"tools": self.tools}
            case "ping":
                result = {}
            case "tools/call":
                result = await self.on_call(self, request)
            case _:
                error = {"code": -32601, "message": "Method not found"}
                await self._send({"jsonrpc": "2.0", "id": request["id"], "error": error})
                return
        if result is not None:
            await self._send({"jsonrpc": "2.0", "id": request["id"], "result": result})


class ScriptedClient(StatefulClientBase):
    """A client of a scripted server."""

    def __init__(
        self, server: ScriptedServer, name: str = "scripted", *, dial_s: float = 5, **grants: Unpack[Grants]
    ) -> None:
        super().__init__(name, dial_s, grants)
        self.server = server

    def _streams(self) -> Any:
        return self.server.streams()


async def toolkit_of(client: MCPClientBase, **options: Any) -> Toolkit:
    """A toolkit with the functions of one server."""
    toolkit = Toolkit()
    await toolkit.register_mcp_client(client, **options)
    return toolkit


async def run(toolkit: Toolkit, name: str, arguments: str = "{}", **more: Any) -> ToolResultBlock:
    """The result of one call."""
    return await toolkit.run(ToolCallBlock(id="call_1", name=name, input=arguments), **more)


@asynccontextmanager
async def tools_of(server: ScriptedServer, **options: Any) -> AsyncIterator[Toolkit]:
    """A toolkit with the functions of a server, connected."""
    async with ScriptedClient(server) as client:
        yield await toolkit_of(client, **options)


def gives(result: Any) -> OnCall:
    """Answers each call by this result; a text is a result of one text."""

    async def answer(server: ScriptedServer, request: Json) -> Any:
        return text(result) if isinstance(result, str) else result

    return answer
