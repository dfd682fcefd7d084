"""Say where the documents name what does not exist.

Files, links, members of classes, measurements, variables and options of all pages; parts, classes and events of the
architecture; date and status of each decision.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from bench.__main__ import _measurements
from tools.sources import nodes_of

ROOT = Path(__file__).resolve().parent.parent
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
MADE_BY_THE_READER = ("fixtures/calls/", "fixtures/cassettes", "web/node_modules")
HAS_PARTS = "docs/architecture.md"


def read(paths: Iterable[Path]) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@cache
def text_of(page: str) -> str:
    return read([ROOT / page])


@cache
def in_typescript() -> set[str]:
    """The names in our TypeScript."""
    return {*re.findall(r"[A-Za-z]\w+", read((ROOT / "web" / "packages").rglob("*.ts")))}


@cache
def sources() -> str:
    folders = (ROOT / name for name in ("realtime", "tests", "bench", "tools"))
    return read(path for folder in folders for path in folder.rglob("*.py") if path != Path(__file__))


@cache
def styles() -> str:
    """Colours of the pages are named like options."""
    return read((ROOT / "web" / "packages").rglob("*.css"))


@cache
def members() -> dict[str, set[str]]:
    """What each class of the package has of its own and from its bases, by the name of the class."""
    own: dict[str, set[str]] = {}
    bases: dict[str, set[str]] = {}
    for path in (ROOT / "realtime").rglob("*.py"):
        for node in nodes_of(path):
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


def missing_files(page: str) -> set[str]:
    named = set(FILE.findall(text_of(page)))
    return {name for name in named if not (ROOT / name).exists() and not name.startswith(MADE_BY_THE_READER)}


def missing_links(page: str) -> set[str]:
    folder = (ROOT / page).parent
    return {link for link in LINK.findall(text_of(page)) if not (folder / link).exists()}


def missing_members(page: str) -> set[str]:
    """Of classes, in Python or in TypeScript."""
    named = {(kind, name) for kind, name in MEMBER.findall(text_of(page)) if kind in members()}
    return {f"{kind}.{name}" for kind, name in named if name not in members()[kind] | in_typescript()}


def missing_measurements(page: str) -> set[str]:
    options = type("Options", (), {"quick": True})()
    return set(MEASUREMENT.findall(text_of(page))) - {*_measurements(options)}


def missing_variables(page: str) -> set[str]:
    return {name for name in VARIABLE.findall(text_of(page)) if name not in sources()}


def missing_options(page: str) -> set[str]:
    return {
        name
        for name in OPTION.findall(text_of(page))
        if name not in OF_UVICORN
        and f'"{name}' not in sources()
        and f"{name.removeprefix('--').replace('-', '_')}:" not in sources()
        and f"{name}:" not in styles()
    }


def missing_parts(page: str) -> set[str]:
    """Parts, classes and events of the architecture."""
    text = text_of(page) if page == HAS_PARTS else ""
    missing = {name for name in PART.findall(text) if not (ROOT / "realtime" / name).exists()}
    missing |= {kind for kind, _ in MEMBER.findall(text) if kind not in members()}
    return missing | {name for name in EVENT.findall(text) if name not in members()}


CHECKS: tuple[Callable[[str], set[str]], ...] = (
    missing_files,
    missing_links,
    missing_members,
    missing_measurements,
    missing_variables,
    missing_options,
    missing_parts,
)


def undated_decisions() -> Iterator[str]:
    """Yield the decisions without a date and a status."""
    _, *decisions = text_of("docs/decisions.md").split("\n## ")
    dated = re.compile(r".+\n\n\*\d{4}-\d\d-\d\d · (in force|superseded by)")
    for one in decisions:
        if not dated.match(one):
            yield f"docs/decisions.md: no date and status: {one.partition(chr(10))[0]}"


def complaints() -> list[str]:
    """What is wrong in the documents."""
    found = [
        f"{page}: {check.__name__.replace('_', ' ')}: {name}"
        for page in PAGES
        for check in CHECKS
        for name in sorted(check(page))
    ]
    return [*found, *undated_decisions()]
