"""How well an agent listens: a thousand stimuli over replies, in virtual time, scored by `realtime.testing.score`.

Needs the extra `local`.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path

from bench.listen_calls import Heard, ModelName, Outcome, grouped, hear
from bench.listen_words import RememberingRecognizer, remembering_engine
from bench.process import ROOT
from bench.report import Check, Section
from bench.stimuli import Varied, drawn
from realtime.event.config import InterruptionMode
from realtime.model.local.engine import SpeechEngine
from realtime.server.folders import cache_folder
from realtime.testing.score.board import Score
from realtime.testing.score.numbers import Rate

PAGE = ROOT / "docs" / "listening.md"
COUNT = 1_000
CONTROL_SHARE = 0.2
"""Share of the stimuli that the control arms get."""
CHECKED = 100
"""Kept transcripts that are recognised again."""
WORKERS = 2
FREQUENT = 10
HEADER = ("arm", "stimuli", "R_Y", "L_Y median, p90", "S_BC", "S_VT", "S_ND", "S_ND far", "noises", "false ends")
HOW = (
    "Stimuli of fixtures/audio/listening over replies of 10 s, 0.3 to 6 s after their first sound, in calls of five in "
    "virtual time. Each differs by seed in gain (4 dB), pace (10 %) and channel: clean, telephone (mu-law, 8 kHz) or "
    "noise (15 dB); eight of ten side remarks come from elsewhere (another voice, always 10 dB quieter, 0.3 s of "
    "reverberation). Counted as by tau-voice, in ticks of 10 ms of what was played; a stimulus that asks for nothing "
    "counts as ignored only if the reply plays to its end, an interruption only if it is answered. Held out: wordings "
    "and voices that no setting was chosen by. Recognition is looked up by hash of sound and context; each run gives "
    "the same numbers. Control arms: no voice stops a reply, or each one does."
)


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to listen."""

    name: str
    model: ModelName
    mode: InterruptionMode
    share: float = 1.0
    """Share of the stimuli."""


ARMS = (
    Arm("embedded, selective", "embedded", "selective"),
    Arm("scripted, selective", "scripted", "selective", CONTROL_SHARE),
    Arm("control: stops at once", "embedded", "immediate", CONTROL_SHARE),
    Arm("control: never stops", "embedded", "off", CONTROL_SHARE),
)


@dataclass(frozen=True, slots=True)
class Part:
    """What one process has played."""

    heard: tuple[Heard, ...]
    checked: int
    different: int


async def measure_listen(
    count: int = COUNT,
    say: Callable[[str], None] = lambda _: None,
    *,
    words: Path | None = None,
    workers: int = WORKERS,
    arms: Sequence[Arm] = ARMS,
) -> Section:
    """Play the arms. `words` is the file of kept transcripts; with `workers` 1 all happens in this process.

    Limits and wrong decisions are those of the first arm.
    """
    file = words or cache_folder() / "bench-listen.sqlite3"
    return await asyncio.to_thread(_measure, count, say, file, workers, arms)


def _measure(count: int, say: Callable[[str], None], file: Path, workers: int, arms: Sequence[Arm]) -> Section:
    section = Section("listen", "Measured: what stops a reply", HOW, HEADER, page=PAGE)
    checked = different = 0
    for arm in arms:
        calls = grouped(drawn(round(count * arm.share)))
        say(f"{arm.name}: {len(calls)} calls")
        parts = _played(calls, arm, file, workers)
        heard = [one for part in parts for one in part.heard]
        checked += sum(part.checked for part in parts)
        different += sum(part.different for part in parts)
        section.rows.append(_row(arm.name, heard))
        outcomes = [outcome for one in heard for outcome in one.outcomes]
        section.data[arm.name] = {
            "outcomes": [asdict(one) for one in outcomes],
            "unplaced": sum(one.unplaced for one in heard),
        }
        if arm is arms[0]:
            held_out = [one for one in heard if any(outcome.held_out for outcome in one.outcomes)]
            section.rows.append(_row(f"{arm.name}, held out", held_out))
            section.checks += _checks(heard)
            section.data["wrong"] = wrong_decisions(outcomes)
            for line in section.data["wrong"]:
                say(line)
    section.checks.append(Check(f"different transcripts of {checked} kept ones", different, 0))
    return section


def _played(calls: Sequence[Sequence[Varied]], arm: Arm, file: Path, workers: int) -> list[Part]:
    work = partial(_play_calls, arm=arm, file=file, checked=CHECKED // workers)
    shares = [calls[at::workers] for at in range(workers)]
    if workers == 1:
        return [work(shares[0])]
    # Forked processes would share the threads of the speech parts, which do not survive that.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        return [*pool.map(work, shares)]


def _play_calls(calls: Sequence[Sequence[Varied]], *, arm: Arm, file: Path, checked: int) -> Part:
    engine = _engine(file, checked)
    heard = tuple(hear(call, engine, model=arm.model, mode=arm.mode) for call in calls)
    recognizer = engine.load().recognizer
    if not isinstance(recognizer, RememberingRecognizer):
        return Part(heard, 0, 0)
    return Part(heard, *recognizer.take_counts())


@cache
def _engine(file: Path, checked: int) -> SpeechEngine:
    engine = remembering_engine(file, checked=checked)
    engine.load()
    return engine


def _row(name: str, heard: Sequence[Heard]) -> tuple[str, ...]:
    score = Score(tuple(one.scene for one in heard))
    tau = score.tau_voice_fine
    latency = tau.yield_latency
    count = sum(len(one.outcomes) for one in heard)
    times = "" if latency.median_ms is None else f"{latency.median_ms:.0f}, {latency.p90_ms:.0f} ms"
    rates = (tau.backchannels, tau.tics, tau.side, tau.far, tau.noise, score.turn_ends.false_ends)
    return name, str(count), _share(tau.yield_rate), times, *map(_share, rates)


def _share(rate: Rate) -> str:
    return "" if rate.value is None else f"{rate.value:.2f} ({rate.hits}/{rate.total})"


def _checks(heard: Sequence[Heard]) -> list[Check]:
    tau = Score(tuple(one.scene for one in heard)).tau_voice_fine
    latency = tau.yield_latency
    limits = (
        ("R_Y", tau.yield_rate.value, 0.95),
        ("S_BC", tau.backchannels.value, 0.85),
        ("S_VT", tau.tics.value, 0.85),
        ("S_ND", tau.side.value, 0.6),
        ("S_ND, far voice", tau.far.value, 0.8),
    )
    checks = [Check(name, value or 0.0, limit, at_least=True) for name, value, limit in limits]
    return [
        *checks,
        Check("L_Y, mean", latency.mean_ms or 0.0, 800, " ms"),
        Check("L_Y, median", latency.median_ms or 0.0, 600, " ms"),
        Check("L_Y, p90", latency.p90_ms or 0.0, 900, " ms"),
    ]


def wrong_decisions(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the most frequent wrong decisions with their reasons and what was recognised."""
    wrong = [one for one in outcomes if (one.kind == "interruption") != (one.state == "confirmed")]
    groups = Counter(map(_group, wrong))
    return [
        f"{times} x {kind} {text!r}: {state or 'no voice'} {reason}; "
        + ", ".join(
            sorted({f"{one.channel} {one.words!r}" for one in wrong if _group(one) == (kind, text, state, reason)})
        )
        for (kind, text, state, reason), times in groups.most_common(FREQUENT)
    ]


def _group(one: Outcome) -> tuple[str, str, str, str]:
    return one.kind, one.text or one.stimulus_id, one.state, one.reason
