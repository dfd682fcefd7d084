"""The button that makes a test case of a call."""

import asyncio
import json
import os
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from websockets.sync.client import connect

from realtime.testing import Run, VirtualLoop, voice_call
from tests.web.conftest import ScriptedServer, Serving

pytestmark = pytest.mark.rotates(1 / 4)

OpenPage = Callable[..., Page]
Serve = Callable[..., Serving]


def finished_call(address: str) -> str:
    """The address of a call's page: one typed turn and its response."""
    url = f"{address.replace('http', 'ws', 1)}/ws/ann/session1"
    with connect(url, subprotocols=["realtime.v1"], max_size=None) as socket:  # type: ignore[list-item]

        def until(event_type: str) -> dict[str, Any]:
            while True:
                event: dict[str, Any] = json.loads(socket.recv(timeout=30))
                if event["type"] == event_type:
                    return event

        socket.send(json.dumps({"type": "client_session_create", "config": {}}))
        call_id = until("server_session_created")["call_id"]
        socket.send(json.dumps({"type": "client_text_append", "text": "Where is my order?"}))
        until("agent_response_done")
        socket.send(json.dumps({"type": "client_session_end"}))
        until("server_session_ended")
    return f"{address}/transcript.html?user=ann&call={call_id}"


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


def run_command(command: str, folder: Path) -> int:
    """Run what the page says, in this folder: its exit code."""
    words = shlex.split(command)
    assert words[0] == "realtime"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-m", *words], cwd=folder, env=environment, timeout=120).returncode


def test_a_call_is_downloaded_as_a_case_that_runs(page: Page, serve: Serve, tmp_path: Path) -> None:
    page.goto(finished_call(serve("--model", "scripted", "--store", "memory:").address))
    name_it(page, "refund")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save", exact=True).click()
    assert download.value.suggested_filename == "refund.zip"
    with zipfile.ZipFile(download.value.path()) as archive:
        archive.extractall(tmp_path)
    run_of(tmp_path / "refund").user_said("Where is my order?").meets_expectations()
    expect(page.locator("#case-result")).to_contain_text("Saved: refund.zip, among your downloads.")
    assert run_command(page.locator("#case-result code").inner_text(), tmp_path) == 0


def test_a_server_with_a_folder_for_cases_writes_them_there(page: Page, serve: Serve, tmp_path: Path) -> None:
    folder = tmp_path / "calls"
    page.goto(finished_call(serve("--model", "scripted", "--store", "memory:", "--cases", str(folder)).address))
    name_it(page, "refund")
    page.get_by_role("button", name="Save", exact=True).click()
    where = (folder / "refund").as_posix()
    expect(page.locator("#case-result")).to_have_text(
        f"Saved: {where}. Run it where the server was started: realtime report {where}"
    )
    assert run_command(page.locator("#case-result code").inner_text(), tmp_path) == 0
    assert (tmp_path / "report.html").is_file()
    run_of(folder / "refund").meets_expectations()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#case-result")).to_have_text("No test case was made. the folder is not empty. Name a new one.")


@pytest.mark.parametrize("name", ["", "../refund", "a b"])
def test_a_name_that_is_no_folder_is_not_sent(page: Page, serve: Serve, tmp_path: Path, name: str) -> None:
    page.goto(finished_call(serve("--model", "scripted", "--store", "memory:", "--cases", str(tmp_path)).address))
    name_it(page, name)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.get_by_role("button", name="Save", exact=True).click()
    assert page.evaluate("document.getElementById('case-form').checkValidity()") is False
    assert sent == []


def test_a_call_that_goes_on_has_no_button(page: Page, serve: Serve) -> None:
    address = serve("--model", "scripted", "--store", "memory:").address
    with connect(f"{address.replace('http', 'ws', 1)}/ws/ann/session1", max_size=None) as socket:
        socket.send(json.dumps({"type": "client_session_create", "config": {}}))
        call_id = json.loads(socket.recv(timeout=30))["call_id"]
        page.goto(f"{address}/transcript.html?user=ann&call={call_id}")
        expect(page.get_by_role("status")).to_contain_text("Live")
        expect(page.get_by_text("Save as test")).to_be_hidden()


@pytest.mark.parametrize(("query", "consent"), [("", None), ("?recording", True)])
def test_the_page_asks_for_a_recording_only_where_its_address_says_so_and_its_user_agrees(
    page: Page, scripted: ScriptedServer, static_page: str, query: str, consent: bool | None
) -> None:
    page.goto(static_page + query)
    if consent:
        page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Start talking").click()
    expect(page.get_by_role("status")).to_have_text("Listening")
    (created,) = scripted.of("client_session_create")
    assert created["config"].get("recording") == consent
    expect(page.get_by_text("You agreed to be recorded.")).to_have_count(1 if consent else 0)
