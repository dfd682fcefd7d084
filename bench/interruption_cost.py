"""What deciding about voices over replies costs: CPU of talking sessions, beside that of sessions that never decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from bench.report import Check, Section, median
from bench.run import DETECTOR_SESSIONS, Windows, ratios
from bench.window import Subject, measure

SESSIONS = 100
PAGE_OFF, PAGE_SELECTIVE = (
    Subject(f"authority provider, page of AgentScope 1.x, {mode}", "json", "provider", interruption=mode)
    for mode in ("off", "selective")
)
OFF, SELECTIVE = (
    Subject(f"authority provider, {mode}", "native", "provider", interruption=mode) for mode in ("off", "selective")
)
SERVER_OFF, SERVER_SELECTIVE = (
    Subject(f"authority server, {mode}", "native", "server", interruption=mode) for mode in ("off", "selective")
)
Pair = tuple[Subject, Subject, int, float | None]
"""What is compared, the sessions, and the most that the second may cost of the first; None: it is published alone."""
PAIRS: tuple[Pair, ...] = (
    (PAGE_OFF, PAGE_SELECTIVE, SESSIONS, 1.03),
    (OFF, SELECTIVE, SESSIONS, None),
    (SERVER_OFF, SERVER_SELECTIVE, DETECTOR_SESSIONS, 1.1),
)
HEADER = ("server", "sessions", "CPU ms/session-s", "of off", "lowest, highest", "core busy")
HOW = (
    "Sessions as in the measurement of talking sessions, with `interruption` off and selective, by turns in each "
    "round; ratios are to the window with off of the same round. Authority provider: the provider reports a voice "
    "between two replies. A page of AgentScope 1.x cannot play a reply quieter, so all that is known of voices comes "
    "from the provider; for a native client this server listens for the onset of sounds while a reply is played. "
    "Authority server: our detector runs on all of the input, which is no speech."
)


async def measure_interruption(
    rounds: int, seconds: float, say: Callable[[str], None], pairs: Sequence[Pair] = PAIRS
) -> Section:
    """Run `rounds` rounds of windows that last `seconds`."""
    windows: Windows = {}
    for number in range(rounds):
        for off, selective, sessions, _ in pairs:
            for subject in (off, selective):
                window = await measure(subject, sessions, seconds)
                windows.setdefault((subject.name, sessions), []).append(window)
                say(f"round {number + 1}/{rounds}, {subject.name}: {window.cost:.2f} ms/s.s, {window.told}")
    section = Section("interruption", "Deciding about interruptions", HOW, HEADER)
    for off, selective, sessions, limit in pairs:
        for subject in (off, selective):
            found = windows[subject.name, sessions]
            against = ratios(windows, subject.name, sessions, off.name)
            section.rows.append(
                (
                    subject.name,
                    str(sessions),
                    f"{median([one.cost for one in found]):.2f}",
                    f"{median(against):.3f}",
                    f"{min(against):.3f}, {max(against):.3f}",
                    f"{median([one.load_percent for one in found]):.0f} %",
                )
            )
        if limit is not None:
            against = ratios(windows, selective.name, sessions, off.name)
            section.checks.append(Check(f"{selective.name}, of off", median(against), limit))
    section.data = {"windows": [asdict(window) for found in windows.values() for window in found]}
    return section
