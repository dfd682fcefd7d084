"""What a page with the client package is told when something is wrong: its user, and its developer."""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.client_lab import LAB
from tests.web.conftest import Serving
from tests.web.hosting import Site
from tests.web.pages import until
from tests.web.test_client_package import frames_pass, start

pytestmark = pytest.mark.night

Lab = Callable[..., Serving]

APP = Path(__file__).with_name("scripted_app.py")
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_an_error_that_ends_a_call_comes_after_its_state_and_before_its_end(page: Page, lab: Lab, shop: Site) -> None:
    lab("--model", "scripted", settings={"model_provider": "openai"})
    start(page, "told.order.at(-1) === 'over false'")
    assert page.evaluate("told.order") == ["connecting", "ended", "error refused", "over false"]
    assert "OPENAI_API_KEY" not in page.evaluate("told.sentences[0]")
    assert "OPENAI_API_KEY" in page.evaluate("told.details[0]")
    page.evaluate("(server) => make({server})", f"{shop.address}/nowhere")
    start(page, "told.order.at(-1) === 'over false'")
    assert page.evaluate("told.order") == ["connecting", "ended", "error unreachable", "over false"]


def test_a_page_without_a_token_tells_its_user_and_its_developer_what_each_can_do(page: Page, lab: Lab) -> None:
    logged: list[str] = []
    page.on("console", lambda line: logged.append(line.text))
    lab("--model", "scripted", "--token", "secret")
    start(page, "told.errors.length === 1")
    detail = "The server refuses the call: no token was given: show that of --token"
    assert page.evaluate("[told.errors[0], told.sentences[0]]") == [
        "refused",
        "This page may not call: its developer has to give it a token.",
    ]
    assert page.evaluate("told.details[0]").startswith(detail)
    assert page.evaluate("told.details[0]") in logged


def test_a_token_function_that_gives_no_text_gives_no_token(page: Page, lab: Lab) -> None:
    lab("--model", "scripted")
    for value in ("undefined", "null", "7"):
        page.evaluate(f"make({{token: () => {value}}})")
        start(page, "told.errors.length === 1")
        assert page.evaluate("[told.errors[0], told.details[0]]") == [
            "no_token",
            f"No token: the token function returned {value}, not a string.",
        ]


@pytest.mark.parametrize(
    ("answer", "why"),
    [(None, "/voice-token answers 404"), ("<p>", '/voice-token answers without {"token": "..."}')],
)
def test_the_element_says_which_address_gave_no_token(
    page: Page, element: Lab, shop: Site, answer: str | None, why: str
) -> None:
    logged: list[str] = []
    page.on("console", lambda line: logged.append(line.text))
    if answer is not None:
        shop.put({"voice-token": answer})
    element("--model", "scripted", attributes="token-url='/voice-token'")
    page.get_by_role("button", name="Talk").click()
    expect(page.get_by_role("alert")).to_have_text(
        "The page got no permission to call from its own server. Reload it, or sign in again."
    )
    assert f"No token: {why}." in logged


def test_a_page_opened_by_another_name_of_this_machine_talks(page: Page, shop: Site, serve: Lab) -> None:
    other = shop.address.replace("127.0.0.1", "localhost")
    serving = serve("--model", "scripted", "--allow-embed", f"{other}/")
    shop.put({"index.html": LAB.replace("SERVER", serving.address)})
    page.goto(shop.address)
    page.evaluate("make({})")
    start(page, "client.state === 'listening'", "{microphone: false}")
    assert page.evaluate("told.errors") == []


def test_a_wrong_server_is_refused_at_once_by_the_class_and_the_element(page: Page, element: Lab) -> None:
    element("--model", "scripted")
    wrong = 'is no address of a server: give one such as "http://localhost:8000", with its scheme.'
    for server in ("htp:nonsense", "127.0.0.1:9310"):
        thrown = page.evaluate(
            "(server) => { try { new Realtime.RealtimeClient({server}); } catch (error) { return String(error); } }",
            server,
        )
        assert thrown == f'TypeError: "{server}" {wrong}'
    page.evaluate("document.body.innerHTML = '<realtime-voice server=\"htp:nonsense\"></realtime-voice>'")
    page.evaluate("window.onerror = () => (window.isInConsole = true)")
    page.get_by_role("button", name="Talk").click()
    expect(page.get_by_role("alert")).to_contain_text("This page cannot call: its developer has to correct it")
    assert page.evaluate("window.isInConsole") is True


