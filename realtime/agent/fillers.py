"""Short words while a tool takes its time: when they are due, and which.

Pure: time is an argument, in monotonic seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from realtime.event.base import INITIATIVE, Item, ResponseOverrides

FIRST_AFTER_S = 0.8
"""How long a tool runs in silence until the first filler."""
AGAIN_AFTER_S = (6.0, 8.0)
"""The least and the most time from one filler to the next."""
MOST_FILLERS = 3
"""Fillers while tools run, until all have returned."""


def overrides_for(line: str, last_words: Item | None, initiative: str, *, says_it: bool) -> ResponseOverrides:
    """Return the settings of a response that says a filler.

    It is outside the conversation. Unless the model `says_it` as given, it is asked to, in the language of the user's
    `last_words`.
    """
    metadata = {INITIATIVE: initiative}
    if says_it:
        return ResponseOverrides(conversation="none", tool_choice="none", metadata=metadata)
    return ResponseOverrides(
        conversation="none",
        tool_choice="none",
        metadata=metadata,
        input=() if last_words is None else (last_words,),
        instructions=(
            f'Say only "{line}", in the language that the user speaks. '
            "Answer nothing and add nothing: what they asked for is being looked up."
        ),
    )


class Fillers:
    """Decides when the agent says a filler, and which; no line twice while tools run.

    Lines come in their order, also from one wait to the next.
    """

    def __init__(self, lines: Sequence[str], random: Random) -> None:
        self._lines = list(dict.fromkeys(lines))
        self._random = random
        self._calls: set[str] = set()
        self._due_at: float | None = None
        self._n_said = 0

    @property
    def due_at(self) -> float | None:
        """When to `take` one or to `postpone` it; None while none is due."""
        return self._due_at

    def tool_begins(self, call_id: str, now: float) -> None:
        """A tool starts to run."""
        if not self._calls:
            self._n_said = 0
            self._due_at = now + FIRST_AFTER_S if self._lines else None
        self._calls.add(call_id)

    def tool_ends(self, call_id: str) -> bool:
        """A tool has returned, or was cancelled. True: it was the last that ran, so no filler is due."""
        if call_id not in self._calls:
            return False
        self._calls.discard(call_id)
        if not self._calls:
            self._due_at = None
        return not self._calls

    def clear(self) -> None:
        """The user has interrupted: what the tools return answers nothing any more."""
        self._calls.clear()
        self._due_at = None

    def postpone(self, silent_from: float) -> None:
        """Wait for the same silence as at first: until `silent_from` one of them speaks."""
        if self._due_at is not None:
            self._due_at = silent_from + FIRST_AFTER_S

    def take(self, now: float) -> str:
        """Return the line to say now."""
        line = self._lines.pop(0)
        self._lines.append(line)
        self._n_said += 1
        least_s, most_s = AGAIN_AFTER_S
        again = self._n_said < min(MOST_FILLERS, len(self._lines))
        self._due_at = now + self._random.uniform(least_s, most_s) if again else None
        return line
