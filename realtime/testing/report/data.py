"""Converts a call record to JSON-safe page data and plain text. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from realtime.testing.check.timeline import Timeline
from realtime.testing.record import CallRecord, Lane
from realtime.testing.report.diff import RunChange, RunDigest
from realtime.testing.report.frames import rows
from realtime.testing.report.sound import bucket_ms, mixed_flac, peaks
from realtime.testing.report.story import Story
from realtime.testing.score.board import Score
from realtime.testing.score.labels import labels_in
from realtime.testing.score.published import published


def run_data(
    record: CallRecord,
    story: Story,
    digest: RunDigest,
    change: RunChange | None,
    *,
    judged: bool,
    max_audio_bytes: int,
) -> dict[str, Any]:
    """Return the page's data of one run. `judged` is whether the run had expectations."""
    duration_ms = max(
        [record.duration_ms, *(len(lane.pcm) / 2 * 1000 / lane.rate_hz for lane in record.lanes)], default=0
    )
    frames, left_out = rows(record)
    audio = mixed_flac(record.lanes, max_audio_bytes)
    step_ms = bucket_ms(duration_ms)
    data = msgspec.structs.asdict(digest) | {
        "judged": judged,
        "duration_ms": duration_ms,
        "wall_s": record.wall_s,
        "late_samples": record.late_samples,
        "step_ms": step_ms,
        "lanes": [_lane(lane, step_ms) for lane in _lanes(record, story)],
        "captions": story.captions,
        "turns": story.turns,
        "tools": story.tools,
        "voice": story.voice,
        "script": [[one.who, one.from_ms, one.to_ms, one.text or "", one.barge_in] for one in record.spoken],
        "floor": story.floor,
        "moments": story.moments,
        "plans": story.plans,
        "frames": [msgspec.structs.astuple(row) for row in frames],
        "frames_left_out": left_out,
        "audio": audio,
        "listening": _listening(record),
        "silent": not any(lane.pcm for lane in record.lanes),
        "change": change,
    }
    safe: dict[str, Any] = msgspec.to_builtins(data)
    return safe


def run_text(digest: RunDigest, story: Story) -> str:
    """Return the run as lines of text, in the order of time."""
    result = "passed" if digest.failure is None else f"failed\n\n{digest.failure}\n"
    return f"{digest.name}: {result}\n\n{Timeline(story.reading)}"


def _listening(record: CallRecord) -> str | None:
    """Return the scoreboard above the published figures; None for a call without labels."""
    if labels_in(record.folder) is None:
        return None
    return f"{Score.of(record)}\n\ntau-voice as published (other calls; latencies in s)\n\n{published()}"


def _lanes(record: CallRecord, story: Story) -> list[Lane]:
    """Return lanes with sound, humans first, and one per other speaker."""
    lanes = sorted(record.lanes, key=lambda lane: lane.kind == "agent")
    known = {lane.speaker for lane in lanes}
    humans = dict.fromkeys(turn.who for turn in story.turns if turn.who)
    agents = dict.fromkeys([one.who for one in story.captions] + [one.who for one in story.tools])
    lanes += [Lane(who, "human", 16_000, b"") for who in humans if who not in known]
    lanes += [Lane(who, "agent", 24_000, b"") for who in agents if who not in known and who not in humans]
    return lanes


def _lane(lane: Lane, step_ms: int) -> dict[str, str]:
    return {"speaker": lane.speaker, "kind": lane.kind, "peaks": peaks(lane, step_ms)}
