"""How the agent listens to strangers: voices, wordings, rooms and lines that no rule was made with.

Blind: what went wrong is counted, never shown, so that rules cannot be tuned on it. Needs the extra `local`, and the
engines flite, festival and espeak-ng, of which each lends as many voices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from functools import cached_property, partial
from pathlib import Path

from bench import stranger_talks as talks
from bench.listen import WORKERS, players, remembered
from bench.listen_calls import LEAD_MS, hear_script
from bench.process import ROOT
from bench.report import Check, Section, median, share
from bench.stranger_sounds import missing_engines, real_people
from bench.stranger_talks import Talk, figures_in
from realtime.event.server import AgentInputTranscriptionDoneEvent
from realtime.server.folders import cache_folder
from realtime.testing.check.log_reading import LogReading
from realtime.testing.record import CallRecord
from realtime.testing.score.board import Score
from realtime.testing.score.labels import Label, LabelClass
from realtime.testing.score.scene import Scene, scene_of
from realtime.testing.score.tau_voice import YIELD_MS
from tools.stimulus_sounds import Chance, chance_of

COUNT, QUICK = 40, 6
"""Stimuli of a line."""
MARGIN_MS = 200
"""What sounds so little before or after a turn is recognised with it."""
ALL_FAR = 0.75
HOW = (
    "{count} stimuli a line, seed {seed}, each in a call of its own in virtual time, with the embedded model and "
    "default settings; {people} real people. What each line counts is said [above](#strangers)."
)
HEADER = ("line", "counted", "share", "delay median", "p90")


@dataclass(frozen=True)
class Heard:
    """A call as it was played; its stimulus is the last that was said."""

    talk: Talk
    record: CallRecord

    @cached_property
    def scene(self) -> Scene:
        """What the metrics see."""
        return scene_of(self.record, self.talk.labels(self.record))

    @property
    def score(self) -> Score:
        """The scoreboard of the call."""
        return Score((self.scene,))

    @property
    def stimulus(self) -> Label | None:
        """Where the stimulus sounded; None: no reply came that it could sound over."""
        name = f"said-{len(self.talk.said) - 1}"
        return next((label for label in self.scene.labels or () if label.id == name), None)

    @property
    def unanswered(self) -> list[bool]:
        """Whether each turn, and each interruption that stopped a reply, has no reply behind it."""
        return [not self._is_answered(one) for one in self.scene.turns if one.kind == "turn" or self.stop_ms(one)]

    def _is_answered(self, label: Label) -> bool:
        until_ms = self.scene.next_turn_ms(label)
        return any(one.to_ms > label.off_ms and label.on_ms < one.from_ms < until_ms for one in self.scene.replies)

    def stop_ms(self, label: Label | None) -> float | None:
        """Return how long after its onset the reply stopped for good; None if it went on."""
        reply = None if label is None else self.scene.reply_over(label.on_ms)
        return None if label is None or reply is None or not reply.is_cut else reply.to_ms - label.on_ms


@dataclass(frozen=True, slots=True)
class Counted:
    """What is counted of a line: `hits` of `total`, delays, and turns without an answer."""

    hits: float = 0.0
    total: float = 0.0
    delays_ms: tuple[float, ...] = ()
    exact: int = 0
    turns: int = 0
    unanswered: int = 0

    def __add__(self, other: Counted) -> Counted:
        return Counted(*(one + another for one, another in zip(astuple(self), astuple(other), strict=True)))

    @property
    def share(self) -> float:
        """The share of hits."""
        return self.hits / (self.total or 1)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: how its calls are made and counted, and what is kept."""

    make: Callable[[Chance], Talk]
    count: Callable[[Heard], Counted]
    limit: float | None = None
    at_least: bool = True
    delays_ms: tuple[float, float] | None = None
    """The limits of median and 90th percentile."""


