"""A store in memory: it lasts as long as the process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from realtime.state.log import Entry, last_seq_of
from realtime.state.store import CallInfo, Change, PageCursor, page

DEFAULT_MAX_ENTRIES = 250_000
"""About 50 MB, or seven hours of talk."""
MAX_NOTES = 10_000


@dataclass(slots=True)
class _Call:
    """One call and its log; the entries by `seq`, in rising order."""

    info: CallInfo
    entries: dict[int, Entry] = field(default_factory=dict)
    last_seq: int = 0

    def described(self) -> CallInfo:
        """Return the description with the last `seq` held."""
        return msgspec.structs.replace(self.info, last_seq=self.last_seq)


class MemoryStore:
    """Keeps calls in memory. Past `max_entries`, it drops whole calls, the least recently written first."""

    def __init__(self, *, max_entries: int = DEFAULT_MAX_ENTRIES) -> None:
        self._max_entries = max_entries
        self._calls: dict[str, _Call] = {}
        self._n_entries = 0
        self._notes: dict[str, tuple[str, bytes]] = {}
        self._lock = threading.Lock()

    def write(self, batch: Sequence[Change]) -> None:
        """See `Store.write`. Cannot fail."""
        with self._lock:
            for change in batch:
                self._apply(change)
            while self._n_entries > self._max_entries and len(self._calls) > 1:
                self._forget(next(iter(self._calls)))

    def _apply(self, change: Change) -> None:
        call = self._calls.pop(change.call_id, None)
        if change.info is not None:
            call = call or _Call(change.info)
            call.info = change.info
        if call is None:
            return
        self._calls[change.call_id] = call  # at the end: the most recently written
        self._n_entries -= len(call.entries)
        for entry in change.entries:
            known = call.entries.get(entry.seq)
            if known is None or last_seq_of(known) <= last_seq_of(entry):
                call.entries[entry.seq] = entry
                call.last_seq = max(call.last_seq, last_seq_of(entry))
        self._n_entries += len(call.entries)

    def calls(
        self,
        owner: str | None = None,
        *,
        after: PageCursor | None = None,
        limit: int | None = None,
        oldest_first: bool = False,
    ) -> list[CallInfo]:
        """See `Store.calls`."""
        with self._lock:
            infos = [one.info for one in self._calls.values() if owner is None or one.info.owner == owner]
            found = page(infos, after, limit, oldest_first=oldest_first)
            return [self._calls[info.call_id].described() for info in found]

    def n_bytes(self, call_id: str | None = None) -> int:
        """See `Store.n_bytes`."""
        return 0

    def call(self, call_id: str) -> CallInfo | None:
        """See `Store.call`."""
        with self._lock:
            call = self._calls.get(call_id)
            return None if call is None else call.described()

    def read(self, call_id: str, after_seq: int = 0, limit: int | None = None) -> list[Entry]:
        """See `Store.read`."""
        with self._lock:
            call = self._calls.get(call_id)
            entries: list[Entry] = []
            for entry in reversed(call.entries.values()) if call is not None else ():
                if last_seq_of(entry) <= after_seq:
                    break
                entries.append(entry)
        entries.reverse()
        return entries[:limit]

    def delete(self, call_id: str) -> bool:
        """See `Store.delete`."""
        with self._lock:
            return self._forget(call_id)

    def _forget(self, call_id: str) -> bool:
        call = self._calls.pop(call_id, None)
        if call is None:
            return False
        self._n_entries -= len(call.entries)
        return True

    def claim(self, call_id: str) -> bool:
        """See `Store.claim`: no other process has this memory."""
        return True

    def release(self, call_id: str) -> None:
        """See `Store.release`."""

    def put_note(self, key: str, kept_at: str, note: bytes | None) -> None:
        """See `Store.put_note`. Past `MAX_NOTES`, the oldest are dropped."""
        with self._lock:
            self._notes.pop(key, None)
            if note is not None:
                self._notes[key] = (kept_at, note)
            while len(self._notes) > MAX_NOTES:
                del self._notes[next(iter(self._notes))]

    def note(self, key: str) -> bytes | None:
        """See `Store.note`."""
        with self._lock:
            return self._notes.get(key, ("", None))[1]

    def note_keys(self, beginning: str) -> list[str]:
        """See `Store.note_keys`."""
        with self._lock:
            return [key for key in self._notes if key.startswith(beginning)]

    def drop_notes(self, before: str) -> int:
        """See `Store.drop_notes`."""
        with self._lock:
            old = [key for key, (kept_at, _) in self._notes.items() if kept_at < before]
            for key in old:
                del self._notes[key]
            return len(old)

    def scrub(self) -> None:
        """See `Store.scrub`: there are no files."""

    def close(self) -> None:
        """See `Store.close`. The calls are freed with the store."""
