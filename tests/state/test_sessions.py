"""Sessions in files, SQLite and Redis: one contract, and nothing lost where saving or loading fails."""

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from redis import asyncio as redis

from realtime.agent import UserAgent
from realtime.errors import ClientError, StoreError, UsageError
from realtime.memory import InMemoryMemory
from realtime.message import UserMsg
from realtime.module import StateModule
from realtime.session import JSONSession, RedisSession, SqliteSession
from realtime.state.sessions import StoredSession
from tests.agent.thinking import react, remembered, say
from tests.state.redis_server import redis_server
from tests.volumes import HANG_S, NIGHTLY, SEED, volume

KINDS = ["json", "sqlite", "redis"]
ON_DISK = ["json", "sqlite"]
KILLED = Path(__file__).with_name("killed_saves.py")

Make = Callable[..., Any]


class Counter(StateModule):
    """A module with a number and a module of its own."""

    def __init__(self, number: int = 0) -> None:
        super().__init__()
        self.memory = InMemoryMemory()
        self.number = number
        self.register_state("number", None, int)


@pytest.fixture(scope="module")
def redis_socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with redis_server(tmp_path_factory.mktemp("redis")) as path:
        yield path


@pytest.fixture
async def client(redis_socket: Path) -> AsyncIterator[redis.Redis]:
    """A client from outside; its database is empty."""
    async with redis.Redis(unix_socket_path=str(redis_socket)) as one:
        await one.flushall()
        yield one


@pytest.fixture
async def make(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Make]:
    """Makes sessions of a kind, all in one place."""
    kind = request.param
    pool = redis.ConnectionPool()
    if kind == "redis":
        path = str(request.getfixturevalue("redis_socket"))
        pool = redis.ConnectionPool(connection_class=redis.UnixDomainSocketConnection, path=path)
        await redis.Redis(connection_pool=pool).flushall()
    made: list[SqliteSession] = []

    def one() -> StoredSession:
        if kind == "sqlite":
            made.append(SqliteSession(tmp_path / "sessions.db"))
            return made[-1]
        return JSONSession(tmp_path) if kind == "json" else RedisSession(connection_pool=pool)

    yield one
    for session in made:
        await session.aclose()
    await pool.aclose()


every_kind = pytest.mark.parametrize("make", KINDS, indirect=True)


async def load(session: StoredSession, session_id: str, user_id: str = "") -> int:
    """The number saved there; -1 without one."""
    counter = Counter(-1)
    await session.load_session_state(session_id, user_id, counter=counter)
    return counter.number


@every_kind
async def test_agents_are_saved_together_and_restored_by_another_process(make: Make) -> None:
    """SES-09, SES-10, SES-12, SES-13, SES-14"""
    one, two = react(say("One, 今日は.")), react(say("Two."), name="Saturday")
    await one(UserMsg("user", "Grüße \ud83d"))
    await make().save_session_state("s", one=one, two=two)
    one_again, two_again = react(say("-")), react(say("-"))
    await make().load_session_state("s", one=one_again, two=two_again)
    assert two_again.name == "Saturday"
    dumps = [[msg.model_dump() for msg in await remembered(agent)] for agent in (one, one_again)]
    assert dumps[0] == dumps[1]


@every_kind
async def test_users_and_sessions_never_share_a_place(make: Make) -> None:
    """SES-17: neither `_`, nor a space or a percent sign, makes one name of two."""
    places = [("a", "b_c"), ("a_b", "c"), ("", "a_b_c"), ("", "s"), ("s", "s"), ("a", "b c"), ("a", "b%20c")]
    session = make()
    for number, (user_id, session_id) in enumerate(places):
        await session.save_session_state(session_id, user_id, counter=Counter(number))
    assert [await load(make(), session_id, user_id) for user_id, session_id in places] == [*range(len(places))]
    assert await load(session, "s", "unknown") == -1
    with pytest.raises(StoreError, match="there is no session 's'") as missing:
        await session.load_session_state("s", "unknown", allow_not_exist=False, counter=Counter())
    assert missing.value.code == "unknown_session"


@every_kind
@pytest.mark.parametrize("bad", ["../x", "..", "", "a/b", "a\\b", "a:session:b", "x\x00", "x\n", "y" * 201])
async def test_an_id_that_could_lead_elsewhere_is_refused_with_a_sentence(make: Make, bad: str) -> None:
    """SES-18"""
    session = make()
    for session_id, user_id in ((bad, ""), ("s", bad or "/")):
        for use in (session.save_session_state, session.load_session_state):
            with pytest.raises(ClientError, match=r"this cannot be a (session|user) id: '") as refused:
                await use(session_id, user_id, counter=Counter())
            assert refused.value.code == "invalid_id"


