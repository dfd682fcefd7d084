"""What keeps calls beyond the process: the seam of all stores, and how an entry of the log is written.

The methods of a store block: they are called in a thread, never on the event loop, and from several threads at once.
`realtime.testing.stores` holds the check that every store has to pass.
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

__all__ = [
    "CallInfo",
    "Change",
    "Place",
    "Store",
    "StoreError",
    "decode_entry",
    "encode_entry",
    "encode_info",
    "error_of",
    "is_call_id",
    "merged",
    "page",
]

logger = logging.getLogger(__name__)

_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


Place = tuple[str, str]
"""`created_at` and `call_id` of a call: lists of calls are in this order, or the reverse."""


class CallInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a call beside its log. Times are ISO 8601 in UTC with milliseconds.

    Raises ValueError where `call_id` is not 1 to 128 letters, digits, `_` and `-`: it names files.
    """

    call_id: str
    owner: str = ""
    """Who may read the call (the user id); empty where calls have no owners."""
    session_id: str = ""
    """The client's own label."""
    agent_name: str = ""
    created_at: str = ""
    ended_at: str | None = None
    """When the call ended; null while it lives."""
    ended_reason: str | None = None
    last_seq: int = 0
    """The last `seq` that is stored. The store tells it; what is written here does not count."""
    token_hash: str | None = None
    """The hash of the token with which the call can be resumed; null where it cannot."""
    token_expires_at: str | None = None
    gaps: tuple[tuple[int, int], ...] = ()
    """Stretches of the log, from `seq` to `seq`, that are lost: the store failed for longer than memory could hold."""
    config: dict[str, Any] = msgspec.field(default_factory=dict)
    """The settings of the call, JSON-safe."""
    event_ids: tuple[str, ...] = ()
    """The latest client events that were taken, by `event_id`: said again after a kill, they count once."""
    unreadable: bool = False
    """Whether the rest of what is known, or the log, cannot be read. The store tells it, as it does `last_seq`."""

    def __post_init__(self) -> None:
        if not is_call_id(self.call_id):
            raise ValueError(f"not a call id: {self.call_id[:140]!r}")

    @property
    def place(self) -> Place:
        """Where the call stands among others."""
        return self.created_at, self.call_id

    def has_gap_after(self, seq: int) -> bool:
        """Whether something later than `seq` is lost."""
        return any(end > seq for _, end in self.gaps)


def is_call_id(text: str) -> bool:
    """Whether a call can have this id; no store has any other."""
    return _CALL_ID.fullmatch(text) is not None


@dataclass(slots=True)
class Change:
    """What is new in one call: `info`, where given, replaces what is known of it; `entries` are in order.

    An entry whose `seq` is stored already is a run of audio that grew: the longer one stays. Entries of a call that the
    store does not have, and that come without `info`, are dropped: a deleted call does not come back.
    """

    call_id: str
    info: CallInfo | None = None
    entries: Sequence[Entry] = ()
    _lines: bytes | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def lines(self) -> bytes:
        """The entries, one line of JSON each, encoded once.

        One that JSON cannot hold is left out, and the log of the server says so: it would keep the whole call from
        being stored.
        """
        if self._lines is None:
            self._lines = _encode_lines(self.call_id, self.entries)
        return self._lines

    @property
    def n_bytes(self) -> int:
        """How much the lines are that a store has asked for; 0 where it keeps none."""
        return len(self._lines or b"")


class Store(Protocol):
    """Keeps calls. Every method may raise StoreError; every method blocks."""

    def write(self, batch: Sequence[Change]) -> None:
        """Keep all of it, in order. When it returns, a process that is killed loses none of it.

        Raises StoreError where that failed: `call_ids` names the calls concerned, null means that nothing was kept. To
        write the same again does no harm.
        """
        ...

    def calls(
        self,
        owner: str | None = None,
        *,
        after: Place | None = None,
        limit: int | None = None,
        oldest_first: bool = False,
    ) -> list[CallInfo]:
        """The calls of this owner, or of all, the newest first or the oldest.

        At most `limit` of those that come `after` a place in that order.
        A call that cannot be read is told as `unreadable`. Where not even its owner is known it is in the list of all
        owners alone, with an empty one.
        """
        ...

    def n_bytes(self, call_id: str | None = None) -> int:
        """How much room all calls take where they are kept, or about how much one does; 0 where that is memory."""
        ...

    def call(self, call_id: str) -> CallInfo | None:
        """What is known of a call; None where there is none."""
        ...

    def read(self, call_id: str, after_seq: int = 0, limit: int | None = None) -> list[Entry]:
        """The entries with something later than `after_seq`, in order, at most `limit`; none for an unknown call. A run
        of audio that began before is read whole. Whoever serves others meanwhile reads a long log in pages of some
        thousand entries: an hour of talk is 40,000."""
        ...

    def delete(self, call_id: str) -> bool:
        """Forget the call and its log. False where there is none."""
        ...

    def close(self) -> None:
        """Let go of files and connections. Idempotent; nothing else may be called afterwards."""
        ...


_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Entry] = msgspec.json.Decoder(ServerEvent | AudioRun)


def encode_entry(entry: Entry) -> bytes:
    """The entry as one line of JSON, without the line's end.

    Half a surrogate pair, which UTF-8 cannot hold, is written as `?`. Raises StoreError for what JSON cannot hold.
    """
    try:
        return _as_json(entry)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"seq {entry.seq} cannot be written as JSON: {error}", code="not_json") from error


def encode_info(info: CallInfo) -> bytes:
    """What is known of a call as JSON; half a surrogate pair is written as `?`."""
    return _as_json(info)


def _as_json(one: Entry | CallInfo) -> bytes:
    try:
        return _encoder.encode(one)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(msgspec.to_builtins(one), ensure_ascii=False).encode("utf-8", "replace")


def decode_entry(line: bytes | str) -> Entry:
    """The entry that was written. Raises StoreError where this is none."""
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
    """What was written, in the order of a log: of a run that was written again as it grew, the longest stays."""
    by_seq: dict[int, Entry] = {}
    for entry in entries:
        known = by_seq.get(entry.seq)
        if known is None or last_seq_of(known) <= last_seq_of(entry):
            by_seq[entry.seq] = entry
    return [by_seq[seq] for seq in sorted(by_seq)]


class _HasPlace(Protocol):
    @property
    def place(self) -> Place: ...


OneT = TypeVar("OneT", bound=_HasPlace)


def page(infos: Iterable[OneT], after: Place | None, limit: int | None, *, oldest_first: bool) -> list[OneT]:
    """Of calls in any order, those that a page holds: see `Store.calls`."""
    if after is not None:
        infos = (one for one in infos if (one.place > after if oldest_first else one.place < after))
    if limit is None:
        return sorted(infos, key=_place_of, reverse=not oldest_first)
    return (heapq.nsmallest if oldest_first else heapq.nlargest)(limit, infos, key=_place_of)


_place_of = operator.attrgetter("place")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}


def error_of(error: OSError, *, call_ids: frozenset[str] | None = None, lost: bool = False) -> StoreError:
    """What the operating system refused, as the store's error: `store_full`, `store_read_only` or `store_failed`."""
    code = "store_failed"
    if error.errno in _FULL:
        code = "store_full"
    elif error.errno in _READ_ONLY:
        code = "store_read_only"
    where = f" ({error.filename})" if error.filename else ""
    return StoreError(f"{error.strerror or error}{where}", code=code, call_ids=call_ids, lost=lost)
