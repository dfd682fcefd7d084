"""All calls of a server: how many there are, whose they are, and how they end together."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from realtime.call.session import Session
from realtime.errors import ClientError, StoreError
from realtime.runtime import Runtime
from realtime.server.archive import Archive, no_such_token
from realtime.server.load import DEFAULT_MAX_BUSY, DEFAULT_MAX_LAG_MS, Admission, Load
from realtime.server.recordings import Recordings

logger = logging.getLogger(__name__)


class Place:
    """The place of one call, taken before the call exists. `leave` is idempotent."""

    def __init__(self, calls: Calls, address: str) -> None:
        self._calls = calls
        self._address = address
        self._session: Session | None = None
        self._left = False

    def fill(self, session: Session) -> None:
        """The call that has this place."""
        self._session = session
        session.address = self._address
        session.on_ended.append(lambda _: self.leave())
        self._calls.sessions[session.call_id] = session
        self._calls.model = session.participant.describe()
        for follow in self._calls.on_call:
            follow(session)

    def leave(self) -> None:
        """The call is over, or was never made."""
        if self._left:
            return
        self._left = True
        if self._session is not None:
            self._calls.sessions.pop(self._session.call_id, None)
        self._calls.admission.leave(self)
        self._calls.give_back(self._address)


class Calls:
    """The calls that run. Keeps them alive while nobody listens; every bound is checked before anything is made."""

    def __init__(
        self,
        *,
        max_per_address: int,
        max_total: int,
        max_lag_ms: float = DEFAULT_MAX_LAG_MS,
        max_busy: float = DEFAULT_MAX_BUSY,
        archive: Archive | None = None,
        recordings: Recordings | None = None,
    ) -> None:
        self.archive = archive
        """Keeps them beyond this process; None where nothing does."""
        self.recordings = recordings
        """Keeps the sound of those that consent; None where nothing does."""
        self.sessions: dict[str, Session] = {}
        """By `call_id`."""
        self.make_runtime: Callable[[asyncio.AbstractEventLoop], Runtime] = Runtime.of_loop
        """Gives a socket its time, ids and chance; in tests and replays they are the same each time."""
        self.on_call: list[Callable[[Session], None]] = []
        """Called with each call before anything has happened in it."""
        self.draining = False
        self.total = 0
        """Calls since the server began."""
        self.model: dict[str, Any] | None = None
        """What the agent of the latest call says of its model."""
        self.admission = Admission(Load(max_lag_ms, max_busy), lambda: self.running)
        """Lets calls begin while the event loop has time for them; lets all of them in until it is started."""
        self._max_per_address = max_per_address
        self._max_total = max_total
        self._reviving: set[str] = set()
        self._forgetting: set[str] = set()
        self._openings: set[asyncio.Task[None]] = set()
        self._places: Counter[str] = Counter()
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def running(self) -> int:
        """How many calls there are, those included that are being made."""
        return self._places.total()

    def take_place(self, address: str) -> Place:
        """A place for one more call of this address. Raises ClientError where there is none."""
        if self.draining:
            raise ClientError("the server is about to stop and takes no new calls", code="draining", retryable=True)
        if self._places[address] - self._deserted(address) >= self._max_per_address:
            raise ClientError(
                f"there are {self._max_per_address} calls from this address already: end one first",
                code="too_many_calls",
                retryable=True,
            )
        if self.running >= self._max_total:
            raise ClientError("the server is full: try again later", code="server_full", retryable=True)
        if self._places[address] >= self._max_per_address:
            self._end_deserted(address)
        self._places[address] += 1
        self.total += 1
        self._empty.clear()
        return Place(self, address)

    async def forget(self, call_id: str) -> tuple[str, ...]:
        """Delete the call: its recording, then its log. A live one is ended first. Returns what remains of it.

        The log remains where the recording does, so that the call can be found and deleted again. Meanwhile the call
        cannot be resumed. Raises ClientError where it is being resumed at this moment.
        """
        if call_id in self._reviving:
            raise ClientError("the call is being resumed: try again", code="resume_under_way", retryable=True)
        if call_id in self._forgetting:
            return ("log",)  # for the moment
        self._forgetting.add(call_id)
        try:
            live = self.sessions.get(call_id)
            if live is not None:
                await live.end("deleted")
            if self.recordings is not None and not await self.recordings.delete(call_id):
                return ("recording",) if self.archive is None else ("recording", "log")
            if self.archive is not None:
                await self.archive.delete(call_id)
        except StoreError:
            return ("log",)
        finally:
            self._forgetting.discard(call_id)
        return ()

    def finish(self, opening: asyncio.Task[None]) -> None:
        """Own the making of a call whose socket was lost meanwhile: its client may come back to it."""
        self._openings.add(opening)
        opening.add_done_callback(self._opened)

    def _opened(self, opening: asyncio.Task[None]) -> None:
        self._openings.discard(opening)
        if not opening.cancelled() and (error := opening.exception()) is not None:
            logger.error("a call could not be made", exc_info=error)

    @contextmanager
    def reviving(self, call_id: str) -> Iterator[None]:
        """While a call is brought back from the archive. Raises ClientError where that is being done already."""
        if call_id in self._forgetting:
            raise no_such_token()
        if call_id in self._reviving or call_id in self.sessions:
            raise ClientError("the call is being resumed already: try again", code="resume_under_way", retryable=True)
        self._reviving.add(call_id)
        try:
            yield
        finally:
            self._reviving.discard(call_id)

    def _deserted(self, address: str) -> int:
        """Calls of this address that wait for a client: they do not keep a new one out."""
        return sum(1 for one in self.sessions.values() if one.address == address and one.is_deserted)

    def _end_deserted(self, address: str) -> None:
        """The one that waits the longest makes room: else who opens and drops calls would have any number of them."""
        for one in self.sessions.values():
            if one.address == address and one.is_deserted:
                one.end_soon("listener_gone")
                return

    def give_back(self, address: str) -> None:
        """See `Place.leave`."""
        self._places[address] -= 1
        if not self._places[address]:
            del self._places[address]
        if not self._places:
            self._empty.set()

    async def drain(self, wait_s: float) -> None:
        """Take no new calls, tell the running ones to come to an end, and end those that last longer than `wait_s`.

        Idempotent; a later call with a shorter time ends what an earlier one still waits for.
        """
        if not self.draining and wait_s > 0:
            for session in [*self.sessions.values()]:
                session.say_goodbye("shutdown")
        self.draining = True
        for session in [*self.sessions.values()]:
            if session.is_deserted:
                session.end_soon("shutdown")
        if self.running and wait_s > 0:
            logger.info("waiting up to %g s for %d calls to end", wait_s, self.running)
            try:
                async with asyncio.timeout(wait_s):
                    await self._empty.wait()
            except TimeoutError:
                logger.info("ending %d calls", self.running)
        await asyncio.gather(
            *(session.end("shutdown") for session in [*self.sessions.values()]), return_exceptions=True
        )
