"""The page with a real server: `realtime serve` in a process of its own, Chromium, and a fake microphone."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

Until = Callable[[Page, str], None]
Serve = Callable[..., "Serving"]

ROOT = Path(__file__).resolve().parents[2]
SPEECH = ROOT / "fixtures" / "audio"
APP = Path(__file__).with_name("scripted_app.py")

QUANTUM = 128
FADE = 120  # 5 ms at 24 kHz
RATE_HZ = 24_000


class Serving:
    """One `realtime serve` and its address."""

    def __init__(self, *words: str) -> None:
        command = [sys.executable, "-m", "realtime", "serve", *words, "--port", "0", "--drain", "0"]
        environment = dict(os.environ, PYTHONUNBUFFERED="1", NO_COLOR="1")
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        assert self.process.stdout is not None
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            if found:
                self.address = found[0]
                break
        else:
            self.process.wait()
            self.process.stdout.close()
            raise AssertionError(f"the server did not start: {self.said}")
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def kill(self) -> None:
        """Take it away without a word."""
        self.process.kill()
        self._join()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self._join()

    def _join(self) -> int:
        code = self.process.wait(20)
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line


@pytest.fixture
def serve() -> Iterator[Serve]:
    """`serve(*words)`: a server with these words on its command line."""
    started: list[Serving] = []

    def start(*words: str) -> Serving:
        started.append(Serving(*words))
        return started[-1]

    yield start
    for serving in started:
        if serving.process.poll() is None:
            serving.stop()


def snapshot(page: Page) -> dict[str, Any]:
    result: dict[str, Any] = page.evaluate("realtime.snapshot()")
    return result


def test_interrupting_silences_the_voice_and_the_transcript_holds_only_what_was_played(
    page: Page, serve: Serve, until: Until
) -> None:
    page.goto(serve(f"{APP}:make_agent").address)
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().bubbles.some((bubble) => bubble.text === 'I stopped.')")
    until(page, "realtime.snapshot().state === 'listening'")
    shown = snapshot(page)
    words = [(bubble["side"], bubble["text"], bubble["status"]) for bubble in shown["bubbles"]]
    assert [words[0], words[2], words[3]] == [
        ("user", "Tell me a story.", "done"),
        ("user", "Stop.", "done"),
        ("agent", "I stopped.", "done"),
    ]
    side, story, status = words[1]
    assert (side, status) == ("agent", "cut")
    full = "Once upon a time there was a voice that told a very long story and was not heard to its end"
    assert full.startswith(story)
    assert 3 <= len(story.split()) < len(full.split()) - 3
    played = shown["playback"]
    assert played["flushes"] == 1
    assert played["afterFlush"] <= 2 * QUANTUM + FADE
    # Counted in samples: the part of the story that was heard, all of the second answer, and nothing else.
    first, second = (shown["playedMs"][bubble["id"]] for bubble in shown["bubbles"] if bubble["side"] == "agent")
    assert second == 500
    assert abs(played["rendered"] - (first + second) * RATE_HZ // 1000) <= 2 * RATE_HZ // 1000
    assert played["overflowed"] == 0


def test_typed_text_is_answered_aloud_without_a_microphone(
    open_page: Callable[..., Page], serve: Serve, until: Until
) -> None:
    page = open_page()
    page.goto(serve("--model", "scripted").address)
    page.get_by_label("Message").fill("Are you there?")
    page.get_by_label("Message").press("Enter")
    until(page, "realtime.snapshot().bubbles.length === 2 && realtime.snapshot().playback?.audible > 20000")
    expect(page.locator(".bubble .words")).to_have_text(["Are you there?", "I heard you."])
    assert snapshot(page)["notices"] == []


def test_a_server_that_dies_is_told_and_one_that_stops_says_goodbye(page: Page, serve: Serve, until: Until) -> None:
    dying = serve("--model", "scripted")
    page.goto(dying.address)
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().sent?.receivedOffset > 0")
    dying.kill()
    expect(page.get_by_role("alert")).to_contain_text("is gone (code 1006)")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
    stopping = serve("--model", "scripted")
    page.goto(stopping.address)
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().state === 'listening'")
    assert stopping.stop() == 0
    expect(page.get_by_role("alert")).to_contain_text("The server")
    expect(page.get_by_role("status")).to_have_text("Call ended")


def test_a_spoken_exchange_comes_back_as_captions_and_as_sound(
    open_page: Callable[..., Page], serve: Serve, until: Until
) -> None:
    """BRW-12: headless Chromium, a microphone that plays a file, and counted samples in place of a loudspeaker."""
    pytest.importorskip("hibari", reason="the speech models are not installed: pip install '.[local]'")
    page = open_page(SPEECH / "hello_anna.wav", permissions=["microphone"])
    page.goto(serve().address)
    expect(page.locator("#model")).to_contain_text("It understands English only.")
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().state === 'speaking'")
    until(page, "realtime.snapshot().state === 'listening'")
    shown = snapshot(page)
    heard, answered = shown["bubbles"]
    assert re.sub(r"[^a-z ]", "", heard["text"].lower()) == "hello there my name is anna"
    assert (answered["side"], answered["status"]) == ("agent", "done")
    assert "Anna" in answered["text"]
    # At least a quarter of a second of the answer was sound, not silence.
    assert shown["playback"]["audible"] > RATE_HZ // 4
    (answer_ms,) = shown["playedMs"].values()
    assert shown["playback"]["rendered"] * 1000 // RATE_HZ == answer_ms
    assert shown["notices"] == []
