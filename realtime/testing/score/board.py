"""The scoreboard of one call or of several together: all metrics, and their text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

from realtime.testing.cases.stored import LOG_FILES, record_of
from realtime.testing.check.failing import counted
from realtime.testing.record import CallRecord
from realtime.testing.score.eva import Eva, eva
from realtime.testing.score.labels import Label, labels_in
from realtime.testing.score.numbers import NOT_MEASURABLE, Rate, Times
from realtime.testing.score.overlap import Overlaps, overlaps
from realtime.testing.score.scene import Scene, scene_of
from realtime.testing.score.tau_voice import FINE_TICK_MS, TauVoice, tau_voice
from realtime.testing.score.turn_ends import TurnEnds, turn_ends

TAU_VOICE = {
    "response_latency": "L_R  response latency",
    "response_rate": "R_R  response rate",
    "yield_latency": "L_Y  yield latency",
    "yield_rate": "R_Y  yield rate",
    "agent_interruptions": "I_A  agent interrupts user",
    "backchannels": "S_BC backchannels ignored",
    "tics": "S_VT vocal tics ignored",
    "side": "S_ND side talk ignored",
    "far": "     of far voices",
    "noise": "     noises ignored",
}
OVERLAPS = {
    "stop_latency": "stop latency (overlap)",
    "response_latency": "response latency",
    "duck": "onset to duck",
    "flush": "onset to flush",
    "resumed": "resumed",
    "resumed_in_time": "resumed within 0.5 s",
    "resume_delay": "resume delay",
    "gone_on": "went on after a dismissal",
    "gone_on_delay": "delay of that",
    "rests": "resumed, each word once",
    "self_interruptions": "stopped by itself",
    "dead_air": "dead air over 2 s",
}
TURN_ENDS = {
    "false_ends": "false ends, of pauses",
    "cut_turns": "false ends, of turns",
    "audible": "audible, of pauses",
    "latency": "voice end to turn end",
}
COLUMNS = ("R_Y", "L_Y", "S_BC", "S_VT", "S_ND", "EVA", "false ends", "turn end", "dead air")


@dataclass(frozen=True)
class Score:
    """How well an agent listened. `str` of it is the scoreboard."""

    scenes: tuple[Scene, ...]

    @classmethod
    def of(cls, record: CallRecord, labels: Iterable[Label] | None = None) -> Score:
        """Score one call; by default with the labels beside it."""
        known = labels_in(record.folder) if labels is None else labels
        return cls((scene_of(record, known),))

    @classmethod
    def of_folder(cls, folder: Path, labels: Iterable[Label] | None = None) -> Score:
        """Score the call in a folder, else the calls in its subfolders.

        Raises CaseError where there is none.
        """
        inside = sorted({file.parent for name in LOG_FILES for file in folder.glob(f"*/{name}")})
        if any((folder / name).is_file() for name in LOG_FILES) or not inside:
            inside = [folder]
        return cls.together([cls.of(record_of(one), labels) for one in inside])

    @classmethod
    def together(cls, scores: Sequence[Score]) -> Score:
        """Pool scores: every sound counts once, whichever call it is in."""
        return cls(tuple(scene for score in scores for scene in score.scenes))

    @cached_property
    def tau_voice(self) -> TauVoice:
        """The metrics of tau-voice in its ticks of 200 ms."""
        return tau_voice(self.scenes)

    @cached_property
    def tau_voice_fine(self) -> TauVoice:
        """The same in ticks of 10 ms."""
        return tau_voice(self.scenes, tick_ms=FINE_TICK_MS)

    @cached_property
    def eva(self) -> Eva:
        """EVA's turn-taking score."""
        return eva(self.scenes)

    @cached_property
    def overlaps(self) -> Overlaps:
        """What sounds over replies did."""
        return overlaps(self.scenes)

    @cached_property
    def turn_ends(self) -> TurnEnds:
        """False ends of turns, and what true ends take."""
        return turn_ends(self.scenes)

    @cached_property
    def figures(self) -> dict[str, float]:
        """The main figures, ticks of 10 ms; those that could not be measured are missing."""
        fine = self.tau_voice_fine
        found = {
            "R_R": fine.response_rate.value,
            "R_Y": fine.yield_rate.value,
            "L_Y": fine.yield_latency.median_ms,
            "I_A": fine.agent_interruptions,
            "S_BC": fine.backchannels.value,
            "S_VT": fine.tics.value,
            "S_ND": fine.side.value,
            "noises": fine.noise.value,
            "EVA": self.eva.score,
            "dead air": float(len(self.overlaps.dead_air.values_ms or ())),
        }
        return {name: round(value, 3) for name, value in found.items() if value is not None}

    def __str__(self) -> str:
        return board(self)


