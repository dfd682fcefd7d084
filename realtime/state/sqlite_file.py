"""One SQLite file: its connections, the version of its tables, its errors as StoreError."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from realtime.errors import StoreError
from realtime.state.store import error_of

T = TypeVar("T")

BUSY_S = 5.0
"""How long to wait for another writing process."""


class Tables(NamedTuple):
    """What a kind of file holds: `content` is the word for it in errors.

    `scripts` has the statements that make the tables of `version`, by the version from which they begin; 0 is an empty
    file. `kind` is the `application_id` of such a file, by which none is taken for one of another kind.
    """

    content: str
    version: int
    scripts: Mapping[int, Sequence[str]]
    kind: int = 0


class SqliteFile:
    """One connection to a file, for one thread at a time.

    The first use makes the file, readable by its owner only. Write-ahead log, synchronous NORMAL: a killed process
    loses no written data, a crash of the machine may lose the last moments, and neither damages the file. Deleted words
    do not remain in it.
    """

    def __init__(self, path: Path, tables: Tables) -> None:
        self._path = path
        self._tables = tables
        self._connection: sqlite3.Connection | None = None
        self._file: os.stat_result | None = None
        self._has_failed = False
        self._lock = threading.Lock()

    def use(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """Return the result of `act`. Raises StoreError and rolls back an open transaction.

        The error is `lost`, once, if the file was deleted or replaced since the connection was made: SQLite would
        continue to write into the unlinked file.
        """
        with self._lock, _sqlite_errors(self._path):
            connection = self._connection
            if connection is not None and not (self._file and _is_file_at(self._path, self._file)):
                self._drop()
                raise self._replaced()
            if connection is None or self._has_failed:
                # The old one closes only now: while it was open, no new file could have its inode.
                self._connection, self._file = self._connect()
                self._has_failed = False
                if connection is not None:
                    connection.close()
                connection = self._connection
            try:
                return act(connection)
            except BaseException:
                self._has_failed = True
                with suppress(sqlite3.Error):
                    connection.rollback()
                raise

    def read(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """Return the result of `act` on a consistent snapshot."""
        on_snapshot = partial(_transacted, "BEGIN", act)
        try:
            return self.use(on_snapshot)
        except StoreError as error:
            if not error.lost:
                raise
            return self.use(on_snapshot)  # in the new file

    def write(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """Return the result of `act` within one transaction that writes."""
        return self.use(partial(_transacted, "BEGIN IMMEDIATE", act))

    def scrub(self) -> None:
        """Write the file anew, without what is deleted. Raises StoreError while another process hinders it.

        Rows that grew may have left parts of themselves in their old pages, which `secure_delete` does not clear.
        """

        def act(connection: sqlite3.Connection) -> None:
            connection.execute("VACUUM")
            is_busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if is_busy:
                raise StoreError(f"another process reads {self._path}", code="store_busy")

        self.use(act)

    def close(self) -> None:
        """Close the connection; the next use makes another one."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connect(self) -> tuple[sqlite3.Connection, os.stat_result]:
        """Return a connection and its file. Raises StoreError (lost) if the file is replaced meanwhile."""
        path = self._path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            pass
        file = os.stat(path)
        connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA cache_size = -512")  # in kB; the default of 2 MB keeps pages not read again
            connection.execute("PRAGMA secure_delete = ON")  # deleted words must not remain in the file
            self._check(connection)
            # SQLite opened the file in between: an equal file before and after is the one it opened.
            if not _is_file_at(path, file):
                raise self._replaced()
        except BaseException:
            connection.close()
            raise
        return connection, file

    def _check(self, connection: sqlite3.Connection) -> None:
        """Make or upgrade the tables. Raises StoreError for a file of another kind or version."""
        content, version, scripts, kind = self._tables
        connection.execute("BEGIN")  # another process may just make them
        found, found_kind = (_pragma(connection, name) for name in ("user_version", "application_id"))
        is_empty = not connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        connection.execute("COMMIT")
        if not is_empty and (found == 0 or found_kind != kind):
            raise StoreError(
                f"{self._path} is a database of something else, not of {content}", code="store_version", retryable=False
            )
        if found in scripts:
            make(connection, self._tables, found)
        elif found != version:
            raise StoreError(
                f"{self._path} was written by another version of this package (tables {found}, not {version})",
                code="store_version",
                retryable=False,
            )

    def _replaced(self) -> StoreError:
        return StoreError(f"the file of the {self._tables.content} was deleted or replaced", lost=True)


def make(connection: sqlite3.Connection, tables: Tables, version: int) -> None:
    """Upgrade the tables from `version`, unless another process has just done so."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    if _pragma(connection, "user_version") == version:
        for statement in tables.scripts[version]:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {tables.kind}")
        connection.execute(f"PRAGMA user_version = {tables.version}")
    connection.execute("COMMIT")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _transacted(begin: str, act: Callable[[sqlite3.Connection], T], connection: sqlite3.Connection) -> T:
    """Return what `act` returns within one transaction; a failed one is rolled back where the connection is used."""
    connection.execute(begin)
    done = act(connection)
    connection.execute("COMMIT")
    return done


def _is_file_at(path: Path, file: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), file)
    except FileNotFoundError:
        return False


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
    """Translate errors inside to StoreError."""
    try:
        yield
    except OSError as error:
        raise error_of(error) from error
    except msgspec.DecodeError as error:
        raise StoreError(f"a row cannot be read: {error} ({path})", code="store_corrupt", retryable=False) from error
    except sqlite3.Error as error:
        code = _CODES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "store_failed")
        raise StoreError(f"{error} ({path})", code=code, retryable=code != "store_corrupt") from error
