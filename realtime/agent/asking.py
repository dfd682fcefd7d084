"""Speaks a question for consent, and follows its playback to its end.

A model that speaks given words says them beside the conversation. A speech-to-speech model that responds beside tools
is instructed to, and what it said is compared. One that answers nothing while a tool call is open gets a provisional
result of that call first, and asks as an ordinary reply.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from realtime.agent.context import AgentContext
from realtime.agent.controller import Controller
from realtime.agent.phrases import SAY_EXACTLY
from realtime.agent.responses import CUT_OFF, LINK_LOST
from realtime.agent.saying import Silence
from realtime.call.asked import Asked, Person
from realtime.call.timers import Timers
from realtime.event import server as s
from realtime.event.base import INITIATIVE, ResponseOverrides
from realtime.model import base
from realtime.tool.question import says_all
from realtime.turn.machine import State

QUESTION = "question"
"""Begins the `initiative` of a question."""
LOOK_S = 0.1
"""How often a free floor is looked for while a question waits."""
BEGIN_S = 10.0
"""How long a model may take to begin; then a card asks."""
ROUNDED_MS = 50
"""A client at another rate plays so much less, at most."""
MOST_WRONG = 2
"""So many times a model may say something else; then a card asks."""
NOT_DONE_YET = (
    "Not done yet: the user has to agree first. You are about to ask them. Until they have agreed and you are told the "
    "result, do not say that it is done, and do not call the tool again."
)
"""The provisional result of a call."""


class Follower(Protocol):
    """Who has a question asked."""

    def on_begun(self) -> None:
        """It begins to be spoken."""

    def on_heard(self, person_id: str, position_ms: int) -> None:
        """A person's client has played it to its end; their audio was at `position_ms` then."""

    def on_cut(self) -> None:
        """It was cut, or something else was said: it is to be asked again."""

    def on_other_words(self) -> None:
        """The model says something else, in the conversation or beside it."""

    def on_failed(self, why: str) -> None:
        """The model cannot ask."""


@dataclass(slots=True)
class SpokenQuestion:
    """One question as it is spoken."""

    key: str
    call_id: str
    text: str
    arguments: Mapping[str, object]
    response_id: str | None = None
    item_id: str | None = None
    transcript: str = ""
    is_done: bool = False
    """Whether all of it has arrived."""
    whole_ms: float = 0.0
    played_ms: int = 0
    heard_by: set[str] = field(default_factory=set)
    """The people whose clients have played it to its end."""
    reported_ms: dict[str, int] = field(default_factory=dict)
    """Each person's position at their client's latest report about it."""

    @property
    def heard_whole(self) -> bool:
        """Whether anybody has heard it to its end."""
        return bool(self.heard_by)


