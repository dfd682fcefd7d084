"""The stores: one check for all of them, what is universal of each, and how one is named by its URL."""

import errno
import gc
import itertools
import logging
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.errors import StoreError, UsageError
from realtime.event.server import AgentInputClearedEvent, ServerSessionCreatedEvent, ServerSessionUpdatedEvent
from realtime.state.json_files import JsonFileStore
from realtime.state.log import AudioRun, Entry, last_seq_of
from realtime.state.memory import MemoryStore
from realtime.state.open import open_store
from realtime.state.sqlite import SqliteStore
from realtime.state.store import CallInfo, Change, Store, decode_entry, encode_entry
from realtime.testing.stores import check_store, some_entries
from tests.volumes import volume

KINDS = ("memory", "file", "sqlite", "sqlite with a short journal")
CALL = CallInfo(call_id="call")


def maker(kind: str, folder: Path) -> Callable[[], Store]:
    if kind == "memory":
        return MemoryStore
    if kind == "sqlite with a short journal":
        return lambda: SqliteStore(folder / "calls", journal_bytes=1_000)
    return lambda: open_store(f"{kind}:{folder / 'calls'}")


@contextmanager
def opened(kind: str) -> Iterator[tuple[Store, Callable[[], Store]]]:
    """A new store, and a way to look at what it wrote from outside."""
    with tempfile.TemporaryDirectory() as folder:
        make = maker(kind, Path(folder))
        store = make()
        others: list[Store] = []

        def again() -> Store:
            others.append(store if kind == "memory" else make())
            return others[-1]

        try:
            yield store, again
        finally:
            for one in (store, *others):
                one.close()


def event(seq: int) -> AgentInputClearedEvent:
    return AgentInputClearedEvent(seq=seq, ts_ms=10 * seq)


@pytest.fixture
def files(tmp_path: Path) -> Iterator[JsonFileStore]:
    """A store of files in the test's folder."""
    store = JsonFileStore(tmp_path)
    yield store
    store.close()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store in `calls.db` of the test's folder."""
    store = SqliteStore(tmp_path / "calls.db")
    yield store
    store.close()


@contextmanager
def sql(folder: Path) -> Iterator[sqlite3.Connection]:
    """The database of the test's folder, from outside; what is done to it is kept."""
    with closing(sqlite3.connect(folder / "calls.db")) as connection, connection:
        yield connection


def listed(store: Store, *owner: str) -> list[tuple[str, bool]]:
    """The calls in the store's list, and whether they are unreadable."""
    return [(info.call_id, info.unreadable) for info in store.calls(*owner)]


def two_calls(*names: str) -> list[Change]:
    return [Change(name, CallInfo(call_id=name, owner="anna")) for name in names]


@pytest.mark.parametrize("kind", KINDS)
def test_the_store_keeps_its_contract(kind: str, tmp_path: Path) -> None:
    check_store(maker(kind, tmp_path), durable=kind != "memory")


class Forgetful(MemoryStore):
    """A store with a fault."""

    def read(self, call_id: str, after_seq: int = 0, limit: int | None = None) -> list[Entry]:
        entries = super().read(call_id, after_seq, limit)
        return entries[:30] + entries[31:]


def test_the_check_finds_a_store_that_loses_an_entry() -> None:
    with pytest.raises(AssertionError, match="everything that was written piece by piece"):
        check_store(Forgetful, durable=False)


entries_of_a_call = st.builds(lambda seed, count: some_entries(Random(seed), count), st.integers(0), st.integers(0, 40))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=volume(10, 30))
@given(entries=entries_of_a_call, cuts=st.lists(st.integers(0, 40)), after_seq=st.integers(0, 300))
def test_what_is_written_in_any_pieces_is_read_back_from_any_place(
    kind: str, entries: list[Entry], cuts: list[int], after_seq: int
) -> None:
    with opened(kind) as (store, again):
        store.write([Change("call", CALL)])
        bounds = sorted({0, len(entries), *(cut for cut in cuts if cut < len(entries))})
        for start, end in itertools.pairwise(bounds):
            store.write([Change("call", None, entries[start:end])])
        seen = again()
        assert seen.read("call") == entries
        before = [entry for entry in entries if last_seq_of(entry) <= after_seq]
        assert before + seen.read("call", after_seq) == entries


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_written_twice_is_read_whole_from_any_place(kind: str) -> None:
    entries: list[Entry] = [event(seq) for seq in range(1, 101)]
    with opened(kind) as (store, again):
        store.write([Change("call", CALL, entries)])
        store.write([Change("call", None, entries[49:60])])
        for after_seq in (0, 49, 55, 70, 99, 100):
            assert again().read("call", after_seq) == entries[after_seq:]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=volume(10, 20))
