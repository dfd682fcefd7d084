"""The one truncation: which words of a spoken item belong to the part of its audio that was played.

A pure core: no clock, no I/O. Positions in an item's audio are ms from the item's first sample.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from realtime.event.server import AgentItemTruncatedEvent

SPEECH_CHARS_PER_S = 15.0
"""Assumed pace of a voice without a completed item.

English, about 160 words a minute.
"""
_ASSUMED_S = 5.0
"""Weight of the assumed pace, in seconds of speech: the first words of a voice may be a long number."""
MAX_SPEECH_CHARS_PER_S = 30.0
"""Faster than any voice: bounds the played part of a text whose audio has begun to arrive."""

_QUICK = 1.2
"""A sentence may be spoken so much faster than the voice's pace."""

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Kana and Han, written without spaces: each character counts as a word."""
_WORD = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")


def portion_played(played_ms: int, audio_ms: float) -> Literal["none", "part", "all"]:
    """How much of an item's audio was played; positions are in whole ms."""
    if played_ms == 0:
        return "none"
    return "part" if played_ms < int(audio_ms) else "all"


@dataclass(frozen=True, slots=True)
class Truncation:
    """Where an item was cut: the words that were played, and the end of their audio in ms."""

    transcript: str
    audio_end_ms: int

    def shorter(self, other: Truncation) -> Truncation:
        """The fewer words and the earlier end of the two."""
        return Truncation(min(self.transcript, other.transcript, key=len), min(self.audio_end_ms, other.audio_end_ms))

    def event(self, item_id: str, agent_id: str = "", agent_name: str = "") -> AgentItemTruncatedEvent:
        """The event that reports the truncation of this item."""
        return AgentItemTruncatedEvent(
            item_id=item_id,
            audio_end_ms=self.audio_end_ms,
            transcript=self.transcript,
            agent_id=agent_id,
            agent_name=agent_name,
        )


@dataclass(slots=True)
class Pace:
    """A voice's pace, learned from the items that it has completed."""

    chars: float = SPEECH_CHARS_PER_S * _ASSUMED_S
    seconds: float = _ASSUMED_S

    def learn(self, n_chars: int, audio_ms: float) -> None:
        """Count an item of `n_chars` characters that took `audio_ms`."""
        self.chars += n_chars
        self.seconds += audio_ms / 1000

    @property
    def chars_per_s(self) -> float:
        """Between `SPEECH_CHARS_PER_S` and the learned pace."""
        return self.chars / self.seconds


@dataclass(slots=True)
class Spoken:
    """Words with the audio that speaks them, as far as both arrived.

    With `aligned`, each piece of text comes right before its audio. Else the text may run ahead by any amount, and
    positions inside are estimated in proportion to all of its audio where that is complete, else by `pace`.
    """

    pace: Pace = field(default_factory=Pace)
    aligned: bool = False
    text: str = ""
    audio_ms: float = 0.0
    audio_complete: bool = False
    _anchors: list[tuple[float, int]] = field(default_factory=list)

    def add_text(self, delta: str) -> None:
        """Append words. They are spoken at or after the end of the audio so far."""
        if self.aligned and (not self._anchors or self._anchors[-1][0] < self.audio_ms):
            self._anchors.append((self.audio_ms, len(self.text)))
        self.text += delta

    def correct(self, begin: int, end: int, words: str) -> None:
        """Replace the words between two positions: what comes behind is spoken where it was."""
        longer = len(words) - (end - begin)
        self._anchors = [
            (start_ms, start if start <= begin else min(start, begin + len(words)) if start < end else start + longer)
            for start_ms, start in self._anchors
        ]
        self.text = self.text[:begin] + words + self.text[end:]

    def teach(self) -> None:
        """Let the pace learn from this item, if its audio is complete."""
        if self.audio_complete and self.text:
            self.pace.learn(len(self.text), self.audio_ms)

    def truncation(self, played_ms: float) -> Truncation:
        """Where to cut after `played_ms`, clamped to the audio that has arrived."""
        played_ms = min(max(0.0, played_ms), self.audio_ms)
        return Truncation(self.played_text(played_ms), int(played_ms))

    def played_text(self, played_ms: float) -> str:
        """The text up to the last word that was played completely."""
        chars = self._played_chars(played_ms)
        end = 0
        for word in _WORD.finditer(self.text):
            if word.end() > chars:
                break
            end = word.end()
        return self.text[:end]

    def begins_ms(self, chars: int) -> float:
        """Where the words behind the first `chars` characters begin, in ms; rather too early than too late."""
        if self.aligned:
            return max((start_ms for start_ms, start in self._anchors if start <= chars), default=0.0)
        if self.audio_complete:
            return self.audio_ms * chars / max(1, len(self.text))
        return chars * 1000 / (_QUICK * self.pace.chars_per_s)

    def _played_chars(self, played_ms: float) -> int:
        """How many characters of the text were spoken within the first `played_ms`."""
        played_ms = min(played_ms, self.audio_ms)
        if played_ms <= 0:
            return 0
        if self.audio_complete and played_ms > self.audio_ms - 1:
            # Played positions are in whole ms, rounded down.
            return len(self.text)
        if self.aligned:
            return self._aligned_chars(played_ms)
        by_share = len(self.text) * (played_ms / self.audio_ms)
        if self.audio_complete:
            return int(by_share)
        return int(min(by_share, played_ms / 1000 * self.pace.chars_per_s))

    def _aligned_chars(self, played_ms: float) -> int:
        """Interpolate between the anchors: piece k is spoken from its anchor to the next one."""
        end_ms, end = self.audio_ms, len(self.text)
        growing = not self.audio_complete
        for start_ms, start in reversed(self._anchors):
            if start_ms < played_ms:
                chars = (end - start) * ((played_ms - start_ms) / (end_ms - start_ms))
                if growing:
                    chars = min(chars, (played_ms - start_ms) / 1000 * MAX_SPEECH_CHARS_PER_S)
                return start + int(chars)
            end_ms, end, growing = start_ms, start, False
        return 0
