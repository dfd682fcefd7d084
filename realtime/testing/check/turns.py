"""The parts of a call: turns, responses, tool calls, interruptions, silences. Times in ms.

Where playback is known (`CallRecord.played`) sound means what was heard; otherwise what left the server, for its
length.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from realtime.event.base import DEFAULT_OUTPUT_RATE_HZ
from realtime.state.truncation import Spoken as Words
from realtime.testing.record import Played

USER = "user"
"""The name of an unnamed human."""
HASTY = "hasty_turn"
"""The flush reason for a response to a turn that continues."""


@dataclass(slots=True)
class UserTurn:
    """A human's spoken or typed turn. A turn that continues after a premature end is one."""

    number: int
    """From 1, in order of their beginnings."""
    item_id: str
    who: str
    from_ms: float
    """Start of voice; a typed turn begins and ends when it arrives."""
    to_ms: float
    """End of voice, without the silence after it."""
    ended_ms: float | None = None
    """When the turn was declared over; None where it never was."""
    transcript: str = ""
    transcript_ms: float | None = None
    typed: bool = False
    withdrawn: bool = False
    """Whether it was removed from the conversation."""
    first_seq: int = 0
    ended_seq: int = 0


@dataclass(slots=True)
class ToolCall:
    """An agent's tool call and its outcome."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    """None where the model's text is no JSON object: see `input`."""
    input: str
    who: str
    response_id: str
    turn: int
    asked_ms: float
    asked_seq: int
    answered_ms: float | None = None
    state: str = ""
    """State of the result: `success`, `error`, `interrupted`, `denied`; empty without one."""
    output: str = ""


@dataclass(slots=True)
class Response:
    """One response of a model, or one part of it between tools."""

    id: str
    who: str
    created_ms: float
    created_seq: int
    turn: int
    """The number of the preceding user turn; 0 before the first."""
    out_of_band: bool = False
    first_token_ms: float | None = None
    """When the first word, text or piece of a tool call came."""
    first_audio_ms: float | None = None
    """When the first sound left the server."""
    first_heard_ms: float | None = None
    """When the first sound was heard."""
    done_ms: float | None = None
    status: str = "in_progress"
    item_ids: list[str] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(slots=True)
class Speech:
    """An agent's spoken or written item: what was generated and what was heard."""

    item_id: str
    who: str
    response_id: str
    words: Words = field(default_factory=Words)
    """Text and audio as they came, in ms at `rate_hz`."""
    rate_hz: int = DEFAULT_OUTPUT_RATE_HZ
    first_seq: int = 0
    first_audio_seq: int = 0
    first_audio_ms: float | None = None
    written: bool = False
    """Whether it is text that is not spoken."""
    cut_text: str | None = None
    """The words that were kept when it was cut."""
    cut_ms: int | None = None
    words_when_cut: Words | None = None
    """Text, audio and the voice's pace as known at that moment."""
    withdrawn: bool = False
    """Whether it was removed from the conversation."""
    gone_seq: int = 0
    """Its `seq` in the log when it was cut or withdrawn."""
    kept: str | None = None
    """The conversation's final text of it, empty where it is not included; None where that is unknown."""
    played: list[Played] = field(default_factory=list)

    @property
    def heard_ms(self) -> float:
        """Ms of the item that its longest listener heard."""
        return max((one.offset_ms + one.ms for one in self.played), default=0.0)

    @property
    def text(self) -> str:
        """The words that count as said: none of a withdrawn item, the kept ones of a cut one."""
        if self.withdrawn:
            return ""
        return self.words.text if self.cut_text is None else self.cut_text


@dataclass(frozen=True, slots=True)
class CutItem:
    """An item that an interruption cut before its end was heard."""

    speech: Speech
    before: str
    """The words generated for it."""
    after: str
    """The words kept by the conversation: of its item, or of the log without items."""
    audio_ms: float
    """Ms of generated audio."""
    heard_ms: float
    """Ms of audio that were heard."""
    outcome: Literal["cut", "withdrawn", "whole"]


@dataclass(frozen=True, slots=True)
class BargeIn:
    """A stopped response: by a voice, a text, a page's request, or a premature turn end."""

    number: int
    """From 1; 0 where the user's turn had ended too early and continues."""
    reason: str
    who: str
    began_ms: float
    """Start of the causing voice; without one, when the flush left."""
    flush_ms: float
    silent_ms: float | None
    """When the sound ended; None where nothing was audible at the beginning."""
    items: tuple[CutItem, ...]
    seq: int


@dataclass(frozen=True, slots=True)
class Sound:
    """A stretch in which a participant was audible."""

    from_ms: float
    to_ms: float
    who: str
    human: bool


@dataclass(frozen=True, slots=True)
class Silence:
    """A stretch without sound. `owed`: a human had spoken or typed last, or a response was pending."""

    from_ms: float
    to_ms: float
    owed: bool

    @property
    def ms(self) -> float:
        return self.to_ms - self.from_ms
