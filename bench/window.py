"""One measuring window: a server between the load provider and N talking clients, and its cost.

Every window gets fresh processes: the server alone on one core, provider and clients on another.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from bench.delays import MIN_CALM_PERCENT
from bench.process import LOAD_CORE, SERVER_CORE, UNGREETED, Child, free_port, listening, running, stolen_s
from realtime.state.log import last_seq_of
from realtime.state.sqlite import SqliteStore

WARM_S = 4.0
"""Between the last call's first word and the window: short first turns are over, caches are warm."""
MAX_LATE_MS = 30.0
"""A window in which a load generator was later than this measured the machine, not the server."""
MAX_REPEATS = 4


DEFAULT_STORE = "sqlite:{folder}/calls.sqlite"
TELL_THEIR_END = ("native", "binary")
"""Modes whose clients learn the `seq` of their call's last event."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured: a server and how its clients talk.

    `args` are added to the server's command. `store` is where it keeps the calls, `{folder}` in it a new folder for
    each window; by default in a file, as `realtime serve` does. `writers`: so many calls beside the talking ones type
    and are answered in text. `alone`: the server has one core to itself; else all cores, with provider and clients on
    one of them.
    """

    name: str
    mode: str
    authority: str | None = None
    args: tuple[str, ...] = ()
    store: str = DEFAULT_STORE
    writers: int = 0
    alone: bool = True
    interruption: str | None = None
    sound: str | None = None
    """What the microphone hears (`bench.user_sounds`); None: levels by which lost chunks are seen."""

    @property
    def is_floor(self) -> bool:
        return self.mode == "floor"

    def file(self, folder: Path) -> Path | None:
        """The SQLite file that can be held against what the clients saw; None where there is none."""
        is_kept = self.store.startswith("sqlite:") and self.mode in TELL_THEIR_END
        return Path(self.store_in(folder).removeprefix("sqlite:")) if is_kept else None

    def store_in(self, folder: Path) -> str:
        """The store's URL in a window that has this folder."""
        return self.store.format(folder=folder)


FLOOR = Subject("floor", "floor")
NATIVE = Subject("native JSON", "native")
UNKEPT = Subject("native JSON, --store none", "native", store="none")
BINARY = Subject("native binary", "binary")
JSON1 = Subject("AgentScope 1.x JSON", "json")
OPENAI = Subject("OpenAI endpoint", "openai")
SERVER_VAD = Subject("native JSON, authority server", "native", "server")


@dataclass(frozen=True, slots=True)
class Kept:
    """What a SQLite store held of a window's calls once all of them had ended."""

    calls: int
    file_bytes: int
    call_minutes: float
    """The length of all calls together."""
    missing: int
    """Calls whose last `seq` is not there, or whose log has holes."""
    examples: tuple[str, ...]
    """What the first of these lack."""

    @property
    def bytes_per_minute(self) -> float:
        """Of the file, for each minute of a call."""
        return self.file_bytes / self.call_minutes if self.call_minutes else 0.0


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
    """This and the next two: of the slices from which the host withheld nothing, if there are enough of them."""
    p99_ms: float
    max_ms: float
    p99_of_all_ms: float
    calm_percent: float
    """How many of the delays lie in such slices."""
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
    stolen_percent: float
    """What the host of a virtual machine withheld from its cores, in percent of one; 0 where that is not told."""
    repeats: int = 0
    """How many disturbed windows came before."""
    words: int = 0
    """Deltas of text that the writing calls got."""
    kept: Kept | None = None
    """What a SQLite store kept; None without one."""

    @property
    def disturbed(self) -> bool:
        """Whether delays of this window say more about the machine than about the server."""
        return self.late_ms > MAX_LATE_MS or self.calm_percent < MIN_CALM_PERCENT

    @property
    def told(self) -> str:
        """What progress lines say of it: the delay, what was wrong, and how calm the machine was."""
        return (
            f"p99 {self.p99_ms:.1f} ms, wrong {self.wrong}, late {self.late_ms:.0f} ms, others "
            f"{self.other_percent:.0f} %, stolen {self.stolen_percent:.0f} %, calm {self.calm_percent:.0f} %"
        )

    @property
    def per_session_kb(self) -> float:
        """Memory per talking session beyond the idle server, in kB (10^3 bytes)."""
        return (self.rss_mb - self.rss_idle_mb) * 1000 / self.sessions

    @property
    def not_kept(self) -> int:
        """Number of events that the store lacks."""
        return self.kept.missing if self.kept is not None else 0

    @property
    def wrong(self) -> int:
        """Number of all faults."""
        return self.lost + self.reordered + self.crossed + self.up_out_of_order + len(self.errors) + self.not_kept


