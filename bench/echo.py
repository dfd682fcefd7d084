"""An agent that hears itself: replies through a loudspeaker and a room back into the microphone, in virtual time.

Needs the extra `local`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from bench.listen import players, remembered
from bench.listen_calls import ANSWER_MS, LEAD_MS, REPLY, REPLY_MS, Heard, Script, hear_script, question_pcm
from bench.process import ROOT
from bench.report import Check, Section, median
from bench.stimuli import FOLDER, RATE_HZ, Sound, Varied, drawn, manifest, question
from realtime.agent.echo_watch import COMPARED_MS, PATH_MS
from realtime.audio.echo import EchoMeter
from realtime.audio.echo_canceller import EchoCanceller
from realtime.audio.far_end import FarEnd
from realtime.audio.files import read_pcm16
from realtime.audio.playback import AcknowledgedPlayback
from realtime.server.folders import cache_folder
from realtime.testing.client.echo_path import EchoPath
from realtime.testing.client.steps import BargeIn, Loudspeaker, Silence, Speak
from realtime.testing.score.board import Score
from realtime.turn.small_talk import tokens_of

LEVELS_DB = (-6, -12, -20, -30, -40)
DELAYS_MS = (40, 120, 250)
FIRST_LEVELS_DB = (-20, -30, -40, -50)
"""Of the loudspeaker in calls in which the agent speaks first, and no user ever."""
ALONE_MS = 30_000
LEAST_WORDS = 3
PER_CALL = 8
"""Interruptions of a call; as many replies are left alone."""
PLACES_MS = (1_500, 3_000, 4_500, 6_000)
"""How much of a reply was heard at its interruption."""
FRAME_MS = 20
ACK_EVERY_MS = 100
SETTLED_S = 4
SECONDS = 12
RUNS = 50
NOISE = 20.0
"""RMS of the room's noise: 64 dB below full scale."""
YIELDS = 0.95
MAY_CANCEL: dict[str, dict[str, object]] = {
    "by itself": {},
    "off": {"audio": {"echo_cancellation": "off"}},
}
HOW = (
    "Calls with the embedded model and default settings, in virtual time. The page plays the replies (10 s each), and "
    "its microphone hears them: level relative to what is played, {delays} ms late, through a synthetic room of 0.25 "
    "s. In each call a user of the stimuli asks, hears a whole reply and interrupts the next one after 1.5 to 6 s, "
    "{per_call} times. Canceller by itself: nothing is asked for, the server switches it on when it has found the "
    "echo; off: the client forbids it, so only likeness and words protect. Self-interruptions: replies that a voice "
    "stopped where no user spoke. Echo words: words in transcripts of the user that repeat three or more words of the "
    "reply in a row and were not said. R_Y and L_Y as by bench listen; the first row has no echo. Recognition is "
    "looked up by hash; each run gives the same numbers. Agent first: the agent greets, no user answers. ERLE: by "
    "how much the canceller lowers the echo alone, 4 to 12 s after its start, behind a client that acknowledges every "
    "100 ms. CPU: of one core."
)
HEADER = (
    "echo",
    "canceller",
    "agent spoke",
    "self-interruptions",
    "per minute",
    "echo words",
    "R_Y",
    "L_Y median, p90",
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One call: its echo, whether it is cancelled, and who interrupts."""

    level_db: int | None
    delay_ms: int
    canceller: str
    stimuli: tuple[Varied, ...] = field(repr=False)


async def measure_echo(
    levels_db: Sequence[int] = LEVELS_DB,
    delays_ms: Sequence[int] = DELAYS_MS,
    say: Callable[[str], None] = lambda _: None,
    *,
    words: Path | None = None,
    workers: int = 2,
    per_call: int = PER_CALL,
) -> Section:
    """Play the calls, and measure the canceller alone."""
    file = words or cache_folder() / "bench-listen.sqlite3"
    return await asyncio.to_thread(_measure, levels_db, delays_ms, say, file, workers, per_call)


def _measure(
    levels_db: Sequence[int],
    delays_ms: Sequence[int],
    say: Callable[[str], None],
    file: Path,
    workers: int,
    per_call: int,
) -> Section:
    how = HOW.format(delays=", ".join(map(str, delays_ms)), per_call=per_call)
    section = Section("echo", "Measured: an agent that hears itself", how, HEADER, page=ROOT / "docs" / "listening.md")
    with players(workers, partial(_play, file=file)) as play:
        alone = _row(section, play, [(None, delay_ms, "by itself") for delay_ms in delays_ms], per_call, say)
        for canceller in MAY_CANCEL:
            calls: list[Heard] = []
            for level_db in levels_db:
                calls += _row(section, play, [(level_db, delay_ms, canceller) for delay_ms in delays_ms], per_call, say)
            section.checks += _checks(canceller, calls, alone)
    section.checks += first_checks(play_first(workers, file, delays_ms))
    for level_db in levels_db:
        measured = [erle_db(level_db, delay_ms) for delay_ms in delays_ms]
        section.data[f"erle {level_db}"] = measured
        section.checks.append(Check(f"ERLE at {level_db} dB, median of the delays", median(measured), None, " dB"))
    section.checks += _costs()
    return section


def _row(
    section: Section,
    play: Callable[[Sequence[Cell]], Iterator[Heard]],
    cells: Sequence[tuple[int | None, int, str]],
    per_call: int,
    say: Callable[[str], None],
) -> list[Heard]:
    """Play the calls of one level, one per delay, with the same interruptions at all levels."""
    level_db, _, canceller = cells[0]
    name = "none" if level_db is None else f"{level_db} dB"
    say(f"{name}, {canceller}: {len(cells)} calls")
    stimuli = interruptions(per_call * len(cells))
    heard = [*play([Cell(*cell, tuple(stimuli[at * per_call :][:per_call])) for at, cell in enumerate(cells)])]
    score = Score(tuple(one.scene for one in heard))
    tau, own = score.tau_voice_fine, score.overlaps
    latency = tau.yield_latency
    echoed = [words for one in heard for words in _echoed(one)]
    section.rows.append(
        (
            name,
            "" if level_db is None else canceller,
            f"{spoken_s(heard):.0f} s",
            str(own.self_interruptions.hits),
            f"{own.self_interruptions_per_minute or 0:.2f}",
            str(sum(map(len, map(str.split, echoed)))),
            "" if tau.yield_rate.value is None else f"{tau.yield_rate.hits}/{tau.yield_rate.total}",
            "" if latency.median_ms is None else f"{latency.median_ms:.0f}, {latency.p90_ms:.0f} ms",
        )
    )
    say("; ".join(f"{title} {cell}" for title, cell in zip(HEADER, section.rows[-1], strict=True)))
    section.data[f"{name} {canceller}"] = {
        "decisions": own.decisions,
        "echo words": echoed,
        "transcripts": [text for one in heard for text in one.transcripts],
        "wrong": [
            f"{one.id}: {one.state or 'no voice'} {one.reason} {one.words!r}"
            for call in heard
            for one in call.outcomes
            if one.state != "confirmed"
        ],
    }
    return heard


def _checks(canceller: str, heard: Sequence[Heard], alone: Sequence[Heard]) -> Iterator[Check]:
    """Yield the limits of all calls of one arm; `alone` are those without an echo."""
    score, quiet = Score(tuple(one.scene for one in heard)), Score(tuple(one.scene for one in alone))
    tau, without = score.tau_voice_fine, quiet.tau_voice_fine
    prefix = f"canceller {canceller}: "
    yield Check(f"{prefix}minutes that the agent spoke", spoken_s(heard) / 60, None)
    yield Check(f"{prefix}self-interruptions", score.overlaps.self_interruptions.hits, 0)
    yield Check(f"{prefix}echo words in transcripts", sum(len(_echoed(one)) for one in heard), 0)
    yield Check(f"{prefix}R_Y", tau.yield_rate.value or 0.0, YIELDS, at_least=True)
    yield Check(
        f"{prefix}R_Y, less that without echo", (tau.yield_rate.value or 0) - (without.yield_rate.value or 0), None
    )
    if tau.yield_latency.median_ms is not None and without.yield_latency.median_ms is not None:
        more_ms = tau.yield_latency.median_ms - without.yield_latency.median_ms
        yield Check(f"{prefix}L_Y median, more than without echo", more_ms, None, " ms")


def play_first(workers: int, file: Path, delays_ms: Sequence[int]) -> list[Heard]:
    """Play calls in which the agent greets and no user answers."""
    with players(workers, partial(_greet, file=file)) as play:
        return [*play([(level_db, delay_ms) for level_db in FIRST_LEVELS_DB for delay_ms in delays_ms])]


def _greet(cell: tuple[int, int], *, file: Path) -> Heard:
    script = Script(steps=[Loudspeaker(*cell), Silence(ALONE_MS)], asks={1, 2})
    return hear_script(script, remembered(file), model="embedded", mode="selective", greeting="Say hello.")


def first_checks(heard: Sequence[Heard]) -> Iterator[Check]:
    """Yield the limits of calls in which only the agent speaks."""
    stopped = Score(tuple(one.scene for one in heard)).overlaps.self_interruptions.hits
    yield Check(f"agent first, {len(heard)} calls: self-interruptions", stopped, 0)
    yield Check("agent first: words in transcripts", sum(len(one.transcripts) for one in heard), 0)


def interruptions(count: int) -> list[Varied]:
    """Return this many interruptions, each wording and voice as often as others."""
    found = [one for one in drawn(round(count / 0.22) + 5) if one.stimulus.kind == "interruption"]
    return found[:count]


def spoken_s(heard: Sequence[Heard]) -> float:
    """Return how long the agents spoke."""
    return sum(part.to_ms - part.from_ms for one in heard for part in one.scene.segments) / 1000


def echo_words(transcripts: Iterable[str], said: str) -> list[str]:
    """Return runs of at least three words in transcripts that the reply has and the user did not say.

    Of two words, "of the" and the like are misheard without an echo too.
    """
    played, spoken = f" {' '.join(tokens_of(REPLY))} ", f" {' '.join(tokens_of(said))} "
    found: list[str] = []
    for text in transcripts:
        words = tokens_of(text)
        at = 0
        while at <= len(words) - LEAST_WORDS:
            end = at
            while end < len(words) and f" {' '.join(words[at : end + 1])} " in played:
                end += 1
            run = " ".join(words[at:end])
            if end - at >= LEAST_WORDS and f" {run} " not in spoken:
                found.append(run)
            at = max(at + 1, end)
    return found


def _echoed(heard: Heard) -> list[str]:
    return echo_words(heard.transcripts, " ".join(label.text or "" for label in heard.scene.labels or ()))


def script_of(cell: Cell) -> Script:
    """Return a user who hears every other reply to its end, and interrupts the others."""
    script = Script()
    if cell.level_db is not None:
        script.steps.append(Loudspeaker(cell.level_db, cell.delay_ms))
    for number, one in enumerate(cell.stimuli):
        asked = question(one.user_voice)
        ask = Speak(pcm=question_pcm(asked.voice), text=asked.text)
        after_ms = PLACES_MS[number % len(PLACES_MS)]
        script.steps.append(Silence(LEAD_MS))
        script.asks |= {len(script.steps) + 1, len(script.steps) + 3}
        script.spoken += [None, None, one]
        script.steps += [
            ask,
            Silence(REPLY_MS + ANSWER_MS),
            ask,
            BargeIn(speech=Speak(pcm=one.pcm(), text=one.stimulus.text), after_ms=after_ms, timeout_ms=10_000),
            Silence(REPLY_MS - after_ms + ANSWER_MS),
        ]
    return script


def _play(cell: Cell, *, file: Path) -> Heard:
    return hear_script(
        script_of(cell), remembered(file), model="embedded", mode="selective", settings=MAY_CANCEL[cell.canceller]
    )


# -- the canceller alone -----------------------------------------------------------------------------------------------


def erle_db(level_db: float, delay_ms: int) -> float:
    """Return by how much the canceller lowers an echo that comes alone."""
    heard, left, _ = _cancelled(level_db, delay_ms)
    begin = SETTLED_S * RATE_HZ
    return _level_db(heard[begin:]) - _level_db(left[begin:])


def _cancelled(level_db: float, delay_ms: int) -> tuple[Sound, Sound, float]:
    """Return the echo, what the canceller leaves of it, and the time that takes per second of audio."""
    now_s = cpu_s = 0.0
    clock = AcknowledgedPlayback(RATE_HZ)
    far_end = FarEnd(clock, lambda: now_s, RATE_HZ)
    canceller = EchoCanceller(lambda: far_end)
    path = EchoPath(Loudspeaker(level_db, delay_ms), RATE_HZ)
    speech = _speech()
    start = clock.sent("item", len(speech), now_s)
    far_end.sent("item", start or 0, speech)
    size = RATE_HZ * FRAME_MS // 1000
    noise = np.random.default_rng(1)
    heard: list[Sound] = []
    left: list[Sound] = []
    for at in range(0, SECONDS * RATE_HZ, size):
        now_s = (at + size) / RATE_HZ
        if (at // size + 1) % (ACK_EVERY_MS // FRAME_MS) == 0:
            clock.ack("item", round(now_s * 1000), now_s)
        frame = path.next_frame(speech[2 * at : 2 * (at + size)], size)
        heard.append(frame)
        sound = np.clip(frame + noise.normal(0, 2, size), -32768, 32767).astype("<i2").tobytes()
        began_s = time.process_time()
        clean = canceller.clean(sound, RATE_HZ)
        cpu_s += time.process_time() - began_s
        left.append(np.frombuffer(clean, "<i2").astype(np.float64))
    return np.concatenate(heard), np.concatenate(left), cpu_s / SECONDS


def _speech() -> bytes:
    """Return what an agent says, without pauses."""
    files = [one.file for one in manifest() if one.kind == "turn"]
    sound = b"".join(read_pcm16(FOLDER / file, RATE_HZ) for file in files)
    return (sound * (1 + SECONDS * RATE_HZ * 2 // len(sound)))[: SECONDS * RATE_HZ * 2]


def _level_db(sound: Sound) -> float:
    return float(10 * np.log10(np.mean(sound * sound) + 1e-3))


def _costs() -> Iterator[Check]:
    """Yield what the parts cost."""
    yield Check("canceller, CPU while audio comes", _cancelled(-12, 120)[2] * 100, None, " %")
    speech = _speech()
    near = speech[RATE_HZ : RATE_HZ + COMPARED_MS * RATE_HZ // 500]
    far = speech[: (COMPARED_MS + PATH_MS + 150) * RATE_HZ // 500]
    times_ms: list[float] = []
    meter = EchoMeter()
    for _ in range(RUNS):
        began_s = time.process_time()
        meter.likeness(near, far)
        times_ms.append((time.process_time() - began_s) * 1000)
    look_ms = median(times_ms)
    yield Check("likeness, CPU of one look", look_ms, None, " ms")
    yield Check("likeness, CPU during the first 10 s of replies (2 looks a second)", look_ms * 2 / 10, None, " %")
    yield Check("likeness, CPU during a voice over a reply (5 looks a second)", look_ms * 5 / 10, None, " %")