@every_kind
async def test_the_last_of_several_saves_is_what_stays(make: Make) -> None:
    session, counter = make(), Counter()
    saves = []
    for number in range(20):
        counter.number = number
        saves.append(asyncio.ensure_future(session.save_session_state("s", counter=counter)))
        await asyncio.sleep(0)
    saves[10].cancel()
    await asyncio.gather(*saves, return_exceptions=True)
    assert await load(session, "s") == 19


@every_kind
async def test_sessions_saved_at_once_from_several_places_are_whole(make: Make) -> None:
    sessions = [make() for _ in range(5)]
    await asyncio.gather(
        *(session.save_session_state("s", counter=Counter(10**number)) for number, session in enumerate(sessions))
    )
    assert await load(make(), "s") in [10**number for number in range(5)]


@every_kind
async def test_a_keyword_that_was_not_saved_changes_nothing_and_strictly_is_an_error(make: Make) -> None:
    """SES-15"""
    session = make()
    await session.save_session_state("s", counter=Counter(1))
    other, counter = Counter(5), Counter(6)
    await session.load_session_state("s", other=other)
    with pytest.raises(StoreError, match="session 's' has no state of other"):
        await session.load_session_state("s", strict=True, counter=counter, other=other)
    assert (counter.number, other.number) == (6, 5)


def numbered(state: Any) -> dict[str, Any]:
    return {"first": Counter(1).state_dict(), "second": state}


AGENT = {"memory": {"_compressed_summary": "", "content": []}, "toolkit": {"active_groups": []}, "name": "F"}
WRONG = {
    "of another class": (AGENT, "lacks number"),
    "of an older version": ({"memory": InMemoryMemory().state_dict()}, "lacks number"),
    "without a nested name": ({"memory": {"content": []}, "number": 1}, "lacks memory._compressed_summary"),
    "no mapping": ([1], "is a mapping, not a list"),
    "no nested mapping": ({"memory": 5, "number": 1}, "the state of memory is a mapping, not a int"),
    "of a wrong value": ({"memory": InMemoryMemory().state_dict(), "number": "many"}, "invalid literal"),
    "of a broken message": ({"memory": {"_compressed_summary": "", "content": [[{"id": 1}, []]]}, "number": 1}, ""),
}


@pytest.mark.parametrize("make", ["json"], indirect=True)
@pytest.mark.parametrize("what", WRONG)
async def test_a_state_that_is_none_of_its_module_is_an_error_and_restores_none(
    make: Make, what: str, tmp_path: Path
) -> None:
    """All modules have what they had before, also those whose state was fine."""
    state, why = WRONG[what]
    (tmp_path / "s.json").write_text(json.dumps(numbered(state)))
    first, second = Counter(7), Counter(8)
    await second.memory.add(UserMsg("user", "Kept."))
    with pytest.raises(StoreError, match="the state of second in session 's' is none of a Counter") as refused:
        await make().load_session_state("s", first=first, second=second)
    assert refused.value.code == "wrong_state"
    assert why in str(refused.value)
    assert (first.number, second.number) == (7, 8)
    assert [msg.get_text_content() for msg in await second.memory.get_memory()] == ["Kept."]
    # A file that cannot be loaded is not touched.
    assert json.loads((tmp_path / "s.json").read_text()) == numbered(state)


@pytest.mark.parametrize("make", ["json"], indirect=True)
async def test_an_agent_that_takes_no_state_now_leaves_the_others_as_they_were(make: Make) -> None:
    class Busy(UserAgent):
        def load_state_dict(self, *_: Any) -> None:
            raise UsageError("a reply is being given", code="agent_replying")

    await make().save_session_state("s", counter=Counter(1), agent=Busy("Alice"))
    counter = Counter(2)
    with pytest.raises(UsageError, match="a reply is being given"):
        await make().load_session_state("s", counter=counter, agent=Busy("Alice"))
    assert counter.number == 2


DAMAGED = [b"", b'{"counter": {', b"[]", b"\xff\xfe", b"[" * 100_000, b"5"]


@every_kind
async def test_a_damaged_state_is_an_error_and_changes_no_module(make: Make, tmp_path: Path) -> None:
    session, counter = make(), Counter(3)
    await session.save_session_state("s", counter=Counter(1))
    for data in DAMAGED:
        if isinstance(session, JSONSession):
            (tmp_path / "s.json").write_bytes(data)
        elif isinstance(session, RedisSession):
            await session.get_client().set(session.key_of("s"), data)
        else:
            with closing(sqlite3.connect(tmp_path / "sessions.db")) as connection, connection:
                connection.execute("UPDATE sessions SET state = ?", (data,))
        with pytest.raises(StoreError, match="the state of session 's' is damaged") as refused:
            await session.load_session_state("s", counter=counter)
        assert refused.value.code == "store_corrupt"
    assert counter.number == 3


# -- files -------------------------------------------------------------------------------------------------------------

