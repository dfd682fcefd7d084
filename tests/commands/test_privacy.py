"""`realtime forget` and `realtime export-user`: all that is kept of a user, and nothing of another one."""

import asyncio
import json
import random
import sqlite3
import threading
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import redis
import soundfile
from typer.testing import CliRunner, Result

from realtime.cli import command_line
from realtime.errors import UsageError
from realtime.event import server as s
from realtime.memory import SqliteLongTermMemory
from realtime.message import UserMsg
from realtime.plan import Plan, SqlitePlanStorage, SubTask
from realtime.server.kept_rules import notes_of
from realtime.session import JSONSession, RedisSession, SqliteSession
from realtime.state.log import Entry
from realtime.state.open import open_store
from realtime.state.sessions import StoredSession
from realtime.state.store import CallInfo, Change, Store
from realtime.testing import Case, Person, StandIn, Type, WaitUntilHeard
from realtime.testing.cases.case import write_case
from realtime.testing.cases.stand_in import Say
from realtime.testing.replay import replay
from tests.state.redis_server import redis_server

WORDS = {"ann": "quokka7", "ben": "axolot9", "../x": "wombat3"}
"""What each user says and nobody else: short, so that an index of words has it whole."""
SEED = 94
"""With it, deleting rows alone leaves words in the file: parts of a row that grew, in the page where it was."""
ENDED = {"created_at": "2026-11-20T09:15:00.000Z", "ended_at": "2026-11-20T09:16:05.000Z"}
KINDS = ["calls", "recordings", "accepted rules", "sessions", "long-term memories", "plans"]


@dataclass
class Kept:
    """Where everything is kept, and the options that say so."""

    folder: Path
    store: str
    redis: str
    options: list[str] = field(default_factory=list)

    def says(self, *words: str, given: str = "") -> Result:
        return CliRunner().invoke(command_line(words), [*words, *self.options], input=given)


class Words:
    """A module that keeps what a user said."""

    def __init__(self, text: str) -> None:
        self.text = text

    def state_dict(self) -> dict[str, Any]:
        return {"text": self.text}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.text = state_dict["text"]


@pytest.fixture(scope="module")
def redis_socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with redis_server(tmp_path_factory.mktemp("redis")) as path:
        yield path


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Entry]]:
    """A call of each user."""
    made = {}
    for number, (user, word) in enumerate(WORDS.items()):
        folder = tmp_path_factory.mktemp("cases") / str(number)
        steps = (Type(f"My word is {word}."), WaitUntilHeard())
        write_case(folder, Case(users=(Person(steps),), models={"*": StandIn(answers=(Say(f"So it is {word}."),))}))
        made[user] = [*replay(folder).entries]
    return made


@pytest.fixture(params=["sqlite", "file"])
def kept(request: pytest.FixtureRequest, tmp_path: Path, redis_socket: Path, talks: dict[str, list[Entry]]) -> Kept:
    """Everything of each kind, of three users."""
    folder = tmp_path / "kept"
    place = Kept(folder, f"{request.param}:{folder / 'calls'}", f"unix:{redis_socket}?prefix=app:")
    place.folder.mkdir()
    with redis.Redis(unix_socket_path=str(redis_socket)) as client:
        client.flushall()
        client.config_set("rdbcompression", "no")
    with closing(open_store(place.store)) as store:
        talk(store, talks)
    record(place.folder / "sound")
    asyncio.run(remember(place.folder, redis_socket))
    place.options += ["--store", place.store, "--recordings", str(place.folder / "sound"), "--session", place.redis]
    place.options += ["--session", f"file:{place.folder / 'sessions'}", "--session", f"sqlite:{place.folder / 's.db'}"]
    place.options += ["--memory", str(place.folder / "memories.db"), "--plans", str(place.folder / "plans.db")]
    return place


def talk(store: Store, talks: dict[str, list[Entry]]) -> None:
    """Three calls that end, and forty whose descriptions and logs grow, so that SQLite moves them between pages."""
    for number, (user, word) in enumerate(WORDS.items()):
        info = CallInfo(call_id=f"call_{number}", owner=user, first_words=word, token_hash="no one's", **ENDED)
        store.write([Change(info.call_id, info, talks[user])])
        store.put_note(f"{notes_of(user)}{number}", "2026-11-20T09:16:05.000Z", f'["{word}"]'.encode())
    chance = random.Random(SEED)
    seqs = dict.fromkeys(range(40), 0)
    for _ in range(200):
        number = chance.randrange(40)
        user = ("ann", "ben")[number % 2]
        said = f"{WORDS[user]} " * chance.randrange(1, 12)
        seqs[number] += 1
        info = CallInfo(call_id=f"long_{number}", owner=user, first_words=said, **ENDED)
        store.write([Change(info.call_id, info, [s.ServerSessionUpdatedEvent(session_id=said, seq=seqs[number])])])


