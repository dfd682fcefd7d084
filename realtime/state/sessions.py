"""Sessions: the state of several modules, kept together between runs."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol
from weakref import WeakValueDictionary

from realtime.errors import ClientError, RealtimeError, StoreError, UsageError
from realtime.module import check_json
from realtime.texts import as_utf8

logger = logging.getLogger(__name__)

MAX_ID_BYTES = 200
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


class StoredSession(SessionBase):
    """Keeps each session as one JSON object: the state of each module, by its keyword.

    Subclasses read and write its bytes. Ids may come from a URL: one that is empty, begins or ends with a dot, is
    longer than 200 bytes or contains a control character or any of `/ \\ : * ? " < > |` raises ClientError. What cannot
    be stored or read raises StoreError, and leaves the stored state. Without modules, or with something else in place
    of one, both methods raise UsageError.
    """

    def __init__(self) -> None:
        self._saving: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        """Held while a session is written: of two saves the later one is the state that stays."""

    async def aclose(self) -> None:
        """Release files and connections; the next use opens them again."""
        return

    @abstractmethod
    def _where(self, session_id: str, user_id: str) -> str:
        """Return the place of a session, for people."""

    @abstractmethod
    async def _read(self, session_id: str, user_id: str) -> bytes | None:
        """Return what is stored of a session; None for an unknown one. Raises StoreError."""

    @abstractmethod
    async def _write(self, session_id: str, user_id: str, data: bytes, over: str | None = None) -> bool:
        """Replace what is stored of a session, whole or not at all. Raises StoreError.

        `over` is the only version (`version_of`) that may be replaced; None: any. Returns False, with nothing changed,
        where another one is stored.
        """

    @abstractmethod
    async def _ids(self, user_id: str) -> list[str]:
        """Return the ids of a user's sessions. Raises StoreError."""

    @abstractmethod
    async def _delete(self, user_id: str) -> None:
        """Delete a user's sessions, with what is left of them in files. Raises StoreError."""

    @abstractmethod
    async def drop_before(self, wall_s: float) -> int:
        """Delete the sessions last saved before a time; return how many there were. Raises StoreError.

        The time is in seconds, as of `time.time()`.
        """

    async def doubtful(self, user_id: str) -> list[str]:
        """Return what may be of this user or of another one: neither read nor forgotten."""
        return []

    async def sessions_of(self, user_id: str) -> dict[str, bytes]:
        """Return the sessions of a user: their states, as JSON, by id. Raises StoreError."""
        check_id(user_id, "user id")
        states = [(session_id, await self._read(session_id, user_id)) for session_id in await self._ids(user_id)]
        return {session_id: state for session_id, state in states if state is not None}

    async def forget_user(self, user_id: str) -> int:
        """Delete all sessions of a user; return how many there were. Raises StoreError.

        A module that is saved later is kept again.
        """
        check_id(user_id, "user id")
        n_sessions = len(await self._ids(user_id))
        await self._delete(user_id)
        return n_sessions

    async def save_session_state(self, session_id: str, user_id: str = "", **modules: HasState) -> None:
        """See `SessionBase`. Raises TypeError for a state without a JSON form, and says where it is.

        Cancelling waits for a write that has begun.
        """
        _check_ids(session_id, user_id)
        _check_modules(modules, "save_session_state")
        # Encoded at once, before the modules can change.
        data = _encoded(modules)
        await self._replace(session_id, user_id, data, None)

    async def _replace(self, session_id: str, user_id: str, data: bytes, over: str | None) -> bool:
        lock = self._saving.setdefault((user_id, session_id), asyncio.Lock())
        async with lock:
            return await self._write(session_id, user_id, data, over)

    async def load_session_state(
        self,
        session_id: str,
        user_id: str = "",
        allow_not_exist: bool = True,
        strict: bool = False,
        **modules: HasState,
    ) -> None:
        """See `SessionBase`. Raises StoreError for a state that is damaged, or is not one of its module.

        Then every module has the state that it had before.
        """
        _check_ids(session_id, user_id)
        _check_modules(modules, "load_session_state")
        data = await self._read(session_id, user_id)
        if data is None:
            if not allow_not_exist:
                raise StoreError(f"there is no session {session_id!r}", code="unknown_session", retryable=False)
            where = self._where(session_id, user_id)
            logger.warning("there is no session %r in %s: nothing is restored", session_id, where)
            return
        states = _states(data, session_id)
        missing = sorted(modules.keys() - states.keys())
        if strict and missing:
            raise _without(missing, session_id)
        if missing:
            saved = ", ".join(states) or "none"
            logger.warning(
                "session %r has no state of %s, which stay as they are; it has: %s",
                session_id,
                ", ".join(missing),
                saved,
            )
        _restore({name: module for name, module in modules.items() if name in states}, states, session_id)


