"""MCP's official conformance suite for clients, run against ours. What is open: docs/mcp.md."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path

import pytest

from tests.tool.mcp.judges import CONFORMANCE, NODE, needs_judges

pytestmark = needs_judges

ROOT = Path(__file__).resolve().parents[3]
CLIENT = Path(__file__).with_name("conformance_client.py")
GREEN = ("initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry")
TIMEOUT_MS = 120_000


async def run_suite(*words: str, cwd: Path | None = None) -> tuple[int, str]:
    """The exit code of the suite, and what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(
        *(NODE, CONFORMANCE, *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=environment,
        cwd=cwd,
    )
    async with asyncio.timeout(TIMEOUT_MS / 1_000 + 30):
        output, _ = await process.communicate()
    return process.returncode or 0, output.decode(errors="replace")


# The suite measures a retry by the wall clock, and takes a stream that opens late for one that comes too early.
BY_NIGHT = [pytest.param(one, marks=pytest.mark.night) if one == "sse-retry" else one for one in GREEN]


@pytest.mark.parametrize("scenario", BY_NIGHT)
async def test_a_scenario_is_green(scenario: str, tmp_path: Path) -> None:
    command = f'"{sys.executable}" "{CLIENT}"'
    told = ("client", "--command", command, "--scenario", scenario, "--timeout", str(TIMEOUT_MS), "-o", str(tmp_path))
    code, output = await run_suite(*told, cwd=tmp_path)
    (checks,) = [json.loads(file.read_text(encoding="utf-8")) for file in tmp_path.rglob("checks.json")]  # noqa: ASYNC240
    assert {check["status"] for check in checks} <= {"SUCCESS", "INFO"}, output
    assert any(check["status"] == "SUCCESS" for check in checks), output
    assert code == 0, output


async def test_all_other_scenarios_are_about_authentication_and_listed_as_open() -> None:
    code, output = await run_suite("list", "--client")
    listed = re.findall(r"^\s+- (\S+)", output, re.MULTILINE)
    assert code == 0
    assert {*GREEN} < {*listed}
    assert all(scenario.startswith("auth/") for scenario in {*listed} - {*GREEN})
    guide = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    assert [scenario for scenario in listed if f"`{scenario}`" not in guide] == []
