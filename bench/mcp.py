"""Tools of MCP servers: what a call costs, how fast an interruption reaches the server, what a lost server costs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.process import ROOT, Child, free_port, listening, running
from bench.report import Check, Section
from realtime.agent import RealtimeAgent
from realtime.audio.files import read_pcm16
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.mcp import HttpStatefulClient, HttpStatelessClient, MCPClientBase, StdIOStatefulClient
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyToolCall
from realtime.tool import Toolkit

SERVER = ["-m", "bench.mcp_server"]
CANCEL_LIMIT_MS = 200.0
TIMEOUT_S = 5.0
"""Of a call, where the server hangs."""
RATE_HZ = 16_000
CHUNK_MS = 40
HOW = (
    "An MCP server (the SDK's, in a process of its own on this machine) by stdio, over HTTP with a kept session, and "
    "with a connection for each call. Calls: `echo`, one after the other; CPU is of our process alone. Interruption: a "
    "caller speaks (`barge_in.wav`, real time) over the embedded voice while a remote tool runs; from the event that "
    "confirms the interruption until the function at the server is cancelled. Lost: the server is killed while a call "
    "waits (`died`), hangs while a call waits (`hung`: SIGSTOP, calls may take 5 s), and is called again. Flood: the "
    "longest delay of our event loop while the server reports progress as fast as it can."
)


@dataclass(slots=True)
class Measured:
    """What one way of reaching a server costs."""

    way: str
    call_ms: list[float] = field(default_factory=list)
    cpu_ms: float = 0.0
    """For each call."""
    cancel_ms: list[float] = field(default_factory=list)
    died_s: float = 0.0
    """Until the call that waited has its error."""
    again_s: float = 0.0
    """Until the next call has its result."""
    hung_s: float = 0.0
    hung_again_s: float = 0.0
    lag_ms: float = 0.0


WAYS = ("stdio", "HTTP, kept session", "HTTP, per call")


@contextlib.asynccontextmanager
async def _client(way: str, port: int) -> AsyncIterator[MCPClientBase]:
    url = f"http://127.0.0.1:{port}/mcp"
    if way == "stdio":
        async with StdIOStatefulClient("bench", sys.executable, SERVER, cwd=ROOT) as client:
            yield client
    elif way == "HTTP, per call":
        yield HttpStatelessClient("bench", "streamable_http", url)
    else:
        async with HttpStatefulClient("bench", "streamable_http", url) as kept:
            yield kept


class Site:
    """A server that can be lost and come back, and a toolkit with its functions."""

    def __init__(self, way: str) -> None:
        self.way = way
        self.toolkit = Toolkit()
        self._port = free_port()
        self._stack = contextlib.AsyncExitStack()
        self._child: contextlib.AsyncExitStack | None = None

    async def __aenter__(self) -> Site:
        await self.start()
        client = await self._stack.enter_async_context(_client(self.way, self._port))
        await self.toolkit.register_mcp_client(client, execution_timeout=TIMEOUT_S)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        if self._child is not None:
            await self._child.aclose()

    async def start(self) -> None:
        """Start the server, again if it was killed; by stdio the client does that."""
        if self.way == "stdio":
            return
        if self._child is not None:
            await self._child.aclose()
        self._child = contextlib.AsyncExitStack()
        child: Child = await self._child.enter_async_context(
            running([*SERVER, str(self._port)], core=None, log=Path(os.devnull))
        )
        await listening(child, self._port)

    async def call(self, name: str, **arguments: object) -> ToolResultBlock:
        """Call a function."""
        return await self.toolkit.run(ToolCallBlock(id=name, name=name, input=json.dumps(arguments)))

    async def signal(self, number: signal.Signals) -> None:
        """Send the server a signal, while a call waits."""
        pid = int((await self.call("process_id")).output_text())
        waiting = asyncio.create_task(self.call("wait", path=os.devnull))
        await asyncio.sleep(0.3)
        os.kill(pid, number)
        self.began_s = time.monotonic()
        await waiting


class Researcher:
    """A language model that calls the tool which waits, and talks meanwhile."""

    name = "researcher"
    takes_images = False

    def __init__(self, path: Path) -> None:
        self._path = path

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        last = prompt.history[-1] if prompt.history else None
        if last is not None and last.role == "user" and last.text.startswith("look"):
            yield ReplyText("I am looking that up for you now, which takes a while, so please hold the line for me. ")
            yield ReplyText("It is a large archive, and I read all of it, from the first page to the very last one.")
            yield ReplyToolCall("wait", json.dumps({"path": str(self._path)}))
        else:
            yield ReplyText("Okay.")


async def _interrupt(site: Site, n: int) -> list[float]:
    """Interrupt `n` calls of a remote tool by voice; ms from each confirmation to the cancellation at the server."""
    voice = read_pcm16(ROOT / "fixtures" / "audio" / "barge_in.wav", RATE_HZ)
    confirmed_s: list[float] = []
    loop = asyncio.get_running_loop()

    def hear(event: s.ServerEvent) -> None:
        if isinstance(event, s.AgentInterruptionEvent) and event.state == "confirmed":
            confirmed_s.append(loop.time())

    found: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cancelled"
        model = LocalRealtimeModel(language_model=Researcher(path))
        toolkit = Toolkit()
        toolkit.include(site.toolkit)
        agent = RealtimeAgent("Robin", "", model, toolkit=toolkit, fillers=())
        await agent.start(hear)
        try:
            for _ in range(n):
                path.unlink(missing_ok=True)
                confirmed_s.clear()
                await agent.handle_input(c.ClientTextAppendEvent(text="look it up"))
                await _until(lambda: path.exists())
                await asyncio.sleep(0.6)
                await _speak(agent, voice)
                await _until(lambda: bool(confirmed_s) and path.read_text().replace(".", "").isdigit())
                found.append((float(path.read_text()) - confirmed_s[0]) * 1e3)
                await asyncio.sleep(2.0)
        finally:
            await agent.stop()
    return found


async def _speak(agent: RealtimeAgent, pcm: bytes) -> None:
    """Speak in real time."""
    size = RATE_HZ * CHUNK_MS // 1_000 * 2
    pcm += bytes(RATE_HZ * 2)
    for start in range(0, len(pcm), size):
        chunk = pcm[start : start + size]
        await agent.handle_input(c.ClientAudioAppendEvent(audio=chunk, format=AudioFormat.pcm16(RATE_HZ)))
        await asyncio.sleep(CHUNK_MS / 1_000)


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110  (another process writes the file)
            await asyncio.sleep(0.002)


async def _flooded(site: Site) -> float:
    """Return the longest delay of the loop, in ms, while the server floods."""
    loop, worst_s = asyncio.get_running_loop(), 0.0
    flooding = asyncio.create_task(site.call("flood"))
    while not flooding.done():
        due_s = loop.time() + 0.01
        await asyncio.sleep(0.01)
        worst_s = max(worst_s, loop.time() - due_s)
    return worst_s * 1e3


async def _measure(way: str, calls: int, interruptions: int) -> Measured:
    found = Measured(way)
    async with Site(way) as site:
        await site.call("echo", text="warm")
        cpu_s = time.process_time()
        for _ in range(calls):
            began_s = time.perf_counter()
            result = await site.call("echo", text="hello")
            found.call_ms.append((time.perf_counter() - began_s) * 1e3)
            assert result.state == "success", result.output_text()
        found.cpu_ms = (time.process_time() - cpu_s) * 1e3 / calls
        found.cancel_ms = await _interrupt(site, interruptions)
        found.lag_ms = await _flooded(site)
    async with Site(way) as site:
        await site.signal(signal.SIGKILL)
        found.died_s = time.monotonic() - site.began_s
        await site.start()
        found.again_s = await _answered(site)
    async with Site(way) as site:
        pid = int((await site.call("process_id")).output_text())
        await site.signal(signal.SIGSTOP)
        found.hung_s = time.monotonic() - site.began_s
        if way != "stdio":
            os.kill(pid, signal.SIGCONT)
        found.hung_again_s = await _answered(site)
    return found


async def _answered(site: Site) -> float:
    """Return the seconds until a call has a result."""
    began_s = time.monotonic()
    while (await site.call("echo", text="again")).state != "success":  # noqa: ASYNC110  (it is another call each time)
        await asyncio.sleep(0.05)
    return time.monotonic() - began_s


async def measure_mcp(
    say: Callable[[str], None], *, calls: int = 500, interruptions: int = 10, ways: Sequence[str] = WAYS
) -> Section:
    """Measure each way of reaching a server."""
    measured = []
    for way in ways:
        measured.append(one := await _measure(way, calls, interruptions))
        say(f"{way}: {statistics.median(one.call_ms):.1f} ms for a call, {max(one.cancel_ms):.0f} ms to cancel one")
    header = ("", "call ms", "CPU ms", "cancel ms, highest", "died s", "then s", "hung s", "then s", "flood ms")
    section = Section("mcp", "Tools of MCP servers", HOW, header)
    for one in measured:
        numbers = (one.died_s, one.again_s, one.hung_s, one.hung_again_s)
        section.rows.append(
            (
                one.way,
                f"{statistics.median(one.call_ms):.1f}",
                f"{one.cpu_ms:.1f}",
                f"{max(one.cancel_ms):.0f}",
                *(f"{number:.2f}" for number in numbers),
                f"{one.lag_ms:.0f}",
            )
        )
        section.checks += [
            Check(f"{one.way}: from an interruption to the server", max(one.cancel_ms), CANCEL_LIMIT_MS, " ms"),
            Check(f"{one.way}: a server that hangs costs its time limit", one.hung_s, TIMEOUT_S + 1, " s"),
        ]
    section.data = {one.way: {"call_ms": one.call_ms, "cancel_ms": one.cancel_ms} for one in measured}
    return section
