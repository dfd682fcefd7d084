"""Calls in one SQLite file: the default store of a server on one machine."""

from __future__ import annotations

import logging
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from realtime.errors import StoreError
from realtime.state.holders import Holders
from realtime.state.log import Entry, last_seq_of
from realtime.state.sqlite_file import SqliteFile, Tables
from realtime.state.store import CallInfo, Change, PageCursor, decode_entry, encode_info, merged

T = TypeVar("T")

logger = logging.getLogger(__name__)

VERSION = 2
"""The version of the tables. Version 1, which had no journal, is upgraded; files with any other stay untouched."""
JOURNAL_BYTES = 1_000_000
"""The size of the journal before it is sorted: some seconds of a hundred calls, or many minutes of one."""
SEGMENT_BYTES = 250_000
"""The size of a row of `entries` before it is packed: reading a page of a long log unpacks one or two rows too many."""
PACKED_FROM_BYTES = 500

_JOURNAL = "CREATE TABLE journal (id INTEGER PRIMARY KEY, places BLOB NOT NULL, body BLOB NOT NULL)"
_BY_AGE = "CREATE INDEX calls_by_age ON calls (created_at, call_id)"
_TABLES = (
    """CREATE TABLE calls (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        call_id TEXT NOT NULL UNIQUE,
        owner TEXT NOT NULL,
        created_at TEXT NOT NULL,
        info BLOB NOT NULL,
        last_seq INTEGER NOT NULL DEFAULT 0
    )""",
    "CREATE INDEX calls_of_owner ON calls (owner, created_at, call_id)",
    _BY_AGE,
    """CREATE TABLE entries (
        call INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        last_seq INTEGER NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (call, seq)
    ) WITHOUT ROWID""",
    _JOURNAL,
)
_FROM_VERSION_1 = (
    "ALTER TABLE calls ADD COLUMN last_seq INTEGER NOT NULL DEFAULT 0",
    "UPDATE calls SET last_seq = coalesce("
    "(SELECT last_seq FROM entries WHERE call = calls.id ORDER BY seq DESC LIMIT 1), 0)",
    _BY_AGE,
    _JOURNAL,
)
_CALLS = Tables("calls", VERSION, {0: _TABLES, 1: _FROM_VERSION_1})
_PUT_CALL = """
INSERT INTO calls (call_id, owner, created_at, info) VALUES (?, ?, ?, ?)
ON CONFLICT (call_id) DO UPDATE SET owner = excluded.owner, created_at = excluded.created_at, info = excluded.info
RETURNING id
"""
_INFO = "SELECT id, info, last_seq, call_id, owner, created_at FROM calls"
_BYTES_OF_CALL = """
SELECT length(info) + (SELECT coalesce(sum(length(body)), 0) FROM entries WHERE call = calls.id)
FROM calls WHERE call_id = ?
"""
_PUT_SEGMENT = """
INSERT INTO entries (call, seq, last_seq, body) VALUES (?, ?, ?, ?)
ON CONFLICT (call, seq) DO UPDATE SET last_seq = excluded.last_seq, body = excluded.body
WHERE excluded.last_seq >= entries.last_seq
"""
_NOTES = "CREATE TABLE IF NOT EXISTS notes (key TEXT PRIMARY KEY, kept_at TEXT NOT NULL, note BLOB NOT NULL)"
"""Made when there is a first note: older versions of this package go on with the file."""
_PUT_NOTE = """
INSERT INTO notes (key, kept_at, note) VALUES (?, ?, ?)
ON CONFLICT (key) DO UPDATE SET kept_at = excluded.kept_at, note = excluded.note
"""
_SEGMENTS = "SELECT seq, body FROM entries WHERE call = ? AND last_seq > ? ORDER BY seq"


class _Place(NamedTuple):
    """The place of a call's lines in a journal row: `n_bytes` after the previous place."""

    call: int
    first_seq: int
    last_seq: int
    n_bytes: int


