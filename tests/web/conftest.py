"""A real Chromium on the built page, served under the strictest policy the page must live with."""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Browser, BrowserContext, Page, WebSocketRoute, expect, sync_playwright

from realtime.model.services import SERVICES
from realtime.server.app import inline_scripts
from tests.flaky_line import FlakyLine
from tests.volumes import HANG_S
from tests.web.callers import Caller
from tests.web.client_lab import ELEMENT, LAB
from tests.web.hosting import Site, served, site
from tests.web.pages import until

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "web" / "dist"
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM_ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--autoplay-policy=no-user-gesture-required",
    "--use-fake-device-for-media-stream",
    # A host beyond loopback, so that the page over http is in no secure context there.
    "--host-resolver-rules=MAP far.example 127.0.0.1",
]
PCM_24 = {"type": "audio/pcm", "rate": 24_000, "encoding": "pcm16", "sample_rate": 24_000}
POLICY = (
    f"default-src 'none'; {inline_scripts(DIST / 'index.html')}style-src 'self'; img-src 'self'; connect-src 'self'; "
    "media-src 'self'"
)
MODEL = {"provider": "local", "model": "local", "voice": "heart", "voices": ["heart", "low"], "languages": ["en"]}
OpenPage = Callable[..., Page]
LineTo = Callable[[str], FlakyLine]
OpenReport = Callable[..., Page]
Launch = Callable[..., Browser]
Serve = Callable[..., "Serving"]
Scripted = Callable[..., "ScriptedServer"]
PROVIDER_VARIABLES = {
    name for service in SERVICES.values() for name in (*service.key_variables, service.base_url_variable)
}

expect.set_options(timeout=HANG_S * 1000)


