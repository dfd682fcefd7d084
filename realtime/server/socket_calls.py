"""The calls of one socket, one after the other: made, resumed, or restored from the store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec

from realtime.agent import RealtimeAgent
from realtime.agent.run import AgentRun
from realtime.agent.transfer import config_for, reachable
from realtime.call.listener import Listener
from realtime.call.participant import Participant
from realtime.call.resume_token import call_of
from realtime.call.session import Session
from realtime.dialects import ClientDialect
from realtime.dialects.agentscope1 import AgentScope1Dialect
from realtime.dialects.native import NativeDialect
from realtime.dialects.openai_family.openai import OpenAIDialect
from realtime.errors import ClientError, RealtimeError, StoreError, public_error
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import PermissionSettings, SessionConfig
from realtime.event.server import error_event
from realtime.room.human_participant import HumanParticipant
from realtime.runtime import Runtime
from realtime.server.agentscope_compat import pair_of
from realtime.server.archive import Archive, events_after, no_such_token
from realtime.server.caller_sessions import CallerSession
from realtime.server.calls import Calls, CallSlot
from realtime.server.make_agent import MakeAgent, make_agent_of
from realtime.server.read_ahead import ReadAhead
from realtime.server.settings import ServerSettings
from realtime.server.sink import SocketSink
from realtime.state.restore import LastPlayed
from realtime.state.store import CallInfo

logger = logging.getLogger(__name__)

NORMAL_CLOSURE = 1000
"""The close code of a client that is done (RFC 6455). A page that is left sends 1001, a lost socket none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketClient:
    """The client of a socket, and what serves it."""

    user: str
    session_id: str
    address: str
    make_agent: MakeAgent
    calls: Calls
    settings: ServerSettings
    is_developer: bool = False
    """Whether the client is on this machine: it sees why an agent could not be made."""
    user_is_known: bool = False
    """Whether its token names `user`."""


