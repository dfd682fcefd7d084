"""What the page says when something is missing, and what still works then."""

from collections.abc import Callable
from http.server import ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.rotates(1 / 2)

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
