"""The code of docs/mcp.md runs as it is printed, block after block, with a real server; its lists are complete."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from realtime.tool.mcp import function, gate, remote_call, schema

ROOT = Path(__file__).resolve().parent.parent
GUIDE = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", GUIDE, re.M | re.S)


async def test_every_block_of_the_guide_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"__name__": "guide"}
    for number, block in enumerate(BLOCKS):
        code = compile(block, f"docs/mcp.md, block {number}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        made = eval(code, names)
        if inspect.isawaitable(made):
            await made
    assert len(BLOCKS) == 5
    assert not names["shop"].is_connected
    assert [*names["desk"].tools] == ["ask_the_shop"]


def test_the_limits_of_the_guide_are_those_of_the_code() -> None:
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|", GUIDE, re.M))
    assert rows["one message"] == f"{gate.MAX_MESSAGE_BYTES // 1_000_000} MB"
    assert rows["messages"] == f"{gate.MESSAGES_PER_S:g} a second, {gate.BURST:,} at once"
    assert rows["tools"].startswith(f"{schema.MAX_TOOLS}, ")
    assert rows["a tool's description; its schema"] == (
        f"{function.TOLD_CHARS:,}; {schema.MAX_SCHEMA_CHARS:,} characters"
    )
    assert rows["questions in one call"] == str(remote_call.MAX_QUESTIONS)