def record(folder: Path) -> None:
    """Recordings of the first three calls; one of a call that no store has; one that does not say whose it is."""
    owners = {f"call_{number}": user for number, user in enumerate(WORDS)} | {"call_gone": "ann"}
    for call_id, user in owners.items():
        (folder / call_id).mkdir(parents=True)
        about = {"call_id": call_id, "owner": user, "items": [WORDS[user]]}
        (folder / call_id / "recording.json").write_text(json.dumps(about))
        soundfile.write(folder / call_id / "input.flac", np.zeros(1_000, np.int16), 16_000)


async def remember(folder: Path, redis_socket: Path) -> None:
    """Sessions, memories and plans."""
    (folder / "sessions").mkdir()
    places: list[StoredSession] = [JSONSession(folder / "sessions"), SqliteSession(folder / "s.db")]
    places.append(RedisSession(unix_socket_path=str(redis_socket), key_prefix="app:"))
    for user, word in [*WORDS.items()][:2]:
        for place in places:
            for number in range(30):
                await place.save_session_state(f"s{number % 4}", user, note=Words(f"{word} " * 7 * number))
        memory = SqliteLongTermMemory(folder / "memories.db", user)
        await memory.record([UserMsg(user, f"My word is {word}, {number}.") for number in range(50)])
        await memory.aclose()
        plans = SqlitePlanStorage(folder / "plans.db", user)
        for number in range(12):
            steps = [SubTask(name=word, description=word * 20 * number, expected_outcome=word)] * 3
            await plans.add_plan(Plan(name=word, description=word, expected_outcome="", subtasks=steps))
    for place in places:
        await place.aclose()
    # As a killed process and AgentScope leave them.
    (folder / "sessions" / "users" / "ann" / ".s1.json.part").write_text(WORDS["ann"])
    (folder / "sessions" / "ann_old.json").write_text(json.dumps({"note": {"text": WORDS["ann"]}}))


def files_with(word: str, place: Kept) -> set[str]:
    """The files that have this word, as it is, in other cases, or packed."""
    with redis.Redis(unix_socket_path=place.redis[5:].partition("?")[0]) as client:
        client.save()
        dump = Path(client.config_get("dir")["dir"]) / client.config_get("dbfilename")["dbfilename"]
    found = set()
    for path in (*place.folder.rglob("*"), dump):
        if path.is_file() and word.encode() in unpacked(path.read_bytes()).lower():
            found.add(path.name if path == dump else str(path.relative_to(place.folder)))
    return found


def unpacked(data: bytes) -> bytes:
    """These bytes, and those of every zlib stream in them."""
    parts, at = [data], data.find(b"x\x01")
    while at >= 0:
        try:
            parts.append(zlib.decompressobj().decompress(data[at:]))
        except zlib.error:
            pass  # other bytes that look so
        at = data.find(b"x\x01", at + 1)
    return b"\n".join(parts)


def counted(result: Result, title: str) -> dict[str, int]:
    """The numbers that stand below a title."""
    lines = result.output.split(title, 1)[1].splitlines()[1 : 1 + len(KINDS)]
    return {line[2:22].strip(): int(line[22:]) for line in lines}


def test_after_forgetting_no_file_of_any_store_has_a_word_of_the_user(kept: Kept) -> None:
    before, others = files_with(WORDS["ann"], kept), files_with(WORDS["ben"], kept)
    kinds = {"calls", "sound", "sessions", "s.db", "memories.db", "plans.db", "dump.rdb"}
    assert {name.split("/")[0] for name in before} == kinds
    done = kept.says("forget", "ann", "--yes")
    assert done.exit_code == 0, done.output
    assert counted(done, "Deleted:") == dict(zip(KINDS, (21, 2, 1, 13, 50, 12), strict=True))
    assert files_with(WORDS["ann"], kept) == set()
    assert files_with(WORDS["ben"], kept) == others
    again = kept.says("forget", "ann", "--yes")
    assert (again.exit_code, set(counted(again, "Deleted:").values())) == (0, {0})