@dataclass(slots=True)
class _Segment:
    """A contiguous stretch of a call's log."""

    first_seq: int
    last_seq: int
    lines: bytearray

    def takes(self, place: _Place) -> bool:
        """Whether those lines continue the stretch."""
        is_near = place.first_seq <= self.last_seq + 1 and place.last_seq >= self.first_seq - 1
        return is_near and len(self.lines) < SEGMENT_BYTES


class SqliteStore:
    """Keeps calls in the SQLite database `path` (see `SqliteFile`). Other processes may read and write it, too.

    A batch is one row of the journal, however many calls it has: a row per call would change a page of the file for
    each, twenty times a second. When the journal reaches `journal_bytes`, its lines are sorted by call into `entries`,
    a packed row for each stretch of a log.
    """

    def __init__(self, path: str | os.PathLike[str], *, journal_bytes: int = JOURNAL_BYTES) -> None:
        self._path = Path(path)
        # One connection for writers and one for readers: neither waits for the other.
        self._writer = SqliteFile(self._path, _CALLS)
        self._reader = SqliteFile(self._path, _CALLS)
        self._holders = Holders(self._path)
        self._ids: dict[str, int] = {}
        self._max_journal_bytes = journal_bytes
        self._journal_bytes = 0

    def write(self, batch: Sequence[Change]) -> None:
        """See `Store.write`. The batch is one transaction."""

        def act(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            places: list[_Place] = []
            bodies: list[bytes] = []
            for change in batch:
                call = self._id_of(connection, change)
                if call is not None and (lines := change.lines):
                    first, last = change.entries[0], change.entries[-1]
                    places.append(_Place(call, first.seq, last_seq_of(last), len(lines)))
                    bodies.append(lines)
            if places:
                row = (msgspec.msgpack.encode(places), b"".join(bodies))
                connection.execute("INSERT INTO journal (places, body) VALUES (?, ?)", row)
                self._journal_bytes += len(row[1])
            connection.execute("COMMIT")

        try:
            self._writer.use(act)
        except BaseException:
            self._ids.clear()  # some may be of calls that were rolled back: other calls would get their numbers
            self._holders.forget()
            raise
        if self._journal_bytes >= self._max_journal_bytes:
            self._sort_journal()

    def _id_of(self, connection: sqlite3.Connection, change: Change) -> int | None:
        """Return the number of the call in this file; None for an unknown call."""
        info, call_id = change.info, change.call_id
        if info is not None:
            values = (call_id, info.owner, info.created_at, encode_info(info))
            self._ids[call_id] = connection.execute(_PUT_CALL, values).fetchone()[0]
            if info.ended_at is None:
                self._holders.claim(connection, call_id)
            else:
                self._holders.release(connection, call_id)
        elif call_id not in self._ids:
            row = connection.execute("SELECT id FROM calls WHERE call_id = ?", (call_id,)).fetchone()
            if row is None:
                return None
            self._ids[call_id] = row[0]
        number = self._ids[call_id]
        if info is not None and info.ended_at is not None:
            del self._ids[call_id]
        return number

    def _sort_journal(self) -> None:
        """Sort the journal; a failure loses no data and only leaves it longer."""

        def act(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            _sort(connection)
            connection.execute("COMMIT")

        self._journal_bytes = 0
        try:
            self._writer.use(act)
        except StoreError as error:
            if error.lost:
                raise
            logger.warning("the journal of the calls could not be sorted: %s", error)

    def calls(
        self,
        owner: str | None = None,
        *,
        after: PageCursor | None = None,
        limit: int | None = None,
        oldest_first: bool = False,
    ) -> list[CallInfo]:
        """See `Store.calls`."""
        direction, beyond = ("ASC", ">") if oldest_first else ("DESC", "<")
        where = ["owner = :owner"] * (owner is not None)
        where += [f"(created_at, call_id) {beyond} (:created_at, :call_id)"] * (after is not None)
        created_at, call_id = after or ("", "")
        query = (
            f"{_INFO} {'WHERE' if where else ''} {' AND '.join(where)} "
            f"ORDER BY created_at {direction}, call_id {direction} LIMIT :limit"
        )
        about = {"owner": owner, "created_at": created_at, "call_id": call_id, "limit": -1 if limit is None else limit}

        def act(connection: sqlite3.Connection) -> list[CallInfo]:
            return _described(connection, connection.execute(query, about).fetchall())

        return self._reader.read(act)

    def n_bytes(self, call_id: str | None = None) -> int:
        """See `Store.n_bytes`. Free pages of deleted calls do not count: they are reused."""

        def act(connection: sqlite3.Connection) -> int:
            if call_id is not None:
                row = connection.execute(_BYTES_OF_CALL, (call_id,)).fetchone()
                return 0 if row is None else int(row[0])
            names = ("page_count", "freelist_count", "page_size")
            pages, free, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
            return int((pages - free) * size)

        return self._reader.read(act)

    def call(self, call_id: str) -> CallInfo | None:
        """See `Store.call`."""

        def act(connection: sqlite3.Connection) -> list[CallInfo]:
            return _described(connection, connection.execute(f"{_INFO} WHERE call_id = ?", (call_id,)).fetchall())

        return next(iter(self._reader.read(act)), None)

    def read(self, call_id: str, after_seq: int = 0, limit: int | None = None) -> list[Entry]:
        """See `Store.read`."""

        def act(connection: sqlite3.Connection) -> list[Entry]:
            row = connection.execute("SELECT id FROM calls WHERE call_id = ?", (call_id,)).fetchone()
            if row is None or limit == 0:
                return []
            found: list[Entry] = []
            rows = connection.execute(_SEGMENTS, (row[0], after_seq))
            for first_seq, body in rows:
                if (
                    limit is not None
                    and len(found) >= limit
                    and len(final := merged(found)) >= limit
                    and last_seq_of(final[limit - 1]) < first_seq  # no later row begins before it
                ):
                    return final[:limit]
                found += _entries_of(body, after_seq)
            for body in _lines_in_journal(connection, row[0], after_seq):
                found += _entries_of(body, after_seq)
            return merged(found)[:limit]

        return self._reader.read(act)

    def claim(self, call_id: str) -> bool:
        """See `Store.claim`."""
        return self._in_transaction(lambda connection: self._holders.claim(connection, call_id))

    def release(self, call_id: str) -> None:
        """See `Store.release`."""
        self._in_transaction(lambda connection: self._holders.release(connection, call_id))

    def _in_transaction(self, act: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return self._writer.write(act)
        except BaseException:
            self._holders.forget()
            raise

    def delete(self, call_id: str) -> bool:
        """See `Store.delete`."""

        def act(connection: sqlite3.Connection) -> bool:
            connection.execute("BEGIN IMMEDIATE")
            self._ids.pop(call_id, None)
            row = connection.execute("SELECT id FROM calls WHERE call_id = ?", (call_id,)).fetchone()
            if row is not None:
                connection.execute("DELETE FROM calls WHERE id = ?", row)
                connection.execute("DELETE FROM entries WHERE call = ?", row)
                _sort(connection)  # which drops the lines of unknown calls
            connection.execute("COMMIT")
            # Until then the write-ahead log contains the words.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return row is not None

        return self._writer.use(act)

    def put_note(self, key: str, kept_at: str, note: bytes | None) -> None:
        """See `Store.put_note`."""

        def act(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_NOTES)
            if note is None:
                connection.execute("DELETE FROM notes WHERE key = ?", (key,))
            else:
                connection.execute(_PUT_NOTE, (key, kept_at, note))
            connection.execute("COMMIT")

        self._writer.use(act)

    def note(self, key: str) -> bytes | None:
        """See `Store.note`."""

        def act(connection: sqlite3.Connection) -> bytes | None:
            if not _has_notes(connection):
                return None
            row = connection.execute("SELECT note FROM notes WHERE key = ?", (key,)).fetchone()
            return None if row is None else bytes(row[0])

        return self._reader.read(act)

    def note_keys(self, beginning: str) -> list[str]:
        """See `Store.note_keys`."""

        def act(connection: sqlite3.Connection) -> list[str]:
            rows = connection.execute("SELECT key FROM notes") if _has_notes(connection) else ()
            return [key for (key,) in rows if key.startswith(beginning)]

        return self._reader.read(act)

    def drop_notes(self, before: str) -> int:
        """See `Store.drop_notes`."""

        def act(connection: sqlite3.Connection) -> int:
            if not _has_notes(connection):
                return 0
            return connection.execute("DELETE FROM notes WHERE kept_at < ?", (before,)).rowcount

        return self._writer.use(act)

    def scrub(self) -> None:
        """See `Store.scrub`."""
        self._reader.close()  # what it last read may keep the write-ahead log
        self._writer.scrub()

    def close(self) -> None:
        """See `Store.close`."""
        self._reader.close()
        self._writer.close()
        self._holders.close()


# -- rows --------------------------------------------------------------------------------------------------------------

_decode_places = msgspec.msgpack.Decoder(list[_Place]).decode


def _journal(connection: sqlite3.Connection) -> Iterator[tuple[_Place, bytes]]:
    """Yield all lines of the journal, in the order of writing."""
    for places, body in connection.execute("SELECT places, body FROM journal ORDER BY id"):
        at = 0
        for place in _decode_places(places):
            yield place, body[at : at + place.n_bytes]
            at += place.n_bytes


def _lines_in_journal(connection: sqlite3.Connection, call: int, after_seq: int) -> Iterator[bytes]:
    for place, lines in _journal(connection):
        if place.call == call and place.last_seq > after_seq:
            yield lines


def _sort(connection: sqlite3.Connection) -> None:
    """Move journal lines to the rows of their calls, inside a transaction."""
    segments: dict[int, list[_Segment]] = {}
    for place, lines in _journal(connection):
        of_call = segments.setdefault(place.call, [])
        if not of_call or not of_call[-1].takes(place):
            of_call.append(_Segment(place.first_seq, place.last_seq, bytearray()))
        segment = of_call[-1]
        segment.first_seq = min(segment.first_seq, place.first_seq)
        segment.last_seq = max(segment.last_seq, place.last_seq)
        segment.lines += lines
    for call, of_call in segments.items():
        last_seq = max(one.last_seq for one in of_call)
        known = connection.execute("UPDATE calls SET last_seq = max(last_seq, ?) WHERE id = ?", (last_seq, call))
        if known.rowcount:
            rows = [(call, one.first_seq, one.last_seq, _pack(bytes(one.lines))) for one in of_call]
            connection.executemany(_PUT_SEGMENT, rows)
    connection.execute("DELETE FROM journal")


def _pack(lines: bytes) -> bytes:
    """Make a body: lines of JSON, which begin with a brace, or their zlib form, which does not."""
    return lines if len(lines) < PACKED_FROM_BYTES else zlib.compress(lines, 1)


def _entries_of(body: bytes, after_seq: int) -> list[Entry]:
    """Return the entries of a body that end later than `after_seq`."""
    try:
        lines = body if body.startswith(b"{") else zlib.decompress(body)
    except zlib.error as error:
        raise StoreError("a part of a log is damaged", code="store_corrupt", retryable=False) from error
    entries = (decode_entry(line) for line in lines.splitlines())
    return [entry for entry in entries if last_seq_of(entry) > after_seq]


def _has_notes(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'notes'").fetchone() is not None


_Row = tuple[int, bytes, int, str, str, str]


def _described(connection: sqlite3.Connection, rows: Sequence[_Row]) -> list[CallInfo]:
    """Return the descriptions of calls."""
    last_seqs = {row[0]: row[2] for row in rows}
    if rows:
        for (places,) in connection.execute("SELECT places FROM journal"):
            for place in _decode_places(places):
                if place.last_seq > last_seqs.get(place.call, place.last_seq):
                    last_seqs[place.call] = place.last_seq
    return [msgspec.structs.replace(_info_of(row), last_seq=last_seqs[row[0]]) for row in rows]


def _info_of(row: _Row) -> CallInfo:
    _, info, _, call_id, owner, created_at = row
    try:
        return msgspec.structs.replace(msgspec.json.decode(info, type=CallInfo), unreadable=False)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        logger.warning("the description of call %s cannot be read: %s", call_id, error)
        return CallInfo(call_id=call_id, owner=owner, created_at=created_at, unreadable=True)
