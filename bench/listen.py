"""How well an agent listens: a thousand stimuli over replies, in virtual time, scored by `realtime.testing.score`.

Needs the extra `local`.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

from bench.listen_calls import Heard, ModelName, Outcome, grouped, hear
from bench.listen_words import RememberingRecognizer, remembering_engine
from bench.process import ROOT
from bench.report import Check, Section
from bench.stimuli import Varied, backwards, drawn
from realtime.event.config import InterruptionMode, TurnAuthority
from realtime.model.local.engine import SpeechEngine
from realtime.server.folders import cache_folder
from realtime.testing.score.board import Score
from realtime.testing.score.numbers import Rate
from realtime.testing.score.tau_voice import TauVoice

Call = TypeVar("Call")
Done = TypeVar("Done")
PAGE = ROOT / "docs" / "listening.md"
COUNT = 1_000
CONTROL_SHARE = 0.1
"""Share of the stimuli that the control arms get."""
PROVIDER_SHARE = 0.2
CHECKED = 100
"""Kept transcripts that are recognised again."""
WORKERS = 2
FREQUENT = 20
HEADER = (
    "arm",
    "stimuli",
    "R_Y",
    "L_Y median, p90",
    "S_BC",
    "S_VT",
    "S_ND",
    "S_ND far",
    "noises",
    "false ends",
    "EVA",
    "resumed",
    "went on",
)
HOW = (
    "Stimuli of fixtures/audio/listening over replies of 10 s, 0.3 to 6 s after their first sound, in calls of at "
    "most five in virtual time. Each differs by seed in gain (4 dB), pace (10 %) and channel, which is that of its "
    "call: clean, telephone (mu-law, 8 kHz) or noise (15 dB); eight of ten side remarks come from elsewhere (another "
    "voice, always 10 dB quieter, 0.3 s of reverberation). Counted as by tau-voice, in ticks of 10 ms of what was "
    "played; a stimulus that asks for nothing counts as ignored only if the reply plays to its end, an interruption "
    "only if it is answered. Held out: wordings and voices that no setting was chosen by, but for three wordings that "
    "the lists of words know ('Ah, I see.', 'Oh, okay.', 'I wanted to ask whether'). Recognition is looked up by "
    "hash of sound and context; each run gives the same numbers. OpenAI, Gemini, DashScope: the codec of the protocol "
    "against an emulated service, 25 ms away, that detects voices by Silero and reports the words at the end of a "
    "turn; this server recognises none itself, unless the arm says so. Gemini leaves voices to this server's "
    "detector; with its own it stops by itself at each voice. Backwards: interruptions played backwards, of which "
    "recognition still makes words at times. Resumed: replies that went on after a sound that asks for nothing had "
    "stopped them. Went on: of the sounds that were dismissed, at once or after a stop, those at which the reply was "
    "at its full level again within 0.5 s of their end; with the median and 90th percentile of that delay. Control "
    "arms: no voice stops a reply, or each one does."
)
RATES: dict[str, Callable[[TauVoice], Rate]] = {
    "R_Y": lambda tau: tau.yield_rate,
    "S_BC": lambda tau: tau.backchannels,
    "S_VT": lambda tau: tau.tics,
    "S_ND": lambda tau: tau.side,
    "S_ND, far voice": lambda tau: tau.far,
}
GOALS = {"R_Y": 0.95, "S_BC": 0.85, "S_VT": 0.85, "S_ND": 0.6, "S_ND, far voice": 0.8}


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to listen."""

    name: str
    model: ModelName
    mode: InterruptionMode
    share: float = 1.0
    """Share of the stimuli."""
    at_least: Mapping[str, float] = field(default_factory=dict)
    """The least of each rate, by its name in `RATES`."""
    authority: TurnAuthority | None = None
    draw: Callable[[int], list[Varied]] = drawn
    """Returns about this many stimuli."""
    recognises: bool = True
    """Whether this server recognises voices over replies itself; else their words come from the model alone."""


