"""The pages on performance and testing name files, options, variables and measurements that exist."""

import re
from pathlib import Path

import pytest

from bench.__main__ import _measurements

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["docs/performance.md", "docs/testing.md"]
FILE = re.compile(r"`(?:pytest )?((?:bench|docs|fixtures|realtime|tests|tools|web)/[\w./-]+)")
MEASUREMENT = re.compile(r"python -m bench ([a-z][a-z-]*)")
VARIABLE = re.compile(r"\bREALTIME_[A-Z_]+")
OPTION = re.compile(r"`(--[a-z][a-z-]+)")
MADE_BY_THE_GUIDE = ("fixtures/calls/", "fixtures/cassettes")


@pytest.fixture(scope="module")
def sources() -> str:
    folders = (ROOT / name for name in ("realtime", "tests", "bench", "tools"))
    here = Path(__file__)
    return "\n".join(
        path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py") if path != here
    )


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_is_there(page: str) -> None:
    named = set(FILE.findall((ROOT / page).read_text(encoding="utf-8")))
    missing = {name for name in named if not (ROOT / name).exists() and not name.startswith(MADE_BY_THE_GUIDE)}
    assert missing == set()


@pytest.mark.parametrize("page", PAGES)
def test_every_measurement_variable_and_option_that_is_named_is_there(page: str, sources: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    options = type("Options", (), {"quick": True})()
    assert set(MEASUREMENT.findall(text)) <= {*_measurements(options)}
    assert {name for name in VARIABLE.findall(text) if name not in sources} == set()
    unknown = {
        name
        for name in OPTION.findall(text)
        if f'"{name}' not in sources and f"{name.removeprefix('--').replace('-', '_')}:" not in sources
    }
    assert unknown == set()
