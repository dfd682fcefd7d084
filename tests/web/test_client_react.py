"""The React hook, in an application with a React of its own."""

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.message.test_npm_package import code_blocks
from tests.npm import VITE, pack, run_node, run_npm
from tests.web.conftest import ROOT, Serving
from tests.web.hosting import site
from tests.web.test_client_examples import APP, PRINTED

REACT = ("react@19.3.1", "react-dom@19.3.1")
MAIN = """
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Talk } from "./talk.tsx";
createRoot(document.querySelector("div")).render(<StrictMode><Talk /></StrictMode>);
"""
PAGE = '<!doctype html><title>Talk</title><div></div><script type="module" src="main.tsx"></script>'
CONFIG = 'export default { oxc: { jsx: { runtime: "automatic" } } };'


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An application with React, this package, and the component that the guide prints."""
    if not VITE.is_file():
        pytest.skip("web/node_modules is not installed (make test does it)")
    folder = tmp_path_factory.mktemp("react")
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    try:
        run_npm(["install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts", *REACT], folder)
    except AssertionError:
        pytest.skip("no registry gives React here")
    with tarfile.open(pack(ROOT / "web/packages/client", folder)) as archive:
        archive.extractall(folder, filter="data")
    shutil.move(folder / "package", folder / "node_modules/@realtime-voice/client")
    (component,) = code_blocks(ROOT / "docs/web-client.md", "tsx")
    for name, text in {"talk.tsx": component, "main.tsx": MAIN, "index.html": PAGE, "vite.config.js": CONFIG}.items():
        (folder / name).write_text(text)
    return folder


def test_the_printed_component_talks_and_its_call_ends_with_it(
    app: Path, page: Page, serve: Callable[..., Serving]
) -> None:
    with site() as shop:
        serving = serve(f"{APP}:make_agent", "--allow-embed", shop.address)
        component = app / "talk.tsx"
        component.write_text(component.read_text().replace(PRINTED, serving.address))
        run_node([str(VITE), "build", "--logLevel", "warn"], app)
        built = app / "dist"
        files = [path for path in built.rglob("*") if path.is_file()]
        shop.put({path.relative_to(built).as_posix(): path.read_bytes() for path in files})
        page.goto(shop.address)
        expect(page.get_by_role("status")).to_have_text("idle")
        page.get_by_role("button", name="Talk").click()
        expect(page.get_by_role("listitem").last).to_have_text("agent: I stopped.")
        page.get_by_role("button", name="Talk").click()
        expect(page.get_by_role("status")).to_have_text("ended")
