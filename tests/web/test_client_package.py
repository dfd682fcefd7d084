"""The client package in pages of others: a real server, Chromium, and a fake microphone."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.client_lab import LAB
from tests.web.conftest import Launch, Serve, Serving
from tests.web.hosting import Site
from tests.web.pages import box_of, script, until

pytestmark = pytest.mark.night

Lab = Callable[..., Serving]

APP = Path(__file__).with_name("scripted_app.py")
OPEN = "client.microphone.isOpen"
ANSWERED = "client.messages.list.at(-1)?.text === 'I heard you.'"
STRICT = "default-src 'none'; script-src SERVER 'unsafe-inline'; connect-src SERVER ws:"
# Chromium's own check is off in these tests: a context that waits for a click, as it would.
NOT_YET = """() => {
  const Own = AudioContext;
  window.AudioContext = class extends Own {
    constructor(options) { super(options); super.suspend(); }
    resume() { return window.clicked ? super.resume() : new Promise(() => undefined); }
  };
}"""
KEEP_STREAM = """() => {
  const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  navigator.mediaDevices.getUserMedia = async (asked) => (window.stream = await ask(asked));
}"""


def frames_pass(page: Page, count: int) -> None:
    """Wait until the microphone has given so many frames of 20 ms."""
    page.evaluate("told.frames = 0")
    until(page, f"told.frames >= {count}")


def start(page: Page, then: str, options: str = "") -> None:
    """Call, and wait for a condition."""
    page.evaluate(f"client.start({options})")
    until(page, then)


def test_a_user_who_cannot_decide_has_one_call_in_the_end(page: Page, lab: Lab) -> None:
    lab("--model", "scripted", "--max-calls-per-address", "3")
    page.evaluate("{ client.start(); client.stop(); client.start(); client.stop(); client.start(); }")
    until(page, "client.state === 'listening' && client.microphone.isOpen")
    page.evaluate("{ client.stop(); client.sendText('Are you there?'); }")
    until(page, "client.state === 'listening' && client.messages.list.length === 2 && !client.microphone.isOpen")
    assert page.evaluate("told.errors") == []
    assert page.evaluate("told.states.filter((state) => state === 'ended').length") == 3


def test_a_tool_that_asks_runs_once_it_is_allowed(page: Page, lab: Lab) -> None:
    lab(f"{APP}:make_cashier")
    page.evaluate("client.sendText('Pay Ann.')")
    until(page, "client.messages.list.at(-1)?.status === 'asking'")
    page.evaluate("client.allowTool(client.messages.list.at(-1), true)")
    until(page, "client.messages.list.at(-1)?.text === 'I was told: paid 5 to <b>Ann</b>.'")


def test_devices_are_chosen_during_the_call_and_what_cannot_be_chosen_is_named(page: Page, lab: Lab) -> None:
    lab(f"{APP}:make_agent")
    start(page, OPEN)
    assert page.evaluate("[client.microphone.deviceId, client.speaker.deviceId]") == ["", ""], "the system's choice"
    devices = page.evaluate("Realtime.listDevices()")
    assert len(devices["microphones"]) >= 2
    other = next(
        each["id"] for each in devices["microphones"] if each["id"] != page.evaluate("client.microphone.deviceId")
    )
    page.evaluate("(id) => client.microphone.use(id)", other)
    assert page.evaluate("client.microphone.deviceId") == other
    speaker = devices["speakers"][0]["id"]
    page.evaluate("(id) => client.speaker.use(id)", speaker)
    assert page.evaluate("client.speaker.deviceId") == speaker
    page.evaluate("told.levels.user = 0")
    until(page, "told.levels.user > 0.2")
    for control, kind in (("microphone", "microphone"), ("speaker", "loudspeaker")):
        thrown = page.evaluate(f"client.{control}.use('nothing').catch(({{name, message}}) => [name, message])")
        sentence = f'The chosen {kind} ("nothing") cannot be used: the call goes on with the one before.'
        assert thrown == ["DeviceError", sentence]
    now = page.evaluate(f"[{OPEN}, client.microphone.deviceId, client.speaker.deviceId]")
    assert now == [True, other, speaker]
    page.evaluate("client.microphone.muted = true")
    frames_pass(page, 15)  # What the microphone had given already.
    page.evaluate("told.levels.user = 0")
    frames_pass(page, 15)
    assert page.evaluate("told.levels.user") == 0


def test_the_volume_is_what_is_heard_and_no_line_is_ever_without_words(page: Page, lab: Lab) -> None:
    lab(f"{APP}:make_agent")
    page.evaluate("window.wordless = []")
    page.evaluate("void client.messages.on('change', (list) => wordless.push(...list.filter(({text}) => !text)))")
    page.evaluate(script("ear.js"))
    start(page, "client.state === 'speaking' && loudness() > 0.1")
    for volume, is_heard in ((0, "=== 0"), (1, "> 0.1")):
        page.evaluate(f"client.speaker.volume = {volume}")
        until(page, f"client.state === 'speaking' && loudness() {is_heard}")
    assert page.evaluate("client.speaker.volume") == 1
    until(page, "client.messages.list.at(-1)?.text === 'I stopped.'")
    assert page.evaluate("wordless") == []


def test_a_call_that_is_over_after_the_reload_is_made_anew(page: Page, lab: Lab) -> None:
    serving = lab("--model", "scripted")
    left = {"server": f"{serving.address}/", "user": "u", "session": "s", "lastPlayed": None}
    token = {"token": "call_1.resume_1", "withinMs": 30_000}
    page.evaluate(
        "(left) => sessionStorage.setItem('realtime.client.call', JSON.stringify({...left, leftAt: Date.now()}))",
        {**left, "resumeToken": token},
    )
    assert page.evaluate("client.canResume") is True
    start(page, "client.state === 'listening'", "{microphone: false}")
    assert page.evaluate("told.errors") == []
    assert page.evaluate("told.states") == ["connecting", "reconnecting", "connecting", "listening"]


def strict_lab(page: Page, shop: Site, serving: Serving, options: dict[str, str]) -> None:
    """The lab under a policy without blobs."""
    shop.put({"index.html": LAB.replace("SERVER", serving.address)})
    shop.policy = STRICT.replace("SERVER", serving.address)
    page.goto(shop.address)
    page.evaluate("(options) => make(options)", options)


def test_under_a_policy_without_blobs_the_worklets_are_files(page: Page, shop: Site, serve: Serve) -> None:
    serving = serve(f"{APP}:make_agent", "--allow-embed", shop.address)
    strict_lab(page, shop, serving, {"worklets": f"{serving.address}/client/worklets/"})
    start(page, "told.levels.agent > 0.2 && told.levels.user > 0.2")
    assert page.evaluate("told.errors") == []


def test_where_the_policy_forbids_the_worklets_it_is_told_and_the_words_come(
    launch: Launch, shop: Site, serve: Serve
) -> None:
    with launch().new_context(permissions=["microphone"]) as context:
        page = context.new_page()
        strict_lab(page, shop, serve("--model", "scripted", "--allow-embed", shop.address), {})
        start(page, "told.errors.length === 2")
        assert sorted(page.evaluate("told.errors")) == ["microphone_failed", "no_sound"]
        page.evaluate("client.sendText('Are you there?')")
        until(page, ANSWERED)


def test_a_microphone_that_is_unplugged_is_told_and_can_be_started_again(page: Page, lab: Lab) -> None:
    lab("--model", "scripted")
    page.evaluate(KEEP_STREAM)
    start(page, OPEN)
    page.evaluate("for (const track of stream.getTracks()) track.onended(new Event('ended'))")
    until(page, f"told.errors.at(-1) === 'microphone_lost' && !{OPEN}")
    assert page.evaluate("client.isActive") is True
    start(page, OPEN)


def test_a_page_that_may_not_sound_yet_is_told_to_be_clicked(page: Page, lab: Lab) -> None:
    lab("--model", "scripted")
    page.evaluate(NOT_YET)
    start(page, "told.errors.includes('sound_blocked') && client.speaker.isBlocked", "{microphone: false}")
    page.evaluate("window.clicked = true")
    page.get_by_role("button", name="Go").click()
    until(page, "!client.speaker.isBlocked")
    page.evaluate("client.sendText('Are you there?')")
    until(page, "told.levels.agent > 0.1")


def test_a_call_that_the_server_refuses_is_told_with_its_reason(page: Page, lab: Lab) -> None:
    lab("--model", "scripted", "--max-calls-per-address", "1")
    page.evaluate("Object.assign(window, {other: new Realtime.RealtimeClient()})")
    page.evaluate("other.sendText('Are you there?')")
    until(page, "other.state === 'listening' && other.messages.list.length === 2")
    start(page, "client.state === 'ended' && told.errors.length === 1")
    assert page.evaluate("told.errors") == ["busy"]
    assert "end one first" in page.evaluate("told.sentences[0]")


def test_a_server_that_dies_is_told_once(page: Page, lab: Lab) -> None:
    serving = lab("--model", "scripted", "--grace", "0")
    start(page, "client.state === 'listening'")
    serving.kill()
    until(page, "client.state === 'ended' && told.errors.length === 1")
    assert page.evaluate("told.errors") == ["lost"]


def test_the_element_is_styled_by_variables_and_parts_and_speaks_the_pages_language(page: Page, element: Lab) -> None:
    element(f"{APP}:make_agent", attributes="style='--voice-color: rgb(1, 2, 3)'")
    page.add_style_tag(content="realtime-voice::part(button) { border-radius: 3px }")
    page.evaluate("voice.words = {start: 'Sprechen'}")
    style = page.get_by_role("button", name="Sprechen").evaluate(
        "(button) => [getComputedStyle(button).backgroundColor, getComputedStyle(button).borderRadius]"
    )
    assert style == ["rgb(1, 2, 3)", "3px"]
    page.get_by_role("button", name="Sprechen").click()
    expect(page.get_by_role("status")).to_have_text("Speaking")
    assert page.get_by_role("status").evaluate("(line) => getComputedStyle(line).color") == "rgb(31, 95, 214)"


def test_the_element_in_push_to_talk_talks_while_it_is_held(page: Page, element: Lab) -> None:
    element("--model", "scripted", attributes="push-to-talk captions")
    page.get_by_role("button", name="Talk").click()
    held = page.get_by_role("button", name="Hold to talk")
    expect(held).to_be_visible()
    box = box_of(held)
    page.mouse.move(box["x"] + 10, box["y"] + 10)
    page.mouse.down()
    expect(held).to_have_attribute("aria-pressed", "true")
    # Playwright calls a function that an expression gives: here the one that ends the listening.
    page.evaluate("void client.microphone.on('level', () => (told.frames += 1))")
    frames_pass(page, 30)
    page.mouse.up()
    expect(held).to_have_attribute("aria-pressed", "false")
    expect(page.get_by_role("listitem").last).to_contain_text("I heard you.")
    page.get_by_role("button", name="End").click()
    expect(page.get_by_role("status")).to_have_text("Call ended")


def test_the_element_shows_what_goes_wrong_and_ends_its_call_when_it_is_removed(page: Page, element: Lab) -> None:
    serving = element("--model", "scripted", attributes="token-url='/nothing'")
    page.get_by_role("button", name="Talk").click()
    expect(page.get_by_role("alert")).to_contain_text("The page got no permission to call")
    assert page.evaluate("told.errors") == ["no_token"]
    assert serving.process.poll() is None
    page.evaluate("voice.removeAttribute('token-url')")
    page.get_by_role("button", name="Talk").click()
    until(page, "client.state === 'listening'")
    page.evaluate("document.body.append(document.createElement('main')); document.querySelector('main').append(voice)")
    page.evaluate("client.sendText('Are you there?')")
    until(page, ANSWERED)
    page.evaluate("voice.remove()")
    until(page, "client.state === 'ended'")


def test_the_page_of_the_server_talks_in_a_frame_with_a_client_token(page: Page, shop: Site, serve: Serve) -> None:
    serving = serve(f"{APP}:make_agent", "--token", "secret", "--allow-embed", shop.address)
    answer = page.request.post(f"{serving.address}/api/client_tokens", headers={"Authorization": "Bearer secret"})
    address = f"{serving.address}/?token={answer.json()['token']}"
    shop.put({"index.html": f'<!doctype html><title>Shop</title><iframe src="{address}" allow="microphone"></iframe>'})
    page.context.grant_permissions(["microphone"], origin=serving.address)
    page.goto(shop.address)
    framed = page.frame_locator("iframe")
    framed.get_by_role("button", name="Start talking").click()
    expect(framed.get_by_text("I stopped.")).to_be_visible()
    assert page.context.cookies() == []
