"""The rules that users have accepted for later calls."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from concurrent.futures import Executor
from functools import partial

import msgspec

from realtime.call.session import Session
from realtime.errors import ClientError, StoreError
from realtime.event.config import PermissionSettings
from realtime.permission.accepted import Rules, merged, read_rules
from realtime.runtime import iso
from realtime.state.store import Store

logger = logging.getLogger(__name__)

END_WITH_CALL = (
    "accepted rules end with this call, since names do not show whose they are: send permissions.key, empty at first "
    "and then what server_custom permissions_key brought, or show a client token that names the user"
)


class KeptRules:
    """Loads and saves the rules that hold in later calls.

    A user id and a session id are names, which others can say as well, however hard to guess they look. So rules are
    kept only where the client's token names its user, or under a key that this server issued.
    Work on the store runs in `executor`, one thing after the other, so that a call finds what the one before has saved.
    """

    def __init__(self, store: Store, executor: Executor) -> None:
        self._store = store
        self._executor = executor

    async def begin(
        self, session: Session, asked: PermissionSettings, *, user_is_known: bool = False, note: str | None = None
    ) -> ClientError | None:
        """Let a call begin with the kept rules, and keep more. Raises StoreError.

        `user_is_known`: its client has shown that it acts for the user. `note` is where a resumed call keeps them.
        Returns what to tell the client where it asks in vain.
        """
        loop = asyncio.get_running_loop()
        if user_is_known:
            note = _note_of("user", session.owner, session.session_id)
        elif note is None and asked.key is not None:
            note = await loop.run_in_executor(self._executor, self._note_for, session, asked, asked.key)
        if note is None:
            return self._keep_none(session, keeps=asked.keep)
        session.rules_note, runtime = note, session.runtime

        def save(added: Rules, removed: Rules) -> None:
            try:
                self._executor.submit(self._save, note, iso(runtime.wall_now()), added, removed)
            except RuntimeError as error:  # the server is shutting down; the call that the user agreed to goes on
                logger.error("accepted rules could not be kept: %s", type(error).__name__)

        session.accepted.save = save  # also for a client that asks later
        if asked.keep:
            session.accepted.begin_with(await loop.run_in_executor(self._executor, self._read, note))
        elif asked.keep is False:
            await loop.run_in_executor(self._executor, partial(self._store.put_note, note, "", None))
        return None

    def _note_for(self, session: Session, asked: PermissionSettings, shown: str) -> str | None:
        """Return where the rules of a new call are kept; None for nowhere.

        Issues the key that its client asks for.
        """
        note = _note_of("key", session.owner, shown)
        if shown and self._store.note(note) is not None:
            return note
        if not asked.keep:
            return None
        # One that is unknown, or was forgotten, is never taken over: its client may have made it up.
        key = session.permissions_key = session.runtime.new_id("permissions")
        note = _note_of("key", session.owner, key)
        self._store.put_note(note, iso(session.runtime.wall_now()), b"[]")
        return note

    def _keep_none(self, session: Session, *, keeps: bool | None) -> ClientError | None:
        """Keep no rules of a call whose client shows nothing but names."""
        fault = ClientError(END_WITH_CALL, code="rules_not_kept")

        def tell(added: Rules, removed: Rules) -> None:
            if added:  # by a client that asks later
                session.accepted.save = None
                session.complain(fault)

        if keeps:
            logger.warning("accepted rules are not kept: call_id=%s, it has neither key nor token", session.call_id)
            return fault
        session.accepted.save = tell
        return None

    def _read(self, note: str) -> Rules:
        kept = self._store.note(note)
        try:
            return () if kept is None else read_rules(msgspec.json.decode(kept))
        except msgspec.MsgspecError as error:
            raise StoreError("the kept rules of a user are damaged", code="store_corrupt", retryable=False) from error

    def _save(self, note: str, kept_at: str, added: Rules, removed: Rules) -> None:
        try:
            rules = merged(self._read(note), added, removed)
            self._store.put_note(note, kept_at, msgspec.json.encode(rules))
        except StoreError as error:
            logger.error("accepted rules could not be kept: %s", error)


def notes_of(owner: str) -> str:
    """Return how the names of all notes of a user begin."""
    return f"{_hashed('owner', owner)[:32]}-"


def _note_of(kind: str, owner: str, shown: str) -> str:
    """Return the name of a note in the store.

    Who reads it there learns no key.
    """
    return notes_of(owner) + _hashed(kind, owner, shown)


def _hashed(*words: str) -> str:
    return hashlib.sha256(msgspec.json.encode(words)).hexdigest()