@given(lengths=st.lists(st.integers(0, 20), min_size=1))
def test_of_a_run_that_was_written_many_times_the_longest_stays(kind: str, lengths: list[int]) -> None:
    runs = [AudioRun(3, 3 + length, 0, 40 * length, "item", 0, 100 * length) for length in lengths]
    with opened(kind) as (store, again):
        store.write([Change("call", CALL, [event(1), event(2)])])
        for run in runs:
            store.write([Change("call", None, [run])])
        assert again().read("call") == [event(1), event(2), max(runs, key=last_seq_of)]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), json_values, max_size=4), st.text())
def test_an_entry_is_one_line_and_reads_back_equal(config: dict[str, object], label: str) -> None:
    for entry in (
        ServerSessionUpdatedEvent(session_id=label, config=config, seq=3, ts_ms=7),
        ServerSessionCreatedEvent(session_id=label, seq=3, ts_ms=7),
    ):
        line = encode_entry(entry)
        assert b"\n" not in line
        assert decode_entry(line) == entry


@given(
    st.binary(max_size=200)
    | st.sampled_from([b'{"type":"audio_run"}', b"[" * 100_000, b'{"type":"agent_ready","seq":"x"}'])
)
def test_what_is_no_entry_is_refused(line: bytes) -> None:
    with pytest.raises(StoreError) as refused:
        decode_entry(line)
    assert refused.value.code == "store_corrupt"


