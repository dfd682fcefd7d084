"""A store whose files are deleted, replaced or full while calls go on: it is told, and what memory holds is kept."""

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from realtime.errors import StoreError
from realtime.event.server import ServerSessionUpdatedEvent
from realtime.state import sqlite_file
from realtime.state.log import Log
from realtime.state.open import open_store
from realtime.state.quota import PERIOD_S, Quota
from realtime.state.spill import Spill
from realtime.state.store import CallInfo, Change, Store
from tests.volumes import HANG_S

KINDS = ("file", "sqlite")


@dataclass
class Keeping:
    """A call that is kept in real files, and what is told of trouble with them."""

    store: Store
    quota: Quota | None
    log: Log
    news: list[str] = field(default_factory=list)
    came: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.spill = Spill(
            self.store,
            on_trouble=lambda _, error: self._hear(error.code),
            on_recovered=lambda _: self._hear("well"),
            quota=self.quota,
        )
        self.spill.add(CallInfo(call_id="call"), self.log)

    def _hear(self, news: str) -> None:
        self.news.append(news)
        self.came.set()

    def say(self, text: str) -> None:
        self.log.append(ServerSessionUpdatedEvent(session_id=text))

    async def heard(self, count: int) -> list[str]:
        """What was told, once it is so much."""
        async with asyncio.timeout(HANG_S):
            while len(self.news) < count:
                self.came.clear()
                await self.came.wait()
        return self.news

    async def is_kept(self) -> bool:
        await self.spill.flush()
        return self.store.read("call") == self.log.read()

    @property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        info = self.store.call("call")
        assert info is not None
        return info.gaps


@asynccontextmanager
async def keeping(url: str, *, quota: Quota | None = None, max_entries: int = 1_024) -> AsyncIterator[Keeping]:
    log = Log(asyncio.get_running_loop().time, max_entries=max_entries)
    one = Keeping(open_store(url), quota, log)
    try:
        yield one
    finally:
        await one.spill.close()
        one.store.close()


def lose(place: Path, way: str) -> None:
    """What may happen to the files of a store while a server runs."""
    moved = place.with_name("moved")
    if way == "replaced by an older one":
        (shutil.copytree if place.is_dir() else shutil.copyfile)(place, moved)
        remove(place)
        moved.rename(place)
    elif way == "moved":
        place.rename(moved)
    else:
        remove(place)


def remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    else:
        for one in place.parent.glob(f"{place.name}*"):
            one.unlink()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["deleted", "moved", "replaced by an older one"])
async def test_a_call_whose_store_is_lost_hears_of_it_and_is_written_anew(kind: str, way: str, tmp_path: Path) -> None:
    place = tmp_path / "calls"
    async with keeping(f"{kind}:{place}") as one:
        one.say("before")
        await one.spill.flush()
        lose(place, way)
        one.say("after")
        assert await one.heard(2) == ["store_failed", "well"]
        assert one.store.read("call") == one.log.read()
        assert one.gaps == ()
    later = open_store(f"{kind}:{place}")
    assert later.read("call") == one.log.read()
    later.close()


async def test_a_file_that_is_replaced_while_it_is_opened_is_told_and_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, make, opened = tmp_path / "calls", sqlite_file.make, 0

    def make_and_lose(connection: sqlite3.Connection, tables: sqlite_file.Tables, version: int) -> None:
        nonlocal opened
        opened += 1
        make(connection, tables, version)
        if opened == 1:
            lose(place, "replaced by an older one")

    monkeypatch.setattr(sqlite_file, "make", make_and_lose)
    async with keeping(f"sqlite:{place}") as one:
        one.say("first")
        assert await one.heard(2) == ["store_failed", "well"]
        assert one.store.read("call") == one.log.read()


@pytest.mark.parametrize("kind", KINDS)
async def test_what_memory_does_not_hold_of_a_call_whose_store_is_lost_is_a_gap(kind: str, tmp_path: Path) -> None:
    async with keeping(f"{kind}:{tmp_path / 'calls'}", max_entries=10) as one:
        for number in range(30):
            one.say(str(number))
            await one.spill.flush()
        lose(tmp_path / "calls", "deleted")
        one.say("after")
        await one.heard(2)
        assert one.gaps == ((1, 21),)
        assert one.store.read("call") == one.log.read()


async def test_a_call_whose_own_folder_is_deleted_is_written_anew(tmp_path: Path) -> None:
    async with keeping(f"file:{tmp_path}") as one:
        one.say("before")
        await one.spill.flush()
        shutil.rmtree(tmp_path / "call")
        one.say("after")
        assert await one.heard(2) == ["store_failed", "well"]
        assert one.store.read("call") == one.log.read()


