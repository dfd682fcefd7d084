"""The code of docs/permissions.md runs as it is printed, block after block."""

from tests.guides import blocks, page, run


async def test_every_block_of_the_guide_runs() -> None:
    printed = blocks(page("permissions.md"))
    assert len(printed) == 4
    names = await run(printed)
    assert {"pay", "balance", "book", "write_note"} <= {*names["toolkit"].tools}
