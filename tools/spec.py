"""Which items of the specification have a test: `make spec`, or `python tools/spec.py [GROUP ...]`.

An item counts as covered when the docstring or the name of a Python test, or the title of a TypeScript test, names its
id (`CEV-01`, in a function's name `cev_01`); ranges are not read. `docs/spec.toml` holds the groups and the items that
wait for a later part, with the reason. Exits with 1 where a required item has neither, or where an id does not exist.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TITLE = re.compile(r"""\b(?:it|test|describe)(?:\.each\([^)]*\))?\(\s*(["'`])(.*?)\1""", re.DOTALL)


@dataclass(frozen=True)
class Group:
    """One group of items, `PREFIX-01` to `PREFIX-<items>`."""

    prefix: str
    title: str
    items: int
    required: bool

    def ids(self) -> list[str]:
        return [f"{self.prefix}-{number:02}" for number in range(1, self.items + 1)]


@dataclass
class Report:
    """What is known of every item: the groups, the reasons of what waits, and per id the tests that name it."""

    groups: list[Group]
    later: dict[str, str]
    tests: dict[str, list[str]] = field(default_factory=dict)

    def open(self, group: Group) -> list[str]:
        """Items of a group that neither a test nor a reason covers."""
        return [item for item in group.ids() if item not in self.tests and item not in self.later]

    def missing(self) -> list[str]:
        """All open items of the required groups."""
        return [item for group in self.groups if group.required for item in self.open(group)]

    def unknown(self) -> list[str]:
        """Ids that a test or a reason names and that no group has."""
        known = {item for group in self.groups for item in group.ids()}
        return sorted({*self.tests, *self.later} - known)


def python_texts(source: str) -> Iterator[tuple[str, str]]:
    """(name, name and docstring) of each test function of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name, f"{node.name.upper().replace('_', '-')}\n{ast.get_docstring(node) or ''}"


def typescript_texts(source: str) -> Iterator[tuple[str, str]]:
    """(title, title) of each test of a module."""
    for _, title in TITLE.findall(source):
        yield title, title


def scan(root: Path, groups: Iterable[Group]) -> dict[str, list[str]]:
    """Per id, the tests below `root` that name it, as `file: test`."""
    wanted = re.compile(rf"\b(?:{'|'.join(group.prefix for group in groups)})-\d\d\b")
    found: dict[str, list[str]] = {}
    python = [(path, python_texts) for path in sorted(root.glob("tests/**/test_*.py"))]
    web = [path for path in sorted(root.glob("web/**/*.test.ts")) if "node_modules" not in path.parts]
    for path, texts in [*python, *((path, typescript_texts) for path in web)]:
        for name, text in texts(path.read_text(encoding="utf-8")):
            for item in sorted(set(wanted.findall(text))):
                found.setdefault(item, []).append(f"{path.relative_to(root).as_posix()}: {name}")
    return found


def read(root: Path) -> Report:
    """The report over the project at `root`."""
    data = tomllib.loads((root / "docs" / "spec.toml").read_text(encoding="utf-8"))
    groups = [Group(prefix, **fields) for prefix, fields in data["groups"].items()]
    return Report(groups, data["later"], scan(root, groups))


def lines(report: Report, only: Iterable[str] = ()) -> Iterator[str]:
    """The report as text, one block per group."""
    chosen = set(only)
    for group in report.groups:
        if chosen and group.prefix not in chosen:
            continue
        covered = sum(item in report.tests for item in group.ids())
        yield f"{group.prefix:5} {group.title}: {covered} of {group.items} covered"
        yield from (f"      later    {item}  {report.later[item]}" for item in group.ids() if item in report.later)
        if report.open(group):
            yield f"      {'missing' if group.required else 'not yet':8} {' '.join(report.open(group))}"
    yield from (f"no such item: {item}" for item in report.unknown())


def main(groups: list[str]) -> int:
    report = read(ROOT)
    print("\n".join(lines(report, groups)))
    missing = report.missing()
    print(f"{len(missing)} required items without a test" if missing else "every required item has a test or a reason")
    return 1 if missing or report.unknown() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
