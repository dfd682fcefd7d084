"""The committed page: small, whole, and asking nobody but its own server. `tests/tools` rebuilds and compares it."""

import json
import re
from pathlib import Path

import pytest

WEB = Path(__file__).resolve().parents[2] / "web"
MAX_SCRIPT_BYTES = 60_000
# Names of document types, not addresses that are fetched.
NAMESPACES = {"http://www.w3.org/2000/svg"}


def texts(folder: Path, *suffixes: str) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.suffix in suffixes
    }


@pytest.mark.parametrize("page", ["page.js", "transcript.js"])
def test_all_scripts_of_a_page_together_stay_small(page: str) -> None:
    scripts = texts(WEB / "dist", ".js")
    assert {"page.js", "transcript.js", "worklets/capture.js", "worklets/playback.js"} <= scripts.keys()
    loaded = [text for name, text in scripts.items() if name == page or name not in ("page.js", "transcript.js")]
    assert sum(map(len, loaded)) < MAX_SCRIPT_BYTES


def test_nothing_is_loaded_from_another_host() -> None:
    for name, text in texts(WEB / "dist", ".js", ".css", ".html", ".svg").items():
        # What follows a backslash is the end of a regular expression.
        assert set(re.findall(r"(?:https?:)?(?<!\\)//[\w.-]+\.\w{2,}[^\s\"'`)]*", text)) <= NAMESPACES, name


def test_no_text_becomes_markup_or_code() -> None:
    unsafe = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.cssText")
    found = {name: unsafe.findall(text) for name, text in texts(WEB / "src", ".ts").items() if unsafe.search(text)}
    assert found == {}


def test_the_lock_names_hashes_and_no_registry() -> None:
    packages = json.loads((WEB / "package-lock.json").read_text())["packages"]
    del packages[""]
    assert all(package["integrity"].startswith("sha512-") for package in packages.values())
    assert [name for name, package in packages.items() if "resolved" in package] == []
