"""An interruption in a real Chromium: from the user's first sound to the silence of the playback worklet."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.async_api import Page, async_playwright

from bench.process import ROOT, free_port, listening, running
from bench.report import Check, Section, median
from realtime.audio.files import read_pcm16, write_wav

RUNS = 20
LIMIT_MS = 100.0
PERIOD_S = 5.007
"""No multiple of a frame, so that interruptions begin everywhere within one."""
SPEECH = "hello_anna.wav"
FADE_MS = 5.0
"""Fade-out of the voice once the worklet has dropped queued audio (speaker.ts of the page)."""
CLIENT_HZ = 16_000
MICROPHONE_HZ = 48_000
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
HOW = (
    f"Chromium plays a fake microphone that says a sentence every {PERIOD_S:g} s; the agent answers each with 12 s of "
    "voice, sent at once, and is interrupted by the next. This server's detector decides (authority `server`), at the "
    "onset (interruption `immediate`; by default a decision comes before: `bench listen`). A script in the page notes "
    "on the page's clock when each microphone frame is sent, and when the playback worklet "
    "answers that it has dropped the voice; 5 ms are added for its fade. Onset: the moment the sample at "
    "`audio_start_ms` of `agent_input_started` was captured, which is when the frame with it was sent, less the part "
    "of the frame behind it. Not in it: the microphone's and the loudspeaker's own delay. The detector's share is from "
    "the onset to the arrival of `agent_input_started`."
)


async def measure_barge_in(runs: int = RUNS) -> Section:
    """Measure `runs` interruptions in one call. Raises RuntimeError without Chromium."""
    chromium = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if chromium is None:
        raise RuntimeError("no Chromium on this machine: apt-get install chromium")
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        microphone = folder / "microphone.wav"
        write_microphone(microphone)
        port = free_port()
        argv = ["-m", "realtime", "serve", "bench/talkative.py:make_agent", "--port", str(port), "--strict-port"]
        argv += ["--store", "none"]
        server = await stack.enter_async_context(running(argv, core=None, log=folder / "server"))
        await listening(server, port)
        playwright = await stack.enter_async_context(async_playwright())
        browser = await playwright.chromium.launch(
            executable_path=chromium,
            args=[
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--autoplay-policy=no-user-gesture-required",
                "--use-fake-device-for-media-stream",
                "--use-fake-ui-for-media-stream",
                f"--use-file-for-fake-audio-capture={microphone}",
            ],
        )
        stack.push_async_callback(browser.close)
        page = await browser.new_page()
        await page.add_init_script(path=ROOT / "bench" / "barge_in.js")
        await page.goto(f"http://127.0.0.1:{port}/")
        await page.get_by_role("button", name="Start talking").click()
        seen = await _watch(page, runs)
    return _section(seen, runs)


async def _watch(page: Page, runs: int) -> dict[str, Any]:
    """Wait for that many interruptions, then return the page's notes."""
    async with asyncio.timeout(PERIOD_S * (runs + 6)):
        enough = "(runs) => bargeIn.silences.filter((one) => one.slots > 0).length >= runs"
        await page.wait_for_function(enough, arg=runs, polling=500, timeout=0)
    seen: dict[str, Any] = await page.evaluate("bargeIn")
    return seen


def _section(seen: dict[str, Any], runs: int) -> Section:
    whole, detector, after = [], [], []
    for silence in [one for one in seen["silences"] if one["slots"]][:runs]:
        started = [one for one in seen["started"] if one["at"] > silence["at"] - 1_000]
        flush = max(one["at"] for one in seen["flushes"] if one["at"] <= silence["at"])
        onset = _captured_at(seen["frames"], started[0]["startMs"] * CLIENT_HZ // 1000)
        whole.append(silence["at"] + FADE_MS - onset)
        detector.append(started[0]["at"] - onset)
        after.append(silence["at"] + FADE_MS - flush)
    section = Section("barge-in", "Barge-in in a browser", HOW, ("part", "median ms", "lowest", "highest"))
    parts = {
        "onset to silence": whole,
        "onset to agent_input_started at the page": detector,
        "server_audio_flush at the page to silence": after,
    }
    for name, times in parts.items():
        section.rows.append((name, f"{median(times):.0f}", f"{min(times):.0f}", f"{max(times):.0f}"))
    section.checks = [Check(f"median of {len(whole)}, onset to silence", median(whole), LIMIT_MS, " ms")]
    section.data = parts
    return section


def _captured_at(frames: list[dict[str, float]], sample: int) -> float:
    """Return when the microphone gave this sample, in ms of the page's clock."""
    frame = next(one for one in frames if one["end"] > sample)
    return frame["at"] - (frame["end"] - sample) * 1000 / CLIENT_HZ


def write_microphone(path: Path) -> None:
    """Write a sentence and silence up to the period, which Chromium repeats."""
    speech = read_pcm16(ROOT / "fixtures" / "audio" / SPEECH, MICROPHONE_HZ)
    whole_bytes = round(PERIOD_S * MICROPHONE_HZ) * 2
    write_wav(path, speech.ljust(whole_bytes, b"\0"), MICROPHONE_HZ)