class StaticPage(SimpleHTTPRequestHandler):
    """The built files and `/api/info`; every answer forbids inline scripts, inline styles and other hosts."""

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != "/api/info":
            return super().do_GET()
        body = json.dumps({"model": MODEL, "agent_name": "Heart", "notices": [], "version": "0"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def static_server() -> Iterator[ThreadingHTTPServer]:
    """A server of the page that knows no calls. A test may shut it down."""
    with served(partial(StaticPage, directory=str(DIST))) as server:
        yield server


@pytest.fixture
def static_page(static_server: ThreadingHTTPServer) -> str:
    """The page's address on that server."""
    return f"http://127.0.0.1:{static_server.server_address[1]}/"


@pytest.fixture(scope="session")
def launch() -> Iterator[Launch]:
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
                    arguments.append(f"--use-file-for-fake-audio-capture={speech}%noloop")
                browsers[speech] = playwright.chromium.launch(executable_path=path, args=arguments)
            return browsers[speech]

        yield start
        for browser in browsers.values():
            browser.close()


@pytest.fixture
def one_sound(tmp_path: Path) -> Path:
    """What a microphone of Chromium can hear: a sound of 0.1 s after two seconds."""
    rate_hz = 48_000
    sound = 0.3 * np.sign(np.sin(2 * np.pi * 200 * np.arange(rate_hz // 10) / rate_hz))
    silence = np.zeros(2 * rate_hz)
    soundfile.write(tmp_path / "sound.wav", np.concatenate([silence, sound, silence]), rate_hz)
    return tmp_path / "sound.wav"


@pytest.fixture
def open_page(launch: Launch) -> Iterator[OpenPage]:
    """`open_page(speech=None, **context)`: a fresh page. An error or a broken policy in its console fails the test."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def start(speech: Path | None = None, **options: Any) -> Page:
        context = launch(speech).new_context(**options)
        context.set_default_timeout(HANG_S * 1000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda line: problems.append(line.text) if "Content Security Policy" in line.text else None)
        return page

    yield start
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """A fresh page that may use the (fake) microphone."""
    return open_page(permissions=["microphone"])


class Serving:
    """One `realtime serve` and its address. `port` 0 takes any free one. No key of a provider is set but by `keys`.

    Calls are kept in the folder `data`.
    """

    def __init__(self, *words: str, data: Path, port: int = 0, keys: Mapping[str, str] | None = None) -> None:
        where = ["--port", str(port), "--strict-port"]
        command = [sys.executable, "-m", "realtime", "serve", *words, *where, "--drain", "0"]
        environment = {name: value for name, value in os.environ.items() if name not in PROVIDER_VARIABLES}
        environment |= {"PYTHONUNBUFFERED": "1", "NO_COLOR": "1", "XDG_DATA_HOME": str(data), **(keys or {})}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        self.said = ""
        for line in self._lines():
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                self.address = found[0]
                break
        else:
            self.process.wait()
            raise AssertionError(f"the server did not start: {self.said}")
        self._reader = threading.Thread(target=lambda: [*self._lines()], daemon=True)
        self._reader.start()

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def kill(self) -> None:
        """Kill the server."""
        self.process.kill()
        self._join()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self._join()

    def _join(self) -> int:
        code = self.process.wait(HANG_S)
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def _lines(self) -> Iterator[str]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line
            yield line


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """`serve(*words, port=0, keys=None)`: a server with these words on its command line.

    All servers of a test keep their calls in one place.
    """
    started: list[Serving] = []

    def start(*words: str, port: int = 0, keys: Mapping[str, str] | None = None) -> Serving:
        started.append(Serving(*words, data=tmp_path / "data", port=port, keys=keys))
        return started[-1]

    yield start
    for serving in started:
        if serving.process.poll() is None:
            serving.stop()


@pytest.fixture
def shop() -> Iterator[Site]:
    """A web site of somebody else."""
    with site() as made:
        yield made


@pytest.fixture
def lab(page: Page, shop: Site, serve: Serve) -> Callable[..., Serving]:
    """`lab(*words, **options)`: `page` shows LAB at the shop, with a client of these options; returns the server."""

    def start(*words: str, **options: Any) -> Serving:
        serving = serve(*words, "--allow-embed", shop.address)
        shop.put({"index.html": LAB.replace("SERVER", serving.address)})
        page.goto(shop.address)
        page.evaluate("(options) => make(options)", options)
        return serving

    return start


@pytest.fixture
def element(page: Page, shop: Site, serve: Serve) -> Callable[..., Serving]:
    """`element(*words, attributes="")`: `page` shows the element at the shop; returns its server."""

    def start(*words: str, attributes: str = "") -> Serving:
        serving = serve(*words, "--allow-embed", shop.address)
        shop.put({"index.html": ELEMENT.replace("SERVER", serving.address).replace("ATTRIBUTES", attributes)})
        page.goto(shop.address)
        return serving

    return start


class ScriptedServer:
    """The other end of the page's socket, played by the test: golden frames with the fields that matter.

    `address` is that of the page, which shows a scene of `page_scenes` by `show`.
    """

    def __init__(self, page: Page, address: str = "") -> None:
        self.page = page
        self.address = address
        frames = json.loads((ROOT / "fixtures" / "protocol" / "server.json").read_text())
        self._golden: dict[str, dict[str, Any]] = {frame["type"]: frame for frame in frames}
        self._socket: WebSocketRoute | None = None
        self.events: list[dict[str, Any]] = []
        self.audio: list[bytes] = []
        self.heard: list[tuple[str, int]] = []
        """(item id, ms) of what the page reports as played, in its speech or as an event, in order."""
        self._items: dict[int, str] = {}
        self.url = ""
        self.refusal: str | None = None
        self.refuses_sockets = False
        page.route_web_socket("**/ws/**", self._accept)

    def show(self, scene: Callable[[Page, "ScriptedServer", str], None]) -> Page:
        """The page, once it is in this state."""
        scene(self.page, self, self.address)
        return self.page

    def begin(self, address: str | None = None) -> Page:
        """The page in a call, with the microphone open."""
        self.page.goto(address or self.address)
        self.page.locator("#talk").click()
        expect(self.page.locator("#stage")).to_have_attribute("data-talking", "true")
        until(self.page, "realtime.snapshot().microphoneSamples > 0")
        return self.page

    def send(self, event_type: str, **fields: Any) -> None:
        golden = self._golden[event_type]
        assert fields.keys() <= golden.keys()
        assert self._socket is not None
        event = golden | fields
        if event_type == "server_audio_item":
            self._items[event["item_index"]] = event["item_id"]
        self._socket.send(json.dumps(event))

    def golden(self, event_type: str) -> dict[str, Any]:
        """The golden frame of this type."""
        return self._golden[event_type]

    def speak(self, item_id: str, words: str, seconds: float, response_id: str = "resp_1") -> None:
        """A response whose voice is one burst of a constant value."""
        assert self._socket is not None
        index = int(item_id.rpartition("_")[2])
        self.send("agent_response_created", response_id=response_id)
        self.send("server_audio_item", item_index=index, item_id=item_id, response_id=response_id, format=PCM_24)
        header = struct.pack("<BBHIQ", 2, 0, 0, index, 0)
        self._socket.send(header + struct.pack("<h", 9000) * int(seconds * 24_000))
        self.send("agent_response_audio_transcript_delta", item_id=item_id, response_id=response_id, delta=words)

    def finish(self, item_id: str, words: str, response_id: str = "resp_1") -> None:
        self.send("agent_response_audio_done", item_id=item_id, response_id=response_id)
        self.send("agent_response_audio_transcript_done", item_id=item_id, response_id=response_id, transcript=words)
        self.send("agent_response_done", response_id=response_id, status="completed")

    def close(self, code: int, reason: str) -> None:
        assert self._socket is not None
        self._socket.close(code=code, reason=reason)

    def of(self, event_type: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == event_type]

    def raw(self, event: dict[str, Any]) -> None:
        """Send what no golden frame is like."""
        assert self._socket is not None
        self._socket.send(json.dumps(event))

    def _accept(self, socket: WebSocketRoute) -> None:
        if self.refuses_sockets:
            socket.close(code=1006)
            return
        self._socket = socket
        self.url = socket.url
        socket.on_message(self._receive)

    def _receive(self, frame: str | bytes) -> None:
        if isinstance(frame, bytes):
            self.audio.append(frame)
            _, flags, _, index, _ = struct.unpack_from("<BBHIQ", frame)
            if flags & 1:
                self.heard.append((self._items[index], struct.unpack_from("<I", frame, 16)[0]))
            return
        event = json.loads(frame)
        self.events.append(event)
        if event["type"] == "client_playback_ack":
            self.heard.append((event["item_id"], event["played_ms"]))
        if event["type"] != "client_session_create":
            return
        if self.refusal is not None:
            self.send("agent_error", code="too_many_calls", message=self.refusal)
        else:
            self.send("server_session_created")
            self.send("agent_ready", agent_name="Heart", model=MODEL)


@pytest.fixture
def scripted(page: Page, static_page: str) -> ScriptedServer:
    """Play the server of `page`."""
    return ScriptedServer(page, static_page)


@pytest.fixture
def scripted_for(open_page: OpenPage, static_page: str) -> Scripted:
    """`scripted_for(**context)`: play the server of a fresh page, which may use microphone and camera."""
    return lambda **options: ScriptedServer(
        open_page(**{"permissions": ["microphone", "camera"]} | options), static_page
    )


@pytest.fixture
def open_report(open_page: OpenPage, tmp_path: Path) -> Iterator[OpenReport]:
    """`open_report(*runs, accepted=None, **context)`: the page of a report, read from its file.

    An error in its console, or a request for anything beside the file, fails the test.
    """
    from realtime.testing.report import write_report

    asked: list[str] = []
    problems: list[str] = []

    def start(*runs: Any, accepted: Path | None = None, **options: object) -> Page:
        made = write_report(runs, tmp_path / "report.html", accepted=accepted, title="Voice tests")
        page = open_page(**options)
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
        page.goto(made.as_uri())
        return page

    yield start
    # The file itself, and its sound, which is made of what is in the file.
    assert [url for url in asked if not url.startswith(("file:", "blob:"))] == []
    assert sum(url.startswith("file:") for url in asked) == 1
    assert problems == []


@pytest.fixture
def line_to() -> Iterator[LineTo]:
    """`line_to(address)`: a line to the server at this address, which can be cut."""
    lines: list[FlakyLine] = []

    def make(address: str) -> FlakyLine:
        lines.append(FlakyLine(int(address.rpartition(":")[2])))
        return lines[-1]

    yield make
    for line in lines:
        line.close()


@pytest.fixture
def calls() -> Iterator[Callable[..., Caller]]:
    """`calls(address, user="ann")`: a new call, hung up at the end of the test."""
    with ExitStack() as stack:
        yield lambda *where: stack.enter_context(Caller(*where))
