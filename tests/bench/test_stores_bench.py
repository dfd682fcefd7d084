"""The bench of the stores, with few calls: writing calls are answered, and the file holds all of each. No timing."""

import sqlite3
from pathlib import Path

import pytest

from bench.stores import STORES, Work, measure_stores
from bench.window import UNKEPT, Subject, inspect_file, measure, server_command
from realtime.event.server import ServerSessionCreatedEvent, ServerSessionEndedEvent
from realtime.state.sqlite import SqliteStore
from realtime.state.store import CallInfo, Change

WRITING = 80


@pytest.mark.night
@pytest.mark.usefixtures("measured_once")
async def test_talking_and_writing_calls_end_up_in_the_file() -> None:
    window = await measure(Work(2, WRITING).subject("sqlite"), 2, 2.0, warm_s=0.1)
    assert window.words > 0
    assert window.deltas > 40
    assert window.kept is not None
    assert (window.kept.calls, window.kept.missing, window.errors) == (2 + WRITING, 0, ())
    assert window.kept.file_bytes > 0
    assert window.kept.call_minutes > 0


@pytest.mark.night
@pytest.mark.usefixtures("measured_once")
async def test_each_work_is_done_with_each_store() -> None:
    told: list[str] = []
    section = await measure_stores(1, 1.5, told.append, [Work(2, 0)], warm_s=0.1)
    assert [tuple(row[:2]) for row in section.rows] == [("2 talking", store) for store in STORES]
    assert len(told) == 2
    values = {check.what: check.value for check in section.checks}
    assert "p99 delay beyond the memory store, 2 talking" in values
    assert values["calls that the file does not hold whole"] == 0
    assert values["lost, reordered, crossed, errors in all windows"] == 0


def test_a_file_that_lacks_something_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "calls.sqlite"
    store = SqliteStore(file)
    ended = ServerSessionEndedEvent(session_id="session1", reason="client", seq=3, ts_ms=60_000)
    created = ServerSessionCreatedEvent(session_id="session1", call_id="call_1", seq=1)
    store.write([Change("call_1", CallInfo(call_id="call_1"), [created, ended])])
    store.close()
    kept = inspect_file(file, {"call_1": 3, "call_2": 7}, 3)
    assert kept.missing == 3
    assert kept.examples == (
        "1 calls did not tell their end",
        "call_1: 2 to 2 are not stored",
        "call_2: 7 was the last, None is stored",
    )
    assert kept.call_minutes == 1.0
    with sqlite3.connect(file) as connection:
        connection.execute("DELETE FROM journal")
    connection.close()
    assert inspect_file(file, {"call_1": 3}, 1).examples == ("call_1: 3 was the last, 0 is stored",)


def test_windows_keep_their_calls_in_a_file_unless_they_say_otherwise(tmp_path: Path) -> None:
    argv, _ = server_command(Subject("any", "native"), 1, 2, tmp_path)
    assert argv[argv.index("--store") + 1] == f"sqlite:{tmp_path}/calls.sqlite"
    argv, _ = server_command(UNKEPT, 1, 2, tmp_path)
    assert argv[argv.index("--store") + 1] == "none"
