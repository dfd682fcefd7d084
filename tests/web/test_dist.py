"""The committed page: small, whole, without other hosts. `tests/tools` rebuilds and compares it."""

import json
import posixpath
import re
from pathlib import Path, PurePosixPath

import pytest

WEB = Path(__file__).resolve().parents[2] / "web"
MAX_SCRIPT_BYTES = {"page.js": 68_000, "transcript.js": 60_000, "room.js": 76_000}
"""Of each page: its own script, what that imports, and its worklets."""
# Names of document types, not addresses that are fetched.
NAMESPACES = {"http://www.w3.org/2000/svg"}


def texts(folder: Path, *suffixes: str) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.suffix in suffixes
    }


def loaded_by(page: str, scripts: dict[str, str]) -> set[str]:
    """The scripts that a page's entry imports, directly or not, and the worklets whose paths they name."""
    loaded: set[str] = set()
    waiting = {page}
    while waiting:
        name = waiting.pop()
        loaded.add(name)
        folder = PurePosixPath(name).parent
        found = re.findall(r"""["'`](\.\.?/[\w/-]+\.js)["'`]""", scripts[name])
        waiting |= {posixpath.normpath(str(folder / path)) for path in found} - loaded
    return loaded


@pytest.mark.parametrize(
    ("page", "worklets"),
    [
        ("page.js", {"worklets/capture.js", "worklets/playback.js"}),
        ("transcript.js", set()),
        ("room.js", {"worklets/capture.js", "worklets/playback.js", "worklets/voices.js"}),
    ],
)
def test_all_scripts_of_a_page_together_stay_small(page: str, worklets: set[str]) -> None:
    scripts = texts(WEB / "dist", ".js")
    loaded = loaded_by(page, scripts)
    assert {name for name in loaded if name.startswith("worklets/")} == worklets
    assert sum(len(scripts[name]) for name in loaded) < MAX_SCRIPT_BYTES[page]


def test_nothing_is_loaded_from_another_host() -> None:
    for name, text in texts(WEB / "dist", ".js", ".css", ".html", ".svg").items():
        # What follows a backslash is the end of a regular expression.
        assert set(re.findall(r"(?:https?:)?(?<!\\)//[\w.-]+\.\w{2,}[^\s\"'`)]*", text)) <= NAMESPACES, name


def test_no_text_becomes_markup_or_code() -> None:
    unsafe = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.cssText")
    found = {name: unsafe.findall(text) for name, text in texts(WEB / "packages", ".ts").items() if unsafe.search(text)}
    assert found == {}


def test_the_page_has_words_for_every_reason_of_an_interruption() -> None:
    docs = (WEB.parent / "docs" / "listening.md").read_text(encoding="utf-8")
    rows = docs.partition("| reason | rule |")[2].partition("\n\n")[0].splitlines()[2:]
    reasons = {reason for row in rows for reason in re.findall(r"`(\w+)`", row.split("|")[1])}
    words = (WEB / "packages" / "page" / "src" / "interruption-words.ts").read_text(encoding="utf-8")
    assert reasons == set(re.findall(r"^  (\w+): ", words, re.MULTILINE))


def test_the_lock_names_hashes_and_no_registry() -> None:
    packages = json.loads((WEB / "package-lock.json").read_text())["packages"]
    del packages[""]
    assert all(package["integrity"].startswith("sha512-") for package in packages.values())
    assert [name for name, package in packages.items() if "resolved" in package] == []
