"""A call that outlives its sockets: the built page, a real server, and a line between them that is cut."""

import random
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from realtime.state.log import AudioRun
from realtime.state.sqlite import SqliteStore
from tests.volumes import SEED, volume
from tests.web.conftest import LineTo, OpenPage, Serve, Serving
from tests.web.pages import LISTENING, captions, end_call, snapshot, start_talking, until, write
from tests.web.scripted_app import ANSWER, ANSWER_SAMPLES, REST, UTTERANCES, rest_of_answer, rest_pcm
from tests.web.scripted_user import (
    INTERRUPTED,
    answer_ranges,
    assert_cut_words_are_those_played,
    assert_each_once,
    heard,
    put_user,
)

pytestmark = pytest.mark.night

APP = Path(__file__).with_name("scripted_app.py")
CUTS = volume(8, 20)
INPUT_HZ = 16_000


def exchange(question: str, status: str = "done") -> list[tuple[str, str, str]]:
    """The captions of a question and of its answer."""
    return [("user", question, "done"), ("agent", ANSWER, status)]


def typed_call(page: Page, serving: Serving, words: str = "Are you there?") -> Page:
    """The page in a call in which something was typed and answered."""
    page.goto(serving.address)
    write(page, words)
    until(page, f"realtime.snapshot().bubbles.length === 2 && {LISTENING}")
    return page


def without_cut_words(page: Page) -> list[tuple[str, str, str]]:
    """The captions, without the words of interrupted responses.

    How far such a response plays depends on the line: while it is lost, the server does not hear the interruption.
    """
    return [(side, "" if status == "cut" else text, status) for side, text, status in captions(page)]


def until_stored(page: Page, folder: Path, item_id: str) -> None:
    """Wait until the store holds audio of an item: a killed server forgets what its store lacks."""
    token = page.evaluate("JSON.parse(sessionStorage.getItem('realtime.call /')).resumeToken.token")
    store = SqliteStore(next(folder.rglob("calls.sqlite")))
    while not any(isinstance(one, AudioRun) and one.item_id == item_id for one in store.read(token.rpartition(".")[0])):
        page.evaluate("new Promise(requestAnimationFrame)")
    store.close()


