"""One open question for consent: what the asked person has heard of it, and what their turns mean. Pure.

A yes counts only where its voice began after the question had been played to its end, and only if it is near and no
echo. A no counts at any time. Anything else leaves the question open: it is asked again in the next silence. Positions
are ms of the asked person's audio, so sound that is sent again stays where it was; `now` is in monotonic seconds. The
rules are in docs/consent.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from realtime.turn.answers import Answer, Reading

CONSENT_SILENCE_S = 8.0
"""How long an answer is awaited after the question."""
EARLY_S = 2.5
"""The same where the user agreed before its end: they believe that they have answered."""
SETTLE_S = 0.4
"""How long after its turn a yes may still go on: "yes ... but only four"."""
MOST_SILENCES = 2
"""Silences after the question: the last of them refuses."""
MOST_ASKED = 6
"""How often a question is asked, changed ones included; then it is refused."""

Read = Callable[[str, Mapping[str, object], Mapping[str, object], str], Reading]
"""`realtime.turn.answers.read_answer`: words, arguments, their schema, the question."""
Kind = Literal["first", "again", "changed"]
"""Why a question is spoken."""
AnsweredBy = Literal["voice", "text", "card", "rule", "timeout", "interrupted"]
Meaning = Literal["yes", "no", "change", "silence"]


class NotTaken(StrEnum):
    """Why a turn is no answer."""

    BEFORE_END = "before_end"
    """A yes that began before the question had been heard whole."""
    ECHO = "echo"
    FAR_VOICE = "far_voice"
    NO_WORDS = "no_words"
    OTHER_PERSON = "other_person"
    """Of a person who is not asked, or over their voice."""
    TOO_SOON = "too_soon"
    """A typed yes right with the card, which is to something else."""
    CARD_ONLY = "card_only"
    """A yes or a change where only the card may consent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTurn:
    """A turn while a question is open."""

    words: str
    start_ms: int
    end_ms: int | None = None
    echo: bool = False
    """It repeats what was played."""
    far: bool = False
    """It is much quieter than the asked person."""
    over: bool = False
    """It was dismissed as no turn: a sound that people make while they listen."""
    typed: bool = False


@dataclass(frozen=True, slots=True)
class Allow:
    """Run the call; with `rule`, accept the first suggested rule too."""

    turn: AnswerTurn
    rule: bool = False


@dataclass(frozen=True, slots=True)
class Deny:
    """Refuse the call. `words` are the user's, for the model; "" without any."""

    meaning: Meaning
    words: str = ""
    turn: AnswerTurn | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """Replace the arguments, and ask again."""

    arguments: Mapping[str, object]
    turn: AnswerTurn


@dataclass(frozen=True, slots=True)
class LetAnswer:
    """The model answers this turn; the question stays open."""

    turn: AnswerTurn


@dataclass(frozen=True, slots=True)
class Speak:
    """Ask now."""

    kind: Kind


@dataclass(frozen=True, slots=True)
class Ignore:
    """The turn changes nothing."""

    why: NotTaken
    turn: AnswerTurn


Step = Allow | Deny | Change | LetAnswer | Speak | Ignore | None
"""What to do; None: nothing, or not yet."""


class Phase(StrEnum):
    """Where a question is."""

    WAITING = "waiting"
    """To be asked in the next silence."""
    SPEAKING = "speaking"
    HEARD = "heard"
    """Asked; an answer is awaited."""
    CLOSED = "closed"


