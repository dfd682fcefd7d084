"""What a failing test prints beside its traceback: how to run it alone, and the end of its call's log."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

from tests.volumes import NIGHTLY, SEED

ENTRIES = 40
LOGS = 3
"""At most: the newest."""
LONGEST = 300
"""Characters of an entry."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report: pytest.TestReport = yield  # type: ignore[misc]
    if report.failed:
        settings = f"REALTIME_NIGHTLY=1 REALTIME_SEED={SEED} " if NIGHTLY else ""
        report.sections.append(("run it alone", f"{settings}.venv/bin/python -m pytest '{item.nodeid}'"))
        for number, lines in enumerate(_newest_logs(), 1):
            report.sections.append((f"log of call {number}, its last {ENTRIES} entries", "\n".join(lines)))
    return report  # type: ignore[return-value]


def _newest_logs() -> Iterator[list[str]]:
    """The newest logs that are alive; what was collected before the tests (`gc.freeze`) is not among them."""
    module = sys.modules.get("realtime.state.log")
    if module is None:
        return
    logs = [one for one in gc.get_objects() if isinstance(one, module.Log) and one.last_seq]
    for log in logs[-LOGS:]:
        yield [str(entry)[:LONGEST] for entry in log.read(max(0, log.last_seq - ENTRIES))]
