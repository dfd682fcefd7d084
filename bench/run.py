"""Talking sessions: what the server costs beside a bare relay, what it adds in time, and what it holds in memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict

from bench.process import ROOT
from bench.report import Check, Section, median
from bench.window import BINARY, FLOOR, JSON1, NATIVE, OPENAI, SERVER_VAD, UNKEPT, Subject, Window, measure

SUBJECTS = (FLOOR, UNKEPT, NATIVE, BINARY, JSON1, OPENAI)
"""The order within one round; every ratio is to the floor of its own round."""
DETECTOR_SESSIONS = 50
"""As many as one core can detect speech for, and some air."""
RATIO_LIMITS = {
    (NATIVE.name, 100): 1.5,
    (NATIVE.name, 200): 1.4,
    (BINARY.name, 100): 1.4,
    (BINARY.name, 200): 1.25,
    (OPENAI.name, 100): 1.5,
    (OPENAI.name, 200): 1.5,
}
STORE_LIMIT = 1.05
"""CPU with the default store, beside none."""
P99_LIMIT_MS = 10.0
FULL_PERCENT = 80.0
"""Of the server's core: with more, a delay is the length of a queue, which grows with every percent."""
IDLE_LIMIT_MB = 90.0
SESSION_LIMIT_KB = 150.0
"""Beyond `IDLE_LIMIT_MB`, for each talking session."""
IMPORT_LIMIT_S = 0.2
IMPORT_RUNS = 5

Windows = dict[tuple[str, int], list[Window]]

HOW = (
    "N sessions that talk both ways without pause in real time: up 16 kHz pcm16 in 40 ms chunks (through the OpenAI "
    "endpoint 24 kHz, since that protocol has no other pcm), down 24 kHz in 40 ms deltas with 5 transcript deltas a "
    "second, whole turns with 400 ms between them, playback acknowledged every 100 ms. The provider is emulated on a "
    "real loopback WebSocket (OpenAI's GA frames with its own turn detection, base64 in JSON); audio is resampled to "
    "24 kHz, the log and the playback clock are on, and calls are kept in a SQLite file, as `realtime serve` does, "
    "but for those of `--store none`. The server runs alone on one core. Floor: a Starlette relay under "
    "uvicorn and uvloop that forwards frames unparsed over the same provider leg, deflate off. Each round runs the "
    "floor and then every server in fresh processes; ratios are to the floor of the same round, the table gives the "
    "median round. Delay is from the provider's write to the client's read, in the quarters of a second in which, and "
    "before which, the host of the virtual machine withheld nothing (`calm`: how many those were). A window with less "
    "than a tenth of such, or in which a load generator was more than 30 ms late, is repeated; where no repetition was "
    "better, the one disturbed least is in the table, and delays are judged by the others, if there are any: at the "
    "most sessions with which the server's core was at most 80 % busy. With authority `server` the up stream is no "
    "speech: the detector runs on all of it and the provider gets none of it."
)


async def measure_talk(
    sessions: Sequence[int],
    rounds: int,
    seconds: float,
    say: Callable[[str], None],
    subjects: Sequence[Subject] = SUBJECTS,
    detector_sessions: int = DETECTOR_SESSIONS,
) -> Section:
    """Run `rounds` rounds of `seconds` long windows at each number of sessions.

    `detector_sessions`: how many talk to our own detector; 0 leaves that out.
    """
    plan = [(n, subject) for n in sessions for subject in subjects]
    if detector_sessions:
        plan += [one for one in ((detector_sessions, FLOOR), (detector_sessions, SERVER_VAD)) if one not in plan]
    windows: Windows = {}
    for number in range(rounds):
        for n, subject in plan:
            window = await measure(subject, n, seconds)
            windows.setdefault((subject.name, n), []).append(window)
            say(f"round {number + 1}/{rounds}, {n} sessions, {subject.name}: {window.cost:.2f} ms/s.s, {window.told}")
    import_s = measure_import()
    section = Section("talk", "Talking sessions", HOW, HEADER, _rows(windows))
    section.checks = [*checks_of(windows), Check("import realtime", import_s, IMPORT_LIMIT_S, " s")]
    section.data = {
        "import_s": import_s,
        "windows": [asdict(window) for found in windows.values() for window in found],
    }
    return section