def board(score: Score) -> str:
    """Return the scoreboard: a section per source of metrics."""
    calls = score.scenes
    labels = [len(one.labels) for one in calls if one.labels is not None]
    head = f"{counted(len(calls), 'call')}, {counted(sum(labels), 'label')}"
    if any(one.estimated for one in calls):
        head += "; a client did not report playback: its times are estimated"
    per_minute = score.overlaps.self_interruptions_per_minute
    lines = [
        head,
        "",
        "tau-voice, ticks of 200 ms",
        *_rows(score.tau_voice, TAU_VOICE),
        "",
        "tau-voice, ticks of 10 ms",
        *_rows(score.tau_voice_fine, TAU_VOICE),
        "",
        "EVA turn-taking",
        _row("score", NOT_MEASURABLE if score.eva.score is None else f"{score.eva.score:.3f}"),
        _row("calls at 0.8 or more", str(score.eva.passed)),
        "",
        "Sounds over a reply",
        *_rows(score.overlaps, OVERLAPS),
        _row("per minute of agent speech", NOT_MEASURABLE if per_minute is None else f"{per_minute:.2f}"),
        *_behaviour_rows(score.overlaps),
        _row("decisions", _counts(score.overlaps.decisions.items()) or "none"),
        "",
        "Ends of turns",
        *_rows(score.turn_ends, TURN_ENDS),
    ]
    return "\n".join(lines)


def table(rows: Sequence[tuple[str, Score]]) -> str:
    """Return a line per source: selectivity beside yielding, and false ends beside what ends take."""
    width = max(len(name) for name, _ in rows)
    lines = [" ".join([" " * width, *(f"{column:>10}" for column in COLUMNS)])]
    for name, score in rows:
        fine, ends = score.tau_voice_fine, score.turn_ends
        cells = (
            _share(fine.yield_rate),
            _ms(fine.yield_latency),
            *map(_share, (fine.backchannels, fine.tics, fine.side)),
            "-" if score.eva.score is None else f"{score.eva.score:.3f}",
            _share(ends.false_ends),
            _ms(ends.latency),
            str(len(score.overlaps.dead_air.values_ms or ())),
        )
        lines.append(" ".join([f"{name:<{width}}", *(f"{cell:>10}" for cell in cells)]))
    return "\n".join(lines)


def _rows(part: TauVoice | Overlaps | TurnEnds, names: dict[str, str]) -> list[str]:
    values = {one.name: getattr(part, one.name) for one in fields(part)}
    return [_row(name, _shown(values[field])) for field, name in names.items()]


def _behaviour_rows(part: Overlaps) -> list[str]:
    if part.behaviour is None:
        return [_row("behaviour", NOT_MEASURABLE)]
    return [_row(f"after {kind}", _counts(found.items())) for kind, found in part.behaviour.items()]


def _counts(found: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{what} {count}" for what, count in found)


def _shown(value: Rate | Times | float | None) -> str:
    match value:
        case None:
            return "none"
        case float():
            return f"{value:.3f}"
        case _:
            return str(value)


def _row(name: str, value: str) -> str:
    return f"  {name:<28}{value}"


def _share(rate: Rate) -> str:
    return "-" if rate.value is None else f"{rate.value:.3f}"


def _ms(times: Times) -> str:
    return "-" if times.median_ms is None else f"{times.median_ms:.0f} ms"
