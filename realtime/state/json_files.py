"""Calls and sessions as JSON files that people can read: a folder per call, a file per session.

A call is `call.json`, which is only ever replaced whole, and `events.jsonl`, which only grows: one entry of the log a
line. A line that was cut by a crash is the last one; it does not count and the next write removes it.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import shutil
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar

import msgspec

from realtime.errors import ClientError
from realtime.runtime import iso
from realtime.state.lock import FolderLock
from realtime.state.log import Entry
from realtime.state.store import (
    CallInfo,
    Change,
    Place,
    StoreError,
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
"""Logs that stay open between two writes; a call beyond that costs an opening at each write."""
_TAIL_BYTES = 16_384
"""What is read first of a file's end to find its last line."""
_DELETED = ".deleted-"
"""How the name of a folder begins that is being deleted."""
MAX_NAME_BYTES = 200
"""The longest name of a session or a user: file systems take 255 bytes, and the ending needs some."""


# -- calls -------------------------------------------------------------------------------------------------------------


class JsonFileStore:
    """Keeps calls under `folder`, which is made at the first write. One process at a time may write it: a second one is
    refused (`store_locked`) until the first has closed the store, or died. Any number may read.

    A batch is not written as a whole: a call whose files fail is named by the StoreError, the others are kept.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._logs: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()
        self._process = FolderLock(self._folder)
        self._index: dict[str, _Lasting] = {}
        """So that a page of a list reads the files of a page and not of all."""

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
        """Be the process that writes here. Raises StoreError where another one is, or the folder is not the same."""
        try:
            if self._process.hold():
                self._end_deletions()
        except OSError as error:
            raise error_of(error) from error
        except StoreError:
            self._close_logs()
            raise

    def _end_deletions(self) -> None:
        """Delete what an earlier process was deleting when it died."""
        for name in os.listdir(self._folder):
            if name.startswith(_DELETED):
                try:
                    _remove(self._folder / name)
                except OSError as error:
                    logger.error("what remains of deleted call %s cannot be deleted: %s", name, error)

    def _apply(self, change: Change) -> None:
        folder = self._folder / change.call_id
        if change.info is not None:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(folder / "call.json", encode_info(change.info))
            self._index[change.call_id] = _Lasting(change.call_id, change.info.owner, change.info.created_at)
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
            # Opened again, it is cut behind its last whole line.
            os.close(file)
            raise
        self._logs[call_id] = file
        if len(self._logs) > OPEN_FILES:
            os.close(self._logs.popitem(last=False)[1])

    def calls(
        self,
        owner: str | None = None,
        *,
        after: Place | None = None,
        limit: int | None = None,
        oldest_first: bool = False,
    ) -> list[CallInfo]:
        """See `Store.calls`."""
        known = [one for one in self._lasting_of_all() if owner is None or one.owner == owner]
        told = (self._told(one.call_id, one) for one in page(known, after, limit, oldest_first=oldest_first))
        return [info for info in told if info is not None]

    def _lasting_of_all(self) -> list[_Lasting]:
        index: dict[str, _Lasting] = {}
        damaged: list[_Lasting] = []
        for call_id in self._call_ids():
            known = self._index.get(call_id)
            if known is not None:
                index[call_id] = known
                continue
            path = self._folder / call_id / "call.json"
            try:
                known = _decoded(_read_file(path), _lasting_of)
                if known is not None:
                    index[call_id] = known
            except StoreError as error:
                logger.warning("call %s cannot be listed: %s", call_id, error)
                damaged.append(_Lasting(call_id, None, _written_at(path)))
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
        return self._told(call_id, self._index.get(call_id)) if is_call_id(call_id) else None

    def _told(self, call_id: str, known: _Lasting | None) -> CallInfo | None:
        """What is known of a call. Raises StoreError where it cannot be read and not even `known` is."""
        folder = self._folder / call_id
        try:
            info = _decoded(_read_file(folder / "call.json"), _info_of)
            return None if info is None else msgspec.structs.replace(info, last_seq=_last_seq(folder / "events.jsonl"))
        except StoreError as error:
            if known is None:
                raise
            if known.owner is not None:
                logger.warning("call %s cannot be read: %s", call_id, error)
            return CallInfo(call_id=call_id, owner=known.owner or "", created_at=known.created_at, unreadable=True)

    def read(self, call_id: str, after_seq: int = 0, limit: int | None = None) -> list[Entry]:
        """See `Store.read`. A line that is damaged is left out."""
        if not is_call_id(call_id):
            return []
        data = _read_file(self._folder / call_id / "events.jsonl") or b""
        entries: list[Entry] = []
        damaged = 0
        for line in data.split(b"\n")[:-1]:  # what stands behind the last line's end was cut
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
        # By a name that no call has, so that a crash leaves no half of one: the next process deletes the rest.
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
                    os.rename(gone, folder)  # it can be found, and deleted again
                raise error_of(error) from error
        return True

    def close(self) -> None:
        """See `Store.close`."""
        with self._lock:
            self._close_logs()
            self._process.release()

    def _close_logs(self) -> None:
        while self._logs:
            os.close(self._logs.popitem()[1])


class _Lasting(msgspec.Struct, frozen=True, gc=False):
    """What never changes of a call. Thousands of these are nothing that the garbage collector has to go through."""

    call_id: str
    owner: str | None = ""
    """None where that cannot be read."""
    created_at: str = ""

    @property
    def place(self) -> Place:
        """See `CallInfo.place`."""
        return self.created_at, self.call_id


_lasting_of = msgspec.json.Decoder(_Lasting).decode
_info_of = msgspec.json.Decoder(CallInfo).decode


def _decoded(data: bytes | None, decode: Callable[[bytes], T]) -> T | None:
    """What stands in a `call.json`; None where there is no file. Raises StoreError."""
    try:
        return None if data is None else decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StoreError("its call.json is damaged", code="store_corrupt", retryable=False) from error


def _written_at(path: Path) -> str:
    """When the file was written, as a time of a call; empty where that is not known."""
    try:
        return iso(path.stat().st_mtime)
    except OSError:
        return ""


def _remove(folder: Path) -> None:
    """Delete the folder of a call, what is known of it at last. Raises OSError."""
    with os.scandir(folder) as found:
        others = [one for one in found if one.name != "call.json"]
    for one in others:
        if one.is_dir(follow_symlinks=False):
            shutil.rmtree(one.path)
        else:
            os.unlink(one.path)
    shutil.rmtree(folder)


def folder_bytes(folder: Path) -> int:
    """The sizes of all files below a folder; 0 where there is none. Raises OSError."""
    total = 0
    try:
        with os.scandir(folder) as found:
            for one in found:
                if one.is_dir(follow_symlinks=False):
                    total += folder_bytes(Path(one.path))
                else:
                    total += one.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        pass  # deleted meanwhile
    return total


class _Place(msgspec.Struct):
    """Where an entry stands, without the rest of it."""

    type: str
    seq: int
    last_seq: int = 0


_place_of = msgspec.json.Decoder(_Place)


def _end_of(line: bytes) -> int:
    """The last `seq` of a line. Raises StoreError where it is not an entry."""
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
    """The log, open for appending, without what a crash left behind its last whole line."""
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
    """The last `seq` in a log, read from its end; 0 where there is none. Raises StoreError."""
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
            return max(found)  # the last line may be a shorter form of an earlier one
        if start == 0:
            return 0
        n_bytes *= 8


def _read_file(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise error_of(error) from error


def replace_file(path: Path, data: bytes, *, sync: bool = False) -> None:
    """Write the file so that it is always either the old or the new one, whole.

    With `sync` that holds when the machine itself goes down, too. Raises OSError.
    """
    part = path.with_name(f".{path.name}.part")
    file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
        if sync:
            os.fsync(file)
    finally:
        os.close(file)
    os.replace(part, path)


# -- sessions ----------------------------------------------------------------------------------------------------------


class HasState(Protocol):
    """What a session keeps: anything that can tell its state as JSON-safe builtins, and take it back."""

    def state_dict(self) -> dict[str, Any]:
        """The state."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> Any:
        """Take the state back."""
        ...


