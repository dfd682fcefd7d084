"""The digest of a report's runs, and the differences between two.

Pure. The digest is `report.json`: suited for diffs and version control.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

import msgspec

from realtime.state.latency import percentile
from realtime.testing.errors import CaseError
from realtime.testing.report.story import Story, Turn
from realtime.texts import as_utf8

VERSION = 1
MAX_OUTPUT_CHARS = 200
"""Limit for a tool's output."""

Piece = tuple[str, str]
"""Words that stayed (`=`), were removed (`-`) or added (`+`)."""


class TurnDigest(msgspec.Struct):
    """A turn in words. `answer` is the heard part of the response, `unheard` the rest."""

    who: str
    said: str
    answer: str = ""
    unheard: str = ""
    tools: list[str] = []
    latency_ms: int | None = None


class RunDigest(msgspec.Struct):
    """A run in words and numbers."""

    name: str
    failure: str | None
    duration_ms: int
    barge_ins: int
    latency_p50_ms: int | None
    latency_p95_ms: int | None
    turns: list[TurnDigest]


class Digest(msgspec.Struct):
    """All runs of a report."""

    version: int
    runs: list[RunDigest]


class TurnChange(msgspec.Struct):
    """A turn that is new (`added`), gone (`removed`) or different (`changed`).

    `number` counts human turns from 1, in this run unless it is gone; 0 is what an agent said first. Unchanged parts
    are empty.
    """

    kind: str
    number: int
    who: str
    said: list[Piece] = []
    answer: list[Piece] = []
    unheard: list[Piece] = []
    tools: list[Piece] = []
    latency_ms: tuple[int | None, int | None] | None = None


class RunChange(msgspec.Struct):
    """The differences of a run from the accepted run of this name. `facts` are name, before, after."""

    known: bool
    """Whether the accepted report has a run of this name."""
    facts: list[tuple[str, str, str]] = []
    turns: list[TurnChange] = []


def digest(name: str, failure: str | None, duration_ms: float, story: Story) -> RunDigest:
    """Return the digest of a run."""
    return RunDigest(
        name,
        failure,
        round(duration_ms),
        story.barge_ins,
        percentile(story.latencies_ms, 50),
        percentile(story.latencies_ms, 95),
        [_turn_digest(story, turn) for turn in story.turns],
    )


def read_digest(path: Path) -> Digest:
    """Read the digest of an earlier report. Raises CaseError for another file."""
    remedy = "Give the report.json that stands beside an earlier report, or none"
    try:
        found = msgspec.json.decode(as_utf8(path.read_bytes()), type=Digest)
    except OSError as error:
        raise CaseError(path, error.strerror or str(error), remedy) from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise CaseError(path, f"this is no digest of a report ({error})", remedy) from error
    if found.version != VERSION:
        problem = f"this digest has version {found.version}, not {VERSION}"
        raise CaseError(path, problem, "Write the report anew and accept that", place="version")
    return found


def compare(before: RunDigest | None, after: RunDigest) -> RunChange:
    """Return the differences."""
    if before is None:
        return RunChange(known=False)
    facts = [
        ("result", _result(before), _result(after)),
        ("duration", _ms(before.duration_ms), _ms(after.duration_ms)),
        ("turns", str(_number(before.turns, -1)), str(_number(after.turns, -1))),
        ("barge-ins", str(before.barge_ins), str(after.barge_ins)),
        ("latency p50", _ms(before.latency_p50_ms), _ms(after.latency_p50_ms)),
        ("latency p95", _ms(before.latency_p95_ms), _ms(after.latency_p95_ms)),
    ]
    changed = [(name, was, now) for name, was, now in facts if was != now]
    return RunChange(known=True, facts=changed, turns=[*_turn_changes(before.turns, after.turns)])


def words_changed(before: str, after: str) -> list[Piece]:
    """Compare two texts word by word; empty where they are equal."""
    return [] if before == after else _merged(re.findall(r"\S+\s*", before), re.findall(r"\S+\s*", after))


def _merged(before: list[str], after: list[str]) -> list[Piece]:
    pieces: list[Piece] = []
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(("=", "".join(after[c:d])))
            continue
        if b > a:
            pieces.append(("-", "".join(before[a:b])))
        if d > c:
            pieces.append(("+", "".join(after[c:d])))
    return pieces


def _turn_digest(story: Story, turn: Turn) -> TurnDigest:
    answers = [story.captions[place] for place in turn.answers]
    tools = [story.tools[place] for place in turn.tools]
    return TurnDigest(
        turn.who,
        "" if turn.said is None else story.captions[turn.said].heard,
        " ".join(answer.heard for answer in answers if answer.heard),
        " ".join(answer.unheard.strip() for answer in answers if answer.unheard.strip()),
        [f"{tool.name}({tool.input}) {tool.state}: {tool.output[:MAX_OUTPUT_CHARS]}" for tool in tools],
        None if turn.latency_ms is None else round(turn.latency_ms),
    )


def _turn_changes(before: list[TurnDigest], after: list[TurnDigest]) -> Iterator[TurnChange]:
    """Match turns with the same words; match others by their place between such turns."""
    matcher = SequenceMatcher(None, [(t.who, t.said) for t in before], [(t.who, t.said) for t in after], autojunk=False)
    for _, a, b, c, d in matcher.get_opcodes():
        paired = min(b - a, d - c)
        for place in range(paired):
            change = _turn_change(before[a + place], after[c + place], _number(after, c + place))
            if change.said or change.answer or change.unheard or change.tools or change.latency_ms is not None:
                yield change
        for place in range(a + paired, b):
            yield _whole_turn("removed", "-", before[place], _number(before, place))
        for place in range(c + paired, d):
            yield _whole_turn("added", "+", after[place], _number(after, place))


def _turn_change(before: TurnDigest, after: TurnDigest, number: int) -> TurnChange:
    return TurnChange(
        "changed",
        number,
        after.who,
        words_changed(before.said, after.said),
        words_changed(before.answer, after.answer),
        words_changed(before.unheard, after.unheard),
        [] if before.tools == after.tools else _merged(before.tools, after.tools),
        None if before.latency_ms == after.latency_ms else (before.latency_ms, after.latency_ms),
    )


def _whole_turn(kind: str, mark: str, turn: TurnDigest, number: int) -> TurnChange:
    def all_of(*texts: str) -> list[Piece]:
        return [(mark, text) for text in texts if text]

    return TurnChange(
        kind, number, turn.who, all_of(turn.said), all_of(turn.answer), all_of(turn.unheard), all_of(*turn.tools)
    )


def _number(turns: list[TurnDigest], place: int) -> int:
    """Return the number of the turn at this place; -1 means the last."""
    return (place % len(turns)) + bool(turns[0].who) if turns else 0


def _result(run: RunDigest) -> str:
    return "passed" if run.failure is None else "failed"


def _ms(value: int | None) -> str:
    return "none" if value is None else f"{value} ms"
