"""An agent in a room: its input, and what the room hears of it.

The room decides about turns, so an agent here answers when it is asked to and never by itself: what its model says out
of turn is dropped and cancelled. It hears each turn of the others once, as sound or as the line `[Name]: text`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from typing import Literal, NamedTuple, Protocol

import msgspec

from realtime.agent.controller import EMPTY_COMMIT, EMPTY_COMMIT_MS
from realtime.agent.realtime import RealtimeAgent
from realtime.audio.far_end import FarEnd
from realtime.audio.pcm import bytes_of
from realtime.call.asked import Asked
from realtime.call.participant import Ears, Emit, Host
from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import reply as r
from realtime.event import server as s
from realtime.event.base import DEFAULT_OUTPUT_RATE_HZ, AudioFormat, ContentPart, Item
from realtime.event.config import SessionConfig, TurnDetection
from realtime.message import ToolResultBlock, ToolResultState
from realtime.message.speakers import SPEAKS, spoken_by
from realtime.permission.accepted import AcceptedRules
from realtime.room.aloud import AskedAloud
from realtime.room.dictation import Dictation
from realtime.room.floor import Said
from realtime.room.scoped_ids import named
from realtime.room.thinking import ThinkingAgent
from realtime.room.utterance import Utterance
from realtime.runtime import Runtime
from realtime.state.conversation import Conversation
from realtime.state.replies import REMINDER
from realtime.state.truncation import portion_played
from realtime.turn.responses import Passed, RoomLedger

Listens = Literal["audio", "text"]
MAX_TOOL_ROUNDS = 8
"""Tool calls in one turn beyond which an agent loses the floor."""
KEPT_ITEMS = 500
"""How many items of the talk an agent and its model remember; the oldest go."""
FORGOTTEN_AT_ONCE = 50
NOT_THERE_TO_FORGET = "item_delete_invalid_item_id"
"""OpenAI's error code for an item that it has already forgotten."""


class OpenCall(NamedTuple):
    """A call of a tool that has no result yet."""

    name: str
    asked_by: str | None
    """The human (by id) whose turn led to it; None where none did."""
    asks: bool
    """Whether it runs only with a human's consent."""


class Hub(Protocol):
    """What an agent in a room needs of it."""

    def tell(self, event: s.ServerEvent) -> None:
        """Tell everyone in the room of an event."""

    def transcribed(self, utterance: Utterance, text: str, by: AgentParticipant | None = None) -> None:
        """Take the words of a turn as `by` has understood them; empty where it could not."""

    def turn_over(self, agent: AgentParticipant) -> None:
        """The agent that has the floor is done, or was stopped."""

    def asks_for_floor(self, agent: AgentParticipant) -> None:
        """It has something to tell: it speaks when no one else is to."""

    def lost(self, agent: AgentParticipant, reason: str) -> None:
        """Its model is gone."""

    def listens_to(self, agent: AgentParticipant) -> bool:
        """Whether another agent hears the voice of this one, not its words."""

    def asked(self, agent: AgentParticipant) -> Asked:
        """Those whom it asks whether its tools may run."""

    def begins_to_ask(self, agent: AgentParticipant) -> None:
        """It begins to speak a question for consent."""


