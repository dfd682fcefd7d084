"""The code of docs/interop.md runs as it is printed."""

import pytest

from realtime.interop import DIALECTS
from tests.guides import blocks, page, run


async def test_the_guide_of_other_projects_messages_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """JAV-08, JAV-09: with Java's loop over the events of a reply."""
    left = await run(blocks(page("interop.md")))
    assert [item.text for item in left["agent"].conversation] == ["What is this image?"]
    assert capsys.readouterr().out.splitlines() == [
        "user What is this image?",
        "USER",
        "messages[0].content[0].text is the number 5, not text Hi",
        "Hello.",
        "[start]",
        "It is fixed.",
        "[done]",
        "user Hello",
        "c1",
    ]
    for dialect in DIALECTS:
        assert f"| `{dialect}` |" in page("interop.md")
