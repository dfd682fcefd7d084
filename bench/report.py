"""The result of a measurement: a table, its limits, and its place in the docs."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import json
import platform
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from bench.process import ROOT

PAGE = ROOT / "docs" / "performance.md"
KNOWN_MISSES = Path(__file__).with_name("known_misses.toml")
"""Limits that are missed today, by section and name, each with its bound and the reason."""
PARTS = ("uvicorn", "websockets", "uvloop", "starlette", "msgspec", "numpy", "soxr")


@dataclass(frozen=True, slots=True)
class Check:
    """One limit. `limit` None: measured, not limited."""

    what: str
    value: float
    limit: float | None
    unit: str = ""
    at_least: bool = False
    known: float | None = None
    """How far a limit that is missed today may be missed: worse is news. None: it may not be missed."""

    @property
    def kept(self) -> bool:
        """Whether the value keeps its limit."""
        return self._keeps(self.limit)

    @property
    def is_news(self) -> bool:
        """Whether the limit is missed, and that is not known already."""
        return not self.kept and (self.known is None or not self._keeps(self.known))

    def _keeps(self, limit: float | None) -> bool:
        if limit is None:
            return True
        return self.value >= limit if self.at_least else self.value <= limit

    def __str__(self) -> str:
        if self.limit is None:
            return f"{self.what}: {self.value:.4g}{self.unit}"
        side = "at least" if self.at_least else "at most"
        verdict = "kept" if self.kept else "MISSED" if self.known is None else f"MISSED, known to {self.known:g}"
        return f"{self.what}: {self.value:.4g}{self.unit} ({side} {self.limit:g}{self.unit}: {verdict})"


@dataclass(slots=True)
class Section:
    """One measurement. `how` says in a sentence or two what was done; `data` is everything, for machines."""

    name: str
    title: str
    how: str
    header: Sequence[str] = ()
    rows: list[Sequence[str]] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    page: Path = PAGE
    """Where it is written on request."""
    stolen_percent: float = 0.0
    """Share of one core that the host of a virtual machine withheld meanwhile. From 5 on delays are the host's."""

    def know(self, misses: Path = KNOWN_MISSES) -> None:
        """Mark the limits that are missed today."""
        known = tomllib.loads(misses.read_text(encoding="utf-8")).get(self.name, {})
        self.checks = [
            dataclasses.replace(check, known=known[check.what]["bound"]) if check.what in known else check
            for check in self.checks
        ]

    def show(self, console: Console) -> None:
        """Print the table and the limits."""
        if self.header:
            table = Table(title=self.title)
            for column, name in enumerate(self.header):
                table.add_column(name, justify="right" if column else "left")
            for row in self.rows:
                table.add_row(*row)
            console.print(table)
        else:
            console.print(self.title, style="bold")
        for check in self.checks:
            console.print(f"  {check}", style=None if check.kept else "red", markup=False)
        console.print(f"  {self.withheld}", style="dim", markup=False)

    @property
    def withheld(self) -> str:
        """The share of a core that the host withheld, as a sentence."""
        return f"The host withheld {self.stolen_percent:.1f} % of a core meanwhile."

    def markdown(self, command: str) -> str:
        """The section for the page, with the machine and the command."""
        lines = [f"## {self.title}", "", self.how, "", f"`{command}`, {machine()}", ""]
        if self.header:
            lines += [_row(self.header), _row(["---", *["---:"] * (len(self.header) - 1)])]
            lines += [*map(_row, self.rows), ""]
        lines += [f"- {check}" for check in self.checks]
        lines += ["", self.withheld]
        return "\n".join(lines).rstrip() + "\n"

    def as_json(self, command: str) -> str:
        """Return all data as one JSON object."""
        checks = [{**dataclasses.asdict(check), "kept": check.kept} for check in self.checks]
        whole = {"name": self.name, "command": command, "machine": machine(), "checks": checks}
        whole |= {"stolen_percent": self.stolen_percent, **self.data}
        return json.dumps(whole, indent=1, default=str)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def machine() -> str:
    """The facts that a number needs: processor, versions, date, commit."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PARTS)
    memory_gb = psutil.virtual_memory().total / 1e9
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    return (
        f"{day}, commit {_commit()}: {_processor()}, {psutil.cpu_count()} cores, {memory_gb:.0f} GB, "
        f"{platform.system()} {platform.release()}, {platform.python_implementation()} {platform.python_version()}, "
        f"{versions}"
    )


def _processor() -> str:
    try:
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def _commit() -> str:
    try:
        asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return "unknown"
    return asked.stdout.strip() or "unknown"


def write_into_page(section: Section, command: str) -> None:
    """Put the section between its markers on its page; a page without them gets them at its end."""
    page = section.page
    begin, end = f"<!-- bench:{section.name} -->", f"<!-- /bench:{section.name} -->"
    text = page.read_text(encoding="utf-8") if page.exists() else "# Performance\n"
    body = f"{begin}\n{section.markdown(command)}{end}"
    if begin in text and end in text:
        head, rest = text.split(begin, 1)
        text = head + body + rest.split(end, 1)[1]
    else:
        text = text.rstrip("\n") + f"\n\n{body}\n"
    page.write_text(text, encoding="utf-8")


def this_command() -> str:
    """Return the command line of the bench."""
    return " ".join(["python -m bench", *sys.argv[1:]])


def median(values: Sequence[float]) -> float:
    """The middle value; of an even number the mean of the middle two."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def share(values: Sequence[float], percent: float) -> float:
    """The value that `percent` of them do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, min(len(ordered) - 1, -(-int(percent * len(ordered)) // 100) - 1))]
