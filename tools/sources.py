"""The Python files of the project as syntax trees, read once for all linters of a run."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """Return all nodes of a file's tree: walking it costs as much as parsing it."""
    return [*ast.walk(tree_of(path))]