MESSAGE = {"id": "m", "name": "user", "role": "user", "content": "Hi", "metadata": None}
MESSAGE |= {"timestamp": "2026-05-25 10:00:00.000"}
OF_AGENTSCOPE = {
    "agent": {
        "memory": {"_compressed_summary": "", "content": [[MESSAGE, ["seen"]], MESSAGE | {"id": "old"}]},
        "toolkit": {"active_groups": []},
        "name": "Friday",
        "_sys_prompt": "You are Friday.",
    }
}
"""The form of 1.0.21 for a ReActAgent with an InMemoryMemory; the second message as older versions have it."""


@pytest.mark.parametrize(("name", "user_id"), [("s.json", ""), ("anna_s.json", "anna")])
async def test_a_file_of_agentscope_is_read_and_then_kept_as_ours(name: str, user_id: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(json.dumps(OF_AGENTSCOPE, ensure_ascii=False))
    session, agent = JSONSession(tmp_path), react(say("-"), name="Other")
    await session.load_session_state("s", user_id, agent=agent)
    assert (agent.name, agent.sys_prompt) == ("Friday", "You are Friday.")
    assert [msg.get_text_content() for msg in await remembered(agent)] == ["Hi", "Hi"]
    assert [msg.id for msg in await agent.memory.get_memory(mark="seen")] == ["m"]
    agent.name = "Changed"
    await session.save_session_state("s", user_id, agent=agent)
    again = react(say("-"))
    await session.load_session_state("s", user_id, agent=again)
    assert again.name == "Changed"


@pytest.mark.parametrize(
    ("name", "user_id", "session_id"),
    [("a_b_c.json", "a", "b_c"), ("a_b_c.json", "a_b", "c")],
)
async def test_a_file_of_agentscope_that_may_be_of_another_user_is_not_read(
    name: str, user_id: str, session_id: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """SES-17, SES-18: there both users have this file. The log says where to move it."""
    (tmp_path / name).write_text(json.dumps({"counter": Counter(1).state_dict()}))
    session = JSONSession(tmp_path)
    assert await load(session, session_id, user_id) == -1
    assert f"move it to {session.path_of(session_id, user_id)}" in caplog.text


async def test_our_file_of_a_session_without_a_user_is_not_taken_for_one_of_agentscope(tmp_path: Path) -> None:
    session = JSONSession(tmp_path)
    await session.save_session_state("support_bot", counter=Counter(1))
    assert await load(session, "bot", "support") == -1
    assert await load(session, "y" * 200, "x" * 200) == -1


FULL = """
import asyncio, resource, sys
from realtime.errors import StoreError
from realtime.module import StateModule
from realtime.session import JSONSession, SqliteSession

class Text(StateModule):
    def __init__(self, text):
        super().__init__()
        self.text = text
        self.register_state("text")

async def main(kind, path):
    session = JSONSession(path) if kind == "json" else SqliteSession(path)
    await session.save_session_state("s", text=Text("old"))
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        await session.save_session_state("s", text=Text("new" * 100_000))
    except StoreError as error:
        print(error.code)
    kept = Text("")
    await session.load_session_state("s", text=kept)
    print(kept.text)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await session.save_session_state("s", text=Text("later"))
    await session.load_session_state("s", text=kept)
    print(kept.text)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize(("kind", "code"), [("json", "store_full"), ("sqlite", "store_failed")])
def test_a_full_disk_is_an_error_and_the_old_state_stays(kind: str, code: str, tmp_path: Path) -> None:
    """SQLite knows a full disk, but not the limit that stands for it here."""
    ran = run_program(FULL, kind, str(tmp_path / "here"))
    assert ran.stdout.split() == [code, "old", "later"], ran.stderr
    assert [path.name for path in (tmp_path / "here").rglob(".*")] == []


def run_program(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A process of its own."""
    argv = [sys.executable, "-c", program, *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=HANG_S, check=False)


@pytest.mark.parametrize("kind", ON_DISK)
def test_a_save_killed_at_any_point_leaves_the_old_or_the_new_state(kind: str, tmp_path: Path) -> None:
    """SES-19"""
    kills = volume(15, 1_000)
    words = [sys.executable, str(KILLED), kind, str(tmp_path / "here"), str(kills), str(SEED)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["wrong"] == []
    assert found["old"] + found["new"] == kills
    if NIGHTLY:
        assert min(found["old"], found["new"]) > 0


# -- SQLite ------------------------------------------------------------------------------------------------------------


async def test_a_database_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
    before = path.read_bytes()
    session = SqliteSession(path)
    for use in (session.save_session_state, session.load_session_state):
        with pytest.raises(StoreError, match="a database of something else, not of sessions") as refused:
            await use("s", counter=Counter())
        assert refused.value.code == "store_version"
    assert path.read_bytes() == before
    path.write_bytes(b"no database " * 100)
    with pytest.raises(StoreError) as broken:
        await session.load_session_state("s", counter=Counter())
    assert broken.value.code == "store_corrupt"


def test_loading_makes_no_database(tmp_path: Path) -> None:
    assert asyncio.run(load(SqliteSession(tmp_path / "deep" / "sessions.db"), "s")) == -1
    assert [*tmp_path.iterdir()] == []


# -- Redis -------------------------------------------------------------------------------------------------------------


async def test_redis_keys_and_values_are_those_of_agentscope(client: redis.Redis, redis_socket: Path) -> None:
    async with RedisSession(key_prefix="app:", unix_socket_path=str(redis_socket)) as session:
        await session.save_session_state("s", counter=Counter(1))
        await session.save_session_state("s", "anna", counter=Counter(2))
        keys = ["app:user_id:anna:session:s:state", "app:user_id:default_user:session:s:state"]
        assert sorted(await client.keys()) == [key.encode() for key in keys]
        assert [json.loads(await client.get(key))["counter"]["number"] for key in keys] == [2, 1]
        assert [await client.ttl(key) for key in keys] == [-1, -1]
        with pytest.raises(ClientError, match="'default_user' stands for no user"):
            await load(session, "s", "default_user")


async def test_saving_and_loading_put_off_the_end_of_a_session(client: redis.Redis, redis_socket: Path) -> None:
    async with RedisSession(key_ttl=1_000, unix_socket_path=str(redis_socket)) as session:
        await session.save_session_state("s", counter=Counter(1))
        assert await client.ttl(session.key_of("s")) > 900
        await client.expire(session.key_of("s"), 100)
        assert await load(session, "s") == 1
        assert await client.ttl(session.key_of("s")) > 900


async def test_a_client_of_the_program_that_decodes_serves_as_well(client: redis.Redis, redis_socket: Path) -> None:
    async with RedisSession(unix_socket_path=str(redis_socket), decode_responses=True) as session:
        await session.save_session_state("s", counter=Counter(4))
        assert await load(session, "s") == 4
        assert session.get_client().connection_pool.connection_kwargs["decode_responses"]


async def test_a_full_redis_is_an_error_and_keeps_the_old_state(client: redis.Redis, redis_socket: Path) -> None:
    async with RedisSession(unix_socket_path=str(redis_socket)) as session:
        await session.save_session_state("s", counter=Counter(1))
        await client.config_set("maxmemory", 1)
        try:
            with pytest.raises(StoreError) as full:
                await session.save_session_state("s", counter=Counter(2))
        finally:
            await client.config_set("maxmemory", 0)
        assert full.value.code == "store_full"
        assert await load(session, "s") == 1


async def test_a_redis_that_cannot_be_reached_is_an_error_without_its_password(tmp_path: Path) -> None:
    async with RedisSession(unix_socket_path=str(tmp_path / "none.sock"), password="s3cret") as session:
        for use in (session.save_session_state, session.load_session_state):
            with pytest.raises(StoreError, match="Redis: ") as failed:
                await use("s", counter=Counter())
            assert (failed.value.code, failed.value.retryable) == ("store_failed", True)
            assert "s3cret" not in str(failed.value)


def test_redis_is_imported_only_where_it_is_used(tmp_path: Path) -> None:
    """Without the package, a sentence says what to install."""
    ran = run_program(
        "import sys; import realtime.session as s; assert 'redis' not in sys.modules\n"
        "sys.modules['redis'] = None\n"
        "try: s.RedisSession()\nexcept s.UsageError as error: print(error)".replace("s.UsageError", "Exception")
    )
    assert "pip install" in ran.stdout, ran.stderr


@pytest.mark.parametrize("make", KINDS, indirect=True)
async def test_the_sessions_of_a_user_are_found_and_forgotten_and_no_similar_user_loses_any(make: Make) -> None:
    session = make()
    users = ["a[n]n", "ann", "a^n", "a-n", "ANN2", "a[n]n2", "Ünal"]
    for user in (*users, ""):
        for name in ("s", "s[1]"):
            await session.save_session_state(name, user, counter=Counter(len(user)))
    for place, user in enumerate(users):
        assert sorted(await session.sessions_of(user)) == ["s", "s[1]"]
        assert json.loads((await session.sessions_of(user))["s"])["counter"]["number"] == len(user)
        assert await session.forget_user(user) == 2
        assert await session.sessions_of(user) == {}
        assert [len(await session.sessions_of(other)) for other in users[place + 1 :]] == [2] * len(users[place + 1 :])
        assert await session.forget_user(user) == 0
    ours = Counter()
    await session.load_session_state("s", counter=ours, allow_not_exist=False)
    for user in ("", "../x", "a/b"):
        with pytest.raises(ClientError):
            await session.forget_user(user)
