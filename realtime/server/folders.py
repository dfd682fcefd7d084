"""Folders for this user's cache and data."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """The folder for data that can be recreated."""
    return _folder("XDG_CACHE_HOME", ".cache", "Caches")


def data_folder() -> Path:
    """The folder for data that cannot be recreated: calls."""
    return _folder("XDG_DATA_HOME", ".local/share", "Application Support")


def _folder(variable: str, unix: str, mac: str) -> Path:
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / mac
    else:
        base = Path(os.environ.get(variable) or Path.home() / unix)
    return base / "realtime"
