"""A store by its URL."""

from __future__ import annotations

from pathlib import Path

from realtime.errors import UsageError
from realtime.state.json_files import JsonFileStore
from realtime.state.memory import MemoryStore
from realtime.state.sqlite import SqliteStore
from realtime.state.store import Store


def open_store(url: str) -> Store:
    """The store that `memory:`, `file:FOLDER` or `sqlite:FILE` names; `~` is the home folder.

    Touches no file: what is wrong with one shows at its first use. Raises UsageError for anything else.
    """
    scheme, colon, path = url.partition(":")
    if url == "memory:":
        return MemoryStore()
    if colon and path and scheme == "file":
        return JsonFileStore(Path(path).expanduser())
    if colon and path and scheme == "sqlite":
        return SqliteStore(Path(path).expanduser())
    raise UsageError(f"unknown store {url!r}: use memory:, file:FOLDER or sqlite:FILE", code="unknown_store")
