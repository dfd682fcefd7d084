"""A call that outlives its sockets: the built page, a real server, and a line between them that is cut."""

import base64
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from realtime.state.log import AudioRun
from realtime.state.sqlite import SqliteStore
from tests.flaky_line import FlakyLine
from tests.volumes import SEED, volume
from tests.web.conftest import Serving
from tests.web.scripted_app import ANSWER, ANSWER_SAMPLES, UTTERANCES, answer_pcm

Until = Callable[[Page, str], None]
Serve = Callable[..., Serving]

APP = Path(__file__).with_name("scripted_app.py")
CUTS = volume(8, 20)
INPUT_HZ = 16_000
FADE = 120  # 5 ms at 24 kHz
INTO = ANSWER_SAMPLES // 2
"""Where the user interrupts a response: in the middle of its second word."""
TYPED = (4,)
INTERRUPTED = (2, 5)
"""Responses that the next utterance interrupts."""

# Takes the place of the user. What is said is put into the frames of the microphone by their position; when, follows
# from what was played, which is counted by other code than the page's: a capture worklet at the speaker's output.
USER = """(({turns, size, cuts}) => {
  const Native = AudioWorkletNode;
  const user = window.user = {samples: 0, next: 0, cuts: 0, back: 0, heard: [], counts: {}, full: false};
  let value = 0, left = 0, restSamples = 0, cutAt = cuts[0];
  const listen = (pcm) => {
    const sound = pcm.filter((sample) => sample !== 0);
    if (sound.length === 0) return;
    user.heard.push(sound);
    for (const sample of sound) {
      const of = Math.floor((sample - 1) / 1500);
      user.counts[of] = (user.counts[of] ?? 0) + 1;
    }
  };
  const type = (text) => {
    document.getElementById('text').value = text;
    document.getElementById('typed').requestSubmit();
  };
  const speak = (pcm) => {
    if (user.back < user.cuts) cutAt = user.samples + cuts[user.cuts];
    else if (user.samples >= cutAt) window.cut(user.cuts++);
    const turn = turns[user.next];
    const heard = user.counts[user.next] ?? 0;
    user.full = user.next > 0 && heard >= size;
    restSamples = user.next === 0 || user.full ? restSamples + pcm.length : 0;
    if (value === 0 && turn && (turn.into ? heard >= turn.into : restSamples >= 8000)) {
      user.next += 1;
      user.full = false;
      restSamples = 0;
      if (turn.typed) type(turn.text);
      else { value = user.next; left = 9600; }
    }
    pcm.fill(value);
    left -= pcm.length;
    if (left <= 0) value = 0;
    user.samples += pcm.length;
  };
  window.WebSocket = class extends WebSocket {
    constructor(url, protocol) {
      super(url, protocol);
      this.addEventListener('message', ({data}) => {
        if (typeof data === 'string' && JSON.parse(data).type === 'server_session_resumed') user.back += 1;
      });
    }
  };
  window.AudioWorkletNode = class extends Native {
    constructor(context, name, options) {
      super(context, name, options);
      if (name === 'realtime-playback') {
        context.audioWorklet.addModule('./worklets/capture.js').then(() => {
          const ear = new Native(context, 'realtime-capture', {
            numberOfOutputs: 0, channelCount: 1, channelCountMode: 'explicit',
            processorOptions: {rateHz: context.sampleRate, frameMs: 20},
          });
          ear.port.onmessage = ({data}) => listen(data.pcm);
          this.connect(ear);
        });
      } else {
        const native = Object.getOwnPropertyDescriptor(MessagePort.prototype, 'onmessage');
        Object.defineProperty(this.port, 'onmessage', {
          set(handler) {
            native.set.call(this, handler && ((message) => { speak(message.data.pcm); handler(message); }));
          },
        });
      }
    }
  };
  user.pcm = () => {
    const all = new Int16Array(user.heard.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of user.heard) { all.set(part, at); at += part.length; }
    const bytes = new Uint8Array(all.buffer);
    let text = '';
    for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
    return btoa(text);
  };
})(PLAN)"""


@pytest.fixture
def line_to() -> Iterator[Callable[[str], FlakyLine]]:
    """A line to the server at this address."""
    lines: list[FlakyLine] = []

    def make(address: str) -> FlakyLine:
        lines.append(FlakyLine(int(address.rpartition(":")[2])))
        return lines[-1]

    yield make
    for line in lines:
        line.close()


