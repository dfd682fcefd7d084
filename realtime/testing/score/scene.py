"""Reads a call for the scoreboard: the agent as played, the user as labelled, and what was decided. Pure.

The agent's track comes from the log's playback entries, cut where items were truncated: what was sent is no evidence,
it runs seconds ahead of the ear.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from realtime.event import server as s
from realtime.state.latency import RESUMES, begins_ms
from realtime.testing.check.reading import BY_VOICE, Reading
from realtime.testing.check.turns import Speech
from realtime.testing.record import CallRecord
from realtime.testing.score.labels import TAKES_FLOOR, Label, in_order

HOLD_MS = 200.0
"""A longer gap in playback is a stop."""
SHORTEST_MS = 100.0
"""Shorter sounds of the agent do not count."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Agent speech that was played without a gap."""

    from_ms: float
    to_ms: float
    item_id: str
    reply_id: str


@dataclass(slots=True)
class Reply:
    """A response of the agent as it was played."""

    id: str
    stretches: list[Stretch] = field(default_factory=list)
    is_cut: bool = False
    """Whether its end was never played."""

    @property
    def from_ms(self) -> float:
        """Its first sound."""
        return self.stretches[0].from_ms

    @property
    def to_ms(self) -> float:
        """Its last sound."""
        return max(one.to_ms for one in self.stretches)

    def gaps(self) -> Iterator[tuple[float, float]]:
        """Yield the silences inside it that count as stops."""
        for before, after in pairwise(self.stretches):
            if after.from_ms - before.to_ms > HOLD_MS:
                yield before.to_ms, after.from_ms


@dataclass(frozen=True, slots=True)
class Segment:
    """The agent is audible, with gaps of at most `HOLD_MS`."""

    from_ms: float
    to_ms: float


@dataclass(frozen=True, slots=True)
class Scene:
    """A call as the metrics see it. Lists are in order of time, times in ms of the call."""

    name: str
    labels: tuple[Label, ...] | None
    """None where what the user's side was is unknown."""
    turns: tuple[Label, ...]
    """What the agent has to answer: the labelled turns and interruptions, else the turns that the detector found."""
    replies: tuple[Reply, ...]
    segments: tuple[Segment, ...]
    ends_ms: tuple[float, ...]
    """When turns were declared over."""
    flushes_ms: tuple[float, ...]
    """When a voice stopped a reply, at the server."""
    ducks_ms: tuple[tuple[float, float], ...]
    """When replies were quieter: from and to."""
    decisions: tuple[str, ...]
    """What the server decided about voices over replies, such as `dismissed: backchannel`."""
    dismissals_ms: tuple[float, ...]
    """When it dismissed a voice: at once, or after it had stopped the reply."""
    rests: tuple[bool, ...]
    """Whether no word is lost or doubled: each cut item and the one that resumes it, together."""
    tools_ms: tuple[float, ...]
    """When tools were called."""
    duration_ms: float
    estimated: bool
    """Whether a client did not report what it played."""

    @property
    def stretches(self) -> list[Stretch]:
        """All agent speech."""
        return sorted((one for reply in self.replies for one in reply.stretches), key=lambda one: one.from_ms)

    def is_speaking(self, ms: float) -> bool:
        """Whether the agent is audible."""
        return any(one.from_ms <= ms < one.to_ms for one in self.segments)

    def next_start_ms(self, ms: float) -> float | None:
        """Return when the agent next begins to be audible."""
        return next((one.from_ms for one in self.segments if one.from_ms >= ms), None)

    def next_turn_ms(self, label: Label) -> float:
        """Return the onset of the next turn, else the call's end."""
        return next((one.on_ms for one in self.turns if one.on_ms > label.on_ms), self.duration_ms)

    def reply_over(self, ms: float) -> Reply | None:
        """Return the reply that is being played."""
        return next(
            (reply for reply in self.replies if any(one.from_ms <= ms < one.to_ms for one in reply.stretches)), None
        )

    def labelled(self, *kinds: str) -> list[Label]:
        """Return the labels of these classes."""
        return [label for label in self.labels or () if label.kind in kinds]


def scene_of(record: CallRecord, labels: Iterable[Label] | None = None) -> Scene:
    """Read a call. Without `labels` the user's turns are those that the detector found."""
    reading = Reading(record)
    known = None if labels is None else in_order(labels)
    replies = _replies(record, reading)
    flushes = [one for one in reading.flushes if one.reason in (*BY_VOICE, "speech_stopped")]
    return Scene(
        name=record.name,
        labels=known,
        turns=_detected_turns(reading) if known is None else tuple(one for one in known if one.kind in TAKES_FLOOR),
        replies=replies,
        segments=tuple(_segments(replies)),
        ends_ms=tuple(one.ts_ms for one in record.events(s.AgentInputDoneEvent)),
        flushes_ms=tuple(one.flush_ms for one in flushes),
        ducks_ms=tuple(_ducks_ms(record)),
        decisions=tuple(
            f"{one.state}: {one.reason}" for one in record.events(s.AgentInterruptionEvent) if one.state != "possible"
        ),
        dismissals_ms=tuple(one.ts_ms for one in record.events(s.AgentInterruptionEvent) if one.state == "dismissed"),
        rests=tuple(_rests(record, reading)),
        tools_ms=tuple(one.asked_ms for one in reading.tool_calls),
        duration_ms=float(record.duration_ms),
        estimated=any(one.estimated for one in record.events(s.ServerPlaybackEvent)),
    )


