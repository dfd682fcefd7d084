"""What a call shows while it goes on, and what is read of it afterwards: transcript, list of calls, report."""

import re
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

import pytest
from playwright.sync_api import Page, expect

from realtime.message import Msg
from realtime.testing.report import RunOutcome
from tests.testing.report_calls import interrupted_call, short_call
from tests.web.callers import Caller, ask, page_of
from tests.web.conftest import OpenPage, OpenReport, ScriptedServer, Serve
from tests.web.hosting import served
from tests.web.pages import box_of, sent_beyond, snapshot, until
from tests.web.test_page_script import FADE, QUANTUM, RESPONSE
from tests.web.test_report_page import FAILURE
from tests.web.test_transcript import APP, bubbles, shown
from tests.web.test_waits import hear_two_answers


def test_words_are_shown_while_they_come_and_settled_when_they_end(scripted: ScriptedServer) -> None:
    """SEV-15: user bubble live. SEV-16: user bubble final. SEV-17: speaking indicator. SEV-18: indicator off.

    SEV-10: the agent's words are shown live. SEV-11: its bubble is final before the response is over.
    """
    page = scripted.begin()
    stage = page.get_by_label("Call", exact=True)
    state, bubble = page.get_by_role("status"), page.locator(".bubble.user")
    scripted.send("agent_input_started", item_id="item_0")
    expect(state).to_have_text("Hearing you")
    expect(stage).to_have_attribute("data-state", "hearing")
    scripted.send("agent_input_transcription_delta", item_id="item_0", delta="What")
    expect(bubble.locator(".words")).to_have_text("What")
    scripted.send("agent_input_transcription_delta", item_id="item_0", delta=" thyme")
    expect(bubble.locator(".words")).to_have_text("What thyme")
    expect(bubble).to_have_attribute("data-status", "live")
    expect(bubble).to_have_attribute("aria-busy", "true")
    scripted.send("agent_input_done", item_id="item_0")
    expect(state).to_have_text("Thinking")
    expect(stage).to_have_attribute("data-state", "thinking")
    scripted.send("agent_input_transcription_done", item_id="item_0", transcript="What time is it?")
    expect(bubble.locator(".words")).to_have_text("What time is it?")
    expect(bubble).to_have_attribute("data-status", "done")
    expect(bubble).to_have_attribute("aria-busy", "false")
    expect(page.locator(".bubble")).to_have_count(1)
    bubble = page.locator(".bubble.agent")
    scripted.speak("item_1", "It is", seconds=0.2)
    expect(bubble.locator(".words")).to_have_text("It is")
    scripted.send("agent_response_audio_transcript_delta", **RESPONSE, delta=" nun.")
    expect(bubble.locator(".words")).to_have_text("It is nun.")
    expect(bubble).to_have_attribute("data-status", "live")
    scripted.send("agent_response_audio_transcript_done", **RESPONSE, transcript="It is noon.")
    expect(bubble.locator(".words")).to_have_text("It is noon.")
    expect(bubble).to_have_attribute("data-status", "done")


def test_an_answer_is_played_to_its_end_and_acknowledged_as_it_is_heard(scripted: ScriptedServer) -> None:
    """SEV-08: the same speech as a binary frame."""
    page = scripted.begin()
    state = page.get_by_role("status")
    scripted.send("agent_input_transcription_done", item_id="item_1", transcript="What time is it?")
    scripted.speak("item_2", "It is noon.", seconds=0.5)
    expect(state).to_have_text("Speaking")
    scripted.finish("item_2", "It is noon.")
    latency = {"response_id": "resp_1", "latency_ms": 250, "stages_ms": {"turn_end": 50, "played": 200}}
    scripted.send("server_latency", **latency)
    expect(state).to_have_text("Listening")
    expect(page.locator(".bubble .words")).to_have_text(["What time is it?", "It is noon."])
    expect(page.locator(".wait .total")).to_have_text("250 ms until the answer was heard")
    played = snapshot(page)["playback"]
    assert played["rendered"] == played["audible"] == 12_000
    assert {item_id for item_id, _ in scripted.heard} == {"item_2"}
    heard_ms = [played_ms for _, played_ms in scripted.heard]
    assert heard_ms == sorted(heard_ms)
    assert heard_ms[-1] == 500
    # The microphone's speech may carry them; the end is an event.
    assert scripted.of("client_playback_ack")[-1] == {
        "type": "client_playback_ack",
        "item_id": "item_2",
        "played_ms": 500,
        "flushed": False,
    }


