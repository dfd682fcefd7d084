"""The React hook, in an application with a React of its own."""

import shutil
import tarfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.message.test_npm_package import code_blocks
from tests.npm import pack, run_npm
from tests.web.conftest import ROOT, Serve
from tests.web.hosting import Site
from tests.web.test_client_examples import APP, CLIENT, needs_vite, point_to, put_built

pytestmark = [pytest.mark.night, needs_vite]

REACT = ("react@19.3.1", "react-dom@19.3.1")
MAIN = """
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Talk } from "./talk.tsx";
createRoot(document.querySelector("div")).render(<StrictMode><Talk /></StrictMode>);
"""
PAGE = '<!doctype html><title>Talk</title><div></div><script type="module" src="main.tsx"></script>'
CONFIG = 'export default { oxc: { jsx: { runtime: "automatic" } } };'


def test_the_printed_component_talks_and_its_call_ends_with_it(
    page: Page, shop: Site, serve: Serve, tmp_path: Path
) -> None:
    """An application with React, this package, and the component that the guide prints."""
    (tmp_path / "package.json").write_text('{"private": true, "type": "module"}')
    try:
        run_npm(["install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts", *REACT], tmp_path)
    except AssertionError:
        pytest.skip("no registry gives React here")
    with tarfile.open(pack(CLIENT, tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    shutil.move(tmp_path / "package", tmp_path / "node_modules/@realtime-voice/client")
    (component,) = code_blocks(ROOT / "docs/web-client.md", "tsx")
    for name, text in {"talk.tsx": component, "main.tsx": MAIN, "index.html": PAGE, "vite.config.js": CONFIG}.items():
        (tmp_path / name).write_text(text)
    point_to(serve(APP, "--allow-embed", shop.address), tmp_path / "talk.tsx")
    put_built(shop, tmp_path)
    page.goto(shop.address)
    expect(page.get_by_role("status")).to_have_text("idle")
    page.get_by_role("button", name="Talk").click()
    expect(page.get_by_role("listitem").last).to_have_text("agent: I stopped.")
    page.get_by_role("button", name="Talk").click()
    expect(page.get_by_role("status")).to_have_text("ended")
