"""The committed page: small, whole, without other hosts. `tests/tools` rebuilds and compares it."""

import gzip
import json
import posixpath
import re
from pathlib import Path, PurePosixPath

import pytest

WEB = Path(__file__).resolve().parents[2] / "web"
MAX_GZIPPED_BYTES = 70_000
"""Of each page: markup, styles, its script with what that imports, and its worklets; no language but English."""
LANGUAGES = {"de.js", "es.js", "zh.js"}
# Names of document types, not addresses that are fetched.
NAMESPACES = {"http://www.w3.org/2000/svg"}


def texts(folder: Path, *suffixes: str) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.suffix in suffixes
    }


def loaded_by(page: str, scripts: dict[str, str]) -> set[str]:
    """The scripts that a page's entry imports at once, directly or not, and the worklets whose paths they name."""
    loaded: set[str] = set()
    waiting = {page}
    while waiting:
        name = waiting.pop()
        loaded.add(name)
        folder = PurePosixPath(name).parent
        at_once = re.sub(r"import\([^)]*\)", "", scripts[name])
        found = re.findall(r"""["'`](\.\.?/[\w/-]+\.js)["'`]""", at_once)
        waiting |= {posixpath.normpath(str(folder / path)) for path in found} - loaded
    return loaded


@pytest.mark.parametrize(
    ("page", "name", "worklets"),
    [
        ("index", "page", {"worklets/capture.js", "worklets/playback.js"}),
        ("transcript", "transcript", set()),
        ("room", "room", {"worklets/capture.js", "worklets/playback.js", "worklets/voices.js"}),
    ],
)
def test_a_page_with_all_that_it_loads_stays_small(page: str, name: str, worklets: set[str]) -> None:
    files = texts(WEB / "dist", ".js", ".css", ".html")
    loaded = loaded_by(f"{name}.js", files)
    assert {one for one in loaded if one.startswith("worklets/")} == worklets
    assert not loaded & LANGUAGES
    whole = {f"{page}.html", f"{name}.css", *loaded}
    assert sum(len(gzip.compress(files[one].encode())) for one in whole) < MAX_GZIPPED_BYTES


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
