"""The guide for web developers: each page of it talks, and each sample runs in a browser."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.message.test_npm_package import code_blocks
from tests.web.conftest import ROOT, Serve, Serving
from tests.web.hosting import Site
from tests.web.test_client_examples import APP, PRINTED

GUIDE = ROOT / "docs" / "web-client.md"
PAGES = code_blocks(GUIDE, "html")
SAMPLES = code_blocks(GUIDE, "ts")
MOST_LINES = 15
# A sample as the script of a page: the name of the package stands for the server's file.
AROUND = """<!doctype html><title>Sample</title><button>Talk</button>
<script type="importmap">{"imports": {"@realtime-voice/client": "SERVER/client/realtime.js"}}</script>
<script type="module">
const socketOf = (Own) => class extends Own {
  constructor(...given) { super(...given); (window.sockets ??= []).push(this); }
};
window.WebSocket = socketOf(WebSocket);
try { await import("/sample.js"); window.done = "ran"; } catch (error) { window.done = String(error); }
</script>"""


def test_the_first_page_is_short() -> None:
    assert len(PAGES) == 2
    assert len(PAGES[0].splitlines()) <= MOST_LINES


def talk(page: Page, shop: Site, serving: Serving, html: str) -> None:
    """Open a page of the guide at the shop, and press its button."""
    shop.put({"index.html": html.replace(PRINTED, serving.address)})
    page.goto(shop.address)
    page.get_by_role("button", name="Talk").click()


@pytest.mark.night
@pytest.mark.parametrize("html", PAGES, ids=["script", "element"])
def test_each_page_talks(page: Page, shop: Site, serve: Serve, html: str) -> None:
    assert PRINTED in html
    talk(page, shop, serve(APP, "--allow-embed", shop.address), html)
    expect(page.get_by_role("listitem").last).to_contain_text("I stopped.")


@pytest.mark.night
def test_the_first_page_shows_state_and_problem_side_by_side(page: Page, shop: Site, serve: Serve) -> None:
    talk(page, shop, serve(APP, "--token", "secret", "--allow-embed", shop.address), PAGES[0])
    expect(page.get_by_role("alert")).to_have_text("This page may not call: its developer has to give it a token.")
    expect(page.get_by_role("status")).to_have_text("ended")


@pytest.mark.night
def test_the_page_without_script_calls_its_agent_as_the_agent_calls_itself(
    page: Page, shop: Site, serve: Serve
) -> None:
    talk(page, shop, serve("--model", "local", "--allow-embed", shop.address), PAGES[1])
    expect(page.get_by_role("listitem").first).to_contain_text("Robin: ")
    page.evaluate("document.querySelector('realtime-voice').client.sendText('What is your name?')")
    expect(page.get_by_role("listitem").filter(has_text="Robin: ").last).to_contain_text("Robin")
    assert "Heart" not in "".join(page.get_by_role("listitem").all_text_contents())


@pytest.mark.night
def test_the_printed_backend_gets_tokens(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    from fastapi.testclient import TestClient

    (backend,) = code_blocks(GUIDE, "python")
    serving = serve("--model", "scripted", "--token", "secret")
    monkeypatch.setenv("REALTIME_TOKEN", "secret")
    made: dict[str, Any] = {}
    exec(backend.replace(PRINTED, serving.address), made)
    answer = TestClient(made["app"]).post("/voice-token").json()
    assert answer["token"].startswith("ct_")


@pytest.mark.night
@pytest.mark.parametrize("number", range(len(SAMPLES)))
def test_each_sample_runs(page: Page, shop: Site, serve: Serve, number: int) -> None:
    # They have two types, which a browser does not read.
    sample = SAMPLES[number].replace(": Promise<string>", "")
    serving = serve("--model", "scripted", "--allow-embed", shop.address)
    shop.put({"index.html": AROUND.replace("SERVER", serving.address)})
    shop.put({"sample.js": sample.replace(PRINTED, serving.address)})
    shop.put({"voice-token": json.dumps({"token": ""})})
    page.goto(shop.address)
    page.wait_for_function("window.done !== undefined")
    assert page.evaluate("window.done") == "ran"
    if not page.evaluate("window.sockets?.length"):
        page.get_by_role("button").click()
    page.wait_for_function("window.sockets?.at(-1)?.readyState === 1")
