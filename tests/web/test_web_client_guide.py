"""The guide for web developers: each page of it talks, and each sample runs in a browser."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.message.test_npm_package import code_blocks
from tests.web.conftest import ROOT, Serving
from tests.web.hosting import site
from tests.web.test_client_examples import APP, PRINTED

pytestmark = pytest.mark.rotates(1 / 2)

Serve = Callable[..., Serving]

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


@pytest.mark.parametrize("html", PAGES, ids=["script", "element"])
def test_each_page_talks(page: Page, serve: Serve, html: str) -> None:
    assert PRINTED in html
    with site() as shop:
        serving = serve(f"{APP}:make_agent", "--allow-embed", shop.address)
        shop.put({"index.html": html.replace(PRINTED, serving.address)})
        page.goto(shop.address)
        page.get_by_role("button", name="Talk").click()
        expect(page.get_by_role("listitem").last).to_contain_text("I stopped.")


@pytest.mark.parametrize("number", range(len(SAMPLES)))
def test_each_sample_runs(page: Page, serve: Serve, number: int) -> None:
    # They have two types, which a browser does not read.
    sample = SAMPLES[number].replace(": Promise<string>", "")
    with site() as shop:
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
