"""The examples for the web, as a web developer runs them: packed, installed offline, built, and talked to."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.npm import TSC, VITE, pack, run_node, run_npm
from tests.volumes import HANG_S
from tests.web.conftest import ROOT, Serve, Serving
from tests.web.hosting import Site

APP = f"{Path(__file__).with_name('scripted_app.py')}:make_agent"
EXAMPLES = ROOT / "examples" / "web"
CLIENT = ROOT / "web" / "packages" / "client"
PRINTED = "http://127.0.0.1:8000"
"""The server's address in the examples."""
MOST_LINES = 40
needs_vite = pytest.mark.skipif(not VITE.is_file(), reason="web/node_modules is not installed (make test does it)")


def put_built(shop: Site, app: Path) -> None:
    """Build an application, and put its files on the site."""
    run_node([str(VITE), "build", "--logLevel", "warn"], app)
    built = app / "dist"
    paths = [path for path in built.rglob("*") if path.is_file()]
    shop.put({path.relative_to(built).as_posix(): path.read_bytes() for path in paths})


def point_to(serving: Serving, script: Path) -> None:
    script.write_text(script.read_text().replace(PRINTED, serving.address))


def test_each_example_is_short() -> None:
    paths = [path for path in EXAMPLES.rglob("*") if path.suffix in (".html", ".ts", ".py")]
    lines = {path.name: len([line for line in path.read_text().splitlines() if line.strip()]) for path in paths}
    assert len(lines) == 4
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


@pytest.mark.night
def test_the_plain_example_talks_and_is_interrupted(page: Page, shop: Site, serve: Serve) -> None:
    serving = serve(APP, "--allow-embed", shop.address)
    shop.put({"index.html": (EXAMPLES / "plain.html").read_text().replace(PRINTED, serving.address)})
    page.goto(shop.address)
    page.get_by_role("button", name="Talk").click()
    expect(page.get_by_role("status")).to_have_text("speaking")
    expect(page.get_by_role("listitem").last).to_have_text("agent: I stopped.")
    expect(page.get_by_role("listitem").first).to_have_text("user: Tell me a story.")
    page.get_by_role("button", name="End", exact=True).click()
    expect(page.get_by_role("status")).to_have_text("ended")


@needs_vite
@pytest.mark.night
def test_the_packed_client_talks_in_an_empty_vite_app(page: Page, shop: Site, serve: Serve, tmp_path: Path) -> None:
    app = tmp_path / "app"
    shutil.copytree(EXAMPLES / "vite", app)
    pack(CLIENT, app)
    run_npm(["install", "--offline", "--no-audit", "--no-fund"], app)
    options = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2023,dom,dom.iterable"]
    run_node([str(TSC), *options, "--module", "esnext", "--moduleResolution", "bundler", "main.ts"], app)
    point_to(serve(APP, "--allow-embed", shop.address), app / "main.ts")
    put_built(shop, app)
    page.goto(shop.address)
    page.get_by_role("button", name="Talk").click()
    expect(page.get_by_role("listitem").last).to_have_text("Narrator: I stopped.")
    page.get_by_role("slider").fill("0.5")
    page.get_by_role("button", name="End").click()
    expect(page.get_by_role("status")).to_have_text("ended")


@needs_vite
@pytest.mark.night
def test_the_packed_script_talks_in_a_plain_page_of_another_host(
    page: Page, shop: Site, serve: Serve, tmp_path: Path
) -> None:
    """The files are the site's own, so that the server need only let it call."""
    with tarfile.open(pack(CLIENT, tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    serving = serve(APP, "--allow-origin", shop.address)
    voice = f'<realtime-voice server="{serving.address}" worklets="/worklets" captions></realtime-voice>'
    shop.put({"index.html": f'<!doctype html><title>Shop</title><script src="talk.js"></script>{voice}'})
    dist = tmp_path / "package" / "dist"
    shop.put({"talk.js": (dist / "realtime.script.js").read_bytes()})
    shop.put({f"worklets/{path.name}": path.read_bytes() for path in (dist / "worklets").iterdir()})
    shop.policy = f"default-src 'none'; script-src 'self'; connect-src ws://{serving.address.partition('//')[2]}"
    page.goto(shop.address)
    page.get_by_role("button", name="Talk").click()
    expect(page.get_by_role("listitem").last).to_have_text("Narrator: I stopped.")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def application(name: str, folder: Path, port: int, **environment: str) -> Iterator[str]:
    """An application of the examples, in a process of its own; its address."""
    command = [sys.executable, "-m", "uvicorn", f"{name}:app", "--app-dir", str(folder), "--port", str(port)]
    own = {**os.environ, **environment}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=own)
    assert process.stdout is not None
    try:
        assert any(re.search("running on", line) for line in iter(process.stdout.readline, ""))
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.stdout.close()
        process.wait(HANG_S)


def test_the_page_of_an_existing_application_talks_below_the_prefix_of_its_router(page: Page) -> None:
    with application("existing_app", EXAMPLES.parent, free_port()) as books:
        page.goto(books)
        expect(page.locator("body")).to_have_text("Please log in.")
        page.goto(f"{books}/login?user=ann&key=open+sesame")
        page.get_by_role("button", name="Talk").click()
        expect(page.get_by_role("status")).to_have_text("listening")


@pytest.mark.night
def test_users_of_an_application_with_its_own_login_talk_and_no_page_sees_the_key(page: Page, serve: Serve) -> None:
    port = free_port()
    key = "the-key-of-the-voice-server"
    serving = serve(APP, "--token", key, "--allow-embed", f"http://127.0.0.1:{port}")
    seen: list[str] = []
    page.on("response", lambda response: seen.append(response.url))
    page.on("websocket", lambda socket: seen.append(socket.url))
    with application("own_login", EXAMPLES, port, REALTIME_URL=serving.address, REALTIME_TOKEN=key) as shop:
        page.goto(shop)
        page.get_by_role("button", name="Talk").click()
        expect(page.get_by_role("alert")).to_contain_text("The page got no permission to call")
        page.goto(f"{shop}/login?user=ann")
        expect(page.get_by_role("heading")).to_have_text("Hello, ann")
        page.get_by_role("button", name="Talk").click()
        expect(page.get_by_role("listitem").last).to_have_text("Narrator: I stopped.")
        assert any("/ws/" in url and "token=ct_" in url for url in seen)
        assert [url for url in seen if key in url] == []
        assert key not in page.content()
