"""One measuring window: a server between the load provider and N talking clients, and what it cost.

Every window gets fresh processes: the server alone on one core, provider and clients on another.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from bench.process import LOAD_CORE, SERVER_CORE, Child, free_port, listening, running

WARM_S = 4.0
"""Between the last call's first word and the window: short first turns are over, caches are warm."""
MAX_LATE_MS = 30.0
"""A window in which a load generator was later than this measured the machine, not the server."""
MAX_REPEATS = 4


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured: a server and how its clients talk. `args` are added to the server's command."""

    name: str
    mode: str
    authority: str | None = None
    args: tuple[str, ...] = ()

    @property
    def is_floor(self) -> bool:
        return self.mode == "floor"


FLOOR = Subject("floor", "floor")
NATIVE = Subject("native JSON", "native")
BINARY = Subject("native binary", "binary")
JSON1 = Subject("AgentScope 1.x JSON", "json")
OPENAI = Subject("OpenAI front", "openai")
SERVER_VAD = Subject("native JSON, authority server", "native", "server")


@dataclass(frozen=True, slots=True)
class Window:
    """What one window showed. Milliseconds, MB (10^6 bytes); `cost` is ms of CPU per session and second."""

    subject: str
    sessions: int
    cost: float
    load_percent: float
    """CPU of the server's core."""
    rss_idle_mb: float
    rss_mb: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    deltas: int
    lost: int
    reordered: int
    crossed: int
    up_out_of_order: int
    """Chunks at the provider that did not follow their predecessor: lost or reordered on the way up."""
    flushes: int
    errors: tuple[str, ...]
    late_ms: float
    """How late a load generator was at worst."""
    other_percent: float
    """What everything else on the machine took, in percent of one core."""
    repeats: int = 0

    @property
    def per_session_kb(self) -> float:
        """Memory per talking session beyond the idle server, in kB (10^3 bytes)."""
        return (self.rss_mb - self.rss_idle_mb) * 1000 / self.sessions

    @property
    def wrong(self) -> int:
        """Everything that was not as it should be."""
        return self.lost + self.reordered + self.crossed + self.up_out_of_order + len(self.errors)


def server_command(subject: Subject, port: int, provider_port: int) -> tuple[list[str], dict[str, str]]:
    """The arguments after `python` and the environment of the server under test."""
    if subject.is_floor:
        url = f"ws://127.0.0.1:{provider_port}/v1/realtime?model=gpt-realtime"
        return ["-m", "bench.relay", "--port", str(port), "--provider", url], {}
    command = ["-m", "realtime", "serve", "--host", "127.0.0.1", "--port", str(port), "--strict-port"]
    command += ["--model", "openai:gpt-realtime", "--max-calls-per-address", "1000", "--log-level", "warning"]
    env = {"OPENAI_BASE_URL": f"http://127.0.0.1:{provider_port}/v1", "OPENAI_API_KEY": "bench"}
    return [*command, *subject.args], env


async def measure(subject: Subject, sessions: int, seconds: float, warm_s: float = WARM_S) -> Window:
    """Measure until the load generators were on time, `MAX_REPEATS` times at most; the last window is then given."""
    repeats = 0
    while True:
        window = await _measure_once(subject, sessions, seconds, warm_s, repeats)
        if window.late_ms <= MAX_LATE_MS or repeats >= MAX_REPEATS:
            return window
        repeats += 1


async def _measure_once(subject: Subject, sessions: int, seconds: float, warm_s: float, repeats: int) -> Window:
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        # Our server resamples to what the provider takes; the floor forwards what it gets.
        input_hz = "16000" if subject.is_floor else "24000"
        provider = await stack.enter_async_context(
            running(["-m", "bench.provider", "--input-hz", input_hz], core=LOAD_CORE, log=folder / "provider")
        )
        provider_port = (await provider.line())["port"]
        port = free_port()
        argv, env = server_command(subject, port, provider_port)
        server = await stack.enter_async_context(running(argv, core=SERVER_CORE, env=env, log=folder / "server"))
        await listening(server, port)
        await asyncio.sleep(0.3)
        rss_idle_mb = server.rss_mb()
        clients = await stack.enter_async_context(
            running(_client_command(subject, port, sessions), core=LOAD_CORE, log=folder / "clients")
        )
        ready = await clients.line(60)
        if ready["talking"] != sessions:
            raise RuntimeError(f"{subject.name}: not all of {sessions} calls talk: {ready}{server.told()}")
        await asyncio.sleep(warm_s)
        return await _window(subject, sessions, seconds, (provider, server, clients), rss_idle_mb, repeats)


def _client_command(subject: Subject, port: int, sessions: int) -> list[str]:
    command = ["-m", "bench.clients", "--port", str(port), "--calls", str(sessions), "--mode", subject.mode]
    return [*command, "--authority", subject.authority] if subject.authority else command


async def _window(
    subject: Subject,
    sessions: int,
    seconds: float,
    children: tuple[Child, Child, Child],
    rss_idle_mb: float,
    repeats: int,
) -> Window:
    provider, server, clients = children
    before = await provider.ask("reset")
    await clients.ask("begin")
    busy, ours, start = _busy_s(), _sum_cpu_s(children), asyncio.get_running_loop().time()
    cpu_s = server.cpu_s()
    await asyncio.sleep(seconds)
    cpu_s = server.cpu_s() - cpu_s
    elapsed_s = asyncio.get_running_loop().time() - start
    other_s = _busy_s() - busy - (_sum_cpu_s(children) - ours)
    heard = await clients.ask("end")
    up = await provider.ask("stats")
    return Window(
        subject=subject.name,
        sessions=sessions,
        cost=cpu_s * 1000 / elapsed_s / sessions,
        load_percent=cpu_s / elapsed_s * 100,
        rss_idle_mb=rss_idle_mb,
        rss_mb=server.rss_mb(),
        p50_ms=heard["p50_ms"],
        p99_ms=heard["p99_ms"],
        max_ms=heard["max_ms"],
        deltas=heard["deltas"],
        lost=heard["lost"],
        reordered=heard["reordered"],
        crossed=heard["crossed"],
        up_out_of_order=up["out_of_order"],
        flushes=heard["flushes"],
        errors=(*heard["errors"], *heard["ended"], *_gone(before, up, sessions)),
        late_ms=max(heard["worst_late_ms"], up["worst_late_ms"]),
        other_percent=max(0.0, other_s / elapsed_s * 100),
        repeats=repeats,
    )


def _gone(before: dict[str, Any], after: dict[str, Any], sessions: int) -> Sequence[str]:
    counts = (before["sessions"], after["sessions"], after["opened"])
    return () if counts == (sessions, sessions, sessions) else (f"provider sessions changed: {counts}",)


def _sum_cpu_s(children: tuple[Child, ...]) -> float:
    return sum(child.cpu_s() for child in children)


def _busy_s() -> float:
    """CPU time that the whole machine has used, in seconds."""
    times = psutil.cpu_times()
    return float(times.user + times.system + times.nice + getattr(times, "softirq", 0.0) + getattr(times, "irq", 0.0))
