"""Decide how long a silence may be before the turn is over. Pure; time is counted in the speaker's audio.

In each pause evidence arrives: how complete the voice sounds, the words so far. `Endpointing.wait_ms` weighs what is
known at the time; without evidence it is the configured silence. The curve of cut turns against latency, beside the
plain timer: `python -m bench endpointing`.
"""

from __future__ import annotations

from dataclasses import dataclass

from realtime.event.config import Expectation
from realtime.turn.words_so_far import Tail, tail_of

CAP_MS = 2_000
"""The longest wait, unless a longer silence is configured."""
FLOOR_MS = 300
"""The shortest wait, unless a shorter silence is configured."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How evidence changes the wait: factors of the configured silence."""

    hanging: float = 4.0
    """The words cannot end here."""
    digits: float = 2.0
    """The words end inside a dictated number."""
    incomplete: float = 2.5
    """The voice sounds unfinished for certain; falls evenly to 1 at `likely`."""
    likely: float = 0.8
    """The completeness from which the voice counts as finished."""
    short_answer: float = 0.6
    """A whole answer of one or two words that also sounds finished."""
    unasked: float = 2.0
    """The same words where nothing was asked: they begin more than they end."""
    dictated: float = 3.0
    """Digits or letters are expected: speakers group them and pause between the groups."""


FITTED = Weights()
_SHORT_VOICE_MS = 800
"""A voice no longer than this may be a "yes" or "no"."""


class Endpointing:
    """How long to wait in the pauses of one speaker."""

    def __init__(self, silence_ms: int, expect: Expectation | None = None, weights: Weights = FITTED) -> None:
        self._weights = weights
        self.configure(silence_ms, expect)
        self.completeness: float | None = None
        """Probability that the voice since the pause before is complete; None: unknown."""
        self._tail: Tail | None = None
        self.is_asked = True
        """Whether the speaker answers a question, as far as that is known."""

    def configure(self, silence_ms: int, expect: Expectation | None) -> None:
        """Take new settings: the silence that ends a turn without evidence, and the answer that is expected."""
        self._silence_ms = silence_ms
        self._expect = expect

    def begin_pause(self) -> None:
        """Forget the evidence about the pause before."""
        self.completeness = self._tail = None

    def take_words(self, words: str) -> None:
        """Take the words of the turn so far."""
        self._tail = tail_of(words)

    def wait_ms(self, voiced_ms: int) -> int:
        """Return the silence that ends a turn of this length."""
        silence_ms = self._silence_ms
        wait_ms = silence_ms * self._audio_factor() * self._words_factor(voiced_ms)
        return round(min(max(wait_ms, min(FLOOR_MS, silence_ms)), max(CAP_MS, silence_ms)))

    def _audio_factor(self) -> float:
        weights, completeness = self._weights, self.completeness
        if completeness is None:
            return 1.0
        return weights.incomplete - (weights.incomplete - 1.0) * min(completeness / weights.likely, 1.0)

    def _words_factor(self, voiced_ms: int) -> float:
        weights, tail, expect = self._weights, self._tail, self._expect
        is_finished = self.completeness is not None and self.completeness >= weights.likely
        if expect in ("digits", "spelling"):
            return weights.dictated
        if expect == "yes_no" and (tail == "short_answer" or (tail is None and voiced_ms <= _SHORT_VOICE_MS)):
            return weights.short_answer
        match tail:
            case "hanging":
                return weights.hanging
            case "digits":
                return weights.digits
            case "short_answer" if not self.is_asked:
                return weights.unasked
            case "short_answer" if is_finished:
                return weights.short_answer
            case _:
                return 1.0
