"""The state of modules as JSON files that people can read: one file per session."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from realtime.errors import ClientError, StoreError, UsageError
from realtime.module import check_json
from realtime.options import checked
from realtime.state.files import read_file, replace_file
from realtime.state.store import error_of
from realtime.texts import as_utf8

logger = logging.getLogger(__name__)

MAX_NAME_BYTES = 200
"""The longest id of a session or a user: file names have at most 255 bytes with the ending."""


class HasState(Protocol):
    """An object whose state a session keeps, as JSON-safe builtins."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> Any:
        """Restore the state."""
        ...


class SessionBase(ABC):
    """Keeps the state of modules between runs. Subclasses implement these two methods."""

    @abstractmethod
    async def save_session_state(self, session_id: str, user_id: str = "", **modules: HasState) -> None:
        """Save the state of all `modules`, each under its keyword."""

    @abstractmethod
    async def load_session_state(
        self,
        session_id: str,
        user_id: str = "",
        allow_not_exist: bool = True,
        strict: bool = False,
        **modules: HasState,
    ) -> None:
        """Restore each of `modules` from the state saved under its keyword.

        An unknown session changes nothing, or raises StoreError if `allow_not_exist` is false. A keyword without saved
        state leaves its module unchanged, or raises StoreError before any module changes if `strict`. The log tells
        both.
        """


class JSONSession(SessionBase):
    """Keeps a session as one JSON file: `save_dir/SESSION_ID.json`, or `save_dir/users/USER_ID/SESSION_ID.json`.

    Ids may come from a URL. An id that is empty, begins or ends with a dot, is longer than 200 bytes or contains a
    control character or any of `/ \\ : * ? " < > |` raises ClientError and touches no file. An error of the disk raises
    StoreError and leaves the old file, as does a crash while saving. Without modules, or with something else in place
    of one, both methods raise UsageError.
    """

    @checked()
    def __init__(self, save_dir: str | os.PathLike[str] = "./sessions") -> None:
        self.save_dir = Path(save_dir)

    async def save_session_state(self, session_id: str, user_id: str = "", **modules: HasState) -> None:
        """See `SessionBase`. Raises TypeError for a state without a JSON form, and says where it is.

        Cancelling does not stop a write that has begun.
        """
        path = self.path_of(session_id, user_id)
        _check_modules(modules, "save_session_state")
        # Encoded at once, before the modules can change.
        states = {name: module.state_dict() for name, module in modules.items()}
        for name, state in states.items():
            check_json(state, f"the state of {name}")
        text = json.dumps(states, ensure_ascii=False)
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
        _check_modules(modules, "load_session_state")
        data = await asyncio.get_running_loop().run_in_executor(None, read_file, path)
        if data is None:
            if not allow_not_exist:
                raise StoreError(f"there is no session {session_id!r}", code="unknown_session", retryable=False)
            logger.warning("there is no session %r in %s: nothing is restored", session_id, path.parent)
            return
        states = _states(data, session_id)
        missing = sorted(modules.keys() - states.keys())
        if strict and missing:
            raise StoreError(
                f"session {session_id!r} has no state of {', '.join(missing)}", code="unknown_module", retryable=False
            )
        if missing:
            saved = ", ".join(states) or "none"
            logger.warning(
                "session %r has no state of %s, which stay as they are; it has: %s",
                session_id,
                ", ".join(missing),
                saved,
            )
        for name, module in modules.items():
            if name in states:
                module.load_state_dict(states[name])

    def path_of(self, session_id: str, user_id: str = "") -> Path:
        """Return the file of a session. Raises ClientError for an id that cannot name a file."""
        folder = self.save_dir / "users" / _file_name(user_id, "user id") if user_id else self.save_dir
        return folder / f"{_file_name(session_id, 'session id')}.json"


def _check_modules(modules: Mapping[str, Any], method: str) -> None:
    """Raise UsageError without modules, or for one without a state."""
    if not modules:
        raise UsageError(f"{method} got no modules: name each by a keyword, such as agent=agent", code="no_modules")
    for name, module in modules.items():
        if not (hasattr(module, "state_dict") and hasattr(module, "load_state_dict")):
            raise UsageError(f"{name} has no state: it is a {type(module).__name__}", code="no_state")


def _save(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, data, sync=True)
    except OSError as error:
        raise error_of(error) from error


def _states(data: bytes, session_id: str) -> dict[str, Any]:
    damaged = StoreError(f"the file of session {session_id!r} is damaged", code="store_corrupt", retryable=False)
    try:
        states = json.loads(as_utf8(data).decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise damaged from error
    if not isinstance(states, dict):
        raise damaged
    return states


_NOT_IN_NAMES = frozenset('/\\:*?"<>|')


def _file_name(text: str, what: str) -> str:
    if not isinstance(text, str):
        raise UsageError(f"the {what} is a text, not a {type(text).__name__}: modules have keywords", code="invalid_id")
    if (
        not text
        or text != text.strip(". ")
        or not text.isprintable()
        or not _NOT_IN_NAMES.isdisjoint(text)
        or len(text.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES
    ):
        raise ClientError(f"this cannot be a {what}: {text[:64]!r}", code="invalid_id")
    return text