@dataclass(slots=True, kw_only=True, eq=False)
class SocketCalls:
    """Makes and resumes the calls of one socket: at most one at once."""

    dialect: ClientDialect
    sink: SocketSink
    ahead: ReadAhead
    runtime: Runtime
    client: SocketClient
    tell: Callable[[s.ServerEvent], Awaitable[None]]
    """Writes an event to the socket alone."""
    on_begun: Callable[[], None]
    """Called when there is a call."""
    on_ended: Callable[[], None]
    """Called when the call is over."""
    session: Session | None = field(default=None, init=False)
    """The call that goes on; None where there is none."""
    latest: Session | None = field(default=None, init=False)
    """The call that was made last, which may be over."""
    listener: Listener | None = field(default=None, init=False)
    """The socket's view of the latest call."""
    left: bool = field(default=False, init=False)
    """Whether the client closed the socket itself, that is, was done."""
    resumed: bool = field(default=False, init=False)
    """Whether the client has come back and sent nothing yet: its first event proves that it got its token."""

    _is_restored: bool = field(default=False, init=False)
    """Whether the stored call of the client goes on here."""

    async def create(self, event: c.ClientSessionCreateEvent) -> None:
        """Make a call, reading on meanwhile. Returns when it is made, has failed, or the client is gone."""
        if event.session_id is not None and event.session_id != self.client.session_id:
            raise ClientError(
                f"this socket's session is {self.client.session_id!r}, the event names {event.session_id!r}",
                code="session_mismatch",
            )
        try:
            config = SessionConfig.from_dict(event.config)
        except ValueError as error:
            raise ClientError(str(error), code="invalid_config") from error
        asked = config.permissions or PermissionSettings()
        if asked.key is not None:  # a secret: nothing that shows settings has it
            config = msgspec.structs.replace(config, permissions=PermissionSettings(keep=asked.keep))
        listener = self.dialect.listener(self.sink, self.runtime, config)
        call_id = self.runtime.new_id("call")

        def make(participant: Participant) -> Session:
            return Session(
                participant=participant,
                runtime=self.runtime,
                session_id=self.client.session_id,
                call_id=call_id,
                limits=self.client.settings.limits,
                owner=self.client.user,
                record=self.client.calls.record,
            )

        await self._make_call(call_id, config, listener, make, asked)

    async def _make_call(
        self,
        call_id: str,
        config: SessionConfig,
        listener: Listener,
        make: Callable[[Participant], Session],
        asked: PermissionSettings,
        resume: Callable[[Session], None] | None = None,
        info: CallInfo | None = None,
        speaker: str | None = None,
    ) -> None:
        """Open the call that `make` makes, reading on meanwhile.

        `asked` says what becomes of accepted rules. `resume` brings the listener in; else it is attached. `speaker`
        names the agent that had the call last. Returns when the call is made, has failed, or the client is gone.
        """
        self.detach()
        slot = self.client.calls.take_slot(self.client.address)
        if not await self._is_let_in(slot, returns=resume is not None):
            return

        async def open_it() -> None:
            made = await self._participant_for(call_id, config, slot, speaker)
            if made is None:
                return
            participant, settings, remembered = made
            session = make(participant)
            session.config = config
            slot.fill(session)
            if remembered is not None:
                remembered.follow(session)
            if self.client.calls.archive is not None:
                self.client.calls.archive.keep(session, info)
            self._take_on(session, listener)
            if resume is None:
                session.attach(listener)
            else:
                if self.client.calls.archive is not None:
                    await self.client.calls.archive.written()
                resume(session)
            fault = await _bring_kept_rules(session, self.client, asked, None if info is None else info.rules_note)
            try:
                await session.start(settings)
                if fault is not None:
                    session.complain(fault)
            except Exception as error:
                _note(f"could not start the agent of {call_id}", error)

        opening = asyncio.create_task(open_it(), name="making a call")
        try:
            await self.ahead.read_while(opening)
        finally:
            outlived = not opening.done() and self._is_outlived(listener)
            if outlived:
                self.client.calls.finish(opening)
            elif not opening.done():
                opening.cancel()
                await asyncio.wait([opening])
            if self.session is None:
                slot.leave()
        if not outlived and not opening.cancelled():
            opening.result()

    async def _is_let_in(self, slot: CallSlot, *, returns: bool) -> bool:
        """Wait until the call may begin; returns False where its client has left meanwhile.

        Raises Overloaded where the server has no capacity for it.
        """
        try:
            waiting = self.client.calls.admission.enter(slot, returns=returns)
            if waiting is None:
                return True
            await self.ahead.read_while(waiting)
            if waiting.done():
                waiting.result()
                return True
        except BaseException:
            slot.leave()
            raise
        waiting.cancel()
        slot.leave()
        return False

    def _is_outlived(self, listener: Listener) -> bool:
        """Whether the call that is being made goes on without this socket."""
        last = self.ahead.latest or {}
        left = last.get("type") == "websocket.disconnect" and last.get("code") == NORMAL_CLOSURE
        return self.session is not None and not left and self.session.outlives(listener)

    async def _participant_for(
        self, call_id: str, config: SessionConfig, slot: CallSlot, speaker: str | None
    ) -> tuple[Participant, SessionConfig, CallerSession | None] | None:
        """Make the participant of a call, its settings and its user's session.

        None and an error event if that fails; the log has the details.
        """

        async def make(settings: SessionConfig) -> RealtimeAgent | HumanParticipant:
            return await make_agent_of(
                self.client.make_agent,
                user=self.client.user,
                known_user=self.client.user if self.client.user_is_known else None,
                config=settings,
                call_id=call_id,
                # Pages and SDKs of other vocabularies wait for their user's first words.
                greets=isinstance(self.dialect, NativeDialect),
            )

        pair = self.dialect.pair if isinstance(self.dialect, AgentScope1Dialect) else None
        try:
            made = await (make(config) if pair is None else pair_of(pair, config, make, self.runtime))
            remembered, callers = None, self.client.calls.callers
            if callers is not None and self.client.user_is_known and isinstance(made, RealtimeAgent):
                remembered = await callers.begin(made, self.client.user)
                made = remembered.agent
            participant, settled = _run_of(made, speaker, config)
            memories = self.client.calls.memories
            if isinstance(participant, AgentRun) and memories is not None and self.client.user_is_known:
                of_user = memories.of(self.client.user)
                if of_user is not None:
                    participant.remember_user(of_user)
            if isinstance(participant, AgentRun) and isinstance(self.dialect, OpenAIDialect):
                participant.client_servers = self.dialect.servers
            return participant, settled, remembered
        except Exception as error:
            slot.leave()
            _note(f"could not make the agent of {call_id}", error)
            await self.tell(error_event(public_error(error, to_developer=self.client.is_developer)))
            await self.tell(s.ServerSessionEndedEvent(session_id=self.client.session_id, reason="agent_failed"))
            return None

    # -- coming back -----------------------------------------------------------------------------------------------

    async def resume(self, event: c.ClientSessionResumeEvent) -> None:
        """Resume a call whose socket was lost. Raises ClientError, and then call and token stay as they are."""
        call_id = call_of(event.token)
        session = self.client.calls.sessions.get(call_id)
        if session is not None:
            # Until its participant has joined, it can take no events.
            await session.arrived()
            if session.is_ending:
                await session.settled()
                session = None
        if session is None:
            await self._resume_from_store(event, call_id)
            return
        self._check_right(session, event.token)
        listener = self._returning_listener(session.config)
        earlier: list[s.ServerEvent] = []
        known_seq = session.known_seq(event.token, event.last_seq)
        gap = not session.log.holds(known_seq)
        if (archive := self.client.calls.archive) is not None:
            session.resume_token.prepare(event.token)
            if gap:
                earlier, gap = await archive.missed(call_id, known_seq)
            await archive.written()
            if session.is_ending:
                raise ClientError("the call ended just now", code="resume_under_way", retryable=True)
            self._check_right(session, event.token)
        self.detach()
        self._take_on(session, listener)
        self.resumed = True
        session.resume(listener, event.token, event.last_seq, earlier=earlier, gap=gap)

    async def _resume_from_store(self, event: c.ClientSessionResumeEvent, call_id: str) -> None:
        """Resume a call that is over here, or was another process's."""
        archive = self.client.calls.archive
        if archive is None:
            raise no_such_token()
        played = LastPlayed(event.played_item_id, event.played_ms or 0) if event.played_item_id is not None else None
        with self.client.calls.restoring(call_id):
            info = await archive.find(
                event.token,
                call_id,
                user=self.client.user,
                session_id=self.client.session_id,
                wall_now=self.runtime.wall_now(),
            )
            try:
                await self._go_on(info, archive, event, played)
            finally:
                if not self._is_restored:
                    await archive.release(call_id)

    async def _go_on(
        self, info: CallInfo, archive: Archive, event: c.ClientSessionResumeEvent, played: LastPlayed | None
    ) -> None:
        """Go on with a stored call that is this process's."""
        self._is_restored = False
        found = await archive.read_back(info, played)
        known_seq = min(event.last_seq, found.restored.last_seq)
        config = found.config
        listener = self._returning_listener(config)
        received_samples = found.received_samples(config)

        def make(participant: Participant) -> Session:
            self._is_restored = True
            session = found.session(
                participant=participant,
                runtime=self.runtime,
                limits=self.client.settings.limits,
                record=self.client.calls.record,
            )
            session.resume_token.prepare(event.token)
            return session

        def resume(session: Session) -> None:
            self.resumed = True
            session.resume(
                listener,
                event.token,
                event.last_seq,
                earlier=events_after(found.entries, known_seq),
                gap=info.has_gap_after(known_seq),
                received_samples=received_samples,
            )

        asked = config.permissions or PermissionSettings()
        await self._make_call(info.call_id, config, listener, make, asked, resume, info, found.restored.agent_name)

    def _check_right(self, session: Session, token: str) -> None:
        """Raise ClientError where it is not this client's call. A token of another path counts as a wrong one."""
        own = session.owner == self.client.user and session.session_id == self.client.session_id
        if not own or not session.resume_token.is_good(token):
            raise no_such_token()

    def _returning_listener(self, config: SessionConfig) -> Listener:
        listener = self.dialect.listener(self.sink, self.runtime, config)
        if not listener.resumable:
            raise ClientError("only a client of subprotocol realtime.v1 can come back", code="unexpected_event")
        return listener

    def _take_on(self, session: Session, listener: Listener) -> None:
        session.on_ended.append(self._call_ended)
        self.session = self.latest = session
        self.listener = listener
        self.on_begun()

    def _call_ended(self, _: Session) -> None:
        self.session = None
        self.on_ended()

    def detach(self) -> None:
        """Detach from the latest call: it is over, or the socket is lost."""
        if self.latest is not None and self.listener is not None:
            if self._call_ended in self.latest.on_ended:
                self.latest.on_ended.remove(self._call_ended)
            self.latest.detach(self.listener, for_good=self.left)
        self.listener = None

    def close(self) -> None:
        """Drop references back to the socket: both are freed at once."""
        self.on_begun = self.on_ended = lambda: None
        self.tell = _ignore


