"""The turn-taking score of EVA: how well-timed each turn of the agent is. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from realtime.testing.score.labels import Label
from realtime.testing.score.numbers import Rate
from realtime.testing.score.scene import Scene

PASSES_FROM = 0.8
NO_YIELD_MS = 2_000.0
"""A yield or an overlap of this length earns nothing."""
CURVE: tuple[tuple[float, float], ...] = ((-500, 0.0), (500, 1.0), (2_000, 1.0), (3_500, 0.0))
"""Latency in ms and what it earns; linear between."""
CURVE_WITH_TOOL: tuple[tuple[float, float], ...] = ((-500, 0.0), (500, 1.0), (3_000, 1.0), (5_000, 0.0))
"""The same where the agent called a tool first."""


@dataclass(frozen=True, slots=True)
class Eva:
    """The score over calls; None where it is not measurable."""

    score: float | None
    passed: Rate
    """Calls that reach 0.8."""


def eva(scenes: Sequence[Scene]) -> Eva:
    """Score the calls that have labels and at least one turn."""
    scores = [score for scene in scenes if (score := _call(scene)) is not None]
    if not scores:
        return Eva(None, Rate())
    return Eva(fmean(scores), Rate.of(score >= PASSES_FROM for score in scores))


def _call(scene: Scene) -> float | None:
    if scene.labels is None or not scene.turns:
        return None
    # Nothing is right where the user is left without an answer at the end.
    if _start_ms(scene, scene.turns[-1]) is None:
        return 0.0
    return fmean(_turn(scene, turn) for turn in scene.turns)


def _turn(scene: Scene, turn: Label) -> float:
    started_ms = _start_ms(scene, turn)
    if started_ms is None:
        return 0.0
    latency_ms = started_ms - turn.off_ms
    has_tool = any(turn.off_ms <= ms <= started_ms for ms in scene.tools_ms)
    on_time = curve(latency_ms, CURVE_WITH_TOOL if has_tool else CURVE)
    overlaps = [one for one in scene.segments if turn.on_ms < one.from_ms < turn.off_ms]
    parts: list[float] = []
    if overlaps:
        overlap_ms = sum(min(one.to_ms, turn.off_ms) - one.from_ms for one in overlaps)
        parts += [0.5 * (1 - overlap_ms / NO_YIELD_MS), 0.5 * (1 - (len(overlaps) - 1) / 2), on_time]
    if scene.is_speaking(turn.on_ms):
        silent_ms = next(one.to_ms for one in scene.segments if one.from_ms <= turn.on_ms < one.to_ms)
        parts.append(1 - (silent_ms - turn.on_ms) / NO_YIELD_MS)
    return max(0.0, min(parts or [on_time]))


def _start_ms(scene: Scene, turn: Label) -> float | None:
    """Return when the agent answers a turn, before the next; while the user speaks only if it goes on to the end."""
    until_ms = scene.next_turn_ms(turn)
    for one in scene.segments:
        if turn.on_ms < one.from_ms <= until_ms and one.to_ms > turn.off_ms:
            return one.from_ms
    return None


def curve(latency_ms: float, points: Sequence[tuple[float, float]] = CURVE) -> float:
    """Return what a latency earns, 0 to 1."""
    for (from_ms, low), (to_ms, high) in pairwise(points):
        if from_ms < latency_ms <= to_ms:
            return low + (high - low) * (latency_ms - from_ms) / (to_ms - from_ms)
    return 0.0
