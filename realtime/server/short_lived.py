"""Keys that expire: what they open, and how many are valid at once.

They live in the memory of the process that made them: a restart forgets them, and behind one address with several
servers only that server knows them. There, route a page's socket to the server that made its key (sticky routing), or
have each page use its server's own address.
"""

from __future__ import annotations

import hashlib
import math
from typing import Generic, NamedTuple, TypeVar

from realtime.runtime import Runtime

T = TypeVar("T")

MAX_KEYS = 10_000
MAX_BYTES = 33_554_432
"""Limit for what all keys open, together."""


class _Kept(NamedTuple, Generic[T]):
    opens: T
    expires_at: int
    n_bytes: int


class ShortLived(Generic[T]):
    """Keys that begin with `prefix`, each with what it opens. Stores hashes of them."""

    def __init__(self, prefix: str, *, max_keys: int = MAX_KEYS, max_bytes: int = MAX_BYTES) -> None:
        self.prefix = prefix
        self._kept: dict[bytes, _Kept[T]] = {}
        self._n_bytes = 0
        self._max_keys = max_keys
        self._max_bytes = max_bytes

    def issue(self, opens: T, *, seconds: int, n_bytes: int, runtime: Runtime) -> tuple[str, int] | None:
        """Make a key that is valid for so long; return it and its expiry (epoch seconds).

        `n_bytes` is the size of what it opens. None: too many keys are valid, or they open too much.
        """
        now = runtime.wall_now()
        for old in [old for old, kept in self._kept.items() if kept.expires_at <= now]:
            self._n_bytes -= self._kept.pop(old).n_bytes
        if len(self._kept) >= self._max_keys or self._n_bytes + n_bytes > self._max_bytes:
            return None
        key = self.prefix + runtime.new_id("key").removeprefix("key_")
        expires_at = math.floor(now) + seconds
        self._kept[_hash(key)] = _Kept(opens, expires_at, n_bytes)
        self._n_bytes += n_bytes
        return key, expires_at

    def find(self, key: str, now: float) -> T | None:
        """Return what the key opens if it is valid at `now` (epoch seconds)."""
        kept = self._kept.get(_hash(key))
        return kept.opens if kept is not None and now < kept.expires_at else None


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
