"""The code of the section on delegates in docs/agents.md runs as it is printed, block after block."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

GUIDE = (Path(__file__).resolve().parent.parent / "docs" / "agents.md").read_text(encoding="utf-8")
SECTION = GUIDE.split("\n## A delegate behind a speech-to-speech model\n")[1].partition("\n## ")[0]
BLOCKS = re.findall(r"^```python\n(.*?)^```", SECTION, re.M | re.S)


@pytest.mark.virtual_time
async def test_every_block_of_the_section_runs() -> None:
    names: dict[str, Any] = {"__name__": "guide"}
    for number, block in enumerate(BLOCKS):
        code = compile(block, f"docs/agents.md, block {number}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        made = eval(code, names)
        if inspect.isawaitable(made):
            await made
    assert len(BLOCKS) == 2
    assert names["agent"].toolkit.declarations()[0].name == "ask_the_office"
