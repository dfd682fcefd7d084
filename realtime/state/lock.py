"""Locks on files: they end with their process. A folder for one writing process, and its replacement."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

from realtime.errors import StoreError

if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


_TAKEN = {errno.EAGAIN, errno.EACCES, errno.EDEADLK}


def lock_file(file: int) -> None:
    """Lock an open file until it is closed. Raises OSError where another one has the lock."""
    _lock(file)


def try_lock(file: int) -> bool:
    """Lock an open file until it is closed; returns False where another one has the lock. Raises OSError."""
    try:
        _lock(file)
    except OSError as error:
        if error.errno not in _TAKEN:
            raise
        return False
    return True


def is_locked(path: Path) -> bool:
    """Whether another open file has the lock of this path; False for a missing one. Raises OSError."""
    try:
        file = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(file)
    finally:
        os.close(file)


class FolderLock:
    """A lock held by an open file; released when the process dies. Not thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / ".lock"
        self._file: int | None = None

    def hold(self) -> bool:
        """Take the lock, or check that the locked folder is still there; returns whether it was taken now.

        Makes the folder. Raises OSError, and StoreError: `store_locked` if another process holds the lock; `lost` if
        the folder was deleted or replaced since, which releases the lock.
        """
        if self._file is None:
            self._file = self._taken()
            return True
        if not self._is_ours():
            self.release()
            raise StoreError("the folder of the calls was deleted or replaced", lost=True)
        return False

    def _taken(self) -> int:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(file)
        except OSError as error:
            os.close(file)
            if error.errno not in _TAKEN:
                raise
            raise StoreError(
                "another process keeps its calls in this folder: give each server a folder of its own",
                code="store_locked",
            ) from error
        return file

    def _is_ours(self) -> bool:
        assert self._file is not None
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self._file))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Release the lock. Idempotent."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)
