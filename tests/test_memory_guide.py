"""The code of docs/memory.md runs as it is printed, against a scripted chat endpoint."""

from pathlib import Path
from typing import Any

import pytest

from realtime.agent import long_term
from realtime.model.chat import OpenAIChatModel
from tests.guides import blocks, page, run
from tests.model.local.chat_endpoint import DONE, chat_endpoint, words
from tests.volumes import HANG_S


async def test_every_block_of_the_guide_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # How soon a thread finds something is up to the machine.
    monkeypatch.setattr(long_term, "RECALL_S", HANG_S)
    printed, made = blocks(page("memory.md")), []
    make = OpenAIChatModel.__init__

    def noted(self: OpenAIChatModel, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        made.append(self)

    monkeypatch.setattr(OpenAIChatModel, "__init__", noted)
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    async with chat_endpoint() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
        for answer in ("Lovely.", "Those by Jane Austen."):
            endpoint.will(*words(answer), DONE)
        names = await run(printed)
        recalled = endpoint.asked[1].said[-1][1]
        for model in made:
            await model.client.close()
    assert '"I collect novels by Jane Austen."' in recalled
    assert "I collect novels by Jane Austen." in capsys.readouterr().out
    assert await names["again"].memory.size() == 2
    assert (tmp_path / "memories.db").exists()
