"""Errors of the test kit: an unusable case, and a script that cannot continue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from realtime.testing.record import CallRecord


class CaseError(ValueError):
    """A file of a test case cannot be used. The text names the file, the place in it and what to do.

    `record` is the call in which that was found, if any.
    """

    record: CallRecord | None = None

    def __init__(self, file: str | Path, problem: str, remedy: str, *, place: str = "") -> None:
        where = f"{file}, {place}" if place else f"{file}"
        super().__init__(f"{where}: {problem}. {remedy}")
        self.file = file
        self.place = place
        self.problem = problem
        self.remedy = remedy


class RunFailure(AssertionError):
    """A call did not go as its case says.

    `record` is the call so far, for the report; None: no call was made.
    """

    record: CallRecord | None = None


class ScriptFailure(RunFailure):
    """A scripted user waited in vain: the awaited event did not happen in time."""

    def with_record(self, record: CallRecord | None) -> ScriptFailure:
        """Return the same failure with its call and the call's notes."""
        failure = ScriptFailure("\n".join((str(self), *(record.notes if record is not None else ()))))
        failure.record = record
        return failure
