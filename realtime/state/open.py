"""Open a store by its URL."""

from __future__ import annotations

from pathlib import Path

from realtime.errors import UsageError
from realtime.state.json_files import JsonFileStore
from realtime.state.memory import MemoryStore
from realtime.state.sqlite import SqliteStore
from realtime.state.store import Store


def open_store(url: str, *, new: bool = True) -> Store:
    """Return the store for `memory:`, `file:FOLDER` or `sqlite:FILE`; `~` is the home folder.

    Touches no file: the first use creates a missing one and reports a broken one. Raises UsageError for any other URL
    and, with `new=False`, for a missing file or folder.
    """
    scheme, colon, path = url.partition(":")
    if url == "memory:":
        return MemoryStore()
    if colon and path and scheme in ("file", "sqlite"):
        place = Path(path).expanduser()
        if not new and not place.exists():
            raise UsageError(f"there is no store {url}: name the --store that the server was given", code="no_store")
        return JsonFileStore(place) if scheme == "file" else SqliteStore(place)
    raise UsageError(f"unknown store {url!r}: use memory:, file:FOLDER or sqlite:FILE", code="unknown_store")
