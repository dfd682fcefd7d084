"""The metrics of tau-voice: responsiveness, latency and selectivity, in ticks. Pure.

Stricter than the original in three points: a dismissed sound counts only if the reply plays to its end, a hold of more
than 200 ms is a stop, and an interruption without an answer is no yield.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from realtime.testing.score.labels import ASKS_NOTHING, TAKES_FLOOR, Label
from realtime.testing.score.numbers import Rate, Times
from realtime.testing.score.scene import Reply, Scene

YIELD_MS = 2_000.0
"""An agent that stops later has not yielded."""
STOP_MS = 1_000.0
"""A reply that stops so soon after a sound stopped for it."""
ANSWER_MS = 2_000.0
"""A silent agent that speaks so soon after a sound answers it."""
TICK_MS = 200.0
"""The tick of tau-voice."""
FINE_TICK_MS = 10.0


@dataclass(frozen=True, slots=True)
class TauVoice:
    """The metrics at one length of tick; latencies in ms."""

    tick_ms: float
    response_latency: Times
    """L_R: from the end of a turn to the agent's first sound."""
    response_rate: Rate
    """R_R: turns that were answered before the user spoke again."""
    yield_latency: Times
    """L_Y: from the onset of an interruption to silence, of yields only."""
    yield_rate: Rate
    """R_Y: interruptions at which the agent fell silent within 2 s, and which it answered."""
    agent_interruptions: float | None
    """I_A: times that the agent began while the user spoke, per turn; None without turns."""
    backchannels: Rate
    """S_BC: backchannels that changed nothing."""
    tics: Rate
    """S_VT."""
    side: Rate
    """S_ND."""
    far: Rate
    """S_ND of voices that are not the user's."""
    noise: Rate
    """The same for noises; not in tau-voice."""


def tau_voice(scenes: Sequence[Scene], *, tick_ms: float = TICK_MS) -> TauVoice:
    """Measure these calls together. What needs labels is not measurable without."""
    ticked = [_Ticked(scene, tick_ms) for scene in scenes]
    labelled = [one for one in ticked if one.scene.labels is not None]
    answers = [latency_ms for one in ticked for latency_ms in one.response_latencies_ms()]
    response_ms = tuple(one for one in answers if one is not None)
    starts = sum(one.starts_over_user() for one in ticked)
    yields = [latency_ms for one in labelled for latency_ms in one.yields_ms()]

    def ignored(*kinds: str, far: bool | None = None) -> Rate:
        if not labelled:
            return Rate()
        return Rate.of(
            not is_error
            for one in labelled
            for label in one.scene.labelled(*kinds)
            if far is None or label.far is far
            if (is_error := one.reacts(label)) is not None
        )

    return TauVoice(
        tick_ms=tick_ms,
        response_latency=Times(response_ms),
        response_rate=Rate(len(response_ms), len(answers)),
        yield_latency=Times(tuple(one for one in yields if one is not None) if labelled else None),
        yield_rate=Rate.of(one is not None for one in yields) if labelled else Rate(),
        agent_interruptions=starts / len(answers) if answers else None,
        backchannels=ignored("backchannel"),
        tics=ignored("tic"),
        side=ignored("side"),
        far=ignored("side", far=True),
        noise=ignored("noise"),
    )


