"""Every small mistake in the turn table, made mechanically, and which situations notice it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from realtime.testing import clock
from realtime.testing.call import play
from realtime.testing.cases.case import LOG_FILE, read_case
from realtime.testing.check.golden import difference
from realtime.testing.record import CallRecord
from realtime.turn.machine import TRANSITIONS, Action, Signal, State, Turn
from tests.calls.situations import FOLDER, length_ms, options

NOTICED_FILE = FOLDER / "noticed.json"
SURVIVORS_FILE = FOLDER / "survivors.toml"

GRACE_MS = 500
"""A call that takes so much longer than the accepted one is another call."""
ROWS_FILE = FOLDER / "rows.json"

Rows = dict[str, list[str]]
"""What was done at each row of the table, by the row's name."""
Row = tuple[State, Signal]
Entry = tuple[State, tuple[Action, ...]]


@dataclass(frozen=True)
class Mutant:
    """A table in which one row is another; null: it is missing."""

    name: str
    row: Row
    entry: Entry | None
    lacks: Action | None = None
    """The action that it does not have."""

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The table is this one meanwhile. Afterwards it is as it was, in its order too: it is drawn."""
        right = dict(TRANSITIONS)
        if self.entry is None:
            del TRANSITIONS[self.row]
        else:
            TRANSITIONS[self.row] = self.entry
        try:
            yield
        finally:
            TRANSITIONS.clear()
            TRANSITIONS.update(right)


def _name(row: Row) -> str:
    return f"{row[0]} {row[1]}"


def mutants() -> Iterator[Mutant]:
    """The row dropped, each of its actions dropped, its target swapped for each other state."""
    for row, (target, actions) in [*TRANSITIONS.items()]:
        name = _name(row)
        yield Mutant(f"{name}: no row", row, None)
        for place, action in enumerate(actions):
            yield Mutant(f"{name}: no {action}", row, (target, (*actions[:place], *actions[place + 1 :])), action)
        for state in State:
            if state is not target:
                yield Mutant(f"{name}: to {state}", row, (state, actions))


def play_once(folder: Path, *, limit_s: float | None = None) -> CallRecord:
    """Play a situation. Raises ScriptFailure where it takes longer than `limit_s`."""
    case = read_case(folder)
    if limit_s is not None:
        case = msgspec.structs.replace(case, limit_s=limit_s)
    return clock.run(play(case, folder=folder, frames=False, **options(folder)))


@contextmanager
def rows_noted() -> Iterator[Rows]:
    """Meanwhile note which rows of the table are taken, and what was to be done then."""
    rows: Rows = {}
    move, receive = Turn._move, Turn.receive
    last = ""

    def noting_move(turn: Turn, signal: Signal) -> tuple[Action, ...] | None:
        nonlocal last
        row = _name((turn.state, signal))
        actions = move(turn, signal)
        if actions is not None:
            rows.setdefault(row, [])
            last = row
        return actions

    def noting_receive(turn: Turn, *what: Any, **known: Any) -> tuple[Action, ...]:
        actions = receive(turn, *what, **known)
        if actions:
            rows[last] = sorted({*rows[last], *actions})
        return actions

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Turn, "_move", noting_move)
        patch.setattr(Turn, "receive", noting_receive)
        yield rows


def play_noting(folder: Path) -> tuple[Rows, CallRecord]:
    """Play a situation, and say by which rows it comes."""
    with rows_noted() as rows:
        record = play_once(folder)
    return dict(sorted(rows.items())), record


def all_rows() -> dict[str, Rows]:
    """What each situation comes by, the shortest calls first, as it is kept."""
    kept: dict[str, Rows] = json.loads(ROWS_FILE.read_text(encoding="utf-8"))
    return kept


def known_noticers() -> dict[str, str]:
    """The situation that noticed each mutant, by the mutant's name, as it is kept."""
    kept: dict[str, str] = json.loads(NOTICED_FILE.read_text(encoding="utf-8"))
    return kept


def concerned(mutant: Mutant, situations: dict[str, Rows], first: str | None = None) -> list[str]:
    """The situations in which this table does anything else at all; `first` comes first."""
    row = _name(mutant.row)
    found = [
        name for name, rows in situations.items() if row in rows and (mutant.lacks is None or mutant.lacks in rows[row])
    ]
    return sorted(found, key=lambda name: name != first)


def noticer_of(mutant: Mutant, first: str | None = None) -> str | None:
    """The first situation that notices the mutant; null where none does."""
    return next((name for name in concerned(mutant, all_rows(), first) if notices(FOLDER / name, mutant)), None)


def notices(folder: Path, mutant: Mutant) -> bool:
    """Whether the situation fails, or its log is not the accepted one, with this table."""
    accepted = (folder / LOG_FILE).read_bytes()
    limit_s = (length_ms(folder.name) + GRACE_MS) / 1000
    with mutant.in_place():
        try:
            return difference(accepted, play_once(folder, limit_s=limit_s).log_bytes()) is not None
        except Exception:  # whatever a wrong table leads to
            return True


def known_survivors() -> dict[str, bool]:
    """The mutants that no situation notices, and whether one could: the reasons stand in the file."""
    groups = tomllib.loads(SURVIVORS_FILE.read_text(encoding="utf-8"))["group"]
    return {name: group["possible"] for group in groups for name in group["mutants"]}
