"""A call under check: its record, its reading, and failures about it."""

from __future__ import annotations

from functools import cached_property
from typing import NoReturn

from realtime.testing.check.failing import CheckFailed, Fluent
from realtime.testing.check.reading import Reading
from realtime.testing.check.timeline import Timeline
from realtime.testing.check.turns import BargeIn, Response, Speech, UserTurn
from realtime.testing.record import CallRecord

__tracebackhide__ = True
"""pytest hides these frames: a failure shows the test's line."""


class Subject(Fluent):
    """The call that checks are about, narrowed to `speaker` if given."""

    def __init__(self, record: CallRecord, *, speaker: str | None = None) -> None:
        self.record = record
        self._speaker = speaker

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.record.name!r}, {self.record.duration_ms / 1000:.1f} s)"

    @cached_property
    def reading(self) -> Reading:
        """The call as turns, responses, tool calls and interruptions; whole even in a narrowed run."""
        return Reading(self.record)

    @cached_property
    def timeline(self) -> Timeline:
        """The call as text."""
        return Timeline(self.reading)

    @property
    def _is_human(self) -> bool:
        humans = {turn.who for turn in self.reading.turns} | {one.who for one in self.record.spoken}
        return self._speaker in humans

    def _concerns(self, who: str, *, human: bool) -> bool:
        return self._speaker is None or self._is_human is not human or who == self._speaker

    @property
    def user_turns(self) -> list[UserTurn]:
        """The human turns, or those of this run's speaker."""
        return [turn for turn in self.reading.turns if self._concerns(turn.who, human=True)]

    @property
    def responses(self) -> list[Response]:
        """The agents' responses, or those of this run's speaker."""
        return [one for one in self.reading.responses if self._concerns(one.who, human=False)]

    @property
    def speeches(self) -> list[Speech]:
        """The agents' spoken and written items."""
        return [one for one in self.reading.speeches if self._concerns(one.who, human=False)]

    @property
    def interruptions(self) -> list[BargeIn]:
        """The barge-ins by this run's humans, or into its agent."""
        return [
            one
            for one in self.reading.barge_ins
            if self._concerns(one.who, human=True)
            and (not one.items or any(self._concerns(cut.speech.who, human=False) for cut in one.items))
        ]

    def first_sound_ms(self, response: Response) -> float | None:
        """Return when the response was first heard; else when it left the server."""
        return response.first_heard_ms if self.record.played else response.first_audio_ms

    def fail(self, finding: str, *places_ms: float, details: str = "") -> NoReturn:
        """Fail with this sentence and the timeline around `places_ms` of the call."""
        details = "\n".join(filter(None, (details, *self.record.notes)))
        raise CheckFailed(finding, self.timeline.around(*places_ms), places_ms, details)

    def must_know_ears(self, what: str) -> None:
        """Fail where playback is unknown and there was something to hear."""
        if not self.record.played and any(one.words.audio_ms for one in self.reading.speeches):
            self.fail(f"It is not known {what}: this record does not say what was played.")
