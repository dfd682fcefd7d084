"""The first minute of a user, and the last: who speaks, what to say, words as they are heard, the end of a call."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import MODEL, ScriptedServer, Serve
from tests.web.page_scenes import ended, interrupted, speaking
from tests.web.pages import LISTENING, sends, snapshot, start_talking, until

pytestmark = pytest.mark.night

AHEAD = "[...(CSS.highlights.get('ahead') ?? [])].map(String).join('|')"
"""The words on the page that are painted as not heard yet."""
# Whether the ring around the button has any colour.
RING_IS_EMPTY = """(() => {
  const copy = new OffscreenCanvas(232, 232).getContext('2d');
  copy.drawImage(document.getElementById('voices'), 0, 0, 232, 232);
  return copy.getImageData(0, 0, 232, 232).data.every((value) => value === 0);
})()"""


def test_before_and_in_a_call_it_is_said_who_speaks_with_which_model_and_what_it_does(scripted: ScriptedServer) -> None:
    page = scripted.page
    page.goto(scripted.address)
    expect(page.get_by_role("heading", name="Heart")).to_be_visible()
    expect(page.locator("#agent-about")).to_contain_text("it listens, answers aloud, and stops when you speak")
    model = "The embedded model speaks, voice heart. It understands English only."
    expect(page.locator("#model")).to_have_text(model)
    start_talking(page)
    expect(page.locator("#agent-label")).to_have_text("Heart")
    expect(page.locator("#model")).to_have_text(model)


def test_a_provider_s_model_is_told_before_a_call_also_where_nothing_can_be_chosen(
    page: Page, static_page: str
) -> None:
    told = {"model": MODEL | {"provider": "openai", "model": "gpt-realtime"}, "notices": [], "version": "0"}
    page.route("**/api/info", lambda route: route.fulfill(json=told))
    page.goto(static_page)
    expect(page.locator("#hearing")).to_have_text("OpenAI hears what you say, and it may cost money.")


def test_the_page_offers_one_sentence_that_every_agent_can_answer_until_it_is_chosen(scripted: ScriptedServer) -> None:
    page = scripted.page
    page.goto(scripted.address)
    sentences = page.locator("#suggestions button")
    expect(sentences).to_have_text(["What can you do?"])
    sentences.click()
    until(page, sends("client_text_append"))
    assert [event["text"] for event in scripted.of("client_text_append")] == ["What can you do?"]
    scripted.send("agent_input_started", item_id="item_1")
    expect(sentences).to_be_hidden()


def test_the_agent_s_own_sentences_are_offered_and_stay_while_only_it_has_spoken(scripted: ScriptedServer) -> None:
    told = {"model": MODEL, "suggestions": ["Where is order seven?"], "notices": []}
    scripted.page.route("**/api/info", lambda route: route.fulfill(json=told))
    page = scripted.begin()
    scripted.speak("item_1", "Hello, I am Heart.", seconds=0.1)
    expect(page.locator(".bubble.agent .words")).to_have_text("Hello, I am Heart.")
    expect(page.locator("#suggestions button")).to_have_text(["Where is order seven?"])
    expect(page.locator("#suggestions")).to_be_visible()


def test_words_are_grey_until_they_are_heard(scripted: ScriptedServer) -> None:
    page = scripted.show(speaking)
    words = page.locator(".bubble.agent .words").inner_text()
    ahead: str = page.evaluate(AHEAD)
    assert words.endswith(ahead)
    assert 0 < len(ahead) < len(words)
    # It is two sentences long, of which a third was heard.
    assert words[: -len(ahead)].startswith("The lighthouse stands")
    # The words themselves do not change while the voice moves through them: no screen reader reads them again.
    assert page.locator(".bubble.agent .words").evaluate("one => one.childNodes.length") == 1
    # At the end of the voice all of them are heard.
    until(page, f"{LISTENING} && {AHEAD} === ''")


def test_what_was_not_heard_is_struck_and_no_part_of_the_conversation(scripted: ScriptedServer) -> None:
    page = scripted.show(interrupted)
    cut = page.locator(".bubble.agent")
    expect(cut.locator(".words")).to_have_text("The lighthouse stands on")
    expect(cut.locator("s")).to_have_text("the last rock. Its lamp was lit in 1862.")
    expect(cut.locator("s")).to_have_attribute("aria-hidden", "true")
    assert page.evaluate(AHEAD) == ""


def test_the_voices_are_drawn_around_the_button_and_silence_costs_nothing(scripted: ScriptedServer) -> None:
    page = scripted.page
    page.add_init_script(
        "window.told = 0; const post = Worker.prototype.postMessage;"
        "Worker.prototype.postMessage = function (...words) { window.told++; post.apply(this, words); };"
    )
    scripted.begin()
    # The fake microphone beeps.
    until(page, f"!({RING_IS_EMPTY})")
    page.get_by_role("button", name="Mute microphone").click()
    until(page, RING_IS_EMPTY)
    before = page.evaluate("window.told")
    until(page, f"realtime.snapshot().microphoneSamples > {snapshot(page)['microphoneSamples'] + 8_000}")
    assert page.evaluate("window.told") == before


def test_the_end_of_a_call_says_how_long_it_was_and_where_it_can_be_read(scripted: ScriptedServer) -> None:
    page = scripted.show(ended)
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


def test_a_make_agent_that_fails_is_shown_to_its_developer(page: Page, serve: Serve, tmp_path: Path) -> None:
    app = tmp_path / "broken_app.py"
    app.write_text("def make_agent():\n    raise LookupError('no agent for tenant 4711')\n")
    start_talking(page, serve(f"{app}:make_agent").address)
    expect(page.get_by_role("alert")).to_contain_text("LookupError: no agent for tenant 4711")