def test_a_flush_silences_the_item_at_once_and_the_caption_keeps_what_was_heard(scripted: ScriptedServer) -> None:
    """SEV-17: the player is flushed on barge-in."""
    page = scripted.begin()
    scripted.speak("item_1", "One two three four five.", seconds=30)
    until(page, "realtime.snapshot().playback?.rendered > 6000")
    expect(page.get_by_role("status")).to_have_text("Speaking")
    scripted.send("agent_input_started", item_id="item_2")
    scripted.send("server_audio_flush", item_id="item_1")
    scripted.send("agent_item_truncated", item_id="item_1", transcript="One two")
    scripted.send("agent_response_audio_transcript_delta", item_id="item_1", response_id="resp_1", delta=" six")
    scripted.send("agent_response_done", response_id="resp_1", status="cancelled")
    until(page, "realtime.snapshot().playback.flushes === 1")
    expect(page.locator(".bubble.agent .words")).to_have_text("One two")
    expect(page.get_by_role("status")).to_have_text("Hearing you")
    until(page, "realtime.snapshot().playback.afterFlush > 0")
    played = snapshot(page)["playback"]
    assert played["afterFlush"] <= 2 * QUANTUM + FADE
    sent_beyond(page, 16_000)
    assert snapshot(page)["playback"] == played
    flushed = [ack for ack in scripted.of("client_playback_ack") if ack["flushed"]]
    assert [(ack["item_id"], ack["played_ms"]) for ack in flushed] == [("item_1", played["rendered"] // 24)]


def test_a_wait_opens_into_a_table_whose_steps_explain_themselves(scripted: ScriptedServer) -> None:
    page = hear_two_answers(scripted)
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


def test_a_screen_that_joins_late_and_one_that_was_reloaded_show_what_the_first_one_does(
    open_page: OpenPage, serve: Serve, calls: Callable[..., Caller]
) -> None:
    """REC-28: folded and drawn while the server tells it, and the same bytes as the messages that Python folds."""
    address = serve(APP, "--store", "memory:").address
    caller = calls(address)
    first, late = open_page(), open_page()
    first.goto(caller.page)
    expect(first.get_by_role("status")).to_contain_text("Live")
    expect(first.locator("#empty")).to_have_text("What is said in this call appears here.")
    caller.say("How large is it?")
    used = caller.until("agent_response_tool_use_done")["tool_use"]
    expect(first.locator(".tool .state")).to_have_text("waits for its result")
    late.goto(caller.page)
    expect(late.locator(".tool .state")).to_have_text("waits for its result")
    told = shown(first)
    assert len(told) == 2
    assert shown(late) == told
    assert bubbles(late) == bubbles(first)
    first.reload()
    expect(first.locator(".tool .state")).to_have_text("waits for its result")
    assert shown(first) == told
    assert bubbles(first) == bubbles(late)

    caller.answer(used, "41369 square metres")
    for page in (first, late):
        expect(page.locator(".bubble.agent > .parts > .words")).to_have_text("It has 41369 square metres.")
        expect(page.locator(".tool .state")).to_have_text("done")
    caller.until("agent_response_done")
    caller.say("Are you sure?")
    for page in (first, late):
        expect(page.locator(".bubble.agent")).to_have_count(2)
    caller.until("agent_response_done")
    caller.end()
    for page in (first, late):
        expect(page.get_by_role("status")).to_contain_text("Ended by the caller")
    messages = ask(f"{address}/api/calls/{caller.call_id}/messages?user=ann")["messages"]
    expected = [Msg.model_validate(one).to_json() for one in messages]
    assert [one["role"] for one in messages] == ["user", "assistant", "user", "assistant"]
    assert [one.encode() for one in shown(first)] == expected
    assert shown(late) == shown(first)
    assert bubbles(late) == bubbles(first)
    # An ended call comes as a whole.
    late.reload()
    expect(late.get_by_role("status")).to_contain_text("Ended by the caller")
    assert shown(late) == shown(first)
    assert bubbles(late) == bubbles(first)


def test_the_calls_of_a_user_are_listed_newest_first_and_deleted_after_one_question(
    page: Page, serve: Serve, calls: Callable[..., Caller]
) -> None:
    address = serve(APP, "--store", "memory:").address
    ended, live = calls(address), calls(address)
    calls(address, "bob")
    ended.say("How large is it?")
    ended.answer(ended.until("agent_response_tool_use_done")["tool_use"], "41369")
    ended.until("agent_response_done")
    ended.end()
    page.goto(page_of(address, None))
    rows = page.locator(".call")
    expect(page.get_by_role("status")).to_have_text("Calls of ann")
    expect(page.locator(".day:visible")).to_have_text("Today")
    expect(rows.locator(".name")).to_have_text(["Nothing was said yet", "How large is it?"])
    expect(rows.nth(1).locator(".details")).to_have_text(re.compile(r"\d\d:\d\d.* · Calculator · \d+\ssec · 1\sturn"))
    expect(rows.locator(".tag:visible")).to_have_text("Live")
    expect(rows.first).to_have_attribute("data-live", "true")
    # All of it by keyboard.
    rows.first.get_by_role("link").press("Enter")
    expect(page).to_have_url(live.page)
    page.get_by_role("link", name="All calls").press("Enter")
    rows.nth(1).get_by_role("button", name="Delete the call").press("Enter")
    question = rows.nth(1).get_by_role("group", name="Delete this call for good?")
    expect(question.get_by_role("button", name="Keep")).to_be_focused()
    page.keyboard.press("Escape")
    expect(question).to_be_hidden()
    expect(rows.nth(1).get_by_role("button", name="Delete the call")).to_be_focused()
    expect(rows).to_have_count(2)
    page.keyboard.press("Enter")
    question.get_by_role("button", name="Delete").press("Enter")
    expect(rows).to_have_count(1)
    expect(rows.first.get_by_role("link")).to_be_focused()
    rows.first.get_by_role("button", name="Delete the call").click()
    rows.get_by_role("group", name="End this call and delete it?").get_by_role("button", name="Delete").click()
    expect(page.locator("#empty")).to_contain_text("No calls yet.")
    assert live.until("server_session_ended")["reason"] == "deleted"
    assert ask(f"{address}/api/calls?user=ann") == {"calls": [], "next": None}
    assert len(ask(f"{address}/api/calls?user=bob")["calls"]) == 1


def test_a_failed_run_is_shown_first_with_its_failure_and_another_is_chosen_in_the_table(
    open_report: OpenReport,
) -> None:
    page = open_report(RunOutcome(short_call()), RunOutcome(interrupted_call(), FAILURE))
    expect(page.locator("#about")).to_have_text("2 runs · 1 failed")
    expect(page.locator("h2")).to_have_text("interrupted failed")
    expect(page.locator(".failure")).to_have_text(FAILURE)
    cells = page.locator(".summary tbody tr").nth(1).locator("td")
    expect(cells.nth(1)).to_contain_text("failedAssertionError: the answer to turn 1")
    assert cells.all_text_contents()[2:] == ["0:19.9", "3", "1000 ms", "1510 ms", "1"]
    page.get_by_role("link", name="short").press("Enter")
    expect(page.locator("h2")).to_have_text("short passed")
    expect(page.locator(".caption")).to_have_count(2)
    assert page.url.endswith("#run-1")


@pytest.mark.parametrize(
    "name",
    ["call_0a1b2c3d4e5f60718293a4b5c6d7e8f9", f"tests/voice/{'booking_' * 12}", "a" * 90, "Ein Anruf mit Worten"],
    ids=["id", "path", "word", "words"],
)
def test_a_report_fits_a_phone_whatever_a_call_is_called(name: str, open_report: OpenReport) -> None:
    page = open_report(short_call(name), viewport={"width": 390, "height": 800})
    expect(page.locator("h2").filter(has_text=name)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_captions_stand_below_the_speech_with_unplayed_words_struck_through(open_report: OpenReport) -> None:
    page = open_report(interrupted_call())
    anna = page.locator(".lane.agent .caption")
    expect(anna).to_have_count(4)
    expect(anna.nth(1).locator("del")).to_have_text(
        "mountains, and I need to know how cold it gets at night in the first week of October."
    )
    voice, caption = (
        box_of(page.locator(".lane.human .voice").first),
        box_of(page.locator(".lane.human .caption").first),
    )
    assert abs(voice["x"] - caption["x"]) < 1
    assert caption["y"] > voice["y"]


def test_frames_are_found_and_chosen_and_only_those_in_sight_are_in_the_page(open_report: OpenReport) -> None:
    page = open_report(interrupted_call())
    frames = page.get_by_role("listbox", name="Frames on the wire")
    frames.press("End")
    last = page.locator('[role="option"][aria-selected="true"]')
    expect(last).to_contain_text("server_session_ended")
    assert frames.get_attribute("aria-activedescendant") == last.get_attribute("id")
    assert frames.get_by_role("option").count() < 50
    frames.press("Home")
    shown = page.locator("#frame-json")
    expect(shown).to_contain_text("server_session_created")
    # A click shows a frame and marks its time.
    page.get_by_label("Find in frames").fill("lookup_guest")
    row = frames.get_by_role("option").first
    row.click()
    expect(shown).to_contain_text("client, sent by the server, Robert")
    expect(shown).to_contain_text('"name": "lookup_guest"')
    expect(page.locator(".readout")).to_have_text(row.locator(".at").text_content() or "")


@pytest.mark.parametrize("place", ["/voice", "/voice?recording=1#top", "/voice/"])
def test_the_page_works_below_a_prefix_that_a_proxy_takes_away(page: Page, serve: Serve, place: str) -> None:
    """With the prefix's last slash, and without, where every relative path of the page is wrong."""
    serving = serve(APP)

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            if path != "/voice" and not path.startswith("/voice/"):
                self.send_error(404)
                return
            below = path.removeprefix("/voice") or "/"
            with urllib.request.urlopen(f"{serving.address}{below}" + (f"?{query}" if query else "")) as answer:
                body = answer.read()
                self.send_response(answer.status)
                for name in ("Content-Type", "Content-Security-Policy"):
                    self.send_header(name, answer.headers[name])
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with served(Proxy) as proxy:
        address = f"http://127.0.0.1:{proxy.server_address[1]}"
        page.goto(f"{address}{place}")
        page.wait_for_url(f"{address}{place.replace('/voice', '/voice/').replace('//', '/')}")
        expect(page.locator("#model")).not_to_have_text("Asking the server who speaks…")
        expect(page.get_by_role("button", name="Start talking")).to_be_enabled()
