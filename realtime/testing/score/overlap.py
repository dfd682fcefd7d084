"""What a sound over a reply does: Full-Duplex-Bench's latencies and behaviour, resumes, dead air, echo. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from realtime.testing.score.labels import ASKS_NOTHING, Label
from realtime.testing.score.numbers import Rate, Times
from realtime.testing.score.scene import Reply, Scene
from realtime.testing.score.tau_voice import asks_nothing, stops_for

Behaviour = Literal["responds", "resumes", "silent"]

RESUMES_IN_MS = 500.0
"""Most ms until a reply goes on after a mistaken stop."""
DISMISSED_IN_MS = 4_000.0
"""A dismissal so long after a label may still be about it: words of a provider come late."""
DEAD_AIR_MS = 2_000.0
SOON_MS = 2_000.0
"""A stop this long after a label may still come from it."""


@dataclass(frozen=True, slots=True)
class Overlaps:
    """Sounds of the user's side over replies.

    All but dead air and decisions needs labels.
    """

    stop_latency: Times
    """How long the agent talks into an interruption: the length of their overlap."""
    response_latency: Times
    """From the end of an interruption to the agent's next start."""
    behaviour: dict[str, dict[Behaviour, int]] | None
    """By class of label, what the agent does next: the same item goes on, a new one begins, or nothing comes."""
    duck: Times
    """From onset to the reply made quieter, at the server."""
    flush: Times
    """From the onset of an interruption to the flush, at the server."""
    resumed: Rate
    """Mistaken stops after which the same item went on."""
    resumed_in_time: Rate
    """The same within 0.5 s of the sound's end."""
    resume_delay: Times
    """Delay of the resumed reply: from the end of the sound or the later stop."""
    gone_on: Rate
    """Dismissed sounds after which the reply went on: within 0.5 s, at once or after a stop."""
    gone_on_delay: Times
    """Delay until the reply is at its full level: from the end of a dismissed sound, or the later stop."""
    rests: Rate
    """Resumed replies with no word lost or doubled."""
    self_interruptions: Rate
    """Replies stopped by a voice where no label sounds."""
    self_interruptions_per_minute: float | None
    """The same per minute of agent speech."""
    dead_air: Times
    """Silences of more than 2 s that the user waited through."""
    decisions: dict[str, int]
    """How often the server decided what, about voices over replies."""


def overlaps(scenes: Sequence[Scene]) -> Overlaps:
    """Measure these calls together."""
    dead_air = Times(tuple(ms for scene in scenes for ms in dead_air_ms(scene)))
    decisions = dict(sorted(Counter(one for scene in scenes for one in scene.decisions).items()))
    labelled = [scene for scene in scenes if scene.labels is not None]
    if not labelled:
        no_times, no_rate = Times(), Rate()
        return Overlaps(
            stop_latency=no_times,
            response_latency=no_times,
            behaviour=None,
            duck=no_times,
            flush=no_times,
            resumed=no_rate,
            resumed_in_time=no_rate,
            resume_delay=no_times,
            gone_on=no_rate,
            gone_on_delay=no_times,
            rests=no_rate,
            self_interruptions=no_rate,
            self_interruptions_per_minute=None,
            dead_air=dead_air,
            decisions=decisions,
        )
    interruptions = [
        (scene, one) for scene in labelled for one in scene.turns if scene.reply_over(one.on_ms) is not None
    ]
    restarts = [restart for scene in labelled for restart in _restarts_ms(scene)]
    dismissed = [delay for scene in labelled for delay in _dismissed_ms(scene)]
    of_itself = [is_own for scene in labelled for is_own in _stops_for_nothing(scene)]
    speech_ms = sum(one.to_ms - one.from_ms for scene in labelled for one in scene.segments)
    return Overlaps(
        stop_latency=Times(
            tuple(
                min(one.off_ms, segment.to_ms) - one.on_ms
                for scene, one in interruptions
                for segment in scene.segments
                if segment.from_ms <= one.on_ms < segment.to_ms
            )
        ),
        response_latency=Times(
            tuple(
                start_ms - one.off_ms
                for scene, one in interruptions
                if (start_ms := scene.next_start_ms(one.off_ms)) is not None
            )
        ),
        behaviour=_behaviours(labelled),
        duck=Times(tuple(ms for scene in labelled for ms in _duck_delays_ms(scene))),
        flush=Times(tuple(ms for scene in labelled for ms in _delays_ms(scene, scene.flushes_ms, scene.turns))),
        resumed=Rate.of(one is not None for one in restarts),
        resumed_in_time=Rate.of(one is not None and one <= RESUMES_IN_MS for one in restarts),
        resume_delay=Times(tuple(one for one in restarts if one is not None)),
        gone_on=Rate.of(one is not None and one <= RESUMES_IN_MS for one in dismissed),
        gone_on_delay=Times(tuple(one for one in dismissed if one is not None)),
        rests=Rate.of(one for scene in labelled for one in scene.rests),
        self_interruptions=Rate.of(of_itself),
        self_interruptions_per_minute=sum(of_itself) / (speech_ms / 60_000) if speech_ms else None,
        dead_air=dead_air,
        decisions=decisions,
    )


