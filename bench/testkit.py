"""The test kit: the speed of a replay, its repeatability, and the sweep."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import subprocess
import sys
import time
from dataclasses import dataclass

from bench.process import ROOT
from bench.report import Check, Section, median
from realtime.testing.call import play
from realtime.testing.cases.case import Case, Person
from realtime.testing.cases.stand_in import Hear, Say, StandIn
from realtime.testing.check.sweep import barge_in_sweep
from realtime.testing.client.steps import Send, Speak, Step, WaitUntilHeard
from realtime.testing.clock import VirtualLoop
from realtime.testing.record import CallRecord

AUDIO = ROOT / "fixtures" / "audio"
CALL_MS = 60_000
RUNS = 100
SWEEP_REPLY_MS = 10_000
SCRIPTED_LIMIT = 300.0
VAD_LIMIT = 100.0
SWEEP_LIMIT_S = 15.0
TEXT = "I have looked it up for you, and this is what I have found about it so far."
QUESTION, QUESTION_MS = "what_time.wav", 1_810
"""What the user says in each exchange, and how long that takes."""
ANSWER_MS = 2_400
HOW = (
    "A call of a minute: a user asks, the agent answers, and so on without a pause, the page tells what it played, "
    "all under the virtual clock; timed is `play` whole, from making the server's application to the finished record, "
    "median of all runs after one that loads files. Scripted: the client commits the turns, the words and sound of the "
    "answers are given. With the detector: the same, but the embedded model's detector listens to the whole call and "
    "finds the turns. The sums of log and sound of all runs are compared, also with those of processes that may use "
    "one core and two. The sweep interrupts an answer of 10 s every 100 ms and checks its rules."
)

ONE_RUN = """
import sys
from bench.testkit import minute, sum_of, timed
for _ in range(int(sys.argv[1])):
    print(sum_of(timed(minute(detector=sys.argv[2] == "detector"))[0]))
"""


@dataclass(frozen=True)
class Replays:
    """The same call several times."""

    name: str
    call_ms: int
    wall_s: float
    """Seconds of the median run."""
    sums: frozenset[str]
    """Checksums of log and sound; one where all runs were the same."""

    @property
    def speed(self) -> float:
        """Times real time."""
        return self.call_ms / 1000 / self.wall_s


def minute(*, detector: bool, call_ms: int = CALL_MS) -> Case:
    """Return a call of about this length without silence."""
    ask: tuple[Step, ...] = (Speak(QUESTION, text="What time is it?"),)
    if not detector:
        ask = (*ask, Send({"type": "client_audio_commit"}))
    exchanges = -(-call_ms // (QUESTION_MS + ANSWER_MS + 450))
    steps = (*ask, WaitUntilHeard()) * exchanges
    model = StandIn(
        "detector" if detector else "none",
        hears=(Hear("What time is it?"),) * exchanges,
        otherwise=Say(TEXT, ms=ANSWER_MS),
    )
    config = {} if detector else {"turn_detection": "none"}
    return Case(users=(Person(steps),), name="minute", config=config, models={"*": model})


def sum_of(record: CallRecord) -> str:
    """Return a checksum of a run's results."""
    whole = hashlib.sha256(record.log_bytes())
    for lane in record.lanes:
        whole.update(lane.pcm)
    return whole.hexdigest()


def timed(case: Case) -> tuple[CallRecord, float]:
    """The record of a run, and the seconds that it took."""
    gc.collect()
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        began_s = time.perf_counter()
        record = runner.run(play(case, folder=AUDIO, frames=False))
        return record, time.perf_counter() - began_s


def replay(name: str, *, detector: bool, runs: int) -> Replays:
    """Play the minute `runs` times, and in processes of their own on one core and on all."""
    case = minute(detector=detector)
    timed(case)
    sums, walls_s, call_ms = set(), [], 0
    for _ in range(runs):
        record, wall_s = timed(case)
        sums.add(sum_of(record))
        walls_s.append(wall_s)
        call_ms = record.duration_ms
    all_cores = os.sched_getaffinity(0)
    for cores in ({min(all_cores)}, all_cores):
        sums |= _elsewhere(cores, detector=detector, runs=max(1, runs // 20))
    return Replays(name, call_ms, median(walls_s), frozenset(sums))


def _elsewhere(cores: set[int], *, detector: bool, runs: int) -> set[str]:
    """The sums of runs in a process that may use these cores."""
    argv = [sys.executable, "-c", ONE_RUN, str(runs), "detector" if detector else "scripted"]
    done = subprocess.run(
        argv,
        cwd=ROOT,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def sweep_s(every_ms: int = 100) -> tuple[int, float]:
    """(runs, seconds) of a sweep over an answer of 10 s. Raises CheckFailed where an interruption broke a rule."""
    model = StandIn(hears=(Hear("What time is it?"), Hear("Stop.")), answers=(Say(TEXT * 2, ms=SWEEP_REPLY_MS),))
    ask = Speak(QUESTION, text="What time is it?")
    case = Case(users=(Person((ask, WaitUntilHeard())),), name="sweep", models={"*": model})
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        began_s = time.perf_counter()
        sweep = runner.run(barge_in_sweep(case, folder=AUDIO, speech=Speak("barge_in.wav"), every_ms=every_ms))
        took_s = time.perf_counter() - began_s
    sweep.raise_for_failures()
    return len(sweep.places_ms), took_s


async def measure_testkit(runs: int = RUNS, sweep_every_ms: int = 100) -> Section:
    """All of it, in a thread of its own: each run has its own loop."""
    return await asyncio.to_thread(_measure, runs, sweep_every_ms)


def _measure(runs: int, sweep_every_ms: int) -> Section:
    scripted = replay("scripted", detector=False, runs=runs)
    with_vad = replay("with the detector", detector=True, runs=runs)
    sweeps, swept_s = sweep_s(sweep_every_ms)
    section = Section("testkit", "Test kit: replaying calls", HOW, ("call", "length", "one run", "times real time"))
    for one in (scripted, with_vad):
        section.rows.append(
            (one.name, f"{one.call_ms / 1000:.1f} s", f"{one.wall_s * 1000:.0f} ms", f"{one.speed:.0f}")
        )
    section.rows.append((f"sweep, {sweeps} runs", f"{SWEEP_REPLY_MS / 1000:.0f} s", f"{swept_s:.1f} s", ""))
    section.checks = [
        Check("scripted, times real time", scripted.speed, SCRIPTED_LIMIT, at_least=True),
        Check("with the detector, times real time", with_vad.speed, VAD_LIMIT, at_least=True),
        Check(f"different logs of {runs} runs, scripted", len(scripted.sums), 1),
        Check(f"different logs of {runs} runs, with the detector", len(with_vad.sums), 1),
        Check("sweep of an answer of 10 s", swept_s, SWEEP_LIMIT_S, " s"),
    ]
    section.data = {"runs": runs, "scripted_s": scripted.wall_s, "detector_s": with_vad.wall_s, "sweep_s": swept_s}
    return section
