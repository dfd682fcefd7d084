"""What the page says when something is missing, and what still works then."""

from http.server import ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Scripted, ScriptedServer, Serve
from tests.web.pages import LISTENING, script, sends, start_talking, until, write

pytestmark = pytest.mark.night

REFUSES = "there are 8 calls from this address already: end one first"
WHY_ENDED = {"idle": "nobody spoke for a while", "call_limit": "longest allowed time"}


def test_a_refused_microphone_is_told_and_typing_still_works(scripted_for: Scripted) -> None:
    scripted = scripted_for(permissions=[])  # and no user to give it
    page = start_talking(scripted.page, scripted.address)
    expect(page.get_by_role("alert")).to_contain_text("The microphone was refused. Allow it with the symbol")
    page.get_by_label("Message").fill("hello")
    page.get_by_role("button", name="Send").click()
    until(page, sends("client_text_append"))
    scripted.speak("item_1", "Hello.", seconds=0.1)
    scripted.finish("item_1", "Hello.")
    until(page, "realtime.snapshot().playback?.audible === 2400")


def test_beyond_localhost_over_http_it_names_https_and_answers_by_text(scripted: ScriptedServer) -> None:
    page = scripted.page
    page.goto(scripted.address.replace("127.0.0.1", "far.example"))
    expect(page.get_by_role("alert")).to_contain_text("not in a secure context")
    expect(page.get_by_role("alert")).to_contain_text("Open it by https, or as http://localhost")
    write(page, "hello")
    until(page, sends("client_text_append"))
    scripted.speak("item_1", "Hello.", seconds=0.5)
    expect(page.locator(".bubble.agent .words")).to_have_text("Hello.")
    until(page, sends("client_playback_ack"))
    # Unheard speech would pile up on the server: what is read counts as heard.
    assert scripted.of("client_playback_ack")[-1]["played_ms"] == 500


def test_a_call_that_breaks_off_is_told_with_its_code_and_can_be_made_again(scripted: ScriptedServer) -> None:
    page = scripted.begin()
    scripted.close(1011, "it fell over")
    expect(page.get_by_role("alert")).to_contain_text("is gone (code 1011). The server had an internal error.")
    expect(page.get_by_role("alert")).to_contain_text("it fell over. Press the button to call again.")
    expect(page.get_by_role("status")).to_have_text("Call ended")
    start_talking(page)
    until(page, LISTENING)
    expect(page.get_by_role("alert")).to_be_empty()


def test_a_server_that_knows_no_calls_and_one_that_is_away_are_told_apart(
    page: Page, static_server: ThreadingHTTPServer, static_page: str
) -> None:
    start_talking(page, static_page)
    expect(page.get_by_role("alert")).to_contain_text("The server is there, but it refused the call.")
    static_server.shutdown()
    static_server.server_close()
    start_talking(page)
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")


def test_a_call_that_the_server_will_not_make_is_told_and_what_was_typed_can_be_sent_again(
    scripted: ScriptedServer,
) -> None:
    scripted.refusal = REFUSES
    page = start_talking(scripted.page, scripted.address)
    expect(page.get_by_role("alert")).to_contain_text("there are 8 calls")
    expect(page.get_by_role("status")).to_have_text("Call ended")
    # A call that never was has no end screen.
    expect(page.locator("#ended")).to_be_hidden()
    message = page.get_by_label("Message")
    write(page, "Where is my train?")
    expect(page.get_by_role("status")).to_have_text("Call ended")
    expect(message).to_have_value("Where is my train?")
    scripted.refusal = None
    message.press("Enter")
    until(page, sends("client_text_append"))
    expect(message).to_have_value("")
    assert [event["text"] for event in scripted.of("client_text_append")][-1:] == ["Where is my train?"]


@pytest.mark.parametrize("reason", WHY_ENDED)
def test_why_the_server_ends_a_call_is_told(scripted: ScriptedServer, reason: str) -> None:
    page = scripted.begin()
    scripted.send("server_goodbye", reason=reason, resume_token=None, retry_after_ms=None)
    scripted.send("server_session_ended", reason=reason)
    expect(page.get_by_role("alert")).to_contain_text(WHY_ENDED[reason])
    expect(page.get_by_role("status")).to_have_text("Call ended")


def test_what_is_missing_on_the_server_and_a_missing_token_are_told_before_a_call(page: Page, static_page: str) -> None:
    notice = "Speech recognition is not installed: typed text is answered all the same."
    body = {"model": None, "notices": [notice], "version": "0"}
    page.route("**/api/info", lambda route: route.fulfill(json=body))
    page.goto(static_page)
    expect(page.get_by_role("alert")).to_contain_text(notice)
    page.get_by_role("button", name="Close this notice").click()
    expect(page.get_by_role("alert")).to_be_empty()
    page.unroute("**/api/info")
    page.route("**/api/info", lambda route: route.fulfill(status=401, json={"error": "token"}))
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("The server asks for its token.")


def test_a_page_that_the_server_turns_away_says_which_option_would_let_it_in(page: Page, serve: Serve) -> None:
    start_talking(page, serve("--model", "scripted", "--token", "right").address)
    expect(page.get_by_role("alert")).to_contain_text("The server refused this page. It said: no token was given")
    expect(page.get_by_role("alert")).to_contain_text("--token")