class OpenQuestion:
    """One question, from the call that asks to its answer.

    Raises ValueError for a silence that is not positive.
    """

    def __init__(
        self,
        question: str,
        arguments: Mapping[str, object],
        schema: Mapping[str, object],
        read: Read,
        *,
        silence_s: float = CONSENT_SILENCE_S,
    ) -> None:
        if not silence_s > 0:
            raise ValueError(f"the silence after a question lasts more than 0 s, not {silence_s!r}")
        self.question = question
        self.arguments = arguments
        self.phase = Phase.WAITING
        self.n_asked = 0
        self.heard_at_ms: int | None = None
        """Where the asked person had heard these words to their end; None before that."""
        self._schema = schema
        self._read = read
        self._silence_s = silence_s
        self._kind: Kind = "first"
        self._n_silences = 0
        self._silent_until: float | None = None
        """When the silence counts as one; None while a voice sounds, or nothing is awaited."""
        self._was_early = False
        self._is_aside = False
        """Whether the model has said something else since the question."""
        self._agreed: tuple[AnswerTurn, bool, float] | None = None
        """A yes that may go on: the turn, whether it accepts a rule, when it counts."""
        self._kept: AnswerTurn | None = None
        """A yes that did go on."""

    @property
    def is_open(self) -> bool:
        """Whether it has no answer."""
        return self.phase is not Phase.CLOSED

    @property
    def heard_whole(self) -> bool:
        """Whether the asked person has heard these words to their end."""
        return self.heard_at_ms is not None

    @property
    def due_at(self) -> float | None:
        """When to `look`; None while time changes nothing."""
        due = self._silent_until if self._agreed is None else self._agreed[2]
        return due if self.is_open else None

    # -- asking --------------------------------------------------------------------------------------------------------

    def may_speak(self) -> Step:
        """The floor is free: return Speak where the question is to be asked, Deny where it was asked too often."""
        if self.phase is not Phase.WAITING:
            return None
        if self.n_asked >= MOST_ASKED:
            return self._close(Deny("silence"))
        return Speak(self._kind)

    def begins(self) -> None:
        """It begins to be spoken."""
        if self.phase is Phase.WAITING:
            self.phase, self._kind = Phase.SPEAKING, "again"
            self.n_asked += 1
            self._silent_until = self._kept = None
            self._is_aside = False

    def heard(self, position_ms: int, now: float) -> None:
        """It was played to its end; the asked person's audio was at `position_ms` then."""
        if self.phase is Phase.SPEAKING:
            self.phase = Phase.HEARD
            if self.heard_at_ms is None:
                self.heard_at_ms = position_ms
            self._await_answer(now)

    def cut(self) -> None:
        """It was not played to its end: it is asked again."""
        if self.phase is Phase.SPEAKING:
            self.phase = Phase.WAITING

    def leave(self) -> None:
        """The user is away: it is asked again when they are back."""
        self.cut()
        self._repeat()

    def set_aside(self) -> None:
        """The model says something else: a yes may be to that, so the question has to be heard again."""
        self._repeat()
        self.heard_at_ms = None
        self._is_aside = self.is_open and self.phase is not Phase.SPEAKING

    def others_said(self) -> None:
        """Another person says something: a yes that follows may be to that. One that was given counts."""
        if self._agreed is None:
            self.set_aside()

    def changed(self, question: str, arguments: Mapping[str, object]) -> None:
        """It has other arguments, so nothing of it was heard."""
        if self.is_open:
            self.question, self.arguments = question, arguments
            self.phase, self._kind = Phase.WAITING, "changed"
            self.heard_at_ms = self._silent_until = None
            self._agreed = self._kept = None
            self._n_silences, self._was_early = 0, False

    def close(self) -> None:
        """It has an answer from elsewhere, or the call is over."""
        self.phase, self._agreed, self._kept = Phase.CLOSED, None, None

    # -- answers -------------------------------------------------------------------------------------------------------

    def voice_began(self) -> None:
        """A voice begins: no silence, and a yes goes on."""
        self._silent_until = None
        if self._agreed is not None:
            self._kept, self._agreed = self._agreed[0], None

    def voice_passed(self, now: float) -> None:
        """The voice was none, or no turn: the silence begins anew."""
        if self._kept is not None:
            turn, self._kept = self._kept, None
            self._agreed = turn, self.reading(turn.words).always, now + SETTLE_S
        if self.phase is Phase.HEARD:
            self._await_answer(now)

    def take(self, turn: AnswerTurn, now: float) -> Step:
        """Return what a turn means."""
        if not self.is_open:
            return None
        if (why := self._not_taken(turn)) is not None:
            self.voice_passed(now)
            return Ignore(why, turn)
        turn, self._kept = _joined(self._kept, turn), None
        reading = self.reading(turn.words)
        match reading.answer:
            case Answer.NO if not turn.over:
                return self._close(Deny("no", turn.words, turn))
            case Answer.YES:
                if self._is_aside and not turn.over:
                    return LetAnswer(turn)
                if turn.over or self.heard_at_ms is None or turn.start_ms < self.heard_at_ms:
                    return self._agreed_early(turn, now)
                self._silent_until = None
                self._agreed = turn, reading.always, now + SETTLE_S
                return None
            case _ if turn.over:
                self.voice_passed(now)
                return Ignore(NotTaken.NO_WORDS, turn)
            case Answer.CHANGE if reading.changed is not None:
                return Change(reading.changed, turn)
            case Answer.CHANGE:
                return self._close(Deny("change", turn.words, turn))
            case _:
                self.set_aside()
                return LetAnswer(turn)

    def look(self, now: float) -> Step:
        """Return what the time that has passed means."""
        if not self.is_open:
            return None
        if self._agreed is not None and now >= self._agreed[2]:
            turn, rule, _ = self._agreed
            self._close(None)
            return Allow(turn, rule)
        if self._silent_until is None or now < self._silent_until:
            return None
        if self._was_early:
            self._was_early = False
        else:
            self._n_silences += 1
        if self._n_silences >= MOST_SILENCES:
            return self._close(Deny("silence"))
        self._repeat()
        return None

    # -- inside --------------------------------------------------------------------------------------------------------

    def reading(self, words: str) -> Reading:
        """Return what words mean to the question."""
        return self._read(words, self.arguments, self._schema, self.question)

    def _not_taken(self, turn: AnswerTurn) -> NotTaken | None:
        if turn.echo:
            return NotTaken.ECHO
        if turn.far:
            return NotTaken.FAR_VOICE
        return None if turn.words.strip() else NotTaken.NO_WORDS

    def _repeat(self) -> None:
        """Ask again in the next silence."""
        self._agreed = self._kept = None
        if self.phase is Phase.HEARD:
            self.phase, self._silent_until = Phase.WAITING, None

    def _agreed_early(self, turn: AnswerTurn, now: float) -> Ignore:
        """A yes to what was not heard: it is asked again, at once or after its end."""
        if turn.over:
            self._was_early = True
            self.voice_passed(now)
        else:
            self._repeat()
        return Ignore(NotTaken.BEFORE_END, turn)

    def _await_answer(self, now: float) -> None:
        self._silent_until = now + (min(self._silence_s, EARLY_S) if self._was_early else self._silence_s)

    def _close(self, step: Step) -> Step:
        self.close()
        return step


def _joined(begun: AnswerTurn | None, turn: AnswerTurn) -> AnswerTurn:
    """Return a turn with the yes that it continues: together they are one answer."""
    if begun is None:
        return turn
    words = turn.words if turn.words.startswith(begun.words) else f"{begun.words} {turn.words}"
    return AnswerTurn(words=words, start_ms=min(begun.start_ms, turn.start_ms), end_ms=turn.end_ms, over=turn.over)
