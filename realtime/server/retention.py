"""Deletes what is old: ended calls, recordings, sessions, memories; and calls beyond the space limit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from realtime.errors import ClientError, StoreError, UsageError
from realtime.memory.sqlite_long_term import forget_before
from realtime.runtime import iso
from realtime.server.archive import Archive
from realtime.server.calls import Calls
from realtime.server.recordings import Recordings
from realtime.server.settings import ServerSettings
from realtime.state.open import open_session
from realtime.state.redis_sessions import RedisSession
from realtime.state.store import CallInfo, PageCursor

logger = logging.getLogger(__name__)

EVERY_S = 3_600.0
AT_ONCE = 100
DAY_S = 86_400.0
MUCH_BYTES = 10_000_000_000
"""Stored bytes that are worth a warning where no limit is set."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Limits for stored calls: seconds after their end, and bytes; None: no limit."""

    keep_s: float | None = None
    keep_bytes: int | None = None

    def is_past(self, when: str, wall_now: float) -> bool:
        """Whether the rules drop a call that ended then (ISO 8601)."""
        return self.keep_s is not None and when < iso(wall_now - self.keep_s)


class Aged(NamedTuple):
    """A kind of thing that is kept for a time: `drop` deletes what is older than a time, and counts it."""

    what: str
    option: str
    keep_s: float
    drop: Callable[[float], Awaitable[int]]


def aged_of(settings: ServerSettings, recordings: Recordings | None, is_live: Callable[[str], bool]) -> list[Aged]:
    """Return the rules for what is no call. Raises UsageError for one that cannot be applied."""
    aged = []
    if settings.keep_sound_s is not None and recordings is not None:

        async def drop_sound(wall_s: float) -> int:
            return await recordings.drop_before(wall_s, is_live)

        aged.append(Aged("recordings", "--keep-sound-days", settings.keep_sound_s, drop_sound))
    if settings.keep_session_s is not None and settings.sessions is not None:
        session = open_session(settings.sessions)
        if isinstance(session, RedisSession):
            raise UsageError("sessions in Redis end by the key_ttl of RedisSession, not by --keep-session-days")

        async def drop_sessions(wall_s: float) -> int:
            try:
                return await session.drop_before(wall_s)
            finally:
                await session.aclose()

        aged.append(Aged("sessions", "--keep-session-days", settings.keep_session_s, drop_sessions))
    if settings.keep_memory_s is not None and settings.memory is not None:
        drop_memories = partial(forget_before, settings.memory)
        aged.append(Aged("long-term memories", "--keep-memory-days", settings.keep_memory_s, drop_memories))
    return aged


def is_over(info: CallInfo, wall_now: float) -> bool:
    """Whether the call has ended. One without an end was cut off with its server, which is certain after a day."""
    return info.ended_at is not None or info.created_at < iso(wall_now - DAY_S)


class Retention:
    """Applies the rules to the calls of `archive` and their recordings.

    It does so when it is started, and every hour where there is a rule.
    """

    def __init__(self, calls: Calls, archive: Archive | None, rules: Rules, aged: Sequence[Aged] = ()) -> None:
        self._calls = calls
        self._archive = archive
        self._rules = rules
        self._aged = aged
        self._is_warned = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start on the running event loop."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="retention")

    async def stop(self) -> None:
        """Stop. Idempotent."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        runtime = self._calls.make_runtime(asyncio.get_running_loop())
        while True:
            try:
                await self.sweep_aged(runtime.wall_now())
                await self.sweep(runtime.wall_now())
            except ClientError as error:
                logger.warning("old calls could not be looked for: %s", error)
            except Exception:
                logger.exception("old calls could not be deleted")
            if self._rules == Rules() and not self._aged:
                return
            await asyncio.sleep(EVERY_S)

    async def sweep(self, wall_now: float) -> int:
        """Delete what the rules do not keep; return the number of deleted calls. Raises ClientError."""
        if self._archive is None:
            return 0
        rules, total = self._rules, await self._n_bytes()
        if rules.keep_bytes is None and total > MUCH_BYTES and not self._is_warned:
            self._is_warned = True
            logger.warning("the calls take %.1f GB: --keep-days and --keep-gb delete the oldest", total / 1e9)
        deleted = 0
        after: PageCursor | None = None
        while rules.keep_s is not None or rules.keep_bytes is not None:
            page = await self._archive.calls(None, after=after, limit=AT_ONCE, oldest_first=True)
            for info in page:
                is_too_much = rules.keep_bytes is not None and total > rules.keep_bytes
                if not is_too_much and not rules.is_past(info.created_at, wall_now):
                    page = []  # nor is any later call old
                    break
                if not (is_too_much or rules.is_past(info.ended_at or info.created_at, wall_now)):
                    continue
                n_bytes = await self._n_bytes(info.call_id)
                if self._may_delete(info, wall_now):  # it may have been resumed meanwhile
                    with suppress(ClientError):
                        if not await self._calls.forget(info.call_id):
                            total, deleted = total - n_bytes, deleted + 1
            if len(page) < AT_ONCE:
                break
            after = page[-1].cursor
        if rules.keep_s is not None and (n_notes := await self._archive.drop_notes(iso(wall_now - rules.keep_s))):
            logger.warning("sessions whose accepted rules --keep-days deleted: %d", n_notes)
        if deleted:
            logger.warning("calls that --keep-days and --keep-gb deleted: %d", deleted)
        return deleted

    async def sweep_aged(self, wall_now: float) -> None:
        """Delete of each kind what is older than its rule; a kind that fails hinders no other."""
        for one in self._aged:
            try:
                n_dropped = await one.drop(wall_now - one.keep_s)
            except (StoreError, OSError) as error:
                logger.warning("old %s could not be deleted: %s", one.what, error)
                continue
            if n_dropped:
                logger.warning("%s that %s deleted: %d", one.what, one.option, n_dropped)

    def _may_delete(self, info: CallInfo, wall_now: float) -> bool:
        return info.call_id not in self._calls.sessions and is_over(info, wall_now)

    async def _n_bytes(self, call_id: str | None = None) -> int:
        assert self._archive is not None
        n_bytes = await self._archive.n_bytes(call_id)
        if self._calls.recordings is not None:
            n_bytes += await self._calls.recordings.n_bytes(call_id)
        return n_bytes
