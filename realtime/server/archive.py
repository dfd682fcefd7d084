"""Stored calls of a server: what is kept of them, and how one resumes."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from realtime.call.resume_token import ResumeToken
from realtime.call.session import Session
from realtime.errors import ClientError, RealtimeError, StoreError
from realtime.event import server as s
from realtime.event.config import PermissionSettings, SessionConfig
from realtime.permission.accepted import AcceptedRules
from realtime.runtime import Runtime, iso
from realtime.server.kept_rules import KeptRules
from realtime.state.gist import Gist
from realtime.state.log import AudioRun, Entry, Log, last_seq_of
from realtime.state.quota import Quota
from realtime.state.redaction import Redaction
from realtime.state.restore import LastPlayed, Restored, ends_of_grace, restore
from realtime.state.spill import SLOW, Spill
from realtime.state.store import CallInfo, PageCursor, Store, is_call_id, merged

T = TypeVar("T")

logger = logging.getLogger(__name__)

RESUMABLE_ENDS = (None, "listener_gone", "shutdown", "agent_failed")
"""End reasons after which a call can resume: it lost its client or its server, or its model was unavailable."""
READ_AT_ONCE = 2_000
"""Log entries that one job reads: it holds the interpreter for about 10 ms."""
TOKEN_S = 0.5
"""Seconds that a returning client waits for its token to be stored."""
FLUSH_S = 2.0
"""Seconds that a reader waits for pending writes to the store."""


def no_such_token() -> ClientError:
    """The error for every invalid token; it does not say what is wrong with it."""
    return ClientError("this token opens no call: create a new one", code="invalid_resume_token")


@dataclass(frozen=True, slots=True)
class Found:
    """A stored call that can resume: its record, its log, and the state restored from it."""

    info: CallInfo
    entries: Sequence[Entry]
    restored: Restored

    @property
    def config(self) -> SessionConfig:
        """The session settings, with the changes made during the call."""
        return SessionConfig.from_dict(self.info.config | self.restored.config)

    def received_samples(self, config: SessionConfig) -> int | None:
        """Samples of client audio that were fully understood; None where the log does not say."""
        since_ms = self.restored.understood_ms
        if since_ms is None:
            return None
        return since_ms * config.input_rate_hz // 1000

    def session(self, **parts: Any) -> Session:
        """Build the call, ready to start; `parts` are keyword arguments of `Session`."""
        runtime: Runtime = parts["runtime"]
        restored = self.restored
        # The time without a listener is not part of the call's time.
        log = Log(runtime.now, last_seq=restored.last_seq, start_ms=restored.last_ts_ms)
        resume_token = ResumeToken(self.info.call_id, runtime.new_id, kept=self.info.token_hash or "")
        session = Session(
            call_id=self.info.call_id,
            session_id=self.info.session_id,
            owner=self.info.owner,
            log=log,
            conversation=restored.conversation,
            resume_token=resume_token,
            recent_ids=self.info.event_ids,
            accepted=AcceptedRules(restored.accepted),
            owed=restored.owed,
            **parts,
        )
        session.participant.agent_id = session.participant.agent_id or restored.agent_id
        writes_down = self.config.input_audio_transcription is not False
        for event in restored.closing:
            # Without transcription, no words of the user are lost.
            if writes_down or not isinstance(event, s.AgentInputTranscriptionFailedEvent):
                log.append(event)
        return session


def events_after(entries: Iterable[Entry], last_seq: int) -> list[s.ServerEvent]:
    """Events after `last_seq`, without the ends that a resume has revoked."""
    events = (entry for entry in entries if not isinstance(entry, AudioRun))
    return [event for event in events if event.seq > last_seq and not ends_of_grace(event)]


class Archive:
    """Keeps every call of a server in `store`.

    When the store fails, the affected calls get a warning and continue in memory. `resume_s` is how many seconds after
    its last activity a stored call can be resumed; `quota` limits how much calls may store; `redaction` takes secrets
    out of it.
    """

    def __init__(
        self, store: Store, *, resume_s: float, quota: Quota | None = None, redaction: Redaction | None = None
    ) -> None:
        self._store = store
        self._resume_s = resume_s
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="store-reader")
        self._spill = Spill(
            store,
            self._executor,
            on_trouble=self._in_trouble,
            on_recovered=self._recovered,
            quota=quota,
            redaction=redaction,
        )
        self._kept_rules = KeptRules(store, self._executor)
        self._live: dict[str, Session] = {}
        self._is_known_slow = False
        self._is_logged = False
        """Whether the server log already reports the store's present failure."""
        self._closed = False

    def keep(self, session: Session, info: CallInfo | None = None) -> None:
        """Store this call from now on; `info` is the stored record of a resumed call."""
        runtime = session.runtime
        if info is None:
            config = {key: value for key, value in msgspec.to_builtins(session.config).items() if value is not None}
            info = CallInfo(
                call_id=session.call_id,
                owner=session.owner,
                session_id=session.session_id,
                created_at=session.created_at,
                config=config,
                first_words="",
                turns=0,
                errors=0,
            )
        else:
            info = msgspec.structs.replace(info, ended_at=None, ended_reason=None)
        info = msgspec.structs.replace(info, agent_name=session.config.agent_name or session.participant.name)
        try:
            self._spill.add(info, session.log, address=session.address)
        except StoreError as refusal:
            logger.warning("call %s is not kept: %s", session.call_id, refusal)
            _warn_at_first(session, refusal)
            return
        self._live[session.call_id] = session
        if self._spill.trouble is not None and self._spill.trouble.code != SLOW:
            _warn_at_first(session, self._spill.trouble)

        gist = Gist(info.first_words or "", info.turns or 0, info.errors or 0)

        def note_gist(event: s.ServerEvent) -> None:
            if gist.take(event):
                known = {"first_words": gist.first_words, "turns": gist.turns, "errors": gist.errors}
                self._spill.update(session.call_id, **known)

        def note_token(kept: str) -> None:
            self._spill.update(
                session.call_id, token_hash=kept, token_expires_at=iso(runtime.wall_now() + self._resume_s)
            )

        def note_taken(event_ids: Sequence[str]) -> None:
            # Written together with what the event caused: after a kill the store has both or neither.
            self._spill.update(session.call_id, event_ids=tuple(event_ids))

        def note_end(_: Session) -> None:
            session.intake.on_taken = None
            self._live.pop(session.call_id, None)
            now = runtime.wall_now()
            changes: dict[str, Any] = {"ended_at": iso(now), "ended_reason": session.end_reason}
            if session.resume_token.kept:
                changes["token_expires_at"] = iso(now + self._resume_s)
            self._spill.update(session.call_id, **changes)
            self._spill.remove(session.call_id)
            session.resume_token.keep_nothing()

        session.log.subscribe(note_gist, audio=False)
        session.resume_token.on_change = note_token
        if session.resume_token.kept:
            note_token(session.resume_token.kept)
        session.intake.on_taken = note_taken
        session.on_ended.append(note_end)

    async def bring_rules(
        self, session: Session, asked: PermissionSettings, *, user_is_known: bool, note: str | None
    ) -> ClientError | None:
        """Let a call begin with the kept rules: see `KeptRules.begin`. Raises StoreError."""
        fault = await self._kept_rules.begin(session, asked, user_is_known=user_is_known, note=note)
        if session.rules_note is not None:
            self._spill.update(session.call_id, rules_note=session.rules_note)
        return fault

    async def find(self, token: str, call_id: str, *, user: str, session_id: str, wall_now: float) -> CallInfo:
        """Return the ended call that the token opens.

        Raises ClientError where the token opens none, while another process has the call (`call_elsewhere`), and while
        the store lacks part of the call: without its end, the call would repeat events that the client has received and
        lose the last turn. The call is then this process's, until it ends or `release`.
        """
        await self._checked(token, call_id, user=user, session_id=session_id, wall_now=wall_now)
        await self.take(call_id)
        try:
            # Once more: until it was claimed, another process may have continued it.
            return await self._checked(token, call_id, user=user, session_id=session_id, wall_now=wall_now)
        except BaseException:
            await self.release(call_id)
            raise

    async def take(self, call_id: str) -> None:
        """Take a call for this process. Raises ClientError while another one has it (`call_elsewhere`)."""
        if await self._is_elsewhere(call_id):
            raise ClientError(
                "the call goes on in another process of this server: try again in a moment",
                code="call_elsewhere",
                retryable=True,
            )

    async def _is_elsewhere(self, call_id: str) -> bool:
        try:
            return not await asyncio.get_running_loop().run_in_executor(self._executor, self._store.claim, call_id)
        except StoreError as error:
            # A disk that is full or read-only keeps no call from going on; no other process can write it either.
            logger.warning("call %s could not be claimed: %s", call_id, error)
            return False

    async def release(self, call_id: str) -> None:
        """Give a call free that was found and does not go on."""
        if call_id in self._live:
            return
        try:
            await asyncio.get_running_loop().run_in_executor(self._executor, self._store.release, call_id)
        except StoreError as error:
            logger.warning("call %s could not be given free: %s", call_id, error)

    async def _checked(self, token: str, call_id: str, *, user: str, session_id: str, wall_now: float) -> CallInfo:
        """Return the ended call that the token opens. Raises ClientError."""
        info = await self.info(call_id)
        if self._spill.is_behind(call_id):
            raise ClientError(
                "the end of the call is not stored yet: try again in a moment", code="store_failed", retryable=True
            )
        if info is None or (info.owner, info.session_id) != (user, session_id):
            raise no_such_token()
        if not ResumeToken(call_id, lambda _: "", kept=info.token_hash or "").is_good(token):
            raise no_such_token()
        if info.ended_reason not in RESUMABLE_ENDS:
            raise ClientError("the call is over: create a new one", code="session_ended")
        if info.token_expires_at is None or info.token_expires_at < iso(wall_now):
            raise ClientError("too much time has passed: create a new call", code="resume_token_expired")
        return info

    async def read_back(self, info: CallInfo, played: LastPlayed | None) -> Found:
        """Read and restore the whole call. Raises ClientError while the store cannot be read."""
        entries = await self.entries(info.call_id)
        restored = await asyncio.get_running_loop().run_in_executor(self._reader, restore, entries, played)
        return Found(info, entries, restored)

    async def missed(self, call_id: str, last_seq: int) -> tuple[list[s.ServerEvent], bool]:
        """Return a live call's events after `last_seq`; True if some are lost."""
        try:
            entries = await self.entries(call_id, last_seq)
        except ClientError:
            # The call itself is fine: it continues with what its log holds.
            return [], True
        info = self._spill.info(call_id)
        return events_after(entries, last_seq), info is not None and info.has_gap_after(last_seq)

    # -- reading ---------------------------------------------------------------------------------------------------

    async def info(self, call_id: str) -> CallInfo | None:
        """Return the record of a live or ended call. Raises ClientError while the store cannot be read."""
        if not is_call_id(call_id):
            return None
        if call_id not in self._live:
            await self._flush()
        held = self._spill.info(call_id)
        return held if held is not None else await self._ask(self._store.call, call_id)

    async def calls(
        self,
        owner: str | None,
        *,
        after: PageCursor | None = None,
        limit: int | None = None,
        oldest_first: bool = False,
    ) -> list[CallInfo]:
        """Return the calls of `owner` (None: of all), newest or oldest first, as `Store.calls`. Raises ClientError."""
        await self._flush()
        ask = functools.partial(self._store.calls, after=after, limit=limit, oldest_first=oldest_first)
        return await self._ask(ask, owner)

    async def n_bytes(self, call_id: str | None = None) -> int:
        """Return the stored bytes of all calls, or roughly of one. Raises ClientError."""
        return await self._ask(self._store.n_bytes, call_id)

    async def entries(self, call_id: str, after_seq: int = 0) -> list[Entry]:
        """Return the log of a call after `after_seq`, up to now. Raises ClientError."""
        await self._flush()
        # Looked up before the store is read: the call may end meanwhile, and what waits may be written.
        live, waiting = self._live.get(call_id), self._spill.unwritten(call_id)
        entries: list[Entry] = []
        while True:
            known = last_seq_of(entries[-1]) if entries else after_seq
            page = await self._ask(self._store.read, call_id, known, READ_AT_ONCE)
            entries += page
            if len(page) < READ_AT_ONCE:
                break
        if live is not None:
            waiting += live.log.read(entries[-1].seq - 1 if entries else after_seq)
        return merged([*entries, *(one for one in waiting if last_seq_of(one) > after_seq)]) if waiting else entries

    async def put_note(self, key: str, kept_at: str, note: bytes | None) -> None:
        """Keep a note, or forget it, as `Store.put_note`. Raises StoreError."""
        await asyncio.get_running_loop().run_in_executor(self._executor, self._store.put_note, key, kept_at, note)

    async def note(self, key: str) -> bytes | None:
        """Return a note; None for an unknown one. Raises ClientError."""
        return await self._ask(self._store.note, key)

    async def note_keys(self, beginning: str) -> list[str]:
        """Return the keys of notes that begin so. Raises ClientError."""
        return await self._ask(self._store.note_keys, beginning)

    async def drop_notes(self, before: str) -> int:
        """Forget what was kept of sessions before this time; return how many those were. Raises ClientError."""
        return await self._ask(self._store.drop_notes, before)

    async def delete(self, call_id: str) -> bool:
        """Delete an ended call; False where there is none. Raises StoreError."""
        try:
            return await self._spill.delete(call_id)
        except StoreError as error:
            logger.error("call %s could not be deleted: %s", call_id, error)
            raise

    async def written(self) -> None:
        """Wait at most `TOKEN_S` until the store has what is known now."""
        if self.trouble is not None:
            return
        with contextlib.suppress(StoreError, TimeoutError):
            async with asyncio.timeout(TOKEN_S):
                await self._spill.flush()

    async def _flush(self) -> None:
        try:
            async with asyncio.timeout(FLUSH_S):
                await self._spill.flush()
        except (StoreError, TimeoutError):
            logger.warning("the store is behind: what it lacks is read from memory")

    async def _ask(self, question: Callable[..., T], *about: Any) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._reader, question, *about)
        except StoreError as error:
            raise _cannot_tell(error) from error

    # -- trouble and the end ---------------------------------------------------------------------------------------

    @property
    def trouble(self) -> str | None:
        """The code of the failure that currently prevents storing; None while the store works."""
        return None if self._spill.trouble is None else self._spill.trouble.code

    def _in_trouble(self, call_id: str | None, error: StoreError) -> None:
        warned = [*self._live.values()] if call_id is None else [one for one in [self._live.get(call_id)] if one]
        if error.code == SLOW:
            # A slow store loses nothing, and under load this comes and goes: one warning is enough.
            if self._is_known_slow:
                return
            self._is_known_slow = True
            warned = _one_of_each_room(warned)
        if call_id is None:
            self._is_logged = True
            logger.error("the store fails: %s", error)
        else:
            logger.error("call %s is not stored: %s", call_id, error)
        for session in warned:
            session.complain(_warning(error))

    def _recovered(self, call_id: str | None) -> None:
        if call_id is not None:
            logger.warning("call %s is stored again, with what memory still holds of it", call_id)
        elif self._is_logged:
            self._is_logged = False
            logger.warning("the store is well: what memory still holds is written")

    async def close(self) -> None:
        """Write what remains and close the store. Idempotent."""
        if self._closed:
            return
        self._closed = True
        await self._spill.close()
        await asyncio.get_running_loop().run_in_executor(self._reader, self._store.close)
        self._executor.shutdown(wait=False)
        self._reader.shutdown(wait=False)


def _one_of_each_room(sessions: Iterable[Session]) -> list[Session]:
    """The sessions, with one for each room."""
    by_room = {id(one.participant.room or one): one for one in sessions}
    return [*by_room.values()]


def _warning(error: StoreError) -> RealtimeError:
    """The warning for a call. The store's own message may name files of this machine."""
    if error.code == "store_quota":
        return RealtimeError(error.message, code=error.code)
    return RealtimeError("this call cannot be kept for later at the moment; it goes on", code=error.code)


def _warn_at_first(session: Session, error: StoreError) -> None:
    """Warn a new call once it has listeners, after its first event."""

    def warn(_: s.ServerEvent) -> None:
        unsubscribe()
        session.complain(_warning(error))

    unsubscribe = session.log.subscribe(warn, audio=False)


def _cannot_tell(error: StoreError) -> ClientError:
    """The error for a client. The store's own message names files of this machine: only the log gets it."""
    logger.error("the store cannot be read: %s", error)
    text = "the calls cannot be read at the moment: the server's log says why"
    return ClientError(text, code="store_failed", retryable=True)
