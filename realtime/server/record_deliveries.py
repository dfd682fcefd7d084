"""Sends the records of ended calls to a webhook.

Where that fails it is tried again, also after a restart.

What waits is a note in the store: the call and the place of its record in the log, no words. So a call that is deleted
takes its deliveries along.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from realtime.agent.call_record import CALL_RECORD
from realtime.call.session import Session
from realtime.errors import ClientError, RealtimeError, StoreError
from realtime.event.server import ServerCustomEvent
from realtime.runtime import Runtime, iso
from realtime.server.archive import Archive
from realtime.server.webhook import Webhook, WebhookFailed
from realtime.state.redaction import Redaction
from realtime.state.store import encode_entry

logger = logging.getLogger(__name__)

RETRIES_S = (5.0, 30.0, 120.0, 600.0, 3_600.0, 10_800.0, 36_000.0)
"""The waits before further tries, half a day in all."""
MAX_PENDING = 1_000
"""Records that wait for their delivery."""
AT_ONCE = 4
CLOSE_S = 3.0
"""Seconds that the end of the server waits for deliveries."""
TYPE = "call.record"
GONE = 410
"""The status of a receiver that wants no more of it."""
_NOTES = hashlib.sha256(b"record webhook").hexdigest()[:32] + "-"
"""How the names of its notes begin."""


class _Note(msgspec.Struct, frozen=True):
    """A delivery that waits: the `seq` of the record, the tries so far, and when the next is due (epoch seconds)."""

    call_id: str
    seq: int
    attempts: int = 0
    due_s: float = 0.0

    @property
    def message_id(self) -> str:
        """The same in each try: the receiver takes repeated ones once."""
        return f"{self.call_id}-{self.seq}"

    @property
    def key(self) -> str:
        """Its name in the store."""
        return _NOTES + hashlib.sha256(self.message_id.encode()).hexdigest()


class RecordDeliveries:
    """Delivers the records of a server's calls to `webhook`.

    A record is sent when its call is over, from tasks of their own: no call waits for a receiver, and the end of the
    server at most `CLOSE_S`. Without an `archive`, what waits is lost with the process. A status of 2xx is success;
    everything else is tried again after `retries_s`, and 410 never. Every try has the same `webhook-id`: a process that
    is killed, or another one on the same store, may send a record twice. `redaction` takes secrets out of it.
    """

    def __init__(
        self,
        webhook: Webhook,
        archive: Archive | None,
        redaction: Redaction | None = None,
        *,
        retries_s: Sequence[float] | None = None,
    ) -> None:
        self._webhook = webhook
        self._archive = archive
        self._redaction = redaction
        self._retries_s = RETRIES_S if retries_s is None else retries_s
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._taking_up: asyncio.Task[None] | None = None
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self._runtime = Runtime()
        self._first_tries: set[str] = set()
        """The deliveries that were not tried yet."""

    def follow(self, session: Session) -> None:
        """Deliver the record of this call once it is over."""
        latest: list[ServerCustomEvent] = []

        def note(event: object) -> None:
            if isinstance(event, ServerCustomEvent) and event.name == CALL_RECORD:
                latest[:] = [event]

        def begin(_: Session) -> None:
            if latest:
                event = latest[0]
                body = body_of(session.call_id, session.owner, session.session_id, session.created_at, event)
                self._begin(_Note(session.call_id, event.seq), body)

        session.log.subscribe(note, audio=False)
        session.on_ended.append(begin)

    def start(self) -> None:
        """Take up what a former process has left."""
        self._runtime = Runtime.of_loop(asyncio.get_running_loop())
        if self._archive is not None:
            self._taking_up = asyncio.create_task(self._take_up(self._archive), name="records that wait")

    async def close(self) -> None:
        """Wait at most `CLOSE_S` for what was not tried yet; the rest waits in the store. Idempotent."""
        if first := [task for key, task in self._tasks.items() if key in self._first_tries]:
            await asyncio.wait(first, timeout=CLOSE_S)
        tasks = [*self._tasks.values(), *filter(None, [self._taking_up])]
        if self._archive is None and self._tasks:
            logger.error("%d records of calls were not delivered and are lost: no store keeps them", len(self._tasks))
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # -- one delivery ----------------------------------------------------------------------------------------------

    def _begin(self, note: _Note, body: bytes | None) -> None:
        if len(self._tasks) >= MAX_PENDING or note.key in self._tasks:
            if note.key not in self._tasks:
                logger.error("the record of call %s is not sent: %d wait already", note.call_id, MAX_PENDING)
            return
        if not note.attempts:
            self._first_tries.add(note.key)
        task = asyncio.create_task(self._deliver(note, body), name=f"record {note.call_id}")
        self._tasks[note.key] = task
        task.add_done_callback(lambda done: self._done(note.key, done))

    def _done(self, key: str, task: asyncio.Task[None]) -> None:
        self._tasks.pop(key, None)
        self._first_tries.discard(key)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("the record of a call could not be delivered", exc_info=error)

    async def _deliver(self, note: _Note, body: bytes | None) -> None:
        """Deliver one record. `body` is None where the store has it."""
        if body is not None and self._redaction is not None:
            body = await asyncio.to_thread(_redacted, body, self._redaction)
        is_kept = body is None or await self._keep(note)
        while True:
            await asyncio.sleep(max(0.0, note.due_s - self._runtime.wall_now()))
            async with self._at_once:
                try:
                    found = await self._wanted(note, body) if is_kept else body
                    if found is None:
                        return
                    status = await self._webhook.post(note.message_id, found, self._runtime.wall_now())
                    why = f"it answered {status}"
                except (WebhookFailed, ClientError) as error:
                    status, why = 0, error.message
            self._first_tries.discard(note.key)
            if 200 <= status < 300 or status == GONE or note.attempts >= len(self._retries_s):
                if not 200 <= status < 300:
                    tries = note.attempts + 1
                    logger.error("the record of call %s is given up after %d tries: %s", note.call_id, tries, why)
                if is_kept:
                    await self._store(note, is_due=False)
                return
            wait_s = self._retries_s[note.attempts] * self._runtime.random.uniform(0.8, 1.2)
            logger.warning("the record of call %s was not taken: %s; next try in %.0f s", note.call_id, why, wait_s)
            note = msgspec.structs.replace(note, attempts=note.attempts + 1, due_s=self._runtime.wall_now() + wait_s)
            if is_kept:
                await self._store(note, is_due=True)

    async def _keep(self, note: _Note) -> bool:
        """Note in the store what is to be delivered; False where the store does not have the call."""
        if self._archive is None:
            return False
        try:
            if await self._archive.info(note.call_id) is None:
                return False
        except ClientError:
            return False
        return await self._store(note, is_due=True)

    async def _store(self, note: _Note, *, is_due: bool) -> bool:
        """Write the note, or remove it; False where the store fails."""
        assert self._archive is not None
        written = msgspec.json.encode(note) if is_due else None
        try:
            await self._archive.put_note(note.key, iso(self._runtime.wall_now()), written)
        except StoreError as error:
            logger.error("the delivery of a record could not be noted: %s", error)
            return False
        return True

    async def _wanted(self, note: _Note, body: bytes | None) -> bytes | None:
        """Return what to send; None where the call is deleted, or another process has sent it.

        Raises ClientError while the store cannot be read.
        """
        assert self._archive is not None
        if await self._archive.note(note.key) is None:
            return None
        info = await self._archive.info(note.call_id)
        if info is not None and body is None:
            for entry in await self._archive.entries(note.call_id, note.seq - 1):
                if entry.seq == note.seq and isinstance(entry, ServerCustomEvent):
                    body = body_of(info.call_id, info.owner, info.session_id, info.created_at, entry)
                    break
        if info is None or body is None:
            await self._store(note, is_due=False)
            return None
        return body

    async def _take_up(self, archive: Archive) -> None:
        """Begin the deliveries that the store has noted."""
        try:
            for key in await archive.note_keys(_NOTES):
                written = await archive.note(key)
                try:
                    note = msgspec.json.decode(written or b"", type=_Note)
                except msgspec.MsgspecError:
                    logger.error("a delivery of a record is unreadable and dropped")
                    await archive.put_note(key, "", None)
                    continue
                self._begin(note, None)
        except RealtimeError as error:
            logger.error("records that wait for their delivery could not be read: %s", error)


def _redacted(body: bytes, redaction: Redaction) -> bytes:
    """Return the message as it is stored."""
    message = json.loads(body)
    message["data"] = {
        name: one if name == "model" or name.endswith("_id") else redaction.value(one)
        for name, one in message["data"].items()
    }
    return json.dumps(message, ensure_ascii=False).encode()


def body_of(call_id: str, owner: str, session_id: str, created_at: str, event: ServerCustomEvent) -> bytes:
    """Return the message with a record: the same bytes before and after it was stored."""
    stored = json.loads(encode_entry(event))
    began = datetime.fromisoformat(created_at).astimezone(UTC)
    message = {
        "type": TYPE,
        "timestamp": iso(began.timestamp() + event.ts_ms / 1000),
        "data": {"call_id": call_id, "user_id": owner, "session_id": session_id, **stored["value"]},
    }
    return json.dumps(message, ensure_ascii=False).encode()