class Asking:
    """Speaks one question at a time."""

    def __init__(
        self,
        context: AgentContext,
        controller: Controller,
        asked: Asked,
        follower: Follower,
        instructions: Callable[[], str],
    ) -> None:
        self._context = context
        self._controller = controller
        self._follower = follower
        self._instructions = instructions
        self._profile = context.profile
        self._silences: dict[str, Silence] = {}
        """How the clients of those who are asked play it."""
        self._timers = Timers()
        self._n_wrong = 0
        self._aside: str | None = None
        """The response beside the conversation that answers something else; it has the floor."""
        self.spoken: SpokenQuestion | None = None
        """The question as it was spoken last."""
        self._asked = asked
        self._unfollow: Callable[[], None] | None = None
        self._unwanted: set[str] = set()
        """Questions that the model was asked to speak and has not begun: they are dropped when it does."""

    def rest(self) -> None:
        """There is no question any more."""
        self._timers.close()
        self._aside = None
        if self._unfollow is not None and not self._unwanted:
            self._unfollow()
            self._unfollow = None

    def close(self) -> None:
        """The call is over."""
        self._unwanted.clear()
        self.rest()

    @property
    def is_speaking(self) -> bool:
        """Whether a question is being spoken or played."""
        return self.spoken is not None and not self.spoken.heard_whole and self.spoken.response_id != ""

    @property
    def is_free(self) -> bool:
        """Whether no one speaks or is about to. Tools may run."""
        one, ledger = self._controller, self._controller.ledger
        works = ledger.active is not None or ledger.is_requested or one.link_lost or self._aside is not None
        listens = one.turn.state is State.USER_SPEAKING or one.interruptions.current is not None
        return self._asked.is_free and not (works or listens)

    @property
    def beside(self) -> bool:
        """Whether the model can ask while its call is open."""
        return self._profile.says_given_words or self._profile.responds_beside_tools

    def ask(self, call_id: str, text: str, arguments: Mapping[str, object], open_ids: Collection[str]) -> None:
        """Begin to speak the question about a call. `open_ids` are the model's calls that wait for an answer."""
        if self._unfollow is None:
            self._unfollow = self._asked.follow(self._follow)
        key = self._context.runtime.new_id(QUESTION)
        self.spoken = SpokenQuestion(key, call_id, text, arguments)
        # What was left of an earlier one says nothing of how this one is played.
        self._silences.clear()
        self._timers.after("begin", BEGIN_S, lambda: self._fail("the model did not begin to ask"))
        metadata = {INITIATIVE: key}
        if self._profile.says_given_words:
            overrides = ResponseOverrides(conversation="none", tool_choice="none", metadata=metadata)
            self._context.send(base.ResponseCreate(overrides, text))
            return
        exactly = f"{SAY_EXACTLY}{text}"
        if self._profile.responds_beside_tools:
            overrides = ResponseOverrides(
                conversation="none", tool_choice="none", metadata=metadata, instructions=exactly, input=()
            )
            self._context.send(base.ResponseCreate(overrides))
            return
        for call_id in open_ids:
            self._controller.responses.tool_calls.provisional.give(call_id, NOT_DONE_YET)
        told = f"{self._instructions()}\n\n{exactly}".strip()
        self._controller.speak(ResponseOverrides(metadata=metadata, instructions=told))

    def answer_beside(self) -> None:
        """Let the model answer the user's words beside the conversation."""
        self._aside = key = self._context.runtime.new_id("aside")
        overrides = ResponseOverrides(conversation="none", tool_choice="none", metadata={INITIATIVE: key})
        self._context.send(base.ResponseCreate(overrides))
        self._timers.after("aside", BEGIN_S, self._end_aside)

    def stop(self, reason: str) -> None:
        """Say no more of the question: it has its answer, or no listener."""
        spoken = self.spoken
        self._timers.cancel("begin")
        self._timers.cancel("played")
        if spoken is None or spoken.heard_whole or spoken.response_id == "":
            return
        self._note_played(spoken)
        self._end(spoken)
        self._flush(reason)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _flush(self, reason: str) -> None:
        if not self._asked.is_silent:
            self._context.emit(s.ServerAudioFlushEvent(reason=reason))

    def _follow(self, event: s.ServerEvent, person_id: str) -> None:
        spoken = self.spoken
        match event:
            case s.AgentResponseCreatedEvent():
                self._created(event, str((event.metadata or {}).get(INITIATIVE, "")))
            case s.AgentResponseDoneEvent() if event.response_id == self._aside:
                self._end_aside()
            case _ if spoken is None or not self.is_speaking:
                pass
            case s.ServerAudioFlushEvent() | s.AgentReconnectingEvent():
                self._cut(spoken)
            case s.AgentResponseAudioTranscriptDeltaEvent() if event.response_id == spoken.response_id:
                spoken.item_id = event.item_id
                spoken.transcript += event.delta
            case s.AgentResponseAudioTranscriptDoneEvent() if event.response_id == spoken.response_id:
                spoken.item_id, spoken.transcript = event.item_id, event.transcript or spoken.transcript
            case s.AgentResponseAudioDoneEvent() if event.response_id == spoken.response_id:
                spoken.item_id = event.item_id
            case s.AgentResponseDoneEvent() if event.response_id == spoken.response_id:
                self._done(spoken, event)
            case s.ServerPlaybackEvent() if event.item_id == spoken.item_id:
                spoken.reported_ms[person_id] = event.input_ms or 0
                self._look(spoken)
            case s.AgentErrorEvent() if spoken.response_id is None and event.error_type == "provider_error":
                self._fail("the model refuses to ask")
            case _:
                pass

    def _created(self, event: s.AgentResponseCreatedEvent, initiative: str) -> None:
        response_id = event.response_id
        if initiative == self._aside:
            self._aside = response_id
        elif self.spoken is not None and initiative == self.spoken.key and self.spoken.response_id is None:
            self.spoken.response_id = response_id
            self._timers.cancel("begin")
            if self._controller.turn.state is State.USER_SPEAKING:
                self._cut(self.spoken)
            else:
                self._follower.on_begun()
        elif initiative in self._unwanted:
            self._unwanted.discard(initiative)
            self._controller.responses.drop(response_id)
        elif event.conversation == "auto" or "audio" in (event.output_modalities or ("audio",)):
            if self.is_speaking and self.spoken is not None and self.spoken.response_id:
                self._cut(self.spoken)  # the end that the user hears is not the question's
            self._follower.on_other_words()

    def _end_aside(self) -> None:
        self._aside = None
        self._timers.cancel("aside")

    def _done(self, spoken: SpokenQuestion, event: s.AgentResponseDoneEvent) -> None:
        reason = (event.status_details or {}).get("reason")
        if event.status == "cancelled" or reason in (LINK_LOST, CUT_OFF):
            self._cut(spoken)
            return
        if event.status != "completed" or spoken.item_id is None:
            self._fail("the model said nothing")
            return
        says_it = self._profile.says_given_words or says_all(spoken.transcript, spoken.text, spoken.arguments)
        if says_it:
            spoken.is_done = True
            spoken.whole_ms = self._controller.responses.spoken_ms(event.response_id, spoken.item_id)
            self._look(spoken)
            return
        self._n_wrong += 1
        if self._n_wrong >= MOST_WRONG:
            self._fail("the model did not ask what it was to ask")
        else:
            self._cut(spoken)
        self._flush("wrong_question")

    def _look(self, spoken: SpokenQuestion) -> None:
        """Note who has heard all of it; look again while others may hear the rest."""
        if spoken is not self.spoken or spoken.response_id == "" or not spoken.is_done:
            return
        self._note_played(spoken)
        waiting = [one for one in self._asked.people(spoken.call_id) if one.id not in spoken.heard_by]
        playing = [one for one in waiting if one.unplayed_ms() > 0]
        for person in waiting:
            if person not in playing and self._played_ms(spoken, person) + ROUNDED_MS >= spoken.whole_ms:
                spoken.heard_by.add(person.id)
                self._n_wrong = 0
                position_ms = max(person.position_ms, spoken.reported_ms.get(person.id, 0))
                self._follower.on_heard(person.id, position_ms)
        unplayed_ms = max((one.unplayed_ms() for one in playing if self._silence_of(one).left_s() > 0), default=0)
        if unplayed_ms > 0:
            self._timers.after("played", max(0.02, min(unplayed_ms / 1000, 0.5)), lambda: self._look(spoken))
        elif spoken.heard_whole:
            self._timers.cancel("played")
        elif playing:
            self._fail("the client does not report what it plays")
        else:
            self._cut(spoken)

    def _silence_of(self, person: Person) -> Silence:
        return self._silences.setdefault(person.id, Silence(person, self._context.runtime.now))

    def _played_ms(self, spoken: SpokenQuestion, person: Person) -> int:
        return 0 if spoken.item_id is None else person.played_ms(spoken.item_id)

    def _note_played(self, spoken: SpokenQuestion) -> None:
        played_ms = (self._played_ms(spoken, one) for one in self._asked.people(spoken.call_id))
        spoken.played_ms = max(spoken.played_ms, *played_ms, 0)

    def _cut(self, spoken: SpokenQuestion) -> None:
        self._note_played(spoken)
        self._end(spoken)
        self._follower.on_cut()

    def _end(self, spoken: SpokenQuestion) -> None:
        """Nothing more of it is said."""
        if spoken.response_id is None and self.beside:
            self._unwanted.add(spoken.key)
        response_id, spoken.response_id = spoken.response_id, ""
        self._timers.cancel("begin")
        self._timers.cancel("played")
        if response_id and not spoken.is_done:
            self._controller.responses.drop(response_id)

    def _fail(self, why: str) -> None:
        if self.spoken is not None:
            self._end(self.spoken)
        self._follower.on_failed(why)