def test_nothing_is_deleted_without_a_yes_and_what_would_be_is_told_before(kept: Kept) -> None:
    before = files_with(WORDS["ann"], kept)
    for answer in ("n\n", ""):
        refused = kept.says("forget", "ann", given=answer)
        assert refused.exit_code == 1
        assert counted(refused, "Kept of ann:") == dict(zip(KINDS, (21, 2, 1, 13, 50, 12), strict=True))
    assert files_with(WORDS["ann"], kept) == before
    assert kept.says("forget", "ann", given="y\n").exit_code == 0
    assert files_with(WORDS["ann"], kept) == set()


def test_all_of_a_user_is_written_as_files_and_nothing_of_another(kept: Kept, tmp_path: Path) -> None:
    to = tmp_path / "of ann"
    done = kept.says("export-user", "ann", "--to", str(to))
    assert done.exit_code == 0, done.output
    assert counted(done, "Written to") == dict(zip(KINDS, (21, 2, 1, 13, 50, 12), strict=True))
    names = {str(path.relative_to(to)) for path in to.rglob("*") if path.is_file()}
    assert {"rules.json", "memories.json", "plans.json", "sessions/s1.json", "sessions/s1-2.json"} < names
    of_call = {f"calls/call_0/{name}" for name in ("call.json", "events.jsonl", "transcript.txt", "sound.wav")}
    assert of_call | {"calls/call_gone/sound.wav"} < names
    assert "user: My word is quokka7." in (to / "calls" / "call_0" / "transcript.txt").read_text()
    assert "no one's" not in (to / "calls" / "call_0" / "call.json").read_text()
    assert soundfile.info(to / "calls" / "call_0" / "sound.wav").duration == pytest.approx(1_000 / 16_000)
    assert len(json.loads((to / "memories.json").read_text())) == 50
    assert {path.stat().st_mode & 0o077 for path in to.rglob("*") if path.is_file()} == {0}
    assert not any(WORDS["ben"].encode() in path.read_bytes() for path in to.rglob("*") if path.is_file())
    refused = kept.says("export-user", "ann", "--to", str(to))
    assert isinstance(refused.exception, UsageError)
    assert "is not empty" in refused.exception.message


def test_a_user_id_that_looks_like_a_path_leaves_no_folder(kept: Kept, tmp_path: Path) -> None:
    """Neither that of the sessions, `users/../x`, nor the one to write to."""
    decoys = [kept.folder / "sessions" / "x" / "s.json", kept.folder / "x" / "s.json", tmp_path / "x" / "s.json"]
    for path in decoys:
        path.parent.mkdir()
        path.write_text("stays")
    to = tmp_path / "of x"
    before = {*tmp_path.rglob("*")}
    assert kept.says("export-user", "../x", "--to", str(to)).exit_code == 0
    written = {path for path in tmp_path.rglob("*") if path not in before and not path.is_relative_to(kept.folder)}
    assert {path for path in written if not path.is_relative_to(to)} == set()
    assert (to / "calls" / "call_2" / "transcript.txt").is_file()
    done = kept.says("forget", "../x", "--yes")
    assert counted(done, "Deleted:") == dict(zip(KINDS, (1, 1, 1, 0, 0, 0), strict=True))
    assert [path.read_text() for path in decoys] == ["stays"] * 3
    assert files_with(WORDS["../x"], kept) == set()


@pytest.mark.parametrize("kept", ["sqlite"], indirect=True)
def test_beside_a_running_server_its_calls_go_on_and_no_word_of_others_is_lost(kept: Kept) -> None:
    with closing(open_store(kept.store)) as server:
        live = CallInfo(call_id="call_live", owner="ann", created_at="2026-11-21T10:00:00.000Z")
        server.write([Change("call_live", live)])
        stop = threading.Event()
        written = 0

        def serve() -> None:
            nonlocal written
            while not stop.is_set():
                written += 1
                event = s.ServerSessionUpdatedEvent(session_id="ben goes on", seq=1_000 + written)
                server.write([Change("call_1", None, [event])])

        thread = threading.Thread(target=serve)
        thread.start()
        done = kept.says("forget", "ann", "--yes")
        stop.set()
        thread.join()
        assert done.exit_code == 1
        assert "calls that a running server has, with what it keeps when they end: 1 (call_live);" in done.output
        assert counted(done, "Deleted:")["calls"] == 21
        assert [info.call_id for info in server.calls("ann")] == ["call_live"]
        assert len(server.read("call_1", 1_000)) == written > 0
        ended = CallInfo(call_id="call_live", owner="ann", **ENDED)
        server.write([Change("call_live", ended, [s.ServerSessionUpdatedEvent(session_id=WORDS["ann"], seq=1)])])
        assert kept.says("forget", "ann", "--yes").exit_code == 0
        assert server.calls("ann") == []
    assert files_with(WORDS["ann"], kept) == set()


