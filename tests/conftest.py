"""What every test shares: the recordings, the watch for leaks, the table of what was skipped.

Virtual time and calls come from the plugin of the test kit, `realtime.testing.plugin`.
"""

import asyncio
import atexit
import gc
import logging
import os
import shutil
import tempfile
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import certifi
import hypothesis
import pytest
from hypothesis.internal.conjecture import providers
from pytest_asyncio import is_async_test

from tests import speech
from tests.real_loop import RealLoop
from tests.scheduling import Durations, LongestFirst
from tests.volumes import HANG_S, NIGHTLY, SEED, volume

hypothesis.settings.register_profile(
    "project",
    max_examples=volume(10, 100),
    # By day the same examples for the same test, on every machine: none is kept from an earlier run, none is random.
    derandomize=not NIGHTLY,
    database=None,
    # A loaded machine is no defect.
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    print_blob=True,
)
hypothesis.settings.load_profile("project")
if not NIGHTLY:
    # It also draws from the constants of the modules that this worker happens to have loaded: an order of tests would
    # decide which examples they get.
    providers._get_local_constants = lambda: providers._local_constants

END = "-----END CERTIFICATE-----\n"

pytest_plugins = ("pytester", "tests.failures")

# Each client of an SDK reads all authorities of the world, for 20 to 60 ms, or those that this variable names already.
# Nothing outside is dialled: one is enough. What installs packages does without it.
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER)
AUTHORITY = Path(FOLDER, "authority.pem")
AUTHORITY.write_text("".join(certifi.contents().partition(END)[:2]))
os.environ["SSL_CERT_FILE"] = str(AUTHORITY)
BESIDE = Path(__file__).resolve().parent.parent.parent / "shared"
"""Where the recordings and the source documents lie, unless REALTIME_RECORDINGS names another folder."""
if BESIDE.is_dir():
    os.environ.setdefault("REALTIME_RECORDINGS", str(BESIDE))
NIGHT_HANG_S = 900
"""How long a test of the night may take: benches and mutants are not done in the five minutes of the others."""
TURNS_TO_END = 10
"""Loop turns a cancelled task or a closing transport may still take before it counts as left behind."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-durations", metavar="PATH", help="write the seconds of each test file into this file")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SkipTable(), "skip-table")
    config.pluginmanager.register(Durations(config.getoption("--record-durations")), "durations")
    config.addinivalue_line("markers", "real_speech: by day, too, with the real speech parts (tests/speech.py)")
    config.addinivalue_line("markers", "night: runs in `make nightly`, and where its file is named")
    if NIGHTLY and config.getoption("hypothesis_seed") is None:
        config.option.hypothesis_seed = SEED


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LongestFirst:
    return LongestFirst(config, log)


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The loop of tests by the wall clock; the plugin of the test kit gives the others theirs."""
    return {"real": RealLoop}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what runs at night, unless it is night or its file is named."""
    for item in items:
        if item.get_closest_marker("night") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(NIGHT_HANG_S))
    if NIGHTLY:
        return
    named = {Path(word.partition("::")[0]).name for word in config.args}
    of_the_night = [item for item in items if item.get_closest_marker("night") and item.path.name not in named]
    items[:] = [item for item in items if item not in {*of_the_night}]
    config.hook.pytest_deselected(items=of_the_night)


def pytest_collection_finish() -> None:
    """Take all tests and modules out of the garbage collector's walks: a quarter of the time went into them."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    is_real = NIGHTLY or any(map(item.get_closest_marker, ("night", "real_speech")))
    speech.use_tables(not is_real)


def pytest_report_header() -> str:
    return f"by night: REALTIME_NIGHTLY=1 REALTIME_SEED={SEED} repeats this run" if NIGHTLY else f"by day: seed {SEED}"


@pytest.fixture(autouse=True)
def our_log_level() -> Iterator[None]:
    """A command that a test runs in this process sets it for the whole process: the next test has it as it was."""
    ours = logging.getLogger("realtime")
    level = ours.level
    yield
    ours.setLevel(level)


@pytest.fixture(autouse=True)
def known_sounds() -> Iterator[None]:
    """Fail a test by day that plays a sound of which the tables say nothing."""
    speech.missed.clear()
    yield
    if speech.missed:
        pytest.fail("; ".join([*speech.missed, "python tools/make_speech_tables.py"]), pytrace=False)


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
    """The folder `shared` beside the repository, or what REALTIME_RECORDINGS names. Skips where it lacks a part."""
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
        thread.join(HANG_S)
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
        # The SSE library of other packages looks for the end of uvicorn as long as its loop runs.
        left = [one for one in asyncio.all_tasks() - known if "_shutdown_watcher" not in str(one.get_coro())]
        if not left:
            return
        await asyncio.sleep(0)
    names = sorted(f"{task.get_name()} {task.get_coro()}" for task in left)
    pytest.fail(f"the test left tasks pending: {', '.join(names)}", pytrace=False)


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
        return sum(len(tests) for why, tests in self._tests_by_reason.items() if self._is_failure(why))

    def _is_failure(self, reason: str) -> bool:
        return self._required and (self._allowed is None or not reason.startswith(self._allowed))

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
            if self._is_failure(reason):
                for test in sorted(tests):
                    terminalreporter.line(f"      {test}")
        if self._failures:
            terminalreporter.line(
                f"FAILED: {self._failures} skipped, and REALTIME_REQUIRE_ALL=1 does not allow it", red=True, bold=True
            )
