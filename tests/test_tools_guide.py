"""The code of docs/tools.md runs as it is printed, block after block."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

GUIDE = (Path(__file__).resolve().parent.parent / "docs" / "tools.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", GUIDE, re.M | re.S)


@pytest.mark.virtual_time
async def test_every_block_of_the_guide_runs() -> None:
    names: dict[str, Any] = {"__name__": "guide"}
    for number, block in enumerate(BLOCKS):
        code = compile(block, f"docs/tools.md, block {number}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        made = eval(code, names)
        if inspect.isawaitable(made):
            await made
    assert len(BLOCKS) == 7
    assert {"order_status", "search", "put", "book", "research"} <= {*names["toolkit"].tools}
