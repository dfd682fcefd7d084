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
from tests.web.test_client_package import ANSWERED, frames_pass, start

pytestmark = pytest.mark.night

Lab = Callable[..., Serving]

APP = Path(__file__).with_name("scripted_app.py")
NO_MICROPHONE = {
    "NotAllowedError": "microphone_refused",
    "NotFoundError": "microphone_missing",
    "NotReadableError": "microphone_busy",
}
NO_STRING = "No token: the token function returned {}, not a string."
MAY_NOT = "This page may not call: its developer has to give it a token."
NOT_GIVEN = "The server refuses the call: no token was given: show that of --token"
LOGGED_OUT = "No token: logged out."
WRONG = "This page may not call: its permission is wrong or has expired."
REFUSED = "The server refuses the call: the token is wrong: show that of --token"
NO_PASS = "The page got no permission to call from its own server."
# The options of a client, its problem, and what its user and its developer are told ("": the developer gets no more
# than the user); the shop is no server.
TOKENS: dict[str, tuple[str, str, str, str]] = {
    "no token": ("{}", "refused", MAY_NOT, NOT_GIVEN),
    "a wrong token": ("{token: 'wrong'}", "refused", WRONG, REFUSED),
    "a function that returns nothing": ("{token: () => undefined}", "no_token", NO_PASS, NO_STRING.format("undefined")),
    "a function that returns null": ("{token: () => null}", "no_token", NO_PASS, NO_STRING.format("null")),
    "a function that returns a number": ("{token: () => 7}", "no_token", NO_PASS, NO_STRING.format("7")),
    "a function that fails": (
        "{token: () => Promise.reject(new Error('logged out'))}",
        "no_token",
        NO_PASS,
        LOGGED_OUT,
    ),
    "no server": (
        "{server: location.origin}",
        "unreachable",
        "The server cannot be reached.",
        "No answer: the server is away",
    ),
    "a server of another version": (
        "{server: location.origin + '/v9/'}",
        "other_version",
        "have different versions",
        "",
    ),
}
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


def test_what_a_client_without_a_call_is_told_names_the_problem_to_user_and_developer(
    page: Page, lab: Lab, shop: Site
) -> None:
    logged: list[str] = []
    page.on("console", lambda line: logged.append(line.text))
    shop.put({"v9/api/info": '{"protocols": ["realtime.v9"]}'})
    lab("--model", "scripted", "--token", "secret")
    for case, (options, problem, sentence, detail) in TOKENS.items():
        page.evaluate(f"make({options})")
        start(page, "told.errors.length === 1")
        told, said, more = page.evaluate("[told.errors[0], told.sentences[0], told.details[0]]")
        assert (told, sentence in said) == (problem, True), (case, said)
        assert detail in more if detail else more == "", (case, more)
        assert more in ("", *logged), case


def test_without_a_microphone_the_call_goes_on_in_writing(page: Page, lab: Lab) -> None:
    lab("--model", "scripted")
    for name, problem in NO_MICROPHONE.items():
        refuse = f"() => Promise.reject(new DOMException('', '{name}'))"
        # Playwright calls a function that an expression gives.
        page.evaluate(f"void (navigator.mediaDevices.getUserMedia = {refuse})")
        page.evaluate("make({})")
        start(page, "told.errors.length === 1")
        assert page.evaluate("told.errors") == [problem]
        assert page.evaluate("told.sentences[0]").endswith("then try again.")
        page.evaluate("client.sendText('Are you there?')")
        until(page, ANSWERED)
        page.evaluate("client.stop()")


def test_a_server_whose_first_words_are_unknown_is_of_another_version(page: Page, lab: Lab) -> None:
    page.route_web_socket("**/ws/**", lambda socket: socket.on_message(lambda _: socket.send('{"type": "hello_v9"}')))
    lab("--model", "scripted")
    start(page, "client.state === 'ended'")
    assert page.evaluate("told.errors") == ["other_version"]


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


def test_a_wrong_server_is_refused_at_once_by_the_element_and_told_its_developer(page: Page, element: Lab) -> None:
    element("--model", "scripted")
    page.evaluate("document.body.innerHTML = '<realtime-voice server=\"htp:nonsense\"></realtime-voice>'")
    page.evaluate("void (window.onerror = () => (window.isInConsole = true))")
    page.get_by_role("button", name="Talk").click()
    expect(page.get_by_role("alert")).to_contain_text("This page cannot call: its developer has to correct it")
    assert page.evaluate("window.isInConsole") is True


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
    until(page, "client.messages.list.some(({from, text}) => from === 'agent' && text !== '')")
    assert page.evaluate("client.isActive") is True
    page.get_by_role("textbox").press("Space")
    assert page.evaluate("[client.isPressed, document.querySelector('input').value]") == [False, " "]
    page.evaluate("let_go()")
    page.get_by_role("button").focus()
    page.keyboard.press("Space")
    until(page, "client.state === 'ended'")
