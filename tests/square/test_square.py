"""The full square: each dialect with each model behind, in each scenario of the table. No cell is unexplained."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from realtime.server.runner import TlsFiles
from realtime.server.tls import self_signed
from tests.square import table
from tests.square.chain import Servers, chain
from tests.square.scenarios import REFUSALS, SCENARIOS
from tests.square.table import LOCAL, Cell

CELLS = [*table.cells(), *table.older_cells()]


def in_a_run(cell: Cell) -> Any:
    """By night what differs from two others: a dialect with the scripted model, and the embedded model in ours."""
    again = cell.behind == LOCAL and cell.dialect != "native" and cell.scenario != "voice turn"
    return pytest.param(cell, marks=pytest.mark.night if again else (), id=str(cell))


@pytest.fixture
def no_leaks() -> None:
    """The servers outlive a test: what a cell leaves is looked for when its client is gone (`Chain.caller`)."""


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return self_signed(tmp_path_factory.mktemp("tls"), ["127.0.0.1"])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers(tls: TlsFiles) -> AsyncIterator[Servers]:
    async with Servers().running(tls) as running:
        yield running


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("cell", [*map(in_a_run, CELLS)])
async def test_any_client_talks_to_any_model(cell: Cell, servers: Servers, tls: TlsFiles) -> None:
    """CEV-10: `client_image_append` reaches Gemini and DashScope in the bytes that the client gave; for OpenAI's
    `gpt-4o-realtime-preview` it is refused by name, and the call goes on."""
    scenario = SCENARIOS[cell.scenario]
    script = scenario.script_for(cell.behind)
    if cell.cannot is not None and cell.scenario == "tool round trip":
        script = SCENARIOS["text turn"].script
    made = await chain(servers, cell.dialect, cell.behind, script, tls, cell.model)
    if cell.cannot is None:
        await scenario.run(made)
    else:
        await REFUSALS[cell.scenario](made, cell.cannot)


def test_every_cell_is_run() -> None:
    assert {*SCENARIOS} == {*table.SCENARIOS}
    assert len([*table.cells()]) == len(table.DIALECTS) * len(table.BEHIND) * len(table.SCENARIOS)
    assert {cell.scenario for cell in CELLS if cell.cannot} <= {*REFUSALS}