def _detected_turns(reading: Reading) -> tuple[Label, ...]:
    return in_order(
        Label(turn.item_id, "turn", turn.from_ms, turn.to_ms)
        for turn in reading.turns
        if not turn.typed and not turn.withdrawn and turn.from_ms < turn.to_ms
    )


def _replies(record: CallRecord, reading: Reading) -> tuple[Reply, ...]:
    played: dict[str, list[tuple[float, float]]] = {}
    for entry in record.events(s.ServerPlaybackEvent):
        played.setdefault(entry.item_id, []).append((begins_ms(entry), entry.played_ms))
    resumed = _resumed(record)

    def speech_of(item_id: str) -> Speech:
        return reading.log.speech(item_id) or Speech(item_id, "", "")

    def begun_by(speech: Speech) -> Speech:
        """Return the speech that a resumed one continues, else itself."""
        while (cut_id := resumed.get(speech.response_id)) is not None:
            speech = speech_of(cut_id)
        return speech

    replies: dict[str, Reply] = {}
    for item_id, positions in played.items():
        speech = speech_of(item_id)
        first = begun_by(speech)
        reply = replies.setdefault(first.response_id or first.item_id, Reply(first.response_id or first.item_id))
        reply.stretches += [Stretch(*one, first.item_id, reply.id) for one in _stretches(positions, speech)]
    for reply in replies.values():
        reply.stretches.sort(key=lambda one: one.from_ms)
    gone_on = {speech_of(cut_id).response_id for cut_id in resumed.values()}
    statuses = {response.id: response.status for response in reading.responses}
    for speech in reading.speeches:
        first = begun_by(speech)
        cut = replies.get(first.response_id or first.item_id)
        if cut is not None and speech.response_id not in gone_on:
            ended_early = statuses.get(speech.response_id) in ("cancelled", "failed")
            cut.is_cut = cut.is_cut or ended_early or speech.withdrawn or speech.cut_ms is not None
    return tuple(sorted((one for one in replies.values() if one.stretches), key=lambda one: one.from_ms))


def _resumed(record: CallRecord) -> dict[str, str]:
    """Return the cut item of each response that resumes one."""
    return {
        one.response_id: one.metadata[RESUMES]
        for one in record.events(s.AgentResponseCreatedEvent)
        if one.metadata and RESUMES in one.metadata
    }


def _rests(record: CallRecord, reading: Reading) -> Iterator[bool]:
    for response_id, cut_id in _resumed(record).items():
        cut = reading.log.speech(cut_id)
        rest = next((one for one in reading.speeches if one.response_id == response_id), None)
        if cut is not None and rest is not None and cut.cut_text is not None:
            yield f"{cut.cut_text} {rest.words.text}".split() == cut.words.text.split()


def _stretches(positions: list[tuple[float, float]], speech: Speech) -> Iterator[tuple[float, float]]:
    """Yield when an item was played, from reports: when it would have begun by each, and its position.

    A report is late, never early: the earliest start that reports agree on is the best. Where they move by more than
    `HOLD_MS`, playback had stopped; the log does not say when between the two, so the gap begins at the first.
    """
    end_ms = max(position for _, position in positions)
    if speech.cut_ms is not None:
        end_ms = min(end_ms, float(speech.cut_ms))
        # The answer to a flush comes early: it counts what the device still plays.
        positions = positions[:-1] or positions
    earliest_ms = speech.first_audio_ms or 0.0
    offset_ms, known_ms, start_ms = 0.0, 0.0, positions[0][0]
    for told_ms, position_ms in positions:
        if told_ms > start_ms + HOLD_MS and offset_ms < known_ms < end_ms:
            yield max(earliest_ms, start_ms + offset_ms), start_ms + known_ms
            offset_ms, start_ms = known_ms, told_ms
        start_ms = min(start_ms, told_ms)
        known_ms = position_ms
    if end_ms > offset_ms:
        begin_ms = max(earliest_ms, start_ms + offset_ms)
        yield begin_ms, max(begin_ms, start_ms + end_ms)


def _ducks_ms(record: CallRecord) -> Iterator[tuple[float, float]]:
    """Yield when replies were quieter: up to a flush at the latest."""
    from_ms: float | None = None
    levels: list[s.ServerAudioGainEvent | s.ServerAudioFlushEvent] = []
    levels += [*record.events(s.ServerAudioGainEvent), *record.events(s.ServerAudioFlushEvent)]
    for one in sorted(levels, key=lambda event: event.ts_ms):
        if isinstance(one, s.ServerAudioGainEvent) and one.gain_db < 0:
            from_ms = one.ts_ms if from_ms is None else from_ms
        elif from_ms is not None:
            yield from_ms, one.ts_ms
            from_ms = None
    if from_ms is not None:
        yield from_ms, math.inf


def _segments(replies: Sequence[Reply]) -> Iterator[Segment]:
    stretches = sorted((one for reply in replies for one in reply.stretches), key=lambda one: one.from_ms)
    current: Segment | None = None
    for one in stretches:
        if current is not None and one.from_ms - current.to_ms <= HOLD_MS:
            current = Segment(current.from_ms, max(current.to_ms, one.to_ms))
            continue
        if current is not None and current.to_ms - current.from_ms >= SHORTEST_MS:
            yield current
        current = Segment(one.from_ms, one.to_ms)
    if current is not None and current.to_ms - current.from_ms >= SHORTEST_MS:
        yield current
