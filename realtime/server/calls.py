"""All calls of a server: their number, their addresses, and how they end together."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from realtime.call.session import Session
from realtime.errors import ClientError, Overloaded, StoreError
from realtime.runtime import Runtime
from realtime.server.admission import DEFAULT_MAX_BUSY, DEFAULT_MAX_LAG_MS, RETRY_AFTER_MS, Admission, Load
from realtime.server.archive import Archive, no_such_token
from realtime.server.caller_sessions import CallerSessions
from realtime.server.connections import NOTICE_EVERY_S, OpenFiles
from realtime.server.recordings import Recordings
from realtime.server.user_memories import UserMemories

if TYPE_CHECKING:
    from realtime.call.recording import Recorder

logger = logging.getLogger(__name__)

OPENING_MS = 1_000
"""Until then a call may still open files."""


@dataclass(slots=True, eq=False)
class CallSlot:
    """Capacity reserved for one call before the call exists. `leave` is idempotent."""

    calls: Calls
    address: str
    session: Session | None = None
    has_left: bool = False

    def fill(self, session: Session) -> None:
        """Assign the call to this slot."""
        self.session = session
        session.address = self.address
        session.on_ended.append(lambda _: self.leave())
        self.calls.sessions[session.call_id] = session
        self.calls.model = session.participant.describe()
        self.calls.agent_name = session.participant.name
        for follow in self.calls.on_call:
            follow(session)

    def leave(self) -> None:
        """Release the slot: the call has ended, or was never created."""
        if self.has_left:
            return
        self.has_left = True
        if self.session is not None:
            self.calls.sessions.pop(self.session.call_id, None)
        self.calls.admission.load.left(self)
        self.calls.give_back(self.address)


class Calls:
    """The running calls. Keeps them alive without listeners and checks every limit before it creates anything."""

    def __init__(
        self,
        *,
        max_per_address: int,
        max_total: int,
        max_lag_ms: float = DEFAULT_MAX_LAG_MS,
        max_busy: float = DEFAULT_MAX_BUSY,
        archive: Archive | None = None,
        recordings: Recordings | None = None,
        files: OpenFiles | None = None,
        callers: CallerSessions | None = None,
        memories: UserMemories | None = None,
    ) -> None:
        self.archive = archive
        """Stores calls beyond this process; None: they are not stored."""
        self.recordings = recordings
        """Records the audio of calls that consent; None: nothing is recorded."""
        self.callers = callers
        """What agents remember of the users who call them; None: nothing."""
        self.memories = memories
        """The long-term memories of the users who call; None: there are none."""
        self.sessions: dict[str, Session] = {}
        """By `call_id`."""
        self.make_runtime: Callable[[asyncio.AbstractEventLoop], Runtime] = Runtime.of_loop
        """Gives a socket its time, ids and chance; tests and replays inject repeatable ones."""
        self.on_call: list[Callable[[Session], None]] = []
        """Callbacks that receive each call before anything has happened in it."""
        self.draining = False
        self.model: dict[str, Any] | None = None
        """The model description of the latest call's agent."""
        self.agent_name = ""
        """The name of that agent; empty before the first call."""
        self.admission = Admission(Load(max_lag_ms, max_busy), lambda: self.running)
        """Lets calls begin while the event loop has time for them; admits all of them until it is started."""
        self._max_per_address = max_per_address
        self._max_total = max_total
        self._files = files
        self._told_files_at_s = -math.inf
        self._restoring: set[str] = set()
        self._forgetting: set[str] = set()
        self._openings: set[asyncio.Task[None]] = set()
        self._slots: Counter[str] = Counter()
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def record(self) -> Callable[[Session], Recorder] | None:
        """Makes the recorder of a call; None: nothing is recorded."""
        return self.recordings.begin if self.recordings is not None else None

    @property
    def running(self) -> int:
        """Number of calls, including those being created."""
        return self._slots.total()

    def take_slot(self, address: str) -> CallSlot:
        """Reserve a slot for one more call of this address.

        Raises ClientError where there is none, Overloaded where the process has too few files left for it.
        """
        if self.draining:
            raise ClientError("the server is about to stop and takes no new calls", code="draining", retryable=True)
        # Calls without a client do not prevent a new one.
        deserted = [one for one in self.sessions.values() if one.address == address and one.is_deserted]
        if self._slots[address] - len(deserted) >= self._max_per_address:
            raise ClientError(
                f"there are {self._max_per_address} calls from this address already: end one first",
                code="too_many_calls",
                retryable=True,
            )
        if self.running >= self._max_total:
            raise ClientError("the server is full: try again later", code="server_full", retryable=True)
        if self._files is not None and self._files.lack(self._beginning):
            self._note_files()
            raise Overloaded(RETRY_AFTER_MS)
        if self._slots[address] >= self._max_per_address:
            # The one that waits longest ends: a client that opens and drops calls could else hold any number of them.
            deserted[0].end_soon("listener_gone")
        self._slots[address] += 1
        self._empty.clear()
        return CallSlot(self, address)

    def _beginning(self) -> int:
        """Count the calls that have not opened all their files yet."""
        return self.running - sum(one.log.now_ms() >= OPENING_MS for one in self.sessions.values())

    def _note_files(self) -> None:
        now_s = time.monotonic()
        if now_s >= self._told_files_at_s + NOTICE_EVERY_S:
            self._told_files_at_s = now_s
            logger.warning("calls are refused (overloaded): this process has too few open files left; raise ulimit -n")

    async def forget(self, call_id: str) -> tuple[str, ...]:
        """Delete the call: its recording, then its log. Return the names of the parts that remain.

        A live call is ended first. The log remains while the recording does, so that the call can be found and deleted
        again; until then the call cannot be resumed. Raises ClientError while the call is being resumed, and while
        another process has it (`call_elsewhere`).
        """
        if call_id in self._restoring:
            raise ClientError("the call is being resumed: try again", code="resume_under_way", retryable=True)
        if call_id in self._forgetting:
            return ("log",)  # for now
        self._forgetting.add(call_id)
        try:
            live = self.sessions.get(call_id)
            if live is not None:
                await live.end("deleted")
            elif self.archive is not None:
                await self.archive.take(call_id)
            if self.recordings is not None and not await self.recordings.delete(call_id):
                return ("recording",) if self.archive is None else ("recording", "log")
            if self.archive is not None:
                await self.archive.delete(call_id)
        except StoreError:
            return ("log",)
        finally:
            if self.archive is not None:
                await self.archive.release(call_id)
            self._forgetting.discard(call_id)
        return ()

    def finish(self, opening: asyncio.Task[None]) -> None:
        """Own the task that creates a call whose socket was lost; its client may return to it."""
        self._openings.add(opening)
        opening.add_done_callback(self._opened)

    def _opened(self, opening: asyncio.Task[None]) -> None:
        self._openings.discard(opening)
        if not opening.cancelled() and (error := opening.exception()) is not None:
            logger.error("a call could not be made", exc_info=error)

    @contextmanager
    def restoring(self, call_id: str) -> Iterator[None]:
        """Hold the call while the archive restores it. Raises ClientError where that is already in progress."""
        if call_id in self._forgetting:
            raise no_such_token()
        if call_id in self._restoring or call_id in self.sessions:
            raise ClientError("the call is being resumed already: try again", code="resume_under_way", retryable=True)
        self._restoring.add(call_id)
        try:
            yield
        finally:
            self._restoring.discard(call_id)

    def give_back(self, address: str) -> None:
        """See `CallSlot.leave`."""
        self._slots[address] -= 1
        if not self._slots[address]:
            del self._slots[address]
        if not self._slots:
            self._empty.set()

    async def drain(self, wait_s: float) -> None:
        """Refuse new calls and end running ones within `wait_s` seconds.

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
