"""The code that the documents print, run as it stands there."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """The part of a page under a heading of the second level."""
    return text.split(f"\n## {heading}\n")[1].partition("\n## ")[0]


def blocks(text: str, kind: str = "python") -> list[str]:
    """The blocks of a page in this language."""
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)


async def run(printed: Iterable[str], names: dict[str, Any] | None = None) -> dict[str, Any]:
    """Execute blocks one after the other, each with the names of those before; the names that there are in the end."""
    names = {"__name__": "guide"} if names is None else names
    for number, block in enumerate(printed):
        made = eval(compile(block, f"block {number}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
        if inspect.isawaitable(made):
            await made
    return names
