"""A call: one event log, one conversation, one participant, and its listeners.

Sockets are only views (listeners): they come and go. The call lives on for `Limits.grace_s` after the last of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.audio.voice import Voice
from realtime.call.listener import Listener, queue_listener
from realtime.call.participant import Host, Participant
from realtime.call.played import Played
from realtime.call.resume_token import ResumeToken
from realtime.errors import ClientError, RealtimeError, UsageError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import DEFAULT_INPUT_RATE_HZ
from realtime.event.config import SessionConfig
from realtime.runtime import Runtime, iso
from realtime.state.conversation import Conversation
from realtime.state.json_sessions import JSONSession, SessionBase
from realtime.state.log import AudioRun, Log

if TYPE_CHECKING:
    from realtime.call.recording import Recorder

__all__ = ["JSONSession", "Limits", "Session", "SessionBase", "queue_listener"]

logger = logging.getLogger(__name__)

Record = Callable[["Session"], "Recorder"]

RECEIVED_EVERY_MS = 1_000
"""How often a client that counts its audio is told how much has arrived."""
CLOSED_ELSEWHERE = 4000
"""Closes a socket whose client came back on another one."""
RETRY_AFTER_MS = 1_000
"""When a client that the server takes leave of may try again: a restart takes longer than one attempt."""
RECENT_EVENTS = 256
"""Events with an `event_id` that are known when a client that came back says them again."""
KEPT_EVENT_IDS = 64
"""The latest of them that a store keeps: a client says as many again (docs/protocol.md, "Coming back")."""
AUDIO_LOOK_S = 0.5
"""How often it is looked whether a client still sends audio while its user speaks."""
AUDIO_LOOKS = 4
"""After so many looks without any, 2 s, its turn is over: a network that stalls is mostly back before."""
MAX_EVENT_ID_CHARS = 512
"""As in OpenAI's protocol."""
MAX_GIVEN_BYTES = 64_000_000
"""What clients may say in a call beside sound and pictures of a camera, and be told again: the log keeps it."""
MAX_COMPLAINT_BYTES = 4_000_000
"""What a client may be told of its own mistakes in a call: some thousands of them."""
MAX_SENTENCE_CHARS = 1_000
"""What an error tells back of what the client has sent has no end by itself."""
EVENT_BYTES = 500
"""What an event counts beside what is in it: those that it causes are kept too."""
IDLE_SLACK_S = 1e-3
"""Times are sums of fractions: no timer is set for what is left of them."""
QUEUE_DRAIN_S = 1.0
"""How long the end of an agent that is used alone waits for whoever reads its bounded queue."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a call may last. All in seconds."""

    grace_s: float = 30.0
    """How long a call waits for a client that may come back, once its socket is lost. Others are not waited for."""
    idle_s: float = 300.0
    """A call in which nobody speaks or types for this long is ended."""
    call_s: float = 3_600.0
    """No call lasts longer."""