@pytest.mark.parametrize("kept", ["file"], indirect=True)
def test_a_folder_of_calls_that_a_server_writes_is_left_to_it(kept: Kept) -> None:
    with closing(open_store(kept.store)) as server:
        server.write([])
        done = kept.says("forget", "ann", "--yes")
        assert done.exit_code == 1
        assert "calls that a running server has, with what it keeps when they end: 21 (" in done.output
        assert counted(done, "Deleted:") == dict(zip(KINDS, (0, 1, 0, 13, 50, 12), strict=True))
        assert len(server.calls("ann")) == 21
    assert kept.says("forget", "ann", "--yes").exit_code == 0
    assert files_with(WORDS["ann"], kept) == set()


@pytest.mark.parametrize("kept", ["sqlite"], indirect=True)
def test_what_may_be_of_the_user_or_of_another_one_stays_and_is_told(kept: Kept) -> None:
    (kept.folder / "sessions" / "ann_b_c.json").write_text("{}")
    (kept.folder / "sound" / "call_9").mkdir()
    with closing(open_store(kept.store)) as store:
        joined = s.ServerRoomJoinedEvent(participant_id="p1", name="ann", kind="human", seq=10_000)
        store.write([Change("call_0", None, [joined])])
    done = kept.says("forget", "ann", "--yes")
    assert done.exit_code == 1
    assert (kept.folder / "sessions" / "ann_b_c.json").exists()
    for told in (
        "ann_b_c.json: its name may be that of another user",
        "recordings that name no user and have no stored call: 1",
        "what the user said in rooms, in the calls of the others who were there",
    ):
        assert told in done.output


@pytest.mark.parametrize("kept", ["sqlite"], indirect=True)
def test_what_is_not_named_is_told_and_what_is_missing_is_an_error_before_anything_is_deleted(kept: Kept) -> None:
    options, kept.options = kept.options, ["--store", "none"]
    looked = kept.says("forget", "ann", "--yes")
    assert looked.exit_code == 0
    assert "Not looked at: calls (--store URL), recordings (--recordings FOLDER), sessions (" in looked.output
    assert "Copies elsewhere stay" in looked.output
    for wrong, told in (
        (["--memory", "nothing.db"], "there is no nothing.db"),
        (["--session", "mysql://ann:secret@host/db"], "these are no sessions"),
        (["--session", "file:nowhere"], "there are no sessions in file:nowhere"),
    ):
        kept.options = [*options, *wrong]
        refused = kept.says("forget", "ann", "--yes")
        assert isinstance(refused.exception, UsageError)
        assert refused.exception.message.startswith(told)
        assert "secret" not in refused.exception.message
    assert files_with(WORDS["ann"], kept)


@pytest.mark.parametrize("kept", ["sqlite"], indirect=True)
def test_a_damaged_call_is_forgotten_and_exported_as_far_as_it_can_be_read(kept: Kept, tmp_path: Path) -> None:
    with closing(open_store(kept.store)) as store:
        store.delete("call_2")  # which sorts the journal
    with closing(sqlite3.connect(kept.folder / "calls")) as calls, calls:
        number = calls.execute("SELECT id FROM calls WHERE call_id = 'call_0'").fetchone()
        assert calls.execute("UPDATE entries SET body = x'00' WHERE call = ?", number).rowcount
    exported = kept.says("export-user", "ann", "--to", str(tmp_path / "of ann"))
    assert exported.exit_code == 1
    assert "the words of call call_0: a part of a log is damaged" in exported.output
    assert (tmp_path / "of ann" / "calls" / "call_0" / "call.json").is_file()
    done = kept.says("forget", "ann", "--yes")
    assert counted(done, "Deleted:")["calls"] == 21
    assert files_with(WORDS["ann"], kept) == set()


@pytest.mark.parametrize("kept", ["sqlite"], indirect=True)
def test_a_store_that_cannot_be_read_keeps_no_other_from_forgetting(kept: Kept) -> None:
    (kept.folder / "s.db").write_bytes(b"no database " * 100)
    done = kept.says("forget", "ann", "--yes")
    assert done.exit_code == 1
    assert "sessions: file is not a database" in done.output
    assert files_with(WORDS["ann"], kept) == set()
