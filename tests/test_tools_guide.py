"""The code of docs/tools.md runs as it is printed, block after block."""

import pytest

from tests.guides import blocks, page, run


@pytest.mark.virtual_time
async def test_every_block_of_the_guide_runs() -> None:
    printed = blocks(page("tools.md"))
    assert len(printed) == 7
    names = await run(printed)
    assert {"order_status", "search", "put", "book", "research"} <= {*names["toolkit"].tools}
