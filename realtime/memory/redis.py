"""`RedisMemory`: what an agent remembers, in Redis, under AgentScope's keys."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from realtime.errors import StoreError
from realtime.memory.base import MemoryBase
from realtime.memory.memory import check_word, messages_of, with_summary, words_of
from realtime.message import Msg
from realtime.options import PositiveInt, checked
from realtime.state.redis_client import redis_client, redis_errors
from realtime.state.sessions import check_id

if TYPE_CHECKING:
    from redis.asyncio import ConnectionPool, Redis
    from redis.asyncio.client import Pipeline

Value = TypeVar("Value")


@dataclass(slots=True)
class _Kept:
    """What Redis has: the ids of all messages, oldest first, and of those with each mark."""

    ids: list[str]
    marks: dict[str, list[str]]


class RedisMemory(MemoryBase):
    """Keeps the messages of one session of a user in Redis: no process has to save them, and many may use them.

    The keys begin with `{key_prefix}user_id:{user}:session:{session}:`, and are AgentScope's: `messages` has the ids,
    `msg:{id}` a message, `mark:{mark}` the ids with a mark, `marks_index` the marks. The summary is kept beside them,
    under `summary`, and counts for more than that of a state. A message that is added twice with `allow_duplicates` is
    one message at two places.

    Each change is made whole or not at all, also where two processes change one session at once. `key_ttl`: seconds
    after which a session that is not used is gone; None keeps it. `connection_pool` replaces the address, and is yours
    to close; further options go to the client. `async with` closes the client.

    Raises UsageError where the package redis is not installed, and ClientError for ids that cannot be one
    (`StoredSession`). Methods raise StoreError where Redis cannot be reached, or holds something else.
    """

    @checked()
    def __init__(
        self,
        session_id: str = "default_session",
        user_id: str = "default_user",
        host: str = "localhost",
        port: int = 6379,
        db: int = 0,
        password: str | None = None,
        connection_pool: ConnectionPool | None = None,
        key_prefix: str = "",
        key_ttl: PositiveInt | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.session_id = check_id(session_id, "session id")
        self.user_id = check_id(user_id, "user id")
        self.key_prefix = key_prefix
        self.key_ttl = key_ttl
        self._client = redis_client(
            "RedisMemory",
            host=host,
            port=port,
            db=db,
            password=password,
            connection_pool=connection_pool,
            **kwargs,
        )
        self._changing = asyncio.Lock()
        """Held while a change is made: changes of one process do not make each other begin again."""

    def get_client(self) -> Redis:
        """Return the client."""
        return self._client

    async def close(self) -> None:
        """Close the client; the next use opens it again."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def key_of(self, *parts: str) -> str:
        """Return the key of a part, such as `key_of("msg", id)`."""
        return ":".join((f"{self.key_prefix}user_id:{self.user_id}:session:{self.session_id}", *parts))

    async def update_compressed_summary(self, summary: str) -> None:
        """See `MemoryBase.update_compressed_summary`."""
        with redis_errors():
            await self._client.set(self.key_of("summary"), _bytes(summary), ex=self.key_ttl)
        self._compressed_summary = summary

    async def add(
        self,
        memories: Msg | Iterable[Msg] | None,
        marks: str | Iterable[str] | None = None,
        allow_duplicates: bool = False,
    ) -> None:
        """See `MemoryBase.add`. Raises TypeError for anything but messages, and for marks that are no text."""
        messages, words = messages_of(memories), words_of(marks, "a mark")

        async def push(pipe: Pipeline, kept: _Kept) -> None:
            known = {*kept.ids}
            _queue(pipe)
            for message in messages:
                if message.id in known and not allow_duplicates:
                    continue
                known.add(message.id)
                kept.ids.append(message.id)
                pipe.rpush(self.key_of("messages"), message.id)
                pipe.set(self.key_of("msg", message.id), json.dumps(message.model_dump()))
                for mark in words:
                    self._mark(pipe, kept, mark, message.id)

        if messages:
            await self._do(push)

    async def delete(self, msg_ids: Iterable[str]) -> int:
        """See `MemoryBase.delete`."""
        ids = {*words_of(msg_ids, "a message id")}

        async def drop(pipe: Pipeline, kept: _Kept) -> int:
            return self._drop(pipe, kept, ids)

        return await self._do(drop) if ids else 0

    async def delete_by_mark(self, mark: str | Iterable[str]) -> int:
        """See `MemoryBase.delete_by_mark`. Raises TypeError for marks that are no text."""
        words = words_of(mark, "a mark")

        async def drop(pipe: Pipeline, kept: _Kept) -> int:
            return self._drop(pipe, kept, {one for word in words for one in kept.marks.get(word, ())})

        return await self._do(drop)

    async def size(self) -> int:
        """See `MemoryBase.size`."""

        async def count(_: Pipeline, kept: _Kept) -> int:
            return len(kept.ids)

        return await self._do(count)

    async def clear(self) -> None:
        """See `MemoryBase.clear`."""

        async def drop(pipe: Pipeline, kept: _Kept) -> None:
            _queue(pipe)
            pipe.delete(*self._keys(kept))

        await self._do(drop)

    async def get_memory(
        self, mark: str | None = None, exclude_mark: str | None = None, prepend_summary: bool = True
    ) -> list[Msg]:
        """See `MemoryBase.get_memory`. Raises TypeError for marks that are no text."""
        check_word(mark)
        check_word(exclude_mark)

        async def read(pipe: Pipeline, kept: _Kept) -> tuple[Any, list[Any]]:
            without = {*kept.marks.get(exclude_mark, ())} if exclude_mark is not None else ()
            only = {*kept.marks.get(mark, ())} if mark is not None else {*kept.ids}
            ids = [one for one in kept.ids if one in only and one not in without]
            return await pipe.mget([self.key_of("summary"), *(self.key_of("msg", one) for one in ids)]), ids

        (summary, *found), ids = await self._do(read)
        if summary is not None:
            self._compressed_summary = _text(summary)
        messages = [_message(one, data) for one, data in zip(ids, found, strict=True) if data is not None]
        return with_summary(self._compressed_summary, messages) if prepend_summary else messages

    async def update_messages_mark(
        self, new_mark: str | None, old_mark: str | None = None, msg_ids: Iterable[str] | None = None
    ) -> int:
        """See `MemoryBase.update_messages_mark`. Raises TypeError for marks that are no text."""
        check_word(new_mark)
        check_word(old_mark)
        wanted = None if msg_ids is None else {*words_of(msg_ids, "a message id")}

        async def mark(pipe: Pipeline, kept: _Kept) -> int:
            _queue(pipe)
            changed = 0
            for one in [*(kept.ids if old_mark is None else kept.marks.get(old_mark, ()))]:
                if (wanted is not None and one not in wanted) or new_mark == old_mark:
                    continue
                if old_mark is not None:
                    self._unmark(pipe, kept, old_mark, one)
                is_new = new_mark is not None and one not in kept.marks.get(new_mark, ())
                if new_mark is not None and is_new:
                    self._mark(pipe, kept, new_mark, one)
                changed += old_mark is not None or is_new
            return changed

        return await self._do(mark)

    # -- inside --------------------------------------------------------------------------------------------------------

    async def _do(self, act: Callable[[Pipeline, _Kept], Awaitable[Value]]) -> Value:
        """Read what is kept, and act on it; again, where another process has changed it meanwhile."""

        async def attempt(pipe: Pipeline) -> Value:
            kept = await self._read(pipe)
            value = await act(pipe, kept)
            if not pipe.explicit_transaction:
                _queue(pipe)
            if self.key_ttl is not None:
                for key in (*self._keys(kept), self.key_of("summary")):
                    pipe.expire(key, self.key_ttl)
            return value

        watched = self.key_of("messages"), self.key_of("marks_index")
        with redis_errors():
            async with self._changing:
                value: Value = await self._client.transaction(attempt, *watched, value_from_callable=True)
        return value

    async def _read(self, pipe: Pipeline) -> _Kept:
        names = sorted(map(_text, await pipe.smembers(self.key_of("marks_index"))))
        if names:
            await pipe.watch(*(self.key_of("mark", name) for name in names))
        marks = {name: await self._list(pipe, "mark", name) for name in names}
        return _Kept(await self._list(pipe, "messages"), marks)

    async def _list(self, pipe: Pipeline, *parts: str) -> list[str]:
        return [*map(_text, await pipe.lrange(self.key_of(*parts), 0, -1))]

    def _keys(self, kept: _Kept) -> Iterator[str]:
        """Return the keys of all that is kept, but the summary's."""
        yield from (self.key_of("messages"), self.key_of("marks_index"))
        yield from (self.key_of("msg", one) for one in dict.fromkeys(kept.ids))
        yield from (self.key_of("mark", mark) for mark in kept.marks)

    def _drop(self, pipe: Pipeline, kept: _Kept, ids: set[str]) -> int:
        """Remove messages; return how many there were."""
        _queue(pipe)
        for one in ids & {*kept.ids}:
            pipe.lrem(self.key_of("messages"), 0, one)
            pipe.delete(self.key_of("msg", one))
        for mark, marked in [*kept.marks.items()]:
            for one in ids & {*marked}:
                self._unmark(pipe, kept, mark, one)
        stay = [one for one in kept.ids if one not in ids]
        n_gone, kept.ids = len(kept.ids) - len(stay), stay
        return n_gone

    def _mark(self, pipe: Pipeline, kept: _Kept, mark: str, msg_id: str) -> None:
        marked = kept.marks.setdefault(mark, [])
        if msg_id not in marked:
            marked.append(msg_id)
            pipe.rpush(self.key_of("mark", mark), msg_id)
            pipe.sadd(self.key_of("marks_index"), mark)

    def _unmark(self, pipe: Pipeline, kept: _Kept, mark: str, msg_id: str) -> None:
        kept.marks[mark] = [one for one in kept.marks[mark] if one != msg_id]
        pipe.lrem(self.key_of("mark", mark), 0, msg_id)
        if not kept.marks[mark]:
            del kept.marks[mark]
            pipe.srem(self.key_of("marks_index"), mark)


def _queue(pipe: Pipeline) -> None:
    """From now on, queue what changes something: all of it happens at once."""
    cast(Any, pipe).multi()  # has no types


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes | str) -> str:
    """Return what a client gave: one of the program may decode."""
    return data if isinstance(data, str) else data.decode("utf-8", "surrogatepass")


def _message(msg_id: str, data: bytes | str) -> Msg:
    try:
        return Msg.model_validate(json.loads(_text(data)))
    except (ValueError, RecursionError) as error:
        raise StoreError(f"message {msg_id!r} in Redis is damaged", code="store_corrupt", retryable=False) from error
