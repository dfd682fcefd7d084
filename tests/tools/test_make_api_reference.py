"""The reference can be made of the docstrings, and these say in few words what a public name is."""

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import realtime

MAX_WORDS = 12


@pytest.fixture
def tool(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("make_api_reference")


def n_words(docstring: str) -> int:
    """The length of the first sentence."""
    return len(re.split(r"[.:;](?:\s|$)", docstring, maxsplit=1)[0].split())


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


def test_a_docstring_begins_with_few_words(tool: ModuleType) -> None:
    long = [
        f"{where}.{name}" for where, name, value in tool.documented() if n_words(tool.docstring_of(value)) > MAX_WORDS
    ]
    assert long == []
