"""What a failing test prints beside its traceback: how to run it alone, and the end of its call's log."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from realtime.state.log import Log
from tests.volumes import NIGHTLY, SEED

ENTRIES = 40
LOGS = 3
"""At most: the newest."""
LONGEST = 300
"""Characters of an entry."""

_made: list[weakref.ref[Log]] = []
"""The logs that the running test has made, the oldest first."""
_make = Log.__init__


def _noted(log: Log, *args: Any, **more: Any) -> None:
    _make(log, *args, **more)
    _made.append(weakref.ref(log))


Log.__init__ = _noted  # type: ignore[method-assign]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    _made.clear()


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
    """The newest logs of this test that are alive."""
    logs = [log for made in _made if (log := made()) is not None and log.last_seq]
    for log in logs[-LOGS:]:
        yield [str(entry)[:LONGEST] for entry in log.read(max(0, log.last_seq - ENTRIES))]
