"""Consent in one call: each call that asks is a question, spoken or on a card, and leaves a receipt.

What a turn means and when to ask is decided in `realtime.turn.consent`; `realtime.agent.asking` speaks. This module
gives both what they need, and does what they decide. Everything is synchronous. docs/consent.md describes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, assert_never

import msgspec

from realtime.agent.answer_turns import AnswerTurns
from realtime.agent.answers import ByHand, NoQuestions, Taken, nothing, nothing_answers, nothing_asks
from realtime.agent.asking import LOOK_S, Asking
from realtime.agent.card_turns import CardTurns
from realtime.agent.context import AgentContext
from realtime.agent.controller import Controller
from realtime.agent.overlap import Overlap
from realtime.agent.permissions import denial_of
from realtime.agent.questions import Question, only_by_voice
from realtime.agent.tools import ToolRunner
from realtime.call.asked import Asked
from realtime.call.participant import OwnCall
from realtime.call.timers import Timers
from realtime.errors import ClientError
from realtime.message import ToolCallBlock, ToolResultBlock, ToolResultState
from realtime.tool.question import question_of
from realtime.tool.registered import RegisteredToolFunction
from realtime.turn.consent import (
    Allow,
    AnsweredBy,
    AnswerTurn,
    Change,
    Deny,
    Ignore,
    Kind,
    LetAnswer,
    Meaning,
    NotTaken,
    Speak,
    Step,
)
from realtime.turn.machine import Signal

SILENT = "the user did not answer, which counts as a refusal"
CHANGED = "the user wants a change: {words}; call again with it"
REPLACED = "another call of this tool has taken the place of this one"


class Consents:
    """The questions of one call. Give it each call that asks (`ask`) and each result (`result`); `close` it at the end.

    `asked` are those who may answer. `tool_of` finds the agent's tools. `why_silent` says why this agent can neither
    ask nor be answered by voice, "" where it can. In a room `own` is None: the turns of humans come from there.
    """

    def __init__(
        self,
        context: AgentContext,
        controller: Controller,
        tools: ToolRunner,
        asked: Asked,
        *,
        tool_of: Callable[[str], RegisteredToolFunction | None],
        silence_s: float,
        instructions: Callable[[], str],
        why_silent: Callable[[], str],
        own: OwnCall | None,
    ) -> None:
        self._context = context
        self._controller = controller
        self._turns = controller.turns
        self._tool_calls = controller.responses.tool_calls
        self._tools = tools
        self._asked = asked
        self._tool_of = tool_of
        self._silence_s = silence_s
        self._why_silent = why_silent
        languages = context.profile.languages
        self._language = languages[0] if len(languages) == 1 else None  # None where it has several
        self._timers = Timers()
        self._open: dict[str, Question] = {}
        self._undecided: dict[str, Callable[[], None]] = {}
        """Answers on cards, before the agent has said how it asks."""
        self._answer = AnswerTurns(
            controller,
            grows=not context.profile.emits_speech_events,
            forget=asked.forget if context.profile.says_given_words else None,
            is_echo=self._is_echo,
            take=self._take,
            overdue=self._overdue,
            words_s=asked.words_s,
        )
        self._cards = CardTurns(
            controller,
            own,
            self._answer,
            self._do,
            cards=lambda: self._on_cards,
            n_waiting=lambda: tools.n_waiting,
            park=self._park,
            now=context.runtime.now,
        )
        self.taken: Taken | None = None
        """What the turn was whose words came last; None while those of a turn that follows may belong to it."""
        self.is_over_others = False  # whether another person was heard during that turn
        self._person_id = ""  # of whom the latest turn is
        self.is_away = False
        """Whether all who are asked are away."""
        self._asking: Asking | None = Asking(context, controller, asked, self, instructions)
        self._kind: Kind = "first"  # why the question is being spoken
        controller.turns.answers = ByHand(self) if own is None else self
        controller.responses.tool_calls.follow_questions(self.ask, self.answered)

    # -- questions -----------------------------------------------------------------------------------------------------

    def ask(self, call: ToolCallBlock, within: str = "") -> None:
        """A call waits for consent; `within` is the model's call that it is made for, if it is not the model's."""
        decision = self._tools.decision_of(call)
        if decision is None:
            # The agent that is the model says soon how it asks.
            if self._tools.is_open(call.id):
                self._undecided.setdefault(call.id, nothing)
                self._timers.after(f"ask {call.id}", LOOK_S / 5, lambda: self.ask(call, within))
            return
        tool = self._tool_of(call.name)
        wanted = decision.consent or "either"
        why = "" if wanted == "card" else self._why_not_by_voice(call.id)
        question = Question.of(
            call,
            decision,
            {} if tool is None else tool.json_schema["function"]["parameters"],
            by="card" if why else wanted,
            open_id=within or call.id,
            at_model=self._tools.runs_at_model(call.id),
            language=self._language,
            silence_s=self._silence_s,
            now=self._now(),
        )
        self._replace_older(call, within)
        self._open[call.id] = question
        if question.by == "card":
            self._tell(question, "asking", why=why)
        else:
            self._tell(question, "waiting")
            self._park()
            self._look()
        self._undecided.pop(call.id, nothing)()

    def withdraw(self) -> None:
        """Another agent will have the call: the spoken questions end, and the model goes on with none of them."""
        for question in self._asked_aloud:
            self._goes_on_without(question)
            self._settle(question, "silence", "interrupted")
            self._tools.withdraw({question.asked.id})

    # -- what a room tells it of the floor and of humans ---------------------------------------------------------------

    @property
    def call_id(self) -> str:
        """The id of the call that is asked about by voice; "" without one."""
        return "" if self._current is None else self._current.asked.id

    @property
    def needs_floor(self) -> bool:
        """Whether a question for a voice has no result yet."""
        return not self.is_away and any(one.by != "card" for one in self._open.values())

    @property
    def waits_at_model(self) -> bool:
        """Whether the agent is the model, and waits within its reply."""
        return any(one.at_model and one.answer is None for one in self._open.values())

    def user_of(self, call_id: str) -> str:
        """The human (by id) whom a call serves; "" where no human led to it."""
        return self._tools.user_of(call_id)

    def answers_from(self, person_id: str) -> None:
        """The turns that follow are of this person."""
        if person_id != self._person_id:
            self._answer.forget()
            self._person_id = person_id

    def lose_floor(self) -> None:
        """Another participant has the floor: the question is cut."""
        if (question := self._current) is not None:
            self._stop(question, "interrupted")
            question.core.cut()
        self._turns.signal(Signal.CANCEL)

    def have_floor(self) -> None:
        """The agent has the floor again: what others have said meanwhile was no silence."""
        if (question := self._current) is not None:
            question.core.voice_passed(self._now())
        self._look()

    def other_said(self, words: str, start_ms: int, end_ms: int | None) -> None:
        """Another person has said this: report it where it reads as an answer. The question has to be heard again."""
        turn = AnswerTurn(words=words, start_ms=start_ms, end_ms=end_ms)
        if self._current is not None and (ignored := self._current.other_said(turn)) is not None:
            self._context.emit(ignored)

    def result(self, result: ToolResultBlock) -> None:
        """A call has its result; the events have it already."""
        self._undecided.pop(result.id, None)
        question = self._open.get(result.id)
        if question is None:
            return
        self._ended(question, result.state)
        del self._open[result.id]
        self._park()
        self._look()

    def close(self) -> None:
        """The call is over, or another agent has it."""
        for question in self._open.values():
            self._ended(question, ToolResultState.INTERRUPTED)
        self._open.clear()
        self._undecided.clear()
        self._park()
        self._timers.close()
        self._answer.close()
        self._cards.close()
        if self._asking is not None:
            self._asking.close()
        # What refers back to this goes: the collector is not needed.
        self._asking = None
        self._turns.answers = NoQuestions()
        self._tool_calls.follow_questions(nothing_asks, nothing_answers)

    def set_away(self, away: bool) -> None:
        """The client is away, and may come back: nothing is asked meanwhile, and then it is asked again."""
        if self.is_away and not away:
            for one in self._on_cards:  # what was typed meanwhile is to none of them
                one.shown_at = self._now()
        self.is_away = away
        question = self._current
        if question is not None and away:
            self._stop(question, "away")
            question.core.leave()
            self._drop_yes()
        self._look()

    def answered(self, call_id: str, confirmed: bool, changed: ToolCallBlock | None, by_rule: bool) -> None:
        """A question was answered: on its card, or by a rule."""
        question = self._open.get(call_id)
        if question is None or question.answer is not None:
            return
        question.person_id = self._person_id
        is_changed = changed is not None and changed.input != question.call.input
        meaning: Meaning = "no" if not confirmed else "change" if is_changed else "yes"
        self._settle(question, meaning, "rule" if by_rule else "card")

    # -- `realtime.agent.answers.Answers` ------------------------------------------------------------------------------

    @property
    def is_asked(self) -> bool:
        """See `Answers`."""
        question = self._current
        if question is None or self._asking is None:
            return False
        return self._asking.is_speaking or any(one.core.n_asked for one in self._asked_aloud)

    @property
    def reads_turn(self) -> bool:
        """See `Answers`."""
        return self.is_asked or bool(self._cards.read)

    @property
    def holds_response(self) -> bool:
        """See `Answers`."""
        return self._answer.is_held

    def by_hand(self, call_id: str, confirmed: bool, changed: ToolCallBlock | None, later: Callable[[], None]) -> bool:
        """See `Answers`."""
        if call_id in self._undecided:
            self._undecided[call_id] = later
            return False
        question = self._open.get(call_id)
        if not confirmed or question is None or question.answer is not None:
            return True
        is_by_voice = question.by == "voice"
        if changed is not None and changed.name != question.call.name and not self._why_not_by_voice(call_id):
            named = msgspec.structs.replace(question.call, name=changed.name, input=changed.input)
            decision = self._tools.decision_of(named)
            is_by_voice |= decision is not None and decision.asks and decision.consent == "voice"
        if is_by_voice:
            raise only_by_voice(question.call.name if changed is None else changed.name)
        return True

    def voice_comes(self) -> None:
        """See `Answers`."""
        if not self.is_asked:
            self._cards.begin()

    def voice_began(self, turn_id: str, start_ms: int) -> None:
        """See `Answers`."""
        if not self.reads_turn:
            self._answer.forget()
            return
        if self._current is not None:
            self._current.core.voice_began()
        self._answer.begin(turn_id, start_ms)

    def voice_ended(self, end_ms: int, *, far: bool = False) -> None:
        """See `Answers`."""
        self.voice_comes()
        if self.reads_turn:
            self._answer.end(end_ms, far=far)
        else:
            self._answer.forget()

    def words(self, turn_id: str, words: str) -> None:
        """See `Answers`."""
        self._answer.words(turn_id, words)

    def takes_typed(self, words: str) -> bool:
        """See `Answers`."""
        return self.is_asked or self._cards.begin_typed(words)

    def typed(self, item_id: str, words: str) -> None:
        """See `Answers`."""
        at_ms = [one.position_ms for one in self._asked.people(self.call_id) if one.id == self._person_id]
        self._answer.typed(item_id, words, max(at_ms, default=0))

    def dismissed(self, overlap: Overlap) -> None:
        """See `Answers`."""
        question = self._current
        if question is None or not self.is_asked or not overlap.words:
            return
        self._do(question, self._meaning(question, self._answer.over_reply(overlap)))

    # -- `realtime.agent.asking.Follower` ------------------------------------------------------------------------------

    def on_begun(self) -> None:
        """See `Follower`."""
        question = self._current
        if question is None:
            return
        state = {"first": "asking", "again": "repeated", "changed": "changed"}[self._kind]
        question.core.begins()
        self._park()
        self._tell(question, state)

    def on_heard(self, person_id: str, position_ms: int) -> None:
        """See `Follower`."""
        question = self._current
        if question is not None and question.heard(person_id, position_ms, self._now()):
            self._note_spoken(question)
            self._tell(question, "heard")
            self._look()

    def on_cut(self) -> None:
        """See `Follower`."""
        if (question := self._current) is not None:
            question.core.cut()
            self._note_spoken(question)
            # Others learn of the cut as well: look once they have.
            self._timers.after("look", LOOK_S, self._look)

    def on_other_words(self) -> None:
        """See `Follower`."""
        if (question := self._current) is not None:
            question.core.set_aside()
            self._drop_yes()
            self._look()

    def on_failed(self, why: str) -> None:
        """See `Follower`."""
        for question in self._asked_aloud:
            self._fall_back(question, why)
        self._park()
        self._release()

    # -- inside --------------------------------------------------------------------------------------------------------

    @property
    def _current(self) -> Question | None:
        """The question that is asked by voice: the oldest without an answer."""
        return next(iter(self._asked_aloud), None)

    @property
    def _asked_aloud(self) -> list[Question]:
        """The questions for a voice that have no answer, in order."""
        return [one for one in self._open.values() if one.by != "card" and one.answer is None]

    @property
    def _on_cards(self) -> list[Question]:
        """The questions that only their cards ask, in order."""
        return [one for one in self._open.values() if one.by == "card" and one.answer is None]

    def _now(self) -> float:
        return self._context.runtime.now()

    def _why_not_by_voice(self, call_id: str) -> str:
        """Return why a card has to ask about a call; "" where a voice can."""
        return self._asked.why_not(call_id) or self._why_silent()

    def _fall_back(self, question: Question, why: str) -> None:
        """A card asks from now on."""
        question.by, question.shown_at = "card", self._now()
        self._tell(question, "asking", why=why)

    def _replace_older(self, call: ToolCallBlock, within: str) -> None:
        """The model has called the tool again: that call takes the place of an open question."""
        for question in [*self._open.values()]:
            same = question.asked.name == call.name and not within and question.open_id == question.asked.id
            same = same and self._asked.only(question.asked.id) == self._asked.only(call.id)
            if same and question.answer is None and question.core.n_asked and question.by != "card":
                self._goes_on_without(question)
                self._refuse(question, "change", REPLACED, "interrupted")

    def _goes_on_without(self, question: Question) -> None:
        """The result of this call is followed by no response."""
        response = self._controller.ledger.calling(question.open_id)
        if response is not None and question.open_id == question.asked.id:
            self._controller.ledger.cancel(response.id)

    def _park(self, *, begins: bool = False) -> None:
        """Let calls that wait for a spoken answer hold up no turn.

        That is once one of them is asked, or `begins` to be.
        """
        asked = self._asked_aloud
        begins = begins or any(one.core.n_asked for one in asked)
        held = [*(asked if begins else ()), *self._cards.read]
        self._controller.ledger.ask_aloud(one.open_id for one in held)

    def _look(self) -> None:
        """Speak if a question waits and the floor is free; act on the time that has passed."""
        question, asking = self._current, self._asking
        self._timers.cancel("look")
        if asking is None:
            return
        if question is None:
            asking.rest()
            return
        now = self._now()
        if question.core.due_at is not None and now >= question.core.due_at and not self._asked.is_held_up:
            self._do(question, question.core.look(now))
            if question is not self._current:
                return
        if asking.is_free and not (self.holds_response or asking.is_speaking or self.is_away):
            step = question.core.may_speak()
            if step is not None:
                self._do(question, step)
                return
        due_at = question.core.due_at
        wait_s = LOOK_S if due_at is None else max(LOOK_S / 5, min(LOOK_S * 10, due_at - now))
        if question.core.phase in ("waiting", "heard"):
            self._timers.after("look", wait_s, self._look)

    def _overdue(self) -> None:
        """The words of the turn do not come."""
        question = self._current
        if self._cards.read:
            self._cards.go_on()
        else:
            if question is not None:
                question.core.set_aside()
            self._respond(beside=question is not None and question.at_model)
        self._look()

    def _is_echo(self, words: str) -> bool:
        question, latest = self._current, self._answer.latest
        began_ms = None if latest is None or latest.is_typed else latest.start_ms
        return question is not None and question.is_echo(words, began_ms)

    def _take(self, turn: AnswerTurn) -> None:
        question = self._current
        if self._cards.read:
            self._cards.take(turn)
        elif question is None:
            self.taken = Taken.TURN
            self._respond()
            return
        else:
            self._do(question, self._meaning(question, turn))
        self._look()

    def _meaning(self, question: Question, turn: AnswerTurn) -> Step:
        self.taken = Taken.ANSWER
        return question.takes(turn, self._person_id, self._now(), is_over_others=self.is_over_others)

    def _do(self, question: Question, step: Step) -> None:
        match step:
            case None:
                pass
            case Speak(kind=kind):
                assert self._asking is not None
                self._kind = kind
                self._park(begins=True)
                open_ids = {one.open_id for one in self._asked_aloud}
                self._asking.ask(question.asked.id, question.core.question, question.core.arguments, open_ids)
            case Ignore(why=why, turn=turn):
                self._context.emit(question.ignored(why, turn))
                is_theirs = why not in (NotTaken.ECHO, NotTaken.FAR_VOICE)
                if not is_theirs:
                    self.taken = Taken.NOTHING
                if not turn.over:
                    self._release(is_theirs=is_theirs)
            case LetAnswer():
                self.taken = Taken.TURN
                if self._asking is not None and self._asking.is_speaking:
                    self._stop(question, "set_aside")  # typed, or where a voice stops no reply
                    question.core.cut()
                self._respond(beside=question.at_model)
            case Change(arguments=arguments, turn=turn):
                self._change(question, arguments, turn)
            case Allow(turn=turn, rule=rule):
                question.turn = turn
                self._allow(question, rule=rule)
            case Deny(meaning=meaning, words=words, turn=turn):
                question.turn = turn
                said = SILENT if meaning == "silence" else CHANGED.format(words=words) if meaning == "change" else words
                self._refuse(question, meaning, said, "timeout" if meaning == "silence" else "voice")
            case _:
                assert_never(step)

    def _change(self, question: Question, arguments: Mapping[str, object], turn: AnswerTurn) -> None:
        """Ask again, about other arguments."""
        self._stop(question, "answered")
        words = question_of(question.words, arguments, self._language)
        question.core.changed(words, dict(arguments))
        question.call = msgspec.structs.replace(question.call, input=json.dumps(dict(arguments), ensure_ascii=False))
        question.heard_whole, question.turn = False, turn
        decision = self._tools.decision_of(question.call)
        if decision is not None and decision.denies:
            self._refuse(question, "change", denial_of(decision), "rule")
            return
        if question.by == "card":
            question.shown_at = self._now()
            self._tell(question, "changed")
        self._answer.forget_at_model()
        self._release()

    def _allow(self, question: Question, *, rule: bool) -> None:
        self._settle(question, "yes", "voice")
        changed = question.call if question.is_changed else None
        self._confirm(question, True, changed=changed, rules=question.rules_by_voice() if rule else ())

    def _refuse(self, question: Question, meaning: Meaning, words: str, by: AnsweredBy) -> None:
        self._settle(question, meaning, by)
        self._confirm(question, False, words=words)

    def _confirm(self, question: Question, confirmed: bool, **answer: Any) -> None:
        self._answer.forget_at_model()
        try:
            self._tool_calls.confirm(question.asked.id, confirmed, **answer)
        except ClientError as error:  # it is over already
            self._controller.tell_error(error)

    def _settle(self, question: Question, meaning: Meaning, by: AnsweredBy) -> None:
        """The question has its answer."""
        is_current = question is self._current
        if is_current and question.by != "card":
            self._stop(question, "answered")
        question.core.close()
        is_typed = by == "voice" and question.turn is not None and question.turn.typed
        question.answer, question.answered_by = meaning, "text" if is_typed else by
        self._answer.release()
        self._park()
        self._tell(question, "answered")

    def _release(self, *, is_theirs: bool = True) -> None:
        """The turn gets no response: the floor is free."""
        if self._answer.release():
            self._asked.let_pass(is_theirs=is_theirs)

    def _drop_yes(self) -> None:
        """A yes that was about to count does not: its turn holds up the next question no more."""
        if self._answer.latest is not None and self._answer.latest.is_taken:
            self._release()

    def _respond(self, *, beside: bool = False) -> None:
        """The model answers the turn."""
        if self._answer.release():
            self._asked.respond(self._asking.answer_beside if beside and self._asking is not None else None)

    def _stop(self, question: Question, reason: str) -> None:
        """Say no more of the question."""
        if self._asking is not None:
            self._asking.stop(reason)
            self._note_spoken(question)

    def _note_spoken(self, question: Question) -> None:
        spoken = None if self._asking is None else self._asking.spoken
        if spoken is not None and spoken.text == question.core.question:
            question.item_id, question.played_ms = spoken.item_id, spoken.played_ms
            question.heard_whole = question.heard_whole or spoken.heard_whole

    # -- what listeners learn ------------------------------------------------------------------------------------------

    def _tell(self, question: Question, state: str, *, why: str = "") -> None:
        self._context.emit(question.told(state, why, self._asked.only(question.asked.id)))

    def _ended(self, question: Question, state: ToolResultState) -> None:
        """The call has its result: write the receipt."""
        if question.answer is None:
            is_late = state is ToolResultState.DENIED
            self._settle(question, "silence", "timeout" if is_late else "interrupted")
        name = self._asked.name_of(question.asked.id, question.person_id)
        self._context.emit(question.receipt(state, name, self._asked.recording))
