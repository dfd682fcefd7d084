"""Calls in one SQLite file: the default of a server on one machine."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from realtime.errors import StoreError
from realtime.state.log import Entry, last_seq_of
from realtime.state.store import CallInfo, Change, decode_entry, encode_entries, error_of

T = TypeVar("T")

VERSION = 1
"""Of the tables; a file with another one is not touched."""
BUSY_S = 5.0
"""How long to wait for another process that writes."""

_TABLES = f"""
PRAGMA journal_mode = WAL;
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    call_id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    created_at TEXT NOT NULL,
    info BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS calls_of_owner ON calls (owner, created_at, call_id);
CREATE TABLE IF NOT EXISTS entries (
    call INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (call, seq)
) WITHOUT ROWID;
PRAGMA user_version = {VERSION};
COMMIT;
"""
_PUT_CALL = """
INSERT INTO calls (call_id, owner, created_at, info) VALUES (?, ?, ?, ?)
ON CONFLICT (call_id) DO UPDATE SET owner = excluded.owner, created_at = excluded.created_at, info = excluded.info
RETURNING id
"""
_INFO = "SELECT info, (SELECT last_seq FROM entries WHERE call = calls.id ORDER BY seq DESC LIMIT 1) FROM calls"
_READ = """
SELECT body FROM entries
WHERE call = (SELECT id FROM calls WHERE call_id = :call_id) AND last_seq > :after_seq AND seq >= coalesce(
    (SELECT max(seq) FROM entries WHERE call = (SELECT id FROM calls WHERE call_id = :call_id) AND seq <= :after_seq), 0
)
ORDER BY seq LIMIT :limit
"""
_ROWS_AT_ONCE = (128, 16, 1)
"""Rows of one statement. SQLite runs a statement without Python's lock, and each return to it may have to wait for the
event loop: few long statements keep both from waiting for each other."""


def _put_entries(rows: int) -> str:
    values = ", ".join(["(?, ?, ?, ?)"] * rows)
    return (
        f"INSERT INTO entries (call, seq, last_seq, body) VALUES {values} "
        "ON CONFLICT (call, seq) DO UPDATE SET last_seq = excluded.last_seq, body = excluded.body "
        "WHERE excluded.last_seq >= entries.last_seq"
    )


_PUT_ENTRIES = {rows: _put_entries(rows) for rows in _ROWS_AT_ONCE}


class SqliteStore:
    """Keeps calls in the SQLite database `path`, which is made at the first use, readable by its owner only.

    Write-ahead log, synchronous NORMAL: a killed process loses nothing that was written, a machine that goes down may
    lose the last moments, and neither damages the file. Other processes may read and write it, too.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        # One connection for whoever writes, one for whoever reads: neither waits for the other.
        self._writer = _Connection(self._path)
        self._reader = _Connection(self._path)
        self._ids: dict[str, int] = {}

    def write(self, batch: Sequence[Change]) -> None:
        """See `Store.write`. The batch is one transaction."""

        def act(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            rows: list[int | bytes] = []
            for change in batch:
                call = self._id_of(connection, change)
                if call is None:
                    continue
                for entry, body in encode_entries(change):
                    rows += (call, entry.seq, last_seq_of(entry), body)
            _insert(connection, rows)
            connection.execute("COMMIT")

        try:
            self._writer.use(act)
        except StoreError:
            self._ids.clear()
            raise

    def _id_of(self, connection: sqlite3.Connection, change: Change) -> int | None:
        """The number of the call in this file; None where it is not there."""
        info, call_id = change.info, change.call_id
        if info is not None:
            values = (call_id, info.owner, info.created_at, msgspec.json.encode(info))
            self._ids[call_id] = connection.execute(_PUT_CALL, values).fetchone()[0]
        elif call_id not in self._ids:
            row = connection.execute("SELECT id FROM calls WHERE call_id = ?", (call_id,)).fetchone()
            if row is None:
                return None
            self._ids[call_id] = row[0]
        number = self._ids[call_id]
        if info is not None and info.ended_at is not None:
            del self._ids[call_id]
        return number

    def calls(self, owner: str) -> list[CallInfo]:
        """See `Store.calls`."""
        query = f"{_INFO} WHERE owner = ? ORDER BY created_at DESC, call_id DESC"
        return [_told(*row) for row in self._reader.use(lambda it: it.execute(query, (owner,)).fetchall())]

    def call(self, call_id: str) -> CallInfo | None:
        """See `Store.call`."""
        row = self._reader.use(lambda it: it.execute(f"{_INFO} WHERE call_id = ?", (call_id,)).fetchone())
        return None if row is None else _told(*row)

    def read(self, call_id: str, after_seq: int = 0, limit: int | None = None) -> list[Entry]:
        """See `Store.read`."""
        place = {"call_id": call_id, "after_seq": after_seq, "limit": -1 if limit is None else limit}
        rows = self._reader.use(lambda it: it.execute(_READ, place).fetchall())
        return [decode_entry(body) for (body,) in rows]

    def delete(self, call_id: str) -> bool:
        """See `Store.delete`."""

        def act(connection: sqlite3.Connection) -> bool:
            connection.execute("BEGIN IMMEDIATE")
            self._ids.pop(call_id, None)
            connection.execute("DELETE FROM entries WHERE call = (SELECT id FROM calls WHERE call_id = ?)", (call_id,))
            deleted = connection.execute("DELETE FROM calls WHERE call_id = ?", (call_id,)).rowcount
            connection.execute("COMMIT")
            # Until then the words stand in the journal.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return deleted > 0

        return self._writer.use(act)

    def close(self) -> None:
        """See `Store.close`."""
        self._reader.close()
        self._writer.close()


class _Connection:
    """One connection, for one thread at a time; made at the first use, and anew after an error."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    def use(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """What `act` returns. Raises StoreError; a transaction that was begun is then undone."""
        with self._lock, _sqlite_errors(self._path):
            connection = self._connection
            try:
                if connection is None:
                    connection = self._connection = _connect(self._path)
                return act(connection)
            except BaseException:
                self._drop()
                raise

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        pass
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")  # what somebody deletes is not to be found in the file
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            connection.executescript(_TABLES)
        elif version != VERSION:
            raise StoreError(
                f"{path} was written by another version of this package (tables {version}, not {VERSION})",
                code="store_version",
                retryable=False,
            )
    except BaseException:
        connection.close()
        raise
    return connection


def _insert(connection: sqlite3.Connection, values: list[int | bytes]) -> None:
    """Put rows of four values, as many at once as there are statements for."""
    at = 0
    for rows in _ROWS_AT_ONCE:
        while len(values) - at >= 4 * rows:
            connection.execute(_PUT_ENTRIES[rows], values[at : at + 4 * rows])
            at += 4 * rows


def _told(info: bytes, last_seq: int | None) -> CallInfo:
    try:
        told = msgspec.json.decode(info, type=CallInfo)
    except msgspec.MsgspecError as error:
        raise StoreError("what is known of a call is damaged", code="store_corrupt", retryable=False) from error
    return msgspec.structs.replace(told, last_seq=last_seq or 0)


_CODES = {
    sqlite3.SQLITE_FULL: "store_full",
    sqlite3.SQLITE_READONLY: "store_read_only",
    sqlite3.SQLITE_PERM: "store_read_only",
    sqlite3.SQLITE_BUSY: "store_busy",
    sqlite3.SQLITE_CORRUPT: "store_corrupt",
    sqlite3.SQLITE_NOTADB: "store_corrupt",
}


@contextmanager
def _sqlite_errors(path: Path) -> Iterator[None]:
    """What goes wrong inside, as StoreError."""
    try:
        yield
    except OSError as error:
        raise error_of(error) from error
    except sqlite3.Error as error:
        code = _CODES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "store_failed")
        raise StoreError(f"{error} ({path})", code=code, retryable=code != "store_corrupt") from error
