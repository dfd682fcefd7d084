"""Redis, as sessions and memories use it: the client, and what its errors mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from realtime.errors import StoreError, UsageError

if TYPE_CHECKING:
    from redis.asyncio import Redis


def redis_client(who: str, **options: Any) -> Redis:
    """Return a client; the first use connects. Raises UsageError where the package redis is not installed.

    `who` needs it: the subject of that error.
    """
    try:
        from redis import asyncio as redis
    except ImportError:
        raise UsageError(
            f"{who} needs the package redis: pip install -e '.[redis]' in the folder of this project, "
            "or pip install redis",
            code="missing_package",
        ) from None
    return redis.Redis(**options)


@contextmanager
def redis_errors() -> Iterator[None]:
    """Translate errors inside to StoreError."""
    from redis import exceptions

    try:
        yield
    except (exceptions.RedisError, OSError) as error:
        code = "store_failed"
        if isinstance(error, exceptions.OutOfMemoryError):
            code = "store_full"
        elif isinstance(error, exceptions.ReadOnlyError):
            code = "store_read_only"
        raise StoreError(f"Redis: {error}", code=code) from error