def _run_of(
    made: RealtimeAgent | Participant, speaker: str | None, config: SessionConfig
) -> tuple[Participant, SessionConfig]:
    """Return who takes part in a call, and with which settings: the `speaker`, where `made` may transfer to it."""
    if not isinstance(made, RealtimeAgent):
        return made, config
    last = reachable(made, speaker) if speaker is not None else None
    if last is None or last is made:  # or it was handed over by code to an agent that is not in its `transfers`
        return made.run(), config
    return last.run(), config_for(config, made.model.profile, last.model.profile)


async def _bring_kept_rules(
    session: Session, client: SocketClient, asked: PermissionSettings, note: str | None
) -> RealtimeError | None:
    """Let a call begin with the kept rules, if its client asks.

    `note` is where a resumed call keeps them. Returns why it cannot.
    """
    if client.calls.archive is None:
        without = StoreError("this server keeps no calls, nor rules: they hold for this call", code="rules_not_kept")
        return without if asked.keep else None
    try:
        return await client.calls.archive.bring_rules(session, asked, user_is_known=client.user_is_known, note=note)
    except StoreError as error:
        logger.error("kept rules could not be read: %s", error)
        return StoreError("accepted rules are out of reach at the moment: you may be asked again", code=error.code)


async def _ignore(event: s.ServerEvent) -> None:
    """Stand in for writing to a closed socket."""


def _note(what: str, error: Exception) -> None:
    """Log an error: in one line if the client gets it too (a missing key), else with its trace."""
    if public_error(error) is error:
        logger.warning("%s: %s", what, error)
    else:
        logger.error("%s", what, exc_info=error)
