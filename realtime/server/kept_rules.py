"""The rules that users have accepted for later calls."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from concurrent.futures import Executor
from functools import partial

import msgspec

from realtime.call.session import Session
from realtime.errors import StoreError
from realtime.permission.accepted import Rules, merged, read_rules
from realtime.runtime import iso
from realtime.state.store import Store

logger = logging.getLogger(__name__)


class KeptRules:
    """Loads and saves the rules of sessions: of one user id and session id.

    Work on the store runs in `executor`, one thing after the other, so that a call finds what the one before has saved.
    """

    def __init__(self, store: Store, executor: Executor) -> None:
        self._store = store
        self._executor = executor

    async def begin(self, session: Session, *, keeps: bool | None) -> None:
        """Let a call begin with the kept rules, and keep more. Raises StoreError.

        `keeps` is what its client asks for: True to use the kept rules, False to forget them.
        """
        key, runtime = _key(session.owner, session.session_id), session.runtime
        loop = asyncio.get_running_loop()

        def save(added: Rules, removed: Rules) -> None:
            try:
                self._executor.submit(self._save, key, iso(runtime.wall_now()), added, removed)
            except RuntimeError as error:  # the server is shutting down; the call that the user agreed to goes on
                logger.error("accepted rules could not be kept: %s", type(error).__name__)

        session.accepted.save = save  # also for a client that asks later
        if keeps:
            session.accepted.begin_with(await loop.run_in_executor(self._executor, partial(self._read, key)))
        elif keeps is False:
            await loop.run_in_executor(self._executor, partial(self._store.put_note, key, "", None))

    def _read(self, key: str) -> Rules:
        note = self._store.note(key)
        try:
            return () if note is None else read_rules(msgspec.json.decode(note))
        except msgspec.MsgspecError as error:
            raise StoreError(
                "the kept rules of a session are damaged", code="store_corrupt", retryable=False
            ) from error

    def _save(self, key: str, kept_at: str, added: Rules, removed: Rules) -> None:
        try:
            rules = merged(self._read(key), added, removed)
            self._store.put_note(key, kept_at, msgspec.json.encode(rules) if rules else None)
        except StoreError as error:
            logger.error("accepted rules could not be kept: %s", error)


def _key(user: str, session_id: str) -> str:
    """Return the name of a session in the store: who reads it there cannot take part in the session."""
    return hashlib.sha256(msgspec.json.encode([user, session_id])).hexdigest()
