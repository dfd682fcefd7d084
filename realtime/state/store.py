"""The interface of all call stores; the JSON form of log entries.

The methods of a store block: call them in a thread, never on the event loop; several threads may call at once.
`realtime.testing.stores` has the check that every store must pass.
"""

from __future__ import annotations

import errno
import heapq
import json
import logging
import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import msgspec

from realtime.errors import StoreError
from realtime.event.server import ServerEvent
from realtime.state.log import AudioRun, Entry, last_seq_of

logger = logging.getLogger(__name__)

_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


PageCursor = tuple[str, str]
"""`created_at` and `call_id` of a call: the order of lists of calls, or its reverse."""


class CallInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a call beside its log. Times are ISO 8601 in UTC with milliseconds.

    Raises ValueError unless `call_id` is 1 to 128 letters, digits, `_` and `-`: it names files.
    """

    call_id: str
    owner: str = ""
    """The id of the user who may read the call; empty if calls have no owners."""
    session_id: str = ""
    """The client's label of the call."""
    agent_name: str = ""
    created_at: str = ""
    ended_at: str | None = None
    """When the call ended; None while it lives."""
    ended_reason: str | None = None
    last_seq: int = 0
    """The last stored `seq`. The store sets it and ignores the written value."""
    token_hash: str | None = None
    """The hash of the resume token; None if the call cannot be resumed."""
    token_expires_at: str | None = None
    gaps: tuple[tuple[int, int], ...] = ()
    """Lost stretches of the log, from `seq` to `seq`: the store failed for longer than memory could bridge."""
    config: dict[str, Any] = msgspec.field(default_factory=dict)
    """The settings of the call, JSON-safe."""
    event_ids: tuple[str, ...] = ()
    """The `event_id` of the latest accepted client events; repeated after a kill of the server, they count once."""
    first_words: str | None = None
    """The first words of its user; None where they were not noted. So are `turns` and `errors` (`state/gist.py`)."""
    turns: int | None = None
    errors: int | None = None
    rules_note: str | None = None
    """The note that keeps what its user accepts for later calls (`realtime.server.kept_rules`)."""
    unreadable: bool = False
    """Whether the rest of this description, or the log, is unreadable. The store sets it, like `last_seq`."""

    def __post_init__(self) -> None:
        if not is_call_id(self.call_id):
            raise ValueError(f"not a call id: {self.call_id[:140]!r}")

    @property
    def cursor(self) -> PageCursor:
        """The place of the call in lists of calls."""
        return self.created_at, self.call_id

    def has_gap_after(self, seq: int) -> bool:
        """Whether an event later than `seq` is lost."""
        return any(end > seq for _, end in self.gaps)


def is_call_id(text: str) -> bool:
    """Whether the text is a valid id of a call."""
    return _CALL_ID.fullmatch(text) is not None


@dataclass(slots=True)
class Change:
    """New data of one call: `info`, if given, replaces the stored one; `entries` are in order.

    An entry whose `seq` is already stored is a run of audio that grew: the longer one stays. Entries without `info` of
    a call that the store does not have are dropped: a deleted call does not come back.
    """

    call_id: str
    info: CallInfo | None = None
    entries: Sequence[Entry] = ()
    _lines: bytes | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def lines(self) -> bytes:
        """The entries, one line of JSON each, encoded once.

        An entry that JSON cannot represent is left out and logged: else the call could not be stored at all.
        """
        if self._lines is None:
            self._lines = _encode_lines(self.call_id, self.entries)
        return self._lines

    @property
    def n_bytes(self) -> int:
        """Size of the lines if a store has used them, else 0."""
        return len(self._lines or b"")