def _yielded(heard: Heard) -> Counted:
    tau = heard.score.tau_voice_fine
    return Counted(tau.yield_rate.hits, 1, tau.yield_latency.values_ms or ())


def _stopped(heard: Heard) -> Counted:
    stop_ms = heard.stop_ms(heard.stimulus)
    return Counted(0, 1) if stop_ms is None or stop_ms > YIELD_MS else Counted(1, 1, (stop_ms,))


def _went_on(heard: Heard) -> Counted:
    label = heard.stimulus
    reply = None if label is None else heard.scene.reply_over(label.on_ms)
    return Counted(reply is not None and not reply.is_cut, 1)


def _ignored(heard: Heard) -> Counted:
    tau = heard.score.tau_voice_fine
    return Counted(tau.tics.hits + tau.side.hits, 1)


def _cut(heard: Heard) -> Counted:
    return Counted(heard.score.turn_ends.cut_turns.hits, 1)


def _talked_over(heard: Heard) -> Counted:
    label, began = heard.stimulus, [one.from_ms for one in heard.scene.segments]
    return Counted(label is None or any(label.on_ms < from_ms < label.off_ms for from_ms in began), 1)


def _lost(heard: Heard) -> Counted:
    """Count the ms of speech in no turn. Positions of turns count from where the microphone was switched on."""
    turns = [one for one in LogReading(heard.record).turns if not one.withdrawn]
    spans = [(one.from_ms - MARGIN_MS, one.to_ms + MARGIN_MS) for one in turns]
    voiced_ms = [LEAD_MS + at_ms for at_ms in heard.talk.said[-1].voiced_ms]
    lost = [at_ms for at_ms in voiced_ms if not any(from_ms <= at_ms <= to_ms for from_ms, to_ms in spans)]
    return Counted(10 * len(lost), 10 * len(voiced_ms))


def _dictated(heard: Heard) -> Counted:
    label, events = heard.stimulus, heard.record.events(AgentInputTranscriptionDoneEvent)
    words = {one.item_id: one.transcript for one in events if label is not None and one.ts_ms > label.on_ms}
    is_exact = figures_in(" ".join(words.values())) == heard.talk.said[-1].figures
    return Counted(label is None or heard.unanswered[-1], 1, exact=is_exact)


def _answered(heard: Heard) -> Counted:
    label, speeches = heard.stimulus, LogReading(heard.record).speeches
    off_ms = float("inf") if label is None else label.off_ms
    delays_ms = [ms - off_ms for one in speeches if (ms := one.first_audio_ms) is not None and ms > off_ms]
    return Counted(bool(delays_ms), 1, tuple(delays_ms[:1]))


def _over(kind: LabelClass, words: str, *, telephone: bool = False) -> Callable[[Chance], Talk]:
    return partial(talks.over_reply, kind=kind, words=words, telephone=telephone)


LINES = {
    "interruptions": Line(_over("interruption", "interruption"), _yielded, 0.96, delays_ms=(700, 1_200)),
    "interruptions, telephone": Line(_over("interruption", "interruption", telephone=True), _yielded, 0.9),
    "assents, usual": Line(_over("backchannel", "usual"), _went_on, 0.85),
    "assents, unusual": Line(_over("backchannel", "unusual"), _went_on, 0.85),
    "hums, coughs, laughs, noises": Line(talks.humming, _ignored, 0.95),
    "far voices, -8 dB": Line(partial(talks.elsewhere, level_db=-8), _ignored, 0.6),
    "far voices, -12 dB": Line(partial(talks.elsewhere, level_db=-12), _ignored),
    "far voices, -16 dB": Line(partial(talks.elsewhere, level_db=-16), _ignored),
    "remarks to one beside": Line(_over("side", "beside"), _ignored, 0.5),
    "user 6 dB quieter": Line(partial(talks.quieter, by_db=6), _stopped, 0.9),
    "user 12 dB quieter": Line(partial(talks.quieter, by_db=12), _stopped, 0.7),
    "gain control": Line(partial(talks.behind_gain, words="interruption"), _stopped, 0.95),
    'gain control, "Stop."': Line(partial(talks.behind_gain, words="stop"), _stopped, 0.95),
    "turns cut in a pause": Line(partial(talks.pausing, words="paused", pause_ms=(300, 1_000)), _cut, 0.08, False),
    "talked over": Line(partial(talks.pausing, words="resumed", pause_ms=(400, 900)), _talked_over, 0.15, False),
    "ms lost, loud first words": Line(talks.lively, _lost, 0.01, False),
    "ms lost, noise": Line(talks.noisy, _lost, 0.01, False),
    "digits, telephone: no answer": Line(talks.dictating, _dictated, 0, False),
    "turns answered": Line(talks.turning, _answered, delays_ms=(570, 900)),
}


