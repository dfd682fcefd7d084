"""Frames at their limits beside talking calls: the delay of their audio, and memory left over."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.process import LOAD_CORE, SERVER_CORE, Child, free_port, listening, running
from bench.report import Check, Section
from bench.stall_frames import WAYS, Kind, Way, kinds, samples
from bench.window import Subject, server_command
from bench.wire import ClientPeer

NEIGHBOURS = 20
"""Calls that talk: together they hear something every 2 ms, so that no wait falls between two of their sounds."""
LIMIT_MS = 20.0
LIMIT_LEFT_MB = 20.0
"""What the neighbours' own calls, the store and Python's heap grow by meanwhile is in it."""
BACK_S = 10.0
QUIET_S = 0.6
"""Before and behind a frame: the slices that tell whether the host was calm."""
STEP_S = 0.1
IDLE_SHARE = 0.7
"""Share of the core: less is used once all work of a frame is done."""
MOST_S = 30.0
"""Maximum wait for a frame."""
CALM_PERCENT = 60.0
"""An attempt with less of it is repeated."""
MAX_REPEATS = 3
PROVIDER_NICENESS = -10
"""The provider gets the sender's input: the neighbours, which read the clock, run first."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Stall:
    """The effect of one kind of frame."""

    kind: str
    worst_ms: float
    """Delay of a neighbour's sound."""
    calm_percent: float
    busy_s: float
    """How long the server was busy with it."""
    grown_mb: float
    """The most that the server's memory grew."""

    def __str__(self) -> str:
        calm = f"{self.calm_percent:.0f} % calm"
        return f"{self.kind}: {self.worst_ms:.1f} ms, busy {self.busy_s:.1f} s, {self.grown_mb:.0f} MB, {calm}"


class Sender(ClientPeer):
    """A call that sends too much at once."""

    def __init__(self, way: Way) -> None:
        super().__init__(way.path, way.subprotocol)
        self._way = way
        self.ready = asyncio.Event()
        self.is_lost = False

    def opened(self, path: str) -> None:
        """See the base."""
        self.send(json.dumps(self._way.hello).encode())

    def received(self, opcode: int, payload: bytes) -> None:
        """See the base."""
        if not self.ready.is_set() and self._way.ready in payload[:2_000]:
            self.ready.set()

    def lost(self) -> None:
        """See the base."""
        self.is_lost = True


async def measure_stall(
    say: Say, neighbours: int = NEIGHBOURS, wanted: Sequence[Kind] | None = None, back_s: float = BACK_S
) -> Section:
    """Each kind beside talking calls, then the memory `back_s` later."""
    found: list[Stall] = []
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        provider = await stack.enter_async_context(running(["-m", "bench.provider"], core=LOAD_CORE))
        provider_port = (await provider.line())["port"]
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, provider.process.pid, PROVIDER_NICENESS)
        port = free_port()
        subject = Subject("stall", "native", store=f"sqlite:{folder / 'calls.db'}")
        argv, env = server_command(subject, port, provider_port, folder)
        server = await stack.enter_async_context(running(argv, core=SERVER_CORE, env=env, log=folder / "server"))
        await listening(server, port)
        command = ["-m", "bench.clients", "--port", str(port), "--calls", str(neighbours), "--mode", "native"]
        command += ["--beside", str(server.process.pid)]
        clients = await stack.enter_async_context(running(command, core=LOAD_CORE, log=folder / "clients"))
        await clients.line(60)
        for way in WAYS:
            # What is loaded once by a kind of call is not what a frame leaves behind.
            await _hang_up(await _call(way, port))
        await asyncio.sleep(2 * QUIET_S)
        before_mb = server.rss_mb()
        for kind in wanted if wanted is not None else kinds():
            found.append(await _calmest(kind, port, server, clients))
            say(f"{found[-1]}")
        await asyncio.sleep(back_s)
        left_mb = server.rss_mb() - before_mb
        ended = (await clients.ask("end"))["ended"]
    return _section(found, neighbours, left_mb, back_s, ended)


async def measure_samples(say: Say) -> Section:
    """One kind for each way in, once: an impression."""
    return await measure_stall(say, 8, samples(), 2.0)


def _section(found: Sequence[Stall], neighbours: int, left_mb: float, back_s: float, ended: Sequence[str]) -> Section:
    how = (
        f"{neighbours} calls talk through the provider of `bench talk` while one more client sends one frame at its "
        "limits, or a burst of thousands, with the default store. Delays are from the provider's write to the "
        "neighbour's read, the worst of those quarter seconds in which neither the host nor other programs withheld "
        f"the core from the server; memory is the server's, {back_s:g} s behind the last of all frames."
    )
    section = Section("stall", "One client's frames beside other calls", how)
    section.header = ("frame", "worst delay", "server busy", "memory grew", "calm")
    section.rows = [
        (
            one.kind,
            f"{one.worst_ms:.1f} ms",
            f"{one.busy_s:.1f} s",
            f"{one.grown_mb:.0f} MB",
            f"{one.calm_percent:.0f} %",
        )
        for one in found
    ]
    worst = max(found, key=lambda one: one.worst_ms)
    section.checks = [
        Check(f"worst delay of a neighbour's sound ({worst.kind})", worst.worst_ms, LIMIT_MS, " ms"),
        Check(f"memory left {back_s:g} s later", left_mb, LIMIT_LEFT_MB, " MB"),
        Check("neighbours that lost their call", len(ended), 0),
    ]
    section.data = {"kinds": [asdict(one) for one in found], "left_mb": left_mb}
    return section


async def _calmest(kind: Kind, port: int, server: Child, clients: Child) -> Stall:
    """The first attempt that little disturbed, else the one that was disturbed least."""
    attempts: list[Stall] = []
    while len(attempts) <= MAX_REPEATS:
        attempts.append(await _attempt(kind, port, server, clients))
        if attempts[-1].calm_percent >= CALM_PERCENT:
            return attempts[-1]
    return max(attempts, key=lambda one: one.calm_percent)


async def _attempt(kind: Kind, port: int, server: Child, clients: Child) -> Stall:
    loop = asyncio.get_running_loop()
    payload = kind.make()
    sender = await _call(kind.way, port)
    before_mb = server.rss_mb()
    await clients.ask("begin")
    await asyncio.sleep(QUIET_S)
    start, cpu_s, grown_mb, busy_s = loop.time(), server.cpu_s(), 0.0, 0.0
    sender.transport.write(payload)
    while loop.time() - start < MOST_S:
        await asyncio.sleep(STEP_S)
        used_s = server.cpu_s() - cpu_s
        cpu_s += used_s
        grown_mb = max(grown_mb, server.rss_mb() - before_mb)
        if used_s >= IDLE_SHARE * STEP_S:
            busy_s = loop.time() - start
        elif loop.time() - start > busy_s + 2 * STEP_S:
            break
    await _hang_up(sender)
    await asyncio.sleep(QUIET_S)
    seen: dict[str, Any] = await clients.ask("end")
    return Stall(kind.title, seen["max_ms"], seen["calm_percent"], busy_s, grown_mb)


async def _call(way: Way, port: int) -> Sender:
    loop = asyncio.get_running_loop()
    _, sender = await loop.create_connection(lambda: Sender(way), "127.0.0.1", port)
    await asyncio.wait_for(sender.ready.wait(), 20)
    return sender


async def _hang_up(sender: Sender) -> None:
    """Say goodbye; where what was said is still in the way of it, drop the socket."""
    if not sender.is_lost and not sender.transport.is_closing():
        sender.close()
        await asyncio.sleep(STEP_S)
    if not sender.is_lost:
        sender.transport.abort()
