"""The barge-in sweep: interrupts a reply every 100 ms and checks rules at each place.

    sweep = await barge_in_sweep("fixtures/calls/refund", agent=support_agent)
    sweep.raise_for_failures()

The rules: the voice stops the reply; nothing is audible after the flush; the conversation holds what was heard; every
tool call has its result; the interruption is noticed and answered, and the call ends as it should.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from realtime.event import server as s
from realtime.testing.call import play
from realtime.testing.cases.case import CASE_FILE, Case, Person, load_case
from realtime.testing.cases.stand_in import Say, StandIn
from realtime.testing.check.failing import CheckFailed, Fluent, counted
from realtime.testing.check.run import Run
from realtime.testing.check.turns import UserTurn
from realtime.testing.client.steps import BargeIn, Speak, Step, Type, WaitUntilHeard
from realtime.testing.errors import CaseError, ScriptFailure
from realtime.testing.record import CallRecord

__tracebackhide__ = True
"""pytest hides these frames: a failure shows the test's line."""
EVERY_MS = 100
MAX_LISTED = 20
"""Number of failures that are listed; the rest is counted."""
TALKS_ON_MS = 300.0
"""A reply audible this long after a noticed voice was not stopped."""
FLUSH_AFTER_MS = 1_000.0
"""Longest delay of the flush after its cause."""
AFTERWARDS = Say("Yes, please?", ms=600)
"""The case model's response to an interruption that it does not foresee."""

Check = Callable[[Run], object]
PlayOnce = Callable[[Case, Path], Awaitable[CallRecord]]


@dataclass(frozen=True, slots=True)
class SweepFailure:
    """An interruption that broke a rule."""

    after_ms: int
    """Heard ms of the reply when the user began."""
    error: AssertionError
    """`CheckFailed` with its timeline, or `ScriptFailure` where the call broke off."""
    record: CallRecord | None
    """The run; None where it did not reach its end."""

    @property
    def finding(self) -> str:
        """The failure in one sentence."""
        return self.error.finding if isinstance(self.error, CheckFailed) else str(self.error).partition("\n")[0]


@dataclass(frozen=True, repr=False)
class Sweep(Fluent):
    """The result of all interruptions. Keeps no runs that met the rules."""

    name: str
    length_ms: float
    """Length of the interrupted reply."""
    places_ms: tuple[int, ...]
    """Places of the interruptions."""
    failures: tuple[SweepFailure, ...]

    def __repr__(self) -> str:
        return f"Sweep({self.name!r}, {len(self.places_ms)} runs, {len(self.failures)} failures)"

    def raise_for_failures(self) -> Sweep:
        """Raise CheckFailed where an interruption broke a rule: each with its place, the first with its timeline."""
        if not self.failures:
            return self
        first = self.failures[0]
        broke = len({failure.after_ms for failure in self.failures})
        finding = (
            f"{broke} of {counted(len(self.places_ms), 'interruption')} of a reply of {self.length_ms / 1000:.1f} s "
            f"broke a rule."
        )
        lines = [f"  after {one.after_ms:>6,} ms: {one.finding}" for one in self.failures[:MAX_LISTED]]
        if len(self.failures) > MAX_LISTED:
            lines.append(f"  ... and {len(self.failures) - MAX_LISTED} more")
        lines += ["", f"The one after {first.after_ms:,} ms:"]
        details = "\n".join(lines)
        if isinstance(first.error, CheckFailed):
            raise CheckFailed(finding, first.error.timeline, first.error.places_ms, details)
        raise CheckFailed(finding, str(first.error), (), details)


async def barge_in_sweep(
    source: str | Path | Case,
    *,
    speech: Speak | None = None,
    reply: int = 1,
    every_ms: int = EVERY_MS,
    checks: Sequence[Check] = (),
    folder: str | Path | None = None,
    play_once: PlayOnce | None = None,
    **options: Any,
) -> Sweep:
    """Interrupt a reply at many places, each in its own call; check rules.

    The places are 0 ms, `every_ms`, twice that and so on of its audible length.

    `reply` is the response to that many steps of speaking or typing of the case's first user, from 1; 0 is what the
    agent says on its own. The script runs up to it, then `speech` (default: that of the case's first barge-in, else the
    first speech) interrupts, its response is heard, and the user leaves. `checks` are rules of your own. `options` are
    those of `play`; a model given as an object has to start again with each connection. `play_once` runs a case in
    another way.

    A model in the case without an answer to the interruption says `AFTERWARDS`. Raises CaseError where the case cannot
    be run, or has no such reply; ValueError where `every_ms` is not positive.
    """
    if every_ms <= 0:
        raise ValueError(f"every_ms has to be positive, not {every_ms}")
    case, where = load_case(source) if isinstance(source, str | Path) else (source, Path.cwd())
    where = where if folder is None else Path(folder)
    options = {"frames": False, **options}
    once: PlayOnce = play_once or (lambda case, folder: play(case, folder=folder, **options))
    before, speech = _script(case, where, reply, speech)
    case = _able_to_answer(case, where)
    whole = await once(_with_steps(case, (*before, WaitUntilHeard())), where)
    length_ms = _length_ms(whole)
    if not length_ms:
        raise CaseError(where / CASE_FILE, f"nothing is heard of reply {reply}", "Choose another reply to interrupt.")
    places_ms = range(0, int(length_ms), every_ms)
    failures: list[SweepFailure] = []
    for after_ms in places_ms:
        steps = (*before, BargeIn(speech, after_ms=after_ms), WaitUntilHeard())
        try:
            record = await once(_with_steps(case, steps), where)
        except ScriptFailure as failure:
            failures.append(SweepFailure(after_ms, failure, None))
            continue
        failures += [SweepFailure(after_ms, error, record) for error in _broken(Run(record), checks)]
    return Sweep(case.name, length_ms, tuple(places_ms), tuple(failures))


