"""The turns of a room: who speaks, who hears it, and who is next."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from realtime.agent.answers import Taken
from realtime.agent.overlap import Overlap
from realtime.audio.voice import Voice
from realtime.call.asked import Asked
from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import ContentPart, Item
from realtime.room.agent_participant import AgentParticipant, Listens
from realtime.room.agents import Agents
from realtime.room.consent import Consent, ConsentBy
from realtime.room.context import RoomContext
from realtime.room.floor import Policy, Said
from realtime.room.floor_keeper import FloorKeeper
from realtime.room.human_participant import HumanParticipant
from realtime.room.overlaps import Overlaps
from realtime.room.participant import Kind
from realtime.room.people import People
from realtime.room.questions import Questions
from realtime.room.speaker import SETTLE_S, STALLED_S, Speaker
from realtime.room.transcription import Transcription
from realtime.room.utterance import Utterance
from realtime.turn.interruption import SIDE_TALK
from realtime.turn.responses import FAILED_S

CLIENT_MISTAKE = "client_error"


class RoomTurns:
    """Takes what humans and agents say and decides what follows.

    It is what the humans' participants and those of the agents (`Hub`) talk to.
    """

    def __init__(
        self,
        context: RoomContext,
        people: People,
        *,
        policy: Policy,
        max_agent_turns: int,
        consent_by: ConsentBy,
        listens: Callable[[str], Listens],
    ) -> None:
        self._context = context
        self._people = people
        self._record = people.record
        self.consent = Consent(consent_by, people)
        self.floor = FloorKeeper(context, people, policy, max_agent_turns, self._give, self._go_on)
        self.speaker = Speaker(context, people, self.floor, self._conclude)
        self.transcription = Transcription(context, people, self._words_known, self.consider)
        self.agents = Agents(context, people, self, self.floor, self.speaker, self.consider, self._deaf, listens)
        self.overlaps = Overlaps(context, people, self.speaker)
        self.questions = Questions(context, people, self.consent, self.speaker, self.transcription, self.overlaps)
        self._asides: list[Utterance] = []
        """What humans said to each other while an agent spoke: agents read it after its turn, and none answers."""
        self._unwritten: list[Utterance] = []
        """Turns that did not stop the agent that speaks: they are written down after its turn."""
        self._late: list[Utterance] = []
        """Turns whose words came while an agent spoke: they count as said after its turn."""
        self._mistakes: list[s.AgentErrorEvent] | None = None
        """What is wrong with a client's answer to a tool call; None where no client gives one."""
        self._is_quiet = False
        """Whether a client has stopped the talk: then no agent speaks until a human does."""

    # -- what humans do --------------------------------------------------------------------------------------------

    def voice(self, voice: Voice) -> None:
        """Let all other humans hear what one says at this moment."""
        for human in self._people.humans:
            if human.microphone.voice is not voice:
                human.hear(voice)

    def voice_began(self, human: HumanParticipant, start_ms: int) -> None:
        """A human begins to speak, and has the floor."""
        if human not in self._people.humans:
            return  # Removed, and not told yet.
        asks = self.questions.asker()
        if self._takes_floor(human):
            self.take_floor(human, "speech")
        self._is_quiet = False
        utterance = Utterance(self._context.runtime.new_id("said"), human.id, human.name)
        self.transcription.begin(utterance)
        human.utterance = utterance
        self._watch(human, utterance)
        self._record.tell(s.AgentInputStartedEvent(item_id=utterance.id, audio_start_ms=start_ms, **human.who))
        self.questions.voice_began(asks, human, utterance, start_ms)

    def is_asked(self, human: HumanParticipant) -> bool:
        """Whether an agent has asked this human something aloud that is open."""
        return self.questions.is_asked(human)

    def voice_ended(self, human: HumanParticipant, end_ms: int, pcm: bytes, *, is_far: bool = False) -> None:
        """A human's turn is over; `pcm` is all of it at 16 kHz. `is_far`: it is no answer, but a distant voice."""
        utterance, human.utterance = human.utterance, None
        if utterance is None:
            return
        self._is_quiet = False  # A human who was speaking when the talk was stopped has gone on since.
        self._record.tell(s.AgentInputDoneEvent(item_id=utterance.id, audio_end_ms=end_ms, **human.who))
        item = Item(id=utterance.id, role="user", name=human.name, content=(ContentPart(type="audio"),))
        self._record.tell(s.AgentItemAddedEvent(item=item, **human.who))
        utterance.pcm += pcm
        self.questions.voice_ended(human, utterance, end_ms, is_far=is_far)
        if self.speaker.agent is not None and not self.questions.is_answer(utterance):
            self._unwritten.append(utterance)
        else:
            self.transcription.write_down(utterance, self.floor.state.addressed)

    def voice_dropped(self, human: HumanParticipant) -> None:
        """A human's turn is discarded as a false start."""
        utterance, human.utterance = human.utterance, None
        if utterance is not None:
            self.questions.voice_dropped(human, utterance)
        if utterance is not None and self.transcription.drop(utterance):
            self._record.tell(s.AgentInputClearedEvent(item_id=utterance.id, **human.who))
        self.consider()

    def voice_goes_on(self, human: HumanParticipant) -> None:
        """A human who stalled in mid-turn is heard again."""
        if human.utterance is not None:
            if self._takes_floor(human):
                self.take_floor(human, "speech")
            self.questions.is_heard(human)
            self._watch(human, human.utterance)

    def _takes_floor(self, human: HumanParticipant) -> bool:
        agent = self.speaker.agent
        return agent is None or human.microphone.interrupts or (agent.aloud.is_open and self.speaker.is_played)

    def voice_over(self, human: HumanParticipant) -> None:
        """A human's voice over a reply begins: it is dropped if their audio stops before a decision."""

        def look() -> None:
            left_s = human.microphone.heard_at_s + STALLED_S - self._context.runtime.now()
            if left_s > SETTLE_S and human.microphone.is_over_reply:
                self._context.timers.after(f"over {human.id}", left_s, look)
            else:
                human.microphone.forsake_voice("undecided")

        self._context.timers.after(f"over {human.id}", STALLED_S, look)
        self.questions.is_heard(human)

    def voice_passed(self, human: HumanParticipant, over: Overlap) -> None:
        """A human's voice over a reply did not take the floor; words to another human belong to the talk."""
        self._context.timers.cancel(f"over {human.id}")
        self.questions.dismissed(human, over)
        if over.dismissed == SIDE_TALK and over.words and human in self._people.humans:
            self._aside(human, over, over.words)
        self.consider()

    def _aside(self, human: HumanParticipant, over: Overlap, words: str) -> None:
        utterance = Utterance(over.piece_id, human.id, human.name, text=words)
        end_ms = over.start_ms if over.end_ms is None else over.end_ms
        content = (ContentPart(type="audio", transcript=words),)
        item = Item(id=utterance.id, role="user", name=human.name, content=content)
        tell, who = self._record.tell, human.who
        tell(s.AgentInputStartedEvent(item_id=utterance.id, audio_start_ms=over.start_ms, **who))
        tell(s.AgentInputDoneEvent(item_id=utterance.id, audio_end_ms=end_ms, **who))
        tell(s.AgentItemAddedEvent(item=item, **who))
        tell(s.AgentInputTranscriptionDoneEvent(item_id=utterance.id, transcript=words, **who))
        tell(s.AgentItemDoneEvent(item=item, **who))
        if self.speaker.agent is not None:
            self._asides.append(utterance)
        else:
            self._pass_on(utterance)

    def _watch(self, human: HumanParticipant, utterance: Utterance) -> None:
        """Free the floor of a human who falls silent in mid-turn; the turn stays open."""

        def look() -> None:
            if human.utterance is not utterance or human not in self._people.humans:
                return
            left_s = human.microphone.heard_at_s + STALLED_S - self._context.runtime.now()
            if left_s > SETTLE_S:
                self._context.timers.after(f"voice {human.id}", left_s, look)
            else:
                human.microphone.is_stalled = True
                self.questions.falls_silent(human)
                self.consider()

        self._context.timers.after(f"voice {human.id}", STALLED_S, look)

    def act(self, human: HumanParticipant, event: c.ClientEvent) -> None:
        """Take any other event of a client. Raises ClientError for what a room cannot do."""
        if self._context.is_over:
            raise ClientError("the room is closed", code="room_closed")
        if human not in self._people.humans:
            raise ClientError("you are not in the room any more", code="session_ended")
        match event:
            case c.ClientTextAppendEvent(text=text):
                self._write(human, text)
            case c.ClientResponseCreateEvent():
                if self.speaker.agent is not None:
                    self.speaker.agent.ask_again()
                else:
                    self._is_quiet = False
                    self.floor.failures.clear()
                    self.consider(is_asked=True)
            case c.ClientResponseCancelEvent():
                self._is_quiet = True
                self.speaker.stop(human)
                self.questions.withdraw()
                self.consider()
            case c.ClientToolResultEvent():
                self._answer_tool(human, event)
            case c.ClientPlanEditEvent():
                self._edit_plan(human, event)
            case c.ClientItemTruncateEvent() | c.ClientPlaybackAckEvent():
                pass
            case _:
                raise ClientError(f"{event.type} has no meaning in a room", code="unsupported_in_room")

    def _write(self, human: HumanParticipant, text: str) -> None:
        asks = self.questions.asker()
        self.take_floor(human, "text")
        self.speaker.settle_cut()
        self._is_quiet = False
        item = Item(
            id=self._context.runtime.new_id("said"),
            role="user",
            name=human.name,
            content=(ContentPart(type="text", text=text),),
        )
        self._record.tell(s.AgentItemAddedEvent(item=item, **human.who))
        self._record.tell(s.AgentItemDoneEvent(item=item, **human.who))
        self._take(*self.questions.typed(asks, human, Utterance(item.id, human.id, human.name, text=text)))
        self.consider()

    def _edit_plan(self, human: HumanParticipant, event: c.ClientPlanEditEvent) -> None:
        """Change the plan of the agent that has it: plans of a room belong to all its humans. Raises ClientError."""
        agent = next((one for one in self._people.agents if not one.is_away and one.run.plan.has(event.plan_id)), None)
        if agent is None:
            raise ClientError("no agent in the room follows this plan now", code="plan_replaced")
        agent.run.plan.edit(event, human.name, lambda error: human.refuse(error, event.event_id))

    def _answer_tool(self, human: HumanParticipant, event: c.ClientToolResultEvent) -> None:
        """Pass on a tool result. Raises ClientError if it is refused."""
        agent = self.consent.answered_by(human, event)
        if event.confirmed is not None and agent.run.consents is not None:
            agent.run.consents.answers_from(human.id)
        mistakes = self._mistakes = []
        try:
            agent.answer_tool(event)
        finally:
            self._mistakes = None
        for mistake in mistakes:
            raise ClientError(mistake.message, code=mistake.code, retryable=mistake.retryable)

    # -- what agents do (`realtime.room.agent_participant.Hub`) ----------------------------------------------------

    def tell(self, event: s.ServerEvent) -> None:
        """See `Hub`."""
        if self._mistakes is not None and type(event) is s.AgentErrorEvent and event.error_type == CLIENT_MISTAKE:
            self._mistakes.append(event)
            return
        speaker = self.speaker.agent
        if speaker is not None and getattr(event, "agent_id", None) == speaker.id:
            self.speaker.follow(speaker, event)
        if type(event) is s.AgentResponseToolUseDoneEvent and event.tool_use.state == "asking":
            # Once it can be answered: that is after this.
            self._context.timers.after("consent", 0, self._asks)
        elif type(event) is s.AgentResponseToolResultEvent and event.response_id is None:
            self._context.timers.after("result", 0, self._end_without_words)
        self._record.tell(event)

    def transcribed(self, utterance: Utterance, text: str, by: AgentParticipant | None = None) -> None:
        """See `Hub`."""
        self.transcription.told(utterance, text, by)

    def asked(self, agent: AgentParticipant) -> Asked:
        """See `Hub`."""
        return self.questions.asked(agent)

    def begins_to_ask(self, agent: AgentParticipant) -> None:
        """See `Hub`."""
        self.questions.begins(agent)

    def turn_over(self, agent: AgentParticipant) -> None:
        """See `Hub`: the next may speak when this one was heard to the end."""
        self.speaker.over(agent)

    def asks_for_floor(self, agent: AgentParticipant) -> None:
        """See `Hub`."""
        if not agent.is_silent:
            self.floor.wish(agent)
            self.consider()

    def lost(self, agent: AgentParticipant, reason: str) -> None:
        """See `Hub`: the others go on."""
        if self._context.is_over:
            return
        self.agents.lost(agent, reason)
        if self.speaker.agent is agent:
            # What it has said already is still heard to its end.
            self.speaker.over(agent)
        else:
            self.consider()
        self.agents.bring_back(agent)

    def listens_to(self, agent: AgentParticipant) -> bool:
        """See `Hub`."""
        return any(one.listens == "audio" and one is not agent for one in self._people.agents)

    def _deaf(self, agent: AgentParticipant) -> None:
        if agent in self._people.agents:
            self._context.run(self.dismiss(agent, "failed"), f"agent {agent.name} leaves")

    async def dismiss(self, agent: AgentParticipant, reason: str) -> None:
        """Remove an agent and close its model. Everyone learns of it before that, which may take its time."""
        self.speaker.settle_cut()
        if self.speaker.agent is agent:
            self.speaker.stop()
        self.agents.forget(agent)
        self.gone(agent.id, agent.name, reason)
        self.agents.introduce()
        await agent.leave(reason)
        self.consider()

    def gone(self, participant_id: str, name: str, reason: str) -> None:
        """Tell everyone that a participant has left; the floor is free where they had it."""
        self._people.go(participant_id, name, reason)
        self.floor.left(participant_id)

    # -- what follows ----------------------------------------------------------------------------------------------

    def take_floor(self, human: HumanParticipant, reason: str) -> None:
        """Give the floor to a human: the agent that speaks stops at the word that they have heard."""
        self.speaker.stop(human, ends_tools=False)
        self.floor.forget_question()
        self.floor.set(human.id, reason)

    def consider(self, *, is_asked: bool = False) -> None:
        """Choose the next speaker if the floor is free; waits for all words."""
        if not self.transcription.settle_forsaken():
            return  # It goes on when those turns are settled.
        self.floor.forget_question()
        if self._context.is_over or self.speaker.agent is not None:
            return
        speaking = [
            one.id for one in self._people.humans if one.microphone.is_speaking and not one.microphone.is_stalled
        ]
        if speaking:
            # A human who has said something while another goes on has the floor no longer.
            if self.floor.holder not in speaking:
                self.floor.set(speaking[0], "speech")
        elif self.overlaps.undecided:
            pass  # What was said decides.
        elif not self._people.humans:
            self.floor.set(None, "nobody")
        elif self.transcription.are_awaited:
            pass
        elif self._is_quiet:
            self.floor.set(None, "cancelled")
        else:
            self.speaker.settle_cut()
            # What is asked aloud comes before what agents say among themselves, and after what a human wants to know.
            if is_asked or self.questions.is_turn_open or not self._go_on():
                self.floor.ask(is_asked=is_asked)

    def _give(self, agent: AgentParticipant) -> None:
        goes_on = agent.aloud.needs_floor and agent.aloud.waits_within_reply
        self.questions.has_floor(agent)
        self.speaker.begin(agent, self.consent.asked_by, goes_on=goes_on)

    def _go_on(self) -> bool:
        """Let an agent go on that has asked something aloud; returns whether there is one."""
        agent = self.questions.next()
        if agent is not None:
            self.questions.has_floor(agent)
            self.speaker.begin(agent, None, goes_on=True)
        return agent is not None

    def _asks(self) -> None:
        """An agent asks for consent: perhaps a human who has left or is away, or while the floor is free."""
        self.consent.refuse_for_absent()
        self.presence()

    def _end_without_words(self) -> None:
        """A question of a tool in the background is over: the agent that has asked it says nothing more."""
        agent = self.speaker.agent
        if agent is not None and not (agent.is_at_work or agent.aloud.needs_floor or agent.responses.is_requested):
            self.speaker.over(agent)

    def presence(self) -> None:
        """A human's socket is lost, or back, or they have left."""
        self.questions.presence()
        self.consider()

    def _words_known(self, utterance: Utterance, was_awaited: bool) -> None:
        """The words of a human's turn are known."""
        taken, said = self.questions.words(utterance)
        if taken is Taken.TURN and utterance.text and self.speaker.agent is not None:
            self._late += said  # A policy answers to what was said last.
        elif taken is not Taken.TURN or utterance.text or was_awaited:
            self._take(taken, said)
            self.consider()

    def _take(self, taken: Taken, said: Sequence[Utterance]) -> None:
        """Take turns of a human, by what they were to a question."""
        for utterance in said if taken is not Taken.NOTHING else ():
            self._said(utterance, "human")
            self.questions.is_turn_open = taken is Taken.TURN

    def _conclude(self, agent: AgentParticipant, *, interrupted: bool, failed: bool) -> None:
        """An agent's turn counts with the words that were heard.

        Where none were since it was `interrupted`, has `failed`, its model was lost or its provider failed, there was
        no turn: the question is still open.
        """
        asides, self._asides = self._asides, []
        for utterance in asides:
            self._pass_on(utterance)
        said = agent.utterance(self._context.runtime.new_id("said"))
        if agent.thinker is not None:
            whole = agent.aloud.heard(said.text)
            if whole is not None:
                agent.thinker.played(whole)
        if said.text or not (interrupted or failed or agent.is_away or agent.responses.has_failed):
            self._said(said, "agent")
        elif not interrupted:
            # A thinking agent fails for reasons of its own, and has the question in its memory.
            self.floor.failed(agent, for_good=failed or agent.thinker is not None)
        late, self._late = self._late, []
        for utterance in late:
            self._said(utterance, "human")
        unwritten, self._unwritten = self._unwritten, []
        for utterance in unwritten:
            self.transcription.write_down(utterance, self.floor.state.addressed)
        if agent.responses.has_failed and not said.text:
            self._context.timers.after("again", FAILED_S, self.consider)
        elif not interrupted:
            # Otherwise what interrupts it decides what comes next.
            self.consider()

    def _said(self, utterance: Utterance, kind: Kind) -> None:
        """A turn is over and its words are known: all agents that have not heard it hear it now, or read it."""
        self.speaker.settle_cut()
        is_agent = kind == "agent"
        if utterance.text and not is_agent:
            self.consent.asked_by = utterance.who
            self.questions.is_turn_open = True
        if not (utterance.text or is_agent):
            return
        self.floor.add_turn(Said(utterance.who, utterance.name, kind, utterance.text))
        self._pass_on(utterance, as_sound=is_agent)

    def _pass_on(self, utterance: Utterance, *, as_sound: bool = False) -> None:
        for agent in self._people.agents:
            if agent.id == utterance.who or (agent.thinker is None and agent.id in utterance.heard_by):
                continue
            if not (as_sound and agent.listens == "audio" and agent.listen(utterance, named=True)):
                agent.read(utterance)
