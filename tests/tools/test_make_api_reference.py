"""The reference can be made of the docstrings; that they begin with few words is a rule of `tools/lint_words.py`."""

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import realtime


@pytest.fixture
def tool(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("make_api_reference")


def test_the_reference_is_written(tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "build" / "api.md"
    tool.main([str(file)])
    text = file.read_text(encoding="utf-8")
    assert capsys.readouterr().out.strip() == str(file)
    assert "### `RealtimeAgent`\n\n```python\nRealtimeAgent(name: str, sys_prompt: str, " in text
    assert "- `async start(outgoing_queue: " in text
    assert " at 0x" not in text, "no address of this process"
    headings = re.findall(r"^### `(\w+)`$", text, re.MULTILINE)
    assert {name for name in realtime.__all__ if name[0].isupper() and "Events" not in name} <= set(headings)


def test_every_public_name_has_a_docstring(tool: ModuleType) -> None:
    assert [f"{where}.{name}" for where, name, value in tool.documented() if not tool.docstring_of(value)] == []
