"""The full square: each front with each model behind, in each scenario of the table. No cell is unexplained."""

from __future__ import annotations

import pytest

from realtime.server.serve import TlsFiles
from realtime.server.tls import self_signed
from tests.square import table
from tests.square.chain import chain
from tests.square.scenarios import REFUSALS, SCENARIOS
from tests.square.table import LOCAL, Cell

CELLS = [cell for cell in table.cells() if cell.behind != LOCAL]
LOCAL_CELLS = [cell for cell in table.cells() if cell.behind == LOCAL]


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return self_signed(tmp_path_factory.mktemp("tls"), ["127.0.0.1"])


async def judge(cell: Cell, tls: TlsFiles) -> None:
    """Run a cell: equal, or refused as the table says."""
    scenario = SCENARIOS[cell.scenario]
    script = scenario.script_for(cell.behind)
    if cell.cannot is not None and cell.scenario == "tool round trip":
        script = SCENARIOS["text turn"].script
    async with chain(cell.front, cell.behind, script, tls, model_name=cell.model) as made:
        if cell.cannot is None:
            await scenario.run(made)
        else:
            await REFUSALS[cell.scenario](made, cell.cannot)


@pytest.mark.parametrize("cell", CELLS, ids=str)
async def test_any_client_talks_to_any_provider(cell: Cell, tls: TlsFiles) -> None:
    await judge(cell, tls)


@pytest.mark.parametrize("cell", [*table.older_cells()], ids=str)
async def test_what_older_models_cannot_do_is_told_to_any_client(cell: Cell, tls: TlsFiles) -> None:
    await judge(cell, tls)


class TestLocalModel:
    """The embedded model behind each front; its executor lives as long as the process."""

    @pytest.fixture
    def no_leaks(self) -> None:
        """Its threads are made once for all tests."""

    @pytest.mark.parametrize("cell", LOCAL_CELLS, ids=str)
    async def test_any_client_talks_to_the_embedded_model(self, cell: Cell, tls: TlsFiles) -> None:
        await judge(cell, tls)


def test_every_cell_is_run() -> None:
    assert {*SCENARIOS} == {*table.SCENARIOS}
    assert len(CELLS) + len(LOCAL_CELLS) == len(table.FRONTS) * len(table.BEHIND) * len(table.SCENARIOS)
    assert {cell.scenario for cell in (*table.cells(), *table.older_cells()) if cell.cannot} <= {*REFUSALS}