def behaviour_after(scene: Scene, label: Label, reply: Reply) -> Behaviour:
    """Classify what the agent does after a sound over a reply.

    The same item goes on, or never stopped: it resumes. Another one begins: it responds.
    """
    stopped_ms = next((one.to_ms for one in scene.segments if one.from_ms <= label.on_ms < one.to_ms), label.on_ms)
    if stopped_ms >= reply.to_ms and not reply.is_cut:
        return "resumes"
    item_ids = {one.item_id for one in reply.stretches if one.from_ms <= label.on_ms}
    until_ms = scene.next_turn_ms(label)
    after = next((one for one in scene.stretches if stopped_ms < one.from_ms <= until_ms), None)
    if after is None:
        return "silent"
    return "resumes" if after.item_id in item_ids else "responds"


def _behaviours(scenes: Sequence[Scene]) -> dict[str, dict[Behaviour, int]]:
    counts: dict[str, Counter[Behaviour]] = {}
    for scene in scenes:
        for label in _over_replies(scene):
            if (reply := scene.reply_over(label.on_ms)) is not None:
                kind = "interruption" if label.kind == "turn" else label.kind
                counts.setdefault(kind, Counter())[behaviour_after(scene, label, reply)] += 1
    return {kind: dict(sorted(found.items())) for kind, found in sorted(counts.items())}


def _over_replies(scene: Scene) -> list[Label]:
    labels = scene.labelled(*ASKS_NOTHING, "turn", "interruption")
    return [one for one in labels if scene.reply_over(one.on_ms) is not None]


def _duck_delays_ms(scene: Scene) -> Iterator[float]:
    """Yield how long after each voice's onset the reply is quieter."""
    for label in scene.labelled("turn", "interruption", "backchannel", "side"):
        reply = scene.reply_over(label.on_ms)
        if reply is None:
            continue
        until_ms = label.off_ms + SOON_MS
        ducks_ms = [one for one, to_ms in scene.ducks_ms if reply.from_ms <= one <= until_ms and to_ms > label.on_ms]
        if ducks_ms:
            yield max(0.0, ducks_ms[0] - label.on_ms)


def _delays_ms(scene: Scene, moments_ms: Sequence[float], labels: Sequence[Label]) -> Iterator[float]:
    """Yield the delay of the first moment that each label explains."""
    for label in labels:
        if scene.reply_over(label.on_ms) is not None:
            found = next((ms for ms in moments_ms if label.on_ms <= ms <= label.off_ms + SOON_MS), None)
            if found is not None:
                yield found - label.on_ms


def _restarts_ms(scene: Scene) -> Iterator[float | None]:
    """Yield the resume delay of each mistaken stop; None where nothing resumed."""
    for label, reply in asks_nothing(scene):
        if stops_for(scene, label, reply):
            yield _restart_ms(label, reply)


def _restart_ms(label: Label, reply: Reply) -> float | None:
    stopped_ms = next(
        (from_ms for from_ms, _ in reply.gaps() if label.on_ms <= from_ms < label.off_ms + SOON_MS), reply.to_ms
    )
    again = next((one for one in reply.stretches if one.from_ms > stopped_ms), None)
    return None if again is None else max(0.0, again.from_ms - max(label.off_ms, stopped_ms))


def _dismissed_ms(scene: Scene) -> Iterator[float | None]:
    """Yield how late the reply goes on after each dismissed sound; None where it does not."""
    for label, reply in asks_nothing(scene):
        until_ms = min(label.off_ms + DISMISSED_IN_MS, scene.next_turn_ms(label))
        dismissals = [ms for ms in scene.dismissals_ms if label.on_ms <= ms <= until_ms]
        if dismissals and stops_for(scene, label, reply):
            yield _restart_ms(label, reply)
        elif dismissals:
            yield max(0.0, dismissals[-1] - label.off_ms)


def _stops_for_nothing(scene: Scene) -> Iterator[bool]:
    """Yield whether no label sounded, for each reply that a voice stopped."""
    for reply in scene.replies:
        flush_ms = next((ms for ms in scene.flushes_ms if abs(ms - reply.to_ms) <= SOON_MS), None)
        if reply.is_cut and flush_ms is not None:
            yield not any(one.on_ms <= flush_ms <= one.off_ms + SOON_MS for one in scene.labels or ())


def dead_air_ms(scene: Scene) -> Iterator[float]:
    """Yield silences of more than 2 s in which the user waits.

    They begin at the end of a turn, or where a reply is cut or stops, and end with the next sound of either.
    """
    begins = {one.off_ms for one in scene.turns} | {one.to_ms for one in scene.replies if one.is_cut}
    begins |= {_silent_from_ms(scene, from_ms) for one in scene.replies for from_ms, _ in one.gaps()}
    for ms in sorted(begins):
        speaks = scene.is_speaking(ms) or any(one.on_ms <= ms < one.off_ms for one in scene.turns)
        starts = [one.from_ms for one in scene.segments if one.from_ms >= ms]
        starts += [one.on_ms for one in scene.turns if one.on_ms >= ms]
        waited_ms = min([*starts, scene.duration_ms]) - ms
        if not speaks and waited_ms > DEAD_AIR_MS:
            yield waited_ms


def _silent_from_ms(scene: Scene, ms: float) -> float:
    """Return the end of the sound at this moment, else the moment."""
    return next((one.off_ms for one in scene.labels or scene.turns if one.on_ms <= ms < one.off_ms), ms)
