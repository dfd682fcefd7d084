"""The bench of sessions saves and loads what it says. No timing."""

import json
from pathlib import Path

import pytest

from bench.sessions import STORES, _loading, measure_sessions, talk
from realtime.server.caller_sessions import KEPT_ITEMS
from realtime.state.open import open_session


@pytest.mark.usefixtures("measured_once")
async def test_each_store_is_saved_to_and_loaded_from() -> None:
    section = await measure_sessions(replies=3, loads=1, turns=10)
    assert [row[0] for row in section.rows] == [*STORES]
    assert [check.limit for check in section.checks] == [5.0, 50.0] * len(STORES)
    for store in STORES:
        assert [len(times) for times in section.data[store].values()] == [3, 3, 3]


async def test_what_is_loaded_is_a_session_of_as_many_turns(tmp_path: Path) -> None:
    session = open_session(f"json:{tmp_path}")
    _, _, n_bytes = await _loading(session, 1, 5)
    data = (await session.sessions_of("ann"))["long"]
    assert len(data) == n_bytes
    assert [item["role"] for item in json.loads(data)["agent"]["conversation"]] == ["user", "assistant"] * 5
    assert len(talk(KEPT_ITEMS // 2)) == KEPT_ITEMS
