"""Certifies a provider: holds the ten turns live and records them, or replays the recording."""

from __future__ import annotations

import asyncio
import contextlib
import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from realtime.agent import RealtimeAgent
from realtime.agent.run import AgentRun
from realtime.agent.settings import AgentSpec
from realtime.call.participant import Host
from realtime.errors import RealtimeError
from realtime.event.config import SessionConfig
from realtime.model.base import Address, RealtimeModel
from realtime.model.wire import Dial, Link, Receiver, WireLimits
from realtime.state.log import Entry
from realtime.testing.call import play
from realtime.testing.cassettes.format import FILE_NAME
from realtime.testing.cassettes.record import RecordingModel, WireModel
from realtime.testing.cassettes.replay import recorded_model
from realtime.testing.certify.turns import FOLDER, INSTRUCTIONS, Seen, Turn, tokens_of, turns_for
from realtime.testing.clock import VirtualLoop
from realtime.testing.errors import ScriptFailure
from realtime.testing.record import CallRecord
from realtime.tool import Toolkit

NOT_REACHED = "not reached"


@dataclass(frozen=True, slots=True)
class Row:
    """One turn: the expectation and what was seen."""

    turn: str
    expected: str
    seen: str
    passed: bool


@dataclass(frozen=True, slots=True)
class Certificate:
    """The result of all turns. `failure` says why some were not reached, `recorded` whether there is a cassette."""

    rows: tuple[Row, ...]
    tokens: tuple[int, int]
    failure: str | None = None
    recorded: bool = True

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return self.failure is None and all(row.passed for row in self.rows)


async def certify(model: RealtimeModel, folder: Path) -> Certificate:
    """Hold the ten turns with this provider's model; record a cassette in `folder`.

    Runs on the loop's clock: the wall clock for a real provider. A provider that was not reached leaves no cassette.
    """
    cutter = _Cutter()
    if isinstance(model, WireModel):
        model.dial = cutter.dial(model.dial)
    certificate = await _hold(RecordingModel(model, folder), cutter)
    return replace(certificate, recorded=_is_recorded(folder))


def _is_recorded(folder: Path) -> bool:
    """Whether a frame was recorded. A cassette without one is removed: it cannot be played."""
    file = folder / FILE_NAME
    try:
        with file.open("rb") as lines:
            if any("dir" in json.loads(line) for line in lines):
                return True
        file.unlink()
    except FileNotFoundError:
        return False
    with contextlib.suppress(OSError):  # the folder holds other files
        folder.rmdir()
    return False


def replay_certificate(folder: Path) -> Certificate:
    """Replay the ten turns from the cassette, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(_hold(recorded_model(folder, strict=False), _Cutter()))


class _Cutter:
    """Cuts the provider's link on demand."""

    def __init__(self) -> None:
        self._link: Link | None = None

    def dial(self, below: Dial) -> Dial:
        """Return a `Dial` whose latest link can be cut."""

        async def dial(address: Address, receiver: Receiver, limits: WireLimits) -> Link:
            self._link = link = await below(address, receiver, limits)
            return link

        return dial

    def cut(self) -> None:
        """Lose the link now. A link from a cassette is lost as in the recording."""
        if self._link is not None:
            self._link.abort()


async def _hold(model: RealtimeModel, cutter: _Cutter) -> Certificate:
    turns = turns_for(model.profile)
    first_steps = [1 + sum(len(turn.steps) for turn in turns[:number]) for number in range(len(turns))]
    began_ms: list[int] = []

    def on_step(number: int, ms: float) -> None:
        if number in first_steps:
            began_ms.append(int(ms))  # as a log counts
            if turns[first_steps.index(number)].cuts:
                cutter.cut()

    candidate = _Candidate(model)
    steps = [step for turn in turns for step in turn.steps]
    failure: str | None = None
    try:
        record: CallRecord | None = await play(
            steps, agent=lambda: candidate, model="own", tools="run", folder=FOLDER, frames=False, on_step=on_step
        )
    except ScriptFailure as error:
        record, failure = error.record, candidate.refusals[0].message if candidate.refusals else str(error)
    entries = () if record is None else record.entries
    return Certificate(tuple(_rows(turns, began_ms, entries)), tokens_of(entries), failure)


class _Candidate(RealtimeAgent):
    """The agent of the call. Notes why its model is unavailable: clients learn less."""

    def __init__(self, model: RealtimeModel) -> None:
        super().__init__("Candidate", INSTRUCTIONS, model, toolkit=Toolkit([order_state]))
        self.refusals: list[RealtimeError] = []

    def run(self) -> AgentRun:
        """See `RealtimeAgent.run`."""
        return _CandidateRun(self.spec, self.refusals)


class _CandidateRun(AgentRun):
    """Notes why the model cannot be had."""

    def __init__(self, spec: AgentSpec, refusals: list[RealtimeError]) -> None:
        super().__init__(spec)
        self._refusals = refusals

    async def join(self, host: Host, config: SessionConfig) -> None:
        """See `AgentRun.join`."""
        try:
            await super().join(host, config)
        except RealtimeError as error:
            self._refusals.append(error)
            raise


def order_state(order: int) -> str:
    """Tell the state of an order.

    Args:
    order: Its number.
    """
    return f"Order {order} was shipped."


def _rows(turns: Sequence[Turn], began_ms: Sequence[int], entries: Sequence[Entry]) -> list[Row]:
    """Return each turn with its log up to the next turn."""
    parts: list[list[Entry]] = [[] for _ in turns]
    for entry in entries:
        number = bisect_right(began_ms, entry.ts_ms) - 1
        if number >= 0:
            parts[number].append(entry)
    rows = []
    for number, turn in enumerate(turns):
        if number >= len(began_ms):
            rows.append(Row(turn.name, turn.expected, NOT_REACHED, passed=False))
            continue
        passed, seen = turn.judge(Seen(tuple(parts[number])))
        rows.append(Row(turn.name, turn.expected, seen, passed))
    return rows
