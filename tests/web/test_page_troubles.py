"""What the page says when something is missing, and what still works then."""

from collections.abc import Callable
from http.server import ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.rotates(1 / 4)

Until = Callable[[Page, str], None]


def test_a_refused_microphone_is_told_and_typing_still_works(
    open_page: Callable[..., Page], static_page: str, scripted_for: Callable[[Page], Any], until: Until
) -> None:
    page = open_page()  # no permission, and no user to give it
    scripted = scripted_for(page)
    page.goto(static_page)
    page.get_by_role("button", name="Start talking").click()
    expect(page.get_by_role("alert")).to_contain_text("The microphone was refused. Allow it with the symbol")
    page.get_by_label("Message").fill("hello")
    page.get_by_role("button", name="Send").click()
    until(page, "realtime.snapshot().events.includes('client_text_append')")
    scripted.speak("item_1", "Hello.", seconds=0.1)
    scripted.finish("item_1", "Hello.")
    until(page, "realtime.snapshot().playback?.audible === 2400")


@pytest.mark.parametrize(
    ("error", "words"),
    [("NotFoundError", "No microphone was found."), ("NotReadableError", "another program holds it")],
)
def test_a_microphone_that_is_missing_or_busy_is_told(
    page: Page, static_page: str, scripted: Any, error: str, words: str
) -> None:
    page.add_init_script(
        f"navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', '{error}'));"
    )
    page.goto(static_page)
    page.get_by_role("button", name="Start talking").click()
    expect(page.get_by_role("alert")).to_contain_text(words)
    expect(page.get_by_role("status")).to_have_text("Ready for your message")


def test_beyond_localhost_over_http_it_names_https_and_answers_by_text(
    page: Page, static_page: str, scripted: Any, until: Until
) -> None:
    page.goto(static_page.replace("127.0.0.1", "far.example"))
    expect(page.get_by_role("alert")).to_contain_text("not in a secure context")
    expect(page.get_by_role("alert")).to_contain_text("Open it by https, or as http://localhost")
    page.get_by_label("Message").fill("hello")
    page.get_by_label("Message").press("Enter")
    until(page, "realtime.snapshot().events.includes('client_text_append')")
    scripted.speak("item_1", "Hello.", seconds=0.5)
    expect(page.locator(".bubble.agent .words")).to_have_text("Hello.")
    until(page, "realtime.snapshot().events.includes('client_playback_ack')")
    # Unheard speech would pile up on the server: what is read counts as heard.
    assert scripted.of("client_playback_ack")[-1]["played_ms"] == 500


def test_a_call_that_breaks_off_is_told_with_its_code_and_can_be_made_again(
    page: Page, static_page: str, scripted: Any, until: Until
) -> None:
    page.goto(static_page)
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().state === 'listening'")
    scripted.close(1011, "it fell over")
    expect(page.get_by_role("alert")).to_contain_text("is gone (code 1011). The server had an internal error.")
    expect(page.get_by_role("alert")).to_contain_text("it fell over. Press the button to call again.")
    expect(page.get_by_role("status")).to_have_text("Call ended")
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().state === 'listening'")
    expect(page.get_by_role("alert")).to_be_empty()


def test_a_server_that_knows_no_calls_and_one_that_is_away_are_told_apart(
    page: Page, static_server: ThreadingHTTPServer, static_page: str
) -> None:
    page.goto(static_page)
    page.get_by_role("button", name="Start talking").click()
    expect(page.get_by_role("alert")).to_contain_text("The server is there, but it refused the call.")
    static_server.shutdown()
    static_server.server_close()
    page.get_by_role("button", name="Start talking").click()
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")


def test_a_call_that_the_server_will_not_make_is_told_and_its_socket_closed(
    page: Page, static_page: str, scripted: Any, until: Until
) -> None:
    scripted.refusal = "there are 8 calls from this address already: end one first"
    page.goto(static_page)
    page.get_by_role("button", name="Start talking").click()
    expect(page.get_by_role("alert")).to_contain_text("there are 8 calls")
    expect(page.get_by_role("status")).to_have_text("Call ended")


