"""A turn that was spoken in a room."""

from __future__ import annotations

from dataclasses import dataclass, field

from realtime.audio.pcm import ms_of

UTTERANCE_HZ = 16_000
"""The rate of the humans' turns."""


@dataclass(slots=True, eq=False)
class Utterance:
    """A spoken turn of `who` (an id): its sound at `rate_hz`, and its words once they are known."""

    id: str
    who: str
    name: str
    pcm: bytearray = field(default_factory=bytearray)
    rate_hz: int = UTTERANCE_HZ
    text: str = ""
    heard_by: set[str] = field(default_factory=set)
    """Agents (by id) that heard it as sound."""

    @property
    def duration_ms(self) -> float:
        """How long its sound is, in ms."""
        return ms_of(len(self.pcm), self.rate_hz)
