"""A call: one event log, one conversation, one participant, and its listeners.

Sockets are only views (listeners): they come and go. The call lives on for `Limits.grace_s` after the last of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from realtime.call.activity import Activity
from realtime.call.audience import Audience
from realtime.call.intake import UNCOUNTED, Intake, rate_of
from realtime.call.limits import Limits
from realtime.call.listener import Listener, queue_listener
from realtime.call.participant import CurrentParticipant, Host, OwnCall, Participant
from realtime.call.resume_token import ResumeToken
from realtime.call.timers import Timers
from realtime.errors import ClientError, RealtimeError, public_error
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig
from realtime.permission.accepted import PERMISSIONS_KEY, AcceptedRules
from realtime.runtime import Runtime, iso
from realtime.state.conversation import Conversation
from realtime.state.json_sessions import JSONSession
from realtime.state.log import AudioRun, Log
from realtime.state.restore import Owed
from realtime.state.sessions import SessionBase

if TYPE_CHECKING:
    from realtime.call.recording import Recorder

__all__ = ["JSONSession", "Session", "SessionBase", "queue_listener"]

logger = logging.getLogger(__name__)

Record = Callable[["Session"], "Recorder"]

CLOSED_ELSEWHERE = 4000
"""Closes a socket whose client came back on another one."""
RETRY_AFTER_MS = 1_000
"""When a client may try again after a goodbye: a restart takes longer than one attempt."""
QUEUE_DRAIN_S = 1.0
"""How long a private call's end waits for its bounded queue's reader."""


class Session:
    """One call of one participant: an agent, or a human in a room.

    `private` is the call around a participant that is used without a server: it emits no events about itself.

    `owner` is whose call it is (the user id). `record` makes the recorder of a call whose client consents
    (`config.recording`). `accepted` are the permission rules that its users have accepted. `log`, `conversation`,
    `resume_token`, `recent_ids` and `owed`, where given, are those of a call that goes on after its process or its
    grace time (`realtime.state.restore`).
    """

    def __init__(
        self,
        *,
        participant: Participant,
        runtime: Runtime,
        session_id: str,
        call_id: str | None = None,
        limits: Limits | None = None,
        private: bool = False,
        owner: str = "",
        record: Record | None = None,
        log: Log | None = None,
        conversation: Conversation | None = None,
        resume_token: ResumeToken | None = None,
        recent_ids: Sequence[str] = (),
        accepted: AcceptedRules | None = None,
        owed: Owed | None = None,
    ) -> None:
        self.participant = participant
        self.runtime = runtime
        self.session_id = session_id
        self.call_id = call_id or runtime.new_id("call")
        self.limits = limits or Limits()
        self.log = log or Log(runtime.now)
        self.created_at = iso(runtime.wall_now() - self.log.now_ms() / 1000)
        """ISO 8601. Read once: reckoned again from two clocks it would move by a millisecond."""
        self.conversation = conversation or Conversation()
        self.resume_token = resume_token or ResumeToken(self.call_id, runtime.new_id)
        self.config = SessionConfig()
        """The settings of its beginning; `input_audio_format` follows updates."""
        self.owner = owner
        self.accepted = accepted or AcceptedRules()
        self.permissions_key: str | None = None
        """What was issued to open its accepted rules in later calls."""
        self.rules_note: str | None = None
        """The note in the store that keeps the accepted rules; None where they end with the call."""
        self._record = record
        self._recorder: Recorder | None = None
        self.address = ""
        """The address of its first client, for counting."""
        self.end_reason: str | None = None
        """Why it is over; None while it is not."""
        self.on_ended: list[Callable[[Session], None]] = []
        """Called once, when the call is over."""
        self.ended = asyncio.Event()
        self._private = private
        self._owed = owed
        self._arriving: asyncio.Future[None] | None = asyncio.get_running_loop().create_future()
        self._began_after = self.log.last_seq
        self.intake = Intake(recent_ids)
        self._timers = Timers()
        self._ending: asyncio.Task[None] | None = None
        self._ending_reason: str | None = None
        self._over = False
        self._said_goodbye = False
        self._stop_recording: Callable[[], None] = _follows_nothing
        current = self._current = CurrentParticipant(participant)
        self.audience = Audience(self.log, runtime.now, current, tells=not private)
        self.listeners = self.audience.listeners
        """The views of the call, in order of coming."""
        self._activity = Activity(current, self.audience, self._timers, runtime.now, self.limits.idle_s)
        self._stop_following = self.log.subscribe(self._follow)

    async def start(self, config: SessionConfig) -> None:
        """Let the participant join. Raises what its `join` raises, after the call has reported it and ended itself.

        Raises ClientError, and nothing has begun, for an audio format that is not served.
        """
        input_hz, _ = config.input_rate_hz, config.output_rate_hz
        self.config = config
        self.intake.expect_rate(input_hz)
        if not self._private and not self.log.last_seq:
            self.log.append(s.ServerSessionCreatedEvent(session_id=self.session_id, call_id=self.call_id))
            self._tell_permissions_key()
        host = Host(
            emit=self.log.append,
            conversation=self.conversation,
            ears=self.audience,
            runtime=self.runtime,
            configured=self._tell_settings,
            call_id=self.call_id,
            user_id=self.owner,
            voice=self.audience.let_hear,
            accepted=self.accepted,
            own=OwnCall(
                follow=partial(self.log.subscribe, audio=False),
                end=self.end_soon,
                unplayed_items=self.audience.unplayed_items,
                is_new=not self._began_after,
                owed=self._owed,
                takes_unasked=all(one.takes_unasked for one in self.listeners),
                replace=self._replace,
                is_recorded=lambda: self._recorder is not None,
                shows_questions=lambda: bool(self.listeners) and all(one.shows_questions for one in self.listeners),
            ),
        )
        try:
            await self.participant.join(host, config)
        except BaseException as error:
            if isinstance(error, Exception) and not (self._private or self._over):
                self.complain(public_error(error))
            self._close(self._ending_reason or "agent_failed")
            raise
        finally:
            if self._arriving is not None:
                self._arriving.set_result(None)
                self._arriving = None
        if config.recording and self._record is not None:
            self._recorder = self._record(self)
            # After the listeners, whose clocks know what is heard.
            self._stop_recording = self.log.subscribe(self._recorder.follow)
        if not self._private:
            self._activity.begin(lambda: self.end_soon("idle"))
            left_s = max(0.0, self.limits.call_s - self.log.now_ms() / 1000)
            self._timers.after("call", left_s, lambda: self.end_soon("call_limit"))

    async def arrived(self) -> None:
        """Wait until the participant has joined or failed to. Cancelling it cancels only the waiting."""
        if self._arriving is not None:
            await asyncio.wait([self._arriving])

    def _replace(self, participant: Participant) -> None:
        """Let this participant, which has joined, go on with the call."""
        self.participant = self._current.participant = participant
        participant.set_away(self.is_deserted)

    # -- listeners -------------------------------------------------------------------------------------------------

    def attach(self, listener: Listener) -> None:
        """Let a client listen from now on."""
        self.audience.replace(None, listener)
        self._timers.cancel("grace")
        self.participant.set_away(self.is_deserted)

    def detach(self, listener: Listener, *, for_good: bool = False) -> None:
        """Take note that a client's socket is gone.

        The call waits for a client that may come back, unless it left `for_good`. It ends after the last other one.
        """
        if listener not in self.listeners:
            listener.release()
            return
        if (not for_good or listener.by_handle) and self._waits_for(listener):
            listener.suspend()
            self._lose_answers(listener)
            if self.is_deserted:
                self._timers.after("grace", self.limits.grace_s, lambda: self.end_soon("listener_gone"))
            self.participant.set_away(self.is_deserted)
            return
        self.audience.remove(listener)
        if self.listeners:
            return
        if self._over:
            self._part()
        else:
            self.end_soon("client_left" if for_good else "listener_gone")

    def _lose_answers(self, listener: Listener) -> None:
        """Drop the agent's speech from a handle client's departure until its return."""
        if not listener.by_handle or self._arriving is not None or self._over:
            return
        self.receive(c.ClientResponseCancelEvent(), listener)
        for item_id in listener.unsent:
            if item_id in self.conversation:
                self.receive(c.ClientItemTruncateEvent(item_id=item_id, audio_end_ms=0), listener)
        listener.unsent.clear()

    @property
    def is_deserted(self) -> bool:
        """Whether no client listens and the call waits for its return."""
        return not self.is_ending and self.audience.is_away

    @property
    def is_ending(self) -> bool:
        """Whether it is over, or about to be."""
        return self._over or self._ending is not None

    def outlives(self, listener: Listener) -> bool:
        """Whether the call goes on without this listener's socket: the client may come back, or has already."""
        if listener in self.listeners:
            return self._waits_for(listener)
        return not self.is_ending and bool(self.listeners)

    def _may_return(self, listener: Listener) -> bool:
        return listener.resumable and self.limits.grace_s > 0

    def _waits_for(self, listener: Listener) -> bool:
        return self._may_return(listener) and not (listener.closed or self._said_goodbye or self.is_ending)

    def known_seq(self, token: str, last_seq: int) -> int:
        """The last event that a client can have seen, at most `last_seq`.

        A server that is killed has sent a little more than it has stored. A client that comes back with a token of
        before then has not seen what this process has sent in its place.
        """
        return min(last_seq, self._began_after if self.resume_token.is_inherited(token) else self.log.last_seq)

    def resume(
        self,
        listener: Listener,
        token: str,
        last_seq: int,
        *,
        earlier: Sequence[s.ServerEvent] = (),
        gap: bool = False,
        received_samples: int | None = None,
    ) -> None:
        """Let the client of a lost socket go on at `listener`.

        It is sent everything after `last_seq`, or after what it can have seen (`known_seq`), in order. `earlier` is
        what the log does not hold any more of that; `gap` says that some of it is lost. `received_samples` is how much
        of the client's audio the model understood, where that is not what has arrived here. The client's earlier socket
        is closed if it is still open.
        """
        before = next((one for one in self.listeners if one.resumable), None)
        was_away = before is not None and before.away
        if before is not None and before.by_handle:
            if not was_away:
                before.suspend()
            self._lose_answers(before)
        known_seq = self.known_seq(token, last_seq)
        ts_ms = self.log.now_ms()
        listener.deliver(
            s.ServerSessionResumedEvent(
                session_id=self.session_id,
                call_id=self.call_id,
                last_seq=known_seq,
                token=self.resume_token.renew(token),
                from_store=before is None,
                gap=gap,
                rewound_to_seq=known_seq if known_seq < last_seq else None,
                ts_ms=ts_ms,
            )
        )
        if before is not None:
            received_samples = self.participant.received_samples
        if received_samples is not None:
            listener.told_received = received_samples
            listener.deliver(s.ServerAudioReceivedEvent(offset=received_samples, ts_ms=ts_ms))
        told_seq = max(known_seq, earlier[-1].seq if earlier else 0)
        missed = [*earlier, *(one for one in self.log.read(told_seq) if not isinstance(one, AudioRun))]
        listener.take_over(before, missed)
        self.audience.replace(before, listener)
        if was_away and before is not None:
            before.release()
        elif before is not None:
            before.close(CLOSED_ELSEWHERE, "the call goes on on another socket")
        # A page that begins anew counts its events anew as well.
        self.intake.expect_repeats(from_start=not last_seq)
        self._timers.cancel("grace")
        self.participant.set_away(self.is_deserted)
        logger.info("call %s goes on after seq %d", self.call_id, known_seq)

    # -- from a client ---------------------------------------------------------------------------------------------

    def receive(self, event: c.ClientEvent, listener: Listener | None = None, n_bytes: int | None = None) -> bool:
        """Take a client event at once; `n_bytes` is its length as JSON, where that is known.

        Returns False where it was received before, or cannot be done: an `agent_error` event says why.
        """
        try:
            # Most events are audio, which has no id and is not counted.
            may_return = listener is not None and listener.resumable
            if event.event_id is not None and not self.intake.is_new(event, event.event_id, may_return=may_return):
                return False
            if not isinstance(event, UNCOUNTED):
                event = self.intake.counted(event, n_bytes, self.conversation)
            return self._receive(event, listener)
        except ClientError as error:
            error.client_event_id = error.client_event_id or event.event_id
            self.complain(error)
            return False

    def _receive(self, event: c.ClientEvent, listener: Listener | None) -> bool:
        if self._over:
            raise ClientError("the call is over; create a new one", code="session_ended")
        if event.session_id is not None and event.session_id != self.session_id and not self._private:
            raise ClientError(
                f"this socket's session is {self.session_id!r}, the event names {event.session_id!r}",
                code="session_mismatch",
            )
        match event:
            case c.ClientAudioAppendEvent():
                event = self.intake.with_format(event)
                self.audience.ear = listener
                if event.played_item_id is not None and event.played_ms is not None and listener is not None:
                    # Before the agent hears it: an interruption found in this audio is cut where the user is now.
                    self.audience.played.ack(listener, event.played_item_id, event.played_ms, inside=event)
                taken = self.participant.receive(event)
                if self._recorder is not None:
                    self._recorder.hear(event.audio, event.offset, rate_of(event))
                if listener is not None and listener.tells_received_audio:
                    self.audience.tell_received(listener, event)
                return taken
            case c.ClientPlaybackAckEvent():
                if listener is not None:
                    self.audience.played.ack(listener, event.item_id, event.played_ms, flushed=event.flushed)
            case c.ClientItemTruncateEvent():
                if listener is not None:
                    listener.clock.truncate(event.item_id, event.audio_end_ms, self.runtime.now())
                    if self._recorder is not None:
                        self._recorder.truncated(event.item_id, event.audio_end_ms)
                self.participant.receive(event)
            case c.ClientSessionUpdateEvent():
                self._configure(event.config)
            case c.ClientSessionCreateEvent():
                if not self._private:
                    raise ClientError(
                        "the call exists already; send client_session_update to change it", code="session_exists"
                    )
                self._configure(event.config)
            case c.ClientSessionResumeEvent():
                raise ClientError(
                    "this socket has a call already; the event is the first on a new socket", code="session_exists"
                )
            case c.ClientSessionEndEvent():
                self.end_soon("client_end")
            case _:
                if isinstance(event, c.ClientItemCreateEvent):
                    event = msgspec.structs.replace(event, item=self.intake.with_formats(event.item))
                self.audience.ear = listener
                self._activity.note()
                self.participant.receive(event)
        return True

    def complain(self, error: RealtimeError) -> None:
        """Report an error as an event of the call. Internal errors show no details.

        The log keeps it, so what a client can cause without end is shortened, and reported no more after
        `MAX_COMPLAINT_BYTES`.
        """
        told: s.AgentErrorEvent | None = s.error_event(
            error, agent_id=self.participant.agent_id or "", agent_name=self.participant.name
        )
        if isinstance(error, ClientError) and told is not None:
            told = self.intake.bounded(told)
        if told is not None:
            self.log.append(told)

    def _configure(self, config: dict[str, Any]) -> None:
        try:
            change = SessionConfig.from_dict(config)
        except ValueError as error:
            raise ClientError(str(error), code="invalid_config") from error
        if change.permissions is not None and change.permissions.key is not None:
            raise ClientError("permissions.key counts only when a call is made", code="invalid_config")
        input_hz, _ = change.input_rate_hz, change.output_rate_hz
        self.participant.configure(change)
        if change.input_audio_format is not None:
            self.config = msgspec.structs.replace(self.config, input_audio_format=change.input_audio_format)
            self.intake.expect_rate(input_hz)
        self._tell_settings(config)

    def _tell_settings(self, config: dict[str, Any]) -> None:
        self.log.append(s.ServerSessionUpdatedEvent(session_id=self.session_id, config=config))

    # -- the end ---------------------------------------------------------------------------------------------------

    def say_goodbye(self, reason: str) -> None:
        """Announce the end of the call, with its reason, to clients once."""
        if not self._said_goodbye:
            self._said_goodbye = True
            self.log.append(s.ServerGoodbyeEvent(reason=reason))

    def end_soon(self, reason: str) -> None:
        """Begin to end the call from code that cannot wait."""
        if self._ending is None and not self._over:
            self._ending_reason = reason
            self._ending = asyncio.create_task(self._end(reason), name=f"ending {self.call_id}")

    async def end(self, reason: str) -> None:
        """End the call: the participant leaves, `server_session_ended` is the last event. Idempotent.

        Cancelling it does not keep the call from ending.
        """
        self.end_soon(reason)
        await self.settled()

    async def settled(self) -> None:
        """Wait for the end, where it has begun."""
        if self._ending is not None:
            await asyncio.shield(self._ending)

    async def _end(self, reason: str) -> None:
        if reason in ("idle", "call_limit", "shutdown"):
            self.say_goodbye(reason)
        if reason in ("listener_gone", "shutdown"):
            self._cut_unplayed()
        try:
            try:
                await self.participant.leave(reason)
            finally:
                if self._recorder is not None:
                    self._stop_recording()
                    await self._recorder.close()
        finally:
            self._close(reason)
        if self._private:
            # No other code detaches a queue, and nothing may go on running behind it.
            for listener in self.audience:
                await listener.finish(QUEUE_DRAIN_S)
                self.detach(listener)

    def _cut_unplayed(self) -> None:
        """Cut what was not heard: a call that may go on later goes on with what was."""
        unplayed = self.audience.unplayed_items()
        for item in self.conversation.items():
            if item.id not in unplayed:
                continue
            cut = self.conversation.truncate(item.id, self.audience.played_ms(item.id))
            self.log.append(cut.event(item.id, self.participant.agent_id or "", self.participant.name))

    def _close(self, reason: str) -> None:
        if self._over:
            return
        self._over = True
        self.end_reason = reason
        self._timers.close()
        if not self._private:
            self.log.append(s.ServerSessionEndedEvent(session_id=self.session_id, reason=reason))
        logger.info("call %s ended: %s after %d ms", self.call_id, reason, self.log.now_ms())
        self.ended.set()
        self.audience.played.close()
        on_ended, self.on_ended = self.on_ended, []
        for told in on_ended:
            told(self)
        for listener in self.audience:
            if listener.away:
                self.detach(listener, for_good=True)
        if not self.listeners:
            self._part()

    def _part(self) -> None:
        """Drop references back to this session once it has ended without listeners.

        So it is freed at once and not by the garbage collector.
        """
        self._stop_following()
        self._stop_following = _follows_nothing

    # -- following the log -----------------------------------------------------------------------------------------

    def _follow(self, event: s.ServerEvent) -> None:
        if type(event) is s.AgentResponseAudioDeltaEvent:
            for listener in self.listeners:
                listener.deliver(event)
            return
        for listener in self.audience:
            listener.deliver(self._with_token(event, listener))
        self.audience.played.follow(event)
        if isinstance(event, s.AgentEndedEvent):
            self.end_soon("agent_ended")
        elif not self._over:
            self._activity.follow(event)

    def _tell_permissions_key(self) -> None:
        """Tell the client what opens its rules in later calls.

        The log does not get it.
        """
        if self.permissions_key is not None:
            told = s.ServerCustomEvent(name=PERMISSIONS_KEY, value={"key": self.permissions_key})
            for listener in self.listeners:
                listener.deliver(told)

    def _with_token(self, event: s.ServerEvent, listener: Listener) -> s.ServerEvent:
        """Return the event with what only this client gets: how to come back."""
        if not self._may_return(listener) or listener.away:
            return event
        if isinstance(event, s.ServerSessionCreatedEvent):
            token, within_ms = self.resume_token.renew(), int(self.limits.grace_s * 1000)
            return msgspec.structs.replace(event, resume_token=token, resume_within_ms=within_ms)
        if isinstance(event, s.ServerGoodbyeEvent) and event.reason == "shutdown":
            return msgspec.structs.replace(event, resume_token=self.resume_token.renew(), retry_after_ms=RETRY_AFTER_MS)
        return event


def _follows_nothing() -> None:
    """Stand in for the function that ends following a log."""