def test_what_was_typed_into_a_call_that_is_refused_can_be_sent_again(
    page: Page, static_page: str, scripted: Any, until: Until
) -> None:
    scripted.refusal = "there are 8 calls from this address already: end one first"
    page.goto(static_page)
    message = page.get_by_label("Message")
    message.fill("Where is my train?")
    message.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Call ended")
    expect(message).to_have_value("Where is my train?")
    scripted.refusal = None
    message.press("Enter")
    until(page, "realtime.snapshot().events.includes('client_text_append')")
    expect(message).to_have_value("")
    typed = [event["text"] for event in scripted.events if event["type"] == "client_text_append"]
    assert typed[-1:] == ["Where is my train?"]


@pytest.mark.parametrize(
    ("reason", "words"), [("idle", "nobody spoke for a while"), ("call_limit", "longest allowed time")]
)
def test_why_the_server_ends_a_call_is_told(
    page: Page, static_page: str, scripted: Any, until: Until, reason: str, words: str
) -> None:
    page.goto(static_page)
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().state === 'listening'")
    scripted.send("server_goodbye", reason=reason, resume_token=None, retry_after_ms=None)
    scripted.send("server_session_ended", reason=reason)
    expect(page.get_by_role("alert")).to_contain_text(words)
    expect(page.get_by_role("status")).to_have_text("Call ended")


def test_what_is_missing_on_the_server_is_told_before_a_call(page: Page, static_page: str) -> None:
    notice = "Speech recognition is not installed: typed text is answered all the same."
    body = {"model": None, "notices": [notice], "version": "0"}
    page.route("**/api/info", lambda route: route.fulfill(json=body))
    page.goto(static_page)
    expect(page.get_by_role("alert")).to_contain_text(notice)
    page.get_by_role("button", name="Close this notice").click()
    expect(page.get_by_role("alert")).to_be_empty()


def test_a_page_without_the_token_is_told_where_it_is(page: Page, static_page: str) -> None:
    page.route("**/api/info", lambda route: route.fulfill(status=401, json={"error": "token"}))
    page.goto(static_page)
    expect(page.get_by_role("alert")).to_contain_text("The server asks for its token.")


def test_a_page_that_the_server_turns_away_says_which_option_would_let_it_in(
    page: Page, serve: Callable[..., Any]
) -> None:
    page.goto(serve("--model", "scripted", "--token", "right").address)
    page.get_by_role("button", name="Start talking").click()
    expect(page.get_by_role("alert")).to_contain_text("The server refused this page. It said: no token was given")
    expect(page.get_by_role("alert")).to_contain_text("--token")


def test_the_page_s_token_goes_with_the_socket_and_the_questions(page: Page, static_page: str, scripted: Any) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{static_page}?token=se%2Bcret")
    page.get_by_role("button", name="Start talking").click()
    expect(page.get_by_role("status")).to_have_text("Listening")
    assert any(url.endswith("/api/info?token=se%2Bcret") for url in asked)
    assert scripted.url.endswith("?token=se%2Bcret")


def test_a_microphone_that_vanishes_is_told_and_the_call_goes_on(
    page: Page, static_page: str, scripted: Any, until: Until
) -> None:
    page.add_init_script(
        "const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);"
        "navigator.mediaDevices.getUserMedia = async (wanted) => (window.stream = await ask(wanted));"
    )
    page.goto(static_page)
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().sent?.samples > 0")
    page.evaluate("for (const track of stream.getTracks()) { track.stop(); track.dispatchEvent(new Event('ended')); }")
    expect(page.get_by_role("alert")).to_contain_text("The microphone went away. Plug it in again")
    expect(page.get_by_role("status")).to_have_text("Ready for your message")
    page.get_by_role("button", name="Start talking").click()
    expect(page.get_by_role("status")).to_have_text("Listening")
    assert len(scripted.of("client_session_create")) == 1


