"""Writes the logs of all live calls to the store, in background.

The event loop only collects new entries; encoding and writing are one executor job at a time. If the store fails or is
slow, calls continue in memory with a warning, and the spill retries. Once the store recovers, it writes what the logs
still hold and records the rest as a gap in `CallInfo.gaps`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import Any, TypeVar

import msgspec

from realtime.errors import StoreError, UsageError
from realtime.event.server import ServerEvent
from realtime.state.log import Entry, Log, last_seq_of
from realtime.state.quota import Quota
from realtime.state.redaction import Redaction
from realtime.state.spilled_call import SpilledCall
from realtime.state.store import CallInfo, Change, Store

T = TypeVar("T")

logger = logging.getLogger(__name__)

EVERY_S = 0.05
"""The time between two writes; with the write itself below the 100 ms that a killed process may lose."""
AUDIO_EVERY_S = 0.5
"""Longest time before a growing run of audio is written.

It is written with the entry that follows it, or after this time. A killed process may lose twice this much of the audio
sent; words and turns are stored within `EVERY_S`.
"""
SLOW_AFTER_S = 5.0
"""A write that takes longer is reported as trouble. A disk or a processor that is busy for a moment is none."""
SLOW = "store_slow"
RETRY_S = (0.25, 5.0)
"""The pause after a failure: the first one, and the longest after doubling each time."""
MAX_ENDED = 256
"""Ended calls that wait for a failing store, 200 kB each; beyond it the earliest ended call is lost."""
MAX_ENDED_SLOW = 2_048
"""The same for a slow store: a server that stops ends all of its calls within one write."""
CALLS_AT_ONCE = 64
"""Logs that are read without yielding to the event loop: well below a millisecond."""
INFO_BYTES = 2_000
"""The approximate size of a `CallInfo`: calls without words fill a store, too."""
ENTRIES_AT_ONCE = 10_000
"""The size of one executor job, rounded up to whole calls."""

Trouble = Callable[[str | None, StoreError], None]
Recovered = Callable[[str | None], None]


class Spill:
    """The only writer of logs to `store`; one per process, used on one event loop.

    Blocking work runs in `executor` (None: the loop's own). `on_trouble(call_id, error)` is called once when a call, or
    with None the whole store, can no longer be written, and again if a slow store fails; `on_recovered(call_id)` once
    when it can be written again. The spill closes neither the store nor the executor. A call that exceeds `quota` is
    reported as trouble (`store_quota`), and the rest of its log is recorded as a gap. With a `redaction`, the store
    gets no text that this has not seen.
    """

    def __init__(
        self,
        store: Store,
        executor: Executor | None = None,
        *,
        on_trouble: Trouble | None = None,
        on_recovered: Recovered | None = None,
        quota: Quota | None = None,
        redaction: Redaction | None = None,
        every_s: float = EVERY_S,
        slow_after_s: float = SLOW_AFTER_S,
    ) -> None:
        self._store = store
        self._executor = executor
        self._on_trouble = on_trouble
        self._on_recovered = on_recovered
        self._quota = quota or Quota()
        self._redaction = redaction
        self._every_s = every_s
        self._slow_after_s = slow_after_s
        self._live: dict[str, SpilledCall] = {}
        self._ended: deque[SpilledCall] = deque()
        self._queue: dict[SpilledCall, None] = {}
        self._failed: dict[SpilledCall, None] = {}
        self._troubles: dict[str | None, StoreError] = {}
        self._flushes: list[asyncio.Future[None]] = []
        self._wake = asyncio.Event()
        self._at_work = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._next_s = 0.0
        self._sweep_at_s: float | None = None
        self._retry_at_s = 0.0
        self._retry_s = RETRY_S[0]
        self._closed = False

    # -- calls -----------------------------------------------------------------------------------------------------

    @property
    def trouble(self) -> StoreError | None:
        """Why calls, or one of them, cannot be written now; None while the store works."""
        return self._troubles.get(None) or next(iter(self._troubles.values()), None)

    def add(self, info: CallInfo, log: Log, *, address: str = "") -> None:
        """Store this call from now on, from `info.last_seq` on: a resumed call has earlier entries in the store.

        `address` is charged for it. Raises UsageError for a call that was added already, and after `close`; StoreError
        (`store_quota`) if the address has used its share: the call is then not stored.
        """
        if self._closed or info.call_id in self._live:
            raise UsageError("the spill is closed" if self._closed else f"call {info.call_id} was added already")
        refusal = self._quota.refusal(address, asyncio.get_running_loop().time())
        if refusal is not None:
            raise refusal
        call = self._live[info.call_id] = SpilledCall(info, log, address)
        for earlier in self._ended:
            if earlier.info.call_id == info.call_id:
                # The new info replaces the one that waits with the rest of the earlier log.
                earlier.info, earlier.info_due = info, not earlier.known

        def note(_: ServerEvent) -> None:
            if not call.queued:
                self._enqueue(call)
            elif self._may_be_taken(call):
                call.keep_up()

        call.unsubscribe = log.subscribe(note, audio=False)
        self._enqueue(call)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="spill")

    def update(self, call_id: str, **changes: Any) -> None:
        """Change fields of the call's info; does nothing for an unknown call."""
        call = self._live.get(call_id)
        if call is not None:
            call.info = msgspec.structs.replace(call.info, **changes)
            call.info_due = True
            self._enqueue(call)

    def info(self, call_id: str) -> CallInfo | None:
        """Return the newest info of a call: live, or ended and waiting for the store; None for others."""
        call = self._live.get(call_id)
        if call is not None:
            return msgspec.structs.replace(call.info, last_seq=call.written_seq)
        waiting = self._waiting(call_id)
        return msgspec.structs.replace(waiting[-1].info, last_seq=waiting[-1].log.last_seq) if waiting else None

    def unwritten(self, call_id: str) -> list[Entry]:
        """Return the entries that wait for the store: of a live or ended call."""
        live = self._live.get(call_id)
        calls = [*self._waiting(call_id), *([live] if live is not None else [])]
        return [entry for call in calls for entry in call.unwritten()]

    def is_behind(self, call_id: str) -> bool:
        """Whether entries of this ended call still wait for the store."""
        return bool(self._waiting(call_id))

    def _waiting(self, call_id: str) -> list[SpilledCall]:
        return [one for one in self._ended if one.info.call_id == call_id and one.is_due()]

    def remove(self, call_id: str) -> None:
        """End the call: the rest of its log is written as soon as possible."""
        call = self._live.pop(call_id, None)
        if call is None:
            return
        call.unsubscribe()
        call.ended = True
        self._quota.forget(asyncio.get_running_loop().time())
        if call.log.last_seq == call.written_seq and not call.info_due:
            self._report_recovery(call_id)
            return
        self._enqueue(call)
        self._ended.append(call)
        fails = any(trouble.code != SLOW for trouble in self._troubles.values())
        while len(self._ended) > (MAX_ENDED if fails else MAX_ENDED_SLOW) and self._troubles:
            lost = self._ended.popleft()
            lost.gone = True
            self._troubles.pop(lost.info.call_id, None)
            logger.error("call %s: what the store did not take of it is lost", lost.info.call_id)

    async def delete(self, call_id: str) -> bool:
        """Delete the call here and in the store; returns False if the store had none.

        Waits for a write in progress. Raises StoreError.
        """
        live = self._live.pop(call_id, None)
        if live is not None:
            live.unsubscribe()
            live.gone = True
        for call in [*self._ended]:
            if call.info.call_id == call_id:
                call.gone = True
                self._ended.remove(call)
        self._troubles.pop(call_id, None)
        async with self._at_work:
            try:
                if self._redaction is not None:
                    await self._in_executor(self._redaction.forget, call_id)
                return await self._in_executor(self._store.delete, call_id)
            except StoreError as error:
                self._note_loss(error)
                raise

    # -- the end ---------------------------------------------------------------------------------------------------

    async def flush(self) -> None:
        """Write at once and wait until everything logged so far is stored.

        Raises StoreError if that fails; the spill retries later all the same. Cancelling stops only the waiting.
        """
        if self._task is None:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._flushes.append(waiter)
        self._wake.set()
        await waiter

    async def close(self, patience_s: float = 5.0) -> None:
        """Write the rest and stop. Idempotent.

        What the store does not accept within `patience_s` is lost, and the server logs how much.
        """
        self._closed = True
        if self._task is None:
            return
        try:
            async with asyncio.timeout(patience_s):
                await self.flush()
        except (StoreError, TimeoutError) as error:
            left = {call.info.call_id for call in (*self._live.values(), *self._ended) if call.is_due()}
            logger.error("the store did not take the rest of %d calls: %s", len(left), str(error) or "it is too slow")
        finally:
            task, self._task = self._task, None
            for call in self._live.values():
                call.unsubscribe()
            if task is not None:
                task.cancel()
                await asyncio.wait([task])

    # -- at work ---------------------------------------------------------------------------------------------------

    def _enqueue(self, call: SpilledCall) -> None:
        if not call.queued:
            call.queued = True
            self._queue[call] = None
            if len(self._queue) == 1:
                self._wake.set()

    async def _run(self) -> None:
        waiters: list[asyncio.Future[None]] = []
        try:
            while True:
                await self._due()
                self._next_s = asyncio.get_running_loop().time() + self._every_s
                waiters, self._flushes = self._flushes, []
                self._sweep(whole=bool(waiters))
                # The lock keeps a deletion from finding a lost store between reading the logs and writing.
                async with self._at_work:
                    error = await self._write_all(hurry=bool(waiters))
                _release(waiters, error)
        finally:
            _release([*waiters, *self._flushes], StoreError("the spill was closed", code="store_closed"))

    def _sweep(self, *, whole: bool) -> None:
        """Queue the calls that have had only audio for a while; with `whole`, every call that is not fully stored.

        Audio does not wake the spill: after a write, sweeps follow until every call is fully stored.
        """
        has_come = self._sweep_at_s is not None and _has_come(self._sweep_at_s)
        lacking = bool(self._queue)
        if whole or has_come:
            self._sweep_at_s = None
            for call in self._live.values():
                if call.log.last_seq > call.written_seq and not call.cut:
                    lacking = True
                    if whole or call.swept_seq == call.written_seq:
                        call.audio_due = True
                        self._enqueue(call)
                call.swept_seq = call.written_seq
        if lacking and self._sweep_at_s is None:
            self._sweep_at_s = asyncio.get_running_loop().time() + AUDIO_EVERY_S

    async def _due(self) -> None:
        """Wait until a write is due or requested by `flush`."""
        while not self._flushes:
            times: list[float] = []
            if self._queue:
                times.append(max(self._next_s, self._retry_at_s) if None in self._troubles else self._next_s)
            if self._failed:
                times.append(self._retry_at_s)
            if self._sweep_at_s is not None:
                times.append(self._sweep_at_s)
            at_s = min(times, default=None)
            if at_s is not None and _has_come(at_s):
                return
            self._wake.clear()
            # `asyncio.timeout` would raise and catch two exceptions, twenty times a second.
            timer = asyncio.get_running_loop().call_at(at_s, self._wake.set) if at_s is not None else None
            try:
                await self._wake.wait()
            finally:
                if timer is not None:
                    timer.cancel()

    async def _write_all(self, *, hurry: bool) -> StoreError | None:
        """Write all queued calls, and failed ones if their retry is due; returns the error, if any."""
        calls, self._queue = [*self._queue], {}
        if self._failed and (hurry or _has_come(self._retry_at_s)):
            calls, self._failed = [*self._failed, *calls], {}
        error: StoreError | None = None
        batch: list[tuple[SpilledCall, Change]] = []
        n_entries = 0
        for number, call in enumerate(calls, 1):
            if call.gone:
                continue
            call.queued = False
            change = call.take()
            if change.info is None and not change.entries:
                continue
            batch.append((call, change))
            n_entries += len(change.entries)
            if n_entries >= ENTRIES_AT_ONCE:
                error = await self._write(batch) or error
                batch, n_entries = [], 0
                if None in self._troubles:
                    self._put_back(calls[number:])
                    return error
            elif number % CALLS_AT_ONCE == 0:
                await asyncio.sleep(0)
        return (await self._write(batch) if batch else None) or error

    async def _write(self, batch: Sequence[tuple[SpilledCall, Change]]) -> StoreError | None:
        """Write one batch and queue what failed again; returns the error, if any."""
        batch = [(call, change) for call, change in batch if not call.gone]
        for call, change in batch:
            call.info_due = call.info_due and change.info is not call.info
        loop = asyncio.get_running_loop()
        slow = loop.call_later(self._slow_after_s, self._report_trouble, None, _too_slow(self._slow_after_s))
        error: StoreError | None = None
        try:
            changes = [change for _, change in batch]
            if self._redaction is not None:
                await self._in_executor(self._redaction.apply, changes)
            await self._in_executor(self._store.write, changes)
            if self._redaction is not None:
                self._redaction.wrote(changes)
        except StoreError as failure:
            error = failure
        except Exception as failure:
            logger.exception("the store failed in a way of its own")
            error = StoreError(f"{type(failure).__name__} in the store", code="store_failed")
        finally:
            slow.cancel()
        failed = self._failed_ids(batch, error)
        self._report(batch, error, failed)
        for call, change in batch:
            if failed is None or change.call_id in failed:
                call.info_due = call.info_due or change.info is not None
                if not call.gone:
                    self._put_back([call])
            else:
                is_new, call.known = not call.known, True
                self._charge(call, change.n_bytes + (INFO_BYTES if is_new else 0))
                if change.entries:
                    call.wrote(last_seq_of(change.entries[-1]))
        if error is not None:
            self._note_loss(error)
        self._ended = deque(call for call in self._ended if call.is_due())
        for call in self._ended:
            self._enqueue(call)  # its log grew after the end
        return error

    def _charge(self, call: SpilledCall, n_bytes: int) -> None:
        """Charge the quota; a call beyond it is no longer written."""
        call.n_bytes += n_bytes
        refusal = self._quota.charge(call.address, n_bytes, call.n_bytes, asyncio.get_running_loop().time())
        if refusal is not None and not (call.cut or call.ended):
            call.cut = True
            call.unsubscribe()
            if self._on_trouble is not None:
                _call_back(self._on_trouble, call.info.call_id, refusal)

    def _note_loss(self, error: StoreError) -> None:
        """Queue everything in the logs if the store has lost its data."""
        if not error.lost:
            return
        for call in (*self._live.values(), *self._ended):
            if error.call_ids is None or call.info.call_id in error.call_ids:
                call.lose()
                self._put_back([call])

    @staticmethod
    def _failed_ids(batch: Sequence[tuple[SpilledCall, Change]], error: StoreError | None) -> frozenset[str] | None:
        """Return the calls that failed; None if the whole store failed."""
        if error is None:
            return frozenset()
        ids = {change.call_id for _, change in batch}
        return None if error.call_ids is None or (len(ids) > 1 and ids <= error.call_ids) else error.call_ids

    def _report(
        self, batch: Sequence[tuple[SpilledCall, Change]], error: StoreError | None, failed: frozenset[str] | None
    ) -> None:
        """Report new troubles and recoveries; schedule the next retry."""
        if error is not None:
            for call_id in (None,) if failed is None else failed:
                self._report_trouble(call_id, error)
            self._retry_at_s = asyncio.get_running_loop().time() + self._retry_s
            self._retry_s = min(2 * self._retry_s, RETRY_S[1])
        if failed is not None:
            written = {change.call_id for _, change in batch} - failed
            if written or error is None:
                self._report_recovery(None)
            for call_id in written & self._troubles.keys():
                self._report_recovery(call_id)
        if not self._troubles:
            self._retry_s = RETRY_S[0]

    def _put_back(self, calls: Iterable[SpilledCall]) -> None:
        for call in calls:
            call.queued = True
            self._queue.pop(call, None)  # it may have been queued during the write
            self._failed[call] = None

    def _may_be_taken(self, call: SpilledCall) -> bool:
        """Whether the store may soon accept more: it works or is only slow."""
        trouble = self._troubles.get(None) or self._troubles.get(call.info.call_id)
        return trouble is None or trouble.code == SLOW

    def _report_trouble(self, call_id: str | None, error: StoreError) -> None:
        known = self._troubles.get(call_id)
        if known is None or (known.code == SLOW and error.code != SLOW):
            self._troubles[call_id] = error
            if self._on_trouble is not None:
                _call_back(self._on_trouble, call_id, error)

    def _report_recovery(self, call_id: str | None) -> None:
        if self._troubles.pop(call_id, None) is not None and self._on_recovered is not None:
            _call_back(self._on_recovered, call_id)

    async def _in_executor(self, job: Callable[[Any], T], argument: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, job, argument)


def _release(waiters: Iterable[asyncio.Future[None]], error: StoreError | None) -> None:
    for waiter in waiters:
        if waiter.done():
            continue
        if error is None:
            waiter.set_result(None)
        else:
            waiter.set_exception(error)


def _has_come(at_s: float) -> bool:
    # A timer may fire early by the resolution of the loop's clock.
    return asyncio.get_running_loop().time() + 1e-6 >= at_s


def _too_slow(limit_s: float) -> StoreError:
    return StoreError(f"the store has been writing for more than {limit_s:g} s", code=SLOW)


def _call_back(callback: Callable[..., None], *arguments: object) -> None:
    try:
        callback(*arguments)
    except Exception:
        logger.exception("a callback for the state of the store failed")