class AgentParticipant:
    """One agent. In the room, the ids of its items, responses and tool calls begin with its own.

    `has_floor` is whether it may speak; `is_away` whether its model is lost.
    """

    def __init__(self, agent: RealtimeAgent, hub: Hub, ears: Ears, runtime: Runtime, listens: Listens) -> None:
        self.agent = agent
        self.run = agent.run()
        """The agent in this room, until its model is lost."""
        self.name = agent.name
        self.id = agent.agent_id or runtime.new_id("agent")
        self.thinker = agent.thinker if isinstance(agent, ThinkingAgent) else None
        """What observes the room's turns; None: its model hears them."""
        hears = self.thinker is None and "audio" in agent.model.profile.input_modalities
        self.listens: Listens = listens if hears else "text"
        self.has_floor = False
        self.is_away = False
        self.is_muted = False
        self.responses = RoomLedger()
        self.ready: s.AgentReadyEvent | None = None
        """How it introduced itself."""
        self.conversation = Conversation()
        """What it knows of the talk: its own words, and those it got of others."""
        self.is_silent = isinstance(agent, ThinkingAgent) and agent.is_silent
        """Whether it speaks only where it is called."""
        self._hub = hub
        self._ears = ears
        """What the humans have heard of items, by their room names."""
        self._runtime = runtime
        self._prefix = f"{self.id}."
        self.dictation = Dictation()
        self._is_tidying = False
        """Whether its events are about items that it forgets."""
        self._calls_tools = False
        self._tool_rounds = 0
        self._spoken: list[str] = []
        """Its items of this turn, by its own ids."""
        self._talk = self.conversation
        """Where the items of this turn are: its model may have come back since with another conversation."""
        self._sound: dict[str, bytearray] = {}
        """Its speech in this turn, by item, for another listening agent."""
        self._calls: dict[str, OpenCall] = {}
        """By its own ids."""
        self._lines: dict[str, str] = {}
        """The items that say whose voice follows, by utterance."""
        self._follow: Emit | None = None
        """Gets its events but speech."""
        self.aloud = AskedAloud(lambda: None if self.is_away else self.run.consents)
        """What it asks aloud."""
        self._accepted = AcceptedRules()
        """The rules that each human of the room has accepted."""
        self._asked_by: str | None = None
        """Id of the human whose turn led to this turn; None without one."""
        self._missed: list[Utterance] | None = None
        """What is said while its model is being connected; None at all other times."""
        self._goes_on_by_itself = True
        """Whether its model speaks on after results of tools in a client."""
        self._sound_hz = DEFAULT_OUTPUT_RATE_HZ
        self._leaving = False
        self.came_back_at_s = -inf
        """When its model was last had again, at that many tries (`tries`)."""
        self.tries = 0

    # -- its life --------------------------------------------------------------------------------------------------

    async def join(self, config: SessionConfig) -> None:
        """Connect its model. Raises what `AgentRun.join` raises."""
        self._leaving = True  # If it ends before it has joined, the exception reports that.
        self.responses.clear()
        self._goes_on_by_itself = config.tool_auto_response is not False
        plans = self.run.spec.plan_notebook
        self.run = self.agent.run()
        if self.ready is not None:
            self.run.plan.use(plans)  # It was here before, and its plan goes on.
        self.run.agent_id = self.agent.agent_id = self.id
        profile = self.agent.model.profile
        turns = TurnDetection(authority="client") if profile.supports_manual_turns else None
        driven = msgspec.structs.replace(
            config, auto_response=False, text_auto_response=False, turn_detection=turns, agent_name=None
        )
        missed: list[Utterance] = []
        self._missed = missed
        try:
            host = Host(
                self._hear,
                self.conversation,
                self,
                self._runtime,
                ask_for_floor=partial(self._hub.asks_for_floor, self),
                accepted=self._accepted,
                acts_for=lambda: self._asked_by or "",
                asked=self._hub.asked(self),
            )
            await self.run.join(host, driven)
        finally:
            self._missed = None
        self._leaving = self.is_away = False
        for utterance in missed:
            self.read(utterance)

    async def leave(self, reason: str) -> None:
        """Disconnect its model. Idempotent."""
        self._leaving = self.is_away = True
        self._give_up()
        await self.run.leave(reason)

    def recall(self, said: Sequence[Said]) -> None:
        """Set the talk so far, in order, before `join`: its model begins with that and nothing else."""
        self.conversation = Conversation()
        for one in said:
            if not one.text:
                continue
            own = one.id == self.id
            words = ContentPart(type="text", text=one.text if own else spoken_by(one.name, one.text))
            role: Literal["assistant", "user"] = "assistant" if own else "user"
            self.conversation.add(
                Item(id=self._runtime.new_id("item"), role=role, status="completed", content=(words,))
            )

    # -- its input -------------------------------------------------------------------------------------------------

    def read(self, utterance: Utterance) -> None:
        """Take a turn of another participant as a line of text."""
        if not utterance.text:
            return
        if self.thinker is not None:
            self.thinker.hear(utterance.name, utterance.text)
        elif self._missed is not None:
            self._missed.append(utterance)
        else:
            self._act(c.ClientTextAppendEvent(text=spoken_by(utterance.name, utterance.text)))

    def listen(self, utterance: Utterance, *, named: bool) -> bool:
        """Take a turn of another participant as sound; `named` adds a line before it that says whose voice it is.

        Returns False where it cannot, or where there is too little to hear.
        """
        if self.is_away or utterance.duration_ms < EMPTY_COMMIT_MS:
            return False
        if named:
            self._act(c.ClientTextAppendEvent(text=spoken_by(utterance.name, SPEAKS)))
            if self.aloud.is_open and (items := self.conversation.items()):
                self._lines[utterance.id] = items[-1].id
        utterance.heard_by.add(self.id)
        if self._guesses or not utterance.text:
            self.dictation.add(utterance)
        pcm_format = AudioFormat.pcm16(utterance.rate_hz)
        self._act(c.ClientAudioAppendEvent(audio=bytes(utterance.pcm), format=pcm_format))
        self._act(c.ClientAudioCommitEvent(event_id=utterance.id))
        return True

    def speak(self, asked_by: str | None = None) -> None:
        """Take the floor and answer; `asked_by` is the human (by id) whose turn led to that."""
        self._asked_by = asked_by
        self._tool_rounds = 0
        self._begin_turn()
        self.responses.request()
        self._act(c.ClientResponseCreateEvent())

    def go_on(self) -> None:
        """Take the floor again for what was asked aloud: ask it, await the answer, or say what came of it."""
        self._begin_turn()
        if self.run.consents is not None:
            if self.aloud.is_open:
                # What follows the answer serves who gives it, whomever the agent has talked to since the call.
                self._asked_by = self.aloud.asker_of(self.aloud.call_id)
            self.run.consents.have_floor()

    def _begin_turn(self) -> None:
        self.has_floor = True
        self.aloud.is_paused = self.aloud.is_withdrawn = self._calls_tools = False
        self.responses.new_turn()
        self._spoken.clear()
        self._sound.clear()
        self._talk = self.conversation

    def ask_again(self) -> None:
        """Continue after the client's tools, if the model waits for a request."""
        if self.has_floor and not (self._goes_on_by_itself or self.responses.is_requested or self.responses.is_running):
            self.responses.request()
            self._act(c.ClientResponseCreateEvent())

    @property
    def item_ids(self) -> list[str]:
        """Its items of this turn, by their names in the room."""
        return [self._prefix + item_id for item_id in self._spoken]

    def playing(self, played_ms: Callable[[str], int]) -> str | None:
        """The item of this turn that is being played (its room name)."""
        for item_id in self.item_ids:
            if played_ms(item_id) < int(self._talk.audio_ms(item_id.removeprefix(self._prefix))):
                return item_id
        return next(reversed(self.item_ids), None)

    def played_text(self, item_id: str, played_ms: int) -> str:
        """The words within the first `played_ms` of an item (its room name)."""
        return self._talk.played_text(item_id.removeprefix(self._prefix), played_ms)

    @property
    def is_at_work(self) -> bool:
        """Whether a tool of this turn runs, or waits for consent."""
        return bool(self._calls)

    def interrupt(self, *, ends_tools: bool = True) -> None:
        """Stop at the heard word; lose the floor, even without a model. A question that was asked aloud stays open.

        Without `ends_tools` a tool goes on: the agent tells its result when it has the floor again.
        """
        if (consents := self.aloud.consents) is not None:
            self.aloud.is_paused = True
            consents.lose_floor()
            self.responses.drop_open()
            self.run.give_up()
            self.has_floor = False
            return
        self.aloud.is_withdrawn = True
        if self.thinker is not None:
            self.thinker.interrupt()
        self.responses.drop_open()  # Before the model learns of it: some report the end at once.
        if self.is_away or self._talk is not self.conversation:
            self._cut()
        else:
            if ends_tools:
                self._act(c.ClientResponseCancelEvent())
            else:
                self.run.lose_floor()
            self.run.give_up()
        self.has_floor = False

    def _cut(self) -> None:
        """As `realtime.agent.responses` does it where the model is there."""
        if self._ears.unplayed_ms() <= 0:
            return
        self._hub.tell(s.ServerAudioFlushEvent(reason="cancel"))
        talk, item_ids = self._talk, [item_id for item_id in self._spoken if self._talk.audio_ms(item_id)]

        def settle() -> None:
            for item_id in item_ids:
                self._cut_item(talk, item_id)
            item_ids.clear()  # How long the words are was estimated by what arrived: a late answer changes nothing.

        self.after_flush(settle)

    def _cut_item(self, talk: Conversation, item_id: str) -> None:
        played_ms = self.played_ms(item_id)
        portion = portion_played(played_ms, talk.audio_ms(item_id))
        if portion == "none":
            talk.delete(item_id)
            self._tell(s.AgentItemDeletedEvent(item_id=item_id, agent_id=self.id))
        elif portion == "part":
            self._tell(talk.truncate(item_id, played_ms).event(item_id, self.id, self.name))

    # -- questions that it asks aloud ------------------------------------------------------------------------------

    @property
    def forgets_answers(self) -> bool:
        """Whether its model takes no words between a call and its result."""
        return self.thinker is None and self.agent.model.profile.says_given_words

    def withdraw(self) -> None:
        """End its questions, and the tools that run."""
        self.aloud.is_withdrawn = True
        self._act(c.ClientResponseCancelEvent())

    def forget(self, utterance_id: str) -> None:
        """Let its model forget a turn that it has heard: it was an answer."""
        if (line := self._lines.pop(utterance_id, None)) is not None:
            self.run.controller.turns.forget_answer((line,))
        turn = self.run.controller.user_turns.labelled(utterance_id)
        if turn is not None:
            self.run.controller.turns.forget_answer(turn.piece_ids)

    def follow(self, follow: Emit) -> Callable[[], None]:
        """Call a function with each later event of its own but speech; returns what ends this."""
        self._follow = follow

        def end() -> None:
            self._follow = None

        return end

    def room_name(self, own_id: str) -> str:
        """The name that the room has for an id of its own."""
        return self._prefix + own_id

    def own_name(self, room_id: str) -> str | None:
        """The id of its own that the room calls so; None for an id of another participant."""
        own_id = room_id.removeprefix(self._prefix)
        return own_id if own_id != room_id else None

    # -- its tools ---------------------------------------------------------------------------------------------------

    def open_call(self, call_id: str) -> OpenCall | None:
        """The open call of this id (as the room names it); None where this agent has none."""
        own_id = call_id.removeprefix(self._prefix)
        return self._calls.get(own_id) if own_id != call_id else None

    def answer_tool(self, event: c.ClientToolResultEvent) -> None:
        """Pass on a client's answer to an `open_call`. Raises ClientError for an answer that the call cannot take."""
        self.run.act(msgspec.structs.replace(event, id=event.id.removeprefix(self._prefix)))

    def refuse_for_absent(self, present: Collection[str], why: str) -> None:
        """Refuse calls that wait for the consent of an absent human.

        Such a human, by id, is not `present`.
        """
        for call_id, call in [*self._calls.items()]:
            if call.asks and call.asked_by is not None and call.asked_by not in present:
                with suppress(ClientError):  # It was answered, and runs.
                    self.run.act(c.ClientToolResultEvent(id=call_id, name=call.name, output=why, confirmed=False))

    @property
    def said(self) -> str:
        """The words of its turn as they were heard."""
        return _words_of(self._talk, self._spoken)

    def correction(self) -> Callable[[], None]:
        """Return what to call where a client reports late about this turn."""
        if self.thinker is None:
            return lambda: None
        talk, spoken, correct = self._talk, [*self._spoken], self.thinker.correction()
        return lambda: correct(_words_of(talk, spoken))

    def utterance(self, utterance_id: str) -> Utterance:
        """Its turn as the others hear it: cut where it was heard."""
        said = Utterance(utterance_id, self.id, self.name, rate_hz=self._sound_hz, text=self.said)
        for item_id, pcm in self._sound.items():
            said.pcm += pcm[: bytes_of(self.played_ms(item_id), self._sound_hz)]
        return said

    def _act(self, event: c.ClientEvent) -> None:
        if not self.is_away:
            self._tidy()
            self.run.receive(event)

    def _tidy(self) -> None:
        """Forget the oldest items, also at a model that can delete items.

        A tool call goes with its result; the model keeps both, since it has its own ids for results.
        """
        if len(self.conversation) < KEPT_ITEMS + FORGOTTEN_AT_ONCE:
            return
        items = self.conversation.items()
        end = len(items) - KEPT_ITEMS
        while end < len(items) and items[end].type == "tool_result":
            end += 1
        self._is_tidying = True
        for item in items[:end]:
            if item.type == "message" and self.agent.model.profile.supports_item_delete:
                self.run.receive(c.ClientItemDeleteEvent(item_id=item.id))
            self.conversation.delete(item.id)
        self._is_tidying = False

    # -- `realtime.call.participant.Ears` --------------------------------------------------------------------------

    def played_ms(self, item_id: str) -> int:
        """See `Ears`."""
        return self._ears.played_ms(self._prefix + item_id)

    def can_be_lowered(self) -> bool:
        """See `Ears`."""
        return self._ears.can_be_lowered()

    def after_flush(self, settle: Callable[[], None]) -> None:
        """See `Ears`."""
        self._ears.after_flush(settle)

    def keep_played_audio(self) -> None:
        """See `Ears`."""
        self._ears.keep_played_audio()

    def far_end(self) -> FarEnd | None:
        """See `Ears`."""
        return self._ears.far_end()

    def unplayed_ms(self) -> int:
        """See `Ears`. 0 unless this agent speaks: it cannot be interrupted in what others say."""
        return self._ears.unplayed_ms() if self.has_floor and self._spoken else 0

    # -- what it says ----------------------------------------------------------------------------------------------

    def _hear(self, event: s.ServerEvent) -> None:
        self._take(event)
        if self._follow is not None and type(event) is not s.AgentResponseAudioDeltaEvent:
            self._follow(event)

    def _take(self, event: s.ServerEvent) -> None:
        match event:
            case s.AgentReadyEvent():
                self.ready = event
            case s.AgentEndedEvent(reason=reason):
                self.has_floor = False
                if not self._leaving:
                    self.run.end_responses()
                    self.is_away = True
                    self._give_up()
                    self._hub.lost(self, reason)
            case s.AgentInputCommittedEvent(item_id=item_id):
                if self._guesses:
                    self.dictation.guess(item_id)
            case s.AgentInputTranscriptionDoneEvent(item_id=item_id, transcript=text):
                self._understood(self.dictation.guessed(item_id) or self.run.label_of(item_id), text)
            case s.AgentInputTranscriptionFailedEvent(item_id=item_id):
                self._understood(self.dictation.guessed(item_id) or self.run.label_of(item_id), "")
            case s.AgentErrorEvent(code=code, client_event_id=utterance_id) if code == EMPTY_COMMIT:
                self._understood(utterance_id, "")
            case (
                s.AgentInputTranscriptionDeltaEvent()
                | s.AgentInputStartedEvent()
                | s.AgentInputDoneEvent()
                | s.AgentInputClearedEvent()
                | s.AgentSessionUpdatedEvent()
            ):
                pass
            case s.AgentItemAddedEvent(item=item) if item.role == "system" and self._is_hint(item):
                # An item would be one of the room's talk. A thinking agent tells of its hints itself.
                hint = r.HintBlockEvent(reply_id="", block_id=item.id, hint=item.text, source=item.name)
                self._tell(s.AgentResponseReportEvent(response_id="", report=hint, agent_id=self.id))
            case s.AgentItemAddedEvent(item=item) | s.AgentItemDoneEvent(item=item) if item.role in ("user", "system"):
                pass
            case s.AgentErrorEvent(code=code) if code == NOT_THERE_TO_FORGET:
                pass
            case s.AgentResponseCreatedEvent(response_id=response_id):
                self._begin(event, response_id)
            case s.AgentResponseDoneEvent():
                self._done(event)
            case _:
                self._forward(event)

    def _begin(self, event: s.AgentResponseCreatedEvent, response_id: str) -> None:
        solicited = self.has_floor and not self.run.is_dropped(response_id)
        self.responses.begin(response_id, solicited=solicited)
        if solicited:
            if self.aloud.begins(event):
                self._asked_by = self.aloud.asker_of(self.aloud.call_id)
                self._hub.begins_to_ask(self)
            self._tell(event)
        else:
            # Its provider answers by itself, or too late: perhaps what was asked in a turn before this one.
            self.run.drop(response_id)

    def _done(self, event: s.AgentResponseDoneEvent) -> None:
        passed = self.responses.end(event.response_id)
        is_question = self.aloud.ends(event.response_id)
        if passed is Passed.NOTHING:
            return
        self._tell(event)
        if passed is Passed.UP_TO_DROP or is_question:
            return
        self.responses.fail(failed=event.status == "failed")
        if self._calls_tools and event.status == "completed":
            self._calls_tools = False
            self._tool_rounds += 1
            if self._tool_rounds < MAX_TOOL_ROUNDS:
                return
            self.interrupt()
        elif not self.has_floor:
            return
        self._hub.turn_over(self)

    def _forward(self, event: s.ServerEvent) -> None:
        response_id = getattr(event, "response_id", None)
        if self._is_tidying or self.responses.is_unsolicited(response_id):
            return
        if isinstance(event, s.AgentResponseToolResultEvent):
            # Also of a dropped response: listeners know its call, which lasts until its result.
            if self._calls.pop(event.tool_result.id, None) is not None:
                self._tell(event)
                if self.aloud.is_paused and event.tool_result.state is not ToolResultState.INTERRUPTED:
                    self._hub.asks_for_floor(self)  # It was answered on its card, or by no one.
            return
        if isinstance(event, s.AgentToolProgressEvent) and event.tool_call_id not in self._calls:
            return
        if self.responses.is_dropped(response_id) and not event.type.endswith("_done"):
            # Of a response that does not count, listeners get only what closes it.
            return
        if isinstance(event, s.AgentResponseAudioDeltaEvent):
            if self._hub.listens_to(self):
                self._sound_hz = event.format.rate or DEFAULT_OUTPUT_RATE_HZ
                self._sound.setdefault(event.item_id, bytearray()).extend(event.delta)
        elif isinstance(event, s.AgentResponseToolUseDoneEvent):
            self._calls_tools = True
            call = event.tool_use
            # A tool that is at work for one human may ask while the agent talks to another.
            consents = self.run.consents
            asked_by = self._asked_by if consents is None else consents.user_of(call.id) or None
            self._calls[call.id] = OpenCall(call.name, asked_by, call.state == "asking")
            if call.state == "asking":
                self.aloud.note(call, asked_by)
        elif isinstance(event, s.AgentItemAddedEvent) and event.item.type == "message":
            self._spoken.append(event.item.id)
        self._tell(event)

    def _tell(self, event: s.ServerEvent) -> None:
        """Tell the room of an event of this agent, with room names."""
        self._hub.tell(named(event, self._prefix, self.name))

    def _is_hint(self, item: Item) -> bool:
        return self.thinker is None and item.text.startswith(REMINDER)

    @property
    def _guesses(self) -> bool:
        return not self.agent.model.profile.supports_manual_turns

    def _understood(self, utterance_id: str | None, text: str) -> None:
        utterance = self.dictation.take(utterance_id)
        if utterance is not None:
            self._hub.transcribed(utterance, text, by=self)

    def _give_up(self) -> None:
        """Close what is open: its tools will not return, and it will write nothing down."""
        self.aloud.drop()
        calls, self._calls = self._calls, {}
        gone = f"{self.name} is not there any more"
        for call_id, call in calls.items():
            result = ToolResultBlock(id=call_id, name=call.name, output=gone, state=ToolResultState.INTERRUPTED)
            item_id = self._runtime.new_id("item")
            self._tell(s.AgentResponseToolResultEvent(tool_result=result, item_id=item_id, agent_id=self.id))
        for utterance in self.dictation.take_all():
            self._hub.transcribed(utterance, "", by=self)


def _words_of(talk: Conversation, item_ids: Sequence[str]) -> str:
    texts = (talk.spoken_text(item_id) for item_id in item_ids if item_id in talk)
    return " ".join(text for text in texts if text)