class Session:
    """One call of one participant: an agent, or a human in a room.

    `private` is the call around a participant that is used without a server: it emits no events about itself.

    `owner` is whose call it is (the user id). `record` makes the recorder of a call whose client consents
    (`config.recording`). `log`, `conversation`, `resume_token` and `recent_ids`, where given, are those of a call that
    goes on after its process or its grace time (`realtime.state.restore`).
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
        """What the call was made with."""
        self.owner = owner
        self._record = record
        self._recorder: Recorder | None = None
        self.address = ""
        """Where its first client is, for counting."""
        self.end_reason: str | None = None
        """Why it is over; null while it is not."""
        self.on_ended: list[Callable[[Session], None]] = []
        """Called once, when the call is over."""
        self.listeners: list[Listener] = []
        self.ended = asyncio.Event()
        self._private = private
        self._arriving: asyncio.Future[None] | None = asyncio.get_running_loop().create_future()
        self._ear: Listener | None = None
        self._given_bytes = 0
        self._complaint_bytes = 0
        self._began_after = self.log.last_seq
        self._recent_ids: deque[str] = deque(recent_ids, maxlen=RECENT_EVENTS)
        self._kept_ids: deque[str] = deque(recent_ids, maxlen=KEPT_EVENT_IDS)
        """Of those, the ones that count once though the server is killed."""
        self._repeated: set[str] = set()
        self.on_taken: Callable[[Sequence[str]], None] | None = None
        """Called with the latest event ids whenever a client that may come back has said something with one."""
        self._active_at = runtime.now()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._ending: asyncio.Task[None] | None = None
        self._ending_reason: str | None = None
        self._over = False
        self._said_goodbye = False
        self._stop_recording: Callable[[], None] = _follows_nothing
        listeners = self.listeners  # without `self`, which would refer to itself
        self._played = Played(
            self.log,
            runtime.now,
            lambda: listeners,
            lambda: participant.received_samples,
            tells=not private,
        )
        self._stop_following = self.log.subscribe(self._follow)

    async def start(self, config: SessionConfig) -> None:
        """Let the participant join. Raises what its `join` raises, after the call has reported it and ended itself."""
        self.config = config
        if not self._private and not self.log.last_seq:
            self.log.append(s.ServerSessionCreatedEvent(session_id=self.session_id, call_id=self.call_id))
        host = Host(
            emit=self.log.append, conversation=self.conversation, ears=self, runtime=self.runtime, voice=self.let_hear
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
            self._after("idle", self.limits.idle_s, self._check_idle)
            left_s = max(0.0, self.limits.call_s - self.log.now_ms() / 1000)
            self._after("call", left_s, lambda: self.end_soon("call_limit"))

    async def arrived(self) -> None:
        """Wait until the participant has joined or failed to. Cancelling it cancels only the waiting."""
        if self._arriving is not None:
            await asyncio.wait([self._arriving])

    # -- listeners -------------------------------------------------------------------------------------------------

    def attach(self, listener: Listener) -> None:
        """Let a client listen from now on."""
        self.listeners.append(listener)
        self._cancel("grace")
        self._tell_presence()

    def detach(self, listener: Listener, *, for_good: bool = False) -> None:
        """A client's socket is gone. One that may come back is waited for, unless it left `for_good`; after the last
        other one the call ends."""
        if listener not in self.listeners:
            listener.release()
            return
        if (not for_good or listener.by_handle) and self._waits_for(listener):
            listener.part()
            self._lose_answers(listener)
            if self.is_deserted:
                self._after("grace", self.limits.grace_s, lambda: self.end_soon("listener_gone"))
            self._tell_presence()
            return
        listener.release()
        self.listeners.remove(listener)
        if self._ear is listener:
            self._ear = None
        if self.listeners:
            return
        if self._over:
            self._part()
        else:
            self.end_soon("client_left" if for_good else "listener_gone")

    def _lose_answers(self, listener: Listener) -> None:
        """What is being said when the client of a handle leaves is lost, as is what is said until it comes back."""
        if not listener.by_handle or self._arriving is not None or self._over:
            return
        self.receive(c.ClientResponseCancelEvent(), listener)
        for item_id in listener.unsent:
            if item_id in self.conversation:
                self.receive(c.ClientItemTruncateEvent(item_id=item_id, audio_end_ms=0), listener)
        listener.unsent.clear()

    @property
    def is_deserted(self) -> bool:
        """Whether nobody listens, and somebody is waited for."""
        return not self.is_ending and bool(self.listeners) and all(one.away for one in self.listeners)

    @property
    def is_ending(self) -> bool:
        """Whether it is over, or about to be."""
        return self._over or self._ending is not None

    def _tell_presence(self) -> None:
        self.participant.set_away(self.is_deserted)

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
        """Up to where what a client has seen, `last_seq` at most, is this call.

        A server that is killed has told a little more than it has stored. Who comes back with a token of before then
        does not know what this process has told in its place.
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
        """Let the client of a lost socket go on at `listener`, with everything after `last_seq` in its order, or after
        what it can know (`known_seq`).

        `earlier` is what the log does not hold any more of that; `gap` says that some of it is lost. `received_samples`
        is how much of the client's audio the model understood, where that is not what has arrived here. A socket that
        is still thought to be open is closed.
        """
        before = next((one for one in self.listeners if one.resumable), None)
        was_away = before is not None and before.away
        if before is not None and before.by_handle:
            if not was_away:
                before.part()
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
        if before is None:
            self.listeners.append(listener)
        else:
            self.listeners[self.listeners.index(before)] = listener
            if was_away:
                before.release()
            else:
                before.close(CLOSED_ELSEWHERE, "the call goes on on another socket")
            if self._ear is before:
                self._ear = listener
        # A page that begins anew counts its events anew as well.
        self._repeated = set(self._recent_ids) if last_seq else set()
        self._cancel("grace")
        self._tell_presence()
        logger.info("call %s goes on after seq %d", self.call_id, known_seq)

    def let_hear(self, voice: Voice) -> None:
        """See `realtime.call.participant.Host.voice`."""
        for listener in self.listeners:
            listener.deliver_voice(voice.chunk(listener.rate_hz, self.log.now_ms()))

    def heard_ms(self, item_id: str) -> int:
        """See `realtime.call.participant.Ears`."""
        now = self.runtime.now()
        if self._ear is not None:
            return self._ear.clock.heard_ms(item_id, now)
        return max((one.clock.heard_ms(item_id, now) for one in self.listeners), default=0)

    def unheard_ms(self) -> int:
        """See `realtime.call.participant.Ears`."""
        now = self.runtime.now()
        return max((one.unheard_ms(now) for one in self.listeners), default=0)

    def after_flush(self, settle: Callable[[], None]) -> None:
        """See `realtime.call.participant.Ears`."""
        self._played.after_flush(settle)

    # -- from a client ---------------------------------------------------------------------------------------------

    def receive(self, event: c.ClientEvent, listener: Listener | None = None, n_bytes: int | None = None) -> bool:
        """Take a client event at once; `n_bytes` is its length as JSON, where that is known. False: it was said before,
        or cannot be done and an `agent_error` event says why."""
        if event.event_id is not None:
            if len(event.event_id) > MAX_EVENT_ID_CHARS:
                refusal = f"an event_id has at most {MAX_EVENT_ID_CHARS} characters: {event.type} was ignored"
                self.complain(ClientError(refusal, code="invalid_event_id"))
                return False
            if self._is_repeated(event, event.event_id):
                return False
            may_say_again = listener is not None and listener.resumable
            if self.on_taken is not None and may_say_again and not isinstance(event, _UNCOUNTED):
                self.on_taken([*self._kept_ids])
        try:
            if not isinstance(event, _UNCOUNTED):
                self._count(event, n_bytes)
            return self._receive(event, listener)
        except ClientError as error:
            error.client_event_id = error.client_event_id or event.event_id
            self.complain(error)
            return False

    def _is_repeated(self, event: c.ClientEvent, event_id: str) -> bool:
        """Whether a client that came back says again what had arrived before its socket was lost."""
        if event_id in self._repeated:
            self._repeated.remove(event_id)
            return True
        self._recent_ids.append(event_id)
        if not isinstance(event, _ENDS_SPEECH):
            self._kept_ids.append(event_id)
        return False

    def _count(self, event: c.ClientEvent, n_bytes: int | None) -> None:
        """Raises ClientError where the call's log would grow without end, and for what no log can hold."""
        told = self.conversation.get(event.item_id) if isinstance(event, c.ClientItemRetrieveEvent) else None
        try:
            given = EVENT_BYTES + (len(msgspec.json.encode(event)) if n_bytes is None else n_bytes)
            if told is not None:
                given += len(msgspec.json.encode(told))
        except (TypeError, ValueError, RecursionError) as error:
            raise ClientError(f"{event.type} cannot be written as JSON: {error}", code="invalid_event") from error
        if self._given_bytes + given > MAX_GIVEN_BYTES:
            raise ClientError(
                f"a call takes {MAX_GIVEN_BYTES // 1_000_000} MB of texts, items and settings: {event.type} is refused",
                code="too_much_given",
            )
        self._given_bytes += given

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
                self._ear = listener
                if event.played_item_id is not None and event.played_ms is not None and listener is not None:
                    # Before the agent hears it: an interruption found in this audio is cut where the user is now.
                    self._played.ack(listener, event.played_item_id, event.played_ms)
                taken = self.participant.receive(event)
                if self._recorder is not None and (rate_hz := _rate_of(event)) is not None:
                    self._recorder.hear(event.audio, event.offset, rate_hz)
                if listener is not None and listener.tells_received_audio:
                    self._tell_received(listener, event)
                return taken
            case c.ClientPlaybackAckEvent():
                if listener is not None:
                    self._played.ack(listener, event.item_id, event.played_ms, flushed=event.flushed)
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
                self._ear = listener
                self._active_at = self.runtime.now()
                self.participant.receive(event)
        return True

    def complain(self, error: RealtimeError) -> None:
        """Say what went wrong as an event of the call. A fault of ours is told without its details.

        The log keeps it, so what a client can cause without end is cut and has an end: after `MAX_COMPLAINT_BYTES` its
        mistakes are told no more.
        """
        told = s.error_event(error, agent_id=self.participant.agent_id or "", agent_name=self.participant.name)
        if isinstance(error, ClientError):
            event_id = error.client_event_id
            if event_id is not None and len(event_id) > MAX_EVENT_ID_CHARS:
                event_id = None
            message = told.message
            if len(message) > MAX_SENTENCE_CHARS:
                message = f"{message[:MAX_SENTENCE_CHARS]}..."
            told = msgspec.structs.replace(told, message=message, client_event_id=event_id)
            self._complaint_bytes += EVENT_BYTES + len(message)
            if self._complaint_bytes > MAX_COMPLAINT_BYTES:
                return
        self.log.append(told)

    def _configure(self, config: dict[str, Any]) -> None:
        try:
            change = SessionConfig.from_dict(config)
        except ValueError as error:
            raise ClientError(str(error), code="invalid_config") from error
        self.participant.configure(change)
        self.log.append(s.ServerSessionUpdatedEvent(session_id=self.session_id, config=config))

    def _tell_received(self, listener: Listener, event: c.ClientAudioAppendEvent) -> None:
        listener.bytes_until_told -= len(event.audio)
        if listener.bytes_until_told > 0:
            return  # not due, which nearly every frame is spared to ask
        rate_hz = _rate_of(event)
        if rate_hz is None:
            return
        received = self.participant.received_samples
        every = RECEIVED_EVERY_MS * rate_hz // 1000
        if received - listener.told_received >= every:
            listener.told_received = received
            # Told to this listener alone, so it takes no place of its own in the log.
            listener.deliver(s.ServerAudioReceivedEvent(offset=received, ts_ms=self.log.now_ms()))
        # Less was taken than came where audio was said twice or refused.
        listener.bytes_until_told = (listener.told_received + every - received) * SAMPLE_BYTES

    # -- the end ---------------------------------------------------------------------------------------------------

    def say_goodbye(self, reason: str) -> None:
        """Tell the clients that the call is about to end, and why. Said once."""
        if not self._said_goodbye:
            self._said_goodbye = True
            self.log.append(s.ServerGoodbyeEvent(reason=reason))

    def end_soon(self, reason: str) -> None:
        """End the call from where nobody can wait."""
        if self._ending is None and not self._over:
            self._ending_reason = reason
            self._ending = asyncio.create_task(self._end(reason), name=f"ending {self.call_id}")

    async def end(self, reason: str) -> None:
        """End the call: the participant leaves, `server_session_ended` is the last event. Idempotent.

        Cancelling it does not keep the call from ending.
        """
        self.end_soon(reason)
        if self._ending is not None:
            await asyncio.shield(self._ending)

    async def settled(self) -> None:
        """Wait for the end, where it has begun."""
        if self._ending is not None:
            await asyncio.shield(self._ending)

    async def _end(self, reason: str) -> None:
        if reason in ("idle", "call_limit", "shutdown"):
            self.say_goodbye(reason)
        if reason in ("listener_gone", "shutdown"):
            self._cut_unheard()
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
            # Nobody else takes leave of a queue, and nothing may go on running behind it.
            for listener in [*self.listeners]:
                await listener.finish(QUEUE_DRAIN_S)
                self.detach(listener)

    def _cut_unheard(self) -> None:
        """A call that may go on later goes on with what was heard, not with what was sent."""
        now = self.runtime.now()
        unheard = {item_id for one in self.listeners for item_id in (*one.clock.unheard_items(now), *one.unsent)}
        for item in self.conversation.items():
            if item.id not in unheard:
                continue
            cut = self.conversation.truncate(item.id, self.heard_ms(item.id))
            self.log.append(cut.event(item.id, self.participant.agent_id or "", self.participant.name))

    def _close(self, reason: str) -> None:
        if self._over:
            return
        self._over = True
        self.end_reason = reason
        for name in [*self._timers]:
            self._cancel(name)
        if not self._private:
            self.log.append(s.ServerSessionEndedEvent(session_id=self.session_id, reason=reason))
        logger.info("call %s ended: %s after %d ms", self.call_id, reason, self.log.now_ms())
        self.ended.set()
        self._played.close()
        on_ended, self.on_ended = self.on_ended, []
        for told in on_ended:
            told(self)
        for listener in [*self.listeners]:
            if listener.away:
                self.detach(listener, for_good=True)
        if not self.listeners:
            self._part()

    def _part(self) -> None:
        """Over and without listeners: part from what refers back here, so that the call is freed at once and not by
        the collector."""
        self._stop_following()
        self._stop_following = _follows_nothing

    # -- following the log -----------------------------------------------------------------------------------------

    def _follow(self, event: s.ServerEvent) -> None:
        if type(event) is s.AgentResponseAudioDeltaEvent:
            for listener in self.listeners:
                listener.deliver(event)
            return
        for listener in [*self.listeners]:
            listener.deliver(self._with_token(event, listener))
        self._played.follow(event)
        if isinstance(event, s.AgentInputStartedEvent | s.AgentInputDoneEvent | s.AgentResponseCreatedEvent):
            self._active_at = self.runtime.now()
            if isinstance(event, s.AgentInputStartedEvent):
                self._watch_audio(self.participant.received_samples, AUDIO_LOOKS)
            elif isinstance(event, s.AgentInputDoneEvent):
                self._cancel("audio")
        elif isinstance(event, s.AgentResponseDoneEvent):
            # It is heard for a while yet, as far as can be known now: one client that never acknowledges is no talk.
            self._active_at = self.runtime.now() + self.unheard_ms() / 1000
        elif isinstance(event, s.AgentEndedEvent):
            self.end_soon("agent_ended")

    def _with_token(self, event: s.ServerEvent, listener: Listener) -> s.ServerEvent:
        """What this client alone is told: how to come back."""
        if not self._may_return(listener) or listener.away:
            return event
        if isinstance(event, s.ServerSessionCreatedEvent):
            token, within_ms = self.resume_token.renew(), int(self.limits.grace_s * 1000)
            return msgspec.structs.replace(event, resume_token=token, resume_within_ms=within_ms)
        if isinstance(event, s.ServerGoodbyeEvent) and event.reason == "shutdown":
            return msgspec.structs.replace(event, resume_token=self.resume_token.renew(), retry_after_ms=RETRY_AFTER_MS)
        return event

    def _watch_audio(self, received_samples: int, looks: int) -> None:
        """While the user speaks: a client that stops sending sends no silence either. One whose socket is lost says the
        rest later."""
        if not self.participant.wants_audio_stopped or self._over:
            return
        received_now = self.participant.received_samples
        if received_now != received_samples or self.is_deserted:
            looks = AUDIO_LOOKS
        elif looks == 0:
            self.participant.audio_stopped()
            return
        self._after("audio", AUDIO_LOOK_S, lambda: self._watch_audio(received_now, looks - 1))

    def _check_idle(self) -> None:
        left_s = self._active_at + self.limits.idle_s - self.runtime.now()
        if left_s > IDLE_SLACK_S:
            self._after("idle", left_s, self._check_idle)
        else:
            self.end_soon("idle")

    def _after(self, name: str, delay_s: float, act: Callable[[], None]) -> None:
        self._cancel(name)
        self._timers[name] = asyncio.get_running_loop().call_later(delay_s, act)

    def _cancel(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()


_UNCOUNTED = c.ClientAudioAppendEvent | c.ClientImageAppendEvent | c.ClientPlaybackAckEvent | c.ClientSessionEndEvent
"""What comes all the time and is not kept as it came; and a call can always be ended."""
_ENDS_SPEECH = c.ClientAudioCommitEvent | c.ClientAudioClearEvent
"""A server that goes on from the store may be told the speech before it again, and then this as well: where nothing was
said before it, it means nothing."""


def _rate_of(event: c.ClientAudioAppendEvent) -> int | None:
    """The rate of its audio; None for one that is not served, of which the agent has told and taken nothing."""
    try:
        return event.format.rate_hz(DEFAULT_INPUT_RATE_HZ)
    except ValueError:
        return None


def _follows_nothing() -> None:
    """In place of what ends the following of a log that is not followed any more."""


def public_error(error: Exception) -> RealtimeError:
    """What a client may know of a failed start. A fault of our own is in the server's log, with its details."""
    if isinstance(error, RealtimeError) and not isinstance(error, UsageError):
        return error
    code = error.code if isinstance(error, UsageError) else "agent_failed"
    return RealtimeError("the server could not make or start the agent: its log says why", code=code)
