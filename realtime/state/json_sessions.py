"""The state of modules as JSON files that people can read: one file per session."""

from __future__ import annotations

import json
import logging
import os
import shutil
from pathlib import Path

from realtime.options import checked
from realtime.state.files import in_thread, read_file, replace_file
from realtime.state.sessions import StoredSession, check_id, version_of
from realtime.state.store import error_of

logger = logging.getLogger(__name__)

_MAX_FILE_NAME_BYTES = 255
_END = b"\n"
"""Ends our files, and none of AgentScope: see `_of_agentscope`."""


class JSONSession(StoredSession):
    """Keeps a session as one JSON file: `save_dir/SESSION_ID.json`, or `save_dir/users/USER_ID/SESSION_ID.json`.

    A crash while saving leaves the old file. A session without such a file is read from that of AgentScope 1.x,
    `USER_ID_SESSION_ID.json`, unless the underscores in it leave open whose it is. On disks that ignore case, so do the
    ids.
    """

    @checked()
    def __init__(self, save_dir: str | os.PathLike[str] = "./sessions") -> None:
        super().__init__()
        self.save_dir = Path(save_dir)

    def path_of(self, session_id: str, user_id: str = "") -> Path:
        """Return the file of a session. Raises ClientError for an id that cannot name a file."""
        folder = self._folder_of(user_id) if user_id else self.save_dir
        return folder / f"{check_id(session_id, 'session id')}.json"

    def _where(self, session_id: str, user_id: str) -> str:
        return str(self.path_of(session_id, user_id).parent)

    async def doubtful(self, user_id: str) -> list[str]:
        """See `StoredSession.doubtful`: files of AgentScope whose names may say another user, too."""
        return [str(path) for path in await in_thread(self._agentscope_files, user_id) if path.stem.count("_") > 1]

    async def _ids(self, user_id: str) -> list[str]:
        return await in_thread(self._ids_of, user_id)

    async def _delete(self, user_id: str) -> None:
        await in_thread(self._remove, user_id)

    async def drop_before(self, wall_s: float) -> int:
        """See `StoredSession.drop_before`. Other files of the folder stay."""
        return await in_thread(self._drop_before, wall_s)

    async def _read(self, session_id: str, user_id: str) -> bytes | None:
        return await in_thread(self._load, session_id, user_id)

    async def _write(self, session_id: str, user_id: str, data: bytes, over: str | None = None) -> bool:
        return await in_thread(self._save, session_id, user_id, data, over)

    def _save(self, session_id: str, user_id: str, data: bytes, over: str | None) -> bool:
        if over is not None and version_of(self._load(session_id, user_id)) != over:
            return False
        path = self.path_of(session_id, user_id)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(path, data + _END, sync=True)
        except OSError as error:
            raise error_of(error) from error
        return True

    def _load(self, session_id: str, user_id: str) -> bytes | None:
        path = self.path_of(session_id, user_id)
        data = read_file(path)
        if data is None:
            return self._of_agentscope(session_id, user_id, path) if user_id else None
        return data.removesuffix(_END)

    def _of_agentscope(self, session_id: str, user_id: str, path: Path) -> bytes | None:
        """Return the state of a user's session as AgentScope 1.x keeps it.

        A file of that name may be another one: ours, of a session without a user, which ends in a line end; or that of
        the user `a_b` and the session `c`, where `a` and `b_c` are asked for. Neither is read: ids come from clients.
        """
        other = self.save_dir / f"{user_id}_{session_id}.json"
        data = read_file(other) if len(os.fsencode(other.name)) <= _MAX_FILE_NAME_BYTES else None
        if data is None or data.endswith(_END):
            return None
        if "_" in user_id + session_id:
            logger.warning("%s may be of another user, and is not read: if it is not, move it to %s", other, path)
            return None
        logger.info("session %r is read from %s, as AgentScope keeps it", session_id, other)
        return data

    def _ids_of(self, user_id: str) -> list[str]:
        try:
            ours = {path.stem for path in self._folder_of(user_id).glob("*.json") if not path.name.startswith(".")}
        except OSError as error:
            raise error_of(error) from error
        theirs = {path.stem.removeprefix(f"{user_id}_") for path in self._certain_files(user_id)}
        return sorted(ours | theirs)

    def _remove(self, user_id: str) -> None:
        try:
            for path in self._certain_files(user_id):
                path.unlink(missing_ok=True)
            shutil.rmtree(self._folder_of(user_id))  # also what killed processes have left there
        except FileNotFoundError:
            pass
        except OSError as error:
            raise error_of(error) from error

    def _drop_before(self, wall_s: float) -> int:
        dropped = 0
        try:
            for path in [*self.save_dir.glob("users/*/*.json"), *self.save_dir.glob("*.json")]:
                if path.stat().st_mtime < wall_s and _is_session(read_file(path) or b""):
                    path.unlink(missing_ok=True)
                    dropped += 1
        except OSError as error:
            raise error_of(error) from error
        return dropped

    def _folder_of(self, user_id: str) -> Path:
        return self.save_dir / "users" / check_id(user_id, "user id")

    def _certain_files(self, user_id: str) -> list[Path]:
        return [path for path in self._agentscope_files(user_id) if path.stem.count("_") == 1]

    def _agentscope_files(self, user_id: str) -> list[Path]:
        """Return the files that AgentScope 1.x may have written for a user."""
        try:
            named = [path for path in self.save_dir.glob("*.json") if path.name.startswith(f"{user_id}_")]
            return [path for path in named if not (read_file(path) or _END).endswith(_END)]
        except OSError as error:
            raise error_of(error) from error


def _is_session(data: bytes) -> bool:
    """Whether it is what a session keeps: an object with the state of each module, which is an object."""
    try:
        states = json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return False
    return isinstance(states, dict) and all(isinstance(state, dict) for state in states.values())
