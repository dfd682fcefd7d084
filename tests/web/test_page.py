"""The page with a real server: `realtime serve` in a process of its own, Chromium, and a fake microphone."""

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from realtime.audio.files import read_pcm16, write_wav
from realtime.audio.pcm import bytes_of
from tests.web.conftest import ROOT, OpenPage, Serve
from tests.web.pages import LISTENING, snapshot, start_talking, until, write
from tests.web.scripted_app import STORY_S

pytestmark = pytest.mark.night

SPEECH = ROOT / "fixtures" / "audio"
APP = Path(__file__).with_name("scripted_app.py")

COUNT = ", ".join(map(str, range(1, 51))) + "."
QUANTUM = 128
FADE = 120  # 5 ms at 24 kHz
RATE_HZ = 24_000
TELLS_STORY = "realtime.snapshot().state === 'speaking' && realtime.snapshot().playback?.rendered > 6000"


def test_a_server_that_stops_says_goodbye(page: Page, serve: Serve) -> None:
    stopping = serve("--model", "scripted", "--grace", "0")
    start_talking(page, stopping.address)
    until(page, LISTENING)
    assert stopping.stop() == 0
    expect(page.get_by_role("alert")).to_contain_text("The server")
    expect(page.get_by_role("status")).to_have_text("Call ended")


def test_a_server_killed_while_it_speaks_is_told_and_called_again_once_it_is_back(page: Page, serve: Serve) -> None:
    killed = serve(f"{APP}:make_agent", "--grace", "0")
    start_talking(page, killed.address)
    until(page, TELLS_STORY)
    killed.kill()
    # Most of the story waits in the browser, and is not told to an end.
    expect(page.get_by_role("status")).to_have_text("Call ended")
    expect(page.get_by_role("alert")).to_contain_text("is gone (code 1006). The connection broke off.")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer. Start it, then press the button.")
    assert snapshot(page)["playback"]["rendered"] < STORY_S * RATE_HZ // 2
    start_talking(page)
    # Nothing else is wrong, although the page could load nothing for this call.
    expect(page.locator(".notice")).to_have_count(1)
    expect(page.locator(".notice")).to_contain_text("The server cannot be reached.")
    serve(f"{APP}:make_agent", port=killed.port)
    start_talking(page)
    until(page, TELLS_STORY)
    expect(page.locator(".bubble.user .words")).to_have_text("Tell me a story.")
    expect(page.get_by_role("alert")).to_be_empty()


GREETED_S = 10
"""When a user speaks who hears the greeting of the built-in agent out; it takes 5 s."""


def test_speech_over_a_long_answer_stops_it_at_a_heard_word_and_is_answered(
    open_page: OpenPage, serve: Serve, tmp_path: Path
) -> None:
    """From Chromium's microphone, which plays a file, to the captions, with the embedded model."""
    pytest.importorskip("hibari", reason="the speech models are not installed: pip install -e '.[local]'")
    # Counting begins some 18 s into the file and takes half a minute: slow machines may be much later.
    microphone = spoken(tmp_path, (GREETED_S, "hello_anna.wav"), (GREETED_S + 22, "barge_in.wav"))
    page = open_page(microphone, permissions=["microphone"])
    start_talking(page, serve().address)
    # The greeting, the user's words and the answer were heard.
    until(page, f"realtime.snapshot().bubbles.length === 3 && {LISTENING}")
    write(page, "Please count to fifty.")
    until(page, "realtime.snapshot().bubbles.some(({status}) => status === 'cut')")
    until(page, "realtime.snapshot().playback.flushes === 1")
    silenced = snapshot(page)["playedMs"]
    until(page, f"realtime.snapshot().bubbles.at(-1).text === 'Okay.' && {LISTENING}")
    shown = snapshot(page)
    answers = [bubble for bubble in shown["bubbles"] if bubble["side"] == "agent"]
    assert [bubble["status"] for bubble in answers] == ["done", "done", "cut", "done"], shown["bubbles"]
    counting = answers[2]
    stop = shown["bubbles"][-2]
    assert stop["side"] == "user"
    assert re.sub(r"[^a-z ]", "", stop["text"].lower()) == "stop please that is enough"
    # Whole words of it, and no more than were heard.
    assert COUNT.startswith(f"{counting['text']} ")
    assert shown["playedMs"][counting["id"]] == silenced[counting["id"]] > 0
    assert shown["playback"]["flushes"] == 1
    assert shown["playback"]["afterFlush"] <= 2 * QUANTUM + FADE
    assert abs(shown["playback"]["rendered"] - sum(shown["playedMs"].values()) * RATE_HZ // 1000) < 3 * RATE_HZ // 1000
    assert shown["notices"] == []


PEAK = 20_000.0
"""The loudest sample of each recording."""


def spoken(folder: Path, *parts: tuple[int, str]) -> Path:
    """A microphone's file: each recording at its second, silence between."""
    rate_hz, pcm = 16_000, b""
    for at_s, name in parts:
        said = np.frombuffer(read_pcm16(SPEECH / name, rate_hz), "<i2")
        # The recordings differ by several dB; one person does not, and a far voice would be ignored.
        said = (said * (PEAK / np.abs(said).max())).astype("<i2")
        pcm = pcm.ljust(bytes_of(at_s * 1000, rate_hz), b"\0") + said.tobytes()
    path = folder / "microphone.wav"
    write_wav(path, pcm, rate_hz)
    return path
