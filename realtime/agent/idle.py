"""A user who says nothing: when the agent asks whether they are there, and when it takes leave.

Pure: time is an argument, in monotonic seconds.
"""

from __future__ import annotations

from enum import StrEnum

ARE_YOU_THERE = "The user has been silent for a while. Ask in one short sentence whether they are still there."
TAKE_LEAVE = "The user does not answer any more. Take leave in one short sentence: you end the call now."

SLACK_S = 1e-3
"""Times are sums of fractions: a timer may come this early."""


class IdleStep(StrEnum):
    """What a silence leads to."""

    WAIT = "wait"
    ASK = "ask"
    LEAVE = "leave"


class IdleWatch:
    """Follows the silence of one call: asks once after `prompt_s`, takes leave after as long again."""

    def __init__(self, prompt_s: float, now: float) -> None:
        self._prompt_s = prompt_s
        self._quiet_since = now
        self._has_asked = False

    @property
    def due_at(self) -> float:
        """When to `look`."""
        return self._quiet_since + self._prompt_s

    def user_acts(self, now: float) -> None:
        """The user has spoken or typed: they are there."""
        self._quiet_since, self._has_asked = now, False

    def quiet_from(self, now: float) -> None:
        """The silence begins at this time: until then there was something to hear, or to wait for."""
        self._quiet_since = max(self._quiet_since, now)

    def look(self, now: float) -> IdleStep:
        """Decide what the silence up to now leads to."""
        if now < self.due_at - SLACK_S:
            return IdleStep.WAIT
        self._quiet_since = now
        if self._has_asked:
            return IdleStep.LEAVE
        self._has_asked = True
        return IdleStep.ASK
