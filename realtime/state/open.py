"""Open a store of calls, or of sessions, by its URL."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

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


def open_session(url: str, *, new: bool = True) -> StoredSession:
    """Return the sessions in `json:FOLDER` (or `file:`), `sqlite:FILE` or `redis://HOST:PORT/DB?prefix=TEXT`.

    `rediss:` is Redis with TLS, `unix:SOCKET?db=DB&prefix=TEXT` Redis on a socket. Raises UsageError for any other URL
    and, with `new=False`, for a missing file or folder.
    """
    scheme, colon, path = url.partition(":")
    if colon and path and scheme in ("file", "json", "sqlite"):
        place = Path(path).expanduser()
        if not new and not place.exists():
            raise UsageError(f"there are no sessions in {url}: name what your program keeps them in", code="no_store")
        return SqliteSession(place) if scheme == "sqlite" else JSONSession(place)
    # No error shows the password that may be in it.
    unknown = UsageError(
        "these are no sessions: use json:FOLDER, sqlite:FILE, redis://HOST:PORT/DB or unix:SOCKET", code="unknown_store"
    )
    if scheme not in ("redis", "rediss", "unix"):
        raise unknown
    try:
        parts = urlsplit(url)
        options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        db = options.get("db", "") if scheme == "unix" else parts.path.strip("/")
        return RedisSession(
            parts.hostname or "localhost",
            parts.port or 6379,
            int(db or 0),
            unquote(parts.password) if parts.password else None,
            key_prefix=options.get("prefix", ""),
            username=unquote(parts.username) if parts.username else None,
            unix_socket_path=parts.path if scheme == "unix" else None,
            ssl=scheme == "rediss",
        )
    except ValueError as error:
        raise unknown from error
