"""A killed process and a disk that refuses: what was stored can be read, and what goes on goes on."""

import asyncio
import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from realtime.errors import StoreError
from realtime.event.server import AgentInputClearedEvent
from realtime.state.log import AudioRun, Entry, Log, last_seq_of
from realtime.state.memory import MemoryStore
from realtime.state.open import open_store
from realtime.state.spill import Spill
from realtime.state.store import CallInfo, Change
from tests.volumes import HANG_S, volume

WRITER = Path(__file__).with_name("crash_writer.py")
CALLS = ("one", "two", "three")
KILLS = volume(1, 10)
KINDS = ("file", "sqlite")


def killed(url: str, kill: int) -> tuple[int, int]:
    """The last seqs that the writer said to be stored and logged until it was killed, somewhere in its course."""
    writer = subprocess.Popen([sys.executable, str(WRITER), url, str(kill)], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    with writer:
        said = [writer.stdout.readline() for _ in range(Random(kill).randint(1, 300))]
        writer.kill()
        said += writer.stdout.read().splitlines(keepends=True)
    assert writer.returncode < 0
    # The last line may be cut.
    told = [line.split() for line in said if line.endswith(b"\n")]
    stored, logged = ([int(seq) for what, seq in told if what == word] for word in (b"stored", b"logged"))
    return max(stored, default=0), max(logged, default=0)


def assert_unbroken(entries: Sequence[Entry]) -> None:
    """No seq is missing, none is there twice, and audio follows on audio."""
    seq = offset_bytes = 0
    for entry in entries:
        assert entry.seq == seq + 1
        seq = last_seq_of(entry)
        if isinstance(entry, AudioRun):
            assert entry.offset_bytes == offset_bytes
            assert entry.n_bytes == 1_920 * (entry.last_seq - entry.seq + 1)
            offset_bytes += entry.n_bytes


@pytest.mark.parametrize("kind", [pytest.param("file", marks=pytest.mark.night), "sqlite"])
def test_a_process_killed_at_any_moment_loses_nothing_that_was_stored(kind: str, tmp_path: Path) -> None:
    """What is logged is stored within 50 ms: tests/state/test_spill.py."""
    for kill in range(KILLS):
        path = tmp_path / f"calls_{kill}"
        stored, logged = killed(f"{kind}:{path}", kill)
        with closing(open_store(f"{kind}:{path}")) as store:
            for name in CALLS:
                entries = store.read(name)
                assert_unbroken(entries)
                last = last_seq_of(entries[-1]) if entries else 0
                assert stored <= last <= logged + 1, f"kill {kill}"
                # Where the call goes on, after the crash.
                event = AgentInputClearedEvent(seq=last + 1)
                store.write([Change(name, CallInfo(call_id=name), [event])])
                assert store.read(name) == [*entries, event]
        if kind == "sqlite":
            with closing(sqlite3.connect(path)) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


FILLING = """
import asyncio, json, resource, sys
from realtime.errors import StoreError
from realtime.event.server import ServerSessionUpdatedEvent
from realtime.state.log import Log, last_seq_of
from realtime.state.open import open_store
from realtime.state.spill import Spill
from realtime.state.store import CallInfo

def limit(n_bytes):
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, resource.RLIM_INFINITY))

async def main():
    news = []
    store = open_store(sys.argv[1])
    spill = Spill(
        store,
        on_trouble=lambda call_id, error: news.append([call_id, error.code]),
        on_recovered=lambda call_id: news.append([call_id, "recovered"]),
    )
    logs = [Log(asyncio.get_running_loop().time) for _ in range(2)]
    for number, log in enumerate(logs):
        spill.add(CallInfo(call_id=f"call_{number}"), log)
    await spill.flush()

    async def talk(until):
        while not until():
            for log in logs:
                log.append(ServerSessionUpdatedEvent(session_id="x" * 2_000))
            try:
                await spill.flush()
            except StoreError:
                pass

    limit(400_000)
    await talk(lambda: news)
    held = await asyncio.to_thread(store.read, "call_0")
    fell_to = [last_seq_of(held[-1]) if held else 0, logs[0].last_seq]
    for log in logs:
        for _ in range(10):
            log.append(ServerSessionUpdatedEvent(session_id="more"))
    limit(resource.RLIM_INFINITY)
    await talk(lambda: news[-1][1] == "recovered" and len(news) % 2 == 0)
    await spill.close()
    whole = all(store.read(f"call_{n}") == log.read() for n, log in enumerate(logs))
    print(json.dumps({"news": news, "whole": whole, "gaps": store.call("call_0").gaps, "fell_to": fell_to}))
    store.close()

asyncio.run(main())
"""


@pytest.mark.parametrize("kind", KINDS)
def test_calls_go_on_over_a_full_disk_and_are_whole_when_there_is_room_again(kind: str, tmp_path: Path) -> None:
    ran = run_program(FILLING, f"{kind}:{tmp_path / 'calls'}")
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    troubles = [call_id for call_id, news in told["news"] if news != "recovered"]
    assert troubles
    assert len(troubles) == len(set(troubles))
    assert sorted(map(str, troubles)) == sorted(str(call_id) for call_id, news in told["news"] if news == "recovered")
    stored_seq, logged_seq = told["fell_to"]
    assert 0 < stored_seq < logged_seq
    assert told["whole"]
    assert told["gaps"] == []


def run_program(program: str, url: str) -> subprocess.CompletedProcess[str]:
    """A process of its own."""
    argv = [sys.executable, "-c", program, url]
    return subprocess.run(argv, capture_output=True, text=True, timeout=HANG_S, check=False)


@pytest.mark.parametrize("kind", KINDS)
async def test_calls_go_on_over_a_folder_that_cannot_be_written(kind: str, tmp_path: Path) -> None:
    """A file stands where the folder should be, which stops the administrator, too."""
    blocked = tmp_path / "blocked"
    blocked.write_text("no folder")
    news: list[tuple[str | None, str]] = []
    failed, recovered = asyncio.Event(), asyncio.Event()

    def ill(call_id: str | None, error: StoreError) -> None:
        news.append((call_id, error.code))
        failed.set()

    def well(call_id: str | None) -> None:
        news.append((call_id, "recovered"))
        recovered.set()

    store = open_store(f"{kind}:{blocked / 'calls'}")
    spill = Spill(store, on_trouble=ill, on_recovered=well)
    logs = {name: Log(asyncio.get_running_loop().time) for name in CALLS}
    for name, log in logs.items():
        spill.add(CallInfo(call_id=name), log)
        log.append(AgentInputClearedEvent())
    await failed.wait()
    for log in logs.values():
        log.append(AgentInputClearedEvent())
    blocked.unlink()
    await recovered.wait()
    await spill.close()
    assert news == [(None, "store_failed"), (None, "recovered")]
    for name, log in logs.items():
        assert await asyncio.to_thread(store.read, name) == log.read()
    store.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_without_the_right_to_write_is_called_read_only(kind: str, tmp_path: Path) -> None:
    """As another user where this one may write anywhere."""
    folder = tmp_path / "calls"
    folder.mkdir(mode=0o755)
    tried = run_program(TRY_TO_WRITE, f"{kind}:{folder / 'deep'}")
    assert tried.stdout.split() == ["store_read_only", "True"], tried.stderr


TRY_TO_WRITE = """
import os, sys
from realtime.errors import StoreError
from realtime.state.open import open_store
from realtime.state.store import CallInfo, Change

if os.geteuid() == 0:
    os.seteuid(65_534)
else:
    os.chmod(os.path.dirname(sys.argv[1].partition(":")[2]), 0o500)
try:
    open_store(sys.argv[1]).write([Change("call", CallInfo(call_id="call"))])
except StoreError as error:
    print(error.code, error.retryable)
"""


class Stuck(MemoryStore):
    """A store whose writing hangs until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()
        self.writers = 0

    def write(self, batch: Sequence[Change]) -> None:
        self.writers += 1
        self.go_on.wait()
        super().write(batch)


async def test_a_store_that_hangs_in_its_thread_holds_up_neither_the_loop_nor_another_thread() -> None:
    store, news, slow = Stuck(), list[tuple[str | None, str]](), asyncio.Event()

    def ill(call_id: str | None, error: StoreError) -> None:
        news.append((call_id, error.code))
        slow.set()

    spill = Spill(
        store,
        on_trouble=ill,
        on_recovered=lambda call_id: news.append((call_id, "recovered")),
        slow_after_s=0.01,
    )
    log = Log(asyncio.get_running_loop().time)
    spill.add(CallInfo(call_id="call"), log)
    log.append(AgentInputClearedEvent())
    await slow.wait()
    log.append(AgentInputClearedEvent())
    assert store.writers == 1
    store.go_on.set()
    await spill.flush()
    assert news == [(None, "store_slow"), (None, "recovered")]
    assert store.read("call") == log.read()
    await spill.close()
