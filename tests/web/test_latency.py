"""What the user waits is the same in the page, the report and the API, and in a recording of what sounded."""

import json
import re
import urllib.request
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Page, expect

from realtime.event import server as s
from realtime.testing.cases.stored import record_of
from realtime.testing.report import write_report
from realtime.testing.report.diff import read_digest
from tests.volumes import volume
from tests.web.conftest import ScriptedServer, Serving

Serve = Callable[..., Serving]
OpenPage = Callable[..., Page]
Until = Callable[[Page, str], None]

APP = Path(__file__).with_name("latency_app.py")
TURNS = volume(6, 50)
FILE_HZ = 48_000
SOUND_S, EVERY_S = 0.5, 2.6
FRAME_MS = 5
SOUND = 0.02
"""RMS of a frame that is no silence."""
HEARD_MS = 30
"""How far the page may be from the recording: a frame of the recording, one of the microphone, and the way between."""
SAME_MS = 20
CLOCK_MS = 10
"""A clock that is off by more between two sounds has lost some."""

# What the page gets of its microphone and what it plays, mixed into one recording: one clock for both. The microphone
# is Chromium's own, which plays a file; nothing of its sound is suppressed.
RECORDER = """(() => {
  const connect = AudioNode.prototype.connect;
  const recorder = window.recorder = {levels: []};
  let ear;
  AudioNode.prototype.connect = function (target, ...more) {
    if (!ear && this instanceof AudioWorkletNode && target instanceof GainNode) {
      recorder.context = target.context;
      ear = target.context.audioWorklet.addModule('./worklets/capture.js').then(() => {
        const processorOptions = {rateHz: target.context.sampleRate, frameMs: FRAME_MS};
        const options = {numberOfOutputs: 0, channelCount: 1, channelCountMode: 'explicit', processorOptions};
        const node = new AudioWorkletNode(target.context, 'realtime-capture', options);
        node.port.onmessage = ({data: {rms}}) => recorder.levels.push(rms);
        // Without an input that never ends an ear would count no time.
        const silence = new ConstantSourceNode(target.context, {offset: 0});
        silence.start();
        for (const sound of [target, silence]) connect.call(sound, node);
        return node;
      });
    }
    return connect.call(this, target, ...more);
  };
  const devices = navigator.mediaDevices, open = devices.getUserMedia.bind(devices);
  devices.getUserMedia = async () => {
    const raw = {channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false};
    const stream = await open({audio: raw});
    connect.call(new MediaStreamAudioSourceNode(recorder.context, {mediaStream: stream}), await ear);
    return stream;
  };
})()""".replace("FRAME_MS", str(FRAME_MS))


