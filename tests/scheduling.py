"""Which worker runs which test file: the longest first, by the seconds that `tests/durations.json` has on record.

A file stays on one worker, so its module fixtures are made once. `pytest --record-durations tests/durations.json`
writes what this run took into the file; only files that it ran change.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

RECORDED = Path(__file__).with_name("durations.json")
UNKNOWN_S = 3.0
"""What a file without a record is taken to need."""


def recorded_s() -> dict[str, float]:
    """Return the seconds of each test file on one quiet core."""
    durations: dict[str, float] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return durations


class LongestFirst(LoadFileScheduling):
    """Hands out whole files. A test that ends its worker is not run again: the next worker goes on behind it."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        self._seconds = recorded_s()

    def remove_node(self, node: WorkerController) -> str | None:
        units = self.assigned_work.pop(node)
        running = (test for unit in units.values() for test, has_run in unit.items() if not has_run)
        ended_it: str | None = next(running, None)
        for file, unit in units.items():
            if ended_it in unit:
                unit[ended_it] = True
            if not all(unit.values()):
                self.workqueue[file] = unit
        for other in self.assigned_work:
            self._reschedule(other)
        return ended_it

    def _assign_work_unit(self, node: WorkerController) -> None:
        longest = max(self.workqueue, key=lambda file: self._seconds.get(file, UNKNOWN_S))
        self.workqueue.move_to_end(longest, last=False)
        super()._assign_work_unit(node)


class Durations:
    """Adds up what each test file takes, and closes the run with the three slowest."""

    def __init__(self, record: str | None) -> None:
        self._record = Path(record) if record is not None else None
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid.partition("::")[0]] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        slowest = sorted(self._seconds.items(), key=lambda one: -one[1])[:3]
        told = ", ".join(f"{file} {seconds:.0f} s" for file, seconds in slowest)
        terminalreporter.line(f"slowest files of {sum(self._seconds.values()):.0f} s: {told}")
        if self._record is not None:
            known = recorded_s() if self._record.exists() else {}
            known |= {file: round(seconds, 1) for file, seconds in self._seconds.items()}
            self._record.write_text(json.dumps(known, indent=0, sort_keys=True) + "\n", encoding="utf-8")
