"""The first minute of a user, and the last: who speaks, what to say, words as they are heard, the end of a call."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import MODEL, ScriptedServer, Serving
from tests.web.page_scenes import begin, ended, interrupted, speaking

pytestmark = pytest.mark.rotates(1 / 4)

Until = Callable[[Page, str], None]

AHEAD = "[...(CSS.highlights.get('ahead') ?? [])].map(String).join('|')"
"""The words on the page that are painted as not heard yet."""
# Whether the ring around the button has any colour.
RING_IS_EMPTY = """(() => {
  const copy = new OffscreenCanvas(232, 232).getContext('2d');
  copy.drawImage(document.getElementById('voices'), 0, 0, 232, 232);
  return copy.getImageData(0, 0, 232, 232).data.every((value) => value === 0);
})()"""


def test_before_a_call_it_is_said_who_speaks_with_which_model_and_what_it_does(page: Page, static_page: str) -> None:
    page.goto(static_page)
    expect(page.get_by_role("heading", name="Heart")).to_be_visible()
    expect(page.locator("#agent-about")).to_contain_text("it listens, answers aloud, and stops when you speak")
    expect(page.locator("#model")).to_have_text("The embedded model speaks, voice heart. It understands English only.")


def test_a_provider_s_model_is_told_before_a_call_also_where_nothing_can_be_chosen(
    page: Page, static_page: str
) -> None:
    told = {"model": MODEL | {"provider": "openai", "model": "gpt-realtime"}, "notices": [], "version": "0"}
    page.route("**/api/info", lambda route: route.fulfill(json=told))
    page.goto(static_page)
    expect(page.locator("#hearing")).to_have_text("OpenAI hears what you say, and it may cost money.")


def test_a_sentence_to_begin_with_is_chosen_and_the_others_go(
    page: Page, static_page: str, scripted: ScriptedServer, until: Until
) -> None:
    page.goto(static_page)
    sentences = page.locator("#suggestions button")
    expect(sentences).to_have_count(4)
    page.get_by_role("button", name="What can you do?").click()
    until(page, "realtime.snapshot().events.includes('client_text_append')")
    assert [event["text"] for event in scripted.of("client_text_append")] == ["What can you do?"]
    scripted.send("agent_input_started", item_id="item_1")
    expect(sentences.first).to_be_hidden()


def test_the_agent_s_own_sentences_are_offered_and_stay_while_only_it_has_spoken(
    page: Page, static_page: str, scripted: ScriptedServer
) -> None:
    page.route(
        "**/api/info",
        lambda route: route.fulfill(json={"model": MODEL, "suggestions": ["Where is order seven?"], "notices": []}),
    )
    begin(page, scripted, static_page)
    scripted.speak("item_1", "Hello, I am Heart.", seconds=0.1)
    expect(page.locator(".bubble.agent .words")).to_have_text("Hello, I am Heart.")
    expect(page.locator("#suggestions button")).to_have_text(["Where is order seven?"])
    expect(page.locator("#suggestions")).to_be_visible()


def test_words_are_grey_until_they_are_heard(page: Page, static_page: str, scripted: ScriptedServer) -> None:
    speaking(page, scripted, static_page)
    words = page.locator(".bubble.agent .words").inner_text()
    ahead: str = page.evaluate(AHEAD)
    assert words.endswith(ahead)
    assert 0 < len(ahead) < len(words)
    # It is two sentences long, of which a third was heard.
    assert words[: -len(ahead)].startswith("The lighthouse stands")
    # The words themselves do not change while the voice moves through them: no screen reader reads them again.
    assert page.locator(".bubble.agent .words").evaluate("one => one.childNodes.length") == 1


def test_all_words_are_heard_at_the_end_of_the_voice(
    page: Page, static_page: str, scripted: ScriptedServer, until: Until
) -> None:
    begin(page, scripted, static_page)
    scripted.speak("item_1", "Hello there.", seconds=0.3)
    scripted.finish("item_1", "Hello there.")
    until(page, "realtime.snapshot().state === 'listening' && realtime.snapshot().bubbles.length === 1")
    until(page, f"{AHEAD} === ''")


def test_what_was_not_heard_is_struck_and_no_part_of_the_conversation(
    page: Page, static_page: str, scripted: ScriptedServer
) -> None:
    interrupted(page, scripted, static_page)
    cut = page.locator(".bubble.agent")
    expect(cut.locator(".words")).to_have_text("The lighthouse stands on")
    expect(cut.locator("s")).to_have_text("the last rock. Its lamp was lit in 1862.")
    expect(cut.locator("s")).to_have_attribute("aria-hidden", "true")
    assert page.evaluate(AHEAD) == ""


def test_the_voices_are_drawn_around_the_button_and_silence_costs_nothing(
    page: Page, static_page: str, scripted: ScriptedServer, until: Until
) -> None:
    page.add_init_script(
        "window.told = 0; const post = Worker.prototype.postMessage;"
        "Worker.prototype.postMessage = function (...words) { window.told++; post.apply(this, words); };"
    )
    begin(page, scripted, static_page)
    # The fake microphone beeps.
    until(page, f"!({RING_IS_EMPTY})")
    page.get_by_role("button", name="Mute microphone").click()
    until(page, RING_IS_EMPTY)
    before = page.evaluate("window.told")
    until(
        page, f"realtime.snapshot().microphoneSamples > {page.evaluate('realtime.snapshot().microphoneSamples')} + 8000"
    )
    assert page.evaluate("window.told") == before


def test_the_end_of_a_call_says_how_long_it_was_and_where_it_can_be_read(
    page: Page, static_page: str, scripted: ScriptedServer
) -> None:
    ended(page, scripted, static_page)
    end = page.get_by_role("region", name="Call ended")
    expect(end).to_contain_text("It lasted 2 minutes, 14 seconds.")
    user = page.evaluate("localStorage.getItem('realtime.user')")
    report = end.get_by_role("link", name="Call report").get_attribute("href") or ""
    assert report.endswith(f"/api/calls/call_4f1c2a/report?user={user}")
    transcript = end.get_by_role("link", name="Transcript").get_attribute("href") or ""
    assert transcript.endswith("/transcript.html?call=call_4f1c2a")
    end.get_by_role("button", name="Call again").click()
    expect(page.get_by_role("status")).to_have_text("Listening")
    expect(end).to_be_hidden()
    assert len(scripted.of("client_session_create")) == 2


def test_a_call_of_a_real_server_can_be_read_after_its_end(
    page: Page, serve: Callable[..., Serving], until: Until
) -> None:
    page.goto(serve("--model", "scripted").address)
    page.get_by_label("Message").fill("Are you there?")
    page.get_by_label("Message").press("Enter")
    until(page, "realtime.snapshot().bubbles.length === 2 && realtime.snapshot().state === 'listening'")
    page.get_by_role("button", name="End call").click()
    page.get_by_role("region", name="Call ended").get_by_role("link", name="Transcript").click()
    expect(page.locator(".bubble .parts .words")).to_have_text(["Are you there?", "I heard you."])


def test_a_call_that_never_was_has_no_end_screen(page: Page, static_page: str, scripted: ScriptedServer) -> None:
    scripted.refusal = "there are 8 calls from this address already: end one first"
    page.goto(static_page)
    page.get_by_role("button", name="Start talking").click()
    expect(page.get_by_role("status")).to_have_text("Call ended")
    expect(page.locator("#ended")).to_be_hidden()


def test_a_make_agent_that_fails_is_shown_to_its_developer(
    page: Page, serve: Callable[..., Serving], tmp_path: Any
) -> None:
    app = tmp_path / "broken_app.py"
    app.write_text("def make_agent():\n    raise LookupError('no agent for tenant 4711')\n")
    page.goto(serve(f"{app}:make_agent").address)
    page.get_by_role("button", name="Start talking").click()
    expect(page.get_by_role("alert")).to_contain_text("LookupError: no agent for tenant 4711")
