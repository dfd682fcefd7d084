"""The page of an ended call in Chromium: its sound in step with the words, its files, its end; and what goes wrong."""

import json
import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Page, Route, expect

from tests.web.callers import INFO, Caller
from tests.web.conftest import Serving
from tests.web.test_transcript import reply, tell, text

pytestmark = pytest.mark.rotates(1 / 4)

Serve = Callable[..., Serving]
OpenPage = Callable[..., Page]

APP = Path(__file__).with_name("scripted_app.py")
QUESTION = {"who": "user", "kind": "speech", "text": "How large is it?", "from_ms": 500, "to_ms": 1_500}
ANSWER = {"who": "Friday", "kind": "speech", "text": "It has forty-one rooms.", "from_ms": 2_000, "to_ms": 3_000}
LINES = [QUESTION | {"item_id": "i1"}, ANSWER | {"item_id": "i2"}]
SPOKEN = [*reply("r1", *text("i1", "How large is it?"), role="user"), *reply("r2", *text("i2", ANSWER["text"]))]


@pytest.fixture
def house(serve: Serve, tmp_path: Path) -> Serving:
    """A server that keeps the sound of calls."""
    return serve(f"{APP}:make_calculator", "--store", "memory:", "--recordings", str(tmp_path / "sound"))


def ended_call(house: Serving, calls: Callable[..., Caller]) -> str:
    """A call of ann with one turn: its id."""
    caller = calls(house.address)
    caller.say("How large is it?")
    caller.answer(caller.until("agent_response_tool_use_done")["tool_use"], "41369")
    caller.until("agent_response_done")
    caller.end()
    return caller.call_id


def record(folder: Path, seconds: float) -> None:
    """A recording of so many seconds of hum."""
    folder.mkdir(parents=True)
    hum = (3_000 * np.sin(np.arange(int(seconds * 16_000)) / 10)).astype(np.int16)
    soundfile.write(folder / "input.flac", hum, 16_000)
    (folder / "recording.json").write_text(json.dumps({"input_from_ms": 0}))


def place(page: Page) -> float:
    """Where the sound is, in seconds."""
    found: float = page.evaluate("document.getElementById('sound').currentTime")
    return found


# -- sound -------------------------------------------------------------------------------------------------------------


def test_a_bubble_plays_its_part_and_the_call_plays_as_a_whole_with_its_words_marked(
    page: Page, house: Serving, calls: Callable[..., Caller], tmp_path: Path
) -> None:
    call_id = ended_call(house, calls)
    record(tmp_path / "sound" / call_id, 4.0)
    page.route(re.compile(r"/transcript\?"), lambda route: route.fulfill(json={"lines": LINES}))
    tell_only_events(page)
    page.goto(f"{house.address}/transcript.html?user=ann&call={call_id}")
    question, answer = page.locator(".bubble").nth(0), page.locator(".bubble").nth(1)
    expect(page.locator("#place")).to_have_text("0:00 / 0:04")
    answer.get_by_role("button", name="Hear this, 0:02").press("Enter")
    expect(answer).to_have_attribute("data-sounding", "true")
    assert page.evaluate("[...CSS.highlights.get('spoken')].length") == 1
    expect(answer.get_by_role("button", name="Hear this, 0:02")).to_be_visible()
    expect(answer).not_to_have_attribute("data-sounding", "true")
    assert 3.0 <= place(page) < 3.9, "the part is over, and nothing behind it is played"
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


def tell_only_events(page: Page) -> None:
    """Let the call's words be the ones of `LINES`."""

    def answer(route: Route) -> None:
        frames = (f"id: {n}\nevent: {one['type']}\ndata: {json.dumps(one)}\n\n" for n, one in enumerate(SPOKEN, 1))
        route.fulfill(content_type="text/event-stream", body="".join(frames))

    page.route(re.compile(r"/events\?"), answer)


def test_a_recording_that_is_gone_is_told_once_and_the_words_stay(
    page: Page, house: Serving, calls: Callable[..., Caller], tmp_path: Path
) -> None:
    call_id = ended_call(house, calls)
    record(tmp_path / "sound" / call_id, 4.0)
    # Deleted between the description of the call and the first sound.
    page.route(re.compile(r"/sound\?"), lambda route: (shutil.rmtree(tmp_path / "sound"), route.fallback())[1])
    page.goto(f"{house.address}/transcript.html?user=ann&call={call_id}")
    expect(page.get_by_role("alert")).to_contain_text("The sound of this call cannot be played.")
    expect(page.locator("#player")).to_be_hidden()
    expect(page.locator(".bubble")).to_have_count(2)
    page.unroute(re.compile(r"/sound\?"))
    page.reload()
    expect(page.get_by_role("link", name="Report")).to_be_visible()
    expect(page.get_by_role("link", name="Sound")).to_be_hidden()
    expect(page.get_by_role("alert")).to_be_empty()


# -- files -------------------------------------------------------------------------------------------------------------


