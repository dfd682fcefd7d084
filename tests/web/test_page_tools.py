"""Tools in words, tools in the background, and the events of a call for engineers."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import ScriptedServer
from tests.web.page_scenes import begin, give, tools, use

pytestmark = pytest.mark.rotates(1 / 4)

Until = Callable[[Page, str], None]


def test_a_tool_is_told_in_words_from_its_start_to_its_result(
    page: Page, static_page: str, scripted: ScriptedServer
) -> None:
    begin(page, scripted, static_page)
    use(scripted, "c1", "find_order", {"number": 7, "of": "<b>Ann</b>"})
    card = page.locator(".bubble.tool")
    expect(card.get_by_role("heading")).to_have_text("Find order")
    expect(card.locator(".tool-state")).to_have_text("Working on it…")
    expect(card.locator(".tool-given div")).to_have_text(["Number7", "Of<b>Ann</b>"])
    for note in ("asking the warehouse", "found the van"):
        scripted.send("agent_tool_progress", tool_call_id="c1", delta=note, kind="note")
    expect(card.locator(".tool-note")).to_have_text("found the van")
    for part in ("order 7 ", "is on its way"):
        scripted.send("agent_tool_progress", tool_call_id="c1", delta=part, kind="result")
    expect(card.locator(".tool-result")).to_have_text("order 7 is on its way")
    give(scripted, "c1", "find_order", "order 7 is on its way")
    expect(card.locator(".tool-state")).to_have_text("Done")
    expect(card.locator(".tool-note")).to_be_hidden()


@pytest.mark.parametrize(
    ("state", "words"), [("error", "Failed"), ("interrupted", "Stopped"), ("denied", "Did not run: not allowed")]
)
def test_how_a_tool_ended_is_said(
    page: Page, static_page: str, scripted: ScriptedServer, state: str, words: str
) -> None:
    begin(page, scripted, static_page)
    use(scripted, "c1", "find_order", {})
    give(scripted, "c1", "find_order", "nothing", state)
    expect(page.locator(".tool-state")).to_have_text(words)


def test_a_long_result_is_shown_in_part_and_whole_in_its_details(
    page: Page, static_page: str, scripted: ScriptedServer
) -> None:
    begin(page, scripted, static_page)
    use(scripted, "c1", "read_page", {"number": 1})
    give(scripted, "c1", "read_page", "word " * 400 + "end")
    card = page.locator(".bubble.tool")
    assert len(card.locator(".tool-result").inner_text()) < 300
    card.get_by_text("Details").click()
    expect(card.locator(".words")).to_contain_text("end")


def test_a_background_tool_is_listed_with_its_latest_report_and_can_be_stopped(
    page: Page, static_page: str, scripted: ScriptedServer
) -> None:
    stopped: list[str] = []
    page.route(
        "**/api/calls/*/tasks/*", lambda route: (stopped.append(route.request.method), route.fulfill(status=204))
    )
    tools(page, scripted, static_page)
    listed = page.get_by_role("region", name="Running in the background")
    expect(listed.get_by_role("listitem")).to_contain_text("Book tablecalling the restaurant")
    page.unroute("**/api/calls/*/tasks?*")
    page.route("**/api/calls/*/tasks?*", lambda route: route.fulfill(json={"tasks": []}))
    listed.get_by_role("button", name="Stop Book table").click()
    expect(listed).to_be_hidden()
    assert stopped == ["DELETE"]


def test_the_list_of_background_tools_goes_with_the_call(
    page: Page, static_page: str, scripted: ScriptedServer
) -> None:
    tools(page, scripted, static_page)
    page.get_by_role("button", name="End call").click()
    expect(page.locator("#background")).to_be_hidden()


# -- the events --------------------------------------------------------------------------------------------------------


@pytest.fixture
def opened(page: Page, static_page: str, scripted: ScriptedServer) -> Page:
    """A call with its events open."""
    begin(page, scripted, static_page)
    page.locator("#inspector summary").click()
    expect(page.locator("#events li").first).to_be_visible()
    return page


def types(page: Page) -> list[str]:
    return page.locator("#events .type").all_inner_texts()


def test_events_are_searched_and_filtered_by_direction(opened: Page) -> None:
    opened.get_by_label("Direction").select_option("Sent")
    assert {one.partition("_")[0] for one in types(opened)} == {"client"}
    opened.get_by_label("Direction").select_option("Sent and received")
    opened.get_by_role("searchbox", name="Search").fill("heart ready")
    expect(opened.locator("#events .type")).to_have_text(["agent_ready"])
    opened.get_by_role("searchbox", name="Search").fill("no such event")
    expect(opened.get_by_text("No event is like this.")).to_be_visible()


def test_paused_events_stand_still_and_none_is_lost(opened: Page, scripted: ScriptedServer, until: Until) -> None:
    before = types(opened)
    opened.get_by_role("button", name="Pause").click()
    scripted.send("agent_input_started", item_id="item_1")
    until(opened, "realtime.snapshot().events.includes('agent_input_started')")
    assert types(opened) == before
    opened.get_by_role("button", name="Go on").click()
    expect(opened.locator("#events .type").filter(has_text="agent_input_started")).to_have_count(1)


def test_the_shown_events_are_downloaded_one_a_line(opened: Page, tmp_path: Path) -> None:
    opened.get_by_role("searchbox", name="Search").fill("session")
    with opened.expect_download() as download:
        opened.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "events.jsonl"
    download.value.save_as(tmp_path / "events.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [line["type"] for line in lines] == types(opened)
    assert "call_1.resume_2" not in (tmp_path / "events.jsonl").read_text()


def test_events_can_be_read_on_a_phone(
    open_page: Callable[..., Page], static_page: str, scripted_for: Callable[[Page], ScriptedServer]
) -> None:
    page = open_page(permissions=["microphone"], viewport={"width": 360, "height": 740})
    begin(page, scripted_for(page), static_page)
    page.locator("#inspector summary").click()
    page.locator("#events li").filter(has_text="agent_ready").get_by_role("button").click()
    for part in ("#events", "#event-json"):
        box = page.locator(part).bounding_box()
        assert box is not None
        assert box["width"] > 330
        assert box["height"] > 100
    assert page.evaluate("document.documentElement.scrollWidth") == 360
