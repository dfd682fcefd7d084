"""A store by its URL."""

from __future__ import annotations

from pathlib import Path

from realtime.errors import UsageError
from realtime.state.json_files import JsonFileStore
from realtime.state.memory import MemoryStore
from realtime.state.sqlite import SqliteStore
from realtime.state.store import Store


def open_store(url: str, *, new: bool = True) -> Store:
    """The store that `memory:`, `file:FOLDER` or `sqlite:FILE` names; `~` is the home folder.

    Touches no file: what is wrong with one shows at its first use, which makes one that is not there yet. With
    `new=False` that is a UsageError at once, as is anything else that is no store.
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