def test_the_words_are_downloaded_as_text_subtitles_and_data(
    page: Page, house: Serving, calls: Callable[..., Caller]
) -> None:
    call_id = ended_call(house, calls)
    page.goto(f"{house.address}/transcript.html?user=ann&call={call_id}")
    found: dict[str, str] = {}
    for name in ("Text", "Subtitles", "JSON"):
        with page.expect_download() as download:
            page.get_by_role("link", name=name, exact=True).click()
        found[download.value.suggested_filename] = Path(download.value.path()).read_text("utf-8")
    assert [*found] == [f"{call_id}.txt", f"{call_id}.srt", f"{call_id}.json"]
    assert "user: How large is it?" in found[f"{call_id}.txt"]
    assert "Calculator: It has 41369." in found[f"{call_id}.srt"]
    assert json.loads(found[f"{call_id}.json"])["lines"][0]["text"] == "How large is it?"


def test_the_report_opens_beside_the_page(page: Page, house: Serving, calls: Callable[..., Caller]) -> None:
    call_id = ended_call(house, calls)
    page.goto(f"{house.address}/transcript.html?user=ann&call={call_id}")
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Report").click()
    report = opened.value
    expect(report).to_have_title(f"Call {call_id}")
    expect(report.get_by_text("How large is it?").first).to_be_visible()


def test_a_call_is_deleted_with_its_sound_after_one_question(
    page: Page, house: Serving, calls: Callable[..., Caller], tmp_path: Path
) -> None:
    call_id = ended_call(house, calls)
    folder = tmp_path / "sound" / call_id
    record(folder, 1.0)
    page.goto(f"{house.address}/transcript.html?user=ann&call={call_id}")
    page.get_by_role("button", name="Delete this call").press("Enter")
    question = page.get_by_role("group", name="Delete this call and its sound for good?")
    expect(question.get_by_role("button", name="Keep")).to_be_focused()
    question.get_by_role("button", name="Delete").click()
    expect(page).to_have_url(f"{house.address}/transcript.html?user=ann")
    expect(page.locator("#empty")).to_contain_text("No calls yet.")
    assert not folder.exists()


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def test_an_empty_call_has_nothing_to_download_and_can_be_deleted(
    page: Page, house: Serving, calls: Callable[..., Caller]
) -> None:
    caller = calls(house.address)
    caller.end()
    page.goto(f"{house.address}/transcript.html?user=ann&call={caller.call_id}")
    expect(page.locator("#empty")).to_have_text("Nothing was said in this call.")
    expect(page.get_by_role("link", name="Text", exact=True)).to_be_hidden()
    expect(page.get_by_text("Save as test")).to_be_hidden()
    expect(page.get_by_role("button", name="Delete this call")).to_be_visible()


def test_a_call_that_goes_on_has_its_words_and_no_files_yet(
    page: Page, house: Serving, calls: Callable[..., Caller]
) -> None:
    caller = calls(house.address)
    caller.say("How large is it?")
    page.goto(f"{house.address}/transcript.html?user=ann&call={caller.call_id}")
    expect(page.locator(".bubble").first).to_contain_text("How large is it?")
    expect(page.locator("#files")).to_be_hidden()
    expect(page.get_by_role("log")).to_have_attribute("aria-live", "polite")
    caller.end()
    expect(page.locator("#files")).to_be_visible()


def test_errors_of_a_call_are_listed_with_their_sentences(page: Page, static_page: str) -> None:
    error: dict[str, Any] = {"id": "e1", "created_at": "2026-01-01T00:00:05.000Z", "reply_id": "", "type": "CUSTOM"}
    value = {"error_type": "provider_error", "code": "rate_limit", "message": "The provider <b>refuses</b> more."}
    tell(page, [*SPOKEN, error | {"name": "error", "value": value}])
    page.goto(f"{static_page}transcript.html?user=ann&call=call1")
    page.get_by_text(re.compile(r"^1\serror$")).click()
    expect(page.locator("#errors-list li")).to_contain_text("The provider <b>refuses</b> more.")


@pytest.mark.parametrize("width", [320, 768])
def test_a_call_of_two_hundred_turns_is_read_from_its_beginning_and_fits(
    width: int, open_page: OpenPage, static_page: str
) -> None:
    page = open_page(viewport={"width": width, "height": 640})
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
    page.goto(f"{static_page}transcript.html?user=ann&call=call1")
    expect(page.locator(".bubble")).to_have_count(400)
    expect(page.get_by_role("link", name="Report")).to_be_visible()
    assert page.evaluate("document.getElementById('bubbles').scrollTop") == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
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
    page.goto(f"{static_page}transcript.html?user=ann&call=call1")
    expect(page.get_by_role("link", name=report)).to_be_visible()
    expect(page).to_have_title(f"{title} · realtime")
    assert page.evaluate("document.documentElement.lang") == language[:2]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    calls = [INFO | {"call_id": f"call{n}", "first_words": "Hello", "turns": n, "errors": n} for n in range(9)]
    page.route(re.compile(r"/api/calls\?"), lambda route: route.fulfill(json={"calls": calls, "next": "x"}))
    page.goto(f"{static_page}transcript.html?user=ann")
    expect(page.locator(".call")).to_have_count(9)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_what_belongs_to_somebody_else_is_not_even_known_to_be_there(
    house: Serving, calls: Callable[..., Caller]
) -> None:
    call_id = ended_call(house, calls)
    for what in ("", "/transcript", "/sound", "/report"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{house.address}/api/calls/{call_id}{what}?user=bob", timeout=30)