def test_the_page_s_token_goes_with_the_socket_and_the_questions(scripted: ScriptedServer) -> None:
    asked: list[str] = []
    scripted.page.on("request", lambda request: asked.append(request.url))
    page = start_talking(scripted.page, f"{scripted.address}?token=se%2Bcret")
    expect(page.get_by_role("status")).to_have_text("Listening")
    assert any(url.endswith("/api/info?token=se%2Bcret") for url in asked)
    assert scripted.url.endswith("?token=se%2Bcret")


def test_a_microphone_that_vanishes_is_told_and_the_call_goes_on(scripted: ScriptedServer) -> None:
    scripted.page.add_init_script(
        "const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);"
        "navigator.mediaDevices.getUserMedia = async (wanted) => (window.stream = await ask(wanted));"
    )
    page = scripted.begin()
    page.evaluate("for (const track of stream.getTracks()) { track.stop(); track.dispatchEvent(new Event('ended')); }")
    expect(page.get_by_role("alert")).to_contain_text("The microphone went away. Plug it in again")
    expect(page.get_by_role("status")).to_have_text("Ready for your message")
    start_talking(page)
    expect(page.get_by_role("status")).to_have_text("Listening")
    assert len(scripted.of("client_session_create")) == 1


def test_sound_that_the_browser_holds_back_is_told_until_a_touch_lets_it_go(scripted: ScriptedServer) -> None:
    scripted.page.add_init_script(script("blocked_sound.js"))
    page = start_talking(scripted.page, scripted.address)
    notice = page.locator(".notice", has_text="The browser holds back the sound of this page.")
    expect(notice).to_have_count(1)
    page.evaluate("allow()")
    expect(notice).to_have_count(0)


def test_a_tab_that_slept_for_an_hour_says_that_its_call_is_over_and_calls_again(scripted: ScriptedServer) -> None:
    page = scripted.page
    page.clock.install()
    start_talking(page, scripted.address)
    until(page, LISTENING)
    scripted.refuses_sockets = True
    scripted.close(1006, "")
    expect(page.get_by_role("alert")).to_contain_text("The connection is lost.")
    page.clock.fast_forward("01:00:00")
    expect(page.get_by_role("alert")).to_contain_text("The connection did not come back in time, so the call is over.")
    scripted.refuses_sockets = False
    page.get_by_role("region", name="Call ended").get_by_role("button", name="Call again").click()
    until(page, LISTENING)


@pytest.mark.parametrize(
    "info",
    [{"version": "2.0.0"}, {"version": "1.0.0", "protocols": ["realtime.v2"]}],
    ids=["updated", "other protocol"],
)
def test_a_server_of_another_version_is_told(scripted: ScriptedServer, info: dict[str, Any]) -> None:
    page = scripted.page
    told: dict[str, Any] = {"model": None, "notices": [], "version": "1.0.0"}
    page.route("**/api/info", lambda route: route.fulfill(json=told))
    page.goto(scripted.address)
    expect(page.locator("#model")).to_be_hidden()
    told |= info
    start_talking(page)
    expect(page.get_by_role("alert")).to_contain_text("The server has been updated since this page was opened.")
    # Events that this page does not know harm nothing.
    expect(page.get_by_role("status")).to_have_text("Listening")
    scripted.raw({"type": "server_of_tomorrow", "seq": 9})
    expect(page.get_by_role("status")).to_have_text("Listening")


def test_on_a_slow_line_the_page_is_there_all_the_same(scripted: ScriptedServer) -> None:
    line = scripted.page.context.new_cdp_session(scripted.page)
    line.send("Network.enable")
    # 3G: 1.6 Mbit/s down, 0.75 up, 150 ms.
    slow = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 93_750}
    line.send("Network.emulateNetworkConditions", slow)
    page = start_talking(scripted.page, scripted.address)
    expect(page.get_by_role("status")).to_have_text("Listening")


def test_in_a_call_of_200_turns_one_more_word_changes_one_element(scripted: ScriptedServer) -> None:
    page = scripted.begin()
    for turn in range(200):
        scripted.send("agent_input_started", item_id=f"item_{2 * turn}")
        scripted.send("agent_input_transcription_done", item_id=f"item_{2 * turn}", transcript=f"Question {turn}")
        answer = f"The answer to question {turn}. " * 6
        scripted.send("agent_response_text_done", item_id=f"item_{2 * turn + 1}", response_id="r", text=answer)
    until(page, "realtime.snapshot().bubbles.length === 400")
    expect(page.locator(".bubble")).to_have_count(400)
    expect(page.locator(".bubble.user").last).to_be_in_viewport()
    assert page.locator(".bubble").first.evaluate("one => getComputedStyle(one).contentVisibility") == "auto"
    page.evaluate(
        """
        window.touched = 0;
        const seen = (records) => { window.touched += records.length; };
        const all = {subtree: true, childList: true, characterData: true, attributes: true};
        new MutationObserver(seen).observe(document.getElementById('captions'), all);
        """
    )
    scripted.send("agent_response_text_delta", item_id="item_999", response_id="r2", delta="And")
    expect(page.locator(".bubble")).to_have_count(401)
    assert 0 < page.evaluate("window.touched") < 25