@pytest.mark.parametrize("kind", ["file", "sqlite"])
def test_text_that_utf8_cannot_hold_costs_only_itself(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    deep: dict[str, object] = {}
    for _ in range(100_000):
        deep = {"deeper": deep}
    entries: list[Entry] = [
        ServerSessionCreatedEvent(session_id="half \ud83d", seq=1),
        ServerSessionUpdatedEvent(session_id="s", config=deep, seq=2),
        event(3),
    ]
    with opened(kind) as (store, again), caplog.at_level(logging.ERROR):
        store.write([Change("call", CALL, entries)])
        assert again().read("call") == [ServerSessionCreatedEvent(session_id="half ?", seq=1), event(3)]
    assert len(caplog.records) == 1
    assert caplog.records[0].getMessage().startswith("call call: seq 2 cannot be written as JSON")


@pytest.mark.parametrize("kind", ["file", "sqlite"])
def test_settings_that_utf8_cannot_hold_keep_no_other_call_from_being_stored(kind: str) -> None:
    odd = CallInfo(call_id="odd", agent_name="half \ud83d", config={"instructions": "Say \ud83d."})
    with opened(kind) as (store, again):
        store.write([Change("odd", odd, [event(1)]), Change("call", CALL, [event(1)])])
        assert [info.agent_name for info in again().calls(oldest_first=True)] == ["", "half ?"]
        assert again().read("odd") == again().read("call") == [event(1)]


def test_a_call_cannot_have_a_name_that_is_a_path() -> None:
    for call_id in ("", "..", "a/b", "a b", "a.b", "ü", "x" * 129, "a\n"):
        with pytest.raises(ValueError, match="not a call id"):
            CallInfo(call_id=call_id)


def test_past_its_bound_the_memory_store_forgets_the_calls_written_to_longest_ago() -> None:
    store = MemoryStore(max_entries=5)
    for name in ("a", "b", "c"):
        store.write([Change(name, CallInfo(call_id=name), [event(1)])])
    store.write([Change("a", None, [event(2), event(3)])])
    assert [store.read(name) != [] for name in "abc"] == [True, True, True]
    store.write([Change("c", None, [event(2)])])
    assert [store.call(name) is not None for name in "abc"] == [True, False, True]
    store.write([Change("c", None, [event(seq) for seq in range(3, 30)])])
    assert [store.call(name) is not None for name in "abc"] == [False, False, True]
    assert len(store.read("c")) == 29


def test_a_log_cut_at_any_byte_loads_up_to_its_last_whole_line_and_goes_on(tmp_path: Path) -> None:
    entries: list[Entry] = [event(1), AudioRun(2, 4, 20, 40, "item", 0, 300), event(5)]
    store = JsonFileStore(tmp_path)
    store.write([Change("call", CALL, entries)])
    store.close()
    log = tmp_path / "call" / "events.jsonl"
    whole = log.read_bytes()
    for cut in range(len(whole) + 1):
        log.write_bytes(whole[:cut])
        kept = entries[: whole[:cut].count(b"\n")]
        store = JsonFileStore(tmp_path)
        assert store.read("call") == kept
        info = store.call("call")
        assert info is not None
        assert info.last_seq == (last_seq_of(kept[-1]) if kept else 0)
        store.write([Change("call", None, [event(9)])])
        assert store.read("call") == [*kept, event(9)]
        store.close()


def test_a_damaged_line_costs_only_itself(
    files: JsonFileStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And the last seq is found behind very long and damaged lines."""
    long = ServerSessionCreatedEvent(session_id="x" * 300_000, seq=3)
    files.write([Change("call", CALL, [event(1), event(2), long])])
    files.close()
    log = tmp_path / "call" / "events.jsonl"
    first, _, third = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(first + b"\x00\xff{\n" + third)
    with caplog.at_level(logging.WARNING):
        assert files.read("call") == [event(1), long]
    assert [record.getMessage() for record in caplog.records] == ["call call: 1 damaged lines of its log were left out"]
    log.write_bytes(first + third + b"damaged\n" + b"y" * 200_000)
    info = files.call("call")
    assert info is not None
    assert info.last_seq == 3


def test_a_call_whose_description_is_damaged_is_an_error_and_hides_no_other(
    files: JsonFileStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files.write(two_calls("good", "bad"))
    (tmp_path / "bad" / "call.json").write_bytes(b'{"call_id": "ba')
    with caplog.at_level(logging.WARNING):
        assert listed(files, "anna") == [("good", False), ("bad", True)]
    assert [record.getMessage() for record in caplog.records] == ["call bad cannot be read: its call.json is damaged"]
    files.close()
    caplog.clear()
    # Whose it was is not known any more.
    later = JsonFileStore(tmp_path)
    with caplog.at_level(logging.WARNING):
        assert listed(later, "anna") == [("good", False)]
    assert [record.getMessage() for record in caplog.records] == ["call bad cannot be listed: its call.json is damaged"]
    with pytest.raises(StoreError) as damaged:
        later.call("bad")
    assert damaged.value.code == "store_corrupt"
    # Who lists the calls of all users is told of it, and when its files were written.
    os.utime(tmp_path / "bad" / "call.json", (0, 0))
    assert listed(later) == [("bad", True), ("good", False)]
    assert later.calls()[0].created_at == "1970-01-01T00:00:00.000Z"
    later.close()


@pytest.mark.parametrize("kind", ["file", "sqlite"])
def test_a_call_that_cannot_be_read_is_listed_as_unreadable_hides_no_other_and_can_be_deleted(
    kind: str, tmp_path: Path
) -> None:
    store = open_store(f"{kind}:{tmp_path / 'calls.db'}")
    store.write(two_calls("bad", "good"))
    if kind == "file":
        (tmp_path / "calls.db" / "bad" / "events.jsonl").mkdir()
    else:
        with sql(tmp_path) as connection:
            connection.execute("UPDATE calls SET info = ? WHERE call_id = 'bad'", (b'{"call_id": 7',))
    assert listed(store, "anna") == [("good", False), ("bad", True)]
    assert store.delete("bad")
    assert listed(store, "anna") == [("good", False)]
    store.close()


def test_a_call_that_could_not_be_deleted_is_still_found_and_can_be_deleted_again(
    files: JsonFileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.write([Change("call", CALL, [event(1)])])
    with monkeypatch.context() as broken:
        broken.setattr(shutil, "rmtree", _refuse)
        with pytest.raises(StoreError):
            files.delete("call")
    assert listed(files) == [("call", False)]
    assert files.delete("call")
    assert [one.name for one in tmp_path.iterdir()] == [".lock"]


def _refuse(path: str) -> None:
    raise PermissionError(errno.EACCES, "Permission denied", path)


def test_a_call_whose_deletion_was_cut_off_by_a_crash_is_deleted_by_the_next_server(tmp_path: Path) -> None:
    (tmp_path / ".deleted-call").mkdir()
    (tmp_path / ".deleted-call" / "events.jsonl").write_text("a secret of mine")
    with closing(JsonFileStore(tmp_path)) as store:
        store.write(two_calls("another"))
        assert sorted(one.name for one in tmp_path.iterdir()) == [".lock", "another"]


def test_the_first_list_of_many_calls_leaves_the_garbage_collector_nothing_to_go_through(tmp_path: Path) -> None:
    """A collection that has to would stop every call for that long."""
    count = volume(300, 20_000)
    store = JsonFileStore(tmp_path)
    config = {"tools": [{"name": "look", "parameters": {"type": "object"}}]}
    store.write([Change(f"c{n}", CallInfo(call_id=f"c{n}", config=config)) for n in range(count)])
    store.close()
    later = JsonFileStore(tmp_path)
    gc.collect()
    before = len(gc.get_objects())
    assert len(later.calls(limit=1)) == 1
    assert len(gc.get_objects()) - before < 100
    later.close()


SECOND_PROCESS = """
import os, signal, sys
from realtime.errors import StoreError
from realtime.state.open import open_store
from realtime.state.store import CallInfo, Change
store = open_store(sys.argv[1])
try:
    store.write([Change("theirs", CallInfo(call_id="theirs"))])
except StoreError as error:
    print(error.code, error.message)
print([info.call_id for info in store.calls()])
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_second_process_that_would_write_into_one_folder_is_refused_with_a_sentence(tmp_path: Path) -> None:
    """Until the first closes its store. The lock of a process that was killed keeps nobody out."""
    store = JsonFileStore(tmp_path)
    store.write([Change("ours", CallInfo(call_id="ours"))])

    def another() -> list[str]:
        argv = [sys.executable, "-c", SECOND_PROCESS, f"file:{tmp_path}"]
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.splitlines()

    refused = "store_locked another process keeps its calls in this folder: give each server a folder of its own"
    assert another() == [refused, "['ours']"]
    store.close()
    assert another() == ["['theirs', 'ours']"]
    with closing(JsonFileStore(tmp_path)) as later:
        later.write([Change("ours", None, [event(1)])])


def test_one_call_whose_files_fail_is_named_and_the_others_are_kept(files: JsonFileStore, tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file where a folder should be")
    with pytest.raises(StoreError) as failed:
        files.write([Change(name, CallInfo(call_id=name), [event(1)]) for name in ("one", "blocked", "two")])
    assert failed.value.call_ids == frozenset({"blocked"})
    assert files.read("one") == files.read("two") == [event(1)]


def test_more_logs_are_written_than_are_kept_open(files: JsonFileStore) -> None:
    names = [f"call_{n}" for n in range(300)]
    for seq in (1, 2):
        files.write([Change(name, CallInfo(call_id=name), [event(seq)]) for name in names])
    handles = [Path("/proc/self/fd") / fd for fd in os.listdir("/proc/self/fd")]
    open_files = [os.readlink(handle) for handle in handles if handle.is_symlink()]
    assert len([path for path in open_files if path.endswith("events.jsonl")]) == 256
    assert all(files.read(name) == [event(1), event(2)] for name in names)


@pytest.mark.parametrize("kind", ["file", "sqlite"])
def test_what_was_said_can_be_read_by_nobody_else_and_is_in_no_file_when_it_is_deleted(
    kind: str, tmp_path: Path
) -> None:
    store = maker(kind, tmp_path)()
    for n in range(200):
        entries = [ServerSessionCreatedEvent(session_id=f"a secret of mine {n}", seq=n + 1)]
        store.write([Change("call", CALL if n == 0 else None, entries)])
        store.write([Change("stays", CallInfo(call_id="stays") if n == 0 else None, [event(n + 1)])])
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert any(b"a secret of mine" in path.read_bytes() for path in files)
    store.delete("call")
    store.close()
    assert not any(b"a secret of mine" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_batch_that_fails_leaves_nothing_of_itself(database: SqliteStore) -> None:
    database.write([Change("call", CALL, [event(1)])])
    too_big = msgspec.structs.replace(event(3), seq=2**70)
    with pytest.raises(OverflowError):
        database.write([Change("other", CallInfo(call_id="other")), Change("call", None, [event(2), too_big])])
    assert database.read("call") == [event(1)]
    assert database.call("other") is None
    database.write([Change("call", None, [event(2)]), Change("other", None, [event(1)])])
    assert database.read("call") == [event(1), event(2)]
    assert database.call("other") is None


def test_what_is_said_in_a_call_that_could_not_be_stored_is_in_no_later_call(database: SqliteStore) -> None:
    undone = Change("undone", CallInfo(call_id="undone", owner="ann"), [event(1)])
    with pytest.raises(TypeError):
        database.write([undone, Change("wrong", CallInfo(call_id="wrong", config={"tool": object()}))])
    database.write([Change("later", CallInfo(call_id="later", owner="bob"))])
    database.write([Change("undone", None, [event(2)])])
    assert database.read("later") == []


def test_a_damaged_row_of_the_journal_is_told_as_a_damaged_store(database: SqliteStore, tmp_path: Path) -> None:
    database.write([Change("call", CALL, [event(1)])])
    with sql(tmp_path) as connection:
        connection.execute("UPDATE journal SET places = x'ff00'")
    for ask in (database.calls, lambda: database.read("call")):
        with pytest.raises(StoreError) as damaged:
            ask()
        assert damaged.value.code == "store_corrupt"


def test_a_database_of_another_version_and_a_file_that_is_none_are_left_alone(tmp_path: Path) -> None:
    with sql(tmp_path) as connection:
        connection.execute("PRAGMA user_version = 7")
    with pytest.raises(StoreError, match="another version") as refused:
        SqliteStore(tmp_path / "calls.db").write([Change("call", CALL)])
    assert (refused.value.code, refused.value.retryable) == ("store_version", False)
    diary = tmp_path / "diary"
    diary.write_bytes(b"Dear diary, " * 100)
    with pytest.raises(StoreError) as refused:
        SqliteStore(diary).write([Change("call", CALL)])
    assert refused.value.code == "store_corrupt"
    assert diary.read_bytes() == b"Dear diary, " * 100


def test_calls_of_a_database_without_a_journal_are_kept_and_go_on(database: SqliteStore, tmp_path: Path) -> None:
    with sql(tmp_path) as connection:
        connection.executescript(
            """
            CREATE TABLE calls (
                id INTEGER PRIMARY KEY AUTOINCREMENT, call_id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL,
                created_at TEXT NOT NULL, info BLOB NOT NULL
            );
            CREATE TABLE entries (
                call INTEGER NOT NULL, seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, body BLOB NOT NULL,
                PRIMARY KEY (call, seq)
            ) WITHOUT ROWID;
            PRAGMA user_version = 1;
            """
        )
        connection.execute("INSERT INTO calls VALUES (1, 'call', '', '', ?)", (msgspec.json.encode(CALL),))
        for seq in (1, 2):
            connection.execute("INSERT INTO entries VALUES (1, ?, ?, ?)", (seq, seq, encode_entry(event(seq))))
    assert database.read("call") == [event(1), event(2)]
    assert database.call("call") == msgspec.structs.replace(CALL, last_seq=2)
    database.write([Change("call", None, [event(3)])])
    assert database.read("call") == [event(1), event(2), event(3)]


def test_a_long_call_takes_few_rows_and_little_room(tmp_path: Path) -> None:
    entries = some_entries(Random(1), 3_000)
    store = SqliteStore(tmp_path / "calls.db", journal_bytes=100_000)
    store.write([Change("call", CALL)])
    for at in range(0, len(entries), 3):
        store.write([Change("call", None, entries[at : at + 3])])
    assert store.read("call") == entries
    store.close()
    with sql(tmp_path) as connection:
        rows, packed = connection.execute("SELECT count(*), sum(length(body)) FROM entries").fetchone()
    assert rows < 100
    assert packed < sum(len(encode_entry(entry)) for entry in entries) / 4


def test_two_processes_can_share_a_database(database: SqliteStore, tmp_path: Path) -> None:
    database.write([Change("call", CALL, [event(1)])])
    with closing(SqliteStore(tmp_path / "calls.db")) as another:
        another.write([Change("call", None, [event(2)])])
    assert database.read("call") == [event(1), event(2)]


def test_a_store_is_named_by_its_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert isinstance(open_store("memory:"), MemoryStore)
    for url, kind in ((f"file:{tmp_path}/calls", JsonFileStore), ("sqlite:~/calls.db", SqliteStore)):
        store = open_store(url)
        assert isinstance(store, kind)
        assert not list(tmp_path.iterdir())
    store.write([Change("call", CALL)])
    store.close()
    assert (tmp_path / "calls.db").exists()


def test_an_unknown_store_is_refused_with_what_there_is() -> None:
    for url in ("", "memory", "memory:x", "file:", "sqlite:", "redis://host", "/tmp/calls.db"):
        with pytest.raises(UsageError, match="use memory:, file:FOLDER or sqlite:FILE"):
            open_store(url)
