"""A real Chromium on the built page, served under the strictest policy the page must live with."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

DIST = Path(__file__).resolve().parents[2] / "web" / "dist"
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM_ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--autoplay-policy=no-user-gesture-required",
    "--use-fake-device-for-media-stream",
]
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'"
MODEL = {"provider": "local", "model": "local", "voice": "heart", "voices": ["heart", "low"], "languages": ["en"]}


class StaticPage(SimpleHTTPRequestHandler):
    """The built files and `/api/info`; every answer forbids inline scripts, inline styles and other hosts."""

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != "/api/info":
            return super().do_GET()
        body = json.dumps({"model": MODEL, "notices": [], "version": "0"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def static_page() -> Iterator[str]:
    """The address of the page on a server that knows no calls."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(StaticPage, directory=str(DIST))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="session")
def launch() -> Iterator[Callable[..., Browser]]:
    """`launch(speech=None)`: Chromium whose fake microphone plays the wav file once (else it beeps)."""
    path = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if path is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with sync_playwright() as playwright:
        browsers: dict[Path | None, Browser] = {}

        def start(speech: Path | None = None) -> Browser:
            if speech not in browsers:
                arguments = [*CHROMIUM_ARGUMENTS]
                if speech is not None:
                    arguments.append(f"--use-file-for-audio-capture={speech}%noloop")
                browsers[speech] = playwright.chromium.launch(executable_path=path, args=arguments)
            return browsers[speech]

        yield start
        for browser in browsers.values():
            browser.close()


@pytest.fixture
def page(launch: Callable[..., Browser]) -> Iterator[Page]:
    """A fresh page that may use the (fake) microphone. An error or a broken policy in its console fails the test."""
    context = launch().new_context(permissions=["microphone"])
    opened = context.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda line: problems.append(line.text) if "Content Security Policy" in line.text else None)
    yield opened
    context.close()
    assert problems == []