async def measure_strangers(
    count: int = COUNT,
    say: Callable[[str], None] = lambda _: None,
    *,
    words: Path | None = None,
    workers: int = WORKERS,
    seed: int = 0,
) -> Section:
    """Play `count` calls of each line. `words` is the file of kept transcripts; another seed, other strangers."""
    return await asyncio.to_thread(
        _measure, count, say, words or cache_folder() / "bench-listen.sqlite3", workers, seed
    )


def _measure(count: int, say: Callable[[str], None], file: Path, workers: int, seed: int) -> Section:
    people = "half of the far voices are" if real_people() else "REALTIME_RECORDINGS is not set, so no voice is of"
    how = HOW.format(count=count, seed=seed, people=people)
    section = Section("strangers", "Measured: strangers", how, HEADER, page=ROOT / "docs" / "listening.md")
    section.rows += [(f"WITHOUT {name}: its voices are not installed", "", "", "", "") for name in missing_engines()]
    found: dict[str, Counted] = {}
    with players(workers, partial(_play, file=file)) as play:
        for name, line in LINES.items():
            found[name] = counted = sum(play([(name, number, seed) for number in range(count)]), Counted())
            delays = counted.delays_ms
            times = (f"{median(delays):.0f} ms", f"{share(delays, 90):.0f} ms") if delays else ("", "")
            section.rows.append((name, f"{counted.hits:.0f}/{counted.total:.0f}", f"{counted.share:.3f}", *times))
            section.checks += _checks(name, line, counted)
            say(" ".join(section.rows[-1]))
    section.checks += _further_checks(found)
    return section


def _play(job: tuple[str, int, int], *, file: Path) -> Counted:
    name, number, seed = job
    talk = LINES[name].make(chance_of(f"{name} {number} {seed}"))
    records: list[CallRecord] = []
    hear_script(talk.script, remembered(file), model="embedded", mode="selective", on_record=records.append)
    heard = Heard(talk, records[0])
    return LINES[name].count(heard) + Counted(turns=len(heard.unanswered), unanswered=sum(heard.unanswered))


def _checks(name: str, line: Line, counted: Counted) -> Iterator[Check]:
    yield Check(name, counted.share, line.limit, at_least=line.at_least)
    if counted.delays_ms and line.delays_ms is not None:
        yield Check(f"{name}: delay, median", median(counted.delays_ms), line.delays_ms[0], " ms")
        yield Check(f"{name}: delay, p90", share(counted.delays_ms, 90), line.delays_ms[1], " ms")


def _further_checks(found: dict[str, Counted]) -> Iterator[Check]:
    far = sum((counted for name, counted in found.items() if name.startswith("far")), Counted())
    dictated = found["digits, telephone: no answer"]
    turns, unanswered = (sum(getattr(one, what) for one in found.values()) for what in ("turns", "unanswered"))
    yield Check("far voices, all", far.share, ALL_FAR, at_least=True)
    yield Check("digits, telephone: exact transcripts", dictated.exact / (dictated.total or 1), None)
    yield Check(f"turns without any answer, of {turns}", unanswered, 0)