class SessionBase(ABC):
    """Where the state of modules is kept between two runs. Another place is a subclass with these two methods."""

    @abstractmethod
    async def save_session_state(self, session_id: str, user_id: str = "", **modules: HasState) -> None:
        """Keep the state of all `modules`, each under its keyword."""

    @abstractmethod
    async def load_session_state(
        self,
        session_id: str,
        user_id: str = "",
        allow_not_exist: bool = True,
        strict: bool = False,
        **modules: HasState,
    ) -> None:
        """Give each of `modules` the state that was kept under the same keyword.

        A session that does not exist changes nothing, or raises StoreError where `allow_not_exist` is false. A keyword
        that was not saved leaves its module as it is, or raises StoreError before any module has changed if `strict`.
        """


class JSONSession(SessionBase):
    """Keeps a session as one JSON file, `save_dir/SESSION_ID.json`; those of a user in `save_dir/users/USER_ID/`.

    Ids may come from a URL. One that is empty, begins or ends with a dot, is longer than 200 bytes or holds a control
    character or any of `/ \\ : * ? " < > |` raises ClientError and touches no file. What the disk refuses raises
    StoreError; the file is then the old one, as it is when the process dies while it saves.
    """

    def __init__(self, save_dir: str | os.PathLike[str] = "./sessions") -> None:
        self.save_dir = Path(save_dir)

    async def save_session_state(self, session_id: str, user_id: str = "", **modules: HasState) -> None:
        """See `SessionBase`. Raises TypeError for a state that JSON cannot hold. Cancelling it does not stop a writing
        that has begun."""
        path = self.path_of(session_id, user_id)
        # Encoded here, before anybody can change it.
        text = json.dumps({name: module.state_dict() for name, module in modules.items()}, ensure_ascii=False)
        data = text.encode("utf-8", "surrogatepass")
        await asyncio.get_running_loop().run_in_executor(None, _save, path, data)

    async def load_session_state(
        self,
        session_id: str,
        user_id: str = "",
        allow_not_exist: bool = True,
        strict: bool = False,
        **modules: HasState,
    ) -> None:
        """See `SessionBase`."""
        path = self.path_of(session_id, user_id)
        data = await asyncio.get_running_loop().run_in_executor(None, _read_file, path)
        if data is None:
            if not allow_not_exist:
                raise StoreError(f"there is no session {session_id!r}", code="unknown_session", retryable=False)
            return
        states = _states(data, session_id)
        missing = sorted(modules.keys() - states.keys())
        if strict and missing:
            raise StoreError(
                f"session {session_id!r} has no state of {', '.join(missing)}", code="unknown_module", retryable=False
            )
        for name, module in modules.items():
            if name in states:
                module.load_state_dict(states[name])

    def path_of(self, session_id: str, user_id: str = "") -> Path:
        """The file of a session. Raises ClientError for an id that cannot be a file's name."""
        folder = self.save_dir / "users" / _file_name(user_id, "user id") if user_id else self.save_dir
        return folder / f"{_file_name(session_id, 'session id')}.json"


def _save(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, data, sync=True)
    except OSError as error:
        raise error_of(error) from error


def _states(data: bytes, session_id: str) -> dict[str, Any]:
    try:
        states = json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise StoreError(
            f"the file of session {session_id!r} is damaged", code="store_corrupt", retryable=False
        ) from error
    if not isinstance(states, dict):
        raise StoreError(f"the file of session {session_id!r} is damaged", code="store_corrupt", retryable=False)
    return states


_NOT_IN_NAMES = frozenset('/\\:*?"<>|')


def _file_name(text: str, what: str) -> str:
    if (
        not text
        or text != text.strip(". ")
        or not text.isprintable()
        or not _NOT_IN_NAMES.isdisjoint(text)
        or len(text.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES
    ):
        raise ClientError(f"this cannot be a {what}: {text[:64]!r}", code="invalid_id")
    return text
