"""The rules that users have accepted for later calls."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections import Counter
from concurrent.futures import Executor
from functools import partial
from itertools import pairwise
from math import log2

import msgspec

from realtime.call.session import Session
from realtime.errors import ClientError, StoreError
from realtime.permission.accepted import Rules, merged, read_rules
from realtime.runtime import iso
from realtime.state.store import Store

logger = logging.getLogger(__name__)

GUESSABLE = (
    "accepted rules hold for this call only, since its session id is easy to guess: make one of 128 random bits (in "
    "hex, base64 or as a random UUID), or show a client token that names the user"
)
_UUID = re.compile(r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
"""Its group is the version: 4 is random, and most of 7 is."""
HARD_BITS = 76
"""What its characters hold, by how often each occurs."""
HARD_CHANGES = 3
"""How often it changes between capitals, small letters and digits.

Words and dates do so seldom.
"""


class KeptRules:
    """Loads and saves the rules of sessions: of one user id and session id.

    Only where no one else can take part in the session: its id is hard to guess, or the client's token names its user.
    Work on the store runs in `executor`, one thing after the other, so that a call finds what the one before has saved.
    """

    def __init__(self, store: Store, executor: Executor) -> None:
        self._store = store
        self._executor = executor

    async def begin(self, session: Session, *, keeps: bool | None, user_is_known: bool = False) -> ClientError | None:
        """Let a call begin with the kept rules, and keep more. Raises StoreError.

        `keeps` is what its client asks for: True to use the kept rules, False to forget them. `user_is_known`: it has
        shown that it acts for the user. Returns what to tell it where it asks in vain.
        """
        if not user_is_known and is_guessable(session.session_id):
            return self._keep_none(session, keeps=keeps)
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
        return None

    def _keep_none(self, session: Session, *, keeps: bool | None) -> ClientError | None:
        """Keep no rules of a session in which others could take part."""
        fault = ClientError(GUESSABLE, code="rules_not_kept")

        def tell(added: Rules, removed: Rules) -> None:
            if added:  # by a client that asks later
                session.accepted.save = None
                session.complain(fault)

        if keeps:
            logger.warning("accepted rules are not kept: call_id=%s, its session id is easy to guess", session.call_id)
            return fault
        session.accepted.save = tell
        return None

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


def is_guessable(session_id: str) -> bool:
    """Return whether an id is short, counted or made of words.

    So are UUIDs of a time or a name. What looks random and is not, such as the hash of a name, is none.
    """
    # What is in hex, base64 or a UUID has no other signs.
    core = max(re.split(r"[^0-9A-Za-z+/=_-]+", session_id), key=len)
    if (found := _UUID.search(core)) is not None and found[1] not in "47":
        return True
    bits = sum(count * log2(len(core) / count) for count in Counter(core).values())
    kinds = [(sign.isdigit(), sign.isupper()) for sign in core if sign.isalnum()]
    return bits < HARD_BITS or sum(one != other for one, other in pairwise(kinds)) < HARD_CHANGES


def _key(user: str, session_id: str) -> str:
    """Return the name of a session in the store.

    Who reads it there cannot take part in the session.
    """
    return hashlib.sha256(msgspec.json.encode([user, session_id])).hexdigest()
