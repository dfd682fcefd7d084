"""`RedisSession`: sessions in Redis, for many machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

from realtime.errors import ClientError, UsageError
from realtime.options import PositiveInt, checked
from realtime.state.redis_client import redis_client, redis_errors
from realtime.state.sessions import StoredSession

if TYPE_CHECKING:
    from redis.asyncio import ConnectionPool, Redis

_PUT_OVER = """
local stored = redis.call('GET', KEYS[1])
if (stored and redis.sha1hex(stored) or '') ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
if ARGV[3] ~= '' then redis.call('EXPIRE', KEYS[1], ARGV[3]) end
return 1
"""
"""Sets a state over the version ARGV[2] alone, for ARGV[3] seconds."""
_NO_USER = "default_user"
"""In the key of a session without a user, as in AgentScope."""

_IN_PATTERNS = frozenset("*?[]^-\\")
_KEYS_AT_ONCE = 1_000


class RedisSession(StoredSession):
    """Keeps each session as the value of `{key_prefix}user_id:{user}:session:{session}:state`, as AgentScope does.

    `key_ttl`: seconds after which a session that is neither saved nor loaded is gone; None keeps it. `connection_pool`
    replaces the address, and is yours to close; further options go to the client. `async with` closes the client.
    Raises UsageError where the package redis is not installed. Saved states are as safe as the server is set up to keep
    what it was sent.
    """

    @checked()
    def __init__(
        self,
        host: str = "localhost",
        port: int = 6379,
        db: int = 0,
        password: str | None = None,
        connection_pool: ConnectionPool | None = None,
        key_ttl: PositiveInt | None = None,
        key_prefix: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self._client = redis_client(
            "RedisSession",
            host=host,
            port=port,
            db=db,
            password=password,
            connection_pool=connection_pool,
            **kwargs,
        )
        self.key_ttl = key_ttl
        self.key_prefix = key_prefix

    def get_client(self) -> Redis:
        """Return the client."""
        return self._client

    async def close(self) -> None:
        """Close the client."""
        await self._client.aclose()

    async def aclose(self) -> None:
        """Close the client, as `close` does."""
        await self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def key_of(self, session_id: str, user_id: str = "") -> str:
        """Return the key of a session. Raises ClientError for a user who would have that of no user."""
        if user_id == _NO_USER:
            raise ClientError(
                f"this cannot be a user id: {_NO_USER!r} stands for no user, so leave it out", code="invalid_id"
            )
        return f"{self.key_prefix}user_id:{user_id or _NO_USER}:session:{session_id}:state"

    def _where(self, session_id: str, user_id: str) -> str:
        return f"Redis, under {self.key_of(session_id, user_id)!r}"

    async def _read(self, session_id: str, user_id: str) -> bytes | None:
        key = self.key_of(session_id, user_id)
        with redis_errors():
            data = await (self._client.get(key) if self.key_ttl is None else self._client.getex(key, ex=self.key_ttl))
        # A client of the program may decode what it gets.
        return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data

    async def _ids(self, user_id: str) -> list[str]:
        beginning, end = len(self.key_of("", user_id)) - len(":state"), -len(":state")
        return sorted(key[beginning:end] for key in await self._keys(user_id))

    async def _delete(self, user_id: str) -> None:
        keys = await self._keys(user_id)
        if keys:
            with redis_errors():
                await self._client.delete(*keys)

    async def drop_before(self, wall_s: float) -> int:
        """Raise UsageError: Redis ends the sessions itself, after `key_ttl`."""
        raise UsageError("sessions in Redis end by the key_ttl of RedisSession", code="bad_option")

    async def _keys(self, user_id: str) -> list[str]:
        """Return the keys of a user's sessions. Raises StoreError."""
        beginning, _, end = self.key_of("\0", user_id).partition("\0")
        pattern = "".join(f"\\{one}" if one in _IN_PATTERNS else one for one in beginning) + "*" + end
        with redis_errors():
            found = {key async for key in self._client.scan_iter(match=pattern, count=_KEYS_AT_ONCE)}
        return [key if isinstance(key, str) else key.decode("utf-8", "surrogateescape") for key in found]

    async def _write(self, session_id: str, user_id: str, data: bytes, over: str | None = None) -> bool:
        key, ttl = self.key_of(session_id, user_id), self.key_ttl
        with redis_errors():
            if over is None:
                await self._client.set(key, data, ex=ttl)
                return True
            lasts = "" if ttl is None else str(ttl)
            # The client's stubs know texts as arguments only; it sends bytes as they are.
            script: Any = self._client.eval(_PUT_OVER, 1, key, cast(str, data), over, lasts)
            return bool(await script)
