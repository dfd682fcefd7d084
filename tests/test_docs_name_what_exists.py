"""The documents name files, options, variables, measurements, classes and methods that exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from bench.__main__ import _measurements
from tests.test_layers import LAYERS

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
FILE = re.compile(
    r"(?<![\w./~-])((?:bench|docs|examples|fixtures|realtime|requirements|tests|tools|web)/[\w./-]*[\w/])"
)
PART = re.compile(r"(?<![\w./-])((?:agent|audio|call|dialects|model|room|server|state|turn)/(?:[\w/]+\.py)?)")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
MEASUREMENT = re.compile(r"python -m bench ([a-z][a-z-]*)")
VARIABLE = re.compile(r"\bREALTIME_[A-Z_]+")
OPTION = re.compile(r"`(--[a-z][a-z-]+)")
MEMBER = re.compile(r"\b([A-Z][A-Za-z]+)\.(?!md\b)([A-Za-z]\w+)")
EVENT = re.compile(r"\b((?:Agent|Client|Model|Server)[A-Za-z]+Event)\b")
OF_UVICORN = {"--ws-per-message-deflate"}
STYLES = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "web" / "packages").rglob("*.css"))
"""Colours of the pages are named like options."""
MADE_BY_THE_READER = ("fixtures/calls/", "fixtures/cassettes", "web/node_modules")


@cache
def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@cache
def in_typescript() -> set[str]:
    """The names in our TypeScript."""
    files = [*(ROOT / "web" / "packages").rglob("*.ts")]
    assert files
    return {name for path in files for name in re.findall(r"[A-Za-z]\w+", path.read_text(encoding="utf-8"))}


@pytest.fixture(scope="module")
def sources() -> str:
    folders = (ROOT / name for name in ("realtime", "tests", "bench", "tools"))
    here = Path(__file__)
    return "\n".join(
        path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py") if path != here
    )


@pytest.fixture(scope="module")
def members() -> dict[str, set[str]]:
    """What each class of the package has of its own and from its bases, by the name of the class."""
    own: dict[str, set[str]] = {}
    bases: dict[str, set[str]] = {}
    for path in (ROOT / "realtime").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                names = own.setdefault(node.name, set())
                for one in ast.walk(node):
                    match one:
                        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                            names.add(name)
                        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                            names.add(name)
                        case (
                            ast.AnnAssign(target=ast.Attribute(attr=name))
                            | ast.Assign(targets=[ast.Attribute(attr=name)])
                        ):
                            names.add(name)
                bases.setdefault(node.name, set()).update(base.id for base in node.bases if isinstance(base, ast.Name))

    def all_of(name: str) -> set[str]:
        return own.get(name, set()).union(*(all_of(base) for base in bases.get(name, ()) if base != name))

    return {name: all_of(name) for name in own}


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_is_there(page: str) -> None:
    named = set(FILE.findall(text_of(page)))
    missing = {name for name in named if not (ROOT / name).exists() and not name.startswith(MADE_BY_THE_READER)}
    assert missing == set()


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_file(page: str) -> None:
    folder = (ROOT / page).parent
    assert {link for link in LINK.findall(text_of(page)) if not (folder / link).exists()} == set()


@pytest.mark.parametrize("page", PAGES)
def test_every_member_of_a_class_that_is_named_is_there(page: str, members: dict[str, set[str]]) -> None:
    """In Python, or in TypeScript."""
    named = {(kind, name) for kind, name in MEMBER.findall(text_of(page)) if kind in members}
    assert {f"{kind}.{name}" for kind, name in named if name not in members[kind] | in_typescript()} == set()


def test_the_architecture_names_parts_classes_and_events_that_exist(members: dict[str, set[str]]) -> None:
    page = text_of("docs/architecture.md")
    assert {name for name in PART.findall(page) if not (ROOT / "realtime" / name).exists()} == set()
    assert {kind for kind, _ in MEMBER.findall(page) if kind not in members} == set()
    assert {name for name in EVENT.findall(page) if name not in members} == set()


def test_the_architecture_has_every_part_in_the_order_of_the_layers() -> None:
    layout = text_of("docs/architecture.md").partition("## The layout")[2].partition("\n## ")[0]
    parts = re.findall(r"`realtime/(\w+)(?:/|\.py)`(?=[^|\n]*\|[^|\n]*\|[^|\n]*\|)", layout)
    heights = {name: height for height, names in enumerate(LAYERS) for name in names}
    built = {path.name.removesuffix(".py") for path in (ROOT / "realtime").iterdir() if path.suffix != ".typed"}
    assert set(parts) == built - {"__init__", "__pycache__"} - LAYERS[-1], (
        "the last row re-exports, by the documented names"
    )
    ordered = [heights[name] for name in parts if name in heights]
    assert ordered == sorted(ordered)


@pytest.mark.parametrize("page", PAGES)
def test_every_measurement_variable_and_option_that_is_named_is_there(page: str, sources: str) -> None:
    options = type("Options", (), {"quick": True})()
    assert set(MEASUREMENT.findall(text_of(page))) <= {*_measurements(options)}
    assert {name for name in VARIABLE.findall(text_of(page)) if name not in sources} == set()
    unknown = {
        name
        for name in OPTION.findall(text_of(page))
        if name not in OF_UVICORN
        and f'"{name}' not in sources
        and f"{name.removeprefix('--').replace('-', '_')}:" not in sources
        and f"{name}:" not in STYLES
    }
    assert unknown == set()


def test_every_decision_has_a_date_and_a_status() -> None:
    _, *decisions = text_of("docs/decisions.md").split("\n## ")
    dated = re.compile(r".+\n\n\*\d{4}-\d\d-\d\d · (in force|superseded by)")
    assert [one.partition("\n")[0] for one in decisions if not dated.match(one)] == []
