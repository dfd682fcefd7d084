"""What listening costs while an agent talks, by what the microphone hears meanwhile; beside a bare relay."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import asdict

from bench.report import Check, Section, median
from bench.run import Windows, ratios
from bench.user_sounds import SOUNDS, Sound
from bench.window import BINARY, FLOOR, NATIVE, OPENAI, Subject, measure

SUBJECTS = (NATIVE, BINARY, OPENAI)
SESSIONS = 60
LIMITS: dict[tuple[str, Sound], float] = {
    (NATIVE.name, "silence"): 1.15,
    (BINARY.name, "silence"): 1.0,
    **{(NATIVE.name, sound): 1.8 for sound in SOUNDS if sound != "silence"},
    (f"{NATIVE.name}, off", "speech"): 1.15,
}
P99_LIMIT_MS = 10.0
HEADER = (
    "server",
    "microphone",
    "CPU ms/session-s",
    "of the floor",
    "lowest, highest",
    "p50 ms",
    "p99 ms",
    "core busy",
)
HOW = (
    "{sessions} sessions as in the measurement of talking sessions, with the default store and settings, but that the "
    "agent speaks words, and the microphone hears: a silent room (-60 dB below full scale); a user who talks all the "
    "time; the agent itself, 20 dB quieter and 120 ms later; an office; music. The provider reports none of it, so all "
    "listening is this server's. Ratios are to the relay of the same round."
)


def subject(base: Subject, sound: Sound, interruption: str | None = None) -> Subject:
    """The same server with this microphone."""
    suffix = "" if interruption is None else f", {interruption}"
    return dataclasses.replace(base, name=f"{base.name}{suffix}", sound=sound, interruption=interruption)


async def measure_double_talk(
    rounds: int,
    seconds: float,
    say: Callable[[str], None],
    sounds: Sequence[Sound] = SOUNDS,
    sessions: int = SESSIONS,
) -> Section:
    """Run `rounds` rounds of windows that last `seconds`."""
    section = Section("double-talk", "Listening while the agent talks", HOW.format(sessions=sessions), HEADER)
    every = []
    for sound in sounds:
        plan = [subject(one, sound) for one in (FLOOR, *SUBJECTS)]
        plan += [subject(NATIVE, sound, "off")] if sound == "speech" else []
        windows: Windows = {}
        for number in range(rounds):
            for one in plan:
                window = await measure(one, sessions, seconds)
                windows.setdefault((one.name, sessions), []).append(window)
                say(f"round {number + 1}/{rounds}, {sound}, {one.name}: {window.cost:.2f} ms/s.s, {window.told}")
        for one in plan:
            found, against = windows[one.name, sessions], ratios(windows, one.name, sessions)
            p50_ms, p99_ms = median([one.p50_ms for one in found]), median([one.p99_ms for one in found])
            section.rows.append(
                (
                    one.name,
                    sound,
                    f"{median([one.cost for one in found]):.2f}",
                    f"{median(against):.2f}",
                    f"{min(against):.2f}, {max(against):.2f}",
                    f"{p50_ms:.2f}",
                    f"{p99_ms:.2f}",
                    f"{median([one.load_percent for one in found]):.0f} %",
                )
            )
            if (limit := LIMITS.get((one.name, sound))) is not None:
                section.checks.append(Check(f"CPU of the floor, {one.name}, {sound}", median(against), limit))
                section.checks.append(Check(f"p99 delay, {one.name}, {sound}", p99_ms, P99_LIMIT_MS, " ms"))
        every += [window for found in windows.values() for window in found]
    section.checks.append(Check("lost, reordered, crossed, errors", sum(one.wrong for one in every), 0))
    section.data = {"windows": [asdict(window) for window in every]}
    return section
