"""Which process has a call of a shared SQLite file.

So no two continue the same one.

A process that lives has a locked file beside the database; the system unlocks it however the process ends.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import suppress
from pathlib import Path

from realtime.state.lock import is_locked, lock_file

_TABLE = "CREATE TABLE IF NOT EXISTS holders (call_id TEXT PRIMARY KEY, process TEXT NOT NULL) WITHOUT ROWID"
"""Made when there is a first call: older versions of this package go on with the file."""
_PUT = "INSERT OR REPLACE INTO holders (call_id, process) VALUES (?, ?)"


class Holders:
    """The calls that this process and others have. The methods but `close` act inside a transaction."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._mark: tuple[int, Path] | None = None
        self._held: set[str] = set()

    def claim(self, connection: sqlite3.Connection, call_id: str) -> bool:
        """Take a call for this process; returns False, and takes nothing, while another one that lives has it."""
        if call_id in self._held:
            return True
        mine = self._own_mark()
        connection.execute(_TABLE)
        row = connection.execute("SELECT process FROM holders WHERE call_id = ?", (call_id,)).fetchone()
        if row is not None and row[0] != mine and self._lives(row[0]):
            return False
        connection.execute(_PUT, (call_id, mine))
        self._held.add(call_id)
        return True

    def release(self, connection: sqlite3.Connection, call_id: str) -> None:
        """Give a call free that this process has."""
        self._held.discard(call_id)
        if self._mark is not None:
            mine = (call_id, self._own_mark())
            connection.execute("DELETE FROM holders WHERE call_id = ? AND process = ?", mine)

    def forget(self) -> None:
        """The transaction was undone: what it took is to be taken again."""
        self._held.clear()

    def close(self) -> None:
        """Give all calls free: this process has none any more. Idempotent."""
        self.forget()
        if self._mark is not None:
            file, path = self._mark
            self._mark = None
            with suppress(OSError):
                path.unlink()
            os.close(file)

    def _own_mark(self) -> str:
        if self._mark is None:
            file, name = tempfile.mkstemp(prefix=f".{self._database.name}-held-", dir=self._database.parent)
            lock_file(file)
            self._mark = file, Path(name)
        return self._mark[1].name

    def _lives(self, name: str) -> bool:
        """Whether the process of this mark lives. The mark of a dead one is removed."""
        path = self._database.parent / Path(name).name
        if is_locked(path):
            return True
        with suppress(OSError):
            path.unlink()
        return False