def put_user(page: Page, turns: int, cuts: list[int] | None = None, into: int = INTO) -> None:
    """A user who says the first `turns` utterances, each after the response before or as its interruption."""
    plan = [
        {"text": text, "typed": place + 1 in TYPED, "into": into if place in INTERRUPTED else 0}
        for place, text in enumerate(UTTERANCES[:turns])
    ]
    words = json.dumps({"turns": plan, "size": ANSWER_SAMPLES, "cuts": cuts or []})
    page.add_init_script(USER.replace("PLAN", words))


def call(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_role("button", name="Start talking").click()


def snapshot(page: Page) -> dict[str, Any]:
    result: dict[str, Any] = page.evaluate("realtime.snapshot()")
    return result


def captions(page: Page) -> list[tuple[str, str, str]]:
    return [(bubble["side"], bubble["text"], bubble["status"]) for bubble in snapshot(page)["bubbles"]]


def without_cut_words(page: Page) -> list[tuple[str, str, str]]:
    """The captions, without the words of interrupted responses.

    How far such a response plays depends on the line: while it is lost, the server does not hear the interruption.
    """
    return [(side, "" if status == "cut" else text, status) for side, text, status in captions(page)]


def assert_cut_words_are_those_played(page: Page) -> None:
    """Each interrupted response shows the words up to where it fell silent."""
    shown = [bubble for bubble in captions(page) if bubble[0] == "agent"]
    cut = [
        (text, end) for (_, text, status), (_, end) in zip(shown, answer_ranges(page), strict=True) if status == "cut"
    ]
    assert len(cut) == len(INTERRUPTED)
    for text, end in cut:
        assert ANSWER.startswith(text)
        words_played = end / ANSWER_SAMPLES * len(ANSWER.split())
        assert -0.1 <= words_played - len(text.split()) <= 1.1


def until_stored(page: Page, folder: Path, item_id: str) -> None:
    """Wait until the store holds audio of an item: a killed server forgets what its store lacks."""
    token = page.evaluate("JSON.parse(sessionStorage.getItem('realtime.call /')).resumeToken.token")
    store = SqliteStore(next(folder.rglob("calls.sqlite")))
    while not any(isinstance(one, AudioRun) and one.item_id == item_id for one in store.read(token.rpartition(".")[0])):
        page.evaluate("new Promise((go) => setTimeout(go, 5))")
    store.close()


def heard(page: Page) -> np.ndarray:
    """Every sample that the speaker played, without silence."""
    return np.frombuffer(base64.b64decode(page.evaluate("user.pcm()")), "<i2")


def answer_ranges(page: Page) -> list[list[int]]:
    """The samples that the page reports as played, by response."""
    shown = snapshot(page)
    return [shown["playedRanges"].get(one["id"], [0, 0]) for one in shown["bubbles"] if one["side"] == "agent"]


def assert_each_once(sound: np.ndarray, ranges: list[list[int]], interrupted: tuple[int, ...] = ()) -> None:
    """Each response played from its first sample, once, and whole without an interruption."""
    at = 0
    for number, (start, end) in enumerate(ranges, 1):
        expected = answer_pcm(number)
        assert start == 0
        if number not in interrupted:
            assert end == ANSWER_SAMPLES
            assert np.array_equal(sound[at : at + end], expected)
            at += end
            continue
        assert INTO <= end < ANSWER_SAMPLES
        sure = end - FADE
        assert np.array_equal(sound[at : at + sure], expected[:sure])
        at += sure
        # The rest fades out, or was never begun.
        begun = answer_pcm(number + 1)[:1000]
        at += next(skip for skip in range(FADE + 1) if np.array_equal(sound[at + skip : at + skip + 1000], begun))
    assert at == len(sound)


@pytest.mark.parametrize("seed", [SEED])
def test_a_call_cut_at_many_points_is_the_call_that_was_not(
    open_page: Callable[..., Page], serve: Serve, line_to: Callable[[str], FlakyLine], until: Until, seed: int
) -> None:
    chance = random.Random(seed)
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
    call(calm, server.address)
    call(cut, line.address)
    over = f"user.next === {len(UTTERANCES)} && user.full"
    until(calm, f"{over} && realtime.snapshot().state === 'listening'")
    until(cut, f"user.back === {CUTS} && {over} && realtime.snapshot().state === 'listening'")
    events = snapshot(cut)["events"]
    assert events.count("client_session_create") == 1
    assert snapshot(cut)["sent"]["droppedFrames"] == 0
    assert without_cut_words(cut) == without_cut_words(calm)
    words = [text for side, text, _ in captions(cut) if side == "user"]
    assert words == [*UTTERANCES]
    for page in (calm, cut):
        assert_cut_words_are_those_played(page)
        assert_each_once(heard(page), answer_ranges(page), INTERRUPTED)
    assert snapshot(cut)["notices"] == []


def test_while_the_line_is_lost_it_says_so_and_the_voice_waits(
    page: Page, serve: Serve, line_to: Callable[[str], FlakyLine], until: Until
) -> None:
    line = line_to(serve(f"{APP}:make_listener", "--grace", "30").address)
    put_user(page, 1)
    call(page, line.address)
    until(page, "user.counts[1] > 20000")
    line.set_down(True)
    expect(page.get_by_role("status")).to_have_text(re.compile(r"Reconnecting… \(try\s[2-9]\)"))
    expect(page.get_by_role("alert")).to_contain_text("The connection is lost. Trying to get it back.")
    lost = snapshot(page)
    assert lost["playback"]["rendered"] < ANSWER_SAMPLES
    until(page, f"realtime.snapshot().sent.samples > {lost['sent']['samples'] + INPUT_HZ}")
    # The microphone goes on, the voice does not.
    assert snapshot(page)["playback"]["rendered"] == lost["playback"]["rendered"]
    line.set_down(False)
    page.evaluate("window.dispatchEvent(new Event('online'))")
    until(page, "user.full && realtime.snapshot().state === 'listening'")
    expect(page.get_by_role("alert")).to_be_empty()
    assert_each_once(heard(page), answer_ranges(page))
    assert snapshot(page)["sent"]["droppedFrames"] == 0


def test_a_line_that_dies_without_a_word_is_noticed_and_replaced(
    page: Page, serve: Serve, line_to: Callable[[str], FlakyLine], until: Until
) -> None:
    line = line_to(serve(f"{APP}:make_listener", "--grace", "30").address)
    put_user(page, 2)
    call(page, line.address)
    until(page, "user.full")
    line.swallow()
    until(page, "user.back === 1 && user.next === 2 && user.full")
    assert captions(page) == [
        ("user", UTTERANCES[0], "done"),
        ("agent", ANSWER, "done"),
        ("user", UTTERANCES[1], "done"),
        ("agent", ANSWER, "done"),
    ]
    assert_each_once(heard(page), [[0, ANSWER_SAMPLES], [0, ANSWER_SAMPLES]])


def test_a_reloaded_page_shows_the_same_words_and_goes_on_with_a_click(page: Page, serve: Serve, until: Until) -> None:
    said: list[str] = []
    page.on("console", lambda line: said.append(line.text))
    put_user(page, 2)
    call(page, serve(f"{APP}:make_listener", "--grace", "30").address)
    until(page, "user.next === 2 && user.counts[2] > 20000")
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
    page.evaluate("user.next = 99")
    page.get_by_role("button", name="Go on talking").click()
    until(page, "realtime.snapshot().state === 'listening' && realtime.snapshot().sent.receivedOffset > 0")
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
    assert token not in page.content()
    assert token not in page.url
    assert token.rpartition(".")[2] not in "".join([*said, page.evaluate("document.body.innerText")])


def test_who_hung_up_is_not_called_back(page: Page, serve: Serve, until: Until) -> None:
    page.goto(serve("--model", "scripted", "--grace", "30").address)
    page.get_by_label("Message").fill("Are you there?")
    page.get_by_label("Message").press("Enter")
    until(page, "realtime.snapshot().bubbles.length === 2")
    assert page.evaluate("sessionStorage.length") == 1
    page.get_by_role("button", name="End call").click()
    expect(page.get_by_role("status")).to_have_text("Call ended")
    assert page.evaluate("sessionStorage.length") == 0
    page.reload()
    until(page, "document.getElementById('model').textContent.includes('speaks')")
    assert snapshot(page)["state"] == "idle"
    assert snapshot(page)["events"] == []


def test_a_copy_of_the_tab_takes_the_call_and_the_first_one_lets_go(page: Page, serve: Serve, until: Until) -> None:
    page.goto(serve("--model", "scripted", "--grace", "30").address)
    page.get_by_label("Message").fill("Are you there?")
    page.get_by_label("Message").press("Enter")
    until(page, "realtime.snapshot().bubbles.length === 2 && realtime.snapshot().state === 'listening'")
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
    copy.get_by_label("Message").fill("And now?")
    copy.get_by_label("Message").press("Enter")
    until(copy, "realtime.snapshot().bubbles.length === 4")
    assert snapshot(page)["events"].count("client_session_resume") == 0
    assert snapshot(page)["state"] == "ended"


def test_giving_up_is_told_and_what_was_said_is_still_shown(page: Page, serve: Serve, until: Until) -> None:
    server = serve("--model", "scripted", "--grace", "1")
    page.goto(server.address)
    page.get_by_label("Message").fill("Are you there?")
    page.get_by_label("Message").press("Enter")
    until(page, "realtime.snapshot().bubbles.length === 2 && realtime.snapshot().state === 'listening'")
    before = captions(page)
    server.kill()
    expect(page.get_by_role("status")).to_contain_text("Reconnecting")
    expect(page.get_by_role("alert")).to_contain_text("The connection did not come back in time, so the call is over.")
    expect(page.get_by_role("alert")).to_contain_text("Press the button for a new call.")
    expect(page.get_by_role("status")).to_have_text("Call ended")
    assert captions(page) == before
    serve("--model", "scripted", port=int(server.address.rpartition(":")[2]))
    page.get_by_label("Message").fill("Anybody else?")
    page.get_by_label("Message").press("Enter")
    until(page, "realtime.snapshot().bubbles.length === 2 && realtime.snapshot().state === 'listening'")
    assert captions(page)[0] == ("user", "Anybody else?", "done")


def test_a_server_killed_in_mid_answer_goes_on_with_the_call_once_it_is_back(
    page: Page, serve: Serve, until: Until, tmp_path: Path
) -> None:
    server = serve(f"{APP}:make_slow_listener")
    # Half an answer is heard sooner than a busy machine kills a server: the user waits for all of it.
    put_user(page, 3, into=ANSWER_SAMPLES)
    call(page, server.address)
    until(page, "user.next === 2 && user.counts[2] > 20000")
    until_stored(page, tmp_path, snapshot(page)["bubbles"][3]["id"])
    server.kill()
    expect(page.get_by_role("status")).to_contain_text("Reconnecting")
    # The voice stands still, so the user does not interrupt yet.
    assert page.evaluate("user.next") == 2
    serve(f"{APP}:make_slow_listener", port=int(server.address.rpartition(":")[2]))
    # The page rewinds to what the store held; the server then sends the cut answer again.
    until(page, "user.back === 1 && realtime.snapshot().state === 'listening'")
    until(page, "realtime.snapshot().bubbles.at(3)?.status === 'cut'")
    first, told, second, cut = captions(page)
    assert [first, told, second] == [
        ("user", UTTERANCES[0], "done"),
        ("agent", ANSWER, "done"),
        ("user", UTTERANCES[1], "done"),
    ]
    assert cut[0] == "agent"
    assert cut[1] in ("Departures", "Departures considered")
    # What was in the page's hands is not played either: the model knows only what was heard.
    rendered = snapshot(page)["playback"]["rendered"]
    assert rendered < 2 * ANSWER_SAMPLES
    page.evaluate("user.counts[2] = Infinity")
    until(page, "user.next === 3 && user.full && realtime.snapshot().state === 'listening'")
    assert captions(page)[:4] == [first, told, second, cut]
    assert captions(page)[4:] == [("user", UTTERANCES[2], "done"), ("agent", ANSWER, "done")]
    assert answer_ranges(page)[2] == [0, ANSWER_SAMPLES]
    assert snapshot(page)["notices"] == []


def test_a_server_that_is_restarted_goes_on_with_the_call(page: Page, serve: Serve, until: Until) -> None:
    stopped = serve(f"{APP}:make_listener")
    page.goto(stopped.address)
    page.get_by_label("Message").fill(UTTERANCES[0])
    page.get_by_label("Message").press("Enter")
    until(page, "realtime.snapshot().bubbles.length === 2 && realtime.snapshot().state === 'listening'")
    before = captions(page)
    assert stopped.stop() == 0
    expect(page.get_by_role("status")).to_contain_text("Reconnecting")
    page.get_by_label("Message").fill(UTTERANCES[1])
    page.get_by_label("Message").press("Enter")
    serve(f"{APP}:make_listener", port=int(stopped.address.rpartition(":")[2]))
    until(page, "realtime.snapshot().bubbles.length === 4 && realtime.snapshot().state === 'listening'")
    assert captions(page) == [*before, ("user", UTTERANCES[1], "done"), ("agent", ANSWER, "done")]
    assert snapshot(page)["notices"] == []
    assert snapshot(page)["events"].count("client_session_create") == 1
