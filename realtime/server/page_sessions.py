"""Page sessions: what a page's cookie names in place of the token.

Pure: time is an argument, in seconds. The table is bounded and forgets old entries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

SESSION_LIFE_S = 86_400.0
"""Seconds after its last use that a page session expires."""
MAX_SESSIONS = 10_000
"""Beyond this number, the session used longest ago ends."""


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