async def test_a_delete_that_finds_the_store_lost_loses_no_other_call(tmp_path: Path) -> None:
    async with keeping(f"sqlite:{tmp_path / 'calls'}") as one:
        one.spill.add(CallInfo(call_id="other"), Log(asyncio.get_running_loop().time))
        one.say("before")
        await one.spill.flush()
        lose(tmp_path / "calls", "deleted")
        with pytest.raises(StoreError, match="deleted or replaced"):
            await one.spill.delete("other")
        assert await one.is_kept()


@pytest.mark.parametrize("makes_room", ["the disk has room", "the file is deleted"])
async def test_a_call_on_a_full_disk_hears_of_it_and_is_kept_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, makes_room: str
) -> None:
    filled = _limit_pages(monkeypatch, 20)
    async with keeping(f"sqlite:{tmp_path / 'calls'}") as one:
        if makes_room == "the file is deleted":
            one.say("before")
            await one.spill.flush()
        one.say("x" * 100_000)
        assert await one.heard(1) == ["store_full"]
        trouble = one.spill.trouble
        assert trouble is not None
        assert trouble.code == "store_full"
        one.say("meanwhile")
        filled.undo()
        if makes_room == "the file is deleted":
            lose(tmp_path / "calls", "deleted")
        assert await one.heard(2) == ["store_full", "well"]
        assert one.spill.trouble is None
        assert await one.is_kept()


def _limit_pages(monkeypatch: pytest.MonkeyPatch, pages: int) -> pytest.MonkeyPatch:
    """New connections may make the file so long, until it is undone."""
    connect = sqlite3.connect

    def limited(*args: object, **more: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **more)  # type: ignore[call-overload]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(sqlite3, "connect", limited)
    return monkeypatch


async def test_a_call_that_fills_more_than_its_share_is_told_and_goes_on_unkept(tmp_path: Path) -> None:
    async with keeping(f"sqlite:{tmp_path}/calls", quota=Quota(call_bytes=50_000)) as one:
        while not one.news:
            one.say("x" * 5_000)
            await one.spill.flush()
        assert one.news == ["store_quota"]
        kept = one.store.read("call")
        for _ in range(20):
            one.say("x" * 5_000)
            await one.spill.flush()
        assert one.store.read("call") == kept
        one.spill.remove("call")
        await one.spill.flush()
        assert one.gaps == ((len(kept) + 1, one.log.last_seq),)


async def test_an_address_that_has_filled_its_share_of_a_day_is_refused_until_it_has_some_again() -> None:
    quota = Quota(address_bytes=1_000)
    assert quota.charge("ann", 900, 900, now_s=0.0) is None
    assert quota.charge("bob", 900, 900, now_s=0.0) is None
    refusal = quota.charge("ann", 200, 1_100, now_s=0.0)
    assert refusal is not None
    assert refusal.code == "store_quota"
    assert quota.refusal("ann", now_s=0.05 * PERIOD_S) is not None
    assert quota.refusal("ann", now_s=0.15 * PERIOD_S) is None
    assert quota.refusal("bob", now_s=0.0) is None


async def test_a_new_call_of_an_address_without_a_share_is_not_kept(tmp_path: Path) -> None:
    async with keeping(f"sqlite:{tmp_path}/calls", quota=Quota(address_bytes=10_000)) as one:
        one.say("x" * 20_000)
        await one.spill.flush()
        log = Log(asyncio.get_running_loop().time)
        with pytest.raises(StoreError, match="filled what an address may in a day") as refused:
            one.spill.add(CallInfo(call_id="next"), log)
        assert refused.value.code == "store_quota"
        one.spill.add(CallInfo(call_id="elsewhere"), log, address="198.51.100.7")
        await one.spill.flush()
        assert [info.call_id for info in one.store.calls(oldest_first=True)] == ["call", "elsewhere"]


def test_a_store_tells_how_much_room_its_calls_take(tmp_path: Path) -> None:
    random = Random(1)
    for kind in KINDS:
        store = open_store(f"{kind}:{tmp_path / kind}")
        store.write([Change("call", CallInfo(call_id="call"))])
        empty = store.n_bytes()
        for seq in range(1, 101):
            entry = ServerSessionUpdatedEvent(session_id=random.randbytes(10_000).hex(), seq=seq)
            store.write([Change("call", None, [entry])])
        assert store.n_bytes() - empty > 900_000
        assert 0.4 < store.n_bytes("call") / (store.n_bytes() - empty) < 1.1
        store.delete("call")
        assert store.n_bytes() <= empty
        store.close()
