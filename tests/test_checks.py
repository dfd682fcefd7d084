"""The checks themselves: their budget, what may decide a verdict, and what a red test says."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real_loop import settled
from tests.scheduling import recorded_s

ROOT = Path(__file__).resolve().parent.parent
BROWSERS = "tests/web/"
PYTHON_BUDGET_S, BROWSER_BUDGET_S = 1_100, 240
"""Seconds of the files on a quiet machine, by `tests/durations.json`. A third of them is spent waiting for sockets.

Recorded on a machine that takes 1.3 times as long for unchanged files as the one before, where it was 900 and 180.
"""
SLOWEST_S = 90
"""A file is run by one worker: a longer one would be the last to end."""


def test_each_test_file_has_its_seconds_on_record() -> None:
    files = {str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob("test_*.py")}
    gone = {file for file in recorded_s() if file not in files}
    assert gone == set(), "run `make durations`"


def test_the_tests_by_day_fit_into_their_budget() -> None:
    seconds = recorded_s()
    browsers = sum(took for file, took in seconds.items() if file.startswith(BROWSERS))
    assert browsers <= BROWSER_BUDGET_S
    assert sum(seconds.values()) - browsers <= PYTHON_BUDGET_S
    assert {file: took for file, took in seconds.items() if took > SLOWEST_S} == {}


async def test_a_test_that_sleeps_in_real_time_fails() -> None:
    with pytest.raises(AssertionError, match="sleeps in real time: wait for a condition"):
        await asyncio.sleep(0.01)


async def test_a_condition_is_tried_after_each_turn_of_the_loop() -> None:
    steps: list[int] = []
    asyncio.get_running_loop().call_soon(steps.append, 1)
    await settled(lambda: steps)
    assert steps == [1]


async def test_a_condition_that_never_holds_fails_with_the_tasks_that_are_left() -> None:
    waiting = asyncio.create_task(asyncio.Event().wait(), name="the one that waits")
    with pytest.raises(AssertionError, match="the one that waits"):
        await settled(lambda: False, within_s=0.01)
    waiting.cancel()


def run_pytest(folder: Path, source: str, *words: str) -> str:
    """What pytest prints about a file with this source, with the project's own conftest and settings."""
    file = folder / "test_made.py"
    file.write_text(source)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "tests.conftest", *words]
    settings = ["-c", str(ROOT / "pyproject.toml"), f"--rootdir={folder}", str(file)]
    return subprocess.run([*command, *settings], cwd=ROOT, capture_output=True, text=True, check=False).stdout


HANGS = "def test_hangs():\n    threading.Event().wait()\n"


@pytest.mark.night
@pytest.mark.parametrize("place", ["first", "last"])
def test_a_test_that_hangs_is_ended_alone_and_named_and_the_run_goes_on(tmp_path: Path, place: str) -> None:
    tests = [HANGS, "def test_beside_it():\n    assert True\n"]
    source = "import threading\n" + "".join(tests if place == "first" else tests[::-1])
    printed = run_pytest(tmp_path, source, *("-n", "1", "--timeout", "2"))
    assert "crashed while running 'test_made.py::test_hangs'" in printed
    assert "1 failed, 1 passed" in printed


def test_a_red_test_prints_how_to_run_it_alone_and_the_end_of_its_calls_log(tmp_path: Path) -> None:
    printed = run_pytest(
        tmp_path,
        "import pytest\n"
        "from realtime.event import server as s\n"
        "from realtime.state.log import Log\n"
        "def test_red():\n"
        "    log = Log(lambda: 0.0)\n"
        "    for number in range(60):\n"
        "        log.append(s.AgentEndedEvent(reason=f'number {number}'))\n"
        "    assert log is None\n",
    )
    assert ".venv/bin/python -m pytest 'test_made.py::test_red'" in printed
    assert "number 59" in printed
    assert "number 20" in printed
    assert "number 19" not in printed