class Store(Protocol):
    """Keeps calls. Every method may raise StoreError; every method blocks."""

    def write(self, batch: Sequence[Change]) -> None:
        """Store the batch in order; afterwards a kill of the process loses nothing of it.

        Raises StoreError on failure: `call_ids` names the failed calls, None means that nothing was stored. Writing the
        same batch again is harmless.
        """
        ...

    def calls(
        self,
        owner: str | None = None,
        *,
        after: PageCursor | None = None,
        limit: int | None = None,
        oldest_first: bool = False,
    ) -> list[CallInfo]:
        """List the calls of this owner, or all, newest or oldest first.

        Returns at most `limit` calls that come `after` a place in that order. An unreadable call is marked
        `unreadable`; without a known owner it has an empty one and is only in the list of all owners.
        """
        ...

    def n_bytes(self, call_id: str | None = None) -> int:
        """Return the bytes of all calls, or about those of one; 0 in memory."""
        ...

    def call(self, call_id: str) -> CallInfo | None:
        """Return the description of a call; None for an unknown call."""
        ...

    def claim(self, call_id: str) -> bool:
        """Take an ended or lost call, to write it from now on; returns False while another process has it.

        A call that is written without an end is that of the process that writes it, until its end is written, the
        process has closed the store or is dead, or `release`.
        """
        ...

    def release(self, call_id: str) -> None:
        """Give a call free that was claimed and did not go on."""
        ...

    def read(self, call_id: str, after_seq: int = 0, limit: int | None = None) -> list[Entry]:
        """Read the entries that end later than `after_seq`, in order; none for an unknown call.

        A run of audio that began earlier is returned whole. Read a long log in pages (`limit`) of some thousand
        entries, so that other calls are served in between: an hour of talk has 40,000.
        """
        ...

    def delete(self, call_id: str) -> bool:
        """Delete the call and its log; returns False for an unknown call."""
        ...

    def put_note(self, key: str, kept_at: str, note: bytes | None) -> None:
        """Keep what later calls of a session need of earlier ones; None forgets it.

        `key` is a hash in hexadecimal digits, `kept_at` the time of this note (ISO 8601). Raises StoreError.
        """
        ...

    def note(self, key: str) -> bytes | None:
        """Return the note of a session; None for an unknown one."""
        ...

    def note_keys(self, beginning: str) -> list[str]:
        """Return the keys of notes that begin so."""
        ...

    def drop_notes(self, before: str) -> int:
        """Forget the notes that were kept before this time; return how many those were."""
        ...

    def scrub(self) -> None:
        """Clear what deleted calls and notes have left in files.

        It takes the longer, the more is kept; writers wait meanwhile. Raises StoreError where something may remain.
        """
        ...

    def close(self) -> None:
        """Release files and connections. Idempotent; no other call may follow."""
        ...


_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Entry] = msgspec.json.Decoder(ServerEvent | AudioRun)


def encode_entry(entry: Entry) -> bytes:
    """Encode the entry as one line of JSON, without the newline.

    Half a surrogate pair, which UTF-8 cannot represent, becomes `?`. Raises StoreError for values outside JSON.
    """
    try:
        return _as_json(entry)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"seq {entry.seq} cannot be written as JSON: {error}", code="not_json") from error


def encode_info(info: CallInfo) -> bytes:
    """Encode the description of a call as JSON; half a surrogate pair becomes `?`."""
    return _as_json(info)


def _as_json(one: Entry | CallInfo) -> bytes:
    try:
        return _encoder.encode(one)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(msgspec.to_builtins(one), ensure_ascii=False).encode("utf-8", "replace")


def decode_entry(line: bytes | str) -> Entry:
    """Decode a written entry. Raises StoreError for anything else."""
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError("what was stored is not an entry of a log", code="store_corrupt", retryable=False) from error


def _encode_lines(call_id: str, entries: Sequence[Entry]) -> bytes:
    try:
        return _encoder.encode_lines(entries)
    except (UnicodeEncodeError, OverflowError, TypeError, ValueError, RecursionError):
        return b"".join(_lines_one_by_one(call_id, entries))


def _lines_one_by_one(call_id: str, entries: Sequence[Entry]) -> Iterator[bytes]:
    for entry in entries:
        try:
            yield encode_entry(entry) + b"\n"
        except StoreError as error:
            logger.error("call %s: %s", call_id, error)


def merged(entries: Iterable[Entry]) -> list[Entry]:
    """Sort written entries by `seq`; of a run that was written repeatedly, the longest stays."""
    by_seq: dict[int, Entry] = {}
    for entry in entries:
        known = by_seq.get(entry.seq)
        if known is None or last_seq_of(known) <= last_seq_of(entry):
            by_seq[entry.seq] = entry
    return [by_seq[seq] for seq in sorted(by_seq)]


class _HasCursor(Protocol):
    @property
    def cursor(self) -> PageCursor: ...


OneT = TypeVar("OneT", bound=_HasCursor)


def page(infos: Iterable[OneT], after: PageCursor | None, limit: int | None, *, oldest_first: bool) -> list[OneT]:
    """Select and sort the calls of a page: see `Store.calls`."""
    if after is not None:
        infos = (one for one in infos if (one.cursor > after if oldest_first else one.cursor < after))
    if limit is None:
        return sorted(infos, key=_cursor_of, reverse=not oldest_first)
    return (heapq.nsmallest if oldest_first else heapq.nlargest)(limit, infos, key=_cursor_of)


_cursor_of = operator.attrgetter("cursor")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}


def error_of(error: OSError, *, call_ids: frozenset[str] | None = None, lost: bool = False) -> StoreError:
    """Translate an error of the system to `store_full`, `store_read_only` or `store_failed`."""
    code = "store_failed"
    if error.errno in _FULL:
        code = "store_full"
    elif error.errno in _READ_ONLY:
        code = "store_read_only"
    where = f" ({error.filename})" if error.filename else ""
    return StoreError(f"{error.strerror or error}{where}", code=code, call_ids=call_ids, lost=lost)
