"""`RedisMemory`: what an agent remembers, in a real Redis, under AgentScope's keys."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redis import asyncio as redis

from realtime.errors import BadOption, ClientError, StoreError
from realtime.memory import InMemoryMemory, MemoryBase, RedisMemory
from realtime.message import Msg, UserMsg
from tests.agent.thinking import react, requests_of, say
from tests.state.redis_server import redis_server

AT = "user_id:ann:session:call-1:"


@pytest.fixture(scope="module")
def redis_socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with redis_server(tmp_path_factory.mktemp("redis")) as path:
        yield path


@pytest.fixture
async def client(redis_socket: Path) -> AsyncIterator[redis.Redis]:
    """A client from outside; its database is empty."""
    async with redis.Redis(unix_socket_path=str(redis_socket), decode_responses=True) as one:
        await one.flushall()
        yield one


@pytest.fixture
async def make(client: redis.Redis, redis_socket: Path) -> AsyncIterator[Callable[..., RedisMemory]]:
    """Makes memories, each with a client of its own."""
    made: list[RedisMemory] = []

    def one(session_id: str = "call-1", user_id: str = "ann", **options: Any) -> RedisMemory:
        made.append(RedisMemory(session_id, user_id, unix_socket_path=str(redis_socket), **options))
        return made[-1]

    yield one
    for memory in made:
        await memory.close()


Make = Callable[..., RedisMemory]


def messages(*ids: str) -> list[Msg]:
    return [UserMsg("Ada", f"words of {one}", id=one) for one in ids]


async def remembered(memory: MemoryBase, **how: Any) -> list[str]:
    return [message.id for message in await memory.get_memory(**how)]


async def texts_of(memory: MemoryBase, **how: Any) -> list[tuple[str, str | None]]:
    return [(message.id, message.get_text_content()) for message in await memory.get_memory(**how)]


async def test_an_agent_goes_on_with_what_another_process_has_remembered(make: Make) -> None:
    """With the summary of what was compressed, and without a saved state."""
    friday = react(say("Noted."), memory=make())
    await friday(UserMsg("Ann", "I am Ann."))
    await friday.memory.update_compressed_summary("Ann has called before.")
    again = react(say("You are Ann."), memory=make())
    await again(UserMsg("Ann", "Who am I?"))
    assert requests_of(again)[0].texts == ["Be brief.", "Ann has called before.", "I am Ann.", "Noted.", "Who am I?"]
    assert await again.memory.size() == 4
    assert again.memory.state_dict() == {"_compressed_summary": "Ann has called before."}


async def test_keys_and_values_are_those_of_agentscope(make: Make, client: redis.Redis) -> None:
    memory = make(key_prefix="shop:")
    added = messages("1", "2")
    await memory.add(added, ["todo", "late"])
    at = f"shop:{AT}"
    assert sorted(await client.keys()) == sorted(
        at + one for one in ("messages", "msg:1", "msg:2", "mark:todo", "mark:late", "marks_index")
    )
    assert await client.lrange(f"{at}messages", 0, -1) == ["1", "2"]
    assert await client.lrange(f"{at}mark:todo", 0, -1) == ["1", "2"]
    assert await client.smembers(f"{at}marks_index") == {"todo", "late"}
    assert json.loads(await client.get(f"{at}msg:1")) == added[0].model_dump()
    await memory.clear()
    assert await client.keys() == []


async def test_what_agentscope_has_kept_is_read(make: Make, client: redis.Redis) -> None:
    theirs = {
        "id": "m1",
        "name": "Ann",
        "role": "user",
        "content": [{"type": "text", "text": "Hi!"}],
        "metadata": {},
        "timestamp": "2026-05-25 16:37:51.123",
    }
    await client.rpush(f"{AT}messages", "m1", "gone")  # type: ignore[misc]
    await client.set(f"{AT}msg:m1", json.dumps(theirs))
    (message,) = await make().get_memory()
    assert (message.name, message.get_text_content()) == ("Ann", "Hi!")


WORDS = st.sampled_from("abc")
IDS = st.lists(st.sampled_from("0123"), max_size=3)
STEPS = st.one_of(
    st.tuples(st.just("add"), IDS, st.lists(WORDS, max_size=2)),
    st.tuples(st.just("delete"), IDS),
    st.tuples(st.just("delete_by_mark"), st.lists(WORDS, max_size=2)),
    st.tuples(st.just("update_messages_mark"), st.none() | WORDS, st.none() | WORDS, st.none() | IDS),
    st.tuples(st.just("update_compressed_summary"), st.sampled_from(["", "Before.", "\ud83d"])),
    st.tuples(st.just("clear")),
)


@given(st.lists(STEPS, max_size=12), st.none() | WORDS, st.none() | WORDS)
@settings(max_examples=60)
def test_it_remembers_what_a_memory_in_the_process_remembers(
    redis_socket: Path, steps: list[Any], mark: str | None, exclude_mark: str | None
) -> None:
    """After any changes, by any marks, also for a second client; and each change returns the same number."""

    async def both() -> None:
        ours, theirs = InMemoryMemory(), RedisMemory(unix_socket_path=str(redis_socket))
        await theirs.get_client().flushall()
        for name, *arguments in steps:
            if name == "add":
                arguments[0] = messages(*arguments[0])
            assert await getattr(ours, name)(*arguments) == await getattr(theirs, name)(*arguments)
        async with RedisMemory(unix_socket_path=str(redis_socket)) as other:
            how = {"mark": mark, "exclude_mark": exclude_mark}
            assert await texts_of(other, **how) == await texts_of(ours, **how)
            assert await other.size() == await ours.size()
            await other.clear()
            assert await other.get_client().keys() in ([], [other.key_of("summary").encode()])
        await theirs.close()

    asyncio.run(both())


async def test_changes_at_once_from_several_places_are_all_made_and_each_once(make: Make) -> None:
    places = [make() for _ in range(4)]
    await asyncio.gather(*(place.add(messages(str(n)), "todo") for n in range(10) for place in places))
    assert sorted(await remembered(places[0], mark="todo")) == [str(n) for n in range(10)]
    gone = await asyncio.gather(*(place.delete([str(n)]) for n in range(10) for place in places))
    assert (sum(gone), await places[0].size()) == (10, 0)


async def test_a_message_that_is_added_twice_is_one_at_two_places(make: Make) -> None:
    memory = make()
    await memory.add(messages("0", "1"))
    await memory.add(UserMsg("Ada", "other words", id="0"), allow_duplicates=True)
    assert [(one.id, one.content) for one in await memory.get_memory()] == [
        ("0", "other words"),
        ("1", "words of 1"),
        ("0", "other words"),
    ]
    assert await memory.delete(["0"]) == 2


async def test_users_and_sessions_share_nothing(make: Make) -> None:
    mine, other_call, other_user = make(), make("call-2"), make(user_id="ben")
    await mine.add(messages("1"), "todo")
    await mine.update_compressed_summary("Ann's.")
    for other in (other_call, other_user):
        assert await other.get_memory() == []
        await other.add(messages("1"))
        await other.delete(["1"])
        await other.clear()
    assert await remembered(mine, mark="todo", prepend_summary=False) == ["1"]


@pytest.mark.parametrize("bad", ["", "a:session:b", "../x", "a*", "x" * 201])
def test_an_id_that_could_lead_to_another_session_is_refused(bad: str) -> None:
    for ids in ((bad, "ann"), ("call-1", bad)):
        with pytest.raises(ClientError) as refused:
            RedisMemory(*ids)
        assert refused.value.code == "invalid_id"
    with pytest.raises(BadOption, match="key_ttl"):
        RedisMemory(key_ttl=0)


async def test_each_use_puts_off_the_end_of_all_that_is_kept(make: Make, client: redis.Redis) -> None:
    memory = make(key_ttl=100)
    await memory.add(messages("1"), "todo")
    await memory.update_compressed_summary("Before.")
    for use in (memory.get_memory, memory.size, lambda: memory.update_messages_mark("late")):
        for key in await client.keys():
            await client.expire(key, 5)
        await use()
        assert {await client.ttl(key) > 5 for key in await client.keys()} == {True}
    assert len(await client.keys()) == 6


async def test_a_client_of_the_program_that_decodes_serves_as_well(redis_socket: Path, client: redis.Redis) -> None:
    pool = client.connection_pool
    memory = RedisMemory("call-1", "ann", connection_pool=pool)
    await memory.add(messages("1", "ü"), "spät")
    assert await remembered(memory, mark="spät") == ["1", "ü"]
    await memory.close()
    assert await client.ping()  # type: ignore[misc]


async def test_what_is_damaged_or_of_something_else_is_an_error(make: Make, client: redis.Redis) -> None:
    memory = make()
    await memory.add(messages("1"))
    for damage in ("{", '"words"', '{"name": "Ann"}', "[" * 100_000):
        await client.set(f"{AT}msg:1", damage)
        with pytest.raises(StoreError) as refused:
            await memory.get_memory()
        assert refused.value.code == "store_corrupt"
    await client.set(f"{AT}messages", "no list")
    with pytest.raises(StoreError, match="WRONGTYPE"):
        await memory.add(messages("2"))
    assert await client.exists(f"{AT}msg:2") == 0


async def test_a_redis_that_cannot_be_reached_is_an_error(tmp_path: Path) -> None:
    memory = RedisMemory(unix_socket_path=str(tmp_path / "none.sock"), password="hush")
    for use in (memory.get_memory(), memory.add(messages("1")), memory.update_compressed_summary("Before.")):
        with pytest.raises(StoreError) as refused:
            await use
        assert "hush" not in refused.value.message
    assert memory.state_dict() == {"_compressed_summary": ""}


async def test_what_is_no_message_and_no_mark_is_refused(make: Make) -> None:
    memory: Any = make()
    for wrong in (
        *(memory.add("words"), memory.add([*messages("1"), {"name": "Ada"}]), memory.add(messages("1"), [5])),
        *(memory.delete_by_mark(["a", 5]), memory.get_memory(mark=["a"]), memory.get_memory(exclude_mark=5)),
        *(memory.update_messages_mark(5), memory.update_messages_mark("a", old_mark=5)),
    ):
        with pytest.raises(TypeError):
            await wrong
    assert await memory.size() == 0
