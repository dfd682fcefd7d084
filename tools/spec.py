"""How far the specification is met: `make spec`, or `python tools/spec.py [GROUP ...]`.

An item is covered when the docstring or the name of a Python test, or the title of a TypeScript test, names its id
(`CEV-01`, in a function's name `cev_01`); ranges are not read there. It is open where `docs/spec.toml` says what is
missing, also where a test covers the other half. Exits with 1 where an item is neither, or where an id does not exist.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TITLE = re.compile(r"""\b(?:it|test|describe)(?:\.each\([^)]*\))?\(\s*(["'`])(.*?)\1""", re.DOTALL)


@dataclass(frozen=True)
class Group:
    """One group of items, `PREFIX-01` to `PREFIX-<items>`. A ruling is counted apart from the items."""

    prefix: str
    title: str
    items: int
    is_ruling: bool = False

    def ids(self) -> list[str]:
        return [f"{self.prefix}-{number:02}" for number in range(1, self.items + 1)]


@dataclass
class Report:
    """What is known of every item: the groups, the reasons of what is open, and per id the tests that name it."""

    groups: list[Group]
    open: dict[str, str]
    tests: dict[str, list[str]] = field(default_factory=dict)

    def covered(self, group: Group) -> list[str]:
        """The items of a group that tests cover whole."""
        return [item for item in group.ids() if item in self.tests and item not in self.open]

    def open_in(self, group: Group) -> list[str]:
        """The items of a group of which something is missing, as `docs/spec.toml` says."""
        return [item for item in group.ids() if item in self.open]

    def missing(self) -> list[str]:
        """Items that neither a test covers nor a reason excuses."""
        ids = [item for group in self.groups for item in group.ids()]
        return [item for item in ids if item not in self.tests and item not in self.open]

    def unknown(self) -> list[str]:
        """Ids that a test or a reason names and that no group has."""
        known = {item for group in self.groups for item in group.ids()}
        return sorted({*self.tests, *self.open} - known)


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
    prefixes = "|".join(group.prefix for group in groups)
    wanted, anywhere = re.compile(rf"\b(?:{prefixes})-\d\d\b"), re.compile(rf"(?:{prefixes})[-_]\d\d", re.I)
    found: dict[str, list[str]] = {}
    python = [(path, python_texts) for path in sorted(root.glob("tests/**/test_*.py"))]
    web = [path for path in sorted(root.glob("web/**/*.test.ts")) if "node_modules" not in path.parts]
    for path, texts in [*python, *((path, typescript_texts) for path in web)]:
        source = path.read_text(encoding="utf-8")
        for name, text in texts(source) if anywhere.search(source) else ():
            for item in sorted(set(wanted.findall(text))):
                found.setdefault(item, []).append(f"{path.relative_to(root).as_posix()}: {name}")
    return found


def expanded(key: str) -> list[str]:
    """The ids that a key names: one, or from the first to the last (`REA-01..REA-40`)."""
    first, dots, last = key.partition("..")
    if not dots:
        return [key]
    prefix, begin = first.rsplit("-", 1)
    return [f"{prefix}-{number:02}" for number in range(int(begin), int(last.rsplit("-", 1)[1]) + 1)]


@cache
def read(root: Path) -> Report:
    """The report over the project at `root`."""
    data = tomllib.loads((root / "docs" / "spec.toml").read_text(encoding="utf-8"))
    groups = [Group(prefix, **fields) for prefix, fields in data["groups"].items()]
    groups += [Group(prefix, **fields, is_ruling=True) for prefix, fields in data.get("rulings", {}).items()]
    reasons = {item: why for key, why in data["open"].items() for item in expanded(key)}
    return Report(groups, reasons, scan(root, groups))


def lines(report: Report, only: Iterable[str] = ()) -> Iterator[str]:
    """The report as text: one block per group, then the sums."""
    chosen = set(only)
    missing = set(report.missing())
    for group in report.groups:
        if chosen and group.prefix not in chosen:
            continue
        covered, unmet = report.covered(group), report.open_in(group)
        yield f"{group.prefix:5} {group.title}: {group.items} items, {len(covered)} covered, {len(unmet)} open"
        for item in unmet:
            yield f"      {'half' if item in report.tests else 'open':8} {item}  {report.open[item]}"
        if lacking := [item for item in group.ids() if item in missing]:
            yield f"      {'missing':8} {' '.join(lacking)}"
    for is_ruling, what in ((False, "items"), (True, "rulings")):
        groups = [group for group in report.groups if group.is_ruling is is_ruling]
        if groups:
            covered_n = sum(len(report.covered(group)) for group in groups)
            open_n = sum(len(report.open_in(group)) for group in groups)
            yield f"{sum(group.items for group in groups)} {what}: {covered_n} covered, {open_n} open"
    yield from (f"no such item: {item}" for item in report.unknown())


def main(groups: list[str]) -> int:
    report = read(ROOT)
    print("\n".join(lines(report, groups)))
    missing = report.missing()
    print(f"{len(missing)} items without a test or a reason" if missing else "every item has a test or a reason")
    return 1 if missing or report.unknown() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
