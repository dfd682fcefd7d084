"""Open a store, or the sessions of callers, by a URL."""

from __future__ import annotations

from pathlib import Path

from realtime.errors import UsageError
from realtime.state.json_files import JsonFileStore
from realtime.state.json_sessions import JSONSession
from realtime.state.memory import MemoryStore
from realtime.state.redis_sessions import RedisSession
from realtime.state.sessions import StoredSession
from realtime.state.sqlite import SqliteStore
from realtime.state.sqlite_sessions import SqliteSession
from realtime.state.store import Store


def open_store(url: str, *, new: bool = True) -> Store:
    """Return the store for `memory:`, `file:FOLDER` or `sqlite:FILE`; `~` is the home folder.

    Touches no file: the first use creates a missing one and reports a broken one. Raises UsageError for any other URL
    and, with `new=False`, for a missing file or folder.
    """
    scheme, colon, path = url.partition(":")
    if url == "memory:":
        return MemoryStore()
    if colon and path and scheme in ("file", "sqlite"):
        place = Path(path).expanduser()
        if not new and not place.exists():
            raise UsageError(f"there is no store {url}: name the --store that the server was given", code="no_store")
        return JsonFileStore(place) if scheme == "file" else SqliteStore(place)
    raise UsageError(f"unknown store {url!r}: use memory:, file:FOLDER or sqlite:FILE", code="unknown_store")


def open_session(url: str) -> StoredSession:
    """Return the sessions in `json:FOLDER`, `sqlite:FILE` or `redis://HOST:PORT/DB`; `~` is the home folder.

    Touches nothing. Raises UsageError for any other URL, which it does not repeat: it may hold a password.
    """
    scheme, colon, path = url.partition(":")
    if scheme in ("redis", "rediss", "unix") and path.startswith("//"):
        return RedisSession.from_url(url)
    if colon and path and scheme in ("json", "sqlite"):
        place = Path(path).expanduser()
        return JSONSession(place) if scheme == "json" else SqliteSession(place)
    raise UsageError(
        "unknown sessions: use json:FOLDER, sqlite:FILE or redis://HOST:PORT/DB", code="unknown_session_url"
    )
