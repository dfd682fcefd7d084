"""What every test shares: the recordings, the watch for leaks, the table of what was skipped.

Virtual time and calls come from the plugin of the test kit, `realtime.testing.plugin`.
"""

import asyncio
import gc
import logging
import os
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import hypothesis
import pytest
from pytest_asyncio import is_async_test

from tests.volumes import NIGHTLY, SEED, sampled, volume

# No deadline: a loaded machine is no defect.
hypothesis.settings.register_profile("project", deadline=None, max_examples=volume(10, 100))
hypothesis.settings.load_profile("project")

pytest_plugins = "pytester"

TURNS_TO_END = 10
"""Loop turns a cancelled task or a closing transport may still take before it counts as left behind."""

THREAD_END_S = 2.0
"""How long a thread that was told to stop may take to stop."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SkipTable(), "skip-table")
    config.addinivalue_line("markers", "long: takes many seconds, so that workers begin with it")
    config.addinivalue_line("markers", "night: runs in `make nightly`, and where its file is named")
    config.addinivalue_line("markers", "rotates(share): by day this share of them runs, each night and by name all")
    if config.getoption("hypothesis_seed") is None:
        config.option.hypothesis_seed = SEED


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _leave_out_by_day(config, items)
    _begin_with_long(items)


def pytest_collection_finish() -> None:
    """Take all tests and modules out of the garbage collector's walks: a quarter of the time went into them."""
    gc.collect()
    gc.freeze()


def _leave_out_by_day(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep a share of the tests that rotate, unless it is night or a file is named."""
    if NIGHTLY or any(".py" in word for word in config.args):
        return
    by_share: defaultdict[float, list[pytest.Item]] = defaultdict(list)
    of_the_night = {item for item in items if item.get_closest_marker("night")}
    for item in items:
        if item in of_the_night:
            continue
        if rotates := item.get_closest_marker("rotates"):
            by_share[rotates.args[0]].append(item)
    left_out = {item for share, those in by_share.items() for item in {*those} - {*sampled(those, share)}}
    left_out |= of_the_night
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=[*left_out])


def _begin_with_long(items: list[pytest.Item]) -> None:
    """Let each worker begin with its share of the long tests: xdist gives it a run of neighbours."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers == 1:
        return
    long = [item for item in items if item.get_closest_marker("long")]
    others = [item for item in items if not item.get_closest_marker("long")]
    size = -(-len(others) // workers)
    items[:] = [
        item
        for worker in range(workers)
        for item in [*long[worker::workers], *others[worker * size : (worker + 1) * size]]
    ]


def pytest_report_header() -> str:
    return f"seed: REALTIME_SEED={SEED} repeats this run, REALTIME_NIGHTLY={int(NIGHTLY)} its volumes"


@pytest.fixture(autouse=True)
def our_log_level() -> Iterator[None]:
    """A command that a test runs in this process sets it for the whole process: the next test has it as it was."""
    ours = logging.getLogger("realtime")
    level = ours.level
    yield
    ours.setLevel(level)


@pytest.fixture(scope="session")
def fixtures_dir() -> Path:
    """The folder of what we recorded, synthesised and wrote ourselves."""
    return Path(__file__).resolve().parent.parent / "fixtures"


@pytest.fixture(scope="session")
def recordings_dir() -> Path:
    """The folder of real recordings (`audio/` and `recordings/`), as REALTIME_RECORDINGS names it; else skips."""
    return shared("audio", "recordings")


@pytest.fixture(scope="session")
def source_documents() -> Path:
    """The folder with the source documents: `seeds/` and the items taken from them, `SPEC.md`; else skips."""
    return shared("seeds", "SPEC.md")


def shared(*parts: str) -> Path:
    """The folder that lies beside the repository, as REALTIME_RECORDINGS names it. Skips where it lacks a part."""
    named = os.environ.get("REALTIME_RECORDINGS")
    if not named:
        pytest.skip("REALTIME_RECORDINGS is not set (the folder that holds audio/, recordings/, seeds/ and SPEC.md)")
    folder = Path(named).resolve()
    for part in parts:
        if not (folder / part).exists():
            pytest.skip(f"REALTIME_RECORDINGS={named} holds no {part}")
    return folder


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> None:
    """Fail an async test that leaves a task pending or a thread running once its fixtures are gone.

    A test that failed has said enough: what it left is not counted.
    A module whose shared parts start threads on first use (an executor made once for all tests) overrides this fixture.
    """
    if is_async_test(request.node):
        # In this order: tasks are counted while the test's loop is open, threads when it is closed.
        request.getfixturevalue("_no_thread_left")
        request.getfixturevalue("_no_task_left")


@pytest.fixture
def _no_thread_left(request: pytest.FixtureRequest) -> Iterator[None]:
    before, failed = set(threading.enumerate()), request.session.testsfailed
    yield
    if request.session.testsfailed > failed:
        return
    # The speech engine's threads are those of the process: the first test that needs them starts them for all.
    started = [
        thread
        for thread in threading.enumerate()
        if thread not in before and not thread.name.startswith(("realtime-recognition", "realtime-synthesis"))
    ]
    for thread in started:
        thread.join(THREAD_END_S)
    left = sorted(thread.name for thread in started if thread.is_alive())
    if left:
        pytest.fail(f"the test left threads running: {', '.join(left)}", pytrace=False)


@pytest.fixture
async def _no_task_left(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    before, failed = asyncio.all_tasks(), request.session.testsfailed
    yield
    if request.session.testsfailed > failed:
        return
    known = before | {asyncio.current_task()}
    for _ in range(TURNS_TO_END):
        if asyncio.all_tasks() <= known:
            return
        await asyncio.sleep(0)
    left = sorted(f"{task.get_name()} {task.get_coro()}" for task in asyncio.all_tasks() - known)
    pytest.fail(f"the test left tasks pending: {', '.join(left)}", pytrace=False)


class SkipTable:
    """Closes the run with what was skipped and why; with REALTIME_REQUIRE_ALL=1 a skip fails the run.

    Only skips whose reason begins with REALTIME_ALLOW_SKIP are then allowed: those of recordings that are not there.
    """

    def __init__(self) -> None:
        self._tests_by_reason: defaultdict[str, list[str]] = defaultdict(list)
        self._required = os.environ.get("REALTIME_REQUIRE_ALL") == "1"
        self._allowed = os.environ.get("REALTIME_ALLOW_SKIP") or None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            where = report.longrepr
            reason = where[2] if isinstance(where, tuple) else str(where)
            self._tests_by_reason[reason.removeprefix("Skipped: ")].append(report.nodeid)

    @property
    def _failures(self) -> int:
        """How many skips fail the run."""
        if not self._required:
            return 0
        reasons = self._tests_by_reason.items()
        return sum(len(tests) for why, tests in reasons if self._allowed is None or not why.startswith(self._allowed))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._failures:
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
        yield
        terminalreporter.section("skipped, and why")
        if not self._tests_by_reason:
            terminalreporter.line("nothing was skipped")
        for reason, tests in sorted(self._tests_by_reason.items()):
            terminalreporter.line(f"{len(tests):4}  {reason}")
            for test in sorted(tests):
                terminalreporter.line(f"      {test}")
        if self._failures:
            terminalreporter.line(
                f"FAILED: {self._failures} skipped, and REALTIME_REQUIRE_ALL=1 does not allow it", red=True, bold=True
            )