class _Ticked:
    """A call cut into ticks: a tick holds speech where any part of it does."""

    def __init__(self, scene: Scene, tick_ms: float) -> None:
        self.scene = scene
        self._tick_ms = tick_ms
        self._speech = {
            tick for one in scene.segments for tick in range(self._first(one.from_ms), self._last(one.to_ms))
        }
        self._starts = sorted(tick for tick in self._speech if tick - 1 not in self._speech)
        kinds = (*TAKES_FLOOR, "backchannel", "tic", "side")
        self._user = scene.turns if scene.labels is None else scene.labelled(*kinds)

    def _first(self, ms: float) -> int:
        return math.floor(ms / self._tick_ms)

    def _last(self, ms: float) -> int:
        return math.ceil(ms / self._tick_ms)

    def response_latencies_ms(self) -> list[float | None]:
        """Return the latency of each turn; None for one that is not answered before the user speaks again.

        A turn at whose end the agent speaks is no such turn; the last one is skipped if it has no answer.
        """
        latencies: list[float | None] = []
        turns = [one for one in self.scene.turns if self._last(one.off_ms) not in self._speech]
        for number, turn in enumerate(turns):
            end = self._last(turn.off_ms)
            answer = next((tick for tick in self._starts if tick >= end), None)
            again = next((self._first(one.on_ms) for one in turns[number + 1 :] if self._first(one.on_ms) >= end), None)
            if answer is not None and (again is None or answer <= again):
                latencies.append((answer - end) * self._tick_ms)
            elif again is not None:
                latencies.append(None)
        return latencies

    def yields_ms(self) -> list[float | None]:
        """Return the time to silence of each interruption; None for no yield."""
        return [self._yield_ms(one) for one in self.scene.turns if self._first(one.on_ms) in self._speech]

    def _yield_ms(self, label: Label) -> float | None:
        silent = self._silent(label, YIELD_MS)
        if silent is None or not self._is_answered(label):
            return None
        return (silent - self._first(label.on_ms)) * self._tick_ms

    def _silent(self, label: Label, within_ms: float) -> int | None:
        """Return the first silent tick from the onset of a label on."""
        start = self._first(label.on_ms)
        ticks = range(start, start + int(within_ms / self._tick_ms))
        return next((tick for tick in ticks if tick not in self._speech), None)

    def _is_answered(self, label: Label) -> bool:
        """Whether another reply begins before the user takes the floor again."""
        over = self.scene.reply_over(label.on_ms)
        until_ms = self.scene.next_turn_ms(label)
        return any(label.on_ms < one.from_ms < until_ms for one in self.scene.replies if one is not over)

    def starts_over_user(self) -> int:
        """Count the agent's starts while the user speaks."""
        spoken = [range(self._first(one.on_ms), self._last(one.off_ms)) for one in self._user]
        return sum(any(tick in ticks and tick != ticks[0] for ticks in spoken) for tick in self._starts)

    def reacts(self, label: Label) -> bool | None:
        """Whether the agent reacts to what asks for nothing; None where there is nothing to react with.

        A backchannel to a silent agent is not counted.
        """
        if self._first(label.on_ms) not in self._speech:
            if label.kind == "backchannel":
                return None
            first, last = self._first(label.on_ms), self._last(label.off_ms) + int(ANSWER_MS / self._tick_ms)
            return any(first <= tick <= last for tick in self._starts)
        reply = self.scene.reply_over(label.on_ms)
        if reply is None:
            # Between two stretches that are one segment.
            return self._silent(label, STOP_MS) is not None
        return self._stops_soon(label, reply) or stops_for(self.scene, label, reply)

    def _stops_soon(self, label: Label, reply: Reply) -> bool:
        silent = self._silent(label, STOP_MS)
        return silent is not None and (reply.is_cut or (silent + 1) * self._tick_ms <= reply.to_ms)


def stops_for(scene: Scene, label: Label, reply: Reply) -> bool:
    """Whether a reply stops or holds for such a label.

    Not playing to its end after the label counts as a stop. A turn or an interruption that follows explains a cut.
    """
    if any(label.on_ms <= from_ms < label.off_ms + STOP_MS for from_ms, _ in reply.gaps()):
        return True
    explained = any(label.on_ms < one.on_ms <= reply.to_ms for one in scene.turns)
    return reply.is_cut and not explained


def asks_nothing(scene: Scene) -> list[tuple[Label, Reply]]:
    """Return the labels that must not stop a reply, with that reply."""
    return [
        (label, reply)
        for label in scene.labelled(*ASKS_NOTHING)
        if (reply := scene.reply_over(label.on_ms)) is not None
    ]
