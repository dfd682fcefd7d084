"""Calls opened and dropped at random points: no task, thread or socket is left, and memory stays where it was.

The server runs in this process, so that its tasks can be counted; the provider is the load provider, in its own.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import ctypes
import gc
import random
import tempfile
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import uvicorn

from bench.process import Child, running
from bench.report import Check, Section
from bench.wire import CLIENT_KEY, frame, frame_header
from realtime.agent import RealtimeAgent
from realtime.call.limits import Limits
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.server.app import create_app
from realtime.server.runner import open_socket, uvicorn_config
from realtime.server.settings import ServerSettings

CALLS, MARK = 1_000, 200
AT_ONCE = 20
MEMORY_LIMIT_MB = 3.0
PATIENCE_S = 30.0

CREATE = frame(b'{"type":"client_session_create","config":{"instructions":"Be brief."}}', masked=True)
APPEND = frame(b'{"type":"client_audio_append","audio":"' + b"AAAA" * 400 + b'"}', masked=True)
END = frame(b'{"type":"client_session_end"}', masked=True)
GOODBYE = frame((1000).to_bytes(2, "big"), opcode=8, masked=True)

POINTS = (
    "within the handshake",
    "before the call",
    "while the call is made",
    "within a frame",
    "mid turn",
    "while speaking",
    "after its end",
    "goodbye while speaking",
)


@dataclass(slots=True)
class Churned:
    """What was left over. Counts are beyond those before; memory in MB (10^6 bytes)."""

    calls: int
    tasks: list[str]
    threads: int
    sockets: int
    provider_sessions: int
    rss_mark_mb: float
    rss_end_mb: float
    points: dict[str, int] = field(default_factory=dict)

    @property
    def grown_mb(self) -> float:
        return self.rss_end_mb - self.rss_mark_mb


async def drop_one(port: int, chance: random.Random) -> str:
    """Open one call and drop it at a random point; return which."""
    point = chance.choice(POINTS)
    # All that a call says may arrive before the event that is waited for.
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=16_000_000)
    try:
        request = (
            f"GET /ws/churn/{chance.getrandbits(32):x} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {CLIENT_KEY}\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Protocol: realtime.v1\r\n\r\n"
        ).encode()
        if point == "within the handshake":
            writer.write(request[: chance.randrange(1, len(request))])
            await asyncio.sleep(chance.random() * 0.01)
            return point
        writer.write(request)
        if point == "before the call":
            await asyncio.sleep(chance.random() * 0.02)
            return point
        await reader.readuntil(b"\r\n\r\n")
        writer.write(CREATE)
        if point == "while the call is made":
            await asyncio.sleep(chance.random() * 0.02)
            return point
        await reader.readuntil(b"agent_ready")
        for _ in range(chance.randrange(8)):
            writer.write(APPEND)
        if point == "within a frame":
            writer.write(frame_header(5_000, masked=True) + b"x" * chance.randrange(5_000))
        elif point == "mid turn":
            await asyncio.sleep(chance.random() * 0.2)
        elif point == "after its end":
            writer.write(END)
            await reader.readuntil(b"server_session_ended")
        else:
            await reader.readuntil(b"agent_response_audio_delta")
            if point == "goodbye while speaking":
                writer.write(GOODBYE)
                await reader.read()
        return point
    finally:
        if chance.random() < 0.5:
            writer.transport.abort()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def provided(turn_s: float = 2.0) -> AsyncIterator[tuple[Child, str]]:
    """Run a load provider; yield it with its base URL."""
    with tempfile.TemporaryDirectory() as folder:
        argv = ["-m", "bench.provider", "--turn-s", str(turn_s)]
        async with running(argv, core=None, log=Path(folder) / "provider") as provider:
            yield provider, f"http://127.0.0.1:{(await provider.line())['port']}/v1"


async def churn(calls: int, mark: int, seed: int = 1) -> Churned:
    """Open and drop `calls` calls, `AT_ONCE` at a time; memory is read after `mark` of them and at the end."""
    async with provided() as (provider, base_url):
        model = OpenAIRealtimeModel("gpt-realtime", api_key="bench", base_url=base_url)
        settings = ServerSettings(max_calls_per_address=10 * AT_ONCE, max_busy=1, drain_s=0, limits=Limits(grace_s=0))
        app = create_app(lambda: RealtimeAgent("Bench", "", model), settings)
        server = uvicorn.Server(uvicorn_config(app))
        bound = open_socket("127.0.0.1", 0, strict=True, say=lambda _: None)
        port = bound.getsockname()[1]
        serving = asyncio.create_task(server.serve([bound]))
        process, points = psutil.Process(), collections.Counter[str]()
        chance = random.Random(seed)

        async def settled(sockets: int, tasks: set[asyncio.Task[object]]) -> tuple[int, list[asyncio.Task[object]]]:
            """Wait until nothing beyond these is left, within limits; return what is left then."""

            def left() -> tuple[int, list[asyncio.Task[object]]]:
                more = [one for one in asyncio.all_tasks() if one not in tasks]
                return len(process.net_connections()) - sockets, more

            await until(lambda: not app.state.calls.running and left()[0] <= 0 and not left()[1])
            return left()

        async def run(count: int) -> None:
            numbers = iter(range(count))

            async def caller() -> None:
                for _ in numbers:
                    points[await drop_one(port, random.Random(chance.getrandbits(64)))] += 1

            async with asyncio.TaskGroup() as group:
                for _ in range(AT_ONCE):
                    group.create_task(caller())

        try:
            # What the first calls create for good (executor threads, caches) exists before the count begins.
            await run(AT_ONCE)
            await until(lambda: not app.state.calls.running)
            await asyncio.sleep(0.2)
            tasks, sockets, threads = asyncio.all_tasks(), len(process.net_connections()), threading.active_count()
            await run(mark)
            await settled(sockets, tasks)
            rss_mark_mb = settled_rss_mb(process)
            await run(calls - mark)
            more_sockets, more_tasks = await settled(sockets, tasks)
            stats = await provider.ask("stats")
            return Churned(
                calls=calls,
                tasks=[repr(task) for task in more_tasks],
                threads=threading.active_count() - threads,
                sockets=max(0, more_sockets),
                provider_sessions=stats["sessions"],
                rss_mark_mb=rss_mark_mb,
                rss_end_mb=settled_rss_mb(process),
                points=dict(points),
            )
        finally:
            server.should_exit = True
            await serving
            bound.close()


async def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds, or for `PATIENCE_S`."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            while not condition():  # noqa: ASYNC110  (nobody tells)
                await asyncio.sleep(0.05)


def settled_rss_mb(process: psutil.Process) -> float:
    """Return resident memory after garbage collection and, where the C library can, after returning free memory."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    rss: int = process.memory_info().rss
    return rss / 1e6


async def measure_churn(calls: int = CALLS, mark: int = MARK) -> Section:
    """Run the whole measurement."""
    found = await churn(calls, mark)
    where = ", ".join(f"{name} {count}" for name, count in sorted(found.points.items()))
    how = (
        f"{calls} calls are opened and dropped at random points, {AT_ONCE} at a time, half of them by a reset "
        f"({where}). The server runs in this process; tasks, threads and sockets are counted beyond those after the "
        "first calls."
    )
    section = Section("churn", "Calls opened and dropped", how)
    section.checks = [
        Check("tasks left", len(found.tasks), 0),
        Check("threads left", found.threads, 0),
        Check("sockets left", found.sockets, 0),
        Check("provider sessions left", found.provider_sessions, 0),
        Check(f"memory after {calls} calls beyond that after {mark}", found.grown_mb, MEMORY_LIMIT_MB, " MB"),
        Check("memory at the end", found.rss_end_mb, None, " MB"),
    ]
    section.data = {"left": found.tasks, "rss_mark_mb": found.rss_mark_mb, "rss_end_mb": found.rss_end_mb}
    return section
