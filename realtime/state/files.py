"""Read, replace and measure files."""

from __future__ import annotations

import os
from pathlib import Path

from realtime.state.store import error_of


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

    With `sync` this holds across a crash of the machine, too. Raises OSError.
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
