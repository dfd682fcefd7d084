"""The code of docs/plans.md runs as it is printed."""

from pathlib import Path

import pytest

from tests.guides import blocks, page, run


async def test_the_guide_of_plans_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    monkeypatch.chdir(tmp_path)
    left = await run(blocks(page("plans.md")))
    assert "create_plan" in left["friday"].toolkit
    told = capsys.readouterr().out
    assert "The subtask at index 1, 'Book a room at the harbour', is 'in_progress'" in told
    assert "- State: suspended" in told
    await left["friday"].model.client.close()
