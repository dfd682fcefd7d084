"""The user's turns while a question is open: where each begins and ends, and when its words are complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from realtime.agent.answers import nothing
from realtime.agent.controller import Controller
from realtime.agent.overlap import Overlap
from realtime.call.timers import Timers
from realtime.turn.consent import AnswerTurn

WORDS_S = 4.0
"""How long the words of an answer may take; then the model answers the turn."""
GROW_S = 1.0
"""Words that grow no more for so long are complete."""
ECHOES = ("echo", "echo_words")
"""What a voice over a reply is dismissed as that repeats it."""
MOST_EARLIER = 4
"""Turns of one answer whose words are awaited at once."""


class Forget(Protocol):
    """Lets the model forget these turns."""

    def __call__(self, turn_ids: Iterable[str], *, typed: bool) -> None: ...


@dataclass(slots=True)
class LatestTurn:
    """The user's latest turn while a question is open. Positions are ms of the client's audio."""

    turn_id: str
    """Its item; "" where no detector has found it: the next one that is no turn before."""
    start_ms: int
    end_ms: int | None = None
    before_id: str = ""
    """The turn before, whose words may still come."""
    far: bool = False
    is_typed: bool = False
    is_over: bool = False
    is_held: bool = False
    """Whether it waits for its words and has no response."""
    is_taken: bool = False
    """Whether its words are known."""
    words: str = ""
    """Its words, where a turn that followed is read with them."""
    joined_ids: list[str] = field(default_factory=list)
    """The turns before it that were read with it."""

    def is_item(self, item_id: str) -> bool:
        """Whether this item is the turn."""
        return item_id == self.turn_id if self.turn_id else item_id != self.before_id


class AnswerTurns:
    """Follows the turns of one call.

    `is_echo` says whether words are an echo; `take` gets each turn with its words, `overdue` is called where none come.
    `grows`: the model does not say when words are complete. `forget` lets it forget the turns of an answer. `words_s`
    is how long words may take.
    """

    def __init__(
        self,
        controller: Controller,
        *,
        grows: bool,
        forget: Forget | None = None,
        is_echo: Callable[[str], bool],
        take: Callable[[AnswerTurn], None],
        overdue: Callable[[], None],
        words_s: float = WORDS_S,
    ) -> None:
        self._controller = controller
        self._grows = grows
        self._forget = forget or _forget_none
        self._words_s = words_s
        self._is_echo = is_echo
        self._on_words = take
        self._on_overdue = overdue
        self._timers = Timers()
        self.latest: LatestTurn | None = None
        self._earlier: list[LatestTurn] = []
        """Turns before it whose words are awaited: with them it is one answer."""

    @property
    def is_held(self) -> bool:
        """Whether the latest turn waits for its words and has no response."""
        return self.latest is not None and self.latest.is_held

    def release(self) -> bool:
        """Hold the latest turn no longer. Returns whether it was held."""
        self._timers.cancel("words")
        was_held = self.is_held
        if self.latest is not None:
            self.latest.is_held = False
        return was_held

    def forget(self) -> None:
        """No question is open."""
        self.latest = None
        self._earlier.clear()
        self._timers.close()

    def forget_at_model(self) -> None:
        """Let an embedded model forget the answer: words between a call and its result would begin a reply anew."""
        turn = self.latest
        if turn is not None:
            self._forget(filter(None, [*turn.joined_ids, turn.turn_id]), typed=turn.is_typed)

    def close(self) -> None:
        """The call is over."""
        self.forget()
        self._is_echo, self._on_words, self._on_overdue = _no_echo, _no_turn, nothing
        self._forget = _forget_none

    def begin(self, turn_id: str, start_ms: int) -> None:
        """A turn begins, or goes on."""
        latest = self.latest
        if latest is None or latest.turn_id != turn_id:
            self._follow(LatestTurn(turn_id, start_ms))
        else:
            # Its words are not complete yet, and its end is not that of the answer.
            latest.is_over = latest.is_taken = latest.is_held = False
        self._timers.cancel("words")

    def end(self, end_ms: int, *, far: bool) -> None:
        """The turn is over; its words follow."""
        turn = self.latest
        if turn is None or turn.is_over:
            # No detector finds turns: this one is what came since the last.
            before = self._controller.user_turns.current
            start_ms = self._controller.input.position_ms - int(self._controller.input.uncommitted_ms)
            turn = self._follow(LatestTurn("", start_ms, before_id="" if before is None else before.item_id))
        # Where the user goes on with what a distant voice began, the words are both's.
        turn.far = turn.far or far
        turn.end_ms, turn.is_over, turn.is_held = end_ms, True, True
        self._await_words()

    def words(self, turn_id: str, words: str) -> None:
        """The words of a turn are complete: take it, with those before it that are one answer with it."""
        turn = self.latest
        for earlier in self._earlier:
            if not earlier.is_taken and earlier.is_item(turn_id):
                earlier.is_taken, earlier.words, earlier.turn_id = True, words, turn_id
                return
        if turn is None or turn.is_taken or not turn.is_over or not turn.is_item(turn_id):
            return
        turn.is_taken, turn.turn_id = True, turn_id
        self._timers.cancel("words")
        echo = self._is_echo(words)
        before = [one for one in self._earlier if one.words and not (one.far or echo or turn.far)]
        self._earlier.clear()
        turn.joined_ids = [one.turn_id for one in before]
        self._on_words(
            AnswerTurn(
                words=" ".join([*(one.words for one in before), words]),
                start_ms=min(one.start_ms for one in [*before, turn]),
                end_ms=turn.end_ms,
                echo=echo,
                far=turn.far,
            )
        )

    def typed(self, item_id: str, words: str, position_ms: int) -> None:
        """The user has typed a turn, when their audio was at `position_ms`."""
        self.latest = turn = LatestTurn(item_id, position_ms, position_ms)
        turn.is_typed = turn.is_over = turn.is_held = turn.is_taken = True
        self._on_words(AnswerTurn(words=words, start_ms=position_ms, end_ms=position_ms, typed=True))

    def over_reply(self, overlap: Overlap) -> AnswerTurn:
        """Return a voice over a reply, which was dismissed, as a turn."""
        words = overlap.words or ""
        return AnswerTurn(
            words=words,
            start_ms=overlap.start_ms,
            end_ms=overlap.end_ms,
            echo=overlap.dismissed in ECHOES or self._is_echo(words),
            far=overlap.dismissed == "far_voice",
            over=True,
        )

    # -- inside --------------------------------------------------------------------------------------------------------

    def _follow(self, turn: LatestTurn) -> LatestTurn:
        if self.latest is not None and self.latest.is_over and not self.latest.is_taken:
            self._earlier = [*self._earlier, self.latest][-MOST_EARLIER:]
        self.latest = turn
        return turn

    def _await_words(self, seen: str = "", waited_s: float = 0.0) -> None:
        """Look for the words of the ended turn once a second; `seen` are those of the last look."""
        turn, user_turn = self.latest, self._controller.user_turns.current
        if turn is None or turn.is_taken or not turn.is_over:
            return
        words = ""
        if self._grows and user_turn is not None and turn.is_item(user_turn.item_id):
            words = user_turn.growing_words
        if words and words == seen and user_turn is not None:
            self.words(user_turn.item_id, words)
        elif waited_s < self._words_s:
            self._timers.after("words", GROW_S, lambda: self._await_words(words, waited_s + GROW_S))
        else:
            self._on_overdue()


def _forget_none(turn_ids: Iterable[str], *, typed: bool) -> None:
    return


def _no_echo(words: str) -> bool:
    return False


def _no_turn(turn: AnswerTurn) -> None:
    return
