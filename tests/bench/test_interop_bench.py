"""The bench of other projects' messages measures every dialect. No timing."""

from bench.interop import measure_interop, thread
from realtime.interop import DIALECTS


async def test_every_dialect_is_measured_both_ways() -> None:
    section = await measure_interop(turns=4, runs=1)
    assert [row[0] for row in section.rows] == [*DIALECTS]
    assert [check.limit for check in section.checks] == [100.0] * len(DIALECTS) * 2


def test_every_fourth_answer_has_a_call() -> None:
    messages = thread(8)
    assert len(messages) == 16
    assert sum(message.has_content_blocks("tool_call") for message in messages) == 2
