"""The button that makes a test case of a call."""

import asyncio
import os
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from realtime.testing import Run, VirtualLoop, voice_call
from tests.volumes import HANG_S
from tests.web.callers import Caller
from tests.web.conftest import Serve

pytestmark = pytest.mark.night

Finish = Callable[..., None]


@pytest.fixture
def finished(page: Page, serve: Serve, calls: Callable[..., Caller]) -> Finish:
    """`finished(*words)`: a server with these words; `page` shows a call of one typed turn and its response."""

    def finish(*words: str) -> None:
        caller = calls(serve("--model", "scripted", "--store", "memory:", *words).address)
        caller.say("Where is my order?")
        caller.until("agent_response_done")
        caller.end()
        page.goto(caller.page)

    return finish


def run_of(folder: Path) -> Run:
    """The case, run. In a thread, since this one has the loop of the browser's driver."""

    def play() -> Run:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(voice_call(folder))

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(play).result()


def name_it(page: Page, name: str) -> None:
    page.get_by_text("Save as test").click()
    page.get_by_label("Name of the test").fill(name)


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()


def run_command(page: Page, folder: Path) -> int:
    """Run what the page says, in this folder: its exit code."""
    words = shlex.split(page.locator("#case-result code").inner_text())
    assert words[0] == "realtime"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-m", *words], cwd=folder, env=environment, timeout=HANG_S).returncode


def test_a_call_is_downloaded_as_a_case_that_runs(page: Page, finished: Finish, tmp_path: Path) -> None:
    finished()
    name_it(page, "refund")
    with page.expect_download() as download:
        save(page)
    assert download.value.suggested_filename == "refund.zip"
    with zipfile.ZipFile(download.value.path()) as archive:
        archive.extractall(tmp_path)
    run_of(tmp_path / "refund").user_said("Where is my order?").meets_expectations()
    expect(page.locator("#case-result")).to_contain_text("Saved: refund.zip, among your downloads.")
    assert run_command(page, tmp_path) == 0


def test_a_server_with_a_folder_for_cases_writes_them_there(page: Page, finished: Finish, tmp_path: Path) -> None:
    folder = tmp_path / "calls"
    finished("--cases", str(folder))
    name_it(page, "refund")
    save(page)
    where = (folder / "refund").as_posix()
    expect(page.locator("#case-result")).to_have_text(
        f"Saved: {where}. Run it where the server was started: realtime report {where}"
    )
    assert run_command(page, tmp_path) == 0
    assert (tmp_path / "report.html").is_file()
    run_of(folder / "refund").meets_expectations()
    save(page)
    expect(page.locator("#case-result")).to_have_text("No test case was made. the folder is not empty. Name a new one.")


def test_a_name_that_is_no_folder_is_not_sent(page: Page, finished: Finish, tmp_path: Path) -> None:
    finished("--cases", str(tmp_path))
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.get_by_text("Save as test").click()
    for name in ("", "../refund", "a b"):
        page.get_by_label("Name of the test").fill(name)
        save(page)
        assert page.evaluate("document.getElementById('case-form').checkValidity()") is False
    assert [url for url in sent if "/case" in url] == []
