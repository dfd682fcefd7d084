"""The client package on a page of somebody else: a call by voice, by writing, by tools, and what goes wrong."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.client_lab import said
from tests.web.conftest import OpenPage, Serve, Serving
from tests.web.hosting import Site
from tests.web.pages import until

HERE = Path(__file__).parent
ANSWERER = f"{HERE / 'latency_app.py'}:make_answerer"
KEPT = ("--store", "memory:")
EXCHANGE = [("user", "Sound 1."), ("agent", "Answer 1.")]


@pytest.fixture
def page(open_page: OpenPage, one_sound: Path) -> Page:
    """Its microphone hears a sound."""
    return open_page(one_sound, permissions=["microphone"])


def test_both_ends_are_heard_and_metered(page: Page, lab: Callable[..., Serving]) -> None:
    lab(ANSWERER, *KEPT)
    page.evaluate("client.start()")
    until(page, "client.messages.list.length === 2 && client.state === 'listening'")
    assert said(page) == EXCHANGE
    assert page.evaluate("told.levels.agent > 0.2 && told.levels.user > 0.2") is True
    assert {"connecting", "hearing", "speaking", "listening"} <= set(page.evaluate("told.states"))
    assert page.evaluate("[told.errors, client.agent.name, client.microphone.isOpen]") == [[], "Echo", True]
    page.evaluate("client.stop()")
    until(page, "client.state === 'ended' && !client.microphone.isOpen")


@pytest.mark.parametrize(
    "tool",
    [
        "'area', {description: 'Work out an area.', run: ({width, height}) => width * height}",
        "'area', ({width, height}) => width * height",
        "{node: 'TOOL', name: 'area', handler: async ({width, height}) => width * height}",
    ],
    ids=["name and tool", "name and function", "one object"],
)
def test_a_tool_of_the_page_runs_and_its_result_is_spoken(page: Page, lab: Callable[..., Serving], tool: str) -> None:
    """AFL-24: tools of the browser are registered by name on the client.

    RTA-20: declared by the client, called by the model, computed in JavaScript, told by the model in its answer.
    """
    lab(f"{HERE / 'scripted_app.py'}:make_calculator", *KEPT)
    page.evaluate(f"client.registerTool({tool})")
    page.evaluate("client.sendText('How large is it?')")
    until(page, "client.messages.list.at(-1)?.text === 'It has 41369.' && told.levels.agent > 0")
    assert said(page)[:2] == [("user", "How large is it?"), ("tool", "41369")]
    assert page.evaluate("client.microphone.isOpen") is False


def test_the_element_talks_by_keyboard_and_shows_states_and_captions(
    page: Page, element: Callable[..., Serving]
) -> None:
    element(ANSWERER, *KEPT, attributes="captions")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="End")).to_have_attribute("aria-pressed", "true")
    who = {"user": "You", "agent": "Echo"}
    expect(page.get_by_role("listitem")).to_have_text([f"{who[side]}: {words}" for side, words in EXCHANGE])
    until(page, "client.state === 'listening'")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Talk")).to_have_attribute("aria-pressed", "false")
    states = page.evaluate("told.states")
    assert (states[0], states[-1]) == ("connecting", "ended")
    assert {"hearing", "speaking", "listening"} <= set(states)


def test_a_reloaded_page_goes_on_with_its_call(page: Page, lab: Callable[..., Serving]) -> None:
    lab("--model", "scripted", *KEPT, "--grace", "600")
    page.evaluate("client.sendText('Are you there?')")
    until(page, "client.messages.list.length === 2 && client.state === 'listening'")
    call = page.evaluate("client.callId")
    page.reload()
    page.evaluate("make({})")
    assert page.evaluate("client.canResume") is True
    page.evaluate("client.start({microphone: false})")
    until(page, "client.state === 'listening' && client.messages.list.length === 2")
    assert page.evaluate("client.callId") == call
    assert said(page)[0] == ("user", "Are you there?")


def test_the_element_of_an_origin_that_may_call_nothing_says_so(page: Page, shop: Site, serve: Serve) -> None:
    serving = serve("--model", "scripted", "--allow-embed", "http://other.example")
    # The package as a file of the page's own.
    script = page.request.get(f"{serving.address}/client/realtime.script.js").body()
    voice = f'<realtime-voice server="{serving.address}"></realtime-voice>'
    shop.put({"own.js": script, "index.html": f'<!doctype html><script src="own.js"></script>{voice}'})
    logged: list[str] = []
    page.on("console", lambda line: logged.append(line.text))
    page.goto(shop.address)
    page.get_by_role("button", name="Talk").click()
    expect(page.get_by_role("alert")).to_have_text(
        "This page may not call: its developer has to allow it at the server."
    )
    assert any("--allow-embed or --allow-origin lets them" in line for line in logged)
