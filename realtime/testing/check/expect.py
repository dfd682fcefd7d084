"""What a case expects of its call, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from realtime.testing.cases.case import CASE_FILE, LOG_FILE, Expected, read_case
from realtime.testing.cases.stand_in import ToolUse
from realtime.testing.check.failing import counted
from realtime.testing.check.parts import has_arguments
from realtime.testing.check.words import normalised, shortened
from realtime.testing.errors import CaseError

if TYPE_CHECKING:
    from realtime.testing.check.run import Run


__tracebackhide__ = True
"""A failure shows the line of the test, not those of the check."""


def expected_of(run: Run) -> Expected:
    """What the case that was run expects; of a call that was kept, `case.json` beside it.

    Raises CaseError where there is no case, or one that expects nothing.
    """
    record = run.record
    expected = record.expected
    if expected is None and record.folder is not None and (record.folder / CASE_FILE).is_file():
        expected = read_case(record.folder).expect
    if expected is None or expected == Expected():
        remedy = 'Say what has to come of it ("expect" in case.json), or check it in the test.'
        raise CaseError(record.folder or record.name, "nothing is expected of this call", remedy)
    return expected


def check_expectations(run: Run, expected: Expected) -> None:
    """Raises AssertionError for the first that is not met."""
    if expected.turns is not None:
        run.turns(expected.turns)
    if expected.user_said:
        _check_user_turns(run, expected.user_said)
    if expected.wer_below is not None:
        run.heard_by_agent.wer_below(expected.wer_below)
    run.agent_said(*expected.agent_said)
    if expected.tools:
        _check_tools(run, expected.tools)
    if expected.barge_ins is not None:
        run.barge_ins(expected.barge_ins)
    if expected.response_p95_below_ms is not None:
        run.response_latency.p95_below(ms=expected.response_p95_below_ms)
    if expected.no_dead_air_ms is not None:
        run.no_dead_air(longer_than_ms=expected.no_dead_air_ms)
    if expected.log:
        run.matches_log(LOG_FILE if run.record.folder is None else run.record.folder / LOG_FILE)


def _check_tools(run: Run, uses: tuple[ToolUse, ...]) -> None:
    """Each call is the expected one with its arguments, in order, and there are no others."""
    calls = run.reading.tool_calls
    made = ", ".join(f"{call.name}({shortened(call.input, 40)})" for call in calls) or "none"
    for number, use in enumerate(uses, 1):
        wanted = f"{use.name}({', '.join(f'{name}={value!r}' for name, value in use.arguments.items())})"
        call = calls[number - 1] if number <= len(calls) else None
        if call is None or call.name != use.name or not has_arguments(call, use.arguments):
            place = [] if call is None else [call.asked_ms]
            run.fail(f"Call {number} of a tool was to be {wanted}; the calls are {made}.", *place)
    if len(calls) > len(uses):
        finding = (
            f"There {'was' if len(calls) == 1 else 'were'} {counted(len(calls), 'call')} of tools, not {len(uses)}"
        )
        run.fail(f"{finding}: {made}.", calls[len(uses)].asked_ms)


def _check_user_turns(run: Run, texts: tuple[str, ...]) -> None:
    # A turn of which nobody knows a word has nothing to compare.
    said = [one.text for one in run.record.items if one.type == "message" and one.role == "user" and one.text]
    if [normalised(text) for text in said] != [normalised(text) for text in texts if text]:
        places = [turn.from_ms for turn in run.user_turns]
        run.fail(f"The user's turns are {said}; {[*texts]} were expected.", *places[:1])
