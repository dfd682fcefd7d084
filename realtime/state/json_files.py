"""Calls as JSON files that people can read: one folder per call.

A call has `call.json`, which is replaced atomically, and `events.jsonl`, which only grows: one log entry per line. A
crash can cut the last line, which readers ignore and the next write removes.
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from realtime.errors import StoreError
from realtime.runtime import iso
from realtime.state.files import folder_bytes, read_file, replace_file
from realtime.state.lock import FolderLock
from realtime.state.log import Entry
from realtime.state.store import (
    CallInfo,
    Change,
    PageCursor,
    decode_entry,
    encode_info,
    error_of,
    is_call_id,
    merged,
    page,
)

T = TypeVar("T")

logger = logging.getLogger(__name__)

OPEN_FILES = 256
"""Log files that stay open between writes; each further call is opened at each write."""
_TAIL_BYTES = 16_384
"""Bytes at a file's end to read first for its last line."""
_NOTES = ".notes"
"""The folder of the sessions' notes; no call can have this name."""
_DELETED = ".deleted-"
"""The prefix of a folder that is being deleted."""


class JsonFileStore:
    """Keeps calls under `folder`, which the first write makes.

    One process at a time may write: a second one is refused (`store_locked`) until the first has closed the store or
    died. Any number may read. A batch is not atomic: the StoreError names the calls whose files failed, the others are
    stored.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._logs: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()
        self._process = FolderLock(self._folder)
        self._index: dict[str, _Constant] = {}
        """Index of calls: lists need not read the files of all of them."""

    def write(self, batch: Sequence[Change]) -> None:
        """See `Store.write`."""
        failed: dict[str, OSError] = {}
        with self._lock:
            self._hold()
            for change in batch:
                try:
                    self._apply(change)
                except OSError as error:
                    failed[change.call_id] = error
        if failed:
            cause = next(iter(failed.values()))
            raise error_of(
                cause,
                call_ids=frozenset(failed),
                lost=any(isinstance(one, FileNotFoundError) for one in failed.values()),
            ) from cause

    def _hold(self) -> None:
        """Take the writer's lock. Raises StoreError if another process has it or the folder was replaced."""
        try:
            if self._process.hold():
                self._end_deletions()
        except OSError as error:
            raise error_of(error) from error
        except StoreError:
            self._close_logs()
            raise

    def _end_deletions(self) -> None:
        """Complete the deletions that an earlier process had begun when it died."""
        for name in os.listdir(self._folder):
            if name.startswith(_DELETED):
                try:
                    _remove(self._folder / name)
                except OSError as error:
                    logger.error("the rest of deleted call %s cannot be deleted: %s", name, error)

    def _apply(self, change: Change) -> None:
        folder = self._folder / change.call_id
        if change.info is not None:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(folder / "call.json", encode_info(change.info))
            self._index[change.call_id] = _Constant(change.call_id, change.info.owner, change.info.created_at)
        elif change.call_id not in self._logs and not (folder / "call.json").exists():
            return
        if change.lines:
            self._append(change.call_id, folder / "events.jsonl", change.lines)

    def _append(self, call_id: str, path: Path, lines: bytes) -> None:
        file = self._logs.pop(call_id, None)
        if file is None:
            file = _open_log(path)
        try:
            if not os.fstat(file).st_nlink:
                raise FileNotFoundError(errno.ENOENT, "the log of a call was deleted", str(path))
            view = memoryview(lines)
            while view:
                view = view[os.write(file, view) :]
        except OSError:
            # The next opening cuts it behind its last whole line.
            os.close(file)
            raise
        self._logs[call_id] = file
        if len(self._logs) > OPEN_FILES:
            os.close(self._logs.popitem(last=False)[1])

    def calls(
        self,
        owner: str | None = None,
        *,
        after: PageCursor | None = None,
        limit: int | None = None,
        oldest_first: bool = False,
    ) -> list[CallInfo]:
        """See `Store.calls`."""
        known = [one for one in self._constants() if owner is None or one.owner == owner]
        described = (self._described(one.call_id, one) for one in page(known, after, limit, oldest_first=oldest_first))
        return [info for info in described if info is not None]

    def _constants(self) -> list[_Constant]:
        index: dict[str, _Constant] = {}
        damaged: list[_Constant] = []
        for call_id in self._call_ids():
            known = self._index.get(call_id)
            if known is not None:
                index[call_id] = known
                continue
            path = self._folder / call_id / "call.json"
            try:
                known = _decoded(read_file(path), _constant_of)
                if known is not None:
                    index[call_id] = known
            except StoreError as error:
                logger.warning("call %s cannot be listed: %s", call_id, error)
                damaged.append(_Constant(call_id, None, _written_at(path)))
        self._index = index
        return [*index.values(), *damaged]

    def n_bytes(self, call_id: str | None = None) -> int:
        """See `Store.n_bytes`."""
        try:
            return folder_bytes(self._folder if call_id is None else self._folder / call_id)
        except OSError as error:
            raise error_of(error) from error

    def _call_ids(self) -> list[str]:
        try:
            return [name for name in os.listdir(self._folder) if is_call_id(name)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise error_of(error) from error

    def call(self, call_id: str) -> CallInfo | None:
        """See `Store.call`."""
        return self._described(call_id, self._index.get(call_id)) if is_call_id(call_id) else None

    def _described(self, call_id: str, known: _Constant | None) -> CallInfo | None:
        """Return the description of a call. Raises StoreError if it is unreadable and `known` is None."""
        folder = self._folder / call_id
        try:
            info = _decoded(read_file(folder / "call.json"), _info_of)
            return None if info is None else msgspec.structs.replace(info, last_seq=_last_seq(folder / "events.jsonl"))
        except StoreError as error:
            if known is None:
                raise
            if known.owner is not None:
                logger.warning("call %s cannot be read: %s", call_id, error)
            return CallInfo(call_id=call_id, owner=known.owner or "", created_at=known.created_at, unreadable=True)

    def read(self, call_id: str, after_seq: int = 0, limit: int | None = None) -> list[Entry]:
        """See `Store.read`. Damaged lines are left out."""
        if not is_call_id(call_id):
            return []
        data = read_file(self._folder / call_id / "events.jsonl") or b""
        entries: list[Entry] = []
        damaged = 0
        for line in data.split(b"\n")[:-1]:  # text behind the last newline is a cut line
            try:
                if _end_of(line) > after_seq:
                    entries.append(decode_entry(line))
            except StoreError:
                damaged += 1
        if damaged:
            logger.warning("call %s: %d damaged lines of its log were left out", call_id, damaged)
        return merged(entries)[:limit]

    def delete(self, call_id: str) -> bool:
        """See `Store.delete`."""
        if not is_call_id(call_id):
            return False
        # Renamed first, so that a crash leaves no half of a call: the next process deletes the rest.
        folder, gone = self._folder / call_id, self._folder / f"{_DELETED}{call_id}"
        with self._lock:
            self._hold()
            self._index.pop(call_id, None)
            file = self._logs.pop(call_id, None)
            if file is not None:
                os.close(file)
            try:
                os.rename(folder, gone)
            except FileNotFoundError:
                return False
            except OSError as error:
                raise error_of(error) from error
            try:
                _remove(gone)
            except OSError as error:
                with suppress(OSError):
                    os.rename(gone, folder)  # it can be listed, and deleted again
                raise error_of(error) from error
        return True

    def claim(self, call_id: str) -> bool:
        """See `Store.claim`. All calls of the folder are those of its one writing process."""
        with self._lock:
            try:
                self._hold()
            except StoreError as error:
                if error.code != "store_locked":
                    raise
                return False
        return True

    def release(self, call_id: str) -> None:
        """See `Store.release`: the lock is that of the folder."""

    def put_note(self, key: str, kept_at: str, note: bytes | None) -> None:
        """See `Store.put_note`."""
        path = self._note_path(key)
        with self._lock:
            self._hold()
            try:
                if note is None:
                    for one in (path, *path.parent.glob(f".{path.name}.*part")):  # also of a writer that was killed
                        one.unlink(missing_ok=True)
                else:
                    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    replace_file(path, kept_at.encode() + b"\n" + note)
            except OSError as error:
                raise error_of(error) from error

    def note(self, key: str) -> bytes | None:
        """See `Store.note`."""
        data = read_file(self._note_path(key))
        return None if data is None else data.partition(b"\n")[2]

    def note_keys(self, beginning: str) -> list[str]:
        """See `Store.note_keys`."""
        try:
            names = os.listdir(self._folder / _NOTES)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise error_of(error) from error
        keys = (name.removesuffix(".json") for name in names if name.endswith(".json"))
        return [key for key in keys if key.startswith(beginning) and is_call_id(key)]

    def drop_notes(self, before: str) -> int:
        """See `Store.drop_notes`."""
        dropped = 0
        try:
            for path in [*(self._folder / _NOTES).glob("*.json")]:
                if (read_file(path) or b"").partition(b"\n")[0].decode("ascii", "replace") < before:
                    path.unlink(missing_ok=True)
                    dropped += 1
        except OSError as error:
            raise error_of(error) from error
        return dropped

    def _note_path(self, key: str) -> Path:
        if not is_call_id(key):
            raise ValueError(f"not the key of a note: {key[:140]!r}")
        return self._folder / _NOTES / f"{key}.json"

    def scrub(self) -> None:
        """See `Store.scrub`. Deleted files are gone; what a killed process did not delete goes now."""
        with self._lock:
            self._hold()
            try:
                self._end_deletions()
            except OSError as error:
                raise error_of(error) from error

    def close(self) -> None:
        """See `Store.close`."""
        with self._lock:
            self._close_logs()
            self._process.release()

    def _close_logs(self) -> None:
        while self._logs:
            os.close(self._logs.popitem()[1])


class _Constant(msgspec.Struct, frozen=True, gc=False):
    """The constant facts of a call; outside the garbage collector, since there are thousands."""

    call_id: str
    owner: str | None = ""
    """None if unreadable."""
    created_at: str = ""

    @property
    def cursor(self) -> PageCursor:
        """See `CallInfo.cursor`."""
        return self.created_at, self.call_id


_constant_of = msgspec.json.Decoder(_Constant).decode
_info_of = msgspec.json.Decoder(CallInfo).decode


def _decoded(data: bytes | None, decode: Callable[[bytes], T]) -> T | None:
    """Decode a `call.json`; returns None without a file. Raises StoreError."""
    try:
        return None if data is None else decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StoreError("its call.json is damaged", code="store_corrupt", retryable=False) from error


def _written_at(path: Path) -> str:
    """Return when the file was written, in the form of `created_at`; empty if unknown."""
    try:
        return iso(path.stat().st_mtime)
    except OSError:
        return ""


def _remove(folder: Path) -> None:
    """Delete the folder of a call, its description last. Raises OSError."""
    with os.scandir(folder) as found:
        others = [one for one in found if one.name != "call.json"]
    for one in others:
        if one.is_dir(follow_symlinks=False):
            shutil.rmtree(one.path)
        else:
            os.unlink(one.path)
    shutil.rmtree(folder)


class _Place(msgspec.Struct):
    """The fields of a log entry that give its place."""

    type: str
    seq: int
    last_seq: int = 0


_place_of = msgspec.json.Decoder(_Place)


def _end_of(line: bytes) -> int:
    """Return the last `seq` of a line. Raises StoreError unless it is an entry."""
    try:
        place = _place_of.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError("not an entry of a log", code="store_corrupt", retryable=False) from error
    return place.last_seq if place.type == "audio_run" else place.seq


def _is_entry(line: bytes) -> bool:
    try:
        return _end_of(line) > 0
    except StoreError:
        return False


def _open_log(path: Path) -> int:
    """Open the log for appending, cut behind its last whole line."""
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        end = size = os.fstat(file).st_size
        while end:
            start = max(0, end - _TAIL_BYTES)
            os.lseek(file, start, os.SEEK_SET)
            at = os.read(file, end - start).rfind(b"\n")
            if at >= 0:
                end = start + at + 1
                break
            end = start
        if end < size:
            os.ftruncate(file, end)
    except OSError:
        os.close(file)
        raise
    return file


def _last_seq(path: Path) -> int:
    """Return the last `seq` of a log, read from its end; 0 without one. Raises StoreError."""
    try:
        with path.open("rb") as file:
            return _last_seq_in(file)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise error_of(error) from error


def _last_seq_in(file: BinaryIO) -> int:
    size = file.seek(0, os.SEEK_END)
    n_bytes = _TAIL_BYTES
    while True:
        start = max(0, size - n_bytes)
        file.seek(start)
        lines = file.read(size - start).split(b"\n")
        found = [_end_of(line) for line in lines[1 if start else 0 : -1] if _is_entry(line)]
        if found:
            return max(found)  # the last line may be an earlier version of a run
        if start == 0:
            return 0
        n_bytes *= 8