def server_command(subject: Subject, port: int, provider_port: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    """The arguments after `python` and the environment of the server under test, which keeps its calls in `folder`."""
    if subject.is_floor:
        url = f"ws://127.0.0.1:{provider_port}/v1/realtime?model=gpt-realtime"
        return ["-m", "bench.relay", "--port", str(port), "--provider", url], {}
    command = ["-m", "realtime", "serve", UNGREETED, "--host", "127.0.0.1", "--port", str(port), "--strict-port"]
    command += ["--log-level", "warning"]
    command += ["--max-calls-per-address", "2000", "--max-calls", "2000", "--max-busy", "1"]
    command += ["--store", subject.store_in(folder)]
    env = {"OPENAI_BASE_URL": f"http://127.0.0.1:{provider_port}/v1", "OPENAI_API_KEY": "bench"}
    env["BENCH_MODEL"] = "openai:gpt-realtime"
    return [*command, *subject.args], env


async def measure(subject: Subject, sessions: int, seconds: float, warm_s: float = WARM_S) -> Window:
    """The first window that nothing disturbed; where none of `1 + MAX_REPEATS` is, the one that was disturbed least."""
    disturbed: list[Window] = []
    while len(disturbed) <= MAX_REPEATS:
        window = await _measure_once(subject, sessions, seconds, warm_s)
        if not window.disturbed:
            return dataclasses.replace(window, repeats=len(disturbed))
        disturbed.append(window)
    least = min(disturbed, key=lambda one: (one.late_ms > MAX_LATE_MS, -one.calm_percent))
    return dataclasses.replace(least, repeats=MAX_REPEATS)


async def _measure_once(subject: Subject, sessions: int, seconds: float, warm_s: float) -> Window:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = subject.file(folder)
        async with contextlib.AsyncExitStack() as stack:
            children = await _start(stack, subject, sessions, folder)
            await asyncio.sleep(warm_s)
            window = await _window(subject, sessions, seconds, children)
            last_seqs: dict[str, int] = {}
            for clients in (children.talkers, children.writers) if file else ():
                if clients is not None:
                    last_seqs |= (await clients.ask("hang_up"))["last_seqs"]
        # The server is gone now, and the file is all that is left of its calls.
        if file is None:
            return window
        kept = inspect_file(file, last_seqs, sessions + subject.writers)
        return dataclasses.replace(window, kept=kept)


def inspect_file(file: Path, last_seqs: dict[str, int], calls: int) -> Kept:
    """Read every call of the file: whether it has all of them, from the first `seq` to the last that a client saw."""
    file_bytes = sum(one.stat().st_size for one in file.parent.glob(f"{file.name}*"))
    store = SqliteStore(file)
    missing = calls - len(last_seqs)
    examples = [f"{missing} calls did not tell their end"] if missing else []
    call_ms = 0
    for call_id, last_seq in last_seqs.items():
        known = store.call(call_id)
        if known is None or known.last_seq != last_seq:
            missing += 1
            examples.append(f"{call_id}: {last_seq} was the last, {known and known.last_seq} is stored")
            continue
        entries = store.read(call_id)
        known_seq = 0
        for entry in entries:
            if entry.seq != known_seq + 1:
                missing += 1
                examples.append(f"{call_id}: {known_seq + 1} to {entry.seq - 1} are not stored")
                break
            known_seq = last_seq_of(entry)
        call_ms += entries[-1].ts_ms
    store.close()
    return Kept(len(last_seqs), file_bytes, call_ms / 60_000, missing, tuple(examples[:5]))


@dataclass(frozen=True, slots=True)
class _Children:
    """The processes of one window; `rss_idle_mb` is of the server before its first call."""

    provider: Child
    server: Child
    talkers: Child
    writers: Child | None
    rss_idle_mb: float

    def load(self) -> tuple[Child, ...]:
        return (self.talkers,) if self.writers is None else (self.talkers, self.writers)

    def cpu_s(self) -> float:
        return sum(child.cpu_s() for child in (self.provider, self.server, *self.load()))


async def _start(stack: contextlib.AsyncExitStack, subject: Subject, sessions: int, folder: Path) -> _Children:
    """Start everything and wait until every call talks."""
    # Our server resamples to what the provider takes; the floor forwards what it gets.
    input_hz = "16000" if subject.is_floor else "24000"
    spoken = [] if subject.sound is None else ["--spoken"]
    provider = await stack.enter_async_context(
        running(["-m", "bench.provider", "--input-hz", input_hz, *spoken], core=LOAD_CORE, log=folder / "provider")
    )
    provider_port = (await provider.line())["port"]
    port = free_port()
    argv, env = server_command(subject, port, provider_port, folder)
    core = SERVER_CORE if subject.alone else None
    server = await stack.enter_async_context(running(argv, core=core, env=env, log=folder / "server"))
    await listening(server, port)
    await asyncio.sleep(0.3)
    rss_idle_mb = server.rss_mb()

    async def calls(mode: str, count: int) -> Child:
        command = ["-m", "bench.clients", "--port", str(port), "--calls", str(count), "--mode", mode]
        command += ["--authority", subject.authority] if subject.authority else []
        command += ["--interruption", subject.interruption] if subject.interruption else []
        command += ["--sound", subject.sound] if subject.sound else []
        clients = await stack.enter_async_context(running(command, core=LOAD_CORE, log=folder / mode))
        ready = await clients.line(60)
        if ready["talking"] != count:
            raise RuntimeError(f"{subject.name}: not all of {count} calls talk: {ready}{server.told()}")
        return clients

    writers = await calls("typed", subject.writers) if subject.writers else None
    return _Children(provider, server, await calls(subject.mode, sessions), writers, rss_idle_mb)


async def _window(subject: Subject, sessions: int, seconds: float, children: _Children) -> Window:
    provider, server, talkers = children.provider, children.server, children.talkers
    before = await provider.ask("reset")
    for clients in children.load():
        await clients.ask("begin")
    busy, stolen, ours, start = _busy_s(), stolen_s(), children.cpu_s(), asyncio.get_running_loop().time()
    cpu_s = server.cpu_s()
    await asyncio.sleep(seconds)
    cpu_s = server.cpu_s() - cpu_s
    elapsed_s = asyncio.get_running_loop().time() - start
    other_s = _busy_s() - busy - (children.cpu_s() - ours)
    withheld_s = stolen_s() - stolen
    heard = await talkers.ask("end")
    written: dict[str, Any] = {"errors": [], "ended": [], "words": 0}
    if children.writers is not None:
        written = await children.writers.ask("end")
    up = await provider.ask("stats")
    return Window(
        subject=subject.name,
        sessions=sessions,
        cost=cpu_s * 1000 / elapsed_s / (sessions + subject.writers),
        load_percent=cpu_s / elapsed_s * 100,
        rss_idle_mb=children.rss_idle_mb,
        rss_mb=server.rss_mb(),
        p50_ms=heard["p50_ms"],
        p99_ms=heard["p99_ms"],
        max_ms=heard["max_ms"],
        p99_of_all_ms=heard["p99_of_all_ms"],
        calm_percent=heard["calm_percent"],
        deltas=heard["deltas"],
        lost=heard["lost"],
        reordered=heard["reordered"],
        crossed=heard["crossed"],
        up_out_of_order=up["out_of_order"],
        flushes=heard["flushes"],
        errors=(
            *(*heard["errors"], *heard["ended"], *written["errors"], *written["ended"]),
            *_gone(before, up, sessions + subject.writers),
        ),
        late_ms=max(heard["worst_late_ms"], up["worst_late_ms"]),
        other_percent=max(0.0, other_s / elapsed_s * 100),
        stolen_percent=withheld_s / elapsed_s * 100,
        words=written["words"],
    )


def _gone(before: dict[str, Any], after: dict[str, Any], sessions: int) -> Sequence[str]:
    counts = (before["sessions"], after["sessions"], after["opened"])
    return () if counts == (sessions, sessions, sessions) else (f"provider sessions changed: {counts}",)


def _busy_s() -> float:
    """CPU time that the whole machine has used, in seconds."""
    times = psutil.cpu_times()
    return float(times.user + times.system + times.nice + getattr(times, "softirq", 0.0) + getattr(times, "irq", 0.0))
