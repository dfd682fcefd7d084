"""A real Redis in place of fakeredis: a server of this process's own, empty for each client that a test makes."""

from __future__ import annotations

import atexit
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import redis
from redis import asyncio

from tests.state.redis_server import redis_server


@cache
def _socket() -> Path:
    """Start the server; it ends with the process."""
    stack = ExitStack()
    atexit.register(stack.close)
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    return stack.enter_context(redis_server(Path(folder)))


def FakeRedis(**options: Any) -> asyncio.Redis:
    """Return a client of an empty server."""
    path = str(_socket())
    with redis.Redis(unix_socket_path=path) as one:
        one.flushall()
    return asyncio.Redis(unix_socket_path=path, **options)
