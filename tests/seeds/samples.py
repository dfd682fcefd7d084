"""The Python samples of the source documents, found in their text and made to import this package.

The documents are plain text without fences: a sample is the longest run of lines from one that begins like code that is
Python and holds an import, a definition, an `await` or the result of a call. Where a document has lost its line breaks,
`layout.toml` says at which characters they were.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BEGINS = re.compile(r"(import|from|def|async|class|with|for|if|await|@)\b|@|[A-Za-z_][\w.]*( = |\()")
LONGEST = 100
"""More lines than any sample has."""
CODE = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Await, ast.AsyncFor)
PREFIX = re.compile(r"\bagentscope(\.realtime\b)?")
AGENTFLOW = re.compile(r"\bagentflow\.core\.state(\.message(_block)?)?\b")


@dataclass(frozen=True)
class Sample:
    """One sample: `name` is the number of its document and its first line there."""

    name: str
    code: str

    @property
    def rewritten(self) -> str:
        """The code with the package's own name: `agentscope.realtime` is `realtime`, `agentscope.x` is `realtime.x`.

        Agentflow's messages are those of `realtime.interop.agentflow_message`, the agent card of `a2a.types`, which has
        no `url` in version 1 of that package, is that of `realtime.a2a`. Arguments that are left out, as in
        `ReActAgent(...)`, are those of the name `elided`.
        """
        ours = AGENTFLOW.sub("realtime.interop.agentflow_message", PREFIX.sub("realtime", self.code))
        ours = ours.replace("from a2a.types import", "from realtime.a2a import")
        return ours.replace("(...)", "(**elided)")


def all_samples(folder: Path) -> list[Sample]:
    """The samples of every document, in order."""
    return [sample for path in sorted(folder.glob("*.txt")) for sample in samples_of(path)]


def samples_of(path: Path) -> Iterator[Sample]:
    """The samples of one document."""
    number = path.name.split("_")[0]
    layout: dict[str, dict[str, list[Any]]] = tomllib.loads((HERE / "layout.toml").read_text(encoding="utf-8"))
    unbroken, indents = layout["lines"], layout["indents"]
    lines = path.read_text(encoding="utf-8").splitlines()
    place = 0
    while place < len(lines):
        name = f"{number}:{place + 1}"
        if name in unbroken:
            yield Sample(name, unfolded(lines[place], *unbroken[name]))
            place += 1
        elif name in indents:
            yield Sample(name, "".join(map(_line, lines[place:], indents[name])))
            place += len(indents[name])
        elif BEGINS.match(lines[place]) and (n_lines := _length(lines[place : place + LONGEST])):
            yield Sample(name, "\n".join(lines[place : place + n_lines]).rstrip() + "\n")
            place += n_lines
        else:
            place += 1


def unfolded(line: str, length: int, *breaks: list[int]) -> str:
    """The lines that `line` was. Raises ValueError where it is not the line that the breaks are of."""
    if len(line) != length:
        raise ValueError(f"a line of {len(line)} characters stands where one of {length} was unfolded")
    ends = [place for place, _ in breaks[1:]] + [length]
    return "".join(_line(line[place:end], indent) for (place, indent), end in zip(breaks, ends, strict=True))


def _line(text: str, indent: int) -> str:
    return f"{'    ' * indent}{text.strip()}\n"


def _length(lines: list[str]) -> int:
    """How many of the lines, from the first on, are one sample; 0 where they are none."""
    for end in range(len(lines), 0, -1):
        if any(line.endswith(";") for line in lines[:end]):
            continue
        try:
            body = ast.parse("\n".join(lines[:end])).body
        except SyntaxError:
            continue
        kept = []
        for node in body:
            if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call | ast.Await):
                break  # A word of the text that follows.
            kept.append(node)
        if any(isinstance(node, CODE) for one in kept for node in ast.walk(one)) or any(map(_keeps_a_call, kept)):
            return kept[-1].end_lineno or 0
        return 0
    return 0


def _keeps_a_call(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
