"""Cost of the call log: one append, and many calls that a store keeps.

One process and one event loop, without sockets and models: calls log audio and words at the pace of speech, a spill
writes them. The delay of the loop is the lateness of a timer that is due every 2 ms.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.report import Check, Section, share
from realtime.event.base import AudioFormat
from realtime.event.server import AgentResponseAudioDeltaEvent, AgentResponseAudioTranscriptDeltaEvent, ServerEvent
from realtime.state.log import Log
from realtime.state.open import open_store
from realtime.state.spill import Spill
from realtime.state.store import CallInfo, Change, Store

APPEND_LIMIT_US = 10.0
AUDIO_PER_S = 25
WORDS_PER_S = 5
BEAT_S = 0.002
TURNS_PER_S = 100
"""How often the driver lets a share of the calls log."""
STORES = (None, "memory:", "file:{folder}/calls", "sqlite:{folder}/calls.db")
PCM = AudioFormat.pcm16(24_000)

HOW = (
    "Append: CPU time of one thread, best of {rounds} rounds of {runs}, with a spill reading along. Calls: {seconds:g} "
    "s each; a talking call logs 25 audio deltas and 5 of transcript a second, a writing one 5 of transcript. CPU is "
    "that of the whole process, store included, in ms per second (1,000 is one core). Held is how late a timer fires "
    "that is due every 2 ms; the row without a store is what the machine and the logging itself do to it."
)


async def measure_log(*, quick: bool = False) -> Section:
    """Measure appending, and every store with talking and writing calls."""
    runs, rounds, seconds = (5_000, 3, 1.5) if quick else (50_000, 9, 6.0)
    section = Section(
        "log",
        "The call log",
        HOW.format(rounds=rounds, runs=runs, seconds=seconds),
        ("calls", "store", "CPU ms/s", "held p99 ms", "held max ms", "writing p50 ms", "writing max ms"),
    )
    for name, event in {"audio": _audio(), "transcript": _words()}.items():
        cost = append_us(event, runs, rounds)
        section.data[f"append {name} us"] = cost
        section.checks.append(Check(f"append, {name}", cost, APPEND_LIMIT_US, " us"))
    for calls, audio_per_s, what in ((200, AUDIO_PER_S, "talking"), (1_000, 0, "writing")):
        for url in STORES:
            load = await measure_spill(url, calls, audio_per_s, seconds)
            kind = "none" if url is None else url.partition(":")[0]
            section.rows.append((f"{calls:,} {what}", kind, *load.cells()))
            section.data[f"{what} {kind}"] = load.data()
    return section


def _audio() -> ServerEvent:
    return AgentResponseAudioDeltaEvent(response_id="resp_1", item_id="item_1", delta=bytes(1_920), format=PCM)


def _words() -> ServerEvent:
    return AgentResponseAudioTranscriptDeltaEvent(
        response_id="resp_1", item_id="item_1", delta="some more words ", agent_id="agent_1", agent_name="Friday"
    )


def append_us(event: ServerEvent, runs: int, rounds: int) -> float:
    """CPU time of one append in us, with the log full and one reader as cheap as a spill's, best of `rounds`."""
    log = Log(time.monotonic)
    queued = True

    def note(_: ServerEvent) -> None:
        if not queued:
            raise AssertionError

    log.subscribe(note)
    best_ns = float("inf")
    for _ in range(rounds):
        start_ns = time.thread_time_ns()
        for _ in range(runs):
            log.append(event)
        best_ns = min(best_ns, time.thread_time_ns() - start_ns)
    return best_ns / runs / 1000


@dataclass(slots=True)
class Load:
    """The effect of a number of calls on the process. Times in ms."""

    cpu_ms_per_s: float = 0.0
    held_ms: list[float] = field(default_factory=list)
    writing_ms: list[float] = field(default_factory=list)

    def cells(self) -> Sequence[str]:
        return (
            f"{self.cpu_ms_per_s:.0f}",
            f"{share(self.held_ms, 99):.1f}",
            f"{max(self.held_ms):.1f}",
            f"{share(self.writing_ms, 50):.1f}" if self.writing_ms else "",
            f"{max(self.writing_ms):.1f}" if self.writing_ms else "",
        )

    def data(self) -> dict[str, float]:
        return {
            "cpu_ms_per_s": self.cpu_ms_per_s,
            "held_p99_ms": share(self.held_ms, 99),
            "held_max_ms": max(self.held_ms),
            "writing_p50_ms": share(self.writing_ms, 50) if self.writing_ms else 0.0,
            "writing_max_ms": max(self.writing_ms, default=0.0),
        }


async def measure_spill(url: str | None, calls: int, audio_per_s: int, seconds: float) -> Load:
    """Let `calls` calls log at the pace of speech for so long, through a spill where `url` names a store."""
    load = Load()
    logs = [Log(time.monotonic) for _ in range(calls)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as executor:
        async with asyncio.TaskGroup() as tasks:
            spill = None
            if url is not None:
                store = open_store(url.format(folder=Path(folder)))
                spill = Spill(_timed(store, load.writing_ms), executor)
                for number, log in enumerate(logs):
                    spill.add(CallInfo(call_id=f"call_{number}", owner="anna", agent_name="Friday"), log)
                await spill.flush()
                load.writing_ms.clear()
            beat = tasks.create_task(_beat(load.held_ms))
            cpu_s = time.process_time()
            await _talk(logs, audio_per_s, seconds)
            load.cpu_ms_per_s = (time.process_time() - cpu_s) * 1000 / seconds
            beat.cancel()
            if spill is not None:
                await spill.close()
                store.close()
    return load


async def _talk(logs: Sequence[Log], audio_per_s: int, seconds: float) -> None:
    """Each log in its turn, all evenly spread over the second."""
    loop = asyncio.get_running_loop()
    per_s = audio_per_s + WORDS_PER_S
    start_s = loop.time()
    course = _course(logs, audio_per_s)
    done = 0
    while (passed_s := loop.time() - start_s) < seconds:
        due = int(passed_s * per_s * len(logs))
        for _ in range(due - done):
            log, event = next(course)
            log.append(event())
        done = due
        await asyncio.sleep(1 / TURNS_PER_S)


def _course(logs: Sequence[Log], audio_per_s: int) -> Iterator[tuple[Log, Callable[[], ServerEvent]]]:
    every = audio_per_s // WORDS_PER_S + 1
    turn = 0
    while True:
        for number, log in enumerate(logs):
            yield log, _words if (turn + number) % every == 0 else _audio
        turn += 1


async def _beat(late_ms: list[float]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        due_s = loop.time() + BEAT_S
        await asyncio.sleep(BEAT_S)
        late_ms.append((loop.time() - due_s) * 1000)


@contextmanager
def _measured(times_ms: list[float]) -> Iterator[None]:
    start_s = time.monotonic()
    yield
    times_ms.append((time.monotonic() - start_s) * 1000)


def _timed(store: Store, times_ms: list[float]) -> Store:
    write = store.write

    def timed(batch: Sequence[Change]) -> None:
        with _measured(times_ms):
            write(batch)

    store.write = timed  # type: ignore[method-assign]
    return store
