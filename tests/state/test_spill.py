"""The way from the logs to the store: what is written when, and what a store that fails or is slow costs."""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.errors import StoreError, UsageError
from realtime.event.base import AudioFormat
from realtime.event.server import AgentInputClearedEvent, AgentResponseAudioDeltaEvent
from realtime.state.log import AudioRun, Entry, Log, last_seq_of
from realtime.state.memory import MemoryStore
from realtime.state.spill import MAX_ENDED, Spill
from realtime.state.store import CallInfo, Change
from realtime.testing import clock
from tests.volumes import volume

pytestmark = pytest.mark.virtual_time

PCM = AudioFormat.pcm16(24_000)
FULL = StoreError("no space left", code="store_full")


class FakeStore(MemoryStore):
    """A store that tells when it was written to and fails on demand, as a whole or for some calls."""

    def __init__(self) -> None:
        super().__init__()
        self.wrote_at: list[float] = []
        self.fails: Exception | None = None
        self.refuses: set[str] = set()
        self.is_replaced = False

    def write(self, batch: Sequence[Change]) -> None:
        self.wrote_at.append(asyncio.get_running_loop().time())
        if self.fails is not None:
            raise self.fails
        super().write([change for change in batch if change.call_id not in self.refuses])
        refused = self.refuses & {change.call_id for change in batch}
        if refused:
            raise StoreError("is a directory", call_ids=frozenset(refused))

    def delete(self, call_id: str) -> bool:
        if self.is_replaced:
            self.is_replaced = False
            for info in self.calls():
                super().delete(info.call_id)
            raise StoreError("it was replaced by an empty one", lost=True)
        return super().delete(call_id)


@dataclass
class Told:
    """Who is told of trouble."""

    news: list[tuple[str | None, str]] = field(default_factory=list)

    def trouble(self, call_id: str | None, error: StoreError) -> None:
        self.news.append((call_id, error.code))

    def recovered(self, call_id: str | None) -> None:
        self.news.append((call_id, "recovered"))


@dataclass
class World:
    """A spill over a fake store."""

    store: FakeStore
    told: Told
    spill: Spill
    logs: dict[str, Log] = field(default_factory=dict)

    def call(self, call_id: str = "call", *, max_entries: int = 1_024) -> Log:
        log = self.logs[call_id] = Log(asyncio.get_running_loop().time, max_entries=max_entries)
        self.spill.add(CallInfo(call_id=call_id), log)
        return log

    def stored(self, call_id: str = "call") -> CallInfo:
        info = self.store.call(call_id)
        assert info is not None
        return info

    async def get_well(self, seconds: float = 5) -> None:
        """The store takes everything again, and is tried within that time."""
        self.store.fails = None
        self.store.refuses = set()
        await asyncio.sleep(seconds)


def made() -> World:
    store, told = FakeStore(), Told()
    return World(store, told, Spill(store, on_trouble=told.trouble, on_recovered=told.recovered))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    one = made()
    yield one
    await one.spill.close()


def other() -> AgentInputClearedEvent:
    return AgentInputClearedEvent()


def audio(n_bytes: int = 960) -> AgentResponseAudioDeltaEvent:
    return AgentResponseAudioDeltaEvent(response_id="response", item_id="item", delta=bytes(n_bytes), format=PCM)


def seqs(entries: Sequence[Entry]) -> list[int]:
    covered: list[int] = []
    for entry in entries:
        covered += range(entry.seq, last_seq_of(entry) + 1)
    return covered


