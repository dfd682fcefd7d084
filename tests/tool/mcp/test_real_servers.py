"""A real server of the SDK by stdio, streamable HTTP and SSE, in both generations of the protocol."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from realtime.errors import ToolError
from realtime.message import DataBlock, TextBlock
from realtime.tool import Toolkit
from realtime.tool.context import Sampling, ToolScope
from realtime.tool.mcp import HttpStatefulClient, HttpStatelessClient, MCPClientBase, StdIOStatefulClient
from tests.tool.mcp.scripted import run, toolkit_of
from tests.volumes import HANG_S

APP = str(Path(__file__).with_name("server_app.py"))
KINDS = ["stdio", "stdio legacy", "http", "http legacy", "sse", "stateless", "stateless sse"]
STATEFUL = KINDS[:5]
BY_DAY = ("stdio", "http", "sse")


def tried(*kinds: str) -> list[Any]:
    """Kinds of servers as parameters: one of each transport by day, the others by night."""
    return [kind if kind in BY_DAY else pytest.param(kind, marks=pytest.mark.night) for kind in kinds]


@contextmanager
def serving(kind: str, port: int = 0) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A server on loopback, and its port."""
    command = [sys.executable, APP, kind, str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    try:
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture(scope="module")
def ports() -> Iterator[dict[str, int]]:
    with serving("http") as (_, http), serving("sse") as (_, sse):
        yield {"http": http, "sse": sse}


def client_of(kind: str, ports: dict[str, int], **grants: Any) -> MCPClientBase:
    """A client of a server by the words of `kind`."""
    words = kind.split()
    if "legacy" in words:
        grants["protocol"] = "legacy"
    if "stdio" in words:
        return StdIOStatefulClient("shop", sys.executable, [APP, "stdio"], **grants)
    of_kind = HttpStatelessClient if "stateless" in words else HttpStatefulClient
    if "sse" in words:
        return of_kind("shop", "sse", f"http://127.0.0.1:{ports['sse']}/sse", **grants)
    return of_kind("shop", "streamable_http", f"http://127.0.0.1:{ports['http']}/mcp", **grants)


def stateful_of(kind: str, ports: dict[str, int], **grants: Any) -> StdIOStatefulClient | HttpStatefulClient:
    """A client that is connected and closed."""
    made = client_of(kind, ports, **grants)
    assert isinstance(made, StdIOStatefulClient | HttpStatefulClient)
    return made


@pytest.fixture(params=tried(*KINDS))
async def client(request: pytest.FixtureRequest, ports: dict[str, int]) -> AsyncIterator[MCPClientBase]:
    """A client of each kind that grants all."""

    async def write(asked: Sampling) -> str:
        return f"{asked.system} {asked.messages[0][1]}"

    async def fill_in(message: str, schema: dict[str, Any]) -> dict[str, Any]:
        return {"seats": 4}

    made = client_of(request.param, ports, roots=["/srv/files"], sampling=write, on_elicit=fill_in)
    if isinstance(made, HttpStatelessClient):
        yield made
    else:
        assert isinstance(made, StdIOStatefulClient | HttpStatefulClient)
        async with made:
            yield made


async def test_one_function_or_all_of_them(client: MCPClientBase) -> None:
    """REA-33: of a server, one function is registered, or all are; one is also called alone."""
    toolkit = Toolkit([await client.get_callable_function("add")])
    assert [*toolkit.tools] == ["add"]
    assert (await run(toolkit, "add", '{"a": 2, "b": 3}')).output == "5"
    alone = await client.get_callable_function("add")
    assert (await alone(a=1, b=1)).text == "2"
    everything = Toolkit()
    await everything.register_mcp_client(client)
    assert {"add", "delete", "steps", "reserve"} <= {*everything.tools}
    assert (everything.tools["add"].read_only, everything.tools["delete"].confirm) == (True, True)


async def test_each_kind_of_content_arrives(client: MCPClientBase) -> None:
    response = await (await client.get_callable_function("contents"))()
    shapes = [
        (block.source.media_type, block.source.data) if isinstance(block, DataBlock) else block.text
        for block in response.content
    ]
    data = [("image/png", b"\x89PNG"), ("audio/wav", b"RIFF"), ("application/zip", b"PK")]
    assert shapes == ["words", *data[:2], "[menu, text/plain, at file:///menu.txt]", "a note", data[2]]
    assert response.metadata == {"structured_content": {"n": 6}}
    assert [block.name for block in response.content if isinstance(block, DataBlock)] == [None, None, "b.bin"]
    assert isinstance(response.content[0], TextBlock)


async def test_progress_errors_and_what_the_server_asks(client: MCPClientBase) -> None:
    asked: list[tuple[str, str]] = []

    async def elicit(server: str, message: str, schema: Any) -> dict[str, Any]:
        asked.append((server, message))
        return {"seats": 2, "window": False}

    toolkit = await toolkit_of(client)
    notes: list[str] = []
    with ToolScope(progress=lambda text, kind: notes.append(text)).in_force():
        assert (await run(toolkit, "steps", '{"n": 3}')).output == "all steps"
    assert notes == ["step 1 (1 of 3)", "step 2 (2 of 3)", "step 3 (3 of 3)"]
    assert (await run(toolkit, "add", '{"a": "x", "b": 1}')).state == "error"
    assert (await run(toolkit, "reserve")).output == "4 seats, window: True"
    assert (await run(toolkit, "folders")).output == "file:///srv/files"
    assert (await run(toolkit, "poem")).output == "poem: You are a poet. Write a poem."
    with ToolScope(call_id="call_a", elicit=elicit).in_force():
        # The user of the call is asked before the program.
        assert (await run(toolkit, "reserve")).output == "2 seats, window: False"
    assert asked == [("shop", "How many seats?")]


async def test_each_of_two_calls_has_its_own_user(ports: dict[str, int]) -> None:
    """The stream of a call tells whom its server asks over HTTP; in the protocol of 2026 its answer does by stdio."""

    async def book(call_id: str, seats: int) -> str:
        async def elicit(server: str, message: str, schema: Any) -> dict[str, Any]:
            await ready.wait()
            return {"seats": seats}

        with ToolScope(call_id=call_id, elicit=elicit).in_force():
            return (await run(toolkit, "reserve")).output_text()

    ready = asyncio.Barrier(2)
    for kind in ("http", "http legacy", "stdio"):
        async with stateful_of(kind, ports) as client:
            toolkit = await toolkit_of(client)
            async with asyncio.timeout(HANG_S):
                both = await asyncio.gather(book("call_a", 1), book("call_b", 2))
        assert both == ["1 seats, window: True", "2 seats, window: True"]


async def test_cancelling_reaches_the_server(client: MCPClientBase) -> None:
    async def count(name: str) -> int:
        return int((await (await client.get_callable_function(name))()).text)

    n_begun, n_cancelled = await count("n_begun"), await count("n_cancelled")
    wait = await client.get_callable_function("wait")
    async with asyncio.timeout(HANG_S):
        calling = asyncio.create_task(wait())
        while await count("n_begun") == n_begun:
            pass
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        while await count("n_cancelled") == n_cancelled:
            pass


async def test_a_call_may_have_a_limit_of_its_own(client: MCPClientBase) -> None:
    wait = await client.get_callable_function("wait", execution_timeout=0.05)
    assert (await wait()).text == "the MCP server 'shop' gave no result within 0.05 s"
    raw = await client.get_callable_function("wait", wrap_tool_result=False, execution_timeout=0.05)
    with pytest.raises(ToolError) as error:
        await raw()
    assert (error.value.code, error.value.retryable) == ("mcp_timeout", True)


@pytest.mark.parametrize("kind", tried(*STATEFUL))
async def test_tools_that_come_and_go_do_so_here(kind: str, ports: dict[str, int]) -> None:
    changed = asyncio.Event()
    async with stateful_of(kind, ports) as client:
        toolkit = await toolkit_of(client)
        toolkit.on_change(changed.set)
        name = f"new_{kind.replace(' ', '_')}"
        await run(toolkit, "grow", f'{{"name": "{name}"}}')
        async with asyncio.timeout(HANG_S):
            await changed.wait()
            assert (await run(toolkit, name)).output == "grown"
        await run(toolkit, "shrink", f'{{"name": "{name}"}}')
        # The next look of its own would be in 5 s.
        await client.list_tools()
        assert name not in toolkit


@pytest.mark.parametrize("kind", tried("stdio", "stdio legacy"))
async def test_a_killed_process_costs_its_call_and_is_started_again(kind: str) -> None:
    async with stateful_of(kind, {}) as client:
        toolkit = await toolkit_of(client)
        first = int((await run(toolkit, "process_id")).output_text())
        calling = asyncio.create_task(run(toolkit, "wait"))
        while (await run(toolkit, "n_begun")).output == "0":
            pass
        os.kill(first, signal.SIGKILL)
        async with asyncio.timeout(HANG_S):
            lost = await calling
        assert lost.state == "error"
        assert "was lost: the connection broke off" in lost.output_text()
        second = int((await run(toolkit, "process_id")).output_text())
        assert second != first
    with pytest.raises(ProcessLookupError):
        os.kill(second, 0)


@pytest.mark.parametrize("kind", tried("http", "http legacy", "sse", "stateless"))
async def test_a_killed_http_server_costs_its_call_and_is_dialled_again(kind: str) -> None:
    served = "sse" if kind == "sse" else "http"
    with serving(served) as (process, port):
        client = client_of(kind, {served: port})
        if not isinstance(client, HttpStatelessClient):
            assert isinstance(client, HttpStatefulClient)
            await client.connect()
        toolkit = await toolkit_of(client)
        calling = asyncio.create_task(run(toolkit, "wait"))
        while (await run(toolkit, "n_begun")).output == "0":
            pass
        process.kill()
        async with asyncio.timeout(HANG_S):
            assert (await calling).state == "error"
            assert "cannot be reached" in (await run(toolkit, "add", '{"a": 1, "b": 1}')).output_text()
    with serving(served, port):
        assert (await run(toolkit, "add", '{"a": 1, "b": 2}')).output == "3"
        if isinstance(client, HttpStatefulClient):
            await client.close()


async def test_a_server_that_was_restarted_between_two_calls_costs_neither() -> None:
    """It does not know the session any more, and has done nothing: the call is made again."""
    with serving("http") as (_, port):
        client = stateful_of("http legacy", {"http": port})
        await client.connect()
        toolkit = await toolkit_of(client)
    with serving("http", port):
        assert (await run(toolkit, "add", '{"a": 1, "b": 2}')).output == "3"
        await client.close()


async def test_a_command_that_is_not_there_and_an_address_without_a_server() -> None:
    client = StdIOStatefulClient("shop", "no-such-command-4711")
    with pytest.raises(ToolError, match="cannot be reached: there is no such command"):
        await client.connect()
    assert not client.is_connected
    silent = StdIOStatefulClient("shop", sys.executable, ["-c", "print('hello')"], protocol="legacy")
    with pytest.raises(ToolError, match="'shop' cannot be reached"):
        await silent.connect()
    nowhere = HttpStatelessClient("shop", "streamable_http", "http://127.0.0.1:9/mcp")
    with pytest.raises(ToolError, match="'shop' cannot be reached"):
        await nowhere.list_tools()
