"""Which calls are deleted by themselves: the oldest that are over, by age or by the room they take."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from realtime.event.server import ServerSessionUpdatedEvent
from realtime.runtime import iso
from realtime.server.archive import Archive
from realtime.server.calls import Calls
from realtime.server.recordings import Recordings
from realtime.server.retention import DAY_S, Retention, Rules
from realtime.state.memory import MemoryStore
from realtime.state.open import open_store
from realtime.state.store import CallInfo, Change, Store
from tests.room.rooms import TalkModel, agent, house

NOW = datetime(2026, 6, 1, tzinfo=UTC).timestamp()


def call(name: str, *, began: float, ended: float | None) -> CallInfo:
    """A call that began and ended so many days ago."""
    ended_at = None if ended is None else iso(NOW - ended * DAY_S)
    return CallInfo(call_id=name, owner="ann", created_at=iso(NOW - began * DAY_S), ended_at=ended_at)


@asynccontextmanager
async def place(store: Store, rules: Rules, recordings: Path | None = None) -> AsyncIterator[tuple[Retention, Calls]]:
    archive = Archive(store, resume_s=60.0)
    kept = None if recordings is None else Recordings(recordings)
    calls = Calls(max_per_address=1, max_total=1, archive=archive, recordings=kept)
    yield Retention(calls, archive, rules), calls
    await archive.close()
    if kept is not None:
        kept.close()


def left(store: Store) -> list[str]:
    return [info.call_id for info in store.calls(oldest_first=True)]


async def test_calls_that_ended_longer_ago_than_days_are_kept_are_deleted(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    store.write(
        [
            Change(info.call_id, info)
            for info in (
                call("old", began=9, ended=9),
                call("began_long_ago", began=8, ended=6),
                call("cut_off", began=10, ended=None),
                call("new", began=1, ended=1),
                call("goes_on", began=0.01, ended=None),
            )
        ]
    )
    async with place(store, Rules(keep_s=7 * DAY_S)) as (retention, _):
        assert await retention.sweep(NOW) == 2
        assert left(store) == ["began_long_ago", "new", "goes_on"]
        assert await retention.sweep(NOW) == 0
    assert [record.getMessage() for record in caplog.records] == ["calls that --keep-days and --keep-gb deleted: 2"]


async def test_the_oldest_ended_calls_are_deleted_until_the_rest_has_room(tmp_path: Path) -> None:
    recordings = tmp_path / "sound"
    store = open_store(f"file:{tmp_path / 'calls'}")
    for number in range(10):
        name = f"call_{number}"
        info = call(name, began=10 - number, ended=None if number == 9 else 10 - number)
        store.write([Change(name, info, [ServerSessionUpdatedEvent(session_id="x" * 10_000, seq=1)])])
        (recordings / name).mkdir(parents=True)
        (recordings / name / "input.flac").write_bytes(bytes(90_000))
    async with place(store, Rules(keep_bytes=450_000), recordings) as (retention, _):
        assert await retention.sweep(NOW) == 6
        assert left(store) == ["call_6", "call_7", "call_8", "call_9"]
        assert sorted(one.name for one in recordings.iterdir()) == left(store)


@pytest.mark.parametrize("goes_on", [True, False])
async def test_a_call_that_goes_on_and_one_of_which_nobody_asks_it_are_not_deleted_by_themselves(
    tmp_path: Path, goes_on: bool
) -> None:
    store = open_store(f"sqlite:{tmp_path / 'calls'}")
    info = call("one", began=0.01, ended=None) if goes_on else call("one", began=9_000, ended=9_000)
    store.write([Change("one", info)])
    async with place(store, Rules(keep_s=0, keep_bytes=0) if goes_on else Rules()) as (retention, _):
        assert await retention.sweep(NOW) == 0
        assert left(store) == ["one"]


async def test_a_damaged_call_is_as_old_as_its_files(tmp_path: Path) -> None:
    store = open_store(f"file:{tmp_path}")
    for name, days in (("old", 9), ("new", 2)):
        store.write([Change(name, call(name, began=9, ended=9))])
        description = tmp_path / name / "call.json"
        description.write_text("{")
        os.utime(description, (NOW - days * DAY_S, NOW - days * DAY_S))
    store.close()
    async with place(open_store(f"file:{tmp_path}"), Rules(keep_s=7 * DAY_S)) as (retention, _):
        assert await retention.sweep(NOW) == 1
    assert [name for name in os.listdir(tmp_path) if not name.startswith(".")] == ["new"]


class ResumedMeanwhile(MemoryStore):
    """A client comes back to its call while the room that it takes is measured."""

    def __init__(self) -> None:
        super().__init__()
        self.resume: Callable[[], None] = lambda: None

    def n_bytes(self, call_id: str | None = None) -> int:
        if call_id is not None:
            self.resume()
        return 100


async def test_a_call_that_is_resumed_while_old_calls_are_deleted_goes_on() -> None:
    store = ResumedMeanwhile()
    store.write([Change("old", call("old", began=9, ended=9))])
    async with (
        house(agent("Alice", TalkModel("Yes."))) as home,
        place(store, Rules(keep_s=DAY_S)) as (retention, calls),
    ):
        human = await home.come("Anna", call_id="old")
        store.resume = lambda: calls.sessions.update(old=human.call)
        assert await retention.sweep(NOW) == 0
        assert not human.call.ended.is_set()
        assert left(store) == ["old"]


class Huge(MemoryStore):
    """One that has grown for years."""

    def n_bytes(self, call_id: str | None = None) -> int:
        return 12_000_000_000


async def test_a_store_that_has_grown_large_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async with place(Huge(), Rules()) as (retention, _):
        await retention.sweep(NOW)
        await retention.sweep(NOW)
    said = "the calls take 12.0 GB: --keep-days and --keep-gb delete the oldest"
    assert [record.getMessage() for record in caplog.records] == [said]
