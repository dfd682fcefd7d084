"""The talk in a room: who speaks, who hears it, and who is next."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.audio.voice import Voice
from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import DEFAULT_OUTPUT_RATE_HZ, ContentPart, Item
from realtime.room.agent_participant import AgentParticipant, Utterance
from realtime.room.consent import Consent, ConsentBy
from realtime.room.floor import FloorState, Participant, Policy, Said, named_by, with_turn
from realtime.room.hearing import Hearing
from realtime.room.human_participant import HumanParticipant
from realtime.room.transcription import Words, anybody_hears
from realtime.runtime import Runtime
from realtime.state.conversation import Conversation
from realtime.state.log import Log
from realtime.state.restore import ConversationReader
from realtime.turn.responses import ANSWER_S, FAILED_S, REFUSED_S

logger = logging.getLogger(__name__)

SLOW_WORDS_S = 5.0
"""How long an agent may take to write a turn down before another is asked as well."""
TRANSCRIPT_S = 10.0
"""How long the words of a turn are waited for before the talk goes on without them."""
LATE_WORDS_S = 60.0
"""How long after the end of a turn its words still count."""
STALLED_S = 2.0
"""How long the others wait for a human of whom nothing comes in the middle of a turn; and how much longer than it takes
to play a turn of an agent they wait for one who does not say that it was played."""
SETTLE_S = 0.02
"""How much later the ear is asked again whether all is heard."""
FLOAT_ERROR_S = 0.001
"""A time that is nearer than this is reached: a timer for less would not move the clock at all."""
MAX_LOSSES = 2
"""An agent whose model was lost so often when it was to answer one question is asked that no more."""
MAX_ITEMS = 1_000
"""So much of what was said last is kept."""
CLIENT_MISTAKE = "client_error"
POLICY_S = 20.0
"""How long a policy may think: one that asks a model takes seconds."""


class Talk:
    """What is said among humans (`seats`) and agents (`members`) that are there. Who is there is not decided here."""

    def __init__(self, name: str, policy: Policy, max_agent_turns: int, consent_by: ConsentBy) -> None:
        self.name = name
        self.members: list[AgentParticipant] = []
        """The agents, in order; empty before the room has begun."""
        self.seats: list[HumanParticipant] = []
        """The humans, in order of coming."""
        self._consent = Consent(consent_by, self.members, self.seats)
        self.conversation = Conversation()
        """What was said, with names; of agents the words that were heard."""
        self.on_event: list[Callable[[s.ServerEvent], None]] = []
        """Called with each event of the room."""
        self.log: Log | None = None
        """Each event of the room in its order; none before the room has begun."""
        self._policy = policy
        self._max_agent_turns = max_agent_turns
        self._reader = ConversationReader(self.conversation)
        self._runtime: Runtime | None = None
        self._state = FloorState(())
        self._words = Words()
        self._pending = self._words.unknown
        """Turns of which the words are not known yet, by id."""
        self._late: list[Utterance] = []
        """Turns of which the words came while an agent spoke: they count as said after its turn."""
        self._speaker: AgentParticipant | None = None
        self._hearing = Hearing()
        """Who hears the agent that speaks, or spoke last."""
        self._floor: str | None = None
        self._is_ending = False
        """Whether the agent that speaks has said all, and is only heard to its end."""
        self._is_stopping = False
        """Whether the agent that speaks is being stopped: what was heard of it is not known before it is."""
        self._played_at_s = 0.0
        """When who began to play it at once has heard what the agent that speaks has said."""
        self._mistakes: list[s.AgentErrorEvent] | None = None
        """What is wrong with the answer that a client gives to a tool call; null where none does."""
        self._is_quiet = False
        """Whether somebody has stopped the talk: then no agent speaks until a human does."""
        self._active_at_s = 0.0
        """When something came of the agent that speaks last."""
        self._failures: dict[str, int] = {}
        """Agents (by id) that had the floor since somebody said something last, and could not."""
        self._is_considering = False
        """Whether turns that nobody writes down any more are being settled before a policy is asked."""
        self._deciding = 0
        self._decision: asyncio.Task[None] | None = None
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._over = False

    @property
    def participants(self) -> tuple[Participant, ...]:
        """Who is in it now, in order of coming; empty before the room has begun."""
        return self._state.participants

    @property
    def floor(self) -> str | None:
        """The id of the participant that has the floor; None where nobody has."""
        return self._floor

    @property
    def policy(self) -> Policy:
        """What decides who may speak."""
        return self._policy

    # -- what humans do --------------------------------------------------------------------------------------------

    def voice(self, voice: Voice) -> None:
        """See `realtime.room.human_participant.Room`."""
        for seat in self.seats:
            if seat.voice is not voice:
                seat.hear(voice)

    def voice_began(self, seat: HumanParticipant, start_ms: int) -> None:
        """See `realtime.room.human_participant.Room`: whoever speaks has the floor."""
        if seat not in self.seats:
            return  # Put out, and not told yet.
        self._take_floor(seat, "speech")
        self._is_quiet = False
        utterance = Utterance(self._new_id("said"), seat.id, seat.name)
        self._words.begin(utterance)
        seat.utterance = utterance
        self._watch(seat, utterance)
        self.tell(
            s.AgentInputStartedEvent(
                item_id=utterance.id, audio_start_ms=start_ms, agent_id=seat.id, agent_name=seat.name
            )
        )

    def voice_ended(self, seat: HumanParticipant, end_ms: int, pcm: bytes) -> None:
        """See `realtime.room.human_participant.Room`: somebody has to write the words down."""
        utterance, seat.utterance = seat.utterance, None
        if utterance is None:
            return
        self._is_quiet = False  # Who was speaking when somebody stopped the talk has gone on after that.
        who: dict[str, Any] = {"agent_id": seat.id, "agent_name": seat.name}
        self.tell(s.AgentInputDoneEvent(item_id=utterance.id, audio_end_ms=end_ms, **who))
        item = Item(id=utterance.id, role="user", name=seat.name, content=(ContentPart(type="audio"),))
        self.tell(s.AgentItemAddedEvent(item=item, **who))
        utterance.pcm += pcm
        named = self._is_named(utterance)
        if not self._words.hand_out(utterance, self.members, self._state.addressed, named=named):
            if not anybody_hears(self.members):
                self._complain("nobody here can hear: all agents are away or take no sound", "nobody_hears")
            self.transcribed(utterance, "")
        elif utterance.id in self._pending:
            self._after(f"words {utterance.id}", SLOW_WORDS_S, lambda: self._help_out(utterance))

    def voice_dropped(self, seat: HumanParticipant) -> None:
        """See `realtime.room.human_participant.Room`."""
        utterance, seat.utterance = seat.utterance, None
        if utterance is not None and self._words.drop(utterance):
            self.tell(s.AgentInputClearedEvent(item_id=utterance.id, agent_id=seat.id, agent_name=seat.name))
        self._consider()

    def voice_goes_on(self, seat: HumanParticipant) -> None:
        """See `realtime.room.human_participant.Room`."""
        if seat.utterance is not None:
            self._take_floor(seat, "speech")
            self._watch(seat, seat.utterance)

    def _watch(self, seat: HumanParticipant, utterance: Utterance) -> None:
        """Whoever is not heard any more in the middle of a turn has the floor no longer; their turn stays open."""

        def look() -> None:
            if seat.utterance is not utterance or seat not in self.seats:
                return
            left_s = seat.heard_at_s + STALLED_S - self._now()
            if left_s > SETTLE_S:
                self._after(f"voice {seat.id}", left_s, look)
            else:
                seat.is_stalled = True
                self._consider()

        self._after(f"voice {seat.id}", STALLED_S, look)

    def act(self, seat: HumanParticipant, event: c.ClientEvent) -> None:
        """See `realtime.room.human_participant.Room`."""
        if self._over:
            raise ClientError("the room is closed", code="room_closed")
        if seat not in self.seats:
            raise ClientError("you are not in the room any more", code="session_ended")
        match event:
            case c.ClientTextAppendEvent(text=text):
                self._take_floor(seat, "text")
                self._settle_cut()
                self._is_quiet = False
                item = Item(
                    id=self._new_id("said"),
                    role="user",
                    name=seat.name,
                    content=(ContentPart(type="text", text=text),),
                )
                who: dict[str, Any] = {"agent_id": seat.id, "agent_name": seat.name}
                self.tell(s.AgentItemAddedEvent(item=item, **who))
                self.tell(s.AgentItemDoneEvent(item=item, **who))
                self._spoken(Utterance(item.id, seat.id, seat.name, text=text), "human")
                self._consider()
            case c.ClientResponseCreateEvent():
                if self._speaker is not None:
                    self._speaker.ask_again()
                else:
                    self._is_quiet = False
                    self._failures.clear()
                    self._consider(reason="asked")
            case c.ClientResponseCancelEvent():
                self._is_quiet = True
                self._stop_speaker(seat)
                self._consider()
            case c.ClientToolResultEvent():
                self._answer_tool(seat, event)
            case c.ClientItemTruncateEvent() | c.ClientPlaybackAckEvent():
                pass
            case _:
                raise ClientError(f"{event.type} has no meaning in a room", code="unsupported_in_room")

    def _answer_tool(self, seat: HumanParticipant, event: c.ClientToolResultEvent) -> None:
        """Raises ClientError for an answer that the call does not take, or not from this human: told to them alone."""
        member = self._consent.answered_by(seat, event)
        mistakes = self._mistakes = []
        try:
            member.answer_tool(event)
        finally:
            self._mistakes = None
        for mistake in mistakes:
            raise ClientError(mistake.message, code=mistake.code, retryable=mistake.retryable)

    # -- what agents do (`realtime.room.agent_participant.Hub`) --------------------------------------------------------

    def tell(self, event: s.ServerEvent, told: HumanParticipant | None = None) -> None:
        """Something happened: into the log of the room, and to every human but the one who was `told` already."""
        if self.log is None:
            return
        if self._mistakes is not None and type(event) is s.AgentErrorEvent and event.error_type == CLIENT_MISTAKE:
            self._mistakes.append(event)
            return
        if type(event) is s.AgentItemAddedEvent:
            items = self.conversation.items()
            event = msgspec.structs.replace(event, previous_item_id=items[-1].id if items else None)
        self.log.append(event)
        if self._speaker is not None and getattr(event, "agent_id", None) == self._speaker.id:
            self._active_at_s = self._now()
            if type(event) is s.AgentErrorEvent and self._speaker.is_asked:
                self._after("refused", REFUSED_S, partial(self._is_refused, self._speaker))
            elif type(event) is s.AgentResponseAudioDeltaEvent:
                sound_s = len(event.delta) / SAMPLE_BYTES / (event.format.rate or DEFAULT_OUTPUT_RATE_HZ)
                self._played_at_s = max(self._played_at_s, self._active_at_s) + sound_s
        if type(event) is s.AgentResponseToolUseDoneEvent and event.tool_use.state == "asking":
            self._after("consent", 0, self._consent.refuse_for_absent)  # Once it can be answered: that is after this.
        self._reader.read(event)
        self.conversation.keep_latest(MAX_ITEMS)
        for seat in self.seats:
            if seat is not told:
                seat.tell(event)
        for follow in self.on_event:
            follow(event)

    def transcribed(self, utterance: Utterance, text: str, by: AgentParticipant | None = None) -> None:
        """See `Hub`. The first who has understood words counts; that there are none, once all agree who were asked."""
        text, named = text.strip(), self._is_named(utterance)
        if self._over:
            by = None  # Nobody else is asked: they go as well.
        if self._words.told(utterance, by, self.members, has_words=bool(text), named=named):
            self._settle(utterance, text)
        elif utterance.id not in self._pending and not self._words.is_still_written(utterance):
            self._cancel(f"words {utterance.id}")

    def turn_over(self, member: AgentParticipant) -> None:
        """See `Hub`: the next may speak when this one was heard to the end."""
        if self._speaker is not member or self._is_stopping:
            return
        if member.is_saying:
            # Another response has begun since: it ends the turn.
            if self._is_ending:
                self._is_ending = False
                self._watch_speaker(member, ANSWER_S)
            return
        left_s = self._still_played_s()
        if left_s > 0:
            self._is_ending = True
            self._after("heard", left_s, lambda: self.turn_over(member))
        else:
            self._end_turn(member)

    def _still_played_s(self) -> float:
        """How long to wait until asking again whether all is heard; 0 where it is, but by those who do not say so."""
        unheard_s, patience_s = self.unheard_ms() / 1000, self._played_at_s + STALLED_S - self._now()
        return min(unheard_s + SETTLE_S, patience_s) if unheard_s > 0 and patience_s > FLOAT_ERROR_S else 0.0

    def lost(self, member: AgentParticipant, reason: str) -> None:
        """See `Hub`: the others go on."""
        if self._over:
            return
        self._change(member.id, away=True)
        self.tell(s.ServerRoomLeftEvent(participant_id=member.id, name=member.name, reason="away"))
        logger.warning("agent %s of room %s is away: %s", member.id, self.name, reason)
        if self._speaker is member:
            # What it has said already is still heard to its end.
            self.turn_over(member)
        else:
            self._consider()

    def listens_to(self, member: AgentParticipant) -> bool:
        """See `Hub`."""
        return any(one.listens == "audio" and one is not member for one in self.members)

    def heard_ms(self, item_id: str) -> int:
        """See `Hub`."""
        return self._hearing.heard_ms(item_id, self.seats)

    def after_flush(self, settle: Callable[[], None]) -> None:
        """See `Hub`."""
        hearing = self._hearing

        def cut() -> None:
            # A late answer counts for the turn that it was given to, whoever speaks by now.
            now, self._hearing = self._hearing, hearing
            hearing.cut = None
            try:
                settle()
            finally:
                self._hearing = now
            conclude, hearing.conclude = hearing.conclude, None
            if conclude is not None:
                conclude()

        hearing.cut = cut
        hearing.after_flush(cut)

    def _settle_cut(self) -> None:
        """What is known now of what was heard counts: something comes behind the turn that was interrupted."""
        if self._hearing.cut is not None:
            self._hearing.cut()

    def unheard_ms(self) -> int:
        """See `Hub`."""
        return max((seat.unheard_ms() for seat in self.seats), default=0)

    # -- words -----------------------------------------------------------------------------------------------------

    def _is_named(self, utterance: Utterance) -> bool:
        """Whether agents have to be told whose voice it is."""
        return any(seat.id != utterance.who for seat in self.seats)

    def _help_out(self, utterance: Utterance) -> None:
        """Whoever writes it down is slow: somebody else does as well."""
        self._after(f"words {utterance.id}", TRANSCRIPT_S - SLOW_WORDS_S, lambda: self._go_on_without(utterance))
        self._words.ask_another(utterance, self.members, named=self._is_named(utterance))

    def _go_on_without(self, utterance: Utterance) -> None:
        self._after(f"words {utterance.id}", LATE_WORDS_S - TRANSCRIPT_S, lambda: self._give_words_up(utterance))
        self._words.is_too_slow(utterance)
        self._consider()

    def _give_words_up(self, utterance: Utterance) -> None:
        if utterance.id in self._pending:
            self._settle(utterance, "")
        self._words.forget(utterance)
        self._cancel(f"words {utterance.id}")

    def _settle(self, utterance: Utterance, text: str) -> None:
        """The words are known: everybody is told, and the talk goes on where it has waited for them."""
        was_awaited = self._words.settle(utterance)
        if self._words.is_still_written(utterance):
            # Others write it down as well: not for ever.
            self._after(f"words {utterance.id}", LATE_WORDS_S, lambda: self._give_words_up(utterance))
        else:
            self._cancel(f"words {utterance.id}")
        utterance.text = text
        who: dict[str, Any] = {"agent_id": utterance.who, "agent_name": utterance.name}
        self.tell(s.AgentInputTranscriptionDoneEvent(item_id=utterance.id, transcript=text, **who))
        item = self.conversation.get(utterance.id)
        if item is not None:
            self.tell(s.AgentItemDoneEvent(item=item, **who))
        if text and self._speaker is not None:
            self._late.append(utterance)  # A policy answers to what was said last.
        elif text or was_awaited:
            self._spoken(utterance, "human")
            self._consider()

    # -- the floor -------------------------------------------------------------------------------------------------

    def _take_floor(self, seat: HumanParticipant, reason: str) -> None:
        self._stop_speaker(seat)
        self._decide_anew()
        self._set_floor(seat.id, reason)

    def _stop_speaker(self, by: HumanParticipant | None = None) -> None:
        if self._speaker is not None:
            self._hearing.ear = by
            self._stop(self._speaker, interrupted=True)

    def _stop(self, member: AgentParticipant, *, interrupted: bool = False, failed: bool = False) -> None:
        """The turn of the agent that speaks ends here, once: also where its model says at once that it has stopped."""
        self._is_stopping = True
        try:
            member.interrupt()
        finally:
            self._is_stopping = False
        self._end_turn(member, interrupted=interrupted, failed=failed)

    def _end_turn(self, member: AgentParticipant, *, interrupted: bool = False, failed: bool = False) -> None:
        """The agent's turn is over: the floor is free at once; its words count once it is known which were heard."""
        self._speaker = None
        self._cancel("heard")
        self._cancel("answer")
        self._cancel("refused")
        member.has_floor = False
        self._set_floor(None, "interrupted" if interrupted else "done")
        conclude = partial(self._conclude, member, interrupted=interrupted, failed=failed)
        if self._hearing.cut is not None:
            self._hearing.conclude = conclude
        else:
            conclude()

    def _conclude(self, member: AgentParticipant, *, interrupted: bool, failed: bool) -> None:
        """An agent's turn counts with the words that were heard. Where none were since it was `interrupted`, has
        `failed`, its model was lost or its provider failed, there was no turn: what was asked is still open."""
        said = member.utterance(self._new_id("said"))
        if said.text or not (interrupted or failed or member.is_away or member.has_failed):
            self._spoken(said, "agent")
        elif not interrupted:
            self._failures[member.id] = MAX_LOSSES if failed else self._failures.get(member.id, 0) + 1
        late, self._late = self._late, []
        for utterance in late:
            self._spoken(utterance, "human")
        if member.has_failed and not said.text:
            self._after("again", FAILED_S, self._consider)
        elif not interrupted:
            # Else whoever interrupts says what comes next.
            self._consider()

    def _spoken(self, utterance: Utterance, kind: str) -> None:
        """A turn is over and its words are known: everybody hears it who has not, and who cannot hear it now reads
        it."""
        self._settle_cut()
        is_agent = kind == "agent"
        if utterance.text and not is_agent:
            self._consent.asked_by = utterance.who
        if utterance.text or is_agent:
            self._failures.clear()
            self._state = with_turn(
                self._state, Said(utterance.who, utterance.name, "agent" if is_agent else "human", utterance.text)
            )
            for member in self.members:
                if member.id == utterance.who or member.id in utterance.heard_by:
                    continue
                if not (is_agent and member.listens == "audio" and member.listen(utterance, named=True)):
                    member.read(utterance)

    def _consider(self, reason: str = "") -> None:
        """Who is next, where nobody speaks and all words are known."""
        if self._is_considering:
            return  # Whoever does goes on when those turns are settled.
        self._is_considering = True
        try:
            for utterance, writer in self._words.forsaken(self.members):
                self.transcribed(utterance, "", writer)
        finally:
            self._is_considering = False
        self._decide_anew()
        if self._over or self._speaker is not None:
            return
        speaking = [seat.id for seat in self.seats if seat.is_speaking and not seat.is_stalled]
        if speaking:
            # Who has said something beside somebody who goes on has the floor no longer.
            if self._floor not in speaking:
                self._set_floor(speaking[0], "speech")
            return
        if not self.seats:
            self._set_floor(None, "nobody")
            return
        if self._words.are_awaited:
            return
        if self._is_quiet:
            self._set_floor(None, "cancelled")
            return
        self._settle_cut()
        state = self._askable()
        if self._failures and not state.agents:
            self._set_floor(None, "nobody")
            return
        is_open = bool(reason or self._failures)
        if not is_open and (state.last is None or state.agent_turns >= self._max_agent_turns):
            self._set_floor(None, "limit" if state.last is not None and state.agent_turns else "")
            return
        try:
            chosen = self._policy(state)
            if inspect.isawaitable(chosen):
                self._decision = self._run(self._decide_later(chosen, self._deciding), "floor policy")
                return
            speaker = named_by(chosen)
        except Exception:
            self._have_no_policy()
            return
        self._give(speaker)

    def _decide_anew(self) -> None:
        """What a policy thinks about is not what it is asked any more."""
        self._deciding += 1
        if self._decision is not None:
            self._decision.cancel()

    async def _decide_later(self, chosen: Awaitable[object], number: int) -> None:
        try:
            async with asyncio.timeout(POLICY_S):
                speaker = named_by(await chosen)
        except Exception:
            if number == self._deciding:
                self._have_no_policy()
            return
        if number == self._deciding:
            self._give(speaker)

    def _have_no_policy(self) -> None:
        """It has failed or takes for ever, whatever it is that somebody wrote: the room goes on, and nobody speaks."""
        logger.exception("the floor policy of room %s failed", self.name)
        self._complain("the floor policy failed: the server's log says why", "floor_policy_failed")
        self._set_floor(None, "nobody")

    def _askable(self) -> FloorState:
        """The state for a policy: who could not answer what is open is not asked it again."""
        if not self._failures:
            return self._state
        participants = tuple(
            replace(one, away=one.away or self._failures.get(one.id, 0) >= MAX_LOSSES)
            for one in self._state.participants
        )
        return replace(self._state, participants=participants)

    def _give(self, speaker: str | None) -> None:
        found = self._askable().find(speaker)
        member = next((one for one in self.members if found is not None and one.id == found.id), None)
        if member is None:
            self._set_floor(None, "nobody")
            return
        self._speaker, self._is_ending = member, False
        self._hearing = Hearing(member, self.seats)
        self._set_floor(member.id, "policy")
        self._active_at_s = self._played_at_s = self._now()
        self._watch_speaker(member, ANSWER_S)
        member.speak(self._consent.asked_by)

    def _watch_speaker(self, member: AgentParticipant, delay_s: float) -> None:
        """Whoever has the floor and does nothing loses it, once all that was said is heard."""

        def look() -> None:
            if self._speaker is not member or self._is_ending:
                return
            left_s = ANSWER_S if member.is_at_work else self._active_at_s + ANSWER_S - self._now()
            left_s = max(left_s, self._still_played_s())
            if left_s > FLOAT_ERROR_S:
                self._watch_speaker(member, left_s)
            else:
                self._complain(f"{member.name} does not answer", "no_answer")
                self._stop(member, failed=True)

        self._after("answer", delay_s, look)

    def _is_refused(self, member: AgentParticipant) -> None:
        """Its model has told of an error when it was to answer, and of no answer since."""
        if member.is_asked:
            member.has_failed = True
            self._stop(member)

    def _set_floor(self, participant_id: str | None, reason: str) -> None:
        if participant_id != self._floor:
            self._floor = participant_id
            self.tell(s.ServerRoomFloorEvent(participant_id=participant_id, reason=reason))

    # -- inside ----------------------------------------------------------------------------------------------------

    def _change(self, participant_id: str, **changes: Any) -> None:
        self._state = replace(
            self._state,
            participants=tuple(
                replace(one, **changes) if one.id == participant_id else one for one in self._state.participants
            ),
        )

    def _complain(self, message: str, code: str) -> None:
        self.tell(s.AgentErrorEvent(error_type="server_error", code=code, message=message))

    def _new_id(self, prefix: str) -> str:
        assert self._runtime is not None
        return self._runtime.new_id(prefix)

    def _now(self) -> float:
        assert self._runtime is not None
        return self._runtime.now()

    def _run(self, work: Any, name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _after(self, name: str, delay_s: float, act: Callable[[], None]) -> None:
        self._cancel(name)

        def fire() -> None:
            self._timers.pop(name, None)
            act()

        self._timers[name] = asyncio.get_running_loop().call_later(delay_s, fire)

    def _cancel(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()
