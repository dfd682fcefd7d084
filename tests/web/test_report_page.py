"""The report of a run in Chromium: opened from the disk, without a request, a console error or anything that runs."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from realtime.testing.record import CallRecord, Lane
from realtime.testing.report import RunOutcome, write_report
from tests.testing.report_calls import interrupted_call, short_call
from tests.web.conftest import OpenReport
from tests.web.pages import box_of

pytestmark = pytest.mark.night

FAILURE = "AssertionError: the answer to turn 1 was heard after 1,690 ms\n> 0:06.960  Anna: I would like to plan"
NASTY = '</script><img src="https://far.example/x.png" onerror="document.title=1"><script>document.title = 2</script>'


def zoomed(page: Page) -> float:
    """Pixels of a second."""
    return 1_000 * float(page.locator(".inner").evaluate("(inner) => inner.style.getPropertyValue('--scale')"))


@pytest.mark.parametrize(("scheme", "paper"), [("light", "rgb(246, 245, 241)"), ("dark", "rgb(19, 24, 23)")])
def test_a_call_of_which_nothing_was_expected_has_neither_passed_nor_failed_in_the_colours_of_its_reader(
    scheme: str, paper: str, open_report: OpenReport
) -> None:
    page = open_report(short_call(), color_scheme=scheme)
    expect(page.locator("#about")).to_have_text("1 run")
    expect(page.locator(".pill")).to_have_count(0)
    expect(page.locator("body")).to_have_css("background-color", paper)


def test_marks_stand_between_the_turns_and_tools_lead_to_what_they_returned(open_report: OpenReport) -> None:
    page = open_report(interrupted_call(), viewport={"width": 390, "height": 800})
    rows = page.locator(".turns > li")
    expect(rows).to_have_count(7)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390, "it fits a phone"
    assert [text.partition(".")[2][1:] for text in rows.all_text_contents() if "·" in text] == [
        "flushed · Robert · a2",
        "left · Robert",
        "ended · client_end",
    ]
    rows.nth(2).get_by_role("button").click()
    expect(page.locator(".readout")).to_have_text(re.compile("^0:10"))
    page.locator(".tools .tool").click()
    expect(page.locator("details.use")).to_have_attribute("open", "")
    expect(page.locator("details.use pre").nth(1)).to_have_text("found")
    expect(page.locator("details.use summary")).to_be_focused()


def test_each_answer_shows_what_it_was_waited_for_and_the_call_shows_all_of_them(open_report: OpenReport) -> None:
    page = open_report(interrupted_call())
    line = page.get_by_role("region", name="How long the answers were waited for")
    expect(line.locator("figcaption")).to_have_text(
        "3 answers, half of them within 1000 ms, the longest wait 1510 ms, in turn 1."
    )
    totals = page.locator(".wait .total")
    assert totals.all_text_contents() == [f"{ms} ms until the answer was heard" for ms in (1510, 1000, 360)]
    page.locator(".wait summary").first.click()
    steps = page.locator(".wait").first.locator("tbody th:visible")
    assert [text.removesuffix(" i") for text in steps.all_text_contents()] == [
        *("End of speech noticed", "Words written down", "Answer begun", "Tool asked", "Tool answered"),
        *("First sound made", "Heard"),
    ]


def test_the_timeline_zooms_by_buttons_keys_and_wheel_around_the_pointer(open_report: OpenReport) -> None:
    page = open_report(interrupted_call())
    lanes = page.locator(".scroller")
    whole = zoomed(page)
    page.get_by_role("button", name="Zoom in").click()
    assert zoomed(page) == pytest.approx(2 * whole)
    lanes.press("+")
    assert zoomed(page) == pytest.approx(4 * whole)
    lanes.press("0")
    assert zoomed(page) == pytest.approx(whole)
    before = box_of(page.locator(".lane.human .caption").first)
    page.mouse.move(before["x"], before["y"])
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    page.wait_for_function(f"1000 * document.querySelector('.inner').style.getPropertyValue('--scale') > {2 * whole}")
    assert box_of(page.locator(".lane.human .caption").first)["x"] == pytest.approx(before["x"], abs=3)


def test_the_time_under_the_pointer_is_told_waveforms_are_drawn_and_the_sound_plays(open_report: OpenReport) -> None:
    page = open_report(short_call())
    box = box_of(page.locator(".scroller").first)
    page.mouse.move(box["x"] + 100, box["y"] + 40)
    expect(page.locator(".readout")).to_have_text(f"0:0{100 / zoomed(page):.3f}")
    page.wait_for_function("document.querySelector('.wave').width > 300")
    painted = page.locator(".lane.human .wave").evaluate(
        """(canvas) => {
          const { width, height } = canvas;
          const column = (x) => canvas.getContext("2d").getImageData(x, 0, 1, height).data.filter(Boolean).length;
          return [column(Math.round(width * 0.2)), column(Math.round(width * 0.8))];
        }"""
    )
    assert painted[0] > 3 * painted[1] > 0
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator(".head")).to_be_visible()
    expect(page.locator(".readout")).not_to_have_text("0:00.000")


def test_changes_since_the_accepted_report_are_shown(open_report: OpenReport, tmp_path: Path) -> None:
    write_report([interrupted_call(greeting="Good morning, I am Rupert.")], tmp_path / "accepted.html")
    page = open_report(interrupted_call(slower_ms=180), accepted=tmp_path / "accepted.json")
    changed = page.locator(".changed")
    expect(changed.locator("del", has_text="Rupert.")).to_be_visible()
    expect(changed.locator("ins", has_text="Robert.")).to_be_visible()
    expect(changed).to_contain_text("latency 1510 ms 1690 ms +180 ms")
    expect(page.locator("#about")).to_contain_text("1 changed since the accepted report")


def test_what_people_said_is_text_whatever_it_is(open_report: OpenReport) -> None:
    page = open_report(RunOutcome(short_call(NASTY, question=NASTY), NASTY))
    expect(page.locator(".lane.human .caption")).to_have_text(NASTY)
    expect(page.locator(".failure")).to_have_text(NASTY)
    assert page.locator("img").count() == 0
    assert page.title() == "Voice tests"


def test_a_reader_without_scripts_gets_the_calls_as_text(open_report: OpenReport) -> None:
    page = open_report(RunOutcome(interrupted_call(), FAILURE), java_script_enabled=False)
    text = page.locator("noscript pre")
    expect(text).to_contain_text("I would like to plan a trip")
    expect(text).to_contain_text(FAILURE.splitlines()[0])


def test_an_hour_with_many_speakers_opens_and_moves(open_report: OpenReport) -> None:
    hour = bytes(8_000 * 2 * 3_600)
    lanes = tuple(Lane(name, "human", 8_000, hour) for name in ("Ann", "Bob", "Carl", "Dora"))
    call = interrupted_call("hour")
    page = open_report(CallRecord(name="hour", entries=call.entries, items=call.items, lanes=lanes))
    expect(page.locator(".lane")).to_have_count(6)
    expect(page.get_by_role("button", name="Play")).to_be_hidden()
    expect(page.get_by_text("The sound is left out: it is too long for one page.")).to_be_visible()
    page.locator(".scroller").press("0")
    assert page.locator(".inner").evaluate("(inner) => inner.offsetWidth") <= 1_400