def declare(job: Callable[..., object], cost_s: float) -> None:
    """From now on the store takes that long for it, in virtual time."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, clock.VirtualLoop)
    loop.declare_cost(job.__qualname__, cost_s)


async def test_what_is_logged_is_stored_within_fifty_milliseconds(world: World) -> None:
    log = world.call()
    for _ in range(200):
        log.append(other())
        await asyncio.sleep(0.013)
        assert world.store.read("call")[-1].seq >= log.last_seq - 4
    await asyncio.sleep(0.051)
    assert world.store.read("call") == log.read()


async def test_writings_are_fifty_milliseconds_apart_and_none_is_made_in_silence(world: World) -> None:
    one, two = world.call("one"), world.call("two")
    for _ in range(100):
        one.append(audio())
        two.append(other())
        await asyncio.sleep(0.01)
    await asyncio.sleep(1.1)
    writings = len(world.store.wrote_at)
    assert min(later - earlier for earlier, later in itertools.pairwise(world.store.wrote_at)) > 0.05 - 1e-9
    assert 18 <= writings <= 23
    await asyncio.sleep(3_600)
    assert len(world.store.wrote_at) == writings


async def test_sound_causes_no_writings_of_its_own_beside_words(world: World) -> None:
    log = world.call()
    for _ in range(10):
        for _ in range(5):
            log.append(audio(100))
            await asyncio.sleep(0.04)
        log.append(other())
    await asyncio.sleep(0.051)
    assert len(world.store.wrote_at) == 11
    assert world.store.read("call") == log.read()


async def test_sound_without_words_is_stored_within_a_second_while_it_grows(world: World) -> None:
    log = world.call()
    log.append(other())
    for _ in range(100):
        log.append(audio(100))
        await asyncio.sleep(0.04)
        stored = world.store.read("call")
        known_ms = stored[-1].last_ts_ms if isinstance(stored[-1], AudioRun) else 0
        assert log.now_ms() - known_ms <= 1_050
    await asyncio.sleep(1.1)
    assert (
        world.store.read("call")
        == log.read()
        == [AgentInputClearedEvent(seq=1), AudioRun(2, 101, 0, 3_960, "item", 0, 10_000)]
    )
    assert len(world.store.wrote_at) <= 11


async def test_flushing_waits_for_everything_that_was_logged(world: World) -> None:
    log = world.call()
    await asyncio.sleep(0)
    for _ in range(3):
        log.append(other())
        before = asyncio.get_running_loop().time()
        await world.spill.flush()
        assert asyncio.get_running_loop().time() == before
        assert world.store.read("call") == log.read()


async def test_what_is_known_of_a_call_is_changed_and_stored(world: World) -> None:
    log = world.call()
    log.append(other())
    world.spill.update("call", agent_name="Anna", config={"voice": "Marin"})
    world.spill.update("nobody", agent_name="Bert")
    await world.spill.flush()
    expected = CallInfo(call_id="call", agent_name="Anna", config={"voice": "Marin"}, last_seq=1)
    assert world.store.call("call") == world.spill.info("call") == expected
    assert world.store.call("nobody") is None
    assert world.spill.info("nobody") is None


async def test_the_rest_of_a_call_that_ends_is_stored_and_then_its_log_is_free(world: World) -> None:
    log = world.call()
    await world.spill.flush()
    log.append(other())
    world.spill.update("call", ended_reason="idle")
    world.spill.remove("call")
    world.spill.remove("call")
    log.append(other())
    await world.spill.flush()
    assert world.store.call("call") == CallInfo(call_id="call", ended_reason="idle", last_seq=2)
    writings = len(world.store.wrote_at)
    log.append(other())
    await asyncio.sleep(1)
    assert len(world.store.wrote_at) == writings


@pytest.mark.virtual_time(costs={"FakeStore.write": 0.5})
async def test_the_last_words_of_a_call_are_stored_though_they_come_while_its_rest_is_written(world: World) -> None:
    log = world.call()
    world.spill.remove("call")
    await asyncio.sleep(0.1)
    log.append(other())
    await world.spill.flush()
    assert world.store.read("call") == log.read()


async def test_a_call_that_is_resumed_goes_on_after_what_is_stored(world: World) -> None:
    first = world.call()
    for _ in range(3):
        first.append(other())
    world.spill.remove("call")
    await world.spill.flush()
    info = world.stored()
    again = Log(asyncio.get_running_loop().time, last_seq=info.last_seq, start_ms=5_000)
    world.spill.add(info, again)
    again.append(other())
    await world.spill.flush()
    assert [(entry.seq, entry.ts_ms) for entry in world.store.read("call")] == [(1, 0), (2, 0), (3, 0), (4, 5_000)]
    assert world.stored().gaps == ()
    with pytest.raises(UsageError, match="was added already"):
        world.call()


async def test_closing_writes_the_rest_and_takes_no_more() -> None:
    await made().spill.close()
    one = made()
    log = one.call()
    await asyncio.sleep(0)
    log.append(other())
    await one.spill.close()
    await one.spill.close()
    await one.spill.flush()
    assert one.store.read("call") == log.read()
    with pytest.raises(UsageError, match="closed"):
        one.call("late")


async def test_many_calls_are_written_in_one_writing_and_logs_are_never_read_in_one_go(world: World) -> None:
    logs = [world.call(f"call_{n}") for n in range(500)]
    await world.spill.flush()
    writings = len(world.store.wrote_at)
    for log in logs:
        log.append(other())
    await asyncio.sleep(0.06)
    assert len(world.store.wrote_at) == writings + 1
    assert all(world.store.read(f"call_{n}") == log.read() for n, log in enumerate(logs))


async def test_a_deleted_call_does_not_come_back(world: World) -> None:
    log, stays = world.call("gone"), world.call("stays")
    log.append(other())
    await world.spill.flush()
    log.append(other())
    stays.append(other())
    world.spill.update("gone", agent_name="Anna")
    assert await world.spill.delete("gone")
    world.spill.update("gone", agent_name="Bert")
    log.append(other())
    world.spill.remove("gone")
    await world.spill.flush()
    assert world.store.call("gone") is None
    assert world.store.read("stays") == stays.read()
    assert not await world.spill.delete("gone")


async def test_a_call_that_is_deleted_while_it_is_written_is_deleted_after_that(world: World) -> None:
    declare(FakeStore.write, 0.5)
    world.call().append(other())
    await asyncio.sleep(0.1)
    assert world.store.call("call") is not None
    assert await world.spill.delete("call")
    assert asyncio.get_running_loop().time() == 0.5
    await asyncio.sleep(5)
    assert world.store.call("call") is None


async def test_a_store_that_fails_is_told_of_once_and_gets_everything_when_it_is_well(world: World) -> None:
    log = world.call()
    world.store.fails = FULL
    for _ in range(300):
        log.append(other())
        await asyncio.sleep(0.1)
    assert world.told.news == [(None, "store_full")]
    assert len(world.store.wrote_at) <= 12  # it is left alone for longer each time, up to 5 s
    await world.get_well()
    assert world.told.news == [(None, "store_full"), (None, "recovered")]
    assert world.store.read("call") == log.read()
    assert world.stored().gaps == ()
    log.append(other())
    await asyncio.sleep(0.05)
    assert world.store.read("call") == log.read()


async def test_what_the_log_could_not_hold_meanwhile_is_noted_as_a_gap(world: World) -> None:
    log = world.call(max_entries=10)
    log.append(other())
    await world.spill.flush()
    for gone in (30, 40):
        world.store.fails = FULL
        for _ in range(gone):
            log.append(other())
            await asyncio.sleep(0.5)
        await world.get_well()
    assert world.stored().gaps == ((2, 21), (32, 61))
    assert seqs(world.store.read("call")) == [1, *range(22, 32), *range(62, 72)]


@pytest.mark.parametrize("cost_s", [0.0, 0.5, 8.0])
async def test_a_burst_of_events_leaves_no_gap(world: World, cost_s: float) -> None:
    """Everybody in a room may type at once: more comes than a log holds, between two writings or while one goes on."""
    declare(FakeStore.write, cost_s)
    log = world.call()
    log.append(other())
    await asyncio.sleep(0.1 if cost_s < 1 else 6)
    assert world.told.news == ([(None, "store_slow")] if cost_s > 1 else [])
    for _ in range(3_000):
        log.append(audio())
        log.append(other())
    assert log.first_seq > 1
    await asyncio.sleep(2)
    log.append(other())
    await world.spill.flush()
    assert world.stored().gaps == ()
    assert seqs(world.store.read("call")) == [*range(1, 6_003)]


async def test_a_call_whose_writing_fails_hurts_no_other(world: World) -> None:
    bad, good = world.call("bad"), world.call("good")
    world.store.refuses = {"bad"}
    for _ in range(100):
        bad.append(other())
        good.append(other())
        await asyncio.sleep(0.1)
        assert world.store.read("good")[-1].seq >= good.last_seq - 1
    assert world.told.news == [("bad", "store_failed")]
    await world.get_well()
    assert world.told.news == [("bad", "store_failed"), ("bad", "recovered")]
    assert world.store.read("bad") == bad.read()


async def test_a_failure_of_all_calls_is_told_of_once(world: World) -> None:
    world.store.refuses = {f"call_{n}" for n in range(50)}
    for name in sorted(world.store.refuses):
        world.call(name).append(other())
    await asyncio.sleep(10)
    assert world.told.news == [(None, "store_failed")]


async def test_a_call_that_ended_while_the_store_failed_is_written_when_it_is_well(world: World) -> None:
    world.store.fails = FULL
    log = world.call()
    log.append(other())
    await asyncio.sleep(1)
    world.spill.update("call", ended_reason="idle")
    world.spill.remove("call")
    await asyncio.sleep(1)
    await world.get_well()
    assert world.stored() == CallInfo(call_id="call", ended_reason="idle", last_seq=1)
    assert world.store.read("call") == log.read()


async def test_a_call_that_is_resumed_while_the_store_fails_is_written_in_order(world: World) -> None:
    world.store.fails = FULL
    first = world.call()
    first.append(other())
    world.spill.remove("call")
    again = Log(asyncio.get_running_loop().time, last_seq=1)
    world.spill.add(CallInfo(call_id="call", last_seq=1, agent_name="Anna"), again)
    again.append(other())
    await asyncio.sleep(1)
    await world.get_well()
    assert world.stored() == CallInfo(call_id="call", last_seq=2, agent_name="Anna")
    assert world.store.read("call") == [*first.read(), *again.read()]


async def test_of_calls_that_ended_while_the_store_fails_a_bounded_number_waits(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.store.fails = FULL
    world.call("first").append(other())
    await asyncio.sleep(1)
    for number in range(MAX_ENDED + 2):
        world.call(f"call_{number}").append(other())
        world.spill.remove(f"call_{number}")
    await world.get_well(10)
    stored = [number for number in range(MAX_ENDED + 2) if world.store.call(f"call_{number}") is not None]
    assert stored == list(range(2, MAX_ENDED + 2))
    assert [record.getMessage() for record in caplog.records] == [
        f"call call_{number}: what the store did not take of it is lost" for number in (0, 1)
    ]


async def test_flushing_into_a_store_that_fails_says_so_and_tries_at_once(world: World) -> None:
    log = world.call()
    world.store.fails = FULL
    for _ in range(3):
        with pytest.raises(StoreError, match="no space left"):
            await world.spill.flush()
    assert asyncio.get_running_loop().time() == 0
    world.store.fails = None
    log.append(other())
    await world.spill.flush()
    assert world.store.read("call") == log.read()


async def test_closing_over_a_store_that_fails_ends_and_says_what_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    one = made()
    one.store.fails = FULL
    one.call("one").append(other())
    one.call("two")
    with caplog.at_level(logging.ERROR):
        await one.spill.close()
    assert [record.getMessage() for record in caplog.records] == [
        "the store did not take the rest of 2 calls: no space left"
    ]


async def test_a_store_with_a_fault_of_its_own_is_only_a_store_that_fails(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    log = world.call()
    world.store.fails = ZeroDivisionError("oh")
    log.append(other())
    await asyncio.sleep(1)
    assert world.told.news == [(None, "store_failed")]
    assert "the store failed in a way of its own" in {record.getMessage() for record in caplog.records}
    await world.get_well()
    assert world.store.read("call") == log.read()


async def test_whoever_is_told_and_fails_hurts_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def broken(*what: object) -> None:
        raise RuntimeError("the screen is gone")

    store = FakeStore()
    one = World(store, Told(), Spill(store, on_trouble=broken, on_recovered=broken))
    store.fails = FULL
    one.call().append(other())
    await asyncio.sleep(1)
    await one.get_well()
    assert store.read("call") == one.logs["call"].read()
    assert len(caplog.records) == 2
    await one.spill.close()


@pytest.mark.virtual_time(costs={"FakeStore.delete": 0.5})
async def test_a_deletion_that_finds_the_store_replaced_loses_nothing_that_is_said_meanwhile(world: World) -> None:
    log = world.call()
    log.append(other())
    await world.spill.flush()
    world.store.is_replaced = True
    deletion = asyncio.create_task(world.spill.delete("another"))
    await asyncio.sleep(0.1)
    log.append(other())
    with pytest.raises(StoreError, match="replaced"):
        await deletion
    await asyncio.sleep(5)
    assert world.store.read("call") == log.read()


@pytest.mark.virtual_time(costs={"FakeStore.write": 20.0})
async def test_a_slow_store_is_told_of_once_and_holds_nobody_up(world: World) -> None:
    log = world.call()
    for _ in range(150):
        before = asyncio.get_running_loop().time()
        log.append(other())
        await asyncio.sleep(0.1)
        assert asyncio.get_running_loop().time() == pytest.approx(before + 0.1)
    assert world.told.news == [(None, "store_slow")]
    assert world.store.wrote_at == [0.0]  # one at a time
    await asyncio.sleep(30)
    assert world.told.news[:2] == [(None, "store_slow"), (None, "recovered")]
    assert world.store.read("call") == log.read()


@pytest.mark.virtual_time(costs={"FakeStore.write": 8.0})
async def test_a_store_that_fails_while_it_is_slow_is_told_of_as_failing(world: World) -> None:
    log = world.call()
    world.store.fails = FULL
    log.append(other())
    await asyncio.sleep(30)
    assert world.told.news == [(None, "store_slow"), (None, "store_full")]
    assert world.spill.trouble == FULL
    await world.get_well(30)
    assert world.told.news[2] == (None, "recovered")


@pytest.mark.parametrize("cost_s", [0.0, 8.0])
async def test_of_many_calls_that_end_at_once_none_is_lost(world: World, cost_s: float) -> None:
    declare(FakeStore.write, cost_s)
    ids = [f"call_{number}" for number in range(2 * MAX_ENDED)]
    for call_id in ids:
        world.call(call_id)
    await asyncio.sleep(6)
    assert world.told.news == ([(None, "store_slow")] if cost_s else [])
    for call_id in ids:
        world.logs[call_id].append(other())
        world.spill.remove(call_id)
    await world.spill.flush()
    assert [len(world.store.read(call_id)) for call_id in ids] == [1] * len(ids)


@pytest.mark.virtual_time(costs={"FakeStore.write": 1_000.0})
async def test_closing_over_a_store_that_hangs_ends_in_time(caplog: pytest.LogCaptureFixture) -> None:
    one = made()
    log = one.call()
    await asyncio.sleep(1)
    log.append(other())
    waiting = asyncio.create_task(one.spill.flush())
    await asyncio.sleep(0)
    with caplog.at_level(logging.ERROR):
        await one.spill.close(patience_s=3.0)
    assert asyncio.get_running_loop().time() == 4.0
    assert [record.getMessage() for record in caplog.records] == [
        "the store did not take the rest of 1 calls: it is too slow"
    ]
    with pytest.raises(StoreError, match="closed"):
        await waiting


steps = st.lists(
    st.tuples(
        st.sampled_from(["one", "two", "three"]),
        st.sampled_from(["audio", "other", "other", "info", "end", "break", "refuse", "mend", "wait", "flush"]),
        st.floats(0, 0.4),
    ),
    max_size=120,
)


@settings(max_examples=volume(10, 60))
@given(course=steps, max_entries=st.integers(1, 30), cost_s=st.sampled_from([0.0, 0.03, 0.4, 8.0]))
def test_what_is_stored_and_what_is_noted_as_lost_is_the_whole_log(
    course: list[tuple[str, str, float]], max_entries: int, cost_s: float
) -> None:
    clock.run(_live_through(course, max_entries), costs={"FakeStore.write": cost_s})


async def _live_through(course: list[tuple[str, str, float]], max_entries: int) -> None:
    one = made()
    ended: set[str] = set()
    names: dict[str, str] = {}
    for name in ("one", "two", "three"):
        one.call(name, max_entries=max_entries)
    for number, (name, what, pause_s) in enumerate(course):
        match what:
            case "audio" | "other" if name not in ended:
                one.logs[name].append(audio() if what == "audio" else other())
            case "info" if name not in ended:
                names[name] = f"name {number}"
                one.spill.update(name, agent_name=names[name])
            case "end":
                ended.add(name)
                one.spill.remove(name)
            case "break":
                one.store.fails = FULL
            case "refuse":
                one.store.refuses.add(name)
            case "mend":
                await one.get_well(0)
            case "wait":
                await asyncio.sleep(10 * pause_s)
            case "flush" if one.store.fails is None and not one.store.refuses:
                await one.spill.flush()
        await asyncio.sleep(pause_s)
    await one.get_well(0)
    await one.spill.flush()
    for name, log in one.logs.items():
        info = one.stored(name)
        assert info.agent_name == names.get(name, "")
        lost = [seq for start, end in info.gaps for seq in range(start, end + 1)]
        assert sorted(lost + seqs(one.store.read(name))) == list(range(1, log.last_seq + 1))
        assert not set(lost) & set(seqs(log.read()))
    assert {call_id for call_id, news in one.told.news if news == "recovered"} == {
        call_id for call_id, news in one.told.news if news != "recovered"
    }
    await one.spill.close()