def test_a_call_cut_at_many_points_is_the_call_that_was_not(open_page: OpenPage, serve: Serve, line_to: LineTo) -> None:
    chance = random.Random(SEED)
    server = serve(f"{APP}:make_listener", "--grace", "30")
    line = line_to(server.address)
    # Each in samples of the user's speech after the line was back.
    cuts = [chance.randrange(INPUT_HZ // 5, INPUT_HZ * 8 // 5) for _ in range(CUTS)]
    ways = [
        (chance.choice((0, 0, 200, 500)), chance.choice((0, 0, 100, 400)), chance.random() < 0.6) for _ in range(CUTS)
    ]
    calm, cut = open_page(permissions=["microphone"]), open_page(permissions=["microphone"])
    cut.expose_function("cut", lambda number: line.cut(*ways[number]))
    put_user(calm, len(UTTERANCES))
    put_user(cut, len(UTTERANCES), cuts)
    start_talking(calm, server.address)
    start_talking(cut, line.address)
    over = f"user.next === {len(UTTERANCES)} && user.full && {LISTENING}"
    until(calm, over)
    until(cut, f"user.back === {CUTS} && {over}")
    assert snapshot(cut)["events"].count("client_session_create") == 1
    assert snapshot(cut)["sent"]["droppedFrames"] == 0
    assert without_cut_words(cut) == without_cut_words(calm)
    assert [text for side, text, _ in captions(cut) if side == "user"] == [*UTTERANCES]
    for page in (calm, cut):
        assert_cut_words_are_those_played(page, INTERRUPTED)
        assert_each_once(page, INTERRUPTED)
    assert snapshot(cut)["notices"] == []


def test_a_line_that_dies_without_a_word_is_noticed_and_replaced(page: Page, serve: Serve, line_to: LineTo) -> None:
    line = line_to(serve(f"{APP}:make_listener", "--grace", "30").address)
    put_user(page, 2)
    start_talking(page, line.address)
    until(page, "user.full")
    line.swallow()
    until(page, "user.back === 1 && user.next === 2 && user.full")
    assert captions(page) == exchange(UTTERANCES[0]) + exchange(UTTERANCES[1])
    assert_each_once(page)


def test_who_hung_up_is_not_called_back(page: Page, serve: Serve) -> None:
    typed_call(page, serve("--model", "scripted", "--grace", "30"))
    assert page.evaluate("sessionStorage.length") == 1
    end_call(page)
    expect(page.get_by_role("status")).to_have_text("Call ended")
    assert page.evaluate("sessionStorage.length") == 0
    page.reload()
    until(page, "document.getElementById('model').textContent.includes('speaks')")
    assert snapshot(page)["state"] == "idle"
    assert snapshot(page)["events"] == []


def test_a_copy_of_the_tab_takes_the_call_and_the_first_one_lets_go(page: Page, serve: Serve) -> None:
    typed_call(page, serve("--model", "scripted", "--grace", "30"))
    with page.expect_popup() as opened:
        # A page that is opened by another one gets a copy of what its tab keeps.
        page.evaluate("void window.open(location.href)")
    copy = opened.value
    copy.wait_for_load_state()
    until(copy, "realtime.snapshot().bubbles.length === 2")
    expect(page.get_by_role("alert")).to_contain_text("The call went on elsewhere, in another tab or window.")
    expect(page.get_by_role("status")).to_have_text("Call ended")
    assert captions(copy) == captions(page)
    assert page.evaluate("sessionStorage.length") == 0
    write(copy, "And now?")
    until(copy, "realtime.snapshot().bubbles.length === 4")
    assert snapshot(page)["events"].count("client_session_resume") == 0
    assert snapshot(page)["state"] == "ended"


def test_giving_up_is_told_and_what_was_said_is_still_shown(page: Page, serve: Serve) -> None:
    server = serve("--model", "scripted", "--grace", "1")
    typed_call(page, server)
    before = captions(page)
    server.kill()
    expect(page.get_by_role("status")).to_contain_text("Reconnecting")
    expect(page.get_by_role("alert")).to_contain_text("The connection did not come back in time, so the call is over.")
    expect(page.get_by_role("alert")).to_contain_text("Press the button for a new call.")
    expect(page.get_by_role("status")).to_have_text("Call ended")
    assert captions(page) == before
    serve("--model", "scripted", port=server.port)
    write(page, "Anybody else?")
    until(page, f"realtime.snapshot().bubbles.length === 2 && {LISTENING}")
    assert captions(page)[0] == ("user", "Anybody else?", "done")


def test_a_server_killed_in_mid_answer_goes_on_with_the_call_once_it_is_back(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    server = serve(f"{APP}:make_slow_listener")
    # Half an answer is heard sooner than a busy machine kills a server: the user waits for all of it.
    put_user(page, 3, into=ANSWER_SAMPLES)
    start_talking(page, server.address)
    until(page, "user.next === 2 && user.counts[2] > 20000")
    until_stored(page, tmp_path, snapshot(page)["bubbles"][3]["id"])
    server.kill()
    expect(page.get_by_role("status")).to_contain_text("Reconnecting")
    # The voice stands still, so the user does not interrupt yet.
    assert page.evaluate("user.next") == 2
    serve(f"{APP}:make_slow_listener", port=server.port)
    # The page rewinds to what the store held; the answer is cut there, and goes on behind the last heard word.
    until(page, f"user.back === 1 && realtime.snapshot().bubbles.at(4)?.status === 'done' && {LISTENING}")
    *before, cut, rest = captions(page)
    assert before == [*exchange(UTTERANCES[0]), ("user", UTTERANCES[1], "done")]
    assert (cut[0], cut[2]) == ("agent", "cut")
    assert cut[1] in ("Departures", "Departures considered")
    assert rest == ("agent", rest_of_answer(cut[1]), "done"), "together each word once"
    # What was in the page's hands is not played either: the model knows only what was heard.
    assert page.evaluate("user.counts[2]") < ANSWER_SAMPLES
    spoken = rest_pcm(rest[1])
    until(page, f"user.counts[{REST}] >= {len(spoken)}")
    assert np.array_equal(heard(page)[-len(spoken) :], spoken)
    assert page.evaluate(f"user.counts[{REST}]") == len(spoken)
    page.evaluate("user.counts[2] = Infinity")
    until(page, f"user.next === 3 && user.full && {LISTENING}")
    assert captions(page) == [*before, cut, rest, *exchange(UTTERANCES[2])]
    assert answer_ranges(page)[2:] == [[0, len(spoken)], [0, ANSWER_SAMPLES]]
    assert snapshot(page)["notices"] == []


def test_a_server_that_is_restarted_goes_on_with_the_call(page: Page, serve: Serve) -> None:
    stopped = serve(f"{APP}:make_listener")
    typed_call(page, stopped, UTTERANCES[0])
    before = captions(page)
    assert stopped.stop() == 0
    expect(page.get_by_role("status")).to_contain_text("Reconnecting")
    write(page, UTTERANCES[1])
    serve(f"{APP}:make_listener", port=stopped.port)
    until(page, f"realtime.snapshot().bubbles.length === 4 && {LISTENING}")
    assert captions(page) == [*before, *exchange(UTTERANCES[1])]
    assert snapshot(page)["notices"] == []
    assert snapshot(page)["events"].count("client_session_create") == 1