def _script(case: Case, where: Path, reply: int, speech: Speak | None) -> tuple[tuple[Step, ...], Speak]:
    """Return the steps that lead to the reply, and the interrupting speech."""
    steps = case.users[0].steps
    acts = [place for place, step in enumerate(steps) if isinstance(step, Speak | BargeIn | Type)]
    if not 0 <= reply <= len(acts):
        remedy = f"Choose a reply from 0 to {len(acts)}."
        raise CaseError(where / CASE_FILE, f"there is no reply {reply}", remedy, place=f"users, {case.users[0].name}")
    if speech is None:
        interrupting = [step.speech for step in steps if isinstance(step, BargeIn)]
        spoken = [step for step in steps if isinstance(step, Speak)]
        speech = next(iter((*interrupting, *spoken)), None)
    if speech is None:
        raise CaseError(where / CASE_FILE, "it contains no speech", "Give barge_in_sweep the speech that interrupts.")
    return steps[: acts[reply - 1] + 1] if reply else (), speech


def _with_steps(case: Case, steps: tuple[Step, ...]) -> Case:
    first, *others = case.users
    person: Person = msgspec.structs.replace(first, steps=steps)
    return msgspec.structs.replace(case, users=(person, *others))


def _able_to_answer(case: Case, where: Path) -> Case:
    models: dict[str, StandIn] = {}
    for name, model in case.models.items():
        if model.turns == "positions":
            problem = "its model hears at fixed positions, and would not hear an interruption elsewhere"
            remedy = 'Set "turns" to "detector", or give barge_in_sweep a model.'
            raise CaseError(where / CASE_FILE, problem, remedy, place=f"models, {name}")
        models[name] = msgspec.structs.replace(model, otherwise=model.otherwise or AFTERWARDS)
    return msgspec.structs.replace(case, models=models)


def _length_ms(record: CallRecord) -> float:
    """Return the audible ms of the response to the last turn."""
    reading = Run(record).reading
    last = len(reading.turns)
    ids = {response.id for response in reading.responses if response.turn == last}
    return sum(speech.heard_ms for speech in reading.speeches if speech.response_id in ids)


def _broken(run: Run, checks: Sequence[Check]) -> list[AssertionError]:
    """Return the failures of the rules."""
    rules: tuple[Check, ...] = (
        Run.nothing_after_flush,
        Run.transcript_equals_heard,
        _is_stopped,
        _cut_where_heard,
        Run.tools_answered,
        _goes_on,
        *checks,
    )
    broken: list[AssertionError] = []
    for rule in rules:
        try:
            rule(run)
        except AssertionError as error:
            broken.append(error)
    return broken


def _is_stopped(run: Run) -> None:
    """The agent stops talking.

    There is an interruption near the interrupting speech, or the reply ended on its own soon after the voice was
    noticed.
    """
    spoken = run.record.spoken[-1]
    if any(spoken.from_ms <= one.flush_ms <= spoken.to_ms + FLUSH_AFTER_MS for one in run.interruptions):
        return
    turn = _interrupting(run)
    starts = (start for start, its_turn in run.reading.log.starts if its_turn is turn)
    noticed = next((start for start in starts if start.ts_ms >= spoken.from_ms), None)
    if noticed is None:
        # `_goes_on` reports a voice that is not noticed at all.
        return
    noticed_ms = float(noticed.ts_ms)
    ends_ms = [
        one.from_ms + one.ms
        for speech in run.speeches
        if run.reading.log.asked_before(speech, noticed.seq)
        for one in speech.played
    ]
    until_ms = max(ends_ms, default=noticed_ms)
    if until_ms > noticed_ms + TALKS_ON_MS:
        finding = (
            f"The voice did not stop the reply: it was heard for {until_ms - noticed_ms:.0f} ms after it was noticed."
        )
        run.fail(finding, noticed_ms, until_ms)


def _interrupting(run: Run) -> UserTurn | None:
    """Return the turn of the last speech."""
    spoken = run.record.spoken[-1]
    return next((one for one in reversed(run.user_turns) if not one.typed and one.to_ms > spoken.from_ms), None)


def _cut_where_heard(run: Run) -> None:
    for number in range(1, len(run.interruptions) + 1):
        run.barge_in(number).transcript_cut_at_heard_word()


def _goes_on(run: Run) -> None:
    """The call continues: the interrupting user gets a response, and the call ends."""
    spoken = run.record.spoken[-1]
    turn = _interrupting(run)
    if turn is None:
        run.fail("The interruption was not noticed: no turn of the user came of it.", spoken.from_ms)
    if turn.ended_ms is None:
        run.fail("The turn that interrupted never ended.", turn.from_ms)
    said = {speech.response_id for speech in run.speeches if speech.played or (speech.written and speech.text)}
    if not any(answer.created_seq > turn.ended_seq and answer.id in said for answer in run.responses):
        run.fail("The interruption was never answered.", turn.ended_ms)
    if not run.record.events(s.ServerSessionEndedEvent):
        run.fail("The call did not end.", float(run.record.duration_ms))