def test_sound_that_the_browser_holds_back_is_told_until_a_touch_lets_it_go(
    page: Page, static_page: str, scripted: Any
) -> None:
    # As browsers do it to a page that was not touched yet.
    page.add_init_script(
        """
        const state = Object.getOwnPropertyDescriptor(BaseAudioContext.prototype, 'state').get;
        const resume = AudioContext.prototype.resume;
        let blocked = true;
        Object.defineProperty(BaseAudioContext.prototype, 'state', {
          get() { return blocked && state.call(this) === 'running' ? 'suspended' : state.call(this); },
        });
        const contexts = [];
        AudioContext.prototype.resume = function () {
          contexts.push(this);
          return blocked ? Promise.reject(new DOMException('', 'NotAllowedError')) : resume.call(this);
        };
        window.allow = () => {
          blocked = false;
          for (const context of contexts) context.dispatchEvent(new Event('statechange'));
        };
        """
    )
    page.goto(static_page)
    page.get_by_role("button", name="Start talking").click()
    notice = page.locator(".notice", has_text="The browser holds back the sound of this page.")
    expect(notice).to_have_count(1)
    page.evaluate("allow()")
    expect(notice).to_have_count(0)


def test_a_tab_that_slept_for_an_hour_says_that_its_call_is_over_and_calls_again(
    page: Page, static_page: str, scripted: Any, until: Until
) -> None:
    page.clock.install()
    page.goto(static_page)
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().state === 'listening'")
    scripted.refuses_sockets = True
    scripted.close(1006, "")
    expect(page.get_by_role("alert")).to_contain_text("The connection is lost.")
    page.clock.fast_forward("01:00:00")
    expect(page.get_by_role("alert")).to_contain_text("The connection did not come back in time, so the call is over.")
    scripted.refuses_sockets = False
    page.get_by_role("region", name="Call ended").get_by_role("button", name="Call again").click()
    until(page, "realtime.snapshot().state === 'listening'")


@pytest.mark.parametrize(
    "info",
    [{"version": "2.0.0"}, {"version": "1.0.0", "protocols": ["realtime.v2"]}],
    ids=["updated", "other protocol"],
)
def test_a_server_of_another_version_is_told(page: Page, static_page: str, scripted: Any, info: dict[str, Any]) -> None:
    told: dict[str, Any] = {"model": None, "notices": [], "version": "1.0.0"}
    page.route("**/api/info", lambda route: route.fulfill(json=told))
    page.goto(static_page)
    expect(page.locator("#model")).to_be_hidden()
    told |= info
    page.get_by_role("button", name="Start talking").click()
    expect(page.get_by_role("alert")).to_contain_text("The server has been updated since this page was opened.")
    # Events that this page does not know harm nothing.
    expect(page.get_by_role("status")).to_have_text("Listening")
    scripted.raw({"type": "server_of_tomorrow", "seq": 9})
    expect(page.get_by_role("status")).to_have_text("Listening")


def test_on_a_slow_line_the_page_is_there_within_seconds(page: Page, static_page: str, scripted: Any) -> None:
    line = page.context.new_cdp_session(page)
    line.send("Network.enable")
    # 3G: 1.6 Mbit/s down, 0.75 up, 150 ms.
    slow = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 93_750}
    line.send("Network.emulateNetworkConditions", slow)
    page.goto(static_page)
    page.get_by_role("button", name="Start talking").click()
    expect(page.get_by_role("status")).to_have_text("Listening", timeout=10_000)


def test_a_call_of_200_turns_stays_quick(page: Page, static_page: str, scripted: Any, until: Until) -> None:
    page.goto(static_page)
    page.get_by_role("button", name="Start talking").click()
    until(page, "realtime.snapshot().state === 'listening'")
    for turn in range(200):
        scripted.send("agent_input_started", item_id=f"item_{2 * turn}")
        scripted.send("agent_input_transcription_done", item_id=f"item_{2 * turn}", transcript=f"Question {turn}")
        answer = f"The answer to question {turn}. " * 6
        scripted.send("agent_response_text_done", item_id=f"item_{2 * turn + 1}", response_id="r", text=answer)
    until(page, "realtime.snapshot().bubbles.length === 400")
    expect(page.locator(".bubble")).to_have_count(400)
    expect(page.locator(".bubble.user").last).to_be_in_viewport()
    assert page.locator(".bubble").first.evaluate("one => getComputedStyle(one).contentVisibility") == "auto"
    # One more word changes one element.
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
