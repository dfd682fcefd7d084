"""The page of an ended call in Chromium: its sound in step with the words, its files, its end; and what goes wrong."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Page, expect

from tests.web.callers import INFO, LINES, SPOKEN, Caller, custom, list_calls, page_of, reply, stream, tell, text
from tests.web.conftest import OpenPage, Serve, Serving
from tests.web.pages import fits

pytestmark = pytest.mark.night

APP = f"{Path(__file__).with_name('scripted_app.py')}:make_calculator"


class House(NamedTuple):
    """A server that keeps the sound of calls in `sound`, and an ended call of ann with one turn."""

    serving: Serving
    sound: Path
    call: Caller


@pytest.fixture
def house(serve: Serve, calls: Callable[..., Caller], tmp_path: Path) -> House:
    serving = serve(APP, "--store", "memory:", "--recordings", str(tmp_path / "sound"))
    caller = calls(serving.address)
    caller.say("How large is it?")
    caller.answer(caller.until("agent_response_tool_use_done")["tool_use"], "41369")
    caller.until("agent_response_done")
    caller.end()
    return House(serving, tmp_path / "sound" / caller.call_id, caller)


def record(folder: Path, seconds: float) -> None:
    """A recording of so many seconds of hum."""
    folder.mkdir(parents=True)
    hum = (3_000 * np.sin(np.arange(int(seconds * 16_000)) / 10)).astype(np.int16)
    soundfile.write(folder / "input.flac", hum, 16_000)
    (folder / "recording.json").write_text(json.dumps({"input_from_ms": 0}))


# -- sound -------------------------------------------------------------------------------------------------------------


def test_a_bubble_plays_its_part_and_the_call_plays_as_a_whole_with_its_words_marked(page: Page, house: House) -> None:
    record(house.sound, 4.0)
    page.route(re.compile(r"/transcript\?"), lambda route: route.fulfill(json={"lines": LINES}))
    # The call's words are those of the lines.
    events = {"content_type": "text/event-stream", "body": stream(*SPOKEN)}
    page.route(re.compile(r"/events\?"), lambda route: route.fulfill(**events))
    page.goto(house.call.page)
    question, answer = page.locator(".bubble").nth(0), page.locator(".bubble").nth(1)
    expect(page.locator("#place")).to_have_text("0:00 / 0:04")
    answer.get_by_role("button", name="Hear this, 0:02").press("Enter")
    expect(answer).to_have_attribute("data-sounding", "true")
    assert page.evaluate("[...CSS.highlights.get('spoken')].length") == 1
    expect(answer.get_by_role("button", name="Hear this, 0:02")).to_be_visible()
    expect(answer).not_to_have_attribute("data-sounding", "true")
    place = page.evaluate("document.getElementById('sound').currentTime")
    assert 3.0 <= place < 4.0, "the part is over, and not all that is behind it is played"
    # A click into the words plays them as well.
    question.locator(".parts > .words").click()
    expect(question).to_have_attribute("data-sounding", "true")
    page.get_by_role("button", name="Pause", exact=True).click()
    seek = page.get_by_role("slider", name="Place in the call")
    seek.press("Home")
    page.get_by_role("button", name="Play the call").click()
    expect(question).to_have_attribute("data-sounding", "true")
    expect(answer).to_have_attribute("data-sounding", "true")
    expect(seek).to_have_attribute("aria-valuetext", re.compile("Friday speaks"))
    expect(page.get_by_role("button", name="Play the call")).to_be_visible()


def test_a_recording_that_is_gone_is_told_once_and_the_words_stay(page: Page, house: House) -> None:
    record(house.sound, 4.0)
    # Deleted between the description of the call and the first sound.
    page.route(re.compile(r"/sound\?"), lambda route: (shutil.rmtree(house.sound.parent), route.fallback())[1])
    page.goto(house.call.page)
    expect(page.get_by_role("alert")).to_contain_text("The sound of this call cannot be played.")
    expect(page.locator("#player")).to_be_hidden()
    expect(page.locator(".bubble")).to_have_count(2)
    page.unroute(re.compile(r"/sound\?"))
    page.reload()
    expect(page.get_by_role("link", name="Report")).to_be_visible()
    expect(page.get_by_role("link", name="Sound")).to_be_hidden()
    expect(page.get_by_role("alert")).to_be_empty()


# -- files -------------------------------------------------------------------------------------------------------------


def test_the_words_are_downloaded_and_the_report_opens_beside_the_page(page: Page, house: House) -> None:
    call_id = house.call.call_id
    page.goto(house.call.page)
    found: dict[str, str] = {}
    for name in ("Text", "Subtitles", "JSON"):
        with page.expect_download() as download:
            page.get_by_role("link", name=name, exact=True).click()
        found[download.value.suggested_filename] = Path(download.value.path()).read_text("utf-8")
    assert [*found] == [f"{call_id}.txt", f"{call_id}.srt", f"{call_id}.json"]
    assert "user: How large is it?" in found[f"{call_id}.txt"]
    assert "Calculator: It has 41369." in found[f"{call_id}.srt"]
    assert json.loads(found[f"{call_id}.json"])["lines"][0]["text"] == "How large is it?"
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Report").click()
    report = opened.value
    expect(report).to_have_title(f"Call {call_id}")
    expect(report.get_by_text("How large is it?").first).to_be_visible()


def test_a_call_is_deleted_with_its_sound_after_one_question(page: Page, house: House) -> None:
    record(house.sound, 1.0)
    page.goto(house.call.page)
    page.get_by_role("button", name="Delete this call").press("Enter")
    question = page.get_by_role("group", name="Delete this call and its sound for good?")
    expect(question.get_by_role("button", name="Keep")).to_be_focused()
    question.get_by_role("button", name="Delete").click()
    expect(page).to_have_url(page_of(house.serving.address, None))
    expect(page.locator("#empty")).to_contain_text("No calls yet.")
    assert not house.sound.exists()


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def test_a_call_that_goes_on_has_its_words_and_no_files_yet_and_an_empty_one_nothing_to_download(
    page: Page, house: House, calls: Callable[..., Caller]
) -> None:
    caller = calls(house.serving.address)
    caller.say("How large is it?")
    page.goto(caller.page)
    expect(page.locator(".bubble").first).to_contain_text("How large is it?")
    expect(page.get_by_role("status")).to_contain_text("Live")
    for part in (page.locator("#files"), page.get_by_text("Save as test")):
        expect(part).to_be_hidden()
    expect(page.get_by_role("log")).to_have_attribute("aria-live", "polite")
    caller.end()
    expect(page.locator("#files")).to_be_visible()
    empty = calls(house.serving.address)
    empty.end()
    page.goto(empty.page)
    expect(page.locator("#empty")).to_have_text("Nothing was said in this call.")
    expect(page.get_by_role("link", name="Text", exact=True)).to_be_hidden()
    expect(page.get_by_text("Save as test")).to_be_hidden()
    expect(page.get_by_role("button", name="Delete this call")).to_be_visible()


def test_errors_of_a_call_are_listed_with_their_sentences(page: Page, static_page: str) -> None:
    value = {"error_type": "provider_error", "code": "rate_limit", "message": "The provider <b>refuses</b> more."}
    tell(page, [*SPOKEN, custom("error", **value)])
    page.goto(page_of(static_page))
    page.get_by_text(re.compile(r"^1\serror$")).click()
    expect(page.locator("#errors-list li")).to_contain_text("The provider <b>refuses</b> more.")


def test_a_call_of_two_hundred_turns_is_read_from_its_beginning_and_fits(page: Page, static_page: str) -> None:
    words = ["Tell me more, please.", "x" * 300, "ספר לי עוד, בבקשה."]
    turns = [
        event
        for n in range(200)
        for event in (
            *reply(f"u{n}", *text(f"q{n}", words[n % 3]), role="user"),
            *reply(f"a{n}", *text(f"i{n}", f"{n}: {words[n % 3]}")),
        )
    ]
    tell(page, turns, INFO | {"case": "download"})
    for width in (320, 768):
        page.set_viewport_size({"width": width, "height": 640})
        page.goto(page_of(static_page))
        expect(page.locator(".bubble")).to_have_count(400)
        expect(page.get_by_role("link", name="Report")).to_be_visible()
        assert page.evaluate("document.getElementById('bubbles').scrollTop") == 0
        assert fits(page)
        assert page.evaluate("document.getElementById('bubbles').scrollWidth <= innerWidth")
    directions = page.locator(".parts > .words").evaluate_all(
        "(all) => all.map((one) => getComputedStyle(one).direction)"
    )
    assert directions[4] == directions[5] == "rtl"


@pytest.mark.parametrize(
    ("language", "report", "title"),
    [("de-AT", "Bericht", "Gespräche"), ("es-MX", "Informe", "Llamadas"), ("zh-CN", "报告", "通话")],
)
def test_it_speaks_the_reader_s_language_and_still_fits(
    language: str, report: str, title: str, open_page: OpenPage, static_page: str
) -> None:
    page = open_page(locale=language, viewport={"width": 320, "height": 640})
    tell(page, SPOKEN, INFO | {"case": "download", "errors": 2})
    page.goto(page_of(static_page))
    expect(page.get_by_role("link", name=report)).to_be_visible()
    expect(page).to_have_title(f"{title} · realtime")
    assert page.evaluate("document.documentElement.lang") == language[:2]
    assert fits(page)
    list_calls(
        page, [INFO | {"call_id": f"call{n}", "first_words": "Hello", "turns": n, "errors": n} for n in range(9)]
    )
    page.goto(page_of(static_page, None))
    expect(page.locator(".call")).to_have_count(9)
    assert fits(page)
