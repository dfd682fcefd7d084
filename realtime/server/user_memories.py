"""The long-term memories of a server's users: one for each user whom a client token names."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakValueDictionary

from realtime.agent.memory_of_call import UserMemory
from realtime.errors import BadOption, RealtimeError, StoreError
from realtime.memory import LongTermMemoryBase
from realtime.memory.redacted import RedactedMemory
from realtime.state.redaction import Redaction

logger = logging.getLogger(__name__)

MakeMemory = Callable[[str], LongTermMemoryBase]
"""Makes the memory of a user id that a client token names. The server closes it."""


class UserMemories:
    """Gives each user one memory, shared by all calls and requests. `redaction` takes secrets out of it."""

    def __init__(self, make_memory: MakeMemory, redaction: Redaction | None = None) -> None:
        given: Any = make_memory
        if isinstance(given, LongTermMemoryBase) or not callable(given):
            raise BadOption("memory is a function that makes the long-term memory of a user id, so that none is shared")
        self._make = make_memory
        self._redaction = redaction
        self._of: WeakValueDictionary[str, UserMemory] = WeakValueDictionary()
        """Those that calls or requests have."""

    def of(self, user: str) -> UserMemory | None:
        """Return the memory of a user; None where it cannot be made, and the log says why."""
        if (known := self._of.get(user)) is not None:
            return known
        try:
            memory: Any = self._make(user)
        except Exception as error:
            logger.warning("the long-term memory of user %r could not be made: %s", user, reason_of(error))
            return None
        if not isinstance(memory, LongTermMemoryBase):
            logger.warning("memory made a %s for user %r: it is no LongTermMemoryBase", type(memory).__name__, user)
            return None
        if self._redaction is not None:
            memory = RedactedMemory(memory, self._redaction)
        made = self._of[user] = UserMemory(memory, set())
        return made

    @asynccontextmanager
    async def using(self, user: str) -> AsyncIterator[UserMemory]:
        """Give the memory of a user for a request. Raises StoreError where there is none."""
        found = self.of(user)
        if found is None:
            raise StoreError("the memory cannot be reached at the moment: try again", retryable=True)
        try:
            yield found
        finally:
            if not found.calls:
                await found.memory.aclose()


def reason_of(error: Exception) -> str:
    """Return what went wrong, without what is remembered: errors of other packages may quote it."""
    return str(error) if isinstance(error, RealtimeError) else type(error).__name__
