"""docs/lifecycle.md shows the turn machine that the server runs on."""

from collections.abc import Callable
from types import ModuleType

import pytest

from realtime.turn.machine import TRANSITIONS, Signal


@pytest.fixture
def tool(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("draw_lifecycle")


def test_the_page_shows_the_table_as_it_is(tool: ModuleType) -> None:
    page = tool.PAGE.read_text(encoding="utf-8")
    assert tool.drawn(page) == page, "run: python tools/draw_lifecycle.py"


def test_every_row_of_the_table_is_drawn(tool: ModuleType) -> None:
    arrows = [line.strip() for line in tool.diagram().splitlines() if "-->" in line]
    for (start, signal), (end, _) in TRANSITIONS.items():
        assert any(line.startswith(f"{start} --> {end}: ") and tool.WORDS[signal] in line for line in arrows)
    assert sum(line.count("<br/>") + 1 for line in arrows) == len(TRANSITIONS) + len(["[*] --> listening"])


def test_what_is_left_to_the_provider_and_to_the_client_is_said(tool: ModuleType) -> None:
    rows = [line for line in tool.table().splitlines() if tool.WORDS[Signal.SPEECH_STARTED] in line]
    assert rows == ["| the user starts to speak | flush, drop, truncate | interrupt | nothing |"]


@pytest.mark.parametrize("page", ["", "<!-- drawn by tools/draw_lifecycle.py: begin -->"])
def test_a_page_without_the_markers_is_refused(tool: ModuleType, page: str) -> None:
    with pytest.raises(ValueError, match="markers"):
        tool.drawn(page)