def test_the_system_choice_is_nameless_and_a_wrong_choice_is_named(page: Page, lab: Lab) -> None:
    lab("--model", "scripted")
    start(page, "client.microphone.isOpen")
    assert page.evaluate("[client.microphone.deviceId, client.speaker.deviceId]") == ["", ""]
    for control, kind in (("microphone", "microphone"), ("speaker", "loudspeaker")):
        thrown = page.evaluate(f"client.{control}.use('nonsense').catch(({{name, message}}) => [name, message])")
        assert thrown == [
            "DeviceError",
            f'The chosen {kind} ("nonsense") cannot be used: the call goes on with the one before.',
        ]
    now = page.evaluate("[client.microphone.isOpen, client.microphone.deviceId, client.speaker.deviceId]")
    assert now == [True, "", ""]


def test_a_picture_that_is_none_or_is_not_wanted_is_refused_before_it_is_sent(page: Page, lab: Lab) -> None:
    lab("--model", "scripted")
    send = "(blob) => client.sendPicture(blob).then(() => null, ({problem, message}) => [problem, message])"
    assert page.evaluate(f"({send})(new Blob(['no picture']))") == [
        "picture_unreadable",
        "This browser cannot read the picture. Choose another, such as a JPEG or PNG file.",
    ]
    assert page.evaluate("[client.state, client.agent]") == ["idle", None]
    pixel = json.dumps(list(PIXEL))
    assert page.evaluate(f"({send})(new Blob([new Uint8Array({pixel})]))") is None
    assert page.evaluate("client.agent.takesPictures") is True
    page.evaluate("client.stop()")
    page.evaluate("make({settings: {model_provider: 'local'}})")
    assert page.evaluate(f"({send})(new Blob([new Uint8Array({pixel})]))") == [
        "pictures_unwanted",
        "Heart takes no pictures.",
    ]
    assert page.evaluate("[client.agent.takesPictures, told.errors]") == [False, []]


def test_while_a_turn_is_recognised_there_is_no_line_without_words(page: Page, lab: Lab) -> None:
    lab(f"{APP}:make_agent")
    page.evaluate("window.wordless = []")
    page.evaluate("void client.messages.on('change', (list) => wordless.push(...list.filter(({text}) => !text)))")
    start(page, "client.messages.list.at(-1)?.text === 'I stopped.'")
    assert page.evaluate("wordless") == []


def test_mistakes_of_the_developer_are_told_at_once(page: Page, lab: Lab) -> None:
    lab("--model", "scripted")
    with pytest.raises(Exception, match="is no name of a tool"):
        page.evaluate("client.registerTool('not a name!', {description: '', run: () => 1})")
    with pytest.raises(Exception, match="holdToTalk needs a client made with pushToTalk: true"):
        page.evaluate("client.holdToTalk()")


# One button that begins and ends the call, and the space bar to speak.
HOLD = """const button = document.querySelector("button");
button.onclick = () => (client.isActive ? client.stop() : client.start());
window.let_go = client.holdToTalk();
document.body.append(document.createElement("input"));"""


def test_the_space_bar_speaks_and_neither_hangs_up_nor_types(page: Page, lab: Lab) -> None:
    lab("--model", "scripted", pushToTalk=True)
    page.evaluate(f"{{ {HOLD} }}")
    page.get_by_role("button").focus()
    page.keyboard.press("Space")
    until(page, "client.microphone.isOpen")
    page.keyboard.down("Space")
    assert page.evaluate("client.isPressed") is True
    page.evaluate("told.levels.user = 0")
    until(page, "told.levels.user > 0.2")
    frames_pass(page, 25)
    page.keyboard.up("Space")
    until(page, "told.events.includes('agent_input_committed')")
    assert page.evaluate("client.isActive") is True
    page.get_by_role("textbox").press("Space")
    assert page.evaluate("[client.isPressed, document.querySelector('input').value]") == [False, " "]
    page.evaluate("let_go()")
    page.get_by_role("button").focus()
    page.keyboard.press("Space")
    until(page, "client.state === 'ended'")


def test_a_button_that_is_held_to_talk_is_not_clicked(page: Page, lab: Lab) -> None:
    lab("--model", "scripted", pushToTalk=True)
    page.evaluate("""{
      const button = document.querySelector("button");
      button.onclick = () => (client.isActive ? client.stop() : client.start());
      void client.holdToTalk(button);
    }""")
    page.get_by_role("button").click()
    until(page, "client.microphone.isOpen")
    page.get_by_role("button").hover()
    page.mouse.down()
    assert page.evaluate("client.isPressed") is True
    frames_pass(page, 30)
    page.mouse.up()
    until(page, "told.events.includes('agent_input_committed') && !client.isPressed")
    assert page.evaluate("client.isActive") is True
