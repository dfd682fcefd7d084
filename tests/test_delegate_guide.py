"""The code of the section on delegates in docs/agents.md runs as it is printed, block after block."""

import pytest

from tests.guides import blocks, page, run, section

PRINTED = blocks(section(page("agents.md"), "A delegate behind a speech-to-speech model"))


@pytest.mark.virtual_time
async def test_every_block_of_the_section_runs() -> None:
    assert len(PRINTED) == 2
    names = await run(PRINTED)
    assert names["agent"].toolkit.declarations()[0].name == "ask_the_office"
