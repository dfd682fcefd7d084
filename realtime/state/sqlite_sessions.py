"""`SqliteSession`: sessions in one SQLite file, for one machine with any number of processes."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from realtime.options import checked
from realtime.state.files import in_thread
from realtime.state.sessions import StoredSession, version_of
from realtime.state.sqlite_file import SqliteFile, Tables

_SESSIONS = Tables(
    "sessions",
    1,
    {
        0: [
            "CREATE TABLE sessions (user_id TEXT NOT NULL, session_id TEXT NOT NULL, state BLOB NOT NULL, "
            "PRIMARY KEY (user_id, session_id))"
        ]
    },
    kind=0x72_74_53_45,
)
_PUT = """
INSERT INTO sessions (user_id, session_id, state) VALUES (?, ?, ?)
ON CONFLICT (user_id, session_id) DO UPDATE SET state = excluded.state
"""
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

    async def _write(self, session_id: str, user_id: str, data: bytes, over: str | None = None) -> bool:
        def act(connection: sqlite3.Connection) -> bool:
            row = connection.execute(_GET, (user_id, session_id)).fetchone() if over is not None else None
            if over is not None and version_of(None if row is None else bytes(row[0])) != over:
                return False
            connection.execute(_PUT, (user_id, session_id, data))
            return True

        return await in_thread(self._file.write, act)
