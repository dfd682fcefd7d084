"""Tools in words, tools in the background, and the events of a call for engineers."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Scripted, ScriptedServer
from tests.web.page_scenes import give, tools, use
from tests.web.pages import box_of, end_call, fits, sends, until

pytestmark = pytest.mark.night

ENDS = {"error": "Failed", "interrupted": "Stopped", "denied": "Did not run: not allowed"}


def test_a_tool_is_told_in_words_from_its_start_to_its_result(scripted: ScriptedServer) -> None:
    page = scripted.begin()
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


def test_how_a_tool_ended_is_said_and_a_long_result_is_whole_in_its_details(scripted: ScriptedServer) -> None:
    page = scripted.begin()
    for state in ENDS:
        use(scripted, state, "find_order", {})
        give(scripted, state, "find_order", "nothing", state)
    expect(page.locator(".tool-state")).to_have_text([*ENDS.values()])
    use(scripted, "c1", "read_page", {"number": 1})
    give(scripted, "c1", "read_page", "word " * 400 + "end")
    card = page.locator(".bubble.tool").last
    expect(card.locator(".tool-state")).to_have_text("Done")
    assert len(card.locator(".tool-result").inner_text()) < 300
    card.get_by_text("Details").click()
    expect(card.locator(".words")).to_contain_text("end")


def test_a_background_tool_is_listed_with_its_latest_report_and_can_be_stopped(scripted: ScriptedServer) -> None:
    page, stopped = scripted.page, []
    page.route(
        "**/api/calls/*/tasks/*", lambda route: (stopped.append(route.request.method), route.fulfill(status=204))
    )
    scripted.show(tools)
    listed = page.get_by_role("region", name="Running in the background")
    expect(listed.get_by_role("listitem")).to_contain_text("Book tablecalling the restaurant")
    page.unroute("**/api/calls/*/tasks?*")
    page.route("**/api/calls/*/tasks?*", lambda route: route.fulfill(json={"tasks": []}))
    listed.get_by_role("button", name="Stop Book table").click()
    expect(listed).to_be_hidden()
    assert stopped == ["DELETE"]


def test_the_list_of_background_tools_goes_with_the_call(scripted: ScriptedServer) -> None:
    page = scripted.show(tools)
    end_call(page)
    expect(page.locator("#background")).to_be_hidden()


# -- the events --------------------------------------------------------------------------------------------------------


def open_events(scripted: ScriptedServer) -> Page:
    page = scripted.begin()
    page.locator("#inspector summary").click()
    expect(page.locator("#events li").first).to_be_visible()
    return page


def types(page: Page) -> list[str]:
    return page.locator("#events .type").all_inner_texts()


def test_events_are_listed_shown_as_json_and_cleared(scripted: ScriptedServer) -> None:
    page = scripted.begin()
    scripted.speak("item_1", "One", seconds=0.2)
    scripted.finish("item_1", "One")
    until(page, sends("client_playback_ack"))
    page.locator("#inspector summary").click()
    events = page.locator("#events li")
    for kind, count in (("agent_ready", 1), ("client_session_create", 1), ("client_playback_ack", 0)):
        expect(events.filter(has_text=kind)).to_have_count(count)
    events.filter(has_text="agent_ready").get_by_role("button").click()
    expect(page.locator("#event-json")).to_contain_text('"agent_name": "Heart"')
    page.get_by_label("Show audio").check()
    expect(events.filter(has_text="client_playback_ack").first).to_be_visible()
    expect(events.filter(has_text="audio frame")).to_have_count(1)
    page.get_by_role("button", name="Clear").click()
    scripted.send("agent_input_started", item_id="item_2")
    expect(events.filter(has_text="agent_input_started")).to_be_in_viewport()


def test_events_are_searched_filtered_by_direction_and_downloaded_one_a_line(
    scripted: ScriptedServer, tmp_path: Path
) -> None:
    """Paused they stand still, and none is lost."""
    page = open_events(scripted)
    before = types(page)
    page.get_by_role("button", name="Pause").click()
    scripted.send("agent_input_started", item_id="item_1")
    until(page, sends("agent_input_started"))
    assert types(page) == before
    page.get_by_role("button", name="Go on").click()
    expect(page.locator("#events .type").filter(has_text="agent_input_started")).to_have_count(1)
    page.get_by_label("Direction").select_option("Sent")
    assert {one.partition("_")[0] for one in types(page)} == {"client"}
    page.get_by_label("Direction").select_option("Sent and received")
    search = page.get_by_role("searchbox", name="Search")
    search.fill("heart ready")
    expect(page.locator("#events .type")).to_have_text(["agent_ready"])
    search.fill("no such event")
    expect(page.get_by_text("No event is like this.")).to_be_visible()
    search.fill("session")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "events.jsonl"
    download.value.save_as(tmp_path / "events.jsonl")
    saved = (tmp_path / "events.jsonl").read_text()
    assert [json.loads(line)["type"] for line in saved.splitlines()] == types(page)
    assert "call_1.resume_2" not in saved


def test_events_can_be_read_on_a_phone(scripted_for: Scripted) -> None:
    page = open_events(scripted_for(viewport={"width": 360, "height": 740}))
    page.locator("#events li").filter(has_text="agent_ready").get_by_role("button").click()
    for part in ("#events", "#event-json"):
        box = box_of(page.locator(part))
        assert box["width"] > 330
        assert box["height"] > 100
    assert fits(page)
