"""Take pictures of the pages in each of their states: `python tools/make_screenshots.py [FOLDER] [STATE ...]`.

The folder is `build/screenshots` unless given; the states are those of `tests/web/page_scenes.py` and
`tests/web/call_scenes.py`, all unless named. Each is shown in light and dark at three widths. Needs Chromium and the
built page, and no network.
"""

from __future__ import annotations

import shutil
import sys
import threading
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, ViewportSize, sync_playwright

from tests.web import call_scenes
from tests.web.conftest import CHROMIUM_ARGUMENTS, CHROMIUM_NAMES, DIST, ScriptedServer, StaticPage
from tests.web.page_scenes import SCENES

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "screenshots"
SIZES: tuple[ViewportSize, ...] = (
    {"width": 390, "height": 844},
    {"width": 768, "height": 1024},
    {"width": 1440, "height": 900},
)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    chromium = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if chromium is None:
        raise SystemExit("no Chromium on this machine: apt-get install chromium")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(StaticPage, directory=str(DIST))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGUMENTS)
            for state in sys.argv[2:] or [*SCENES, *call_scenes.SCENES]:
                take(browser, address, state, folder)
            browser.close()
        server.shutdown()


def take(browser: Browser, address: str, state: str, folder: Path) -> None:
    """Take the pictures of one state."""
    for scheme in SCHEMES:
        for size in SIZES:
            context = browser.new_context(viewport=size, color_scheme=scheme, permissions=["microphone", "camera"])
            page = context.new_page()
            if state in SCENES:
                SCENES[state](page, ScriptedServer(page), address)
            else:
                call_scenes.answer(page)
                call_scenes.SCENES[state](page, address)
            page.screenshot(path=folder / f"{state}-{scheme}-{size['width']}.png")
            context.close()
    print(state)


if __name__ == "__main__":
    main()
