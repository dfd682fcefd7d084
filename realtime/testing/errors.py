"""What goes wrong in a test kit: a case that cannot be run, and a script that cannot go on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from realtime.testing.record import CallRecord


class CaseError(ValueError):
    """A file of a test case cannot be used. The text names the file, the place in it and what to do.

    `record` is the call in which that was found out, if it was one.
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
    """A call that did not go as its case says. `record` is the call up to there, null where none was made: the report
    shows it."""

    record: CallRecord | None = None


class ScriptFailure(RunFailure):
    """A step of a scripted user waited for something that did not happen in its time."""

    def with_record(self, record: CallRecord | None) -> ScriptFailure:
        """The same with what came of the call, and what is to be named of it."""
        failure = ScriptFailure("\n".join((str(self), *(record.notes if record is not None else ()))))
        failure.record = record
        return failure
