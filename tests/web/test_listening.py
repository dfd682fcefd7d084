"""Voices over a reply, from the page's microphone to its loudspeaker: with the embedded model, in a real Chromium."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Page, expect

from tests.volumes import volume
from tests.web.acoustics import FRAME_MS, Acoustics, Levels
from tests.web.conftest import ROOT, Serve
from tests.web.pages import HEARING, LISTENING, snapshot, start_talking, until, write

pytest.importorskip("hibari", reason="the speech models are not installed: pip install -e '.[local]'")
pytestmark = pytest.mark.night

APP = f"{Path(__file__).with_name('listening_app.py')}:make_counter"
STIMULI = ROOT / "fixtures" / "audio" / "listening"
RATE_HZ = 24_000
SOUND = 0.003
"""RMS of a frame that is no silence."""
EVEN_DB = 4
"""Loudness changes by less from a frame to the next where the reply sounds evenly."""
DUCK_DB = -15
STOP_MS = 700
"""From the first sound of a "stop" to silence, without recognition: its time is that of the machine, and is shared here
with the browser and other tests."""
ECHO_S = volume(20, 120)


def ask_to_count(page: Page, number: str) -> None:
    """Wait until nothing is played, type the question, and wait until the reply has played for a second."""
    until(page, HEARING)
    played = (snapshot(page)["playback"] or {"rendered": 0})["rendered"]
    write(page, f"Please count to {number}.")
    until(page, f"realtime.snapshot().playback?.rendered > {played + RATE_HZ}")


def sounding(level: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the numbers of the frames that are no silence."""
    return np.flatnonzero(level > SOUND)


def gains_db(levels: Levels) -> NDArray[np.float64]:
    """Return the page's gain in each frame in which the reply sounds evenly.

    The ears may begin up to a few ms apart: where the loudness jumps, the frames of two ears do not compare.
    """
    reply = np.maximum(levels.reply, SOUND / 10)
    jumps_db = np.abs(20 * np.diff(np.log10(reply)))
    frames = np.array([at for at in sounding(reply[:-1]) if at and max(jumps_db[at - 1], jumps_db[at]) < EVEN_DB])
    gains: NDArray[np.float64] = 20 * np.log10(levels.played[frames] / levels.reply[frames])
    return gains


def test_a_backchannel_lowers_the_reply_which_goes_on_to_its_end(page: Page, serve: Serve) -> None:
    acoustics = Acoustics(page)
    start_talking(page, serve(APP).address)
    ask_to_count(page, "twenty")
    acoustics.say(STIMULI / "backchannel-mm_hmm-heart-low.flac")
    # Whisper writes a hum as "Mm." or as nothing.
    went_on = re.compile("^Went on: (only “mm-hm” or the like|a sound without words)$")
    expect(page.locator(".bubble.agent .mark").first).to_have_text(went_on)
    until(page, LISTENING)

    shown = snapshot(page)
    counting = shown["bubbles"][-1]
    assert (counting["status"], counting["text"]) == ("done", ", ".join(map(str, range(1, 21))) + ".")
    assert shown["playback"]["flushes"] == 0
    gains = gains_db(acoustics.levels())
    assert gains.min() == pytest.approx(DUCK_DB, abs=1)
    assert gains[:10] == pytest.approx(0, abs=1)
    assert gains[-10:] == pytest.approx(0, abs=1)


def test_a_spoken_stop_silences_the_reply(page: Page, serve: Serve) -> None:
    acoustics = Acoustics(page)
    server = serve(APP)
    start_talking(page, server.address)
    ask_to_count(page, "twenty")
    acoustics.say(STIMULI / "interruption-stop-heart.flac")
    until(page, "realtime.snapshot().playback.flushes === 1")
    levels = acoustics.levels()
    counting = page.locator(".bubble.agent").first
    expect(counting.locator(".mark").last).to_have_text(re.compile("^Interrupted here: “stop”"))

    silent_ms = (sounding(levels.played)[-1] + 1 - sounding(levels.user)[0]) * FRAME_MS
    recognition_ms = sum(map(int, re.findall(r"recognised in (\d+) ms", server.said)))
    assert silent_ms - recognition_ms <= STOP_MS


def test_a_loudspeaker_beside_the_microphone_interrupts_nothing(page: Page, serve: Serve) -> None:
    Acoustics(page, echo_db=-12, delay_ms=120)
    start_talking(page, serve(APP).address)
    enough = f"realtime.snapshot().playback?.rendered > {ECHO_S * RATE_HZ}"
    while not page.evaluate(enough):
        ask_to_count(page, "fifty")
        until(page, f"{enough} || {LISTENING}")

    shown = snapshot(page)
    # One line for each time that the agent heard itself.
    marks = {line for text in page.locator(".bubble.agent .mark").all_text_contents() for line in text.splitlines()}
    assert marks == {"Went on: the agent heard itself"}
    assert shown["playback"]["flushes"] == 0
    assert {bubble["text"] for bubble in shown["bubbles"] if bubble["side"] == "user"} == {"Please count to fifty."}
