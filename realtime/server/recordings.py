"""Recordings of a server's calls: one folder per call."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from realtime.call.session import Session
from realtime.errors import RealtimeError
from realtime.runtime import iso
from realtime.state.files import folder_bytes
from realtime.state.store import is_call_id

if TYPE_CHECKING:
    from realtime.call.recording import Recorder
    from realtime.call.recording.sound import Sound

T = TypeVar("T")

CERTAIN_S = 86_400.0
"""After so long, what was not completed never will be."""

logger = logging.getLogger(__name__)


class Recordings:
    """Makes recorders, which share one writer thread, and deletes recordings."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="recording")

    def begin(self, session: Session) -> Recorder:
        """Return the recorder of a call that begins or resumes."""
        # The first recorded call imports the FLAC writer.
        from realtime.call.recording import Recorder

        runtime = session.runtime

        def tell(error: RealtimeError) -> None:
            if not session.ended.is_set():
                session.complain(error)

        return Recorder(
            self._folder / session.call_id,
            call_id=session.call_id,
            owner=session.owner,
            started_at=iso(runtime.wall_now() - session.log.now_ms() / 1000),
            now_ms=session.log.now_ms,
            heard_ms=session.audience.played_ms,
            executor=self._executor,
            on_trouble=tell,
        )

    def has(self, call_id: str) -> bool:
        """Whether there is a recording of the call."""
        return is_call_id(call_id) and (self._folder / call_id / "recording.json").is_file()

    async def sound(self, call_id: str) -> Sound | None:
        """Return the sound of an ended call; None where nothing is recorded or it cannot be read (the log says why)."""
        return await asyncio.to_thread(_sound, self._folder / call_id) if self.has(call_id) else None

    async def delete(self, call_id: str) -> bool:
        """Delete the recording of an ended call; False where part of it remains (the log says why)."""
        return not is_call_id(call_id) or await self._do(remove_recording, self._folder / call_id)

    async def drop_before(self, wall_s: float, is_live: Callable[[str], bool]) -> int:
        """Delete the recordings that were complete before a time; return how many there were.

        One that is not complete was cut off with its server, which is certain a day after its last sample.
        """

        def drop(folder: Path) -> int:
            n_dropped = 0
            for call_id in filter(is_call_id, os.listdir(folder) if folder.is_dir() else ()):
                ended_s = _ended_s(folder / call_id)
                if ended_s is not None and ended_s < wall_s and not is_live(call_id):
                    n_dropped += remove_recording(folder / call_id)
            return n_dropped

        return await self._do(drop, self._folder)

    async def n_bytes(self, call_id: str | None = None) -> int:
        """Return the bytes that all recordings take, or that of one call."""
        return await self._do(folder_bytes, self._folder if call_id is None else self._folder / call_id)

    async def _do(self, job: Callable[[Path], T], folder: Path) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, job, folder)

    def close(self) -> None:
        """Stop the writer thread; call it after all calls have ended."""
        self._executor.shutdown(wait=False)


def _ended_s(folder: Path) -> float | None:
    """Return when a recording was complete, at the latest; None for no recording."""
    try:
        about = json.loads((folder / "recording.json").read_bytes())
        latest_s = max(path.stat().st_mtime for path in folder.rglob("*"))
    except (OSError, ValueError):
        return None
    is_whole = isinstance(about, dict) and about.get("input_samples") is not None
    return latest_s if is_whole else latest_s + CERTAIN_S


def _sound(folder: Path) -> Sound | None:
    # The first one imports the FLAC reader.
    from realtime.call.recording.sound import Sound

    try:
        return Sound(folder)
    except OSError as error:
        logger.error("the recording of call %s cannot be read: %s", folder.name, error)
        return None


def remove_recording(folder: Path) -> bool:
    """Delete the recording of a call; returns False where part of it remains (the log says why)."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        pass  # nothing was recorded
    except OSError as error:
        logger.error("the recording of call %s could not be deleted: %s", folder.name, error)
        return False
    return True
