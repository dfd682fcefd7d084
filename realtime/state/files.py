"""Read, replace and measure files; act on them in threads."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from realtime.state.lock import try_lock
from realtime.state.store import error_of

T = TypeVar("T")


async def in_thread(act: Callable[..., T], *args: Any) -> T:
    """Return the result of `act` in a thread.

    Cancelling waits for its end: what is written would otherwise overtake the next write.
    """
    work = asyncio.get_running_loop().run_in_executor(None, act, *args)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait({work})
        raise


def read_file(path: Path) -> bytes | None:
    """Return the content of the file; None if there is none. Raises StoreError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise error_of(error) from error


def replace_file(path: Path, data: bytes, *, sync: bool = False) -> None:
    """Replace the file atomically: it always has either the old or the new content.

    With `sync` this holds across a crash of the machine, too. Several threads and processes may replace one file.
    Raises OSError.
    """
    file, part = _own_part(path)
    try:
        os.ftruncate(file, 0)
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
        if sync:
            os.fsync(file)
        if sys.platform == "win32":
            os.close(file)  # no open file is renamed there
            file = -1
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()  # on a full disk it would be in the way
        raise
    finally:
        if file >= 0:
            os.close(file)


def _own_part(path: Path) -> tuple[int, Path]:
    """Open and lock a file for the new content.

    It is the first that no other writer has: one that a killed process left behind is used again.
    """
    for number in itertools.count():
        part = path.with_name(f".{path.name}.{number or ''}part")
        file = os.open(part, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            if try_lock(file) and os.path.samestat(os.fstat(file), os.stat(part)):
                return file, part
        except FileNotFoundError:
            pass  # renamed by its writer since it was opened
        except BaseException:
            os.close(file)
            raise
        os.close(file)
    raise AssertionError("the numbers have no end")


def folder_bytes(folder: Path) -> int:
    """Return the total size of all files below a folder; 0 without the folder. Raises OSError."""
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
