"""What calls hear of a store in trouble."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from realtime.errors import StoreError
from realtime.event import client as c
from realtime.event import server as s
from realtime.server.archive import Archive
from realtime.state.log import Entry
from realtime.state.memory import MemoryStore
from realtime.state.store import Change
from tests.room.rooms import House, Human, TalkModel, agent, house


class SlowStore(MemoryStore):
    """Each writing takes eight seconds."""

    def write(self, batch: Sequence[Change]) -> None:
        super().write(batch)


class FailingStore(MemoryStore):
    """Keeps nothing while it is full, and not the calls that it refuses."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False
        self.refuses: set[str] = set()

    def write(self, batch: Sequence[Change]) -> None:
        if self.is_full:
            raise StoreError("no space left on device (/var/calls.sqlite)", code="store_full")
        super().write([change for change in batch if change.call_id not in self.refuses])
        refused = self.refuses & {change.call_id for change in batch}
        if refused:
            raise StoreError("Is a directory", call_ids=frozenset(refused))


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(one.levelname, one.getMessage()) for one in caplog.records if one.name == "realtime.server.archive"]


async def kept(home: House, archive: Archive, name: str) -> Human:
    human = await home.come(name, call_id=f"call_{name}")
    archive.keep(human.call)
    return human


def told(*humans: Human) -> list[str]:
    return [code for human in humans for code in human.errors() if code == "store_slow"]


@pytest.mark.virtual_time(costs={"SlowStore.write": 8.0})
async def test_a_slow_store_is_told_of_once_and_to_one_call_of_a_room(caplog: pytest.LogCaptureFixture) -> None:
    archive = Archive(SlowStore(), resume_s=60.0)
    async with house(agent("Alice", TalkModel("Yes."))) as home, house(agent("Bob", TalkModel("No."))) as other:
        humans = [await kept(home, archive, name) for name in ("Anna", "Ben", "Carl")]
        alone = await kept(other, archive, "Dora")
        for _ in range(5):
            humans[0].call.receive(c.ClientTextAppendEvent(text="Hello."))
            await asyncio.sleep(10)
        assert (told(*humans), told(alone)) == (["store_slow"], ["store_slow"])
        assert caplog.text.count("the store fails") == 1
        assert humans[1].of(s.AgentItemAddedEvent), "calls go on"
        await archive.close()


@pytest.mark.virtual_time
async def test_the_log_of_the_server_says_once_that_its_store_is_full_and_once_that_it_is_well(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = FailingStore()
    archive = Archive(store, resume_s=60.0)
    async with house(agent("Alice", TalkModel("Yes."))) as home:
        anna = await kept(home, archive, "Anna")
        store.is_full = True
        for _ in range(5):
            anna.call.receive(c.ClientTextAppendEvent(text="Hello."))
            await asyncio.sleep(10)
        assert archive.trouble == "store_full"
        assert anna.errors() == ["store_full"]
        assert "/var" not in str(anna.of(s.AgentErrorEvent))
        ben = await kept(home, archive, "Ben")  # the trouble is known when this call begins
        ben.call.receive(c.ClientTextAppendEvent(text="Hello."))
        await asyncio.sleep(10)
        assert (anna.errors(), ben.errors()) == (["store_full"], ["store_full"])
        assert store.call("call_Ben") is None
        store.is_full = False
        await asyncio.sleep(10)
        assert archive.trouble is None
        assert store.call("call_Ben") is not None
        await archive.close()
    assert lines(caplog) == [
        ("ERROR", "the store fails: no space left on device (/var/calls.sqlite)"),
        ("WARNING", "the store is well: what memory still holds is written"),
    ]


@pytest.mark.virtual_time
async def test_the_log_of_the_server_names_the_one_call_that_its_store_refuses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = FailingStore()
    archive = Archive(store, resume_s=60.0)
    async with house(agent("Alice", TalkModel("Yes."))) as home:
        anna, ben = await kept(home, archive, "Anna"), await kept(home, archive, "Ben")
        store.refuses = {"call_Anna"}
        anna.call.receive(c.ClientTextAppendEvent(text="Hello."))
        await asyncio.sleep(10)
        assert (anna.errors(), ben.errors()) == (["store_failed"], [])
        store.refuses = set()
        await asyncio.sleep(10)
        await archive.close()
    assert lines(caplog) == [
        ("ERROR", "call call_Anna is not stored: Is a directory"),
        ("WARNING", "call call_Anna is stored again, with what memory still holds of it"),
    ]


@pytest.mark.virtual_time
async def test_an_ended_call_is_read_whole_while_its_store_takes_nothing() -> None:
    """Its end waits in memory. It was missing, and no gap told of that."""
    store = FailingStore()
    archive = Archive(store, resume_s=60.0)
    async with house(agent("Alice", TalkModel("Yes."))) as home:
        anna = await kept(home, archive, "Anna")
        await asyncio.sleep(1)
        stored = store.read("call_Anna")
        store.is_full = True
        anna.call.receive(c.ClientTextAppendEvent(text="Hello."))
        await asyncio.sleep(10)
        await anna.call.end("client_end")
        whole = await archive.entries("call_Anna")
        assert store.read("call_Anna") == stored
        assert whole == anna.call.log.read()
        assert await archive.entries("call_Anna", whole[-3].seq) == whole[-2:]
        info = await archive.info("call_Anna")
        assert info is not None
        assert (info.ended_reason, info.last_seq, info.gaps) == ("client_end", whole[-1].seq, ())
        store.is_full = False
        await archive.close()
    assert store.read("call_Anna") == whole


class EndingStore(MemoryStore):
    """Its reader is held up by what `meanwhile` does."""

    meanwhile: Callable[[], None] = staticmethod(lambda: None)

    def read(self, call_id: str, after_seq: int = 0, limit: int | None = None) -> list[Entry]:
        found = super().read(call_id, after_seq, limit)
        self.meanwhile()
        return found


@pytest.mark.virtual_time
async def test_a_call_that_ends_while_it_is_read_is_read_whole() -> None:
    store = EndingStore()
    archive = Archive(store, resume_s=60.0)
    async with house(agent("Alice", TalkModel("Yes."))) as home:
        anna = await kept(home, archive, "Anna")
        await asyncio.sleep(1)
        store.meanwhile = lambda: anna.call.end_soon("client_end")
        reading = asyncio.create_task(archive.entries("call_Anna"))
        await anna.call.ended.wait()
        assert await reading == anna.call.log.read()
        await archive.close()
