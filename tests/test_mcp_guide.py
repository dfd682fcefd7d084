"""The code of docs/mcp.md runs as it is printed, block after block, with a real server; its lists are complete."""

import re
from inspect import unwrap

import pytest

from realtime.tool.mcp import StdIOStatefulClient, function, gate, remote_call, schema
from tests.guides import ROOT, blocks, page, run
from tests.volumes import HANG_S

GUIDE = page("mcp.md")


async def test_every_block_of_the_guide_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    # How soon a process starts is up to the machine.
    monkeypatch.setitem(unwrap(StdIOStatefulClient.__init__).__kwdefaults__, "timeout", HANG_S)
    assert len(blocks(GUIDE)) == 5
    names = await run(blocks(GUIDE))
    assert not names["shop"].is_connected
    assert [*names["desk"].tools] == ["ask_the_shop"]


def test_the_limits_of_the_guide_are_those_of_the_code() -> None:
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|", GUIDE, re.M))
    limits = {
        "one message": f"{gate.MAX_MESSAGE_BYTES // 1_000_000} MB",
        "messages": f"{gate.MESSAGES_PER_S:g} a second, {gate.BURST:,} at once",
        "a tool's description; its schema": f"{function.TOLD_CHARS:,}; {schema.MAX_SCHEMA_CHARS:,} characters",
        "questions in one call": str(remote_call.MAX_QUESTIONS),
    }
    assert {name: rows[name] for name in limits} == limits
    assert rows["tools"].startswith(f"{schema.MAX_TOOLS}, ")
