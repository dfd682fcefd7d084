"""False ends of turns against the time that true ends take. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from realtime.testing.score.labels import Label
from realtime.testing.score.numbers import Rate, Times
from realtime.testing.score.scene import Scene

NOTICED_MS = 100.0
"""An end declared so soon after the voice returned was decided before."""


@dataclass(frozen=True, slots=True)
class TurnEnds:
    """One point of the curve of false ends against latency."""

    false_ends: Rate
    """Pauses inside turns at which the turn was declared over."""
    cut_turns: Rate
    """Turns with a pause in which that happened at least once."""
    audible: Rate
    """Pauses in which the agent was heard to begin."""
    latency: Times
    """From the end of the voice to the declared end, of turns."""


def turn_ends(scenes: Sequence[Scene]) -> TurnEnds:
    """Measure these calls together. Not measurable without labels."""
    labelled = [scene for scene in scenes if scene.labels is not None]
    if not labelled:
        return TurnEnds(Rate(), Rate(), Rate(), Times())
    holds = [(scene, hold) for scene in labelled for hold in scene.labelled("hold")]
    paused = [
        [hold for hold in scene.labelled("hold") if turn.on_ms <= hold.on_ms < turn.off_ms]
        for scene in labelled
        for turn in scene.turns
    ]
    ended = {id(hold) for scene, hold in holds if _is_ended(scene, hold)}
    return TurnEnds(
        false_ends=Rate.of(id(hold) in ended for _, hold in holds),
        cut_turns=Rate.of(any(id(hold) in ended for hold in inside) for inside in paused if inside),
        audible=Rate.of(
            any(hold.on_ms < one.from_ms <= hold.off_ms + NOTICED_MS for one in scene.segments) for scene, hold in holds
        ),
        latency=Times(tuple(ms for scene in labelled for turn in scene.turns for ms in _latency_ms(scene, turn))),
    )


def _is_ended(scene: Scene, hold: Label) -> bool:
    return any(hold.on_ms < ms <= hold.off_ms + NOTICED_MS for ms in scene.ends_ms)


def _latency_ms(scene: Scene, turn: Label) -> list[float]:
    until_ms = scene.next_turn_ms(turn)
    return [ms - turn.off_ms for ms in scene.ends_ms if turn.off_ms <= ms <= until_ms][:1]
