"""Access records: failed tokens per address, and page sessions.

Pure: time is an argument, in seconds. Both tables are bounded and forget old entries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

FREE_TRIES = 10
"""Wrong tokens checked without delay: a page with an old token sends it with each of its requests."""
LONGEST_WAIT_S = 60.0
FORGIVEN_AFTER_S = 900.0
"""Seconds without a wrong token that reset an address to zero."""
MAX_ADDRESSES = 10_000
"""Beyond this number, the address whose latest failure is oldest is forgotten."""

SESSION_LIFE_S = 86_400.0
"""Seconds after its last use that a page session expires."""
MAX_SESSIONS = 10_000
"""Beyond this number, the session used longest ago ends."""


@dataclass(slots=True)
class _Failures:
    count: int
    latest_at: float


class WrongTokens:
    """Slows down an address that guesses tokens.

    Past `FREE_TRIES` its wait doubles with each wrong token, up to a minute. Other addresses are not slowed, however
    many fail.
    """

    def __init__(self, *, max_addresses: int = MAX_ADDRESSES) -> None:
        self._by_address: dict[str, _Failures] = {}
        """Ordered by latest failure."""
        self._max_addresses = max_addresses

    def __len__(self) -> int:
        return len(self._by_address)

    def wait_s(self, address: str, now: float) -> float:
        """Return the seconds until a token of this address is checked again; 0: now."""
        failures = self._by_address.get(address)
        if failures is None or failures.count <= FREE_TRIES:
            return 0.0
        wait_s = min(LONGEST_WAIT_S, 2.0 ** min(failures.count - FREE_TRIES - 1, 10))
        return max(0.0, failures.latest_at + wait_s - now)

    def count(self, address: str, now: float) -> None:
        """Count a wrong token of this address."""
        failures = self._by_address.pop(address, None)
        if failures is None or now - failures.latest_at > FORGIVEN_AFTER_S:
            failures = _Failures(0, now)
        failures.count += 1
        failures.latest_at = now
        self._by_address[address] = failures
        if len(self._by_address) > self._max_addresses:
            del self._by_address[next(iter(self._by_address))]


class PageSessions:
    """Sessions that a page's cookie names in place of the token. Stores hashes of their ids."""

    def __init__(self, new_id: Callable[[str], str], *, max_sessions: int = MAX_SESSIONS) -> None:
        self._new_id = new_id
        self._max_sessions = max_sessions
        self._used_at: dict[bytes, float] = {}
        """Ordered by latest use."""

    def __len__(self) -> int:
        return len(self._used_at)

    def open(self, now: float) -> str:
        """Open a session and return its id."""
        session_id = self._new_id("page")
        self._used_at[_hash(session_id)] = now
        if len(self._used_at) > self._max_sessions:
            del self._used_at[next(iter(self._used_at))]
        return session_id

    def is_open(self, session_id: str, now: float) -> bool:
        """Return whether this session is open, and extend its life from `now`."""
        key = _hash(session_id)
        used_at = self._used_at.pop(key, None)
        if used_at is None or now - used_at > SESSION_LIFE_S:
            return False
        self._used_at[key] = now
        return True


def _hash(session_id: str) -> bytes:
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).digest()
