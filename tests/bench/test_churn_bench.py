"""The churn of `bench`, with fewer calls: nothing is left behind, memory included."""

import pytest

from bench.churn import POINTS, churn

CALLS, MARK = 240, 160
MOST_GROWN_MB = 6.0
"""Of an allocator that has not settled yet; a leak of a call's log and agent alone would be 40 MB."""


@pytest.mark.night
async def test_dropped_calls_leave_no_task_thread_or_socket_and_no_memory() -> None:
    found = await churn(CALLS, MARK)
    assert set(found.points) == set(POINTS)
    assert (found.tasks, found.threads, found.sockets, found.provider_sessions) == ([], 0, 0, 0)
    assert found.grown_mb < MOST_GROWN_MB