ARMS = (
    Arm("embedded, selective", "embedded", "selective", at_least=GOALS),
    Arm("scripted, selective", "scripted", "selective", PROVIDER_SHARE),
    Arm("OpenAI", "openai", "selective", PROVIDER_SHARE, recognises=False),
    Arm("Gemini", "gemini", "selective", PROVIDER_SHARE, recognises=False),
    Arm("DashScope", "dashscope", "selective", PROVIDER_SHARE, recognises=False),
    Arm("OpenAI, words from here", "openai", "selective", PROVIDER_SHARE),
    Arm("Gemini, its own detector", "gemini", "selective", CONTROL_SHARE, authority="provider"),
    Arm("embedded, backwards", "embedded", "selective", CONTROL_SHARE, draw=backwards),
    Arm("control: stops at once", "embedded", "immediate", CONTROL_SHARE, {"R_Y": 0.95}),
    Arm("control: never stops", "embedded", "off", CONTROL_SHARE, dict.fromkeys([*RATES][1:], 1.0)),
)


@dataclass(frozen=True, slots=True)
class Played:
    """One call that was played."""

    heard: Heard
    checked: int
    different: int


@dataclass(frozen=True, slots=True)
class Job:
    """A call to play in an arm; `check` kept transcripts are to be recognised again."""

    stimuli: Sequence[Varied]
    check: int
    arm: Arm


async def measure_listen(
    count: int = COUNT,
    say: Callable[[str], None] = lambda _: None,
    *,
    words: Path | None = None,
    workers: int = WORKERS,
    arms: Sequence[Arm] = ARMS,
) -> Section:
    """Play the arms. `words` is the file of kept transcripts; with `workers` 1 all happens in this process.

    Times are limited, wrong decisions listed and transcripts checked in the first arm.
    """
    file = words or cache_folder() / "bench-listen.sqlite3"
    return await asyncio.to_thread(_measure, count, say, file, workers, arms)


