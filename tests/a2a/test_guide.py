"""The code of docs/a2a.md runs as printed, against the SDK's server; what the page promises is what the code has."""

import re
from pathlib import Path

import pytest

from realtime.a2a import agent, card, http, remote
from realtime.turn.responses import ANSWER_S
from tests.a2a.servers import remote_agent
from tests.a2a.test_agent import room
from tests.guides import blocks, page, run

GUIDE = page("a2a.md")


async def test_every_block_of_the_guide_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(blocks(GUIDE)) == 3
    async with remote_agent(room) as office:
        names = await run(blocks(GUIDE), {"__name__": "guide", "url": office.url})
        assert capsys.readouterr().out.splitlines()[-2:] == ["Room seven.", "Done. completed"]
        assert "ask_the_office" in names["toolkit"].tools
        await names["office"].aclose()


def test_what_it_is_not_is_said() -> None:
    """A2A-01, A2A-02, A2A-03, A2A-04, A2A-05"""
    words = " ".join(GUIDE.split())
    assert "**Experimental:**" in words
    assert "One user and one agent" in words
    assert "the protocol has no way to stop it for sure" in words
    assert "No structured output" in words
    assert "`observe` keeps messages, which the next reply sends" in words


def test_the_limits_of_the_guide_are_those_of_the_code() -> None:
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|", GUIDE, re.M))
    megabyte = 1024 * 1024
    limits = {
        "one card": f"{card.MAX_CARD_BYTES // megabyte} MB",
        "one answer; one event of it": f"{http.MAX_ANSWER_BYTES // megabyte} MB; {http.MAX_EVENT_BYTES // megabyte} MB",
        "an answer": f"`timeout_s`, {agent.TIMEOUT_S:g} s unless you say otherwise",
        "a connection": f"{http.CONNECT_S:g} s",
    }
    assert {name: rows[name] for name in limits} == limits
    assert f"within {remote.CANCEL_S:g} s" in GUIDE
    assert f"is silent for {ANSWER_S:g} s loses the floor" in GUIDE
