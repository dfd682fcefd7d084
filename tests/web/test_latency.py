"""What the user waits is the same in the page, the report and the API, and near a recording of what sounded.

How near depends on the machine: it is written into `build/browser-latency.txt`. That the page reports what sounds when
it sounds is asserted on a clock of the test's own, in `web/packages/client/test/heard-latency.test.ts`.
"""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Page, expect

from realtime.event import server as s
from realtime.testing.cases.stored import record_of
from realtime.testing.report import write_report
from realtime.testing.report.diff import read_digest
from tests.volumes import volume
from tests.web.callers import ask
from tests.web.conftest import ROOT, OpenPage, Serve
from tests.web.pages import end_call, script, start_talking

pytestmark = pytest.mark.night

APP = f"{Path(__file__).with_name('latency_app.py')}:make_answerer"
REPORT = ROOT / "build" / "browser-latency.txt"
TURNS = volume(6, 50)
FILE_HZ = 48_000
SOUND_S, EVERY_S = 0.5, 2.6
FRAME_MS = 5
SOUND = 0.02
"""RMS of a frame that is no silence."""
SAME_MS = 20
"""The report counts in whole frames of audio."""
CLOCK_MS = 10
"""A clock that is off by more between two sounds has lost some."""


@pytest.fixture
def speech(tmp_path: Path) -> Path:
    """What the user says: a sound every 2.6 s, with sharp edges."""
    period = np.zeros(int(EVERY_S * FILE_HZ), "float32")
    sound = slice(int(0.2 * FILE_HZ), int((0.2 + SOUND_S) * FILE_HZ))
    period[sound] = 0.3 * np.sign(np.sin(2 * np.pi * 200 * np.arange(int(SOUND_S * FILE_HZ)) / FILE_HZ))
    soundfile.write(tmp_path / "s.wav", np.concatenate([np.zeros(FILE_HZ, "float32"), *[period] * TURNS]), FILE_HZ)
    return tmp_path / "s.wav"


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
        for turn in range(min(map(len, ends_ms)) - 1)
        if all(abs(ends[turn + 1] - ends[turn] - EVERY_S * 1000) <= CLOCK_MS for ends in ends_ms)
    ]


def totals_ms(page: Page) -> list[int]:
    """Return the waits that a page shows."""
    words = page.locator(".wait .total").all_text_contents()
    return [int(re.match(r"(\d+) ms until the answer was heard", one)[1]) for one in words]  # type: ignore[index]


def test_the_page_the_report_and_the_api_agree_and_what_sounded_is_reported_beside_them(
    open_page: OpenPage, serve: Serve, speech: Path, tmp_path: Path
) -> None:
    server = serve(APP)
    page = open_page(speech, permissions=["microphone"])
    page.add_init_script(script("recorder.js", FRAME_MS=FRAME_MS))
    start_talking(page, server.address)
    expect(page.locator(".bubble.agent .wait")).to_have_count(TURNS, timeout=(TURNS * EVERY_S + 120) * 1000)
    in_page = totals_ms(page)
    in_recording, ended_ms = recorded_ms(page)
    user = page.evaluate("localStorage.getItem('realtime.user')")
    end_call(page)
    expect(page.get_by_role("status")).to_have_text("Call ended")

    (call,) = ask(f"{server.address}/api/calls?user={user}")["calls"]
    told = ask(f"{server.address}/api/calls/{call['call_id']}/latency?user={user}")
    store = next((tmp_path / "data").rglob("calls.sqlite"))
    record = record_of(f"sqlite:{store}", call["call_id"])
    made = write_report([record], tmp_path / "report.html")
    (run,) = read_digest(made.with_suffix(".json")).runs
    report = open_page()
    report.goto(made.as_uri())

    assert [one["latency_ms"] for one in told["turns"]] == in_page
    assert [turn.latency_ms for turn in run.turns] == pytest.approx(in_page, abs=SAME_MS)
    assert totals_ms(report) == pytest.approx(in_page, abs=SAME_MS)

    whole = whole_turns(ended_ms, [float(one.audio_end_ms) for one in record.events(s.AgentInputDoneEvent)])
    off_ms = [round(in_page[turn] - in_recording[turn]) for turn in whole]
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(
        f"{TURNS} turns, {len(whole)} without lost audio; the page says so many ms more than the recording: "
        f"median {np.median(off_ms) if off_ms else '-'}, all {sorted(off_ms)}\n"
    )
