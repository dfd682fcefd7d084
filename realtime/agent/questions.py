"""One question for consent in a call: its state, and the events that tell of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from realtime.errors import ClientError
from realtime.event.server import ServerCustomEvent
from realtime.message import PermissionRule, ToolCallBlock, ToolResultState
from realtime.permission import Consent, PermissionDecision
from realtime.permission.pattern import pattern_of
from realtime.tool.question import ToolWords, question_of
from realtime.turn.answers import Answer, read_answer
from realtime.turn.consent import AnsweredBy, AnswerTurn, Ignore, Meaning, NotTaken, OpenQuestion, Phase, Step
from realtime.turn.small_talk import repeats, tokens_of

TAIL_MS = 300
"""How late a client plays that reports no playback."""


def only_by_voice(tool: str) -> ClientError:
    """Return the error of a yes on a card where voices consent."""
    words = f"the user agrees to {tool} by voice only: the card may refuse, and the question stays open"
    return ClientError(words, code="asked_by_voice")


@dataclass(slots=True)
class Question:
    """One question, from the call that asks to its result."""

    core: OpenQuestion
    by: Consent
    asked: ToolCallBlock
    """The call as the model made it."""
    call: ToolCallBlock
    """As it would run."""
    words: ToolWords
    """What the question can say of the tool."""
    open_id: str
    """The call that is open at the model: this one, or the one that it is made for."""
    at_model: bool
    """Whether the model runs the tool itself, and waits for it."""
    answer: Meaning | None = None
    answered_by: AnsweredBy | None = None
    turn: AnswerTurn | None = None
    """The turn that answered it, or changed it last."""
    person_id: str = ""
    """Who answered it, or changed it last, by voice."""
    heard_at_ms: dict[str, int] = field(default_factory=dict)
    """Where each person's audio was when they had heard it whole."""
    item_id: str | None = None
    played_ms: int = 0
    heard_whole: bool = False
    wanted: Consent = "either"
    """How the tool wanted to ask; `by` says how it does."""
    shown_at: float = 0.0
    """Since when a card shows it, in monotonic seconds."""

    @classmethod
    def of(
        cls,
        call: ToolCallBlock,
        decision: PermissionDecision,
        parameters: Mapping[str, object],
        *,
        by: Consent,
        open_id: str,
        at_model: bool,
        language: str | None,
        silence_s: float,
        now: float,
    ) -> Question:
        """Return the question about a call; `parameters` is the JSON Schema of its arguments."""
        words = ToolWords(call.name, decision.description, decision.question)
        arguments = call.arguments or {}
        core = OpenQuestion(
            question_of(words, arguments, language), arguments, parameters, read_answer, silence_s=silence_s
        )
        wanted = decision.consent or "either"
        return cls(core, by, call, call, words, open_id, at_model, wanted=wanted, shown_at=now)

    @property
    def is_changed(self) -> bool:
        """Whether the user has changed the call."""
        return self.call.input != self.asked.input

    def heard(self, person_id: str, position_ms: int, now: float) -> bool:
        """A person has heard it to its end; returns whether they are the first."""
        is_first = self.core.phase is Phase.SPEAKING
        if self.core.heard_at_ms is None:
            self.heard_at_ms.clear()
        self.core.heard(position_ms, now)
        if self.core.heard_at_ms is not None:
            self.heard_at_ms.setdefault(person_id, position_ms)
        return is_first

    def takes(self, turn: AnswerTurn, person_id: str, now: float, *, is_over_others: bool) -> Step:
        """Return what a turn means, by what its speaker's client has played."""
        if is_over_others and self.core.reading(turn.words).answer is Answer.YES:
            self.core.set_aside()  # A microphone near a loudspeaker hears both.
            return Ignore(NotTaken.OTHER_PERSON, turn)
        self.person_id = person_id
        if self.core.heard_at_ms is not None:
            self.core.heard_at_ms = self.heard_at_ms.get(person_id)
        return self.core.take(turn, now)

    def other_said(self, turn: AnswerTurn) -> ServerCustomEvent | None:
        """Another person has said this; returns the event of words that would agree or refuse.

        The question has to be heard again.
        """
        if not turn.words.strip():
            return None
        self.core.others_said()
        is_answer = self.core.reading(turn.words).answer in (Answer.YES, Answer.NO)
        return self.ignored(NotTaken.OTHER_PERSON, turn) if is_answer else None

    def is_echo(self, words: str, began_ms: int | None) -> bool:
        """Whether the words are of the question and of nothing else.

        `began_ms` is the client's position at their begin; None: they were typed, or no turn is known.
        """
        said, asked = tokens_of(words), tokens_of(self.core.question)
        return repeats(said, asked, share=1.0) or (said == asked[-1:] and self._is_tail(words, began_ms))

    def _is_tail(self, words: str, began_ms: int | None) -> bool:
        """Whether they may be the late end of the question."""
        heard_at_ms = self.core.heard_at_ms
        is_late = began_ms is None or heard_at_ms is None or began_ms >= heard_at_ms + TAIL_MS
        # A no counts at any time.
        return not is_late and self.core.reading(words).answer is not Answer.NO

    def rules_by_voice(self) -> list[PermissionRule]:
        """Return the rule that "always" accepts: the one about this very call; a wider one takes a card.

        None for a changed call: rules were suggested for the call as it was.
        """
        arguments = self.asked.arguments or {}
        exact = pattern_of(arguments)
        if self.is_changed or (exact is None and arguments):
            return []
        return [rule for rule in self.asked.suggested_rules[:1] if rule.rule_content == exact]

    def told(self, state: str, why: str, participant: str | None) -> ServerCustomEvent:
        """Return the event of a new state; `why` a card asks instead of a voice; who alone of a room is asked."""
        value: dict[str, Any] = {
            **self._about(),
            "question": self.core.question,
            "by": self.by,
            "state": state,
            "n": 0 if state == "waiting" else max(1, self.core.n_asked),
        }
        if why:
            value["why"] = why
        if participant is not None:
            value["participant"] = participant
        if self.is_changed:
            value["input"] = self.call.input
        return ServerCustomEvent(name="consent_question", value=value)

    def ignored(self, why: NotTaken, turn: AnswerTurn) -> ServerCustomEvent:
        """Return the event of a turn that is no answer."""
        value = {**self._about(), "reason": why.value, **_said(turn)}
        return ServerCustomEvent(name="consent_ignored", value=value)

    def receipt(self, state: ToolResultState, participant: str | None, recording: str | None) -> ServerCustomEvent:
        """Return the receipt, once the call has its result."""
        value = {
            **self._about(),
            "question": self.core.question,
            "question_item_id": self.item_id,
            "question_played_ms": self.played_ms,
            "heard_whole": self.heard_whole,
            "answered_by": self.answered_by,
            "answer": self.answer,
            **_said(self.turn),
            "participant": participant,
            "recording": recording,
            "done": state.value,
        }
        return ServerCustomEvent(name="consent_receipt", value=value)

    def _about(self) -> dict[str, Any]:
        return {"tool_call_id": self.asked.id, "tool": self.call.name}


def _said(turn: AnswerTurn | None) -> dict[str, Any]:
    if turn is None:
        return {"words": "", "answer_start_ms": None, "answer_end_ms": None}
    return {"words": turn.words, "answer_start_ms": turn.start_ms, "answer_end_ms": turn.end_ms}