@pytest.fixture(scope="module")
def speech(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the user says: a sound every 2.6 s, with sharp edges."""
    period = np.zeros(int(EVERY_S * FILE_HZ), "float32")
    sound = slice(int(0.2 * FILE_HZ), int((0.2 + SOUND_S) * FILE_HZ))
    period[sound] = 0.3 * np.sign(np.sin(2 * np.pi * 200 * np.arange(int(SOUND_S * FILE_HZ)) / FILE_HZ))
    file = tmp_path_factory.mktemp("speech") / "sounds.wav"
    soundfile.write(file, np.concatenate([np.zeros(FILE_HZ, "float32"), *[period] * TURNS]), FILE_HZ)
    return file


def recorded_ms(page: Page) -> tuple[list[float], list[float]]:
    """Return what the user waited by the recording, and when each sound of the user ended in it.

    A wait is from the end of a sound to the beginning of its answer. What the page plays leaves the loudspeaker after
    the output's latency.
    """
    levels, output_s = page.evaluate("[recorder.levels, recorder.context.outputLatency]")
    loud = np.flatnonzero(np.array(levels) > SOUND)
    gaps = [(int(one), int(other)) for one, other in pairwise(loud) if other - one > 50 // FRAME_MS]
    # User, answer, user, answer.
    waits_ms = [(other - one - 1) * FRAME_MS + output_s * 1000 for one, other in gaps[::2]]
    return waits_ms, [one * float(FRAME_MS) for one, _ in gaps[::2]]


def whole_turns(*ends_ms: list[float]) -> list[int]:
    """Return the turns after which the next sound of the user comes when it has to, by each clock.

    On a full machine a browser drops audio, and a clock that counts samples stands still meanwhile.
    """
    return [
        turn
        for turn in range(TURNS - 1)
        if all(abs(ends[turn + 1] - ends[turn] - EVERY_S * 1000) <= CLOCK_MS for ends in ends_ms)
    ]


def totals_ms(page: Page) -> list[int]:
    """Return the waits that a page shows."""
    words = page.locator(".wait .total").all_text_contents()
    return [int(re.fullmatch(r"(\d+) ms until the answer was heard", one)[1]) for one in words]  # type: ignore[index]


def asked(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=10) as answer:
        return json.load(answer)


def test_the_page_the_report_and_the_api_agree_with_a_recording_of_what_sounded(
    open_page: OpenPage, serve: Serve, speech: Path, tmp_path: Path
) -> None:
    server = serve(f"{APP}:make_answerer")
    page = open_page(speech, permissions=["microphone"])
    page.add_init_script(RECORDER)
    page.goto(server.address)
    page.get_by_role("button", name="Start talking").click()
    expect(page.locator(".bubble.agent .wait")).to_have_count(TURNS, timeout=(TURNS * EVERY_S + 60) * 1000)
    in_page = totals_ms(page)
    in_recording, ended_ms = recorded_ms(page)
    user = page.evaluate("localStorage.getItem('realtime.user')")
    page.get_by_role("button", name="End call").first.click()
    expect(page.locator("#state")).to_have_text(re.compile("ended|over", re.IGNORECASE))

    (call,) = asked(f"{server.address}/api/calls?user={user}")["calls"]
    told = asked(f"{server.address}/api/calls/{call['call_id']}/latency?user={user}")
    store = next((tmp_path / "data").rglob("calls.sqlite"))
    record = record_of(f"sqlite:{store}", call["call_id"])
    made = write_report([record], tmp_path / "report.html")
    (run,) = read_digest(made.with_suffix(".json")).runs
    report = open_page()
    report.goto(made.as_uri())

    assert [one["latency_ms"] for one in told["turns"]] == in_page
    assert not any(one["estimated"] for one in told["turns"])
    assert [turn.latency_ms for turn in run.turns] == pytest.approx(in_page, abs=SAME_MS)
    assert totals_ms(report) == pytest.approx(in_page, abs=SAME_MS)
    whole = whole_turns(ended_ms, [float(one.audio_end_ms) for one in record.events(s.AgentInputDoneEvent)])
    assert len(whole) >= TURNS // 2
    off_ms = np.array([in_page[turn] - in_recording[turn] for turn in whole])
    assert abs(np.median(off_ms)) <= HEARD_MS
    # Where a full machine makes one of the browser's threads wait, a report meets the wrong frame of the microphone.
    assert np.mean(np.abs(off_ms) <= HEARD_MS) >= 0.9 - 1 / TURNS, off_ms.tolist()


WAITED = {"turn_end": 500, "transcript": 40, "first_audio": 80, "played": 100}


def hear_two_answers(page: Page, scripted: ScriptedServer, address: str, until: Until) -> None:
    """Two answers, the second waited for longer, by an estimate."""
    page.goto(address)
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().state === 'listening'")
    for number, factor in ((1, 1), (2, 2)):
        item, response = f"item_{number}", f"resp_{number}"
        scripted.speak(item, "Well.", 0.05, response_id=response)
        scripted.finish(item, "Well.", response_id=response)
        stages_ms = {name: ms * factor for name, ms in WAITED.items()}
        waited = {"latency_ms": 720 * factor, "stages_ms": stages_ms, "estimated": factor == 2}
        scripted.send("server_latency", response_id=response, item_id=f"user_{number}", **waited)
    expect(page.locator(".bubble.agent .wait")).to_have_count(2)


def test_a_wait_opens_into_a_table_whose_steps_explain_themselves(
    page: Page, scripted: ScriptedServer, static_page: str, until: Until
) -> None:
    hear_two_answers(page, scripted, static_page, until)

    wait = page.locator(".wait").first
    wait.locator("summary").press("Enter")
    table = wait.get_by_role("table", name="Where the time went, from the end of the voice on")
    rows = table.locator("tbody tr:visible")
    assert [re.sub(r"\s+", " ", row) for row in rows.all_inner_texts()] == [
        "End of speech noticed i 500 ms 500 ms",
        "Words written down i 40 ms 540 ms",
        "First sound made i 80 ms 620 ms",
        "Heard i 100 ms 720 ms",
    ]
    about = table.get_by_role("button", name="About: End of speech noticed")
    expect(about).to_have_attribute("aria-expanded", "false")
    about.press("Enter")
    expect(about).to_have_attribute("aria-expanded", "true")
    expect(rows.nth(1)).to_contain_text("until it was decided that the speaker had finished")
    expect(page.locator(".wait .total").nth(1)).to_have_text("1440 ms until the answer was heard (estimated)")


@pytest.mark.parametrize("width", [320, 1280])
def test_the_waits_of_a_call_are_a_line_a_sentence_and_a_table(
    open_page: OpenPage, scripted_for: Callable[[Page], ScriptedServer], static_page: str, until: Until, width: int
) -> None:
    page = open_page(permissions=["microphone"], viewport={"width": width, "height": 800})
    scripted = scripted_for(page)
    expect(page.locator("#waits")).to_be_hidden()
    hear_two_answers(page, scripted, static_page, until)

    box = page.locator("#waits")
    expect(box.locator("summary").first).to_have_text("Waiting times · last 1440 ms")
    box.locator("summary").first.click()
    expect(box.locator("figcaption")).to_have_text(
        "2 answers, half of them within 720 ms, the longest wait 1440 ms, in turn 2, 1 estimated."
    )
    expect(box.locator(".chart")).to_have_attribute("aria-hidden", "true")
    heights = [point["y"] for point in (one.bounding_box() for one in box.locator(".plot i").all()) if point]
    assert heights[0] > heights[1], "the longer wait is higher"
    box.get_by_text("As a table").click()
    assert box.locator("tbody tr").all_inner_texts() == ["1\t720 ms", "2\t1440 ms (estimated)"]
    page.locator(".wait summary").first.click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
