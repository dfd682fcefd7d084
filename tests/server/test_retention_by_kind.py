"""What is deleted by itself beside calls: recordings, sessions and memories, each after its own time."""

import json
import os
import sqlite3
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from realtime.errors import UsageError
from realtime.memory import InMemoryMemory, SqliteLongTermMemory
from realtime.message import UserMsg
from realtime.runtime import iso
from realtime.server.calls import Calls
from realtime.server.recordings import Recordings
from realtime.server.retention import DAY_S, Retention, Rules, aged_of
from realtime.server.settings import ServerSettings
from realtime.state.open import open_session
from tests.server.test_retention import NOW

WORD = "quokka7"


def never_live(_: str) -> bool:
    return False


async def with_word() -> InMemoryMemory:
    memory = InMemoryMemory()
    await memory.add(UserMsg("ann", f"My word is {WORD}."))
    return memory


def files_with_word(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and WORD.encode() in path.read_bytes()]


async def test_sound_is_deleted_sooner_than_words_and_what_is_still_recorded_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where no calls are stored. Whether an incomplete recording is over is certain after a day only."""
    samples = {"old": 1, "new": 1, "live": 1, "goes_on": None, "cut_off": None}
    days = {"old": 9, "new": 6.9, "live": 9, "goes_on": 7.5, "cut_off": 8.1}
    for name, input_samples in samples.items():
        (tmp_path / name).mkdir()
        for path in (tmp_path / name / "recording.json", tmp_path / name / "input.flac"):
            path.write_text(json.dumps({"input_samples": input_samples}))
            os.utime(path, (NOW - days[name] * DAY_S,) * 2)
    (tmp_path / "notes of the operator").write_text("stay")
    recordings = Recordings(tmp_path)
    settings = ServerSettings(recordings=str(tmp_path), keep_sound_s=7 * DAY_S)
    calls = Calls(max_per_address=1, max_total=1, recordings=recordings)
    await Retention(calls, None, Rules(), aged_of(settings, recordings, {"live"}.__contains__)).sweep_aged(NOW)
    recordings.close()
    assert sorted(os.listdir(tmp_path)) == ["goes_on", "live", "new", "notes of the operator"]
    assert [record.getMessage() for record in caplog.records] == ["recordings that --keep-sound-days deleted: 2"]


@pytest.mark.parametrize("kind", ["file", "sqlite"])
async def test_sessions_are_deleted_after_their_time_and_their_words_with_them(tmp_path: Path, kind: str) -> None:
    settings = ServerSettings(sessions=f"{kind}:{tmp_path / 'kept'}", keep_session_s=DAY_S)
    (retention,) = aged_of(settings, None, never_live)
    now_s = time.time()
    assert await retention.drop(now_s) == 0  # there are none yet
    session = open_session(f"{kind}:{tmp_path / 'kept'}")
    for user in ("ann", ""):
        await session.save_session_state("s", user, memory=await with_word())
    await session.aclose()
    other = (tmp_path / "kept" if kind == "file" else tmp_path) / "other.json"
    other.write_text('["stays"]')
    assert await retention.drop(now_s - DAY_S) == 0
    assert files_with_word(tmp_path)
    assert await retention.drop(now_s + DAY_S) == 2
    assert files_with_word(tmp_path) == []
    assert other.exists()


async def test_sessions_of_an_earlier_version_are_kept_as_long_as_those_of_today(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "s.db")) as old, old:
        old.execute(
            "CREATE TABLE sessions (user_id TEXT NOT NULL, session_id TEXT NOT NULL, state BLOB NOT NULL, "
            "PRIMARY KEY (user_id, session_id))"
        )
        state = json.dumps({"memory": (await with_word()).state_dict()}).encode()
        old.execute("INSERT INTO sessions VALUES ('ann', 's', ?)", (state,))
        old.execute(f"PRAGMA application_id = {0x72745345}")
        old.execute("PRAGMA user_version = 1")
    session = open_session(f"sqlite:{tmp_path / 's.db'}")
    assert await session.drop_before(time.time() - DAY_S) == 0
    memory = InMemoryMemory()
    await session.load_session_state("s", "ann", memory=memory)
    assert [msg.get_text_content() for msg in await memory.get_memory()] == [f"My word is {WORD}."]
    assert await session.drop_before(time.time() + DAY_S) == 1
    await session.aclose()


async def test_memories_of_all_users_are_forgotten_after_their_time(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    (retention,) = aged_of(ServerSettings(memory=str(path), keep_memory_s=DAY_S), None, never_live)
    assert await retention.drop(NOW) == 0  # there are none yet
    for user, word, days in (("ann", WORD, 9), ("ben", WORD, 9), ("ben", "axolot9", 1)):
        memory = SqliteLongTermMemory(path, user, clock=partial(iso, NOW - days * DAY_S))
        await memory.record([UserMsg(user, f"My word is {word}.")])
        await memory.aclose()
    assert await retention.drop(NOW - 7 * DAY_S) == 2
    of_ben = SqliteLongTermMemory(path, "ben")
    assert [one.text for one in await of_ben.remembered()] == ["My word is axolot9."]
    assert "axolot9" in await of_ben.retrieve(UserMsg("ben", "Which word is mine?"))
    await of_ben.aclose()
    assert files_with_word(tmp_path) == []


def test_redis_ends_its_sessions_itself() -> None:
    with pytest.raises(UsageError, match="key_ttl"):
        aged_of(ServerSettings(sessions="redis://localhost", keep_session_s=1.0), None, never_live)


async def test_a_kind_that_cannot_be_deleted_hinders_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "memories.db").write_bytes(b"no database " * 100)
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "s.json").write_text('{"note": {}}')
    memory, sessions = str(tmp_path / "memories.db"), f"file:{tmp_path / 'sessions'}"
    settings = ServerSettings(memory=memory, keep_memory_s=0, sessions=sessions, keep_session_s=0)
    aged = aged_of(settings, None, never_live)
    calls = Calls(max_per_address=1, max_total=1)
    await Retention(calls, None, Rules(), aged[::-1]).sweep_aged(time.time() + DAY_S)
    told = [record.getMessage() for record in caplog.records]
    assert told[0].startswith("old long-term memories could not be deleted: file is not a database")
    assert told[1:] == ["sessions that --keep-session-days deleted: 1"]