class SessionWriter:
    """One session as one of several writers has it: of those that loaded one state, the first to save stays.

    The others are refused from then on, so that no two overwrite each other's states in turn. Two writers of a
    `JSONSession` count as such within one process; those of the other stores may be anywhere.
    """

    def __init__(self, session: StoredSession, session_id: str, user_id: str = "") -> None:
        _check_ids(session_id, user_id)
        self._session, self._ids = session, (session_id, user_id)
        self._version = ""

    @property
    def where(self) -> str:
        """The place of the session, for people."""
        return self._session._where(*self._ids)

    async def load(self, name: str) -> Any:
        """Return the state that is stored of a module; None where there is no session. Raises StoreError."""
        session_id, _ = self._ids
        data = await self._session._read(*self._ids)
        if data is None:
            return None
        states = _states(data, session_id)
        if name not in states:
            raise _without([name], session_id)
        self._version = version_of(data)
        return states[name]

    async def save(self, name: str, state: dict[str, Any]) -> None:
        """Save the state of a module, unless it is stored already.

        Raises StoreError: `session_taken` where another one has saved since.
        """
        data = json.dumps({name: state}, ensure_ascii=False).encode("utf-8", "surrogatepass")
        version = version_of(data)
        if version == self._version:
            return
        if not await self._session._replace(*self._ids, data, self._version):
            raise StoreError(f"another one has saved session {self._ids[0]!r}", code="session_taken", retryable=False)
        self._version = version


def version_of(data: bytes | None) -> str:
    """Return what stands for a stored state; "" where there is none. Redis computes the same."""
    return "" if data is None else hashlib.sha1(data, usedforsecurity=False).hexdigest()


def _without(missing: list[str], session_id: str) -> StoreError:
    return StoreError(
        f"session {session_id!r} has no state of {', '.join(missing)}", code="unknown_module", retryable=False
    )


def _encoded(modules: Mapping[str, HasState]) -> bytes:
    states = {name: module.state_dict() for name, module in modules.items()}
    for name, state in states.items():
        check_json(state, f"the state of {name}")
    return json.dumps(states, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _states(data: bytes, session_id: str) -> dict[str, Any]:
    damaged = StoreError(f"the state of session {session_id!r} is damaged", code="store_corrupt", retryable=False)
    try:
        states = json.loads(as_utf8(data).decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise damaged from error
    if not isinstance(states, dict):
        raise damaged
    return states


def _restore(modules: Mapping[str, HasState], states: Mapping[str, Any], session_id: str) -> None:
    """Load all states, or none: where one does not fit, the modules go back to what they were."""
    before: list[tuple[HasState, dict[str, Any]]] = []
    for name, module in modules.items():
        before.append((module, module.state_dict()))
        try:
            module.load_state_dict(states[name])
        except Exception as error:
            for changed, state in reversed(before):
                with suppress(Exception):  # such as an agent that takes none now, and has changed nothing
                    changed.load_state_dict(state)
            if isinstance(error, RealtimeError):
                raise
            why = error.args[0] if isinstance(error, KeyError) and error.args else error
            raise StoreError(
                f"the state of {name} in session {session_id!r} is none of a {type(module).__name__}: {why!s:.200}",
                code="wrong_state",
                retryable=False,
            ) from error


def _check_modules(modules: Mapping[str, Any], method: str) -> None:
    """Raise UsageError without modules, or for one without a state."""
    if not modules:
        raise UsageError(f"{method} got no modules: name each by a keyword, such as agent=agent", code="no_modules")
    for name, module in modules.items():
        if not (hasattr(module, "state_dict") and hasattr(module, "load_state_dict")):
            raise UsageError(f"{name} has no state: it is a {type(module).__name__}", code="no_state")


def _check_ids(session_id: str, user_id: str) -> None:
    """Raise ClientError for ids that no store takes. There may be no user."""
    check_id(session_id, "session id")
    if user_id != "":
        check_id(user_id, "user id")


_NOT_IN_IDS = frozenset('/\\:*?"<>|')


def check_id(text: str, what: str) -> str:
    """Return an id that can name a file. Raises ClientError for any other."""
    if not isinstance(text, str):
        raise UsageError(f"the {what} is a text, not a {type(text).__name__}: modules have keywords", code="invalid_id")
    if (
        not text
        or text != text.strip(". ")
        or not text.isprintable()
        or not _NOT_IN_IDS.isdisjoint(text)
        or len(text.encode("utf-8", "surrogatepass")) > MAX_ID_BYTES
    ):
        raise ClientError(f"this cannot be a {what}: {text[:64]!r}", code="invalid_id")
    return text