def _measure(count: int, say: Callable[[str], None], file: Path, workers: int, arms: Sequence[Arm]) -> Section:
    section = Section("listen", "Measured: what stops a reply", HOW, HEADER, page=PAGE)
    with players(workers, partial(_play_call, file=file)) as play:
        for arm in arms:
            calls = grouped(arm.draw(round(count * arm.share)))
            say(f"{arm.name}: {len(calls)} calls")
            per_call = -(-CHECKED // len(calls)) if arm is arms[0] else 0
            jobs = [Job(call, per_call if at * per_call < CHECKED else 0, arm) for at, call in enumerate(calls)]
            played = [*play(jobs)]
            heard = [one.heard for one in played]
            section.rows.append(_row(arm.name, heard))
            outcomes = [outcome for one in heard for outcome in one.outcomes]
            section.data[arm.name] = {
                "outcomes": [asdict(one) for one in outcomes],
                "unplaced": sum(one.unplaced for one in heard),
                "surely_missed": _surely_missed(arm, heard),
            }
            if arm is not arms[0]:
                section.checks += _rate_checks(arm, heard, f"{arm.name}: ")
                continue
            held_out = [one for one in heard if any(outcome.held_out for outcome in one.outcomes)]
            section.rows.append(_row(f"{arm.name}, held out", held_out))
            checked = sum(one.checked for one in played)
            different = sum(one.different for one in played)
            section.checks += [
                *_rate_checks(arm, heard),
                *_further_checks(heard),
                Check(f"different transcripts of {checked} kept ones", different, 0),
            ]
            section.data["wrong"] = wrong_decisions(outcomes)
            for line in section.data["wrong"]:
                say(line)
    return section


@contextmanager
def players(workers: int, play: Callable[[Call], Done]) -> Iterator[Callable[[Sequence[Call]], Iterator[Done]]]:
    """Yield what plays calls, in this process or in several."""
    if workers == 1:
        yield lambda calls: map(play, calls)
        return
    # Each has a core: more threads of the arithmetic would wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Forked processes would share the threads of the speech parts, which do not survive that.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        yield lambda calls: pool.map(play, calls)


def _play_call(job: Job, *, file: Path) -> Played:
    arm, engine = job.arm, remembered(file)
    recognizer = engine.load().recognizer
    assert isinstance(recognizer, RememberingRecognizer)
    recognizer.check_next(job.check)
    heard = hear(
        job.stimuli, engine, model=arm.model, mode=arm.mode, authority=arm.authority, recognises=arm.recognises
    )
    return Played(heard, recognizer.checked, recognizer.different)


@cache
def remembered(file: Path) -> SpeechEngine:
    """Return the speech parts of this process, with recognition kept in `file`."""
    engine = remembering_engine(file)
    engine.load()
    return engine


def _row(name: str, heard: Sequence[Heard]) -> tuple[str, ...]:
    score = Score(tuple(one.scene for one in heard))
    tau = score.tau_voice_fine
    latency = tau.yield_latency
    count = sum(len(one.outcomes) for one in heard)
    times = "" if latency.median_ms is None else f"{latency.median_ms:.0f}, {latency.p90_ms:.0f} ms"
    rates = (tau.backchannels, tau.tics, tau.side, tau.far, tau.noise, score.turn_ends.false_ends)
    eva = "" if score.eva.score is None else f"{score.eva.score:.2f}"
    resumed = _share(score.overlaps.resumed)
    return name, str(count), _share(tau.yield_rate), times, *map(_share, rates), eva, resumed, _gone_on(score)


def _gone_on(score: Score) -> str:
    """Return how often a reply went on in time after a dismissal, and how late."""
    delay = score.overlaps.gone_on_delay
    times = "" if delay.median_ms is None else f", {delay.median_ms:.0f}, {delay.p90_ms:.0f} ms"
    return f"{_share(score.overlaps.gone_on)}{times}"


def _share(rate: Rate) -> str:
    return "" if rate.value is None else f"{rate.value:.2f} ({rate.hits}/{rate.total})"


def _rate_checks(arm: Arm, heard: Sequence[Heard], prefix: str = "") -> list[Check]:
    tau = Score(tuple(one.scene for one in heard)).tau_voice_fine
    return [
        Check(prefix + name, rate, limit, at_least=True)
        for name, limit in arm.at_least.items()
        if (rate := RATES[name](tau).value) is not None
    ]


def _surely_missed(arm: Arm, heard: Sequence[Heard]) -> list[str]:
    """Return the rates whose whole interval is below their limit: few stimuli show no more than that."""
    tau = Score(tuple(one.scene for one in heard)).tau_voice_fine
    intervals = {name: RATES[name](tau).interval for name in arm.at_least}
    return [name for name, found in intervals.items() if found is not None and found[1] < arm.at_least[name] - 1e-9]


def _further_checks(heard: Sequence[Heard]) -> list[Check]:
    score = Score(tuple(one.scene for one in heard))
    latency, over = score.tau_voice_fine.yield_latency, score.overlaps
    checks = [
        Check("L_Y, mean", latency.mean_ms or 0.0, 800, " ms"),
        Check("onset to duck, p90", over.duck.p90_ms or 0.0, 100, " ms"),
        Check("onset to flush, median", over.flush.median_ms or 0.0, 600, " ms"),
        Check("onset to flush, p90", over.flush.p90_ms or 0.0, 900, " ms"),
        Check("EVA", score.eva.score or 0.0, 0.9, at_least=True),
    ]
    rates = {
        "went on within 0.5 s of a dismissed sound": (over.gone_on, 0.95),
        "resumed, each word once": (over.rests, 1),
    }
    checks += [
        Check(name, rate.value, limit, at_least=True) for name, (rate, limit) in rates.items() if rate.value is not None
    ]
    return checks


def wrong_decisions(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the most frequent wrong decisions with their reasons and what was recognised."""
    groups: dict[tuple[str, str, str, str], list[Outcome]] = {}
    for one in outcomes:
        if (one.kind == "interruption") != (one.state == "confirmed"):
            about = one.kind, one.text or one.stimulus_id, one.state or "no voice", one.reason
            groups.setdefault(about, []).append(one)
    frequent = sorted(groups.items(), key=lambda group: -len(group[1]))[:FREQUENT]
    return [
        f"{len(wrong)} x {kind} {text!r}: {state} {reason}; "
        + ", ".join(sorted({f"{one.channel} {one.words!r} {one.level_db:+.0f} dB" for one in wrong}))
        for (kind, text, state, reason), wrong in frequent
    ]