HEADER = (
    "server",
    "sessions",
    "CPU ms/session-s",
    "of the floor",
    "lowest, highest",
    "p50 ms",
    "p99 ms",
    "max ms",
    "core busy",
    "calm",
    "lost, reordered",
    "idle MB",
    "kB/session",
)


def ratios(windows: Windows, name: str, sessions: int, base: str = FLOOR.name) -> list[float]:
    """CPU of each round's window divided by that of the same round's window of `base`, the floor."""
    bases = windows[base, sessions]
    return [one.cost / other.cost for one, other in zip(windows[name, sessions], bases, strict=True)]


def _rows(windows: Windows) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for (name, sessions), found in sorted(windows.items(), key=lambda one: one[0][1]):
        against = ratios(windows, name, sessions)
        lost, reordered = sum(one.lost for one in found), sum(one.reordered + one.up_out_of_order for one in found)
        rows.append(
            (
                name,
                str(sessions),
                f"{median([one.cost for one in found]):.2f}",
                f"{median(against):.2f}",
                f"{min(against):.2f}, {max(against):.2f}",
                f"{median([one.p50_ms for one in found]):.2f}",
                f"{median([one.p99_ms for one in found]):.2f}",
                f"{max(one.max_ms for one in found):.1f}",
                f"{median([one.load_percent for one in found]):.0f} %",
                f"{median([one.calm_percent for one in found]):.0f} %",
                f"{lost}, {reordered}",
                f"{median([one.rss_idle_mb for one in found]):.0f}",
                f"{median([one.per_session_kb for one in found]):.0f}",
            )
        )
    return rows


def checks_of(windows: Windows) -> list[Check]:
    """What the windows keep of the limits."""
    checks = []
    for (name, sessions), limit in RATIO_LIMITS.items():
        if (name, sessions) in windows:
            ratio = median(ratios(windows, name, sessions))
            checks.append(Check(f"CPU of the floor, {name}, {sessions} sessions", ratio, limit))
    for n in sorted({n for name, n in windows if name == UNKEPT.name and (NATIVE.name, n) in windows}):
        added = median(ratios(windows, NATIVE.name, n, UNKEPT.name))
        checks.append(Check(f"CPU of the default store over none, {n} sessions", added, STORE_LIMIT))
    ours = {key: found for key, found in windows.items() if key[0] != FLOOR.name}
    for name in dict.fromkeys(name for name, _ in ours):
        sessions = _most_below_full({n: found for (one, n), found in ours.items() if one == name})
        found = ours[name, sessions]
        judged = [one for one in found if not one.disturbed] or found
        what = f"p99 delay, {name}, {sessions} sessions, {median([one.load_percent for one in judged]):.0f} % of a core"
        checks.append(Check(what, median([one.p99_ms for one in judged]), P99_LIMIT_MS, " ms"))
    every = [window for found in ours.values() for window in found]
    checks.append(Check("lost, reordered, crossed, errors in all windows", sum(one.wrong for one in every), 0))
    plain = [one for one in every if one.subject != SERVER_VAD.name]
    if plain:
        checks.append(Check("idle memory", max(one.rss_idle_mb for one in plain), IDLE_LIMIT_MB, " MB"))
        for n in sorted({one.sessions for one in plain}):
            most_mb = max(one.rss_mb for one in plain if one.sessions == n)
            limit_mb = IDLE_LIMIT_MB + n * SESSION_LIMIT_KB / 1000
            checks.append(Check(f"memory with {n} talking sessions", most_mb, limit_mb, " MB"))
    return checks


def _most_below_full(by_sessions: dict[int, list[Window]]) -> int:
    """The most sessions with which the core was not full; the fewest where it always was."""
    below = [n for n, found in by_sessions.items() if median([one.load_percent for one in found]) <= FULL_PERCENT]
    return max(below) if below else min(by_sessions)


def measure_import() -> float:
    """Seconds that `import realtime` adds to the start of Python, median of five."""

    def once(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
        return time.perf_counter() - start

    once("import realtime")
    return median([once("import realtime") - once("pass") for _ in range(IMPORT_RUNS)])
