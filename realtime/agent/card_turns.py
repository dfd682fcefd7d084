"""The user's turns while only cards ask: which of them answer a card."""

from __future__ import annotations

from collections.abc import Callable

from realtime.agent.answer_turns import AnswerTurns
from realtime.agent.answers import nothing
from realtime.agent.controller import Controller
from realtime.agent.questions import Question
from realtime.call.participant import OwnCall
from realtime.turn.card_answers import READ_S, CardStep, May, step_for_card
from realtime.turn.consent import AnswerTurn, Ignore, LetAnswer
from realtime.turn.machine import Signal


class CardTurns:
    """Reads turns as answers to the open cards.

    `cards` returns these, and `n_waiting` how many questions and forms wait for the user in all. `do` performs what a
    turn means. `park` is called whenever `read` has changed.

    Not in a room (`own` is None), where the provider answers each turn by itself, where the user's words are unknown,
    nor over the response that asks: there a voice withdraws what was asked, as any turn does.
    """

    def __init__(
        self,
        controller: Controller,
        own: OwnCall | None,
        answer: AnswerTurns,
        do: Callable[[Question, CardStep], None],
        *,
        cards: Callable[[], list[Question]],
        n_waiting: Callable[[], int],
        park: Callable[[], None],
        now: Callable[[], float],
    ) -> None:
        self._controller = controller
        self._own = own
        self._answer = answer
        self._do = do
        self._cards = cards
        self._n_waiting = n_waiting
        self._park = park
        self._now = now
        self._is_reading = False

    @property
    def read(self) -> list[Question]:
        """The cards that the turn of this moment may answer; they hold up no turn."""
        return self._cards() if self._is_reading else []

    def begin(self) -> None:
        """A voice begins, or a turn ends that no detector has found."""
        turns = self._controller.turns
        hears = self._own is not None and turns.hears_words and turns.turn.responder != "provider"
        # The voice breaks off a response that still comes: nothing would follow its calls.
        calling = [turns.ledger.calling(one.open_id) for one in self._cards()] if hears else []
        self._is_reading = bool(calling) and all(one is None or one.done for one in calling)
        self._park()

    def begin_typed(self, words: str) -> bool:
        """The user has typed a turn; returns whether it answers a card."""
        turn = AnswerTurn(words=words, start_ms=0, typed=True)
        self._is_reading = self._own is not None and bool(self._steps(turn))
        self._park()
        return self._is_reading

    def take(self, turn: AnswerTurn) -> None:
        """Do what a turn means."""
        steps = self._steps(turn)
        for question, step in steps:
            self._do(question, step)
        if not steps:
            self.go_on()
            return
        if any(isinstance(step, Ignore) for _, step in steps):
            self._answer.forget_at_model()
        self._end()

    def go_on(self) -> None:
        """The turn answers no card: the model answers it, and what waited is withdrawn."""
        self._end()
        turns = self._controller.turns
        if not self._answer.release():
            return
        if turns.turn.interrupts:
            turns.interrupt()
            turns.respond_to_turn()
        else:
            turns.signal(Signal.RESPONSE_DONE)

    def close(self) -> None:
        """The call is over."""
        self._is_reading = False
        self._cards, self._park, self._do = list, nothing, _do_nothing

    # -- inside --------------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        self._is_reading = False
        self._park()

    def _steps(self, turn: AnswerTurn) -> list[tuple[Question, CardStep]]:
        """Return what a turn means to the cards that it answers; empty where it answers none."""
        found: list[tuple[Question, CardStep]] = []
        for one in self._cards():
            # Of several cards and forms a yes would be to any.
            may: May = self._may(one) if turn.typed and self._n_waiting() == 1 else "refuse"
            step = step_for_card(one.core.reading(turn.words), turn, may)
            if not isinstance(step, LetAnswer):
                found.append((one, step))
        return found

    def _may(self, question: Question) -> May:
        """Return what a typed turn may do: consent only where the tool did not ask for a card, and it is shown."""
        if question.wanted == "card" or self._own is None or not self._own.shows_questions():
            return "refuse"
        return "consent" if self._now() - question.shown_at >= READ_S else "not_yet"


def _do_nothing(question: Question, step: CardStep) -> None:
    return
