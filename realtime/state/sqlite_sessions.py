"""`SqliteSession`: sessions in one SQLite file, for one machine with any number of processes."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from realtime.options import checked
from realtime.runtime import iso
from realtime.state.files import in_thread
from realtime.state.sessions import StoredSession, version_of
from realtime.state.sqlite_file import SqliteFile, Tables

_SESSIONS = Tables(
    "sessions",
    2,
    {
        0: [
            "CREATE TABLE sessions (user_id TEXT NOT NULL, session_id TEXT NOT NULL, state BLOB NOT NULL, "
            "kept_at TEXT NOT NULL, PRIMARY KEY (user_id, session_id))"
        ],
        1: [
            "ALTER TABLE sessions ADD COLUMN kept_at TEXT NOT NULL DEFAULT ''",
            # How old they are is not known: they are kept as long as those of today.
            "UPDATE sessions SET kept_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
        ],
    },
    kind=0x72_74_53_45,
)
_PUT = """
INSERT INTO sessions (user_id, session_id, state, kept_at) VALUES (?, ?, ?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
ON CONFLICT (user_id, session_id) DO UPDATE SET state = excluded.state, kept_at = excluded.kept_at
"""
_LIST = "SELECT session_id FROM sessions WHERE user_id = ? ORDER BY session_id"
_GET = "SELECT state FROM sessions WHERE user_id = ? AND session_id = ?"


class SqliteSession(StoredSession):
    """Keeps sessions in the SQLite database `path`, which the first save makes.

    It is a file of its own (see `SqliteFile`): calls and long-term memories have theirs.
    """

    @checked()
    def __init__(self, path: str | os.PathLike[str] = "./sessions.db") -> None:
        super().__init__()
        self.path = Path(path)
        self._file = SqliteFile(self.path, _SESSIONS)

    async def aclose(self) -> None:
        """Close the file. The next use opens it again."""
        await in_thread(self._file.close)

    def _where(self, session_id: str, user_id: str) -> str:
        return str(self.path)

    async def _read(self, session_id: str, user_id: str) -> bytes | None:
        if not await in_thread(self.path.exists):
            return None  # reading makes no file

        def act(connection: sqlite3.Connection) -> bytes | None:
            row = connection.execute(_GET, (user_id, session_id)).fetchone()
            return None if row is None else bytes(row[0])

        return await in_thread(self._file.read, act)

    async def _ids(self, user_id: str) -> list[str]:
        if not await in_thread(self.path.exists):
            return []

        def act(connection: sqlite3.Connection) -> list[str]:
            return [one for (one,) in connection.execute(_LIST, (user_id,))]

        return await in_thread(self._file.read, act)

    async def _delete(self, user_id: str) -> None:
        if not await in_thread(self.path.exists):
            return

        def act(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM sessions WHERE user_id = ?", (user_id,))

        await in_thread(self._file.write, act)
        await in_thread(self._file.scrub)

    async def drop_before(self, wall_s: float) -> int:
        """See `StoredSession.drop_before`."""
        if not await in_thread(self.path.exists):
            return 0

        def act(connection: sqlite3.Connection) -> int:
            deleted = connection.execute("DELETE FROM sessions WHERE kept_at < ?", (iso(wall_s),))
            return deleted.rowcount

        dropped: int = await in_thread(self._file.write, act)
        if dropped:
            await in_thread(self._file.scrub)
        return dropped

    async def _write(self, session_id: str, user_id: str, data: bytes, over: str | None = None) -> bool:
        def act(connection: sqlite3.Connection) -> bool:
            row = connection.execute(_GET, (user_id, session_id)).fetchone() if over is not None else None
            if over is not None and version_of(None if row is None else bytes(row[0])) != over:
                return False
            connection.execute(_PUT, (user_id, session_id, data))
            return True

        return await in_thread(self._file.write, act)
